"""A mirror of another machine's terminal, beside one of this machine: how late a frame is.

The other machine is a real sshd here, behind a way that takes its time in both directions. A frame may be as late as
one of this machine's, and by one round trip and two frames more.
"""

import asyncio
import re
import sys
import time
from pathlib import Path

from gshtui.tmux.frames import Frame
from gshtui.tmux.mirror import Mirror
from gshtui.tmux.server import TmuxServer
from tests.bench.figures import Report, p95
from tests.bench.mirror import FPS, PRINTER
from tests.bench.place import Place
from tests.kit.ssh_hosts import Gate, ssh_host
from tests.kit.tmux import private_server

SECONDS = 8.0
ROUND_TRIP = 0.04
_STAMP = re.compile(r"at (\d+)\.")


def run(report: Report, place: Place) -> None:
    """Output to frame, here and there."""
    here, there = asyncio.run(measure())
    limit = 1e3 * (p95(here) + ROUND_TRIP + 2 / FPS)
    report.add("a pane of this machine: output to frame, p95", 1e3 * p95(here), "ms")
    note = f"round trip {1e3 * ROUND_TRIP:.0f} ms; {len(there)} frames"
    report.add("a pane of another machine: output to frame, p95", 1e3 * p95(there), "ms", limit=limit, note=note)


async def measure() -> tuple[list[float], list[float]]:
    """The delays in seconds, of this machine and of the other."""
    async with private_server() as server:
        here = await delays(server)
    with ssh_host() as host:
        gate = Gate(host.port, delay=ROUND_TRIP / 2)
        await gate.start()
        host.trust(gate.port)
        link = host.links(gate.port).link("far")
        server = TmuxServer("gsh-ssh", link=link)
        try:
            return here, await delays(server)
        finally:
            await server.close()
            await link.disconnect()
            await gate.stop()


async def delays(server: TmuxServer) -> list[float]:
    """Of one pane that prints twenty lines a second."""
    found: list[float] = []

    def on_frame(frame: Frame) -> None:
        now = time.monotonic_ns()
        stamps = [int(stamp) for row in frame.changed for stamp in _STAMP.findall(frame.lines[row])]
        if stamps:
            found.append((now - max(stamps)) / 1e9)

    pane = await server.spawn("gsh-agent-0001", ["sh", "-c", "tty; exec cat"], cwd=Path("/tmp"), env={})
    while not (line := (await server.capture(pane.pane, styled=False))[0]).startswith("/dev/"):
        await asyncio.sleep(0.01)
    printer = await asyncio.create_subprocess_exec(sys.executable, "-c", PRINTER, line.strip())
    mirror = Mirror(server, fps=FPS)
    try:
        mirror.watch(pane.pane, on_frame, width=160, height=45)
        while mirror.mode != "control" or len(found) < 3:
            await asyncio.sleep(0.05)
        found.clear()
        await asyncio.sleep(SECONDS)
    finally:
        printer.kill()
        await printer.wait()
        await mirror.close()
    return found

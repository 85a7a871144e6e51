"""The mirror of terminals: what it costs beside polling every pane at the same frame rate, and how late a frame is.

The poller is the plainest that shows the same: one tmux call a round for the panes' descriptions and all screens, whose
text is compared with the last. Processor time is that of this process, of the private tmux server and of every tmux
client, for each screen that was brought; what the programs in the panes use is not counted.
"""

import asyncio
import contextlib
import re
import resource
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import psutil

from gshtui.tmux.frames import Frame
from gshtui.tmux.mirror import Mirror
from gshtui.tmux.panes import FORMAT, PaneInfo
from gshtui.tmux.server import TmuxServer
from tests.bench.figures import Report, p95
from tests.bench.place import Place
from tests.kit.tmux import clients, private_server

FPS = 20
SECONDS = 5.0
COUNTS = (1, 10, 50)
KEYS = 60
FLOOD_MB = 100

# One process prints for all panes of a count: fifty interpreters would be measured by their noise.
PRINTER = """
import sys, time
files = [open(path, "w", buffering=1) for path in sys.argv[1:]]
number = 0
while True:
    number += 1
    for file in files:
        file.write(f"\\x1b[3{number % 8}mline {number}\\x1b[0m at {time.monotonic_ns()}.\\n")
    time.sleep(0.05)
"""
_STAMP = re.compile(r"at (\d+)\.")


def run(report: Report, place: Place) -> None:
    """Each count by both ways, then a flood."""
    for count in COUNTS:
        control, front, polled, delays, note = asyncio.run(beside_polling(count))
        name = f"{count} panes of 20 lines/s" if count > 1 else "a pane of 20 lines/s"
        report.add(f"{name}, all seen: processor for a screen", control, "µs", floor=polled, limit=0.7, note=note)
        if count > 1:
            whole = polled * count * FPS / 1e4
            report.add(f"{name}, one in front: processor", front, "%", floor=whole, limit=0.7)
        report.add(f"{name}: output to frame, p95", 1e3 * p95(delays), "ms", limit=2e3 / FPS)
    calm, flooded, cost, seconds, grown, server_grown = asyncio.run(flood())
    report.add("key to frame beside a flood, p95", 1e3 * p95(flooded), "ms", floor=1e3 * p95(calm), limit=2)
    report.add(f"{FLOOD_MB} MB in a visible tab: processor of ours", cost, "%", note=f"{seconds:.1f} s")
    report.add("  memory of ours that it took", grown, "MB", limit=10, note=f"tmux: {server_grown:.0f} MB")


@contextlib.asynccontextmanager
async def printing(count: int) -> AsyncGenerator[tuple[TmuxServer, list[PaneInfo]]]:
    """A server with this many panes that one process prints into."""
    async with private_server() as server:
        panes = [
            await server.spawn(f"gsh-agent-{n:04}", ["sh", "-c", "tty; exec cat"], cwd=Path("/tmp"), env={})
            for n in range(count)
        ]
        ttys: list[str] = []
        for pane in panes:
            while not (line := (await server.capture(pane.pane, styled=False))[0]).startswith("/dev/"):
                await asyncio.sleep(0.01)
            ttys.append(line.strip())
        printer = await asyncio.create_subprocess_exec(sys.executable, "-c", PRINTER, *ttys)
        try:
            yield server, panes
        finally:
            printer.kill()
            await printer.wait()


async def beside_polling(count: int) -> tuple[float, float, float, list[float], str]:
    """(µs for a screen with the mirror, % with one pane in front, µs by polling, delays in seconds, a word on it)"""
    async with printing(count) as (server, panes):
        rounds, polled = await spent(server, lambda: poll(server, panes))
        delays: list[float] = []

        def on_frame(frame: Frame) -> None:
            now = time.monotonic_ns()
            stamps = [int(stamp) for row in frame.changed for stamp in _STAMP.findall(frame.lines[row])]
            if stamps:
                delays.append((now - max(stamps)) / 1e9)

        async def mirrored() -> int:
            delays.clear()
            await asyncio.sleep(SECONDS)
            return len(delays)

        mirror = Mirror(server, fps=FPS)
        watches = [mirror.watch(pane.pane, on_frame, width=160, height=45) for pane in panes]
        while mirror.mode != "control" or len(delays) < 3 * count:
            await asyncio.sleep(0.05)
        frames, control = await spent(server, mirrored)
        late = list(delays)
        for watch in watches[1:]:
            watch.set_visible(False)
        _, front = await spent(server, mirrored)
        await mirror.close()
        note = (
            f"{100 * control / SECONDS:.0f} % at {frames / count / SECONDS:.0f} frames/s; "
            f"{100 * polled / SECONDS:.0f} % at {rounds / SECONDS:.0f}"
        )
        return 1e6 * control / frames, 100 * front / SECONDS, 1e6 * polled / (rounds * count), late, note


async def poll(server: TmuxServer, panes: list[PaneInfo]) -> int:
    """Describe and capture every pane in one call, at the frame rate; gives how many rounds there were."""
    rounds = 0
    chain = ["list-panes", "-a", "-F", FORMAT]
    for pane in panes:
        chain += [";", "display-message", "-p", "SCREEN", ";", "capture-pane", "-p", "-e", "-N", "-t", pane.pane]
    socket, last = str(server.socket_path), list[bytes]()
    until = time.monotonic() + SECONDS
    while (began := time.monotonic()) < until:
        process = await asyncio.create_subprocess_exec("tmux", "-S", socket, *chain, stdout=asyncio.subprocess.PIPE)
        output, _ = await process.communicate()
        screens = output.split(b"SCREEN\n")[1:]
        changed = [old != new for old, new in zip(last, screens, strict=False)]
        assert len(screens) == len(panes)
        assert not last or changed
        last = screens
        rounds += 1
        await asyncio.sleep(max(0.0, began + 1 / FPS - time.monotonic()))
    return rounds


async def spent(server: TmuxServer, work: Callable[[], Awaitable[int]]) -> tuple[int, float]:
    """(what the work gives, seconds of processor that it took, here and in tmux)"""
    (told,) = await server.connection.ask(["display-message -p '#{pid}'"])
    tmux = psutil.Process(int(told.text()[0]))
    before = used(server, tmux)
    result = await work()
    return result, used(server, tmux) - before


def used(server: TmuxServer, tmux: psutil.Process) -> float:
    """Seconds of processor so far: ours, the server's, our clients'."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = time.process_time() + ended.ru_utime + ended.ru_stime
    ours = [client for client, _ in clients(server)]
    for process in (tmux, *ours):
        with contextlib.suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system
    return total


async def flood() -> tuple[list[float], list[float], float, float, float, float]:
    """(key to frame alone, beside a flood, % of ours, seconds that it took, MB that we grew, that tmux grew)"""
    async with private_server() as server:
        calm = await server.spawn("gsh-agent-0001", ["cat"], cwd=Path("/tmp"), env={})
        line = f"read x; yes 'a line of a flood' | head -c {FLOOD_MB}000000; echo; echo THE END; exec cat"
        loud = await server.spawn("gsh-agent-0002", ["sh", "-c", line], cwd=Path("/tmp"), env={})
        ended = asyncio.Event()

        def on_loud(frame: Frame) -> None:
            if any("THE END" in line for line in frame.lines):
                ended.set()

        mirror = Mirror(server, fps=FPS)
        mirror.watch(loud.pane, on_loud, width=160, height=45)
        typist = Typist(server, mirror, calm)
        while mirror.mode != "control":
            await asyncio.sleep(0.05)
        alone = await typist.echoes(KEYS)
        (told,) = await server.connection.ask(["display-message -p '#{pid}'"])
        ours, tmux = psutil.Process(), psutil.Process(int(told.text()[0]))
        memory, theirs = ours.memory_info().rss, tmux.memory_info().rss
        began, cpu = time.perf_counter(), time.process_time()
        await server.send_keys(loud.pane, "Enter")
        beside = await typist.echoes(KEYS)
        await asyncio.wait_for(ended.wait(), 300)
        seconds = time.perf_counter() - began
        percent = 100 * (time.process_time() - cpu) / seconds
        grown = (ours.memory_info().rss - memory) / 1e6, (tmux.memory_info().rss - theirs) / 1e6
        await mirror.close()
        return alone, beside, percent, seconds, *grown


class Typist:
    """Types into a mirrored pane and times how long each letter takes to be in a frame."""

    def __init__(self, server: TmuxServer, mirror: Mirror, pane: PaneInfo) -> None:
        self._server = server
        self._pane = pane
        self._typed = ""
        self._came = asyncio.Event()
        self._watch = mirror.watch(pane.pane, self._on_frame, width=160, height=45)

    async def echoes(self, keys: int) -> list[float]:
        """Seconds from each key to the frame that shows it."""
        found: list[float] = []
        for number in range(keys):
            self._typed += "abcdefghijklmnopqrstuvwxyz"[number % 26]
            self._came.clear()
            began = time.perf_counter()
            await self._server.type_bytes(self._pane.pane, self._typed[-1].encode())
            self._watch.capture_soon()
            await asyncio.wait_for(self._came.wait(), 10)
            found.append(time.perf_counter() - began)
            await asyncio.sleep(0.05)
        await self._server.send_keys(self._pane.pane, "Enter")
        self._typed = ""
        return found

    def _on_frame(self, frame: Frame) -> None:
        if self._typed and any(line.rstrip() == self._typed for line in frame.lines):
            self._came.set()

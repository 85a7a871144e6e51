"""25 native agents that stream beside shells that say much: how late the hub answers, and a window echoes keys."""

import asyncio
import json
import os
import socket
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import psutil

from tests.bench.conversation import provider
from tests.bench.figures import Report, p95
from tests.bench.keeper import call, processor_seconds
from tests.bench.material import answer
from tests.bench.place import Place, bare, ours
from tests.bench.pty_probe import Probe
from tests.bench.shell_listener import CONNECTIONS, send
from tests.kit.tmux import end_server, short_folder

AGENTS, PACE, AT_ONCE = 25, 100, 5
"""Agents, tokens a second for each, and how many are started at once."""
TOKEN = 4
"""Characters of a token, as vendors count English."""
RATE, SECONDS = 5_000, 8
"""Events a second of the shells."""
SIZE = 60_000
"""Characters of an answer: at this pace they come for longer than all of it takes."""
KEYS, ROUNDS = 60, 3


def run(report: Report, place: Place) -> None:
    """The window at rest, and then beside all of them."""
    with short_folder() as folder, provider(place, answer(SIZE), pace=PACE, piece=TOKEN) as variables:
        runtime = folder / "runtime"
        runtime.mkdir(mode=0o700)
        more = {"TMUX_TMPDIR": folder, "XDG_RUNTIME_DIR": runtime, "LANG": "C.UTF-8", "SHELL": "/bin/sh"}
        environ = place.also(**more, GSH_HUB__KEEP="auto") | variables
        try:
            window, least = ours("--provider", "anthropic"), bare("echo")
            with (
                Probe(window, environ=environ, cwd=place.project) as probe,
                Probe(least, environ=environ, cwd=place.project) as floor,
            ):
                _measure(report, place, environ, probe, floor, runtime / "gsh")
        finally:
            call(place, environ, "hub", "stop", "--yes")
            end_server(folder / f"tmux-{os.getuid()}" / "gsh")


def _measure(report: Report, place: Place, environ: dict[str, str], probe: Probe, floor: Probe, runtime: Path) -> None:
    """`floor`: a loop that writes back what it reads, beside the same agents: what the machine itself takes."""
    for one in (probe, floor):
        one.first_frame()
    probe.rest(3.0)
    rested = probe.echoes(KEYS)
    with ThreadPoolExecutor(AT_ONCE) as starts:
        for _ in range(AGENTS):
            starts.submit(call, place, environ, "agent", "spawn", "Go on.", "--provider", "anthropic")
    pid = int(json.loads(call(place, environ, "hub", "status", "--json"))["pid"])
    # In processes of their own, so that they do not hold up the one that measures the echo.
    with ProcessPoolExecutor(2, get_context("spawn")) as others:
        list(others.map(abs, range(2)))
        probe.rest(1.0)  # what was drawn meanwhile waits to be read
        shells, pings = others.submit(_flood, runtime / "gsh.sock"), others.submit(_ping, runtime / "keeper.sock")
        used, began = processor_seconds(pid), time.monotonic()
        psutil.cpu_percent()
        echoes, least = list[float](), list[float]()
        for _ in range(ROUNDS):  # by turns, so that both see the same
            echoes += probe.echoes(KEYS // ROUNDS)
            least += floor.echoes(KEYS // ROUNDS)
        cores = psutil.cpu_percent()
        busy = 100 * (processor_seconds(pid) - used) / (time.monotonic() - began)
        shells.result()
        late = pings.result()
    rows = json.loads(call(place, environ, "agent", "ls", "--json"))
    working = sum(row["kind"] == "native" and row["status"] not in ("idle", "done", "failed") for row in rows)
    hello = 1e3 * sorted(late)[len(late) * 99 // 100]
    what = f"{AGENTS} agents at {PACE} tokens/s, {RATE:,} shell events/s"
    report.add(
        f"{what}: a hello to its answer, p99",
        hello,
        "ms",
        limit=50,
        note=f"{working} still work",
    )
    at_rest = f"{1e3 * p95(rested):.1f} ms at rest; all cores {cores:.0f} % busy"
    report.add(
        "  a window's key to its echo, p95", 1e3 * p95(echoes), "ms", floor=1e3 * p95(least), limit=2.0, note=at_rest
    )
    report.add("  the hub, of one core", busy, "%")


def _flood(path: Path) -> None:
    """Say much as shells."""

    async def send_all() -> None:
        senders = (send(path, number, RATE * SECONDS // CONNECTIONS, RATE) for number in range(CONNECTIONS))
        await asyncio.gather(*senders)

    asyncio.run(send_all())


def _ping(path: Path) -> list[float]:
    """Greet the hub again and again; gives the seconds from each connection to its welcome."""
    late = list[float]()
    hello = json.dumps({"hello": "command", "pid": os.getpid()}).encode() + b"\n"
    until = time.monotonic() + SECONDS
    while time.monotonic() < until:
        time.sleep(0.02)
        began = time.perf_counter()
        with socket.socket(socket.AF_UNIX) as connected:
            connected.connect(str(path))
            connected.sendall(hello)
            connected.recv(4096)
        late.append(time.perf_counter() - began)
    return late

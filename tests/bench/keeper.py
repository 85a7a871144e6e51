"""The keeper: what it costs at rest, how long commands take beside it, and how long mail to an idle agent waits."""

import asyncio
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

from gshtui.bus.bus import Bus
from gshtui.bus.letter import PERSON
from gshtui.fleet.mail.outbox import Address, Addresses, MailOutbox
from gshtui.store.record.store import Store
from tests.bench.figures import Report, median, p95
from tests.bench.place import ROOT, Place, ours
from tests.kit.tmux import end_server, short_folder

COUNTS = (0, 3)
SETTLED, REST = 45.0, 20.0
"""Seconds until what starts has settled, and over which it is watched."""
BUSY = 10
PRINTS = "while :; do echo a line of the build; sleep 0.05; done"
ROUNDS = 15
LETTERS = 20
ASKED = (("--version",), ("agent", "ls"), ("agent", "show", "1"), ("session", "ls"), ("usage",), ("workflow", "ls"))
SCREENS = ROOT / "tests" / "fixtures" / "screens" / "claude" / "2.1.197"
PROGRAM = shlex.join([sys.executable, "-m", "tests.kit.fake_agent", "--screens", str(SCREENS), "--work", "0.2"])


def run(report: Report, place: Place) -> None:
    """First without agents, then with a few; then commands and mail beside them."""
    with short_folder() as folder:
        environ = place.also(TMUX_TMPDIR=folder, LANG="C.UTF-8", SHELL="/bin/sh", GSH_HUB__KEEP="auto")
        try:
            _measure(report, place, environ)
        finally:
            call(place, environ, "hub", "stop")
            end_server(folder / f"tmux-{os.getuid()}" / "gsh")


def _measure(report: Report, place: Place, environ: dict[str, str]) -> None:
    call(place, environ, "hub", "start")
    for count in COUNTS:
        for _ in range(count):
            call(place, environ, "agent", "spawn", "--cli", PROGRAM, "--profile", "claude")
        time.sleep(SETTLED)
        pid = int(json.loads(call(place, environ, "hub", "status", "--json"))["pid"])
        woken, used = _woken(pid), processor_seconds(pid)
        time.sleep(REST)
        name = f"{count} agents"
        report.add(f"keeper at rest, {name}: woken", (_woken(pid) - woken) / REST, "/s", limit=1.0)
        report.add(f"  of one core, {name}", 100 * (processor_seconds(pid) - used) / REST, "%", limit=0.5)
        resident, proportional = _memory(pid)
        note = f"{resident:.0f} MB resident, libraries that others use included"
        report.add(f"  memory of its own and its share of others', {name}", proportional, "MB", limit=45, note=note)
    for kind, floor in zip(("asyncio and SQLite", "the libraries that it needs"), _floors(), strict=True):
        report.add(f"  memory of a bare Python with {kind}", floor[1], "MB", note=f"{floor[0]:.0f} MB resident")
    for _ in range(BUSY):
        call(place, environ, "agent", "spawn", "--cli", shlex.join(["sh", "-c", PRINTS]))
    time.sleep(SETTLED)
    pid = int(json.loads(call(place, environ, "hub", "status", "--json"))["pid"])
    used = processor_seconds(pid)
    time.sleep(REST)
    report.add(
        f"  of one core, {BUSY} that print 20 lines a second",
        100 * (processor_seconds(pid) - used) / REST,
        "%",
        limit=2.0,
    )
    for row in json.loads(call(place, environ, "agent", "ls", "--json")):
        if row["name"] == "sh":
            call(place, environ, "agent", "kill", row["id"], "--yes")
    asked = {" ".join(words): ours(*words) for words in ASKED}
    bare = {"python -c pass": [sys.executable, "-c", "pass"], "-I -S": [sys.executable, "-I", "-S", "-c", "pass"]}
    took: dict[str, list[float]] = {name: [] for name in (*bare, *asked)}
    for _ in range(ROUNDS):
        for name, words in (bare | asked).items():
            took[name].append(_timed(place, environ, words))
    note = ", ".join(f"{name} {1e3 * median(took[name]):.0f} ms" for name in bare)
    for name in asked:
        times = median(took[name]) / median(took["python -c pass"])
        report.add(f"  {name} beside it", 1e3 * median(took[name]), "ms", limit=150, note=f"{times:.1f} times {note}")
    waited = asyncio.run(_mail(place.home.data / "gsh"))
    report.add(
        "  mail to an idle agent without a window, p95",
        p95(waited),
        "s",
        limit=1.0,
        note=f"median {median(waited):.2f}",
    )
    call(place, environ, "hub", "stop")
    found = [_timed(place, environ | {"GSH_HUB__KEEP": "alone"}, ours("agent", "ls")) for _ in range(ROUNDS)]
    report.add("  agent ls alone", 1e3 * median(found), "ms")


def _floors() -> list[tuple[float, float]]:
    """(resident, proportional) MB of bare Pythons: what no keeper could do without, and what ours is made of."""
    found: list[tuple[float, float]] = []
    for modules in ("asyncio, sqlite3", "asyncio, aiosqlite, msgspec, psutil, pydantic_settings, regex"):
        code = f"import {modules}; asyncio.run(asyncio.sleep(0)); print(1, flush=True); input()"
        with subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        ) as bare:
            assert bare.stdout is not None
            bare.stdout.readline()
            found.append(_memory(bare.pid))
            bare.communicate(b"\n")
    return found


async def _mail(data: Path) -> list[float]:
    """Seconds from leaving a message in the record until it was delivered."""
    waited: list[float] = []
    store = await Store.open(data / "gsh.db")
    outbox = MailOutbox(Bus(), store, Addresses(store, lambda _: ""))
    try:
        for number in range(LETTERS):
            while (row := await store.agents.find("1")).status != "idle":
                await asyncio.sleep(0.05)
            letter = await outbox.post(
                PERSON, Address(row.id, row.name, row=row), f"message {number}", kind="send", defer=True
            )
            began = time.perf_counter()
            while (await store.mail.find(letter.id)).state not in ("submitted", "acted"):
                await asyncio.sleep(0.005)
            waited.append(time.perf_counter() - began)
    finally:
        outbox.close()
        await store.close()
    return waited


def call(place: Place, environ: dict[str, str], *words: str) -> str:
    """Run a command of ours; returns what it printed."""
    done = subprocess.run(
        ours(*words), env=environ, cwd=place.project, capture_output=True, text=True, timeout=60, check=False
    )
    return done.stdout


def _timed(place: Place, environ: dict[str, str], words: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(words, env=environ, cwd=place.project, capture_output=True, timeout=60, check=False)
    return time.perf_counter() - began


def _woken(pid: int) -> int:
    """How often its threads have waited for something until now."""
    lines = [line for file in Path(f"/proc/{pid}/task").glob("*/status") for line in file.read_text().splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))


def processor_seconds(pid: int) -> float:
    """Seconds of processor time until now."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory(pid: int) -> tuple[float, float]:
    """(resident, proportional) MB."""
    found = {
        words[0]: int(words[1]) / 1e3
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        if (words := line.split())[0] in ("Rss:", "Pss:")
    }
    return found["Rss:"], found["Pss:"]

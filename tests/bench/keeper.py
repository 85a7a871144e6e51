"""The keeper: what it costs at rest, how long commands take beside it, and how long mail to an idle agent waits."""

from __future__ import annotations

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
from gshtui.store.store import Store
from tests.bench.figures import Report, median, p95
from tests.bench.place import ROOT, Place, ours
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Say
from tests.kit.tmux import end_server, short_folder

COUNTS = (0, 3)
SETTLED, REST = 45.0, 20.0
"""Seconds until what starts has settled, and over which it is watched."""
ROUNDS = 15
QUESTIONS = 10
LETTERS = 20
SCREENS = ROOT / "tests" / "fixtures" / "screens" / "claude" / "2.1.197"
PROGRAM = shlex.join([sys.executable, "-m", "tests.kit.fake_agent", "--screens", str(SCREENS), "--work", "0.2"])


def run(report: Report, place: Place) -> None:
    """First without agents, then with a few; then commands and mail beside them."""
    with short_folder() as folder:
        environ = place.also(TMUX_TMPDIR=folder, LANG="C.UTF-8", SHELL="/bin/sh", GSH_HUB__KEEP="auto")
        try:
            _measure(report, place, environ)
        finally:
            _call(place, environ, "hub", "stop")
            end_server(folder / f"tmux-{os.getuid()}" / "gsh")


def _measure(report: Report, place: Place, environ: dict[str, str]) -> None:
    _call(place, environ, "hub", "start")
    for count in COUNTS:
        for _ in range(count):
            _call(place, environ, "agent", "spawn", "--cli", PROGRAM, "--profile", "claude")
        time.sleep(SETTLED)
        pid = int(json.loads(_call(place, environ, "hub", "status", "--json"))["pid"])
        woken, used = _woken(pid), _cpu(pid)
        time.sleep(REST)
        name = f"{count} agents"
        report.add(f"keeper at rest, {name}: woken", (_woken(pid) - woken) / REST, "/s", limit=1.0)
        report.add(f"  of one core, {name}", 100 * (_cpu(pid) - used) / REST, "%", limit=0.5)
        resident, proportional = _memory(pid)
        note = f"{resident:.0f} MB resident, libraries that others use included"
        report.add(f"  memory of its own and its share of others', {name}", proportional, "MB", limit=45, note=note)
    floor = [_timed(place, environ, [sys.executable, "-c", "pass"]) for _ in range(ROUNDS)]
    for words in (("--version",), ("agent", "ls"), ("agent", "show", "1"), ("hub", "status")):
        found = [_timed(place, environ, ours(*words)) for _ in range(ROUNDS)]
        note = f"bare Python {1e3 * median(floor):.0f} ms"
        report.add(f"  {' '.join(words)} beside it", 1e3 * median(found), "ms", limit=150, note=note)
    waited = asyncio.run(_mail(place.home.data / "gsh"))
    report.add(
        "  mail to an idle agent without a window, p95",
        p95(waited),
        "s",
        limit=1.0,
        note=f"median {median(waited):.2f}",
    )
    beside, alone = asyncio.run(_questions(place, environ))
    report.add(
        "  gsh, to the first byte beside it: more than alone",
        1e3 * (median(beside) - median(alone)),
        "ms",
        limit=50.0,
        note=f"{1e3 * median(beside):.0f} and {1e3 * median(alone):.0f} ms",
    )
    _call(place, environ, "hub", "stop")
    found = [_timed(place, environ | {"GSH_HUB__KEEP": "never"}, ours("agent", "ls")) for _ in range(ROUNDS)]
    report.add("  agent ls alone", 1e3 * median(found), "ms")


async def _questions(place: Place, environ: dict[str, str]) -> tuple[list[float], list[float]]:
    """Seconds until `gsh` prints the first byte of an answer: beside the keeper and its agents, and in a home that has
    neither, one after the other."""
    beside: list[float] = []
    alone: list[float] = []
    folders = {name: str(place.home.path / "alone" / name) for name in ("XDG_DATA_HOME", "XDG_STATE_HOME")}
    Path(runtime := str(place.home.path / "alone" / "run")).mkdir(parents=True, mode=0o700)
    async with loopback("anthropic", [[Say("ok")]], repeat=True) as server:
        model = variables("anthropic", server.url)
        other = environ | model | folders | {"XDG_RUNTIME_DIR": runtime, "GSH_HUB__KEEP": "never"}
        for number in range(QUESTIONS + 1):
            for environment, found in ((environ | model, beside), (other, alone)):
                first = await asyncio.to_thread(_first_byte, place, environment, ours("gsh", "what", "failed?"))
                if number:  # the first one makes the record
                    found.append(first)
    return beside, alone


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


def _call(place: Place, environ: dict[str, str], *words: str) -> str:
    done = subprocess.run(
        ours(*words), env=environ, cwd=place.project, capture_output=True, text=True, timeout=60, check=False
    )
    return done.stdout


def _timed(place: Place, environ: dict[str, str], words: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(words, env=environ, cwd=place.project, capture_output=True, timeout=60, check=False)
    return time.perf_counter() - began


def _first_byte(place: Place, environ: dict[str, str], words: list[str]) -> float:
    """Seconds until it prints anything; it is over when this returns."""
    began = time.perf_counter()
    with subprocess.Popen(
        words,
        env=environ,
        cwd=place.project,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.read(1), "it has no answer"
        first = time.perf_counter() - began
        process.stdout.read()
    return first


def _woken(pid: int) -> int:
    """How often its threads have waited for something until now."""
    lines = [line for file in Path(f"/proc/{pid}/task").glob("*/status") for line in file.read_text().splitlines()]
    return sum(int(line.split()[1]) for line in lines if line.startswith("voluntary_ctxt_switches"))


def _cpu(pid: int) -> float:
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

"""A shell log of a million rows beside one of a thousand: scrolling, jumping, filtering. Real program and record."""

import asyncio
import sqlite3
from contextlib import closing

from gshtui.settings import paths
from gshtui.store.record.store import Store
from tests.bench.figures import Report, median, p95
from tests.bench.history import reaction
from tests.bench.place import Place, ours
from tests.bench.pty_probe import Late, Probe

LENGTHS = (1_000, 1_000_000)
ROUNDS = 2
_BEGAN = 1_600_000_000
_LATEST = 20.0
WHEEL_UP, WHEEL_DOWN = b"\x1b[<64;70;15M", b"\x1b[<65;70;15M"
LOG, ZOOM = b"\x1b3", b"z"
PAGE_UP, PAGE_DOWN = b"\x1b[5~", b"\x1b[6~"


def run(report: Report, place: Place) -> None:
    """The short one first, then as many rows more as the long one has."""
    environ = place.also(GSH_CONTEXT__MAX_HISTORY_LINES=0)
    wheel: dict[int, list[float]] = {length: [] for length in LENGTHS}
    pages: dict[int, list[float]] = {length: [] for length in LENGTHS}
    jumps: dict[int, list[float]] = {length: [] for length in LENGTHS}
    filters: dict[int, list[float]] = {length: [] for length in LENGTHS}
    memory: dict[int, list[float]] = {length: [] for length in LENGTHS}
    written = 0
    for length in LENGTHS:
        asyncio.run(ran(written, length))
        written = length
        for _ in range(ROUNDS):
            with Probe(ours(), environ=environ, cwd=place.project) as probe:
                probe.first_frame()
                probe.wait_for("no model")
                probe.settle()
                probe.write(LOG)
                probe.settle()
                shown(probe, ZOOM, f"step{length - 1}end")
                probe.settle(0.3)
                wheel[length] += [reaction(probe, notch) for notch in [WHEEL_UP] * 40 + [WHEEL_DOWN] * 20]
                pages[length] += [reaction(probe, key) for key in [PAGE_UP] * 10 + [PAGE_DOWN] * 3]
                jumps[length].append(shown(probe, b"g", "step0end"))
                jumps[length].append(shown(probe, b"G", f"step{length - 1}end"))
                probe.write(b"/")
                probe.settle(0.3)
                filters[length].append(shown(probe, b"step777end", "part777.c"))
                memory[length].append(probe.memory())
    short, long = LENGTHS
    for name, figures, of, limit in (
        ("a million rows: a notch of the wheel to the screen, median", wheel, median, 1.5),
        ("  a notch of the wheel to the screen, p95", wheel, p95, 2.0),
        ("  a page to the screen, median", pages, median, 1.5),
        ("  to the other end of the log", jumps, median, 0.0),
        ("  a filter, until its rows are there", filters, median, 0.0),
    ):
        bound = {"limit": limit} if limit else {}
        report.add(name, 1e3 * of(figures[long]), "ms", floor=1e3 * of(figures[short]), **bound)
    report.add("  resident memory", median(memory[long]), "MB", floor=median(memory[short]), limit=1.3)


def shown(probe: Probe, keys: bytes, text: str) -> float:
    """Seconds from keys to words on the screen."""
    before = len(probe.output)
    at = probe.write(keys)
    while text.encode() not in probe.output[before:]:
        probe.read(0.05)
        if probe.now() - at > _LATEST:
            raise Late(f"{text!r} did not appear within {_LATEST:g} s")
    return probe.now() - at


async def ran(first: int, last: int) -> None:
    """Write commands with these numbers into the record."""
    path = paths.data_dir() / "gsh.db"
    await (await Store.open(path)).close()
    rows = (
        (
            (_BEGAN + number * 10) * 1_000_000,
            number,
            f"echo step{number}end && make test FILES='src/part{number % 997}.c'",
            f"/src/project{number % 40}",
            f"/dev/pts/{number % 9}",
            _BEGAN + number * 10,
            number % 7 == 0,
        )
        for number in range(first, last)
    )
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany(
            "INSERT INTO history (id, shell, number, command, cwd, tty, at, duration, exit, state)"
            " VALUES (?, 'bench', ?, ?, ?, ?, ?, 1.5, ?, 'done')",
            rows,
        )

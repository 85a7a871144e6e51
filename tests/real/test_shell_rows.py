"""Rows of the shell log by their numbers, from a real record: order, filters, the newest first asked for."""

import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gshtui.bus.shell_data import ShellNote, ShellRecord
from gshtui.bus.shell_rows import Filter, Row
from gshtui.store.record.store import Store
from tests.kit.endings import closing_async

T = 1_800_000_000.0
FILTERS = [
    Filter(),
    Filter(failed=True),
    Filter(text="make"),
    Filter(text="ma 7"),
    Filter(text="remark"),
    Filter(cwd="/src/b"),
    Filter(cwd="/src"),
    Filter(shell="s2"),
    Filter(text="test", failed=True, cwd="/src/a", shell="s1"),
    Filter(text="nowhere to be found"),
]


def command(number: int, shell: str = "s1") -> ShellRecord:
    return ShellRecord(
        shell=shell,
        number=number,
        command=f"make test {number}" if number % 3 else f"ls {number}",
        cwd=f"/src/{'ab'[number % 2]}" + ("/deep" if number % 5 == 0 else ""),
        at=T + number * 10,
        duration=1.5,
        exit=number % 4,
        state="done",
    )


def note(number: int) -> ShellNote:
    """The note of a number; it stands behind the command of the same one."""
    return ShellNote("note", f"Remark {number}", T + number * 10 + 5, "s1", "/src/b")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """A record of commands of two shells with notes among them, kept in no order."""
    opened = await Store.open(tmp_path / "gsh.db")
    records = [command(number, "s1" if number % 7 else "s2") for number in range(1, 400)]
    random.Random(7).shuffle(records)
    await opened.shells.add_all(records, [(note(number), 0) for number in range(3, 400, 20)])
    yield opened
    await opened.close()


def times(rows: tuple[Row, ...]) -> list[float]:
    return [row.at for row in rows]


@pytest.mark.parametrize("wanted", FILTERS, ids=repr)
async def test_every_row_has_its_number(store: Store, wanted: Filter) -> None:
    """Whatever stretch is asked for: it is that part of all rows that the filter admits, in the order of time."""
    everything = (await store.shells.rows(Filter(), 0, 10_000)).rows
    assert len(everything) == 399 + 20
    assert times(everything) == sorted(times(everything))
    fitting = [row for row in everything if wanted.admits(row)]
    for start, limit in ((0, 1), (0, 50), (13, 100), (len(fitting) - 5, 50), (len(fitting) // 2, 7)):
        found = await store.shells.rows(wanted, max(0, start), limit)
        assert found.total == len(fitting)
        assert found.start == max(0, start)
        assert list(found.rows) == fitting[found.start : found.start + limit]


async def test_the_newest_begin_at_a_multiple(store: Store) -> None:
    found = await store.shells.rows(Filter(), -1, 50)
    assert (found.start, found.total, len(found.rows)) == (350, 419, 69)
    assert found.rows == (await store.shells.rows(Filter(), 350, 100)).rows
    assert (await store.shells.rows(Filter(text="Remark 3"), -1, 50)).start == 0


async def test_an_empty_record_has_no_rows(tmp_path: Path) -> None:
    async with closing_async(await Store.open(tmp_path / "gsh.db")) as store:
        found = await store.shells.rows(Filter(), -1, 200)
        assert (found.start, found.total, found.rows) == (0, 0, ())


async def test_the_same_files_again_renew_the_newest_row(store: Store) -> None:
    """As the pane has it: neither says twelve times what changed twelve times."""

    async def add(text: str, at: float) -> None:
        await store.shells.add_note_once(ShellNote("file", text, at, cwd="/src"), 3.0)

    for at in range(5_000, 5_120, 10):
        await add("a.py", T + at)
    await add("b.py", T + 5_200)
    await add("a.py", T + 5_300)
    await store.shells.add_all([command(540)])
    await add("a.py", T + 5_410)
    rows = (await store.shells.rows(Filter(), 0, 10_000)).rows[419:]
    assert [(row.text if isinstance(row, ShellNote) else "make", row.at - T) for row in rows] == [
        ("a.py", 5_110),
        ("b.py", 5_200),
        ("a.py", 5_300),
        ("make", 5_400),
        ("a.py", 5_410),
    ]

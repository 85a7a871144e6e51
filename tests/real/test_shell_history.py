"""The history of commands in a real record: halves merge, a million rows answer, old ones go in small steps."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gshtui.bus.shell_data import ShellNote, ShellRecord
from gshtui.store.engine.migrations import MIGRATIONS
from gshtui.store.record.store import Store
from gshtui.store.tables import command_history
from gshtui.store.tables.command_history import HistoryQuery, find_commands
from tests.kit.endings import closing_async
from tests.kit.storms import examples

AT = 1_760_000_000.0


def started(number: int, command: str = "make", *, shell: str = "s1", at: float = AT, cwd: str = "/p") -> ShellRecord:
    return ShellRecord(shell=shell, number=number, command=command, cwd=cwd, at=at + number, pane="%1")


def ended(number: int, exit: int = 0, *, shell: str = "s1", at: float = AT) -> ShellRecord:
    return ShellRecord(
        shell=shell,
        number=number,
        exit=exit,
        duration=1.5,
        pipestatus=(0, exit),
        state="done",
        at=at + number,
        program="",
    )


async def test_the_halves_of_a_command_become_one_row_in_any_order_and_however_often(store: Store) -> None:
    running = await store.shells.put_record(started(1))
    assert running.state == "running" and running.id > 0
    done = await store.shells.put_record(ended(1, 2))
    again = await store.shells.put_record(started(1))
    assert again == done
    assert (done.id, done.command, done.exit, done.duration, done.state) == (running.id, "make", 2, 1.5, "done")
    assert done.pipestatus == (0, 2) and done.pane == "%1" and done.program == "zsh"

    late = await store.shells.put_record(ended(2))
    assert late.id == 0 and await store.shells.count() == 1
    whole = await store.shells.put_record(started(2, "make test"))
    assert (whole.command, whole.state, whole.exit) == ("make test", "done", 0)
    assert [row.command for row in await store.shells.find_all(HistoryQuery(query="make TEST"))] == ["make test"]
    assert await store.shells.count() == 2


async def test_what_was_lost_is_done_when_its_end_comes_after_all(store: Store) -> None:
    await store.shells.add_all([started(1), started(1, shell="s2")])
    assert [row.shell for row in await store.shells.running()] == ["s1", "s2"]
    (lost,) = await store.shells.close_lost(["s1"])
    assert (lost.shell, lost.state, lost.exit) == ("s1", "lost", None)
    assert (await store.shells.put_record(started(1))).state == "lost"
    assert (await store.shells.put_record(ended(1, 1))).state == "done"
    assert [row.shell for row in await store.shells.running()] == ["s2"]


async def test_search_finds_parts_of_words_and_newest_first(store: Store) -> None:
    commands = ["git status", "docker compose up", "GIT push --force", "ls -la", 'echo "a\'b" -> ü日本', "git-lfs pull"]
    await store.shells.add_all([started(n, command) for n, command in enumerate(commands, 1)])
    await store.shells.add_all([ended(n, 1 if n == 3 else 0) for n in range(1, 7)])

    async def found(query: str, limit: int = 50, **more: Any) -> list[str]:
        wanted = HistoryQuery(query=query, **more)  # type: ignore[arg-type]
        return [row.command for row in await store.shells.find_all(wanted, limit=limit)]

    assert await found("git") == ["git-lfs pull", "GIT push --force", "git status"]
    assert await found("ompose") == ["docker compose up"]
    assert await found("git ush") == ["GIT push --force"]
    assert await found("git", failed=True) == ["GIT push --force"]
    assert await found("git", exit=0, limit=1) == ["git-lfs pull"]
    assert await found("ls") == ["ls -la"]
    assert await found("->") == ['echo "a\'b" -> ü日本']
    assert await found("日本") == ['echo "a\'b" -> ü日本']
    assert await found('"a\'b"') == ['echo "a\'b" -> ü日本']
    for odd in ('" OR 1', "NOT git", "a*", "(", "\0", "col:x", "\ud800 git"):
        await found(odd)


async def test_folder_time_and_shell_narrow_it_down(store: Store) -> None:
    rows = [started(n, f"c{n}", cwd=cwd) for n, cwd in enumerate(["/p", "/p/a", "/pq", "/p/b/c", "/other"], 1)]
    await store.shells.add_all([*rows, started(9, "elsewhere", shell="s2", cwd="/p")])

    async def found(limit: int = 50, **wanted: Any) -> list[str]:
        query = HistoryQuery(**wanted)  # type: ignore[arg-type]
        return [row.command for row in await store.shells.find_all(query, limit=limit)]

    assert await found(cwd="/p/") == ["elsewhere", "c4", "c2", "c1"]
    assert await found(cwd="/p", limit=2) == ["elsewhere", "c4"]
    assert await found(cwd="/nowhere") == []
    assert await found(cwd="/") == ["elsewhere", "c5", "c4", "c3", "c2", "c1"]
    assert await found(query="else", cwd="/p") == ["elsewhere"]
    assert await found(shell="s2") == ["elsewhere"]
    assert await found(after=AT + 2, before=AT + 4) == ["c3", "c2"]
    assert await store.shells.count(HistoryQuery(cwd="/p")) == 4
    many = [started(n, f"m{n}", cwd=f"/q/{n}", shell="s3") for n in range(1, 101)]
    await store.shells.add_all(many)
    assert await found(cwd="/q", limit=2) == ["m100", "m99"]


async def test_a_clock_that_steps_back_does_not_change_a_shells_order(store: Store) -> None:
    await store.shells.add_all([started(1, "one"), started(2, "two", at=AT - 7200), started(3, "three", at=AT - 7200)])
    assert [row.command for row in reversed(await store.shells.find_all(limit=10))] == ["one", "two", "three"]
    odd = [started(4, "nan", at=float("nan")), started(5, "inf", at=float("inf")), started(6, "past", at=-1e300)]
    await store.shells.add_all(odd)
    assert [row.command for row in reversed(await store.shells.find_all(limit=3))] == ["nan", "inf", "past"]


async def test_commands_of_one_moment_stay_in_their_shells_order(store: Store) -> None:
    times = {1: 0.0, 3: 0.002, 4: 0.002, 2: 5.0}  # the second comes last, from a clock that was ahead
    rows = [started(n, f"c{n}", shell=shell, at=AT - n + at) for n, at in times.items() for shell in ("a", "b")]
    rows += [started(n, f"c{n}", shell="import zsh", at=AT - n) for n in range(1, 3_000)]
    for start in range(0, len(rows), 500):
        await store.shells.add_all(rows[start : start + 500])
    for shell in ("a", "b"):
        assert [row.number for row in await store.shells.find_all(HistoryQuery(shell=shell))] == [4, 3, 2, 1]
    assert await store.shells.count() == len(rows)


async def test_pages_cover_every_row_once(store: Store) -> None:
    await store.shells.add_all([started(n, f"c{n}") for n in range(1, 26)])
    seen: list[str] = []
    after = -1
    while page := await store.shells.find_all(HistoryQuery(after_id=after), limit=10, oldest=True):
        seen += [row.command for row in page]
        after = page[-1].id
    assert seen == [f"c{n}" for n in range(1, 26)]


async def test_old_rows_go_in_small_steps_and_with_them_what_they_printed(store: Store) -> None:
    await store.shells.add_all([started(n, f"c{n}") for n in range(1, 1_201)])
    kept = await store.shells.put_output("s1", 1, "hello\nworld\n")
    assert kept is not None and kept.output_lines == 2
    await store.shells.put_output("s1", 1_200, "hello\nworld\n")
    await store.shells.put_output("s1", 2, "only here")
    key = (await store.shells.find_all(HistoryQuery(query="c2"), limit=1_000))[-1].output
    steps: list[int] = []
    while removed := await store.shells.trim(100):
        steps.append(removed)
    assert steps == [500, 500, 100]
    assert await store.shells.count() == 100
    assert await store.shells.find_all(HistoryQuery(query="c1050")) == []
    assert await store.outputs.get(kept.output) == "hello\nworld\n"
    with pytest.raises(Exception, match="no output"):
        await store.outputs.get(key)
    assert await store.shells.put_output("s1", 3, "too late") is None


async def test_a_note_is_kept_once_however_often_its_line_comes(store: Store) -> None:
    note = ShellNote(kind="note", text="# why", at=AT, shell="s1", cwd="/p")
    _, (first,) = await store.shells.add_all([started(1)], [(note, 7)])
    _, again = await store.shells.add_all([], [(note, 7), (note, 8), (note, 0), (note, 0)])
    assert first is not None and (first.text, first.cwd) == ("# why", "/p")
    assert [kept is not None for kept in again] == [False, True, True, True]
    assert len(await store.shells.notes(kind="note", shell="s1")) == 4
    assert await store.shells.notes(before=AT) == [] and await store.shells.notes(kind="file") == []


async def test_the_history_survives_a_damaged_word_index(store: Store, path: Path) -> None:
    await store.shells.add_all([started(n, f"command-{n}") for n in range(1, 50)])
    await store.close()
    with sqlite3.connect(path) as raw:
        (first,) = raw.execute("SELECT min(id) FROM history_fts_data WHERE id > 10").fetchone()
        raw.execute("UPDATE history_fts_data SET block = x'ff00ff00ff00ff' WHERE id >= ?", (first,))
    raw.close()
    async with closing_async(await Store.open(path)) as again:
        assert [row.number for row in await again.shells.find_all(HistoryQuery(query="command-4"), limit=100)] == [
            *range(49, 39, -1),
            4,
        ]
        assert await again.shells.count() == 49


@pytest.fixture(scope="module")
def memory() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for script in MIGRATIONS:
        connection.executescript(script)
    return connection


_words = st.text(alphabet="abAB -\"'*é日\0", min_size=0, max_size=8)


@settings(max_examples=examples(60), deadline=None)
@given(
    commands=st.lists(_words.filter(bool), max_size=12),
    query=_words,
    exits=st.lists(st.integers(0, 2), min_size=12, max_size=12),
)
def test_search_is_what_looking_at_every_row_gives(
    memory: sqlite3.Connection, commands: list[str], query: str, exits: list[int]
) -> None:
    memory.execute("DELETE FROM history")
    rows = [started(n, command) for n, command in enumerate(commands, 1)]
    command_history.keep_records(memory, rows)
    command_history.keep_records(memory, [ended(row.number, exits[row.number - 1]) for row in rows])
    wanted = HistoryQuery(query=query, failed=True)
    words = query.replace("\0", " ").casefold().split()
    expected = [
        row.number
        for row in reversed(rows)
        if exits[row.number - 1] and all(word in row.command.casefold() for word in words)
    ]
    assert [row.number for row in find_commands(memory, wanted, limit=100)] == expected
    assert command_history.count_all(memory) == len(rows)

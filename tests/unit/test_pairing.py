"""Two halves of a command become one record: in order, out of order, twice, lost, ignored, with a clock that jumps."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.bus.event import Event
from gshtui.bus.events.shell_events import (
    ShellCommandFinished,
    ShellCommandStarted,
    ShellEnded,
    ShellFolderChanged,
    ShellNoted,
    ShellStarted,
)
from gshtui.shell.pairing import PairedLine, Pairing, PairingResult, PairingRules, ignore_filter
from gshtui.store.engine.migrations import MIGRATIONS
from gshtui.store.tables import command_history
from gshtui.store.tables.command_history import HistoryQuery, find_commands

NOW = 1_760_000_000.0
RULES = PairingRules(
    redact=lambda text: text.replace("s3cret", "[redacted]"),
    ignored=ignore_filter(["history*", "?", "pass [a-c]*"]),
    branch=lambda folder: "main" if folder == "/p" else "",
)


def began(number: int, command: str = "make", *, shell: str = "s", at: float = NOW, **more: Any) -> Event:
    fields = {"cwd": "/p", **more}
    return ShellCommandStarted(shell=shell, number=number, command=command, at=at, **fields)  # type: ignore[arg-type]


def ended(number: int, exit: int = 0, *, shell: str = "s", at: float = NOW + 2, duration: float = 2.0) -> Event:
    return ShellCommandFinished(shell=shell, number=number, exit=exit, duration=duration, pipestatus=(exit,), at=at)


@pytest.fixture(scope="module")
def memory() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    for script in MIGRATIONS:
        connection.executescript(script)
    return connection


@pytest.fixture
def pairing() -> Pairing:
    return Pairing(RULES)


def take(pairing: Pairing, *events: Event, process: str = "", now: float = NOW + 5) -> PairingResult:
    return pairing.add_lines([PairedLine(event, seq, process) for seq, event in enumerate(events, 1)], now)


def test_a_command_is_running_then_done_with_all_that_is_known(pairing: Pairing) -> None:
    who = ShellStarted(shell="s", pid=7, tty="/dev/pts/1", pane="%3", socket="/t", host="h", program="bash", at=NOW)
    taken = take(pairing, who, began(1, "ll", expanded="ls -l", cut=9))
    (running,) = taken.records
    assert running.state == "running" and list(pairing.running) == [running]
    assert (running.tty, running.pane, running.host, running.program) == ("/dev/pts/1", "%3", "h", "bash")
    assert (running.command, running.expanded, running.branch, running.cut) == ("ll", "ls -l", "main", 9)
    assert taken.shells["s"].socket == "/t"
    (done,) = take(pairing, ended(1, 3)).records
    assert (done.state, done.exit, done.duration, done.at) == ("done", 3, 2.0, NOW)
    assert done.command == "ll" and done.pipestatus == () and not list(pairing.running)


def test_pipelines_and_lines(pairing: Pairing) -> None:
    event = ShellCommandFinished(shell="s", number=1, exit=0, pipestatus=(1, 0, 141), duration=0.5, at=NOW)
    *_, done = take(pairing, began(1, "for a in 1 2\ndo echo $a\ndone | cat | head"), event).records
    assert done.pipestatus == (1, 0, 141) and done.command.count("\n") == 2


def test_what_comes_again_is_nothing_new(pairing: Pairing) -> None:
    first = take(pairing, began(1), ended(1), began(2))
    assert len(first.records) == 3
    again = take(pairing, began(1), ended(1), began(2))
    assert again.records == [] and [record.number for record in pairing.running] == [2]


def test_an_end_without_a_beginning_is_kept_for_it(pairing: Pairing) -> None:
    (half,) = take(pairing, ended(4, 1)).records
    assert (half.command, half.state, half.exit, half.at) == ("", "done", 1, NOW)


def test_the_next_command_closes_one_whose_end_was_not_heard(pairing: Pairing) -> None:
    taken = take(pairing, began(1), began(2))
    assert [(record.number, record.state) for record in taken.records] == [(1, "running"), (1, "lost"), (2, "running")]
    assert [record.state for record in pairing.close_shells(["s"])] == ["lost"] and not list(pairing.running)


def test_exit_and_exec_end_the_command_that_they_are(pairing: Pairing) -> None:
    who = ShellStarted(shell="s", pid=7, at=NOW)
    take(pairing, who, began(1, "exit 3"), process="p7")
    taken = take(pairing, ShellEnded(shell="s", at=NOW + 1), process="p7")
    assert [(r.state, r.exit, r.duration) for r in taken.records] == [("done", None, 1.0)] and taken.ended == {"s"}

    take(pairing, ShellStarted(shell="a", pid=8, at=NOW), began(1, "exec zsh", shell="a"), process="p8")
    taken = take(pairing, ShellStarted(shell="b", pid=8, at=NOW + 1), process="p8")
    assert [(r.shell, r.state) for r in taken.records] == [("a", "done")] and taken.ended == {"a"}
    late = take(pairing, ShellStarted(shell="a", pid=8, at=NOW), process="p8")
    assert late.ended == set() and "b" in pairing.shells


def test_ignored_commands_leave_nothing_behind(pairing: Pairing) -> None:
    for number, command in enumerate([" secret", "\tx", "history 5", "q", "pass a", "", "  "], 1):
        taken = take(pairing, began(number, command), ended(number))
        assert taken.records == [], command
    assert len(take(pairing, began(20, "pass d"), ended(20)).records) == 2
    assert take(pairing, ShellNoted(shell="s", text=" # private")).notes == []


def test_secrets_are_taken_out_before_anything_else_sees_them(pairing: Pairing) -> None:
    taken = take(
        pairing,
        began(1, "login s3cret", expanded="login --key s3cret"),
        ShellNoted(shell="s", text="# s3cret", cwd="/p"),
    )
    assert "s3cret" not in repr(taken)


def test_notes_have_their_lines_number(pairing: Pairing) -> None:
    taken = take(
        pairing, ShellFolderChanged(shell="s", old="/a", new="/b", at=NOW), ShellNoted(shell="s", text="# why")
    )
    assert [(note.kind, note.text, seq) for note, seq in taken.notes] == [("folder", "/b", 1), ("note", "# why", 2)]


@pytest.mark.parametrize("at", [0.0, -5.0, NOW + 1e6, float("nan"), float("inf")])
def test_a_time_that_cannot_be_is_now(pairing: Pairing, at: float) -> None:
    (record,) = take(pairing, began(1, at=at)).records
    assert record.at == NOW + 5
    (done,) = take(pairing, ended(1, at=at, duration=float("nan"))).records
    assert done.duration == 0.0


def test_what_an_earlier_hub_knew_goes_on(pairing: Pairing) -> None:
    taken = take(pairing, ShellStarted(shell="s", pid=7, host="h", at=NOW), began(1), process="p7")
    later = Pairing(RULES)
    later.restore_shells(taken.shells.values(), taken.records)
    (done,) = take(later, ended(1, 2)).records
    assert (done.command, done.exit, done.host) == ("make", 2, "h")
    assert later.shells["s"].process == "p7"


@given(order=st.permutations([(number, half) for number in range(1, 6) for half in ("began", "ended")]), data=st.data())
def test_in_any_order_and_with_lines_said_again_every_command_comes_out_whole(
    memory: sqlite3.Connection, order: list[tuple[int, str]], data: st.DataObject
) -> None:
    again = data.draw(st.lists(st.sampled_from(order), max_size=8))
    restart = data.draw(st.integers(0, len(order)))
    memory.execute("DELETE FROM history")
    pairing = Pairing(RULES)
    for at, (number, half) in enumerate([*order, *again]):
        if at == restart:
            pairing = Pairing(RULES)  # another hub, which knows what the record says
            pairing.restore_shells([], command_history.running(memory))
        event = began(number, f"make {number}") if half == "began" else ended(number, number % 3)
        command_history.keep_records(memory, take(pairing, event).records)
    rows = {row.number: row for row in find_commands(memory, HistoryQuery(), limit=100)}
    assert {number: (row.command, row.exit, row.state) for number, row in rows.items()} == {
        number: (f"make {number}", number % 3, "done") for number in range(1, 6)
    }

"""Which events may be merged when a subscriber falls behind, and what is left of two that were."""

from collections.abc import Callable

import pytest

from gshtui.bus.agent_data import AgentRow
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import AgentStatusChanged, TextDelta, ThinkingDelta, ToolOutput
from gshtui.bus.events.fleet_events import AgentChanged
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.events.shell_events import InputCommandPrinted, ShellRecorded
from gshtui.bus.shell_data import ShellRecord
from gshtui.bus.subscription import joined


def output(call: str, text: str) -> ToolOutput:
    return ToolOutput(agent="main", session="s", call=call, text=text)


def printed(run: str, text: str) -> InputCommandPrinted:
    return InputCommandPrinted(agent="main", session="s", run=run, text=text)


def recorded(shell: str, number: int, exit: int | None = None) -> ShellRecorded:
    return ShellRecorded(record=ShellRecord(shell=shell, number=number, command="make", at=1.0, exit=exit))


def row(id: str, name: str) -> AgentChanged:
    return AgentChanged(agent=id, row=AgentRow(id=id, name=name))


@pytest.mark.parametrize(
    ("older", "newer", "other"),
    [
        (row("0001", "a"), row("0001", "b"), row("0002", "b")),
        (recorded("z", 1), recorded("z", 1, exit=0), recorded("z", 2)),
        (
            AgentStatusChanged(agent="0001", status="idle"),
            AgentStatusChanged(agent="0001", status="tool"),
            AgentStatusChanged(agent="main", status="tool"),
        ),
    ],
)
def test_of_two_states_of_one_thing_the_newer_one_is_left(older: Event, newer: Event, other: Event) -> None:
    assert older.merge_key() == newer.merge_key() != other.merge_key()
    assert older.merged_with(newer) is newer


@pytest.mark.parametrize(
    ("older", "newer", "other"),
    [
        (output("c1", "one\n"), output("c1", "two\n"), output("c2", "two\n")),
        (printed("r1", "one\n"), printed("r1", "two\n"), printed("r2", "two\n")),
        *(
            tuple(kind(agent="main", session="s", message=message, text=text) for message, text in pieces)
            for kind in (TextDelta, ThinkingDelta)
            for pieces in ((("m1", "one\n"), ("m1", "two\n"), ("m2", "two\n")),)
        ),
    ],
)
def test_of_two_pieces_of_one_text_both_are_left_in_order(older: Event, newer: Event, other: Event) -> None:
    assert older.merge_key() == newer.merge_key() != other.merge_key()
    merged = older.merged_with(newer)
    assert isinstance(merged, ToolOutput | InputCommandPrinted | TextDelta | ThinkingDelta)
    assert (type(merged), merged.text, merged.merge_key()) == (type(older), "one\ntwo\n", older.merge_key())


@pytest.mark.parametrize("made", [output, printed])
def test_output_keeps_its_newest_part(made: Callable[[str, str], Event]) -> None:
    merged = made("1", "x" * 8_000).merged_with(made("1", "the end"))
    assert isinstance(merged, ToolOutput | InputCommandPrinted)
    assert len(merged.text) == 8_000 and merged.text.endswith("xthe end")


def test_a_notice_is_never_merged() -> None:
    assert Noticed(text="a").merge_key() is None


def test_only_neighbours_are_joined_so_that_the_order_stays() -> None:
    pieces = [
        output("c1", "one\n"),
        output("c1", "two\n"),
        Noticed(text="a"),
        Noticed(text="a"),
        output("c1", "three\n"),
    ]
    found = joined([*pieces, output("c2", "four\n"), output("c2", "five\n")])
    assert [getattr(event, "text", "") for event in found] == ["one\ntwo\n", "a", "a", "three\n", "four\nfive\n"]

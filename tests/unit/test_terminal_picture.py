"""Which line of a terminal is in which row of its tab, and which rows a frame changes."""

from typing import Any

from msgspec.structs import replace

from gshtui.tmux.frames import Frame
from gshtui.ui.terminal.terminal_picture import TerminalPicture
from tests.kit.fake_terminal import info

ROWS = tuple(f"row {number}" for number in range(10))


def frame(rows: tuple[str, ...] = ROWS, changed: tuple[int, ...] = (), **pane: Any) -> Frame:
    """A frame as a mirror hands it out."""
    return Frame("%1", rows, changed, info(height=len(rows), **pane), 1)


def shown(height: int = 10, **pane: Any) -> TerminalPicture:
    """A picture that has seen one frame."""
    picture = TerminalPicture()
    picture.height = height
    assert picture.show(frame(**pane)) is None, "the first one is drawn whole"
    return picture


def lines(picture: TerminalPicture) -> list[str | None]:
    return [picture.line(y) for y in range(picture.height)]


def test_a_frame_changes_its_rows_and_those_of_the_cursor() -> None:
    picture = shown(cursor_y=2)
    assert picture.show(frame((*ROWS[:4], "other", *ROWS[5:]), changed=(4,), cursor_y=7)) == {2, 4, 7}
    assert picture.line(4) == "other" and picture.cursor(7) and not picture.cursor(2)


def test_a_terminal_higher_than_the_tab_shows_its_used_end() -> None:
    picture = shown(height=4, cursor_y=9)
    assert lines(picture) == list(ROWS[6:]) and picture.top == 6
    assert picture.show(frame((*ROWS[:3], *[""] * 7), changed=(3,), cursor_y=2)) is None, "other rows are at the top"
    assert lines(picture) == [*ROWS[:3], ""]


def test_what_is_held_still_stays_while_frames_come() -> None:
    picture = shown(height=10, history=100)
    assert picture.total == 110 and picture.top == 100
    picture.move(-3)
    assert picture.up == 3 and picture.line(3) == "row 0" and picture.missing(0) and not picture.missing(3)
    assert picture.show(frame(("new",) * 10, changed=tuple(range(10)))) == set() and picture.behind
    assert picture.line(3) == "row 0"
    picture.let_go()
    assert lines(picture) == ["new"] * 10 and not picture.behind and not picture.up


def test_numbers_for_selections_stay_as_the_past_is_loaded() -> None:
    picture = shown(history=100)
    number = picture.number(4)
    past = picture.hold()
    assert picture.number(4) == number
    past.lines[:0] = ["older"]
    past.missing = 50
    assert picture.numbered(number, number + 1) == [(number, "row 4"), (number + 1, "row 5")]
    assert [line for _, line in picture.numbered(None, None)] == ["older", *ROWS]


def test_facts_begin_with_the_end_of_the_program() -> None:
    picture = TerminalPicture()
    assert picture.facts == () and not picture.runs
    picture.show(frame())
    assert picture.facts[0] is False and picture.runs
    picture.show(replace(frame(), info=info(dead=True)))
    assert picture.facts[0] is True and not picture.runs

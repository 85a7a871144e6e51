"""The position in a long list: a cursor, the rows on the screen, and the newest row, followed until it is left."""

import pytest

from gshtui.ui.shell.shell_view import LogPosition


@pytest.fixture
def position() -> LogPosition:
    """A hundred rows on a screen of ten, at the newest."""
    made = LogPosition()
    made.total, made.height = 100, 10
    made.settle()
    return made


def test_the_newest_row_is_followed_until_the_cursor_leaves_it(position: LogPosition) -> None:
    assert (position.top, position.cursor, position.follows) == (90, 99, True)
    position.total = 105
    position.settle()
    assert (position.top, position.cursor) == (95, 104)
    position.move(-1)
    position.total = 110
    position.settle()
    assert (position.top, position.cursor, position.follows) == (95, 103, False)
    position.go(109)
    assert (position.top, position.bottom, position.follows) == (100, 109, True)


def test_the_cursor_is_kept_in_sight(position: LogPosition) -> None:
    position.page(-1)
    assert (position.cursor, position.top) == (90, 90)
    position.page(-1)
    assert (position.cursor, position.top) == (81, 81)
    position.go(-5)
    assert (position.cursor, position.top) == (0, 0)
    position.move(10)
    assert (position.cursor, position.top) == (10, 1)


def test_scrolling_leaves_the_cursor_and_ends_at_the_edges(position: LogPosition) -> None:
    position.scroll(-3)
    assert (position.top, position.cursor, position.follows) == (87, 99, False)
    position.scroll(3)
    assert (position.top, position.follows) == (90, True)
    position.scroll(-500)
    assert position.top == 0
    position.go(5)
    position.scroll(500)
    assert (position.top, position.cursor, position.follows) == (90, 5, False)


def test_a_row_that_moved_stays_where_it_is_on_the_screen(position: LogPosition) -> None:
    position.go(50)
    assert position.top == 50
    position.total = 120
    position.moved_to(70)
    position.settle()
    assert (position.top, position.cursor) == (70, 70)


def test_a_list_that_is_shorter_than_the_screen_begins_at_its_top(position: LogPosition) -> None:
    position.total = 3
    position.settle()
    assert (position.top, position.cursor) == (0, 2)
    position.total = 0
    position.settle()
    assert (position.top, position.cursor) == (0, -1)

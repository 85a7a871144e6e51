"""Rows of a terminal: colours as they are, nothing but words; the past, put together from pages; the search in it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.style import Style

from gshtui.text.sanitise import RISKY
from gshtui.text.styled_text import styled
from gshtui.ui.kit.drawing.program_colours import ProgramColours, program_colours
from gshtui.ui.terminal.terminal_picture import OVERLAP, PAGE, TORN, Scrollback
from gshtui.ui.terminal.terminal_reader import ScrollbackSearch
from gshtui.ui.terminal.terminal_rows import RowParser, spans, text_of

BASE = Style.parse("#d0d0d0 on #101010")


def test_colours_are_kept() -> None:
    row = RowParser(ProgramColours(BASE)).row("a\x1b[1;38;2;1;2;3;48;5;208mb\x1b[0;31mc\x1b[7md\x1b[39me")
    assert row.text == "abcde"
    looks = [segment.style for segment in row.segments]
    assert looks == [
        BASE,
        BASE + Style(color="#010203", bgcolor="color(208)", bold=True),
        BASE + Style(color="color(1)"),
        BASE + Style(color="color(1)", reverse=True),
        BASE + Style(reverse=True),
    ]


def test_named_colours_are_the_themes() -> None:
    for dark in (True, False):
        segment = RowParser(program_colours(BASE, dark=dark, ansi=False)).row("\x1b[34mblue").segments[0]
        assert segment.style is not None and segment.style.color is not None
        red, green, blue = segment.style.color.get_truecolor()
        assert blue > red and blue > green
    segment = RowParser(program_colours(BASE, dark=True, ansi=True)).row("\x1b[34mblue").segments[0]
    assert segment.style is not None and segment.style.color is not None and segment.style.color.number == 4


@pytest.mark.parametrize(
    "line",
    [
        "\x1b]52;c;aGk=\x07clip",
        "a\x1b[2Jb",
        "a\x9b31mb",
        "title\x1b]0;x\x1b\\end",
        "bidi\u202eevil",
        "tab\tand\ttab",
        "two\nlines",
        "\x1bPq#0~\x1b\\sixel",
        "half \x1b[38;2;1",
        "\x00\x07\x7f",
    ],
)
def test_nothing_but_words_is_drawn(line: str) -> None:
    row = RowParser(ProgramColours(BASE)).row(line)
    assert not RISKY.search(row.text)
    assert "\n" not in row.text and "\t" not in row.text
    assert row.cells == cell_len(row.text)
    assert "".join(segment.text for segment in row.segments) == row.text


@given(st.text(st.sampled_from("ab \x1b[0;31m38:2\x07]\u202e\x9béß日")))
def test_the_short_way_reads_as_the_guard_does(line: str) -> None:
    assert "".join(span.text for span in spans(line)) == "".join(span.text for span in styled(line))


def test_tabs_are_blanks_up_to_the_next_stop() -> None:
    assert text_of("a\t\x1b[31mb\tc") == "a       b       c"
    assert text_of("日本\tx") == "日本    x"


def test_a_row_is_read_once() -> None:
    rows = RowParser(ProgramColours(BASE))
    assert rows.row("\x1b[31mx") is rows.row("\x1b[31mx")
    first = rows.row("first")
    for number in range(5_000):
        rows.row(f"{number}")
    assert rows.row("first") is not first, "what is remembered has a limit"


# The past


def lines(first: int, last: int) -> list[str]:
    return [f"\x1b[3{number % 8}mline {number}\x1b[0m" for number in range(first, last)]


class Program:
    """What a program printed: `kept` lines of it are kept, the last `height` are on the screen."""

    def __init__(self, printed: int, height: int = 24, kept: int = 20_000) -> None:
        self.printed, self.height, self.kept = printed, height, kept

    @property
    def history(self) -> int:
        return min(self.kept, max(0, self.printed - self.height))

    @property
    def screen(self) -> list[str]:
        return lines(self.printed - self.height, self.printed)

    def capture(self, start: int, end: int) -> list[str]:
        zero = self.printed - self.height
        oldest = zero - self.history
        return lines(max(oldest, zero + start), min(self.printed, zero + end + 1))


def read_all(program: Program, *, growing: int = 0) -> Scrollback:
    """The whole past of a program that prints so many lines between two pages."""
    past = Scrollback(program.screen, program.history)
    begun = program.history
    for _ in range(100):
        if past.complete:
            return past
        program.printed += growing
        if not past.prepend_page(program.capture(*past.wanted(program.history - begun))):
            whole = program.capture(-program.history, program.height)
            if not past.prepend_page(whole, whole=True):
                past.tear()
    raise AssertionError("it never ends")


@pytest.mark.parametrize("growing", [0, 1, 7, 300])
@pytest.mark.parametrize("printed", [24, 25, 40, 1_024, 1_025, 3_500])
def test_the_past_comes_whole_and_in_order(printed: int, growing: int) -> None:
    past = read_all(Program(printed), growing=growing)
    assert past.lines == lines(0, printed)
    assert past.total == printed


@pytest.mark.parametrize("growing", [0, 200])
def test_a_past_that_falls_off_at_the_other_end(growing: int) -> None:
    program = Program(30_000, kept=4_000)
    past = read_all(program, growing=growing)
    first = int(text_of(past.lines[0]).split()[1])
    assert past.lines == lines(first, 30_000), "no line is missing in between, none is there twice"
    assert first <= 30_000 - 2_000


def test_a_past_that_ran_away_is_torn_and_says_so() -> None:
    program = Program(30_000, kept=4_000)
    past = Scrollback(program.screen, program.history)
    program.printed += 50_000
    assert not past.prepend_page(program.capture(*past.wanted(0)))
    assert not past.prepend_page(program.capture(-4_000, 24), whole=True)
    past.tear()
    assert past.lines == [TORN, *lines(29_976, 30_000)] and past.complete


def test_a_past_that_ran_on_is_found_further_up() -> None:
    program = Program(30_000, kept=4_000)
    past = Scrollback(program.screen, program.history)
    program.printed += 2_500
    assert not past.prepend_page(program.capture(*past.wanted(0)))
    assert past.prepend_page(program.capture(-4_000, 24), whole=True)
    assert past.lines == lines(32_500 - 24 - 4_000, 30_000) and past.complete


def test_a_past_of_equal_lines() -> None:
    past = Scrollback(["y"] * 24, 5_000)
    while not past.complete:
        start, end = past.wanted(0)
        zero = 5_000
        past.prepend_page((["y"] * 5_024)[max(0, zero + start) : zero + end + 1])
    assert len(past.lines) == 5_024


def test_lines_have_numbers_before_they_are_there() -> None:
    past = Scrollback(lines(100, 124), 100)
    assert (past.total, past.line(99), past.line(100)) == (124, None, lines(100, 101)[0])
    assert past.line(124) is None
    assert past.wanted(5) == (-5 - PAGE, -5 + OVERLAP - 1)
    assert past.text(98, 101) == ["line 100", "line 101"]


def test_a_small_screen_overlaps_by_what_there_is() -> None:
    past = Scrollback(["a", "b"], 10)
    assert past.wanted(0) == (-PAGE, 1)
    assert past.prepend_page(["x", "a", "b"])
    assert past.lines == ["x", "a", "b"] and past.complete


# The search


def test_a_search_goes_from_new_to_old() -> None:
    past = Scrollback(["one Fish", "two", "red fish", "blue"], 0)
    search = ScrollbackSearch("FISH")
    assert search.search_more(past) == 2
    assert search.hits == [1, 3], "counted from the lowest line"
    assert search.go(1, past) and search.here == 1
    assert search.go(1, past) and search.here == 3
    assert search.go(1, past) and search.here == 1, "from the oldest to the newest again"
    assert search.go(-1, past) and search.here == 3


def test_a_search_asks_for_older_lines() -> None:
    past = Scrollback(lines(100, 110), 100)
    search = ScrollbackSearch("line 99")
    search.search_more(past)
    assert not search.go(1, past)
    past.prepend_page(lines(0, 100) + past.lines)
    search.search_more(past)
    assert search.go(1, past) and search.here == 10
    assert text_of(past.lines[-1 - 10]) == "line 99"


def test_a_search_that_finds_nothing() -> None:
    past = Scrollback(["a"], 0)
    search = ScrollbackSearch("b")
    assert search.search_more(past) == 0
    assert search.go(1, past) and search.here is None

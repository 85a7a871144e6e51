"""Markdown for a terminal: whatever it says, a terminal obeys nothing of it but our own colours."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.text import cells
from gshtui.text.sanitise import coloured
from gshtui.text.terminal_markdown import markdown_lines

OURS = re.compile(r"\x1b\[(?:[1-49]|3[1-6])(?:;(?:[1-49]|3[1-6]))*m|\x1b\[0m")
HOSTILE = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        [
            *("\x1b]52;c;x\x07", "\x1b[2J", "\x9b31m", "\x1bc", "\r", "\b", "\x7f", "\u202e", "\u200b", "\u2028"),
            *("&#27;]0;x&#7;", "&#x9b;2J", "&#x202e;", "&#13;", "&#8;", "&#x200b;", "&zwj;", "&rlm;", "&#0;"),
            *("**", "`", "```\n", "# ", "- ", "> ", "[a](", "<http://", "|a|\n|-|\n|", "\n", "\\", "~~"),
        ]
    ),
)


def obeyed(line: str) -> list[str]:
    """What a terminal would obey in a line, or not show, besides our colours."""
    rest = OURS.sub("", line)
    return [match.group() for match in re.finditer(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]", rest)]


@given(st.lists(HOSTILE, max_size=12), st.integers(10, 120))
def test_a_terminal_obeys_our_colours_only(parts: list[str], width: int) -> None:
    for line in markdown_lines("".join(parts), width, coloured):
        assert not obeyed(line), repr(line)
        assert cells.width(OURS.sub("", line)) <= width


@pytest.mark.parametrize("reference", ["&#x202e;", "&#13;", "&#8;", "&rlm;", "&#x2028;"])
def test_a_character_reference_stands_for_nothing_that_is_obeyed(reference: str) -> None:
    for source in (
        f"a {reference} b",
        f"# a {reference}",
        f"[a {reference}](http://x/{reference})",
        f"- **{reference}**",
    ):
        shown = "".join(OURS.sub("", line) for line in markdown_lines(source, 80, coloured))
        assert not obeyed(shown), source


@given(st.integers(1, 60), st.integers(0, 3), st.integers(10, 120))
def test_nothing_of_a_table_vanishes_however_many_columns_it_has(columns: int, rows: int, width: int) -> None:
    head = [f"h{at}" for at in range(columns)]
    body = [[f"{'abc'[row]}{at}" for at in range(columns)] for row in range(rows)]
    lines = ["|".join(("", *cells, "")) for cells in (head, ["-"] * columns, *body)]
    shown = " ".join(OURS.sub("", line) for line in markdown_lines("\n".join(lines), width, coloured))
    assert {*head, *(cell for cells in body for cell in cells)} <= set(re.findall(r"\w+", shown))


@given(HOSTILE)
def test_coloured_text_is_sanitised(text: str) -> None:
    shown = coloured(text, "1", "31")
    assert all(not obeyed(line) for line in shown.split("\n"))
    assert not shown or OURS.match(shown)

"""An answer in an agent's own pane: Markdown as it streams, in blocks of bounded cost, with nothing that steers."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.headless.agents.agent_pane.pane_lines import AnswerLines, styled
from gshtui.headless.agents.agent_pane.pane_markdown import AnswerLayout, MarkdownLines
from gshtui.text import cells

ANSWER = """\
# Found

`add` **subtracts**:

```python
def add(a, b):
    return a - b
```

| call | before |
| --- | ---: |
| add(2, 1) | 1 |

1. read it
2. changed it

> as you said

The end.
"""
LAID_OUT = [
    "Found",
    "",
    "add subtracts:",
    "",
    "  python",
    "    def add(a, b):",
    "        return a - b",
    "",
    " call       before",
    " ─────────────────",
    " add(2, 1)       1",
    "",
    " 1 read it",
    " 2 changed it",
    "",
    "▌ as you said",
    "",
    "The end.",
]


def bare(lines: Sequence[str]) -> list[str]:
    """The lines without colours."""
    return [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in lines]


def layout(width: int = 79) -> AnswerLayout:
    """A layout whose parser is loaded."""
    made = AnswerLayout(lambda: width)
    made.load()
    return made


def answer(width: int = 79) -> MarkdownLines:
    return MarkdownLines(styled, layout(width))


def fed(lines: MarkdownLines, text: str, size: int) -> list[str]:
    """All lines of a text that arrives in pieces."""
    found: list[str] = []
    for start in range(0, len(text), size):
        found += lines.feed(text[start : start + size])
        lines.rows(8)
    return found + lines.finish()


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_it_is_laid_out_whatever_pieces_it_comes_in(size: int) -> None:
    assert bare(fed(answer(), ANSWER, size)) == LAID_OUT


def test_what_is_whole_stays_and_the_rest_is_seen_below() -> None:
    lines = answer()
    assert bare(lines.feed("## One\n\nfirst **par")) == ["One"]
    assert bare(lines.rows(5)) == ["", "first **par"]
    assert bare(lines.feed("t**\n\nsec")) == ["", "first part"]
    assert bare(lines.rows(5)) == ["", "sec"]
    assert lines.rows(5) is lines.rows(5)


def test_before_the_parser_is_loaded_the_source_is_seen_and_nothing_is_lost() -> None:
    lines = MarkdownLines(styled, AnswerLayout(lambda: 79))
    assert lines.feed("## One\n\ntwo\n\nth") == []
    assert lines.rows(9) == ["## One", "two", "th"]
    assert bare(lines.finish()) == ["One", "", "two", "", "th"]


def test_code_has_colours_once_its_language_is_loaded() -> None:
    page = layout()
    lines = MarkdownLines(styled, page)
    lines.feed("```python\ndef add():\n    return 1\n")
    lines.rows(5)
    assert page.highlighter.wanted == {"python"} and not page.complete
    page.load()
    assert "\x1b[35mdef\x1b[0m" in "\n".join(lines.feed("```\n"))


def test_without_colours_only_weight_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    shown = "\n".join(fed(answer(), ANSWER, 50))
    assert set(re.findall(r"\x1b\[([0-9;]*)m", shown)) <= {"0", "1", "2", "3", "4", "1;4"}


@given(st.text(max_size=400), st.integers(1, 40))
def test_nothing_steers_the_terminal_and_rows_fit(text: str, size: int) -> None:
    """Also no character reference; only our own colours are escapes."""
    lines = answer(40)
    found: list[str] = []
    for start in range(0, len(text), size):
        found += lines.feed(text[start : start + size] + "&#27;[2J&#x9b;")
        for row in lines.rows(6):
            assert cells.width(bare([row])[0]) <= 40
    for line in bare(found + lines.finish()):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", line)


def test_a_drawing_does_not_cost_more_at_the_end_of_a_long_block() -> None:
    lines = answer()
    lines.feed("word **bold** `code` " * 280)
    assert len(lines.rows(8)) == 8
    lines = answer()
    lines.feed("```\n" + "line\n" * 60)
    assert bare(lines.rows(8)) == ["    line"] * 8


def test_thoughts_are_shown_as_they_are_and_answers_laid_out() -> None:
    words = AnswerLines(layout())
    shown = words.add_text("m", "a *thought*\n", "2") + words.add_text("m", "an *answer*") + words.rest()
    assert bare(shown) == ["", "a *thought*", "", "an answer"]

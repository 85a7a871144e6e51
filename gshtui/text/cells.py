"""How many terminal cells a text takes, as tmux counts them: the agent's own pane always runs inside tmux.

Pure. `rich.cells`, which the window uses, differs from tmux 3.3 for variation selectors and skin tones; a pane that is
off by one cell draws over itself.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import TypeVar, cast

Text = TypeVar("Text", bound=str)
"""A part of text that is sanitised and has no colours is sanitised too, so it keeps its type."""
_JOINER = "\u200d"


def width(text: str) -> int:
    """Cells of sanitised text without newlines; a tab counts as one."""
    return len(text) if text.isascii() else sum(_widths(text))


def head(text: Text, cells: int) -> Text:
    """The beginning of the text that fits into so many cells."""
    used = 0
    for at, cell in enumerate(_widths(text)):
        used += cell
        if used > cells:
            return cast("Text", text[:at])
    return text


def cut(text: str, cells: int) -> str:
    """The text, which ends in `…` where it does not fit into so many cells."""
    return text if width(text) <= cells else f"{head(text, max(0, cells - 1)).rstrip()}…"


def rows(text: Text, cells: int) -> list[Text]:
    """The text in rows of at most so many cells, at least one row."""
    found: list[Text] = []
    start = used = 0
    for at, cell in enumerate(_widths(text)):
        if cell and used + cell > cells and at > start:
            found.append(cast("Text", text[start:at]))
            start, used = at, 0
        used += cell
    return [*found, cast("Text", text[start:])]


def _widths(text: str) -> Iterator[int]:
    """The cells of each character; one that joins the previous takes none."""
    before = ""
    for char in text:
        yield 0 if before == _JOINER else _cells(char)
        before = char


def _cells(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1

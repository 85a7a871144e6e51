"""How many cells of a terminal a text takes, as tmux counts them: the agent's own pane is always inside of it.

Pure. `rich.cells`, which the window uses, counts other than tmux 3.3 what has a variation selector or a skin tone; a
pane that is one cell off draws over itself.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator

_JOINER = "\u200d"


def width(text: str) -> int:
    """Cells of sanitised text without newlines; a tab counts as one."""
    return len(text) if text.isascii() else sum(_widths(text))


def head(text: str, cells: int) -> str:
    """The beginning of the text that fits into so many cells."""
    used = 0
    for at, cell in enumerate(_widths(text)):
        used += cell
        if used > cells:
            return text[:at]
    return text


def rows(text: str, cells: int) -> list[str]:
    """The text in rows of at most so many cells, at least one row."""
    found: list[str] = []
    start = used = 0
    for at, cell in enumerate(_widths(text)):
        if cell and used + cell > cells and at > start:
            found.append(text[start:at])
            start, used = at, 0
        used += cell
    return [*found, text[start:]]


def _widths(text: str) -> Iterator[int]:
    """The cells of each character; what is joined to the one before it takes none."""
    before = ""
    for char in text:
        yield 0 if before == _JOINER else _cells(char)
        before = char


def _cells(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1

"""How many cells of a terminal a text takes. Pure; for the agent's own pane, which no widget library draws."""

from __future__ import annotations

import unicodedata


def width(text: str) -> int:
    """Cells of sanitised text without newlines; a tab counts as one."""
    if text.isascii():
        return len(text)
    return sum(_cells(char) for char in text)


def tail(text: str, cells: int) -> str:
    """The end of the text that fits into so many cells."""
    used = 0
    for at in range(len(text) - 1, -1, -1):
        used += _cells(text[at])
        if used > cells:
            return text[at + 1 :]
    return text


def head(text: str, cells: int) -> str:
    """The beginning of the text that fits into so many cells."""
    used = 0
    for at, char in enumerate(text):
        used += _cells(char)
        if used > cells:
            return text[:at]
    return text


def rows(text: str, cells: int) -> list[str]:
    """The text in rows of at most so many cells, at least one row."""
    found: list[str] = []
    while width(text) > cells:
        part = head(text, cells) or text[:1]
        found.append(part)
        text = text[len(part) :]
    return [*found, text]


def _cells(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1

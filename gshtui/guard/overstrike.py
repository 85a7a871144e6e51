"""What a line that was written over (carriage return, backspace) shows at its end, as a terminal would leave it.

Works on whole lines, in linear time; refuses nothing. Used by `gshtui.guard.sanitise`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def settled(text: str) -> str:
    """The text with `\\r\\n` as a newline, of a rewritten line its last rewrite, and backspaces carried out."""
    if "\r" in text:
        text = text.replace("\r\n", "\n")
        if "\r" in text:
            text = "\n".join(last_rewrite(line) if "\r" in line else line for line in text.split("\n"))
    if "\b" in text:
        text = "\n".join("".join(struck(line)) if "\b" in line else line for line in text.split("\n"))
    return text


def last_rewrite(line: str) -> str:
    """The last part of the line between carriage returns that has any text."""
    for part in reversed(line.split("\r")):
        if part:
            return part
    return ""


def struck(cells: Sequence[T], backspace: object = "\b") -> list[T]:
    """The cells of a line after every backspace moved one cell to the left, and what follows wrote over it."""
    out: list[T] = []
    at = 0
    for cell in cells:
        if cell == backspace:
            at = max(0, at - 1)
        elif at == len(out):
            out.append(cell)
            at += 1
        else:
            out[at] = cell
            at += 1
    return out

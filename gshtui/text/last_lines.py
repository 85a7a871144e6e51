"""What a program said last, out of all that its terminal shows: banners, frames and spinners say nothing. Pure."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W\d_]{3}")
_WRONG = re.compile(
    r"(?i)error\b|\bfail(?:s|ed|ure)?\b|\bunable\b|\b(?:can|could) ?not\b|\b(?:can|could|did|does)n['’]t\b"
    r"|\bnot found\b|\bno such\b|\brefused\b|\bdenied\b|\binvalid\b|\bmissing\b|\bexpired\b|\btimed out\b"
)
"""What a line has that says what is wrong."""
_NEAR = 8
"""Lines from the end in which it is looked for."""
_OPENS, _CLOSES = "'\"(/~.", "'\")/~.!?:;,%"
"""What a line may begin and end with, besides letters and digits."""
_MOSTLY = 0.7
"""Share of the characters that are letters, digits or plain punctuation, in a line that says something."""


def last_lines(text: str, most: int = 2) -> str:
    """The last lines that say something, joined, or those of the last ones that say what is wrong, since hints often
    follow; empty: none says anything.
    """
    said: list[str] = []
    for line in reversed(text.splitlines()):
        words = _unframed(" ".join(line.split()))
        plain = sum(character.isalnum() or (character.isascii() and character not in "*=_#+~|") for character in words)
        if _WORD.search(words) and plain >= _MOSTLY * len(words):
            said.insert(0, words)
            if len(said) == _NEAR:
                break
    return " · ".join(([line for line in said if _WRONG.search(line)] or said)[-most:])


def last_line(text: str) -> str:
    """The last line that has words."""
    return next((line for line in reversed(text.splitlines()) if any(map(str.isalnum, line))), "")


def _unframed(line: str) -> str:
    """The line without what is drawn around its words."""
    start, end = 0, len(line)
    while start < end and not (line[start].isalnum() or line[start] in _OPENS):
        start += 1
    while end > start and not (line[end - 1].isalnum() or line[end - 1] in _CLOSES):
        end -= 1
    return line[start:end]

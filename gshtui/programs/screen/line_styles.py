"""The styles of a captured line: its text without them, what is dim, and the background of each character. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_SEQUENCE = re.compile(r"\x1b(?:\[([0-9;:]*)([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9]|.)")
_COLOURS = ("38", "48", "58")
"""Codes that the numbers of a colour follow."""


def without_styles(line: str) -> str:
    return _SEQUENCE.sub("", line).rstrip() if "\x1b" in line else line.rstrip()


def plain_lines(lines: Sequence[str]) -> list[str]:
    """Plain lines, without the blank ones below the last text."""
    result = [without_styles(line) for line in lines]
    while result and not result[-1]:
        result.pop()
    return result


def undimmed(lines: Sequence[str]) -> list[str]:
    """The lines with every dim character blanked; attributes continue from one line to the next."""
    result: list[str] = []
    dim = False
    for line in lines:
        kept: list[str] = []
        for text, codes in _pieces(line):
            kept.append(" " * len(text) if dim else text)
            for code, _ in codes:
                dim = code == "2" or (dim and code not in ("0", "22"))
        result.append("".join(kept).rstrip())
    return result


def backgrounds(line: str) -> tuple[str, list[str]]:
    """A styled line's text, and the background of each of its characters."""
    shown, colours, now = "", list[str](), ""
    for text, codes in _pieces(line):
        shown, colours = shown + text, colours + [now] * len(text)
        for code, whole in codes:
            if code in ("0", "49") or (code == "27" and now == "7"):
                now = ""
            elif code in ("7", "48") or (code.isdecimal() and (40 <= int(code) <= 47 or 100 <= int(code) <= 107)):
                now = whole
    return shown, colours


def _pieces(line: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The texts of a line, each with the codes of the style behind it: the code, and with its colour's numbers."""
    at = 0
    for match in _SEQUENCE.finditer(line):
        yield line[at : match.start()], _codes(match.group(1) or "0") if match.group(2) == "m" else []
        at = match.end()
    yield line[at:], []


def _codes(parameters: str) -> list[tuple[str, str]]:
    parts, found, at = parameters.replace(":", ";").split(";"), list[tuple[str, str]](), 0
    while at < len(parts):
        size = 1 if parts[at] not in _COLOURS else 3 if parts[at + 1 : at + 2] == ["5"] else 5
        found.append((parts[at] or "0", ";".join(parts[at : at + size])))
        at += size
    return found

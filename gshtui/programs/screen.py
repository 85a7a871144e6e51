"""A captured screen as plain lines, and which of its text a person typed.

Pure. Programs draw a hint into an empty input, dimmed; that is not typed text. Status rules and sending read screens
only through here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_SEQUENCE = re.compile(r"\x1b(?:\[([0-9;:]*)([@-~])|\][^\x07\x1b]*(?:\x07|\x1b\\)|[()][A-Z0-9]|.)")


def plain(line: str) -> str:
    """The line without its escape sequences."""
    return _SEQUENCE.sub("", line).rstrip() if "\x1b" in line else line.rstrip()


def plain_lines(lines: Sequence[str]) -> list[str]:
    """Plain lines, without the blank ones below the last text."""
    result = [plain(line) for line in lines]
    while result and not result[-1]:
        result.pop()
    return result


def _dim(parameters: str, dim: bool) -> bool:
    """Whether text is dim after these SGR parameters."""
    parts = parameters.replace(":", ";").split(";")
    at = 0
    while at < len(parts):
        match parts[at]:
            case "" | "0" | "22":
                dim = False
            case "2":
                dim = True
            case "38" | "48" | "58":  # the numbers of a colour follow
                at += 2 if parts[at + 1 : at + 2] == ["5"] else 4
            case _:
                pass
        at += 1
    return dim


def undimmed(lines: Sequence[str]) -> list[str]:
    """The lines with every dim character blanked; attributes go on from one line to the next."""
    result: list[str] = []
    dim = False
    for line in lines:
        kept: list[str] = []
        at = 0
        for match in _SEQUENCE.finditer(line):
            text = line[at : match.start()]
            kept.append(" " * len(text) if dim else text)
            at = match.end()
            if match.group(2) == "m":
                dim = _dim(match.group(1) or "", dim)
        rest = line[at:]
        kept.append(" " * len(rest) if dim else rest)
        result.append("".join(kept).rstrip())
    return result

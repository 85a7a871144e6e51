"""What in a text comes nearest to words that are not in it, and how it differs: for an edit that missed.

Pure, and bounded in time: it looks for half a second at most. Called by `edit`.
"""

from __future__ import annotations

import difflib
import heapq
import time
from collections.abc import Iterator

from gshtui.guard.sanitise import literal

_SECONDS = 0.5
_SHOWN = 3
_LINES_EACH = 12
_LONGEST = 240
_SIMILAR = 0.6


def near_misses(text: str, wanted: str) -> str:
    """A few lines for whoever gave `wanted`: where the text comes nearest, and what exactly is different there."""
    lines = text.replace("\r\n", "\n").split("\n")
    asked = wanted.replace("\r\n", "\n").strip("\n").split("\n")
    if spot := _but_for_blanks(lines, asked):
        return f"It is there but for blanks:\n{_compared(lines, asked, spot)}"
    spots = _similar(lines, asked)
    if not spots:
        return "Nothing in the file is like it; read the file again."
    shown = "\n".join(_compared(lines, asked, spot) for spot in spots)
    return f"The nearest {'place is' if len(spots) == 1 else 'places are'}:\n{shown}"


def _but_for_blanks(lines: list[str], asked: list[str]) -> int:
    """Number of the line (from 1) where the same words stand with other blanks; 0 when they don't."""
    squeezed = ["".join(line.split()) for line in lines]
    wanted = ["".join(line.split()) for line in asked]
    if not any(wanted):
        return 0
    first = wanted[0]
    for at in range(len(squeezed) - len(wanted) + 1):
        if squeezed[at] == first and squeezed[at : at + len(wanted)] == wanted:
            return at + 1
    return 0


def _similar(lines: list[str], asked: list[str]) -> list[int]:
    """Numbers of the lines where a passage like the one asked for would begin, the most alike first."""
    offset, anchor = max(enumerate(asked), key=lambda pair: len(pair[1].strip()))
    anchor = anchor.strip()[:_LONGEST]
    if not anchor:
        return []
    best: list[tuple[float, int]] = []
    for ratio, number in _ratios(lines, anchor):
        if ratio >= _SIMILAR:
            heapq.heappush(best, (ratio, -number))
            if len(best) > _SHOWN:
                heapq.heappop(best)
    ranked = sorted(best, reverse=True)
    # One that is nearly the same makes the others noise.
    kept = [item for item in ranked if item[0] >= ranked[0][0] - 0.15]
    return [max(1, -number - offset) for _, number in kept]


def _ratios(lines: list[str], anchor: str) -> Iterator[tuple[float, int]]:
    until = time.monotonic() + _SECONDS
    matcher = difflib.SequenceMatcher(None, autojunk=False)
    matcher.set_seq2(anchor)
    for number, line in enumerate(lines, 1):
        candidate = line.strip()[:_LONGEST]
        if not candidate:
            continue
        matcher.set_seq1(candidate)
        if matcher.real_quick_ratio() >= _SIMILAR and matcher.quick_ratio() >= _SIMILAR:
            yield matcher.ratio(), number
        if time.monotonic() > until:
            return


def _compared(lines: list[str], asked: list[str], spot: int) -> str:
    """The file's lines from `spot` on, and under each that differs what was asked for and where they part."""
    out: list[str] = []
    for number, wanted in enumerate(asked[:_LINES_EACH], spot):
        there = lines[number - 1] if number <= len(lines) else ""
        out.append(f"{number:>6}│{literal(there)[:_LONGEST]}")
        if there != wanted:
            out.append(f"  asked│{literal(wanted)[:_LONGEST]}")
            out.append(f"       └ {_difference(there, wanted)}")
    if len(asked) > _LINES_EACH:
        out.append(f"       … and {len(asked) - _LINES_EACH} more lines")
    return "\n".join(out)


def _difference(there: str, wanted: str) -> str:
    """Where two lines part, in words."""
    indent_there, indent_wanted = _indent(there), _indent(wanted)
    if there.strip() == wanted.strip():
        if indent_there != indent_wanted:
            return f"indentation: the file has {_blanks(indent_there)}, old_text has {_blanks(indent_wanted)}"
        return f"at the end of the line: the file has {_tail(there)}, old_text has {_tail(wanted)}"
    at = next((n for n, (a, b) in enumerate(zip(there, wanted, strict=False)) if a != b), min(len(there), len(wanted)))
    return f"character {at + 1}: the file has {_character(there, at)}, old_text has {_character(wanted, at)}"


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _tail(line: str) -> str:
    return _blanks(line[len(line.rstrip()) :])


def _blanks(blanks: str) -> str:
    if not blanks:
        return "nothing"
    tabs, spaces = blanks.count("\t"), blanks.count(" ")
    parts = [
        f"{count} {name}{'' if count == 1 else 's'}" for count, name in ((tabs, "tab"), (spaces, "space")) if count
    ]
    odd = sorted({f"U+{ord(char):04X}" for char in blanks if char not in "\t "})
    return " and ".join((*parts, *odd))


def _character(line: str, at: int) -> str:
    if at >= len(line):
        return "the end of the line"
    character = line[at]
    code = f"U+{ord(character):04X}"
    return f"{character!r} ({code})" if character.isprintable() and not character.isspace() else code

"""A unified diff drawn as lines with numbers, signs and colours; wrapped lines align behind the signs.

Reads and draws diffs, but makes none. Called by `tool_blocks.py` and the
widgets that show a diff.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.segment import Segment

from gshtui.text.sanitise import literal
from gshtui.ui.kit.page import Page
from gshtui.ui.kit.styled_lines import StyledLine, wrapped

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@(.*)")


@dataclass(frozen=True, slots=True)
class DiffRow:
    """One line of a diff. `number`: of the line in the new file, or of a removed one in the old; 0: none."""

    kind: Literal["file", "hunk", "same", "added", "removed", "note"]
    text: str
    number: int = 0


def diff_rows(diff: str) -> Iterator[DiffRow]:
    """The rows of a unified diff; an unknown line becomes a note."""
    old = new = 0
    inside = False
    for line in diff.removesuffix("\n").split("\n"):
        sign, text = line[:1], line[1:]
        found = _HUNK.match(line)
        if found is not None:
            old, new, inside = int(found.group(1)), int(found.group(2)), True
            yield DiffRow("hunk", found.group(3).strip(), new)
        elif line.startswith(("--- ", "+++ ")) and (not inside or line.startswith(("--- a/", "+++ b/"))):
            inside = False
            if sign == "+":
                yield DiffRow("file", line[4:].split("\t")[0].removeprefix("b/"))
        elif inside and sign == "+":
            yield DiffRow("added", text, new)
            new += 1
        elif inside and sign == "-":
            yield DiffRow("removed", text, old)
            old += 1
        elif inside and sign in (" ", ""):
            yield DiffRow("same", text, new)
            old, new = old + 1, new + 1
        else:
            yield DiffRow("note", line)


def diff_counts(diff: str) -> tuple[int, int]:
    """Lines added and removed."""
    kinds = [row.kind for row in diff_rows(diff)]
    return kinds.count("added"), kinds.count("removed")


def compact_rows(diff: str, most: int) -> tuple[list[DiffRow], int]:
    """The first rows of a diff of one file: each change with one line around it; and how many changed ones are left.

    Args:
        most: rows; what would leave out a single changed row is shown whole.
    """
    rows = [row for row in diff_rows(diff) if row.kind != "file"]
    changed = [row.kind in ("added", "removed") for row in rows]
    found: list[DiffRow] = []
    last = -1
    for at, row in enumerate(rows):
        near = any(changed[max(0, at - 1) : at + 2])
        if row.kind == "hunk" or not (near or row.kind == "note"):
            continue
        if found and at > last + 1:
            found.append(DiffRow("hunk", ""))
        found.append(row)
        last = at
    ends = [at for at, row in enumerate(found) if row.kind in ("added", "removed")]
    left = [at for at in ends if at >= most]
    return (found, 0) if len(left) <= 1 else (found[:most], len(left))


def diff_lines(rows: Sequence[DiffRow], page: Page) -> list[StyledLine]:
    """The rows as lines."""
    digits = len(str(max((row.number for row in rows), default=0)))
    lines: list[StyledLine] = []
    for row in rows:
        lines += diff_row_lines(row, digits, page)
    return lines


def diff_row_lines(row: DiffRow, digits: int, page: Page) -> list[StyledLine]:
    """One row as lines; `digits`: cells for its number."""
    palette = page.palette
    text = literal(row.text).expandtabs(4)
    if row.kind == "file":
        return wrapped([Segment(text, palette.strong)], page.width)
    if row.kind == "hunk":
        words = f"{' ' * digits} ⋯ {text}".rstrip()
        return wrapped([Segment(words, palette.faint)], page.width)
    if row.kind == "note":
        return wrapped([Segment(text, palette.faint)], page.width)
    look, sign = {
        "added": (palette.added, "+"),
        "removed": (palette.removed, "-"),
        "same": (palette.muted, " "),
    }[row.kind]
    lead = f"{row.number:>{digits}} "
    inner = page.narrower(len(lead) + 2)
    lines: list[StyledLine] = []
    for number, line in enumerate(wrapped([Segment(text, look)], inner.width, hard=True)):
        first = number == 0
        line = line.behind(Segment(f"{sign} " if first else "  ", look))
        line = line.behind(Segment(lead if first else " " * len(lead), palette.faint))
        lines.append(line.filled(page.width, look) if row.kind != "same" else line)
    return lines

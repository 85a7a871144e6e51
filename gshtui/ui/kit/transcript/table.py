"""Tables drawn as lines: aligned columns that shrink and wrap their cells, or one cell a line where nothing else fits.

Owns the arithmetic of column widths; refuses cut-off cells. Called by `markdown.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len
from rich.segment import Segment

from gshtui.ui.kit.lines import Line, blank, visible
from gshtui.ui.kit.page import Page
from gshtui.ui.kit.transcript.inline import inline_runs
from gshtui.ui.kit.wrap import wrapped

if TYPE_CHECKING:
    from markdown_it.token import Token

Align = Literal["left", "center", "right"]
Cell = list[Segment]
_LEAST = 4


def table_lines(tokens: Sequence[Token], page: Page) -> list[Line]:
    """The lines of the table whose tokens (between its open and close) these are."""
    rows, aligns = _rows(tokens, page)
    if not rows:
        return []
    columns = len(rows[0])
    widths = _widths(rows, page.width - 3 * (columns - 1))
    if widths is None:
        return _stacked(rows, page)
    bar = Segment(" │ ", page.palette.rule)
    rule = "─┼─".join("─" * width for width in widths)
    lines: list[Line] = []
    tall = False
    for number, row in enumerate(rows):
        made = _row(row, widths, aligns, bar, page)
        if number > 1 and (tall or len(made) > 1):
            # Rows of several lines need a rule between them, or nobody sees which line belongs to which.
            lines.append(Line([Segment(rule, page.palette.rule)]))
        tall = len(made) > 1
        lines += made
        if number == 0:
            lines.append(Line([Segment(rule, page.palette.rule)]))
    return lines


def _rows(tokens: Sequence[Token], page: Page) -> tuple[list[list[Cell]], list[Align]]:
    rows: list[list[Cell]] = []
    aligns: list[Align] = []
    base = page.palette.text
    for at, token in enumerate(tokens):
        if token.type == "tr_open":
            rows.append([])
        elif token.type in ("th_open", "td_open"):
            if len(rows) == 1:
                aligns.append(_align(str(token.attrs.get("style", ""))))
            base = page.palette.strong if token.type == "th_open" else page.palette.text
        elif token.type == "inline" and tokens[at - 1].type in ("th_open", "td_open"):
            runs = inline_runs(token.children or [], page.palette, base)
            rows[-1].append([Segment(visible(run.text).replace("\n", " "), run.style) for run in runs])
    return rows, aligns


def _align(style: str) -> Align:
    if "center" in style:
        return "center"
    return "right" if "right" in style else "left"


def _widths(rows: Sequence[Sequence[Cell]], room: int) -> list[int] | None:
    """Cells for each column: what it wants, or less for the widest until all fit; `None` when they cannot."""
    columns = len(rows[0])
    wanted = [max(1, *(_cells(row[at]) for row in rows if at < len(row))) for at in range(columns)]
    if sum(wanted) <= room:
        return wanted
    if room < _LEAST * columns:
        return None
    # Narrow columns keep what they want; the others share what is left.
    widths = [0] * columns
    left, open_columns = room, sorted(range(columns), key=lambda at: wanted[at])
    while open_columns:
        share = left // len(open_columns)
        at = open_columns.pop(0)
        widths[at] = min(wanted[at], share)
        left -= widths[at]
    return widths


def _cells(cell: Cell) -> int:
    return sum(cell_len(run.text) for run in cell)


def _row(row: Sequence[Cell], widths: Sequence[int], aligns: Sequence[Align], bar: Segment, page: Page) -> list[Line]:
    padded = [*row, *([] for _ in range(len(widths) - len(row)))]
    cells = [wrapped(cell, width) for cell, width in zip(padded, widths, strict=False)]
    text = page.palette.text
    lines: list[Line] = []
    for number in range(max(len(cell) for cell in cells)):
        segments: list[Segment] = []
        for at, (cell, width) in enumerate(zip(cells, widths, strict=True)):
            if at:
                segments.append(bar)
            line = cell[number] if number < len(cell) else blank()
            spare = max(0, width - line.cells)
            before = 0 if aligns[at] == "left" else spare if aligns[at] == "right" else spare // 2
            segments += [Segment(" " * before, text)] if before else []
            segments += line.segments
            if spare - before and at < len(widths) - 1:
                segments.append(Segment(" " * (spare - before), text))
        lines.append(Line(segments))
    return lines


def _stacked(rows: Sequence[Sequence[Cell]], page: Page) -> list[Line]:
    """Each row as a list of `heading: cell`, for a page too narrow for columns."""
    head = rows[0]
    lines: list[Line] = []
    for row in rows[1:] or [head]:
        if lines:
            lines.append(Line([Segment("─" * page.width, page.palette.rule)]))
        for at, cell in enumerate(row):
            name = [*head[at], Segment(": ", page.palette.strong)] if at < len(head) and len(rows) > 1 else []
            lines += wrapped([*name, *cell], page.width)
    return lines

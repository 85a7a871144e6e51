"""The pictures below a call: as the terminal draws them, else in half blocks, else as a line that names them.

A half block is two pixels: the upper one is its colour, the lower one its background. Called by `tool_blocks.py`.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from functools import partial

from rich.color import Color
from rich.segment import Segment
from rich.style import Style

from gshtui.bus.messages import Picture
from gshtui.text.sanitise import literal, one_line
from gshtui.ui.kit.page import Page
from gshtui.ui.kit.styled_lines import StyledLine
from gshtui.ui.kit.terminal_graphics import WIDEST, placeholder_row
from gshtui.ui.kit.transcript.entries import ToolEntry
from gshtui.ui.kit.transcript.entry_blocks import EntryBlock

_ROWS = 26
"""Of a picture that the terminal draws."""
_CELL = 10
"""Pixels that a column has about; a row has twice as many."""
_SMALL = 30_000
"""Bytes of a small copy at most."""


def picture_blocks(tool: ToolEntry) -> list[EntryBlock]:
    """A block for each picture of a call."""
    return [EntryBlock(partial(_picture, one), f"[picture {_about(one)}]") for one in tool.pictures]


def _about(picture: Picture) -> str:
    return f"{one_line(literal(picture.title), 80)}, {picture.width:,} × {picture.height:,}"


def _picture(picture: Picture, page: Page) -> list[StyledLine]:
    palette = page.palette
    head = StyledLine([Segment(f"picture {_about(picture)}", palette.faint)]).behind(Segment("  ╷ ", palette.rule))
    bar = Segment("  │ ", palette.rule)
    inner = page.narrower(4)
    if page.graphics is not None and picture.key:
        columns, rows = _fitted(picture, min(inner.width, WIDEST))
        number = page.graphics.place(picture, columns, rows)
        drawn = [placeholder_row(number, row, columns) for row in range(rows)]
        lines = [StyledLine([row], margin=len(row.text)) for row in drawn]
    else:
        lines = _half_blocks(picture, inner.width) if page.colours else []
    return [head, *(line.behind(bar) for line in lines)]


def _fitted(picture: Picture, most: int) -> tuple[int, int]:
    """Columns and rows: as large as the picture is, within the page."""
    columns = max(1, min(most, round(picture.width / _CELL)))
    rows = max(1, round(columns * picture.height / picture.width / 2))
    if rows > _ROWS:
        columns, rows = max(1, round(columns * _ROWS / rows)), _ROWS
    return columns, rows


def _half_blocks(picture: Picture, width: int) -> list[StyledLine]:
    try:
        unpacker = zlib.decompressobj()
        colours = unpacker.decompress(base64.b64decode(picture.colours, validate=True), _SMALL)
    except (binascii.Error, zlib.error):
        return []
    stride = 3 * picture.columns
    if not colours or stride <= 0 or len(colours) % stride:
        return []
    lines: list[StyledLine] = []
    for start in range(0, len(colours), 2 * stride):
        upper, lower = colours[start : start + stride], colours[start + stride : start + 2 * stride]
        cells: list[Segment] = []
        for at in range(0, min(stride, 3 * width), 3):
            below = Color.from_rgb(*lower[at : at + 3]) if lower else None
            cells.append(Segment("▀", Style(color=Color.from_rgb(*upper[at : at + 3]), bgcolor=below)))
        line = list(Segment.simplify(cells))
        lines.append(StyledLine(line, margin=sum(len(cell.text) for cell in line)))
    return lines

"""Pictures as lines: as the terminal draws it, else in half blocks, else none.

A half block is two pixels: the upper one is its colour, the lower one its background.
"""

from __future__ import annotations

import base64
import binascii
import math
import zlib

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.widget import Widget

from gshtui.bus.messages import Image, Picture
from gshtui.media import media_files
from gshtui.text.sanitise import literal, one_line
from gshtui.ui.kit.drawing.page import Page
from gshtui.ui.kit.drawing.terminal_graphics import ATTACHED, WIDEST, TerminalGraphics, placeholder_row
from gshtui.ui.kit.textual.colour_support import has_few_colours
from gshtui.ui.kit.textual.typed_app import app_of

_ROWS = 26
"""Of a picture that the terminal draws."""
_CELL = 10
"""Pixels that a column has about; a row has twice as many."""
_SMALL = 30_000
"""Bytes of a small copy at most."""


def attached_picture(image: Image) -> Picture:
    """A picture of a prompt as one that is shown; its small copy is read from its file."""
    key = f"{ATTACHED}{image.key}" if image.key else ""
    small = media_files.read(image.small) if image.small else b""
    colours = base64.b64encode(small).decode()
    return Picture(image.name, key, image.width, image.height, image.bytes, image.columns, colours)


def about_picture(picture: Picture) -> str:
    """What it is, in words."""
    return f"{one_line(literal(picture.title), 80)}, {picture.width:,} × {picture.height:,}"


def page_picture(picture: Picture, page: Page) -> list[list[Segment]]:
    """The rows of a picture on a page."""
    return picture_rows(picture, page.width, page.graphics, colours=page.colours)


def picture_rows(
    picture: Picture, width: int, graphics: TerminalGraphics | None, *, colours: bool
) -> list[list[Segment]]:
    """The rows of a picture within a width; none if the terminal can show none. `graphics`: gives the terminal the
    picture, if it draws pictures. `colours`: the terminal has the colours for half blocks.
    """
    if picture.key and picture.width and picture.height and graphics is not None and graphics.can_draw():
        columns, rows = _fitted(picture, min(width, WIDEST))
        number = graphics.place(picture, columns, rows)
        return [[placeholder_row(number, row, columns)] for row in range(rows)]
    return _half_blocks(picture, width) if colours else []


def thumbnail_size(image: Image) -> tuple[int, int]:
    """Columns and rows of its small copy in half blocks; 0 rows: it has none."""
    if not (image.small and image.columns and image.width):
        return 0, 0
    return image.columns, max(1, math.ceil(round(image.columns * image.height / image.width) / 2))


class Thumbnails:
    """Small pictures of a widget that draws line by line.

    Args:
        widget: which is drawn.
    """

    def __init__(self, widget: Widget) -> None:
        app = app_of(widget)
        self._widget = widget
        self._graphics = None if app.is_headless else TerminalGraphics(widget)
        self._rows: tuple[str, bool, list[list[Segment]]] = ("", False, [])
        self.can_show = self._can_draw() or not has_few_colours(app)
        """Whether the terminal draws pictures or has the colours for half blocks."""

    def row(self, image: Image, row: int) -> list[Segment]:
        """A row of a picture."""
        known = (image.key, self._can_draw())  # a terminal may say late that it draws pictures
        if self._rows[:2] != known:
            self._rows = (*known, self._drawn(image))
        rows = self._rows[2]
        return rows[row] if row < len(rows) else []

    def _can_draw(self) -> bool:
        return self._graphics is not None and self._graphics.can_draw()

    def _drawn(self, image: Image) -> list[list[Segment]]:
        if self._graphics is None or not self._can_draw():
            return _half_blocks(attached_picture(image), image.columns)
        columns, rows = thumbnail_size(image)
        number = self._graphics.place(attached_picture(image), columns, rows)
        self._widget.call_after_refresh(self._graphics.send_wanted)
        return [[placeholder_row(number, row, columns)] for row in range(rows)]


def _fitted(picture: Picture, most: int) -> tuple[int, int]:
    """Columns and rows: as large as the picture is, within the page."""
    columns = max(1, min(most, round(picture.width / _CELL)))
    rows = max(1, round(columns * picture.height / picture.width / 2))
    if rows > _ROWS:
        columns, rows = max(1, round(columns * _ROWS / rows)), _ROWS
    return columns, rows


def _half_blocks(picture: Picture, width: int) -> list[list[Segment]]:
    try:
        unpacker = zlib.decompressobj()
        colours = unpacker.decompress(base64.b64decode(picture.colours, validate=True), _SMALL)
    except (binascii.Error, zlib.error):
        return []
    stride = 3 * picture.columns
    if not colours or stride <= 0 or len(colours) % stride:
        return []
    lines: list[list[Segment]] = []
    for start in range(0, len(colours), 2 * stride):
        upper, lower = colours[start : start + stride], colours[start + stride : start + 2 * stride]
        cells: list[Segment] = []
        for at in range(0, min(stride, 3 * width), 3):
            below = Color.from_rgb(*lower[at : at + 3]) if lower else None
            cells.append(Segment("▀", Style(color=Color.from_rgb(*upper[at : at + 3]), bgcolor=below)))
        lines.append(list(Segment.simplify(cells)))
    return lines

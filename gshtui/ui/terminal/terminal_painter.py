"""Rows of a terminal as strips: the program's colours over the theme's, the cursor, highlights.

Owns the palette and the cache of parsed rows; neither scrolls nor searches.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from gshtui.ui.kit.drawing.highlights import StyledRange, overlay_styles, selected_span
from gshtui.ui.kit.drawing.page import ThemePalette
from gshtui.ui.terminal.terminal_picture import TerminalPicture
from gshtui.ui.terminal.terminal_reader import ScrollbackReader
from gshtui.ui.terminal.terminal_rows import RowParser

if TYPE_CHECKING:
    from gshtui.tmux.panes import PaneInfo


class TerminalPainter:
    """Draws the rows of a picture.

    Args:
        widget: the widget drawn: it knows the selection, and whether it has the focus.
        typing: whether every key goes to the program.
    """

    def __init__(
        self, widget: Widget, picture: TerminalPicture, reader: ScrollbackReader, typing: Callable[[], bool]
    ) -> None:
        self._widget = widget
        self._picture = picture
        self._reader = reader
        self._typing = typing
        self._width = 0
        self._theme = ThemePalette(widget)
        self._rows = RowParser(self._theme.palette.programs)

    def restyle(self) -> None:
        """Adopt the widget's width, and its theme and background colours if they changed."""
        widget = self._widget
        self._width = widget.size.width
        if self._theme.renew():
            self._rows = RowParser(self._theme.palette.programs)

    def words(self, line: str) -> str:
        """The text of a line as drawn."""
        return self._rows.row(line).text

    def seen(self) -> str:
        """The text on the screen."""
        lines = [self._picture.line(y) for y in range(self._picture.height)]
        return "\n".join([self.words(line or "").rstrip() for line in lines]).rstrip("\n")

    def selected(self, selection: Selection) -> str:
        """The selected text."""
        first = selection.start.y if selection.start is not None else None
        last = selection.end.y if selection.end is not None else None
        words: list[str] = []
        for number, line in self._picture.numbered(first, last):
            text = self.words(line)
            span = selected_span(selection, number, len(text))
            words.append(text[slice(*span)].rstrip() if span else "")
        return "\n".join(words)

    def strip(self, y: int) -> Strip:
        """A row of the tab."""
        line, width, palette = self._picture.line(y), self._width, self._theme.palette
        if line is None:
            sign = Segment("⋯" if self._picture.missing(y) else " ", palette.faint)
            return Strip([sign], 1).adjust_cell_length(width, palette.text)
        row = self._rows.row(line)
        ranges = self._ranges(row.text, y)
        segments = overlay_styles(row.segments, ranges) if ranges else list(row.segments)
        strip = Strip(segments, row.cells).adjust_cell_length(width, palette.text)
        info = self._picture.info
        return self._with_cursor(strip, info) if info is not None and self._picture.cursor(y) else strip

    def _ranges(self, text: str, y: int) -> list[StyledRange]:
        """Styles over parts of a row, in order: the selection, or else the matches."""
        selection = self._widget.text_selection
        if selection is not None:
            span = selected_span(selection, self._picture.number(y), len(text))
            if span is not None:
                return [(*span, self._theme.palette.selection)]
        return self._reader.ranges(text, y, self._theme.palette)

    def _with_cursor(self, strip: Strip, info: PaneInfo) -> Strip:
        typing = self._typing()
        if not (typing or self._widget.has_focus):
            return strip
        style = Style(reverse=True) if typing else Style(underline=True)
        if not info.cursor_visible or info.dead or not 0 <= info.cursor_x < self._width:
            return strip
        before, under = strip.crop(0, info.cursor_x), strip.crop(info.cursor_x, info.cursor_x + 1)
        if not under.text.strip(" ") and strip.cell_length > info.cursor_x + 1:
            # The right half of a wide character belongs to its left half.
            under = Strip([Segment(" ", self._theme.palette.text)], 1)
        marked = Strip([Segment(text, look + style if look else style) for text, look, _ in under], under.cell_length)
        return Strip.join([before, marked, strip.crop(info.cursor_x + 1, self._width)])

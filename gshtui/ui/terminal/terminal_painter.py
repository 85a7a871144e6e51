"""Rows of a terminal as strips: the program's colours on the theme's, the terminal's cursor, what is lit up.

Owns the palette and the rows that stay parsed; refuses to scroll or to search.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from gshtui.ui.kit.highlights import StyledRange, overlay_styles, selected_span
from gshtui.ui.kit.page import make_palette
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.terminal.terminal_picture import TerminalPicture
from gshtui.ui.terminal.terminal_reader import ScrollbackReader
from gshtui.ui.terminal.terminal_rows import RowParser, TerminalColours, terminal_colours

if TYPE_CHECKING:
    from gshtui.tmux.panes import PaneInfo


class TerminalPainter:
    """Draws the rows of a picture.

    Args:
        widget: what is drawn: it knows what is selected, and whether keys go to it.
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
        self._palette = make_palette({}, Color(0, 0, 0))
        self._rows = RowParser(TerminalColours(Style()))
        self._looks: tuple[object, ...] = ()

    def restyle(self) -> None:
        """Take the widget's width, and the colours of the theme on what lies behind it if they are other ones."""
        widget = self._widget
        self._width = widget.size.width
        background, app = widget.background_colors[1], app_of(widget)
        look = (app.theme, background, app.native_ansi_color)
        if look != self._looks:
            self._looks = look
            self._palette = make_palette(app.theme_variables, background, ansi=app.native_ansi_color)
            dark, ansi = app.current_theme.dark, app.native_ansi_color
            self._rows = RowParser(terminal_colours(self._palette.text, dark=dark, ansi=ansi))

    def words(self, line: str) -> str:
        """The words of a line, as they are drawn."""
        return self._rows.row(line).text

    def seen(self) -> str:
        """The words that are on the screen."""
        lines = [self._picture.line(y) for y in range(self._picture.height)]
        return "\n".join([self.words(line or "").rstrip() for line in lines]).rstrip("\n")

    def selected(self, selection: Selection) -> str:
        """The words that are selected."""
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
        line, width, palette = self._picture.line(y), self._width, self._palette
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
        """Styles over parts of a row, in order: what is selected, or else what was found."""
        selection = self._widget.text_selection
        if selection is not None:
            span = selected_span(selection, self._picture.number(y), len(text))
            if span is not None:
                return [(*span, self._palette.selection)]
        return self._reader.ranges(text, y, self._palette)

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
            under = Strip([Segment(" ", self._palette.text)], 1)
        marked = Strip([Segment(text, look + style if look else style) for text, look, _ in under], under.cell_length)
        return Strip.join([before, marked, strip.crop(info.cursor_x + 1, self._width)])

"""Rows of a transcript as strips: the pointer of the cursor, what is lit up, the badge, what an empty one says.

Refuses to know what is under the cursor or selected, and Textual's widgets. `TranscriptPage` keeps what is drawn on up
to date: its width, the theme's colours, the lexers of the languages that were met.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from rich.cells import cell_len
from rich.segment import Segment
from textual.color import Color
from textual.strip import Strip
from textual.widget import Widget

from gshtui.ui.kit.highlighter import Highlighter
from gshtui.ui.kit.highlights import StyledRange, overlay_styles
from gshtui.ui.kit.page import NARROWEST, WIDEST, Page, Palette, make_palette
from gshtui.ui.kit.styled_lines import StyledLine, wrapped
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.kit.transcript.document import TranscriptDocument

GUTTER = 2
"""Cells at the left that belong to the cursor."""
_MARGIN = 1


class TranscriptPainter:
    """Draws rows.

    Args:
        document: whose page it draws on.
        empty: what to say where there are no entries.
    """

    def __init__(self, document: TranscriptDocument, empty: str) -> None:
        self.width = 0
        """Of the widget: to ask Textual for it costs more than a row."""
        self._document = document
        self._empty = empty
        self._gutter = Segment(" " * GUTTER)
        self._pointer = Segment("▌ ")

    def restyle(self, palette: Palette) -> None:
        """Draw in these colours from now on."""
        self._gutter = Segment(" " * GUTTER, palette.text)
        self._pointer = Segment("▌ ", palette.cursor)

    def gap(self) -> Strip:
        """An empty row between entries."""
        return StyledLine(()).strip_with(self._gutter, self.width, self._document.page.palette.text)

    def row(self, line: StyledLine, ranges: Sequence[StyledRange], *, pointed: bool) -> Strip:
        """A line.

        Args:
            ranges: styles over parts of it, in order.
            pointed: the cursor is on its block.
        """
        width, fill = self.width, self._document.page.palette.text
        gutter = self._pointer if pointed else self._gutter
        if ranges:
            parts = overlay_styles((gutter, *line.segments), ranges)
            return Strip(parts, GUTTER + line.cells).adjust_cell_length(width, fill)
        if pointed:
            return line.strip_with(gutter, width, fill)
        return line.strip(gutter, width, fill)

    def below(self, y: int, height: int) -> Strip:
        """A row below the last one."""
        page = self._document.page
        if self._document.sheets or not self._empty:
            return Strip.blank(self.width, page.palette.text)
        lines: list[StyledLine] = wrapped([Segment(self._empty, page.palette.muted)], page.width)
        at = y - max(0, (height - len(lines)) // 2)
        line = lines[at] if 0 <= at < len(lines) else StyledLine(())
        spare = max(0, self.width - line.cells) // 2
        return line.strip_with(Segment(" " * spare, page.palette.text), self.width, page.palette.text)

    def with_badge(self, strip: Strip, unseen: int) -> Strip:
        """The row with how many entries have come below it."""
        words = f" ↓ {unseen} new below "
        look = self._document.page.palette.badge
        start = max(0, (self.width - cell_len(words)) // 2)
        badge = Strip([Segment(words, look)]).adjust_cell_length(min(self.width, cell_len(words)), look)
        return Strip.join([strip.crop(0, start), badge, strip.crop(start + badge.cell_length, self.width)])


def empty_page() -> Page:
    """The page before the size and the theme are known."""
    return Page(80, make_palette({}, Color(0, 0, 0)), Highlighter())


class TranscriptPage:
    """Keeps the page of a document as the widget needs it; a change of it has all blocks drawn anew.

    Args:
        changed: called when it has other colours or lexers.
    """

    def __init__(
        self, widget: Widget, document: TranscriptDocument, painter: TranscriptPainter, changed: Callable[[], None]
    ) -> None:
        self._widget = widget
        self._document = document
        self._painter = painter
        self._changed = changed
        self._styled_for: tuple[object, ...] = ()
        self._loading: set[str] = set()

    def fit(self, columns: int) -> bool:
        """Take the width of the widget; whether that gives lines of another length."""
        self._painter.width = columns
        width = min(WIDEST, max(NARROWEST, columns - GUTTER - _MARGIN))
        if width == self._document.page.width:
            return False
        self._document.page = replace(self._document.page, width=width)
        return True

    def restyle(self) -> None:
        """Take the colours of the theme and of what lies behind, if they are other ones."""
        background = self._widget.background_colors[1]
        app = app_of(self._widget)
        look = (app.theme, background, app.native_ansi_color)
        if look == self._styled_for:
            return
        self._styled_for = look
        palette = make_palette(app.theme_variables, background, ansi=app.native_ansi_color)
        self._painter.restyle(palette)
        self._document.page = replace(self._document.page, palette=palette)
        self._changed()

    def load_languages(self) -> None:
        """Have the lexers of languages that were met loaded in a thread; then draw their code again."""
        wanted = self._document.page.code.wanted
        for name in sorted(wanted - self._loading):
            self._loading.add(name)
            work = partial(self._load, name)
            self._widget.run_worker(work, thread=True, exit_on_error=False, name=f"lexer {name}")
        wanted.clear()

    def _load(self, name: str) -> None:
        self._document.page.code.load(name)
        app_of(self._widget).call_from_thread(self._loaded)

    def _loaded(self) -> None:
        self._document.page = replace(self._document.page)
        self._changed()

"""The line-rendered surface: rows of the viewport as strips, the scroll bar, the page that follows size and theme.

Owns everything between the viewport and Textual; refuses to know what entries mean. No widget is made for a message
and setting the height lays nothing out again, so a conversation of any length costs what is on the screen. The
transcript is built on it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from rich.segment import Segment
from textual import events
from textual.color import Color
from textual.geometry import Region
from textual.reactive import var
from textual.scrollbar import ScrollBar
from textual.selection import Selection
from textual.strip import Strip

from gshtui.ui.kit.highlighter import Highlighter
from gshtui.ui.kit.highlights import StyledRange, overlay_styles, selected_span
from gshtui.ui.kit.page import NARROWEST, WIDEST, Page, make_palette
from gshtui.ui.kit.styled_lines import StyledLine
from gshtui.ui.kit.textual.kept_lines import KeptLines, fast_scroll_bar
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.kit.transcript.document import RowPosition, TranscriptDocument
from gshtui.ui.kit.transcript.markdown_renderer import markdown_parser
from gshtui.ui.kit.transcript.viewport import ScreenRow, Viewport

GUTTER = 2
"""Cells at the left that belong to the cursor."""
_MARGIN = 1
_FAR = 4
"""Screens; a scroll by more goes to where the row is thought to be, without drawing all that lies between."""


class TranscriptCanvas(KeptLines, inherit_bindings=False):
    """Draws a `Viewport`."""

    unseen: var[int] = var(0)
    """Entries that have come below while the reader was further up."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._styled_for: tuple[object, ...] = ()
        page = Page(80, make_palette({}, Color(0, 0, 0)), Highlighter())
        self.document = TranscriptDocument(page)
        self.viewport = Viewport(self.document)
        self._gutter = Segment(" " * GUTTER)
        self._pointer = Segment("▌ ")
        self._columns = 0  # its width: to ask Textual for it costs more than a row
        self._warm = False
        self._shift = 0  # so that rows keep their numbers for a selection when something comes in above them
        self._loading: set[str] = set()

    @property
    def allow_select(self) -> bool:
        return True

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        return fast_scroll_bar(self)

    # Page: size and theme.

    async def warm(self) -> None:
        """Have the parser imported, in a thread: not before the first frame, and never on the window's own time."""
        if not self._warm:
            await asyncio.to_thread(markdown_parser)
            self._warm = True

    def on_resize(self, event: events.Resize) -> None:
        self._columns, self.viewport.height = self.size
        width = min(WIDEST, max(NARROWEST, self._columns - GUTTER - _MARGIN))
        if width != self.document.page.width:
            if self.text_selection is not None:
                self.screen.clear_selection()
            self.document.page = replace(self.document.page, width=width)
        self.restyle()
        self.sync(whole=True)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self.is_mounted:
            self.restyle()

    def restyle(self) -> None:
        """Take the colours of the theme and of what lies behind, if they are other ones."""
        background = self.background_colors[1]
        app = app_of(self)
        look = (app.theme, background, app.native_ansi_color)
        if look == self._styled_for:
            return
        self._styled_for = look
        colours = make_palette(app.theme_variables, background, ansi=app.native_ansi_color)
        self._gutter = Segment(" " * GUTTER, colours.text)
        self._pointer = Segment("▌ ", colours.cursor)
        self.document.page = replace(self.document.page, palette=colours)
        self.sync(whole=True)

    # Keeping Textual's scrolling and the viewport one.

    def sync(self, *, whole: bool = False) -> None:
        """Settle the viewport, tell Textual the height and the position, and have drawn what has changed.

        Args:
            whole: draw every row again, changed or not.
        """
        if not self.size.height:
            return
        viewport = self.viewport
        before = viewport.rows
        old_top = viewport.top
        viewport.settle()
        if before and self.document.has(before[0].sheet) and before[0].block < len(before[0].sheet.blocks):
            first = before[0]
            self._shift += old_top - self.document.top(RowPosition(first.sheet, first.block, first.at))
        if viewport.following:
            self.unseen = 0
        self.tell(self.document.height)
        self._draw_changes(before, viewport.rows, whole=whole)
        self._load_languages()

    @property
    def top(self) -> int:
        return self.viewport.top

    def scroll_rows(self, rows: int) -> None:
        """Move by so many rows; exactly, unless it is far."""
        if abs(rows) <= _FAR * self.viewport.height:
            self.viewport.scroll(rows)
        else:
            self.viewport.jump(self.viewport.top + rows)
        self.sync()

    # Drawing.

    def _draw_changes(self, before: Sequence[ScreenRow], now: Sequence[ScreenRow], *, whole: bool) -> None:
        width, height = self.size
        badge = {height - 1} if self.unseen else set[int]()
        if whole or not before or not now:
            self.refresh()
            return
        changed = [
            at for at in range(max(len(before), len(now))) if at in badge or not _alike(_at(before, at), _at(now, at))
        ]
        if len(changed) > height // 2:
            self.refresh()
        elif changed:
            self.refresh(*(Region(0, at, width, 1) for at in changed))

    def render_lines(self, crop: Region) -> list[Strip]:
        self._columns = self.size.width
        return super().render_lines(crop)

    def row_strip(self, y: int) -> Strip:
        """A row of the screen, without the offsets that Textual needs to look up what is under the mouse."""
        rows = self.viewport.rows
        return self.strip_of(rows[y], y) if y < len(rows) else self.strip_below(y)

    def selection_row(self, y: int) -> int:
        """The number that a row of the screen has for a selection; it stays when something comes in above."""
        return self.viewport.top + y + self._shift

    def strip_of(self, row: ScreenRow, y: int) -> Strip:
        """A row as a strip."""
        width, fill = self._columns, self.document.page.palette.text
        gutter = self._pointer if self.pointed_at(row) else self._gutter
        if row.line is None:
            return StyledLine(()).strip_with(gutter, width, fill)
        ranges = self.ranges(row, y)
        if ranges:
            parts = overlay_styles((gutter, *row.line.segments), ranges)
            return Strip(parts, GUTTER + row.line.cells).adjust_cell_length(width, fill)
        if gutter is self._pointer:
            return row.line.strip_with(gutter, width, fill)
        return row.line.strip(gutter, width, fill)

    def strip_below(self, y: int) -> Strip:
        """What is drawn where there are no rows."""
        return Strip.blank(self._columns, self.document.page.palette.text)

    def pointed_at(self, row: ScreenRow) -> bool:
        """Whether the cursor is on the row's block."""
        return False

    def ranges(self, row: ScreenRow, y: int) -> list[StyledRange]:
        """Styles over parts of the row, in order; here for what is selected."""
        selection = self.text_selection
        if selection is None or row.line is None:
            return []
        span = selected_span(selection, self.selection_row(y), len(row.line.text) + GUTTER)
        return [(max(GUTTER, span[0]), span[1], self.document.page.palette.selection)] if span else []

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    def _load_languages(self) -> None:
        """Have the lexers of languages that were met loaded in a thread; then draw their code again."""
        wanted = self.document.page.code.wanted
        for name in sorted(wanted - self._loading):
            self._loading.add(name)
            self.run_worker(partial(self._load, name), thread=True, exit_on_error=False, name=f"lexer {name}")
        wanted.clear()

    def _load(self, name: str) -> None:
        self.document.page.code.load(name)
        app_of(self).call_from_thread(self._loaded)

    def _loaded(self) -> None:
        self.document.page = replace(self.document.page)
        self.sync(whole=True)


def _at(rows: Sequence[ScreenRow], at: int) -> ScreenRow | None:
    return rows[at] if at < len(rows) else None


def _alike(one: ScreenRow | None, other: ScreenRow | None) -> bool:
    if one is None or other is None or one.line is None or other.line is None:
        return one is other or (one is not None and other is not None and one.line is other.line)
    return one.line.same(other.line)

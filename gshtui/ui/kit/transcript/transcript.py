"""The transcript: a whole conversation in one widget, read with the keyboard or the mouse.

Owns the reader's actions: moving, opening, copying, searching, going to the end. Refuses to hold the conversation's
state or to know the bus: entries are put into it (the conversation's pane does). See `canvas.py` for why it is one
widget.
"""

from __future__ import annotations

from typing import ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual import events
from textual.binding import BindingType
from textual.geometry import Offset
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip

from gshtui.text.sanitise import plain
from gshtui.ui.kit.key_table import bind
from gshtui.ui.kit.styled_lines import StyledLine, wrapped
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.kit.transcript.canvas import GUTTER
from gshtui.ui.kit.transcript.document import selected_text
from gshtui.ui.kit.transcript.entries import ThoughtEntry, ToolEntry
from gshtui.ui.kit.transcript.sheet import Sheet
from gshtui.ui.kit.transcript.transcript_search import SearchableTranscript
from gshtui.ui.kit.transcript.viewport import ScreenRow


class Transcript(SearchableTranscript, can_focus=True):
    """Shows entries; see `TranscriptFeed` for how they come in and `SearchableTranscript` for how they are searched."""

    BINDINGS: ClassVar[list[BindingType]] = [
        bind("transcript.up", "up"),
        bind("transcript.down", "down"),
        bind("transcript.page_up", "page_up"),
        bind("transcript.page_down", "page_down"),
        bind("transcript.home", "home"),
        bind("transcript.end", "end"),
        bind("transcript.toggle", "open_block"),
        bind("transcript.open_all", "open_all"),
        bind("transcript.copy", "copy_block"),
        bind("transcript.search", "search"),
        bind("transcript.next", "found(1)"),
        bind("transcript.previous", "found(-1)"),
    ]

    class SearchRequested(Message):
        """The reader wants to search; whoever holds the transcript asks for the words."""

    class NearTop(Message):
        """The reader is close to the oldest entry that is here."""

    def __init__(self, *, empty: str = "", id: str | None = None, classes: str | None = None) -> None:
        """
        Args:
            empty: what to say while there are no entries.
        """
        super().__init__(id=id, classes=classes)
        self._empty = empty

    # Keys.

    def action_up(self) -> None:
        self.cursor.move(-1)
        self.sync(whole=True)

    def action_down(self) -> None:
        self.cursor.move(1)
        self.sync(whole=True)

    def action_page_up(self) -> None:
        """A screen towards the beginning."""
        self.scroll_rows(-max(1, self.size.height - 2))

    def action_page_down(self) -> None:
        """A screen towards the end."""
        self.scroll_rows(max(1, self.size.height - 2))

    def action_home(self) -> None:
        if self.document.sheets:
            self.cursor.place(self.document.sheets[0])
            self.viewport.show(self.document.sheets[0], 0)
            self.sync(whole=True)

    def action_end(self) -> None:
        """To the end, and stay there as more comes."""
        self.viewport.follow()
        self.cursor.place(None)
        self.sync(whole=True)

    def action_open_block(self) -> None:
        """Open or fold the entry under the cursor."""
        if self.cursor.ready() and self.cursor.sheet is not None:
            self.toggle(self.cursor.sheet)

    def action_open_all(self) -> None:
        """Open all thoughts and calls, or fold them all."""
        self.all_open = not self.all_open
        self.viewport.hold()
        for sheet in self.document.sheets:
            if isinstance(sheet.entry, (ToolEntry, ThoughtEntry)) and sheet.opened != self.all_open:
                self.document.toggle(sheet, self.all_open)
        self.sync(whole=True)

    def action_copy_block(self) -> None:
        """Copy what is selected, or else the block under the cursor."""
        text = self.screen.get_selected_text() or (self.cursor.text() if self.cursor.ready() else "")
        if not text:
            return
        text = plain(text)
        app_of(self).copy_to_clipboard(text)
        lines = text.count("\n") + 1
        self.notify(f"Copied {lines} lines" if lines > 1 else "Copied one line", timeout=2, markup=False)

    def action_search(self) -> None:
        self.post_message(self.SearchRequested())

    def action_found(self, step: int) -> None:
        self.find_more(step)

    def toggle(self, sheet: Sheet) -> None:
        """Open or fold an entry, its first line staying where it is."""
        if not isinstance(sheet.entry, (ToolEntry, ThoughtEntry)):
            return
        at = next((y for y, row in enumerate(self.viewport.rows) if row.sheet is sheet and row.line is not None), None)
        self.document.toggle(sheet, not sheet.opened)
        self.cursor.place(sheet)
        self.document.built(sheet)
        self.viewport.show(sheet, 0, sheet.gap, at=at or 0)
        self.sync(whole=True)

    # Mouse.

    def on_click(self, event: events.Click) -> None:
        if event.chain > 1 or self.text_selection is not None:
            return
        if self.unseen and event.y == self.size.height - 1:
            self.action_end()
            return
        rows = self.viewport.rows
        if not 0 <= event.y < len(rows) or rows[event.y].line is None:
            return
        row = rows[event.y]
        self.cursor.place(row.sheet, row.block)
        if row.sheet.blocks[row.block].toggles:
            self.toggle(row.sheet)
        else:
            self.refresh()

    def text_select_all(self) -> None:
        """Select the block under the mouse: what a double click means."""
        on = [y for y, row in enumerate(self.viewport.rows) if self.cursor.on(row)]
        if on:
            line = self.viewport.rows[on[-1]].line
            end = GUTTER + len(line.text) if line is not None else GUTTER
            start = Offset(0, self.selection_row(on[0]))
            self.screen.selections = {self: Selection(start, Offset(end, self.selection_row(on[-1])))}

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        return selected_text(self.document, selection, self._shift, GUTTER), "\n"

    # Drawing.

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def pointed_at(self, row: ScreenRow) -> bool:
        return self.has_focus and self.cursor.on(row)

    def strip_of(self, row: ScreenRow, y: int) -> Strip:
        strip = super().strip_of(row, y)
        return self._with_badge(strip) if self.unseen and y == self.viewport.height - 1 else strip

    def strip_below(self, y: int) -> Strip:
        if self.document.sheets or not self._empty:
            return super().strip_below(y)
        page = self.document.page
        lines: list[StyledLine] = wrapped([Segment(self._empty, page.palette.muted)], page.width)
        at = y - max(0, (self.size.height - len(lines)) // 2)
        line = lines[at] if 0 <= at < len(lines) else StyledLine(())
        spare = max(0, self.size.width - line.cells) // 2
        return line.strip_with(Segment(" " * spare, page.palette.text), self.size.width, page.palette.text)

    def _with_badge(self, strip: Strip) -> Strip:
        words = f" ↓ {self.unseen} new below "
        look = self.document.page.palette.badge
        width = self.size.width
        start = max(0, (width - cell_len(words)) // 2)
        badge = Strip([Segment(words, look)]).adjust_cell_length(min(width, cell_len(words)), look)
        return Strip.join([strip.crop(0, start), badge, strip.crop(start + badge.cell_length, width)])

    def sync(self, *, whole: bool = False) -> None:
        super().sync(whole=whole)
        if self.document.sheets and self.viewport.top < 2 * self.viewport.height:
            self.post_message(self.NearTop())

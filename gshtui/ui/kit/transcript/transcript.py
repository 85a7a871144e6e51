"""The transcript: a whole conversation in one widget, read with the keyboard or the mouse.

Decides what keys and the mouse do, and holds the parts: the document and the viewport onto it, the feed of entries, the
search, the page and the painter. No message has a widget of its own, and setting the height triggers no layout, so a
conversation of any length costs only what is visible. Holds no conversation state and knows nothing about the bus.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import BindingType
from textual.geometry import Offset, Region
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip

from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.textual.colour_support import has_few_colours
from gshtui.ui.kit.textual.kept_lines import KeptLines
from gshtui.ui.kit.textual.typed_app import app_of, copy_text
from gshtui.ui.kit.transcript.call_results import shows_whole_change
from gshtui.ui.kit.transcript.cursor_parts import answer_near, code_near, message_near, prompt_of
from gshtui.ui.kit.transcript.document import TranscriptDocument, selected_text
from gshtui.ui.kit.transcript.entries import CutEntry, Entry, PromptEntry, ToolEntry, is_asked
from gshtui.ui.kit.transcript.sheet import Sheet
from gshtui.ui.kit.transcript.transcript_feed import FramePacer, TranscriptFeed
from gshtui.ui.kit.transcript.transcript_painter import TranscriptPage, TranscriptPainter, empty_page
from gshtui.ui.kit.transcript.transcript_search import TranscriptFinder
from gshtui.ui.kit.transcript.viewport import GUTTER, BlockCursor, Viewport

if TYPE_CHECKING:
    from gshtui.ui.kit.drawing.terminal_graphics import LoadOutput

_FAR = 4
"""Screens; a longer scroll goes to the row's estimated place, without drawing everything between."""


class Transcript(KeptLines, can_focus=True):
    """Shows the entries that `feed` receives."""

    BINDINGS: ClassVar[list[BindingType]] = [
        bind("transcript.up", "up"),
        bind("transcript.down", "down"),
        bind("transcript.page_up", "page_up"),
        bind("transcript.page_down", "page_down"),
        bind("transcript.home", "home"),
        bind("transcript.end", "end"),
        bind("transcript.previous_prompt", "prompt(-1)"),
        bind("transcript.next_prompt", "prompt(1)"),
        bind("transcript.toggle", "open_block"),
        bind("transcript.open_turn", "open_turn"),
        bind("transcript.open_all", "open_all"),
        bind("transcript.copy", "copy_block"),
        bind("transcript.copy_answer", "copy_answer"),
        bind("transcript.copy_code", "copy_code"),
        bind("transcript.edit", "edit_prompt"),
        bind("transcript.fork", "fork"),
        bind("transcript.receipt", "receipt"),
        bind("transcript.search", "search"),
        bind("transcript.next", "found(1)"),
        bind("transcript.previous", "found(-1)"),
    ]

    class SearchRequested(Message):
        """The reader wants to search; the surrounding pane asks for the words."""

    class CutOpened(Message):
        """The reader wants the receipt of a cut."""

        def __init__(self, cut: str) -> None:
            super().__init__()
            self.cut = cut

    class PromptEdited(Message):
        """The reader wants to change a prompt and go on from there."""

        def __init__(self, prompt: PromptEntry) -> None:
            super().__init__()
            self.prompt = prompt

    class Forked(Message):
        """The reader wants to go on from what is under the cursor in a new conversation."""

        def __init__(self, entry: Entry) -> None:
            super().__init__()
            self.entry = entry

    class Moved(Message):
        """Other rows are on the screen now."""

    class NearTop(Message):
        """The reader is close to the oldest loaded entry."""

    def __init__(self, *, empty: str = "", load_picture: LoadOutput | None = None, id: str | None = None) -> None:
        """
        Args:
            empty: the text shown while there are no entries.
            load_picture: reads the picture of a call from the record, for terminals that draw pictures.
        """
        super().__init__(id=id)
        self._load_picture = load_picture
        self.document = TranscriptDocument(empty_page())
        self.viewport = Viewport(self.document)
        self.cursor = BlockCursor(self.document, self.viewport)
        self.finder = TranscriptFinder(self.document, self.viewport, self.cursor, self)
        self._pacer = FramePacer(self, self._draw_frame)
        self.feed = TranscriptFeed(self.document, self.viewport, self.cursor, self.finder, self._pacer.schedule)
        self._painter = TranscriptPainter(self, self.viewport, self.cursor, self.finder, empty)
        self._page = TranscriptPage(self, self.document, self._painter, self._redraw)

    def on_mount(self) -> None:
        app = app_of(self)
        graphics = None
        if self._load_picture is not None and not app.is_headless:
            from gshtui.ui.kit.drawing.terminal_graphics import TerminalGraphics  # after the first frame

            graphics = TerminalGraphics(self, self._load_picture)
        self._page.show_pictures(graphics, colours=not has_few_colours(app))

    def show_empty(self, text: str, heading: str = "", place: str = "") -> None:
        """Change the text shown while there are no entries, and what stands above it: a heading, and a folder."""
        painter = self._painter
        if (text, heading, place) != (painter.empty, painter.heading, painter.place):
            painter.empty, painter.heading, painter.place = text, heading, place
            self._redraw()

    def draw_again(self) -> None:
        """Draw all blocks again: the terminal has said that it draws pictures."""
        self._page.renew()

    @property
    def allow_select(self) -> bool:
        return True

    @property
    def result_lines(self) -> int:
        """Rows of output shown under a finished call; 0: none."""
        return self.document.page.result_lines

    @result_lines.setter
    def result_lines(self, rows: int) -> None:
        self._page.show_results(rows)

    @property
    def drawing(self) -> bool:
        """Whether something added must still be drawn."""
        return self._pacer.scheduled or bool(self.document.busy)

    # Keys.

    def action_up(self) -> None:
        self.cursor.move(-1)
        self._redraw()

    def action_down(self) -> None:
        self.cursor.move(1)
        self._redraw()

    def action_page_up(self) -> None:
        """Scroll a screen towards the beginning."""
        self.scroll_rows(-max(1, self.size.height - 2))

    def action_page_down(self) -> None:
        """Scroll a screen towards the end."""
        self.scroll_rows(max(1, self.size.height - 2))

    def action_home(self) -> None:
        self.cursor.go_home()
        self._redraw()

    def action_end(self) -> None:
        """Go to the end, and follow new entries."""
        self.cursor.go_end()
        self._redraw()

    @property
    def away(self) -> bool:
        """Whether the reader has left the end."""
        return not self.viewport.following

    @property
    def standing(self) -> bool:
        """Whether the reader has gone to a prompt, and not left it."""
        return self.cursor.standing

    def action_prompt(self, direction: int) -> None:
        """Go to the next (or previous) prompt: it is at the top, where what follows it fills the screen, and marked."""
        self.cursor.go_to_prompt(direction, from_cursor=self.has_focus)
        self._redraw()

    def action_open_block(self) -> None:
        """Open or fold the entry under the cursor; of a cut, show the receipt."""
        if self.cursor.ready() and self.cursor.sheet is not None and isinstance(self.cursor.sheet.entry, CutEntry):
            self.post_message(self.CutOpened(self.cursor.sheet.entry.cut))
        elif self.cursor.toggle():
            self._redraw()

    def action_edit_prompt(self) -> None:
        """Change the prompt under the cursor, or that of the turn under it, and go on from there."""
        prompt = prompt_of(self.document, self.cursor) if self.cursor.ready() else None
        if prompt is None:
            self.notify("No prompt here.", timeout=3, markup=False)
        else:
            self.post_message(self.PromptEdited(prompt))

    def action_fork(self) -> None:
        """Go on from the message under the cursor in a new conversation."""
        entry = message_near(self.document, self.cursor) if self.cursor.ready() else None
        if entry is None:
            self.notify("No message here.", timeout=3, markup=False)
        else:
            self.post_message(self.Forked(entry))

    def action_receipt(self) -> None:
        """Show the receipt of the cut under the cursor, or of the output that was shortened there."""
        entry = self.cursor.sheet.entry if self.cursor.ready() and self.cursor.sheet is not None else None
        if isinstance(entry, CutEntry):
            self.post_message(self.CutOpened(entry.cut))
        elif isinstance(entry, ToolEntry) and entry.cut and not entry.by_person:
            self.post_message(self.CutOpened(entry.id))
        else:
            self.notify("No cut here.", timeout=3, markup=False)

    def action_open_all(self) -> None:
        """Open all thoughts and calls, or fold them all."""
        with self.cursor.in_place():
            self.feed.toggle_all()
        self._redraw()

    def action_open_turn(self) -> None:
        """Open all calls and thoughts of the turn under the cursor, or fold them all."""
        if self.cursor.ready() and self.cursor.sheet is not None:
            with self.cursor.in_place():
                self.feed.toggle_turn(self.cursor.sheet)
            self._redraw()

    def action_copy_block(self) -> None:
        """Copy the selection, or else the block under the cursor."""
        text = self.screen.get_selected_text() or (self.cursor.text() if self.cursor.ready() else "")
        if text:
            self._copy(text)

    def _copy(self, text: str) -> None:
        from gshtui.text.sanitise import plain

        copy_text(self, plain(text))

    def action_copy_answer(self) -> None:
        """Copy the whole answer under the cursor, or the nearest one of its turn, as the model wrote it."""
        found = answer_near(self.document, self.cursor) if self.cursor.ready() else None
        if found is None:
            self.notify("No answer in this turn yet.", timeout=3, markup=False)
        else:
            self._copy(found.text)

    def action_copy_code(self) -> None:
        """Copy the code block under the cursor, or the nearest one, and put the cursor on it."""
        found = code_near(self.document, self.cursor) if self.cursor.ready() else None
        if found is None:
            self.notify("No code block in this conversation.", timeout=3, markup=False)
            return
        self.viewport.hold()
        self.cursor.place(*found)
        self.cursor.show()
        self._redraw()
        self._copy(self.cursor.text())

    def action_search(self) -> None:
        self.post_message(self.SearchRequested())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self.finder.search is not None if action == "found" else super().check_action(action, parameters)

    def action_found(self, step: int) -> None:
        self.finder.find_more(step)

    # Mouse.

    def on_click(self, event: events.Click) -> None:
        if event.chain > 1 or self.text_selection is not None:
            return
        if self._painter.on_badge(event.y):
            self.action_end()
            return
        if not event.y and self.viewport.heading is not None:
            self.cursor.go_to(self.viewport.heading)
            self._redraw()
            return
        rows = self.viewport.rows
        if not 0 <= event.y < len(rows) or rows[event.y].line is None:
            return
        row = rows[event.y]
        self.cursor.place(row.sheet, row.block)
        if isinstance(row.sheet.entry, CutEntry):
            self.action_open_block()
        elif row.sheet.blocks[row.block].toggles and self.cursor.toggle():
            self._redraw()
        else:
            self.refresh()

    def text_select_all(self) -> None:
        """Select the block under the mouse, on a double click."""
        rows = self.cursor.shown()
        if rows:
            line = self.viewport.rows[rows[-1]].line
            end = GUTTER + len(line.text) if line is not None else GUTTER
            start = Offset(0, self.selection_row(rows[0]))
            self.screen.selections = {self: Selection(start, Offset(end, self.selection_row(rows[-1])))}

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        return selected_text(self.document, selection, self.viewport.shift, GUTTER), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    # Size, theme and focus.

    def on_resize(self, event: events.Resize) -> None:
        self.viewport.height = self.size.height
        if self._page.fit(self.size.width) and self.text_selection is not None:
            self.screen.clear_selection()
        self._page.restyle()
        self._redraw()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self.is_mounted:
            self._page.restyle()

    def on_focus(self) -> None:
        self.cursor.ready()
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def shows_change(self, call: str, diff: str) -> bool:
        """Whether all rows of this change, which a call wants to make, are on the screen now."""
        if not self.is_on_screen:
            return False
        seen: dict[Sheet, set[int]] = {}
        for row in self.viewport.in_sight:
            seen.setdefault(row.sheet, set()).add(row.at)
        for sheet, rows in seen.items():
            entry = sheet.entry
            if not isinstance(entry, ToolEntry) or entry.diff != diff or not is_asked(entry, call):
                continue
            whole = len(sheet.blocks) == 1 and not (sheet.opened or sheet.brief)
            if whole and rows.issuperset(range(sheet.gap + 1, sheet.heights[0])):  # the question names the call, too
                return shows_whole_change(entry, self.document.page)
        return False

    @property
    def free_rows(self) -> int:
        """Rows that nothing fills; less than 0: some are out of sight."""
        return self.size.height - self.document.height

    def fold_asked(self, call: str) -> None:
        """The question of this call shows its change now, so that it is one row here: for who has not scrolled away.
        Empty: none does.
        """
        self.document.fold_asked(call if self.viewport.following else "")
        self.sync()

    # Scrolling and drawing.

    @property
    def top(self) -> int:
        return self.viewport.top

    def scroll_rows(self, rows: int) -> None:
        """Move by this many rows; exactly, unless it is far."""
        self.cursor.standing = False
        if abs(rows) <= _FAR * self.viewport.height:
            self.viewport.scroll(rows)
        else:
            self.viewport.jump(self.viewport.top + rows)
        self.sync()

    def sync(self, *, whole: bool = False) -> None:
        """Settle the viewport, tell Textual the height and the position, and draw what has changed. `whole`: draw every
        row again, changed or not.
        """
        if self.size.height:
            if self.cursor.standing:
                self.viewport.hold()
            changed = self.viewport.update()
            self.set_row_count(self.document.height)
            if whole or changed is None:
                self.refresh()
            else:
                self.refresh_rows(changed)
            if changed is None or changed:
                self.post_message(self.Moved())
            self._page.load_wanted()
        if self.document.busy:
            self._pacer.go_on()
        if self.document.sheets and self.viewport.top < 2 * self.viewport.height:
            self.post_message(self.NearTop())

    def _redraw(self) -> None:
        self.sync(whole=True)

    def _draw_frame(self, deadline: float) -> None:
        self.feed.cut(deadline)
        self.sync()

    def render_lines(self, crop: Region) -> list[Strip]:
        self._painter.width = self.size.width
        return super().render_lines(crop)

    def row_strip(self, y: int) -> Strip:
        return self._painter.strip(y)

    def selection_row(self, y: int) -> int:
        return self.viewport.number(y)

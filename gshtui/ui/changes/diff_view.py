"""Draws a changes document line by line: only visible lines cost anything.

Owns scrolling, the change under the cursor, and the selection. Does not wrap, so a row is a line: long lines scroll
sideways. Used by the diff tab.
"""

from __future__ import annotations

from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from gshtui.ui.changes.diff_document import DiffDocument
from gshtui.ui.kit.diff_lines import diff_row_lines
from gshtui.ui.kit.highlighter import Highlighter
from gshtui.ui.kit.highlights import overlay_styles, selected_span
from gshtui.ui.kit.key_table import bind
from gshtui.ui.kit.page import Page, ThemePalette
from gshtui.ui.kit.styled_lines import StyledLine

GUTTER = 2
"""Cells at the left reserved for the cursor."""
WIDEST = 1_000
"""How many cells of a line can be scrolled to."""
_SIDE = 8


class ChangesView(ScrollView, inherit_bindings=False):
    """See the module."""

    BINDINGS: ClassVar[list[BindingType]] = [
        bind("diff.up", "scroll(-1)"),
        bind("diff.down", "scroll(1)"),
        bind("diff.page_up", "page(-1)"),
        bind("diff.page_down", "page(1)"),
        bind("diff.home", "edge('top')"),
        bind("diff.end", "edge('bottom')"),
        bind("diff.left", "side(-1)"),
        bind("diff.right", "side(1)"),
        bind("diff.next_hunk", "hunk(1)"),
        bind("diff.previous_hunk", "hunk(-1)"),
        bind("diff.next_file", "file(1)"),
        bind("diff.previous_file", "file(-1)"),
    ]

    class Moved(Message):
        """The cursor moved to another file or change."""

    can_focus = True

    def __init__(self) -> None:
        super().__init__(id="changes-view")
        self.document = DiffDocument()
        self.hunk = -1
        """Index of the change under the cursor; -1: none."""
        self._theme = ThemePalette(self)
        self._page = Page(80, self._theme.palette, Highlighter())
        self._lines: dict[int, StyledLine] = {}

    @property
    def allow_select(self) -> bool:
        return True

    @property
    def file(self) -> int:
        """Index of the file under the cursor; -1: none."""
        row = self.document.hunks[self.hunk] if self.hunk >= 0 else self.scroll_offset.y
        return self.document.file_at(row)

    def load(self, document: DiffDocument) -> None:
        """Show this document, at the previous one's position."""
        self.document = document
        self._lines = {}
        self.hunk = min(max(0, self.hunk), len(document.hunks) - 1)
        self._measure()
        self.refresh()
        self.post_message(self.Moved())

    def on_resize(self, _event: events.Resize) -> None:
        self._measure()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self.is_mounted:
            self._restyle()

    def _measure(self) -> None:
        room = self.size.width - GUTTER
        width = max(room, min(WIDEST, self.document.longest + self.document.digits + 4), 8)
        if width != self._page.width:
            self._lines = {}
            self._page = Page(width, self._page.palette, self._page.code)
        self._restyle()
        self.virtual_size = Size(width + GUTTER if width > room else self.size.width, len(self.document.rows))

    def _restyle(self) -> None:
        if self._theme.renew():
            self._lines = {}
            self._page = Page(self._page.width, self._theme.palette, self._page.code)
            self.refresh()

    # Drawing

    def render_line(self, y: int) -> Strip:
        row = y + self.scroll_offset.y
        colours = self._page.palette
        if row >= len(self.document.rows):
            return Strip.blank(self.size.width, colours.text)
        line = self._line(row)
        segments = [Segment("▌ " if self._under_cursor(row) else "  ", colours.cursor), *line.segments]
        selection = self.text_selection
        if selection is not None:
            length = GUTTER + len(line.text)
            if (span := selected_span(selection, row, length)) is not None:
                segments = overlay_styles(segments, [(*span, colours.selection)])
        strip = Strip(segments).adjust_cell_length(self._page.width + GUTTER, colours.text)
        start = self.scroll_offset.x
        return strip.crop(start, start + self.size.width).apply_offsets(start, row)

    def _line(self, row: int) -> StyledLine:
        line = self._lines.get(row)
        if line is None:
            if len(self._lines) > 5_000:
                self._lines = {}
            made = diff_row_lines(self.document.rows[row], self.document.digits, self._page)
            line = self._lines[row] = made[0] if made else StyledLine(())
        return line

    def _under_cursor(self, row: int) -> bool:
        return self.hunk >= 0 and self.document.hunks[self.hunk] <= row < self.document.end_of(self.hunk)

    # Moving

    def action_scroll(self, step: int) -> None:
        self.scroll_to(y=self.scroll_offset.y + step, animate=False)
        self._follow()

    def action_page(self, step: int) -> None:
        self.action_scroll(step * max(1, self.size.height - 1))

    def action_side(self, step: int) -> None:
        self.scroll_to(x=self.scroll_offset.x + step * _SIDE, animate=False)

    def action_edge(self, edge: str) -> None:
        self.scroll_to(y=0 if edge == "top" else self.max_scroll_y, animate=False)
        self._cursor(0 if edge == "top" else len(self.document.hunks) - 1)

    def action_hunk(self, step: int) -> None:
        """Go to the next change, or the previous one."""
        if self.document.hunks:
            self.go_to(max(0, min(len(self.document.hunks) - 1, self.hunk + step)))

    def action_file(self, step: int) -> None:
        """Go to the next file, or the previous one."""
        if self.document.files:
            self.show_file(max(0, min(len(self.document.files) - 1, self.file + step)))

    def show_file(self, number: int) -> None:
        """Go to the first change of a file."""
        row = self.document.files[number].row
        self.scroll_to(y=row, animate=False)
        first = next((at for at, hunk in enumerate(self.document.hunks) if hunk > row), -1)
        inside = first >= 0 and self.document.file_at(self.document.hunks[first]) == number
        if inside:
            self._cursor(first)

    def go_to(self, hunk: int) -> None:
        """Put the cursor on a change, showing its file's preceding lines if they fit."""
        row = self.document.hunks[hunk]
        file = self.document.files[self.document.file_at(row)].row
        top = self.scroll_offset.y
        if not top <= row < self.document.end_of(hunk) <= top + self.size.height:
            self.scroll_to(y=file if row == file + 1 else max(0, row - 1), animate=False)
        self._cursor(hunk)

    def _follow(self) -> None:
        """Keep the cursor on a visible change."""
        if self.hunk < 0:
            return
        top, bottom = self.scroll_offset.y, self.scroll_offset.y + self.size.height
        if self.document.end_of(self.hunk) <= top or self.document.hunks[self.hunk] >= bottom:
            self._cursor(self.document.hunk_at(top if self.document.end_of(self.hunk) <= top else bottom - 1))

    def _cursor(self, hunk: int) -> None:
        self.hunk = hunk
        self.refresh()
        self.post_message(self.Moved())

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._wheel(event, 3)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._wheel(event, -3)

    def _wheel(self, event: events.MouseEvent, step: int) -> None:
        event.stop()
        event.prevent_default()
        self.action_scroll(step)

    # Copying

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        rows: list[str] = []
        for row in range(len(self.document.rows)):
            line = self._line(row)
            span = selected_span(selection, row, GUTTER + len(line.text))
            if span is not None:
                start = max(span[0] - GUTTER, line.margin)
                rows.append(line.text[start : max(start, span[1] - GUTTER)].rstrip())
            elif rows:
                break
        return ("\n".join(rows), "\n") if rows else None

    @property
    def copied(self) -> str:
        """The change under the cursor as patch text; empty: none."""
        if self.hunk < 0:
            return ""
        return self.document.text_of(self.document.hunks[self.hunk], self.document.end_of(self.hunk))

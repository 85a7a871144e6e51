"""Draws a changes document line by line, in two columns where there is room: only visible lines cost anything.

Owns scrolling, the line and the change under the cursor, the lines that are marked for a comment, and the selection.
Does not wrap, so a row is a line: long lines scroll sideways. Used by the diff tab.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from gshtui.text.diff_rows import SideBySide, side_by_side
from gshtui.ui.changes.diff_document import DiffDocument
from gshtui.ui.kit.diff_lines import SIDE_BY_SIDE_WHOLE, DiffPainter, half_of, has_two_columns
from gshtui.ui.kit.highlighter import Highlighter
from gshtui.ui.kit.highlights import overlay_styles, selected_span
from gshtui.ui.kit.key_table import bind
from gshtui.ui.kit.language_loader import LanguageLoader
from gshtui.ui.kit.page import Page, ThemePalette, wants_columns
from gshtui.ui.kit.styled_lines import StyledLine

GUTTER = 2
"""Cells at the left reserved for the cursor."""
WIDEST = 1_000
"""How many cells of a line can be scrolled to."""
_SIDE = 8


class ChangesView(ScrollView, inherit_bindings=False):
    """See the module."""

    BINDINGS: ClassVar[list[BindingType]] = [
        bind("diff.up", "line(-1)"),
        bind("diff.down", "line(1)"),
        bind("diff.mark_up", "line(-1, True)"),
        bind("diff.mark_down", "line(1, True)"),
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
        bind("diff.columns", "columns"),
    ]

    class Moved(Message):
        """The cursor moved to another file or change."""

    can_focus = True

    def __init__(self) -> None:
        super().__init__(id="changes-view")
        self.document = DiffDocument()
        self.hunk = -1
        """Index of the change under the cursor; -1: none."""
        self._y = 0
        """The cursor's line, as the screen counts them."""
        self._anchor: int | None = None
        """The other end of the lines that are marked."""
        self.commented: frozenset[int] = frozenset()
        """Rows of the document with a comment."""
        self._theme = ThemePalette(self)
        self._page = Page(80, self._theme.palette, Highlighter())
        self._languages = LanguageLoader(self, self._page.code, self._renew)
        self._lines: dict[int, StyledLine] = {}
        self._wanted: bool | None = None
        """Whether two columns are wanted in this tab; `None`: the settings say."""
        self._pairs: list[SideBySide] = []
        """The rows of two columns; empty: there is one."""
        self._starts: list[int] = []
        """The document's row where each of them begins."""
        self._painter = DiffPainter((), self._page, self._path_at)

    @property
    def allow_select(self) -> bool:
        return True

    @property
    def file(self) -> int:
        """Index of the file under the cursor; -1: none."""
        row = self.document.hunks[self.hunk] if self.hunk >= 0 else self._row_at(self.scroll_offset.y)
        return self.document.file_at(row)

    @property
    def split(self) -> bool:
        """Whether what was and what is are side by side."""
        return bool(self._pairs)

    @property
    def marked(self) -> tuple[int, int]:
        """First and last row of the document that are under the cursor or marked."""
        first, last = self._marked
        if not self._pairs:
            return first, last
        rows = [at for pair in self._pairs[first : last + 1] for at in pair if at is not None]
        if first == last and len(rows) > 1:  # a line that was changed: what is there now
            rows = rows[-1:]
        return (min(rows), max(rows)) if rows else (0, -1)

    @property
    def _marked(self) -> tuple[int, int]:
        other = self._y if self._anchor is None else self._anchor
        return min(self._y, other), max(self._y, other)

    def show_comments(self, rows: frozenset[int]) -> None:
        """Mark the rows of the document that have a comment."""
        self.commented = rows
        self.refresh()

    # Rows of the screen and of the document: the same in one column

    def _row_at(self, y: int) -> int:
        if not self._pairs:
            return y
        return self._starts[min(y, len(self._starts) - 1)]

    def _y_of(self, row: int) -> int:
        return bisect_left(self._starts, row) if self._pairs else row

    @property
    def _count(self) -> int:
        return len(self._pairs) or len(self.document.rows)

    def _path_at(self, row: int) -> str:
        at = self.document.file_at(row)
        return self.document.files[at].path if at >= 0 else ""

    def load(self, document: DiffDocument) -> None:
        """Show this document, at the previous one's position."""
        self.document = document
        self._pairs = []
        self.hunk = min(max(0, self.hunk), len(document.hunks) - 1)
        self._anchor = None
        self._measure()
        self._y = max(0, min(self._y, self._count - 1))
        if not self._y and self.hunk == 0:
            self._y = self._first_line(0)
        self._renew()
        self.post_message(self.Moved())

    def _has_columns(self, room: int, longest: int) -> bool:
        if self._wanted is not None:
            return self._wanted and room >= SIDE_BY_SIDE_WHOLE
        return wants_columns(self) and has_two_columns(room, longest)

    def action_columns(self) -> None:
        """Put what was and what is side by side, or below one another."""
        if self.size.width - GUTTER < SIDE_BY_SIDE_WHOLE:
            need = SIDE_BY_SIDE_WHOLE + GUTTER
            self.notify(f"Two columns need {need} cells; here are {self.size.width}.", timeout=3, markup=False)
            return
        self._wanted = not self.split
        self._measure()

    def on_resize(self, _event: events.Resize) -> None:
        self._measure()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self.is_mounted:
            self._restyle()

    def _measure(self) -> None:
        room = self.size.width - GUTTER
        row = self._row_at(self.scroll_offset.y)
        longest = min(WIDEST, self.document.longest + self.document.digits + 4)
        was, wide = self.split, self._has_columns(room, longest)
        if wide != was:
            self._pairs = side_by_side(self.document.rows) if wide else []
            self._starts = [next(at for at in pair if at is not None) for pair in self._pairs]
        # In two columns each scrolls sideways, by as much as its lines are longer than it.
        hidden = max(0, longest - (half_of(room) if self.split else room))
        width = max(room + hidden, 8)
        if width != self._page.width or self.split != was:
            self._page = Page(width, self._page.palette, self._page.code)
            self._renew()
        self._restyle()
        self.virtual_size = Size(width + GUTTER if hidden else self.size.width, self._count)
        if self.split != was:
            self.scroll_to(y=self._y_of(row), animate=False)
            self._anchor = None
            if self.hunk >= 0:
                self._y = self._first_line(self.hunk)

    def _restyle(self) -> None:
        if self._theme.renew():
            self._page = Page(self._page.width, self._theme.palette, self._page.code)
            self._renew()

    def _renew(self) -> None:
        """Draw all again: other rows, another width, other colours or one more language."""
        self._lines = {}
        self._painter = DiffPainter(self.document.rows, self._page, self._path_at)
        self.refresh()

    # Drawing

    def render_lines(self, crop: Region) -> list[Strip]:
        found = super().render_lines(crop)
        self._languages.load_wanted()
        return found

    def render_line(self, y: int) -> Strip:
        row = y + self.scroll_offset.y
        colours = self._page.palette
        if row >= self._count:
            return Strip.blank(self.size.width, colours.text)
        line = self._line(row)
        segments = [Segment(self._gutter(row), colours.cursor), *line.segments]
        selection = self.text_selection
        if selection is not None:
            length = GUTTER + len(line.text)
            if (span := selected_span(selection, row, length)) is not None:
                segments = overlay_styles(segments, [(*span, colours.selection)])
        if self._pairs:
            return Strip(segments).adjust_cell_length(self.size.width, colours.text).apply_offsets(0, row)
        strip = Strip(segments).adjust_cell_length(self._page.width + GUTTER, colours.text)
        start = self.scroll_offset.x
        return strip.crop(start, start + self.size.width).apply_offsets(start, row)

    def watch_scroll_x(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_x(old_value, new_value)
        if self._pairs:
            self._lines = {}

    def _line(self, row: int) -> StyledLine:
        line = self._lines.get(row)
        if line is None:
            if len(self._lines) > 5_000:
                self._lines = {}
            line = self._lines[row] = self._drawn(row)
        return line

    def _drawn(self, row: int) -> StyledLine:
        if not self._pairs:
            return self._painter.lines(row, self._page.width)[0]
        pair, room = self._pairs[row], self.size.width - GUTTER
        if pair.left == pair.right and pair.left is not None and self.document.rows[pair.left].kind != "same":
            return self._painter.lines(pair.left, self._page.width)[0]
        half, colours, start = half_of(room), self._page.palette, self.scroll_offset.x
        sides: list[Strip] = []
        for side, at in enumerate(pair):
            found = [] if at is None else self._painter.lines(at, self._page.width, before=not side)
            line = found[0] if found else StyledLine(())
            sides.append(Strip(line.segments).adjust_cell_length(self._page.width, colours.text))
        left, right = (side.crop(start, start + half) for side in sides)
        return StyledLine((*left, Segment(" │ ", colours.rule), *right))

    def _under_cursor(self, row: int) -> bool:
        if self.hunk < 0:
            return False
        return self.document.hunks[self.hunk] <= self._row_at(row) < self.document.end_of(self.hunk)

    def _gutter(self, y: int) -> str:
        first, last = self._marked
        rows = (y,) if not self._pairs else self._pairs[y]
        here = first <= y <= last and self.hunk >= 0
        sign = "●" if self.commented.intersection(rows) else "›" if here else " "
        return ("█" if here and sign == "●" else "▌" if self._under_cursor(y) else " ") + sign

    # Moving

    def action_line(self, step: int, marks: bool = False) -> None:
        """Move the cursor by lines, marking them on the way or not."""
        if not self._count:
            return
        self._anchor = (self._y if self._anchor is None else self._anchor) if marks else None
        self._y = max(0, min(self._count - 1, self._y + step))
        self._reveal()
        self._cursor(self.document.hunk_at(self._row_at(self._y)), stay=True)

    def _reveal(self) -> None:
        top, height = self.scroll_offset.y, max(1, self.size.height)
        if self._y < top:
            self.scroll_to(y=self._y, animate=False)
        elif self._y >= top + height:
            self.scroll_to(y=self._y - height + 1, animate=False)

    def action_scroll(self, step: int) -> None:
        before = self.scroll_offset.y
        self.scroll_to(y=before + step, animate=False)
        self._follow()

    def action_page(self, step: int) -> None:
        size = step * max(1, self.size.height - 1)
        self._y = max(0, min(self._count - 1, self._y + size))
        self.action_scroll(size)

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
        self.scroll_to(y=self._y_of(row), animate=False)
        first = next((at for at, hunk in enumerate(self.document.hunks) if hunk > row), -1)
        inside = first >= 0 and self.document.file_at(self.document.hunks[first]) == number
        if inside:
            self._cursor(first)

    def go_to(self, hunk: int) -> None:
        """Put the cursor on a change, showing its file's preceding lines if they fit."""
        row = self.document.hunks[hunk]
        file = self.document.files[self.document.file_at(row)].row
        top, y = self.scroll_offset.y, self._y_of(row)
        if not top <= y < self._y_of(self.document.end_of(hunk)) <= top + self.size.height:
            self.scroll_to(y=self._y_of(file) if row == file + 1 else max(0, y - 1), animate=False)
        self._cursor(hunk)

    def _first_line(self, hunk: int) -> int:
        """The line where a change begins, behind its heading."""
        row, end = self.document.hunks[hunk], self.document.end_of(hunk)
        first = next((at for at in range(row, end) if self.document.rows[at].changed), min(row + 1, end - 1))
        return self._y_of(first)

    def _follow(self) -> None:
        """Keep the cursor on a visible line."""
        if self.hunk < 0:
            return
        top, bottom = self.scroll_offset.y, self.scroll_offset.y + max(1, self.size.height)
        self._anchor = None
        self._y = max(top, min(self._y, bottom - 1, self._count - 1))
        self._cursor(self.document.hunk_at(self._row_at(self._y)), stay=True)

    def _cursor(self, hunk: int, *, stay: bool = False) -> None:
        """`stay`: the line under the cursor remains; else it is the change's first."""
        self.hunk = hunk
        if not stay and hunk >= 0:
            self._y, self._anchor = self._first_line(hunk), None
        self.refresh()
        self.post_message(self.Moved())

    def on_click(self, event: events.Click) -> None:
        """Put the cursor on the line."""
        y = event.y + self.scroll_offset.y
        if event.chain == 1 and y < self._count:
            self._y, self._anchor = y, None
            self._cursor(self.document.hunk_at(self._row_at(y)), stay=True)

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
        for row in range(self._count):
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

"""Draws a changes document line by line, in two columns where there is room: only visible lines cost anything.

Owns scrolling, the line and the change under the cursor, the lines that are marked for a comment, and the selection.
Rows do not wrap: long ones scroll sideways. Comments do, below the rows that they are about. Used by the diff tab.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.binding import BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from gshtui.text.sanitise import literal
from gshtui.ui.changes.diff_document import DiffDocument
from gshtui.ui.changes.diff_layout import DiffLayout, ShownComment
from gshtui.ui.kit.drawing.diff_lines import SIDE_BY_SIDE_WHOLE, DiffPainter, half_of, has_two_columns
from gshtui.ui.kit.drawing.highlighter import Highlighter
from gshtui.ui.kit.drawing.highlights import overlay_styles, selected_span
from gshtui.ui.kit.drawing.language_loader import LanguageLoader
from gshtui.ui.kit.drawing.page import Page, ThemePalette, wants_columns
from gshtui.ui.kit.drawing.styled_lines import StyledLine, wrapped
from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.widgets.fitted_text import fit_left

GUTTER = 2
"""Cells at the left reserved for the cursor."""
WIDEST = 1_000
"""How many cells of a line can be scrolled to."""
_SIDE = 8
_COMMENT = "┃ "
"""What stands before each line of a comment."""


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
        self._comments: tuple[tuple[Sequence[int], str], ...] = ()
        """Of each comment, the rows of the document that it is about, and its words."""
        self.commented: frozenset[int] = frozenset()
        """Rows of the document with a comment."""
        self._theme = ThemePalette(self)
        self._page = Page(80, self._theme.palette, Highlighter())
        self._languages = LanguageLoader(self, self._page.code, self._renew)
        self._lines: dict[int, StyledLine] = {}
        self._wanted: bool | None = None
        """Whether two columns are wanted in this tab; `None`: the settings say."""
        self._layout = DiffLayout()
        self._arranged_for = 0
        """The cells that comments are wrapped for."""
        self._painter = DiffPainter((), self._page, self._path_at)

    @property
    def allow_select(self) -> bool:
        return True

    @property
    def file(self) -> int:
        """Index of the file under the cursor; -1: none."""
        row = self.document.hunks[self.hunk] if self.hunk >= 0 else self._layout.row_at(self.scroll_offset.y)
        return self.document.file_at(row)

    @property
    def split(self) -> bool:
        """Whether what was and what is are side by side."""
        return self._layout.split

    @property
    def marked(self) -> tuple[int, int]:
        """First and last row of the document that are under the cursor or marked; (0, -1): none."""
        first, last = self._marked
        rows = self._layout.rows_between(first, last) if last < self._layout.count else []
        return (rows[0], rows[-1]) if rows else (0, -1)

    @property
    def comment_here(self) -> int | None:
        """The number of the comment that the cursor is on, or whose rows are marked; `None`: none."""
        if (here := self._layout.comment_at(self._y)) is not None:
            return here
        first, last = self.marked
        numbered = enumerate(rows for rows, _ in self._comments)
        return next((at for at, rows in numbered if any(first <= row <= last for row in rows)), None)

    @property
    def _marked(self) -> tuple[int, int]:
        other = self._y if self._anchor is None else self._anchor
        return min(self._y, other), max(self._y, other)

    def show_comments(self, comments: Sequence[tuple[Sequence[int], str]]) -> None:
        """Show comments below the rows of the document that they are about. `comments`: of each, its rows and its
        words; no rows: it is shown nowhere.
        """
        if tuple(comments) == self._comments:
            return
        new = len(comments) > len(self._comments)
        row, top = self._layout.row_at(self._y), self._layout.row_at(self.scroll_offset.y)
        self._comments = tuple(comments)
        self.commented = frozenset(at for rows, _ in comments for at in rows)
        self._arrange(self.split)
        self._y, self._anchor = self._layout.y_of(row), None
        self.virtual_size = Size(self.virtual_size.width, self._layout.count)
        self.scroll_to(y=self._layout.y_of(top), animate=False)
        last = self._y
        while new and self._layout.comment_at(last + 1) is not None:
            last += 1
        self._reveal(last)
        self.refresh()

    def _arrange(self, columns: bool) -> None:
        """Lay the lines out again: other rows, other comments, another width."""
        room = max(8, self._room - self._lead - len(_COMMENT))
        colours = self._page.palette
        shown: list[ShownComment] = []
        for number, (rows, text) in enumerate(self._comments):
            lines = [
                line.behind(Segment(" " * self._lead + _COMMENT, colours.accent))
                for words in text.split("\n")
                for line in wrapped([Segment(literal(words).expandtabs(4), colours.text)], room) or [StyledLine(())]
            ]
            if rows:
                shown.append(ShownComment(number, max(rows), lines))
        self._layout = DiffLayout(self.document.rows, shown, columns=columns)
        self._arranged_for = self._room
        self._lines = {}

    @property
    def _room(self) -> int:
        """Cells of a row, without what stands before it and the scroll bar behind it."""
        return self.scrollable_content_region.width - GUTTER

    @property
    def _lead(self) -> int:
        """Cells before the text of a line: its number, and the sign."""
        return self.document.digits + 1

    def _path_at(self, row: int) -> str:
        at = self.document.file_at(row)
        return self.document.files[at].path if at >= 0 else ""

    def load(self, document: DiffDocument) -> None:
        """Show this document, at the previous one's position."""
        self._y = self._layout.row_at(self._y)
        self.document = document
        self._comments, self.commented = (), frozenset()
        self._arrange(columns=False)
        self.hunk = min(max(0, self.hunk), len(document.hunks) - 1)
        self._anchor = None
        self._measure()
        self._y = max(0, min(self._y, self._layout.count - 1))
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

    def on_mount(self) -> None:
        self.watch(self, "show_vertical_scrollbar", self._measure)

    def on_resize(self, _event: events.Resize) -> None:
        self._measure()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self.is_mounted:
            self._restyle()

    def _measure(self) -> None:
        room = self._room
        row, here = self._layout.row_at(self.scroll_offset.y), self._layout.row_at(self._y)
        longest = min(WIDEST, self.document.longest + self.document.digits + 4)
        was, wide = self.split, self._has_columns(room, longest)
        if wide != was or (self._comments and room != self._arranged_for):
            self._arrange(wide)
            self._y = self._layout.y_of(here)
        # In two columns each scrolls sideways, by as much as its lines are longer than it.
        hidden = max(0, longest - (half_of(room) if self.split else room))
        width = max(room + hidden, 8)
        if width != self._page.width or self.split != was:
            self._page = Page(width, self._page.palette, self._page.code)
            self._renew()
        self._restyle()
        self.virtual_size = Size(GUTTER + (width if hidden else room), self._layout.count)
        if self.split != was:
            self.scroll_to(y=self._layout.y_of(row), animate=False)
            self._anchor = None
            if self.hunk >= 0:
                self._y = self._first_line(self.hunk)

    def _restyle(self) -> None:
        if self._theme.renew():
            self._page = Page(self._page.width, self._theme.palette, self._page.code)
            self._arrange(self.split)
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
        if row >= self._layout.count:
            return Strip.blank(self.size.width, colours.text)
        line = self._line(row)
        segments = [Segment(self._gutter(row), colours.cursor), *line.segments]
        selection = self.text_selection
        if selection is not None:
            length = GUTTER + len(line.text)
            if (span := selected_span(selection, row, length)) is not None:
                segments = overlay_styles(segments, [(*span, colours.selection)])
        if self.split or self._layout.comment_line(row) is not None:
            return Strip(segments).adjust_cell_length(self.size.width, colours.text).apply_offsets(0, row)
        strip = Strip(segments).adjust_cell_length(self._page.width + GUTTER, colours.text)
        start = self.scroll_offset.x
        return strip.crop(start, start + self.size.width).apply_offsets(start, row)

    def watch_scroll_x(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_x(old_value, new_value)
        if self.split:
            self._lines = {}

    def _line(self, row: int) -> StyledLine:
        line = self._lines.get(row)
        if line is None:
            if len(self._lines) > 5_000:
                self._lines = {}
            line = self._lines[row] = self._drawn(row)
        return line

    def _drawn(self, row: int) -> StyledLine:
        if (comment := self._layout.comment_line(row)) is not None:
            return comment
        pair, room = self._layout.sides(row), self._room
        if pair.left is not None and (shown := self.document.rows[pair.left]).kind == "file":
            # The end of a long path: its name, and how much has changed.
            return StyledLine([Segment(fit_left(literal(shown.text), room)[0], self._page.palette.strong)])
        if not self.split and pair.left is not None:
            return self._painter.lines(pair.left, self._page.width)[0]
        if pair.left == pair.right and pair.left is not None and self.document.rows[pair.left].kind != "same":
            return self._painter.lines(pair.left, self._page.width)[0]
        half, colours, start = half_of(room), self._page.palette, self.scroll_offset.x
        sides: list[Strip] = []
        for side, at in enumerate(pair):
            found = [] if at is None else self._painter.lines(at, self._page.width, before=not side)
            line = found[0] if found else StyledLine(())
            fill = colours.code if at is None else colours.text  # the other side alone has this line
            sides.append(Strip(line.segments).adjust_cell_length(self._page.width, fill))
        left, right = (side.crop(start, start + half) for side in sides)
        return StyledLine((*left, Segment(" │ ", colours.rule), *right))

    def _under_cursor(self, row: int) -> bool:
        if self.hunk < 0:
            return False
        return self.document.hunks[self.hunk] <= self._layout.row_at(row) < self.document.end_of(self.hunk)

    def _gutter(self, y: int) -> str:
        first, last = self._marked
        rows = self._layout.sides(y)
        here = first <= y <= last and self.hunk >= 0
        sign = "●" if self.commented.intersection(rows) else "›" if here else " "
        return ("█" if here and sign == "●" else "▌" if self._under_cursor(y) else " ") + sign

    # Moving

    def action_line(self, step: int, marks: bool = False) -> None:
        """Move the cursor by lines, marking them on the way or not."""
        if not self._layout.count:
            return
        self._anchor = (self._y if self._anchor is None else self._anchor) if marks else None
        self._y = max(0, min(self._layout.count - 1, self._y + step))
        self._reveal()
        self._cursor(self.document.hunk_at(self._layout.row_at(self._y)), stay=True)

    def _reveal(self, last: int = -1) -> None:
        """Scroll to the line under the cursor, and to those below it up to `last`, as far as they fit."""
        top, height = self.scroll_offset.y, max(1, self.size.height)
        last = min(max(self._y, last), self._y + height - 1)
        if self._y < top:
            self.scroll_to(y=self._y, animate=False)
        elif last >= top + height:
            self.scroll_to(y=last - height + 1, animate=False)

    def action_scroll(self, step: int) -> None:
        before = self.scroll_offset.y
        self.scroll_to(y=before + step, animate=False)
        self._follow()

    def action_page(self, step: int) -> None:
        size = step * max(1, self.size.height - 1)
        self._y = max(0, min(self._layout.count - 1, self._y + size))
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
        self.scroll_to(y=self._layout.y_of(row), animate=False)
        first = next((at for at, hunk in enumerate(self.document.hunks) if hunk > row), -1)
        inside = first >= 0 and self.document.file_at(self.document.hunks[first]) == number
        if inside:
            self._cursor(first)

    def go_to(self, hunk: int) -> None:
        """Put the cursor on a change, showing its file's preceding lines if they fit."""
        row = self.document.hunks[hunk]
        file = self.document.files[self.document.file_at(row)].row
        top, y = self.scroll_offset.y, self._layout.y_of(row)
        if not top <= y < self._layout.y_of(self.document.end_of(hunk)) <= top + self.size.height:
            self.scroll_to(y=self._layout.y_of(file) if row == file + 1 else max(0, y - 1), animate=False)
        self._cursor(hunk)

    def _first_line(self, hunk: int) -> int:
        """The line where a change begins, behind its heading."""
        row, end = self.document.hunks[hunk], self.document.end_of(hunk)
        first = next((at for at in range(row, end) if self.document.rows[at].changed), min(row + 1, end - 1))
        return self._layout.y_of(first)

    def _follow(self) -> None:
        """Keep the cursor on a visible line."""
        if self.hunk < 0:
            return
        top, bottom = self.scroll_offset.y, self.scroll_offset.y + max(1, self.size.height)
        self._anchor = None
        self._y = max(top, min(self._y, bottom - 1, self._layout.count - 1))
        self._cursor(self.document.hunk_at(self._layout.row_at(self._y)), stay=True)

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
        if event.chain == 1 and y < self._layout.count:
            self._y, self._anchor = y, None
            self._cursor(self.document.hunk_at(self._layout.row_at(y)), stay=True)

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
        for row in range(self._layout.count):
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

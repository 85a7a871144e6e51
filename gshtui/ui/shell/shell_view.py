"""The inside of the shell log pane: column names, the rows on the screen, a line about the current row, the filter.

Owns scrolling and drawing, a row a line, however many there are; refuses to fetch any and posts where it looks instead.
Made after the first frame.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.strip import Strip
from textual.widgets import Input, Static

from gshtui.bus.shell_data import ShellRecord
from gshtui.bus.shell_rows import Row
from gshtui.ui.kit.fitted_text import fit
from gshtui.ui.kit.highlighter import Highlighter
from gshtui.ui.kit.page import make_palette
from gshtui.ui.kit.search_line import SearchLine
from gshtui.ui.kit.textual.kept_lines import KeptLines
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.shell import shell_format as words
from gshtui.ui.shell.shell_lines import LANGUAGE, RowColours, RowContext, heading, row_segments
from gshtui.ui.shell.shell_state import LogState

_WHEEL = 3


class ShellLogView(KeptLines):
    """See the module. Keys are the pane's, which has the focus."""

    can_focus = False

    class Looked(Message):
        """Other rows are on the screen now, or another one is under the cursor."""

    class Picked(Message):
        """A row was clicked; `times` in a row, with this button."""

        def __init__(self, times: int, button: int) -> None:
            super().__init__()
            self.times = times
            self.button = button

    def __init__(self, project: str, clock: Callable[[], float] = time.time) -> None:
        super().__init__(id="shell-rows")
        self.state = LogState()
        self.active = False
        """Whether the cursor is drawn: the pane has the focus."""
        self._project = project
        self._clock = clock
        self._code = Highlighter()
        self.look: RowColours | None = None
        self._styled_for: tuple[object, ...] = ()
        self._cursor = -1
        self._top = 0
        self._follows = True
        self._seen: list[tuple[Row | None, bool]] = []

    # What is where

    @property
    def top(self) -> int:
        return self._top

    @property
    def cursor(self) -> int:
        """Number of the row under the cursor; -1: there is none."""
        last = self.state.total - 1
        return last if self._follows or self._cursor < 0 else min(self._cursor, last)

    @property
    def chosen(self) -> Row | None:
        """The row under the cursor; `None` where there is none, or it is not here yet."""
        return self.state.row(self.cursor)

    @property
    def now(self) -> float:
        """The time, seconds since the epoch."""
        return self._clock()

    @property
    def follows(self) -> bool:
        """Whether the newest row is kept in sight."""
        return self._follows

    @property
    def bottom(self) -> int:
        """Number of the lowest row on the screen."""
        return self._top + max(1, self.size.height) - 1

    def show(self, state: LogState) -> None:
        """Show this state; the same rows stay in sight where they are still known."""
        here = None if self._follows else self.chosen
        self.state = state
        if here is not None and state.row(self._cursor) is not here:
            self._find(here)
        self._settle()

    def _find(self, row: Row) -> None:
        """Put the cursor on the row that it was on, wherever that stands now."""
        at = self.state.number_of(row)
        if at is not None:
            self._top += at - self._cursor
            self._cursor = at

    # Moving

    def move(self, rows: int) -> None:
        """Move the cursor by so many rows."""
        self._go(self.cursor + rows)

    def page(self, pages: int) -> None:
        """Move the cursor by screens."""
        self._go(self.cursor + pages * max(1, self.size.height - 1))

    def edge(self, last: bool) -> None:
        """Move the cursor to the newest row, or the oldest."""
        self._go(self.state.total - 1 if last else 0)

    def _go(self, number: int) -> None:
        last = self.state.total - 1
        self._cursor = max(0, min(last, number))
        self._follows = self._cursor == last
        if self._cursor < self._top:
            self._top = self._cursor
        elif self._cursor > self.bottom:
            self._top = self._cursor - self.size.height + 1
        self._settle()

    def scroll_rows(self, rows: int) -> None:
        most = max(0, self.state.total - self.size.height)
        if self._follows and rows < 0 and most:
            self._cursor = self.cursor
            self._follows = False
        self._top = max(0, min(most, self._top + rows))
        if self._top == most and self._cursor >= self.state.total - 1:
            self._follows = True
        self._settle()

    def _settle(self) -> None:
        """Fit the position to what there is, and draw what is different."""
        height, total = self.size.height, self.state.total
        if not height:
            return
        most = max(0, total - height)
        self._top = most if self._follows else max(0, min(most, self._top))
        self.set_row_count(total)
        now = [self._what(y) for y in range(height)]
        changed = {y for y in range(height) if y >= len(self._seen) or not _alike(self._seen[y], now[y])}
        self._seen = now
        self.refresh_rows(changed)
        self.post_message(self.Looked())

    def _what(self, y: int) -> tuple[Row | None, bool]:
        at = self._top + y
        return self.state.row(at), at == self.cursor

    # Drawing

    def on_mount(self) -> None:
        self.run_worker(self._load, thread=True, exit_on_error=False, group="lexer")

    def _load(self) -> None:
        self._code.load(LANGUAGE)
        app_of(self).call_from_thread(self.restyle, anew=True)

    def on_resize(self) -> None:
        self._seen = []
        self._settle()
        self.refresh()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        if self.is_mounted:
            self.restyle()

    def restyle(self, *, anew: bool = False) -> None:
        """Take the colours of the theme, if they are other ones."""
        app = app_of(self)
        look = (app.theme, self.background_colors[1], app.native_ansi_color)
        if anew or look != self._styled_for:
            self._styled_for = look
            self.look = RowColours(make_palette(app.theme_variables, look[1], ansi=app.native_ansi_color), self._code)
            self.refresh()

    def activate(self, active: bool) -> None:
        """Draw the cursor, or not."""
        if active != self.active:
            self.active = active
            self.refresh_rows({self.cursor - self._top})

    def tick(self) -> None:
        """Draw the commands that run again: their time goes on."""
        rows = {y for y, (row, _) in enumerate(self._seen) if isinstance(row, ShellRecord) and row.state == "running"}
        self.refresh_rows(rows)

    def row_strip(self, y: int) -> Strip:
        if self.look is None:
            self.restyle()
        look = self.look
        assert look is not None
        at, width, text = self._top + y, self.scrollable_size.width, look.palette.text
        if at >= self.state.total:
            return Strip.blank(width, text)
        found = tuple(self.state.filter.words)
        segments = row_segments(self.state.row(at), look, RowContext(width, self._project, self.now, found))
        strip = Strip(segments).adjust_cell_length(width, text)
        if self.active and at == self.cursor:
            strip = Strip([Segment(one, look.under_cursor(style or text)) for one, style, _ in strip], width)
        return strip

    def selection_row(self, y: int) -> int:
        return self._top + y

    # Mouse

    def on_click(self, event: events.Click) -> None:
        at = self._top + event.y
        event.stop()
        if at < self.state.total:
            self._go(at)
            self.post_message(self.Picked(event.chain, event.button))

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._wheel(event, -_WHEEL)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._wheel(event, _WHEEL)

    def _wheel(self, event: events.MouseEvent, rows: int) -> None:
        event.stop()
        event.prevent_default()
        self.scroll_rows(rows)


def _alike(one: tuple[Row | None, bool], other: tuple[Row | None, bool]) -> bool:
    return one[0] is other[0] and one[1] == other[1]


_HIGH = 8
"""Rows of the pane from which the line about the row under the cursor has its place."""


class FilterLine(SearchLine):
    """The words that rows must have."""

    BINDINGS: ClassVar[list[BindingType]] = []

    class Taken(Message):
        """The words are written; the keys belong to the rows again."""

    @property
    def words(self) -> str:
        """What stands there."""
        return self.query_one(Input).value

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        event.prevent_default()  # to the next place found, says the line for searching
        self.post_message(self.Taken())


class ShellLogBody(Vertical):
    """See the module."""

    DEFAULT_CSS = """
    ShellLogBody { height: 1fr; }
    ShellLogBody > Static { height: 1; color: $text-muted; }
    ShellLogBody > ShellLogView { height: 1fr; }
    """

    def __init__(self, project: str, clock: Callable[[], float]) -> None:
        super().__init__(id="shell-log")
        self.view = ShellLogView(project, clock)
        self.line = FilterLine("words · escape shows all again")
        self._head = Static("", markup=False, id="shell-head")
        self._about = Static("", markup=False, id="shell-about")
        self._project = project
        self._names = ""
        self.line.display = self._head.display = self._about.display = False

    def compose(self) -> ComposeResult:
        yield self._head
        yield self.view
        yield self._about
        yield self.line

    def on_resize(self) -> None:
        self.describe()

    def _place(self) -> None:
        """Give the columns' names and the line about a row their places, by the room that there is now."""
        names = heading(self.size.width - self.view.styles.scrollbar_size_vertical)
        if names != self._names:
            self._names = names
            self._head.update(Content(names))
        self._head.display = bool(names)
        self._about.display = not names and self.size.height >= _HIGH

    def show(self, state: LogState) -> None:
        """Show this state."""
        self.view.show(state)
        self.describe()

    def activate(self, active: bool) -> None:
        """Draw the cursor, or not."""
        self.view.activate(active)

    def describe(self) -> None:
        """Say what is known of the row under the cursor, and how many rows the filter lets through."""
        self._place()
        state = self.view.state
        if self.line.display:
            self.line.show_position(self.view.cursor + 1, state.total, not state.stale)
        if not self._about.display:
            return
        self._about.update(Content(fit(self._words(state), max(8, self.size.width))))

    def _words(self, state: LogState) -> str:
        row = self.view.chosen
        if row is None:
            nothing = "Nothing here passes the filter. escape shows all again."
            return nothing if state.filter and not state.total and not state.stale else ""
        parts = [words.clock(row.at, self.view.now), words.folder(row.cwd, self._project) if row.cwd else ""]
        if isinstance(row, ShellRecord):
            parts += [words.terminal(row), row.branch, words.ended(row)]
        return " · ".join(filter(None, parts))

    def open_line(self) -> None:
        """Type into the filter."""
        self.line.open()

    def close_line(self) -> None:
        """Take the filter's words back, without a word."""
        self.line.display = False
        line = self.line.query_one(Input)
        with line.prevent(Input.Changed):
            line.clear()

"""The content of the shell log pane: column names, the visible rows, a line about the current row, the filter.

Owns scrolling and drawing, one line per row, however many there are; posts which rows it needs instead of fetching
them. Created after the first frame.
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
from gshtui.ui.kit.drawing.highlighter import Highlighter
from gshtui.ui.kit.drawing.page import ThemePalette
from gshtui.ui.kit.textual.kept_lines import KeptLines
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.kit.widgets.fitted_text import fit
from gshtui.ui.kit.widgets.search_line import SearchLine
from gshtui.ui.shell import shell_format as words
from gshtui.ui.shell.shell_lines import LANGUAGE, RowColours, RowContext, heading, row_segments
from gshtui.ui.shell.shell_state import LogState


class LogPosition:
    """A cursor and a window of `height` rows on `total` rows. Both may change at any time; `settle` fits it to them."""

    def __init__(self) -> None:
        self.total = 0
        self.height = 0
        self.top = 0
        """The number of the first row on the screen."""
        self.follows = True
        """Whether the newest row is kept visible."""
        self._cursor = -1

    @property
    def cursor(self) -> int:
        """The row under the cursor; -1: there is none."""
        last = self.total - 1
        return last if self.follows or self._cursor < 0 else min(self._cursor, last)

    @property
    def held(self) -> int:
        """The row that the cursor was put on last, also where there are fewer rows now."""
        return self._cursor

    @property
    def bottom(self) -> int:
        """The lowest row on the screen."""
        return self.top + max(1, self.height) - 1

    def go(self, row: int) -> None:
        """Put the cursor on a row, and have it in sight."""
        last = self.total - 1
        self._cursor = max(0, min(last, row))
        self.follows = self._cursor == last
        if self._cursor < self.top:
            self.top = self._cursor
        elif self._cursor > self.bottom:
            self.top = self._cursor - self.height + 1

    def move(self, rows: int) -> None:
        """Move the cursor by so many rows."""
        self.go(self.cursor + rows)

    def page(self, pages: int) -> None:
        """Move the cursor by screens."""
        self.move(pages * max(1, self.height - 1))

    def scroll(self, rows: int) -> None:
        """Show other rows; the cursor stays where it is."""
        most = self._lowest_top
        if self.follows and rows < 0 and most:
            self._cursor = self.cursor
            self.follows = False
        self.top = max(0, min(most, self.top + rows))
        if self.top == most and self._cursor >= self.total - 1:
            self.follows = True

    def moved_to(self, row: int) -> None:
        """What was under the cursor has this number now; it stays where it is on the screen."""
        self.top += row - self._cursor
        self._cursor = row

    def settle(self) -> None:
        """Fit the screen to what there is."""
        most = self._lowest_top
        self.top = most if self.follows else max(0, min(most, self.top))

    @property
    def _lowest_top(self) -> int:
        return max(0, self.total - self.height)


_WHEEL = 3


class ShellLogView(KeptLines):
    """See the module. Keys are the pane's, which has the focus."""

    can_focus = False

    class Looked(Message):
        """The visible rows or the cursor changed."""

    class Picked(Message):
        """The person clicked a row `times` times in succession, with this button."""

        def __init__(self, times: int, button: int) -> None:
            super().__init__()
            self.times = times
            self.button = button

    def __init__(self, project: str, clock: Callable[[], float] = time.time) -> None:
        super().__init__(id="shell-rows")
        self.state = LogState()
        self.active = False
        """Whether to draw the cursor: the pane has the focus."""
        self._project = project
        self._clock = clock
        self._code = Highlighter()
        self.look: RowColours | None = None
        self._theme = ThemePalette(self)
        self._position = LogPosition()
        self._seen: list[tuple[Row | None, bool]] = []

    # What is where

    @property
    def position(self) -> LogPosition:
        """Which rows are on the screen, of the size that it has now, and which is under the cursor."""
        self._position.height = self.size.height
        return self._position

    @property
    def top(self) -> int:
        return self._position.top

    @property
    def chosen(self) -> Row | None:
        """The row under the cursor; `None`: none, or not loaded yet."""
        return self.state.row(self._position.cursor)

    @property
    def now(self) -> float:
        """The time, seconds since the epoch."""
        return self._clock()

    def show(self, state: LogState) -> None:
        """Show this state; the same rows stay visible if they are still known."""
        position = self._position
        here = None if position.follows else self.chosen
        self.state, position.total = state, state.total
        if here is not None and state.row(position.held) is not here and (at := state.number_of(here)) is not None:
            position.moved_to(at)
        self._settle()

    # Moving

    def move(self, rows: int) -> None:
        """Move the cursor by this many rows."""
        self.position.move(rows)
        self._settle()

    def page(self, pages: int) -> None:
        """Move the cursor by screens."""
        self.position.page(pages)
        self._settle()

    def edge(self, last: bool) -> None:
        """Move the cursor to the newest row, or the oldest."""
        self.position.go(self.state.total - 1 if last else 0)
        self._settle()

    def scroll_rows(self, rows: int) -> None:
        self.position.scroll(rows)
        self._settle()

    def _settle(self) -> None:
        """Adjust the position to the rows there are, and draw the changes."""
        height = self.size.height
        if not height:
            return
        self.position.settle()
        self.set_row_count(self.state.total)
        now = [self._what(y) for y in range(height)]
        changed = {y for y in range(height) if y >= len(self._seen) or not _alike(self._seen[y], now[y])}
        self._seen = now
        self.refresh_rows(changed)
        self.post_message(self.Looked())

    def _what(self, y: int) -> tuple[Row | None, bool]:
        at = self.top + y
        return self.state.row(at), at == self._position.cursor

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
        """Adopt the theme's colours, if they changed."""
        if self._theme.renew() or anew:
            self.look = RowColours(self._theme.palette, self._code)
            self.refresh()

    def activate(self, active: bool) -> None:
        """Draw the cursor, or not."""
        if active != self.active:
            self.active = active
            self.refresh_rows({self._position.cursor - self.top})

    def tick(self) -> None:
        """Redraw running commands: their time advances."""
        rows = {y for y, (row, _) in enumerate(self._seen) if isinstance(row, ShellRecord) and row.state == "running"}
        self.refresh_rows(rows)

    def row_strip(self, y: int) -> Strip:
        if self.look is None:
            self.restyle()
        look = self.look
        assert look is not None
        at, width, text = self.top + y, self.scrollable_size.width, look.palette.text
        if at >= self.state.total:
            return Strip.blank(width, text)
        found = tuple(self.state.filter.words)
        segments = row_segments(self.state.row(at), look, RowContext(width, self._project, self.now, found))
        strip = Strip(segments).adjust_cell_length(width, text)
        if self.active and at == self._position.cursor:
            strip = Strip([Segment(one, look.under_cursor(style or text)) for one, style, _ in strip], width)
        return strip

    def selection_row(self, y: int) -> int:
        return self.top + y

    # Mouse

    def on_click(self, event: events.Click) -> None:
        at = self.top + event.y
        event.stop()
        if at < self.state.total:
            self.position.go(at)
            self._settle()
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
"""From this height in rows, the line about the current row is shown."""


class FilterLine(SearchLine):
    """The words that rows must have."""

    BINDINGS: ClassVar[list[BindingType]] = []

    @property
    def words(self) -> str:
        """The text in the line."""
        return self.query_one(Input).value


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
        self.line = FilterLine("filter by words · escape to clear")
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
        """Place the column names and the line about a row, as far as there is room."""
        names = heading(self.size.width - self.view.styles.scrollbar_size_vertical)
        if names != self._names:
            self._names = names
            self._head.update(Content(names), layout=False)
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
        """Describe the row under the cursor, and show how many rows match the filter."""
        self._place()
        state = self.view.state
        if self.line.display:
            self.line.show_position(self.view.position.cursor + 1, state.total, not state.stale)
        if not self._about.display:
            return
        self._about.update(Content(fit(self._words(state), max(8, self.size.width))), layout=False)

    def _words(self, state: LogState) -> str:
        row = self.view.chosen
        if row is None:
            nothing = "Nothing matches the filter · escape to clear it"
            return nothing if state.filter and not state.total and not state.stale else ""
        parts = [words.clock(row.at, self.view.now), words.folder(row.cwd, self._project) if row.cwd else ""]
        if isinstance(row, ShellRecord):
            parts += [words.terminal(row), row.branch, words.ended(row)]
        return " · ".join(filter(None, parts))

    def open_line(self) -> None:
        """Type into the filter."""
        self.line.open()

    def close_line(self) -> None:
        """Clear the filter's words, silently."""
        self.line.display = False
        line = self.line.query_one(Input)
        with line.prevent(Input.Changed):
            line.clear()

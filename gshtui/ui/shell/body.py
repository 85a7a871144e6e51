"""The inside of the shell log pane: names of the columns, rows, a line about the row under the cursor, the filter.

Owns where these stand; refuses to decide anything. Made by the pane once there is something to show.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from gshtui.bus.shell import ShellRecord
from gshtui.ui.kit.cells import fit
from gshtui.ui.kit.search_line import SearchLine
from gshtui.ui.shell import shell_words as words
from gshtui.ui.shell.rows import heading
from gshtui.ui.shell.shell_state import LogState
from gshtui.ui.shell.view import ShellLogView

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
            self.line.tell(self.view.cursor + 1, state.total, not state.stale)
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

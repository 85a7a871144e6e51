"""A terminal tab: one agent's live terminal, with whose it is above and what can be done below.

Owns the tab of one agent, also when the agent is given another terminal; refuses to start or end agents. Made by the
terminal tabs, fed by the bridge.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from gshtui.bus.event import Event
from gshtui.bus.fleet import AgentRow
from gshtui.tmux.errors import TmuxError
from gshtui.ui.kit.bindings import bind
from gshtui.ui.kit.keybar import key_name
from gshtui.ui.kit.search_line import SearchLine
from gshtui.ui.kit.surroundings import app_of
from gshtui.ui.terminal import terminal_lines
from gshtui.ui.terminal.terminal_lines import Shown
from gshtui.ui.terminal.terminal_state import CONSUMED, begin, reduce
from gshtui.ui.terminal.terminals import Terminal, TerminalError, Terminals
from gshtui.ui.terminal.view import TerminalView

_EVERY = 1.0
"""Seconds between looks at ages and costs."""
_LOW = 10
"""Rows of a tab that has no room for a line below the terminal."""


class TerminalPane(Vertical):
    """See the module."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = CONSUMED
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("terminal.attach", "attach"),
        bind("terminal.search", "search"),
        bind("terminal.command", "command"),
        bind("terminal.close", "close"),
    ]

    class Closed(Message):
        """The tab shall go; the agent goes on."""

        def __init__(self, agent: str) -> None:
            super().__init__()
            self.agent = agent

    def __init__(self, terminals: Terminals, row: AgentRow, clock: Callable[[], float]) -> None:
        super().__init__(classes="terminal-pane")
        self.state = begin(row)
        self._terminals = terminals
        self._terminal: Terminal = terminals.of(row)
        self._command = terminals.command(row)
        self._clock = clock
        self.view = TerminalView(self._terminal)
        self._title = Static("", markup=False, classes="terminal-title")
        self._status = Static("", markup=False, classes="terminal-status")
        self._lines: tuple[Content, ...] = ()

    def compose(self) -> ComposeResult:
        yield self._title
        yield self.view
        yield SearchLine("search the terminal")
        yield self._status

    def on_mount(self) -> None:
        self.set_interval(_EVERY, self.draw)
        self.draw()

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        before = self.state
        for event in events:
            self.state = reduce(self.state, event)
        self._follow(before.row)
        if self.state is not before:
            self.draw()

    def show_row(self, row: AgentRow) -> None:
        """Show the agent as this row says it is."""
        before, self.state = self.state.row, begin(row)
        self._follow(before)
        self.draw()

    def _follow(self, before: AgentRow) -> None:
        """Watch the agent's terminal, if that is another one than it was."""
        row = self.state.row
        if row.pane and (row.socket, row.pane) != (before.socket, before.pane):
            try:
                self._terminal = self._terminals.of(row)
            except TerminalError as error:
                self.view.failed = str(error)
            else:
                self._command = self._terminals.command(row)
                self.view.connect(self._terminal)

    def draw(self) -> None:
        """Bring both lines up to date."""
        if not self.is_attached or not self.view.size:
            return
        view, width = self.view, self.size.width
        title = terminal_lines.title(self.state, view.info, self._command, width, self._clock(), focused=view.has_focus)
        shown = Shown(
            way=self._terminal.way(),
            typing=view.typing,
            leave=self._leave_key() if view.typing else "",
            up=view.up,
            held=view.past is not None,
            behind=view.behind,
            gone=view.frame is not None and view.frame.gone,
            failed=view.failed,
            size=(view.size.width, view.size.height),
            command="" if self._command in title.plain else self._command,
        )
        lines = (title, terminal_lines.status(self.state, view.info, shown, width))
        if lines != self._lines:
            self._lines = lines
            self._title.update(lines[0], layout=False)
            self._status.update(lines[1], layout=False)

    def on_resize(self) -> None:
        self._status.display = self.size.height > _LOW
        self.draw()

    def on_reading_changed(self, message: TerminalView.Changed) -> None:
        message.stop()
        self.draw()

    def _leave_key(self) -> str:
        for active in self.screen.active_bindings.values():
            if active.binding.id == "terminal.leave":
                return key_name(app_of(self).get_key_display(active.binding))
        return ""

    # What can be done

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in ("attach", "search", "command", "close"):
            return self.view.has_focus and not self.view.typing
        return super().check_action(action, parameters)

    def action_attach(self) -> None:
        self.run_worker(self.visit(), exit_on_error=False, group="visit", exclusive=True)

    async def visit(self) -> None:
        """Give the agent the whole screen until the person comes back."""
        self.view.seen_again(False)
        try:
            said = await self._terminal.visit(app_of(self))
        except TmuxError as error:
            said = str(error)
        finally:
            self.view.seen_again(True)
        if said:
            self.notify(said, timeout=8, markup=False)

    def action_command(self) -> None:
        app_of(self).copy_to_clipboard(self._command)
        self.notify(f"Copied: {self._command}", timeout=4, markup=False)

    def action_close(self) -> None:
        self.post_message(self.Closed(self.state.row.id))

    def action_search(self) -> None:
        self.view.hold()  # also so that the program is not told of the line's place
        self.query_one(SearchLine).open()

    def on_search_line_changed(self, message: SearchLine.Changed) -> None:
        message.stop()
        self.view.find(message.words)

    def on_search_line_stepped(self, message: SearchLine.Stepped) -> None:
        message.stop()
        self.view.find_more(message.step)

    def on_search_line_closed(self, message: SearchLine.Closed) -> None:
        message.stop()
        self.view.let_go()
        self.view.focus()

    def on_reading_searched(self, message: TerminalView.Searched) -> None:
        message.stop()
        self.query_one(SearchLine).tell(message.at, message.hits, message.done)

"""A terminal tab: an agent's live terminal, with a line about the agent above and a line about keys below.

Owns the tab of one agent, even if the agent gets another terminal. Titles and names are untrusted text and never
markup. Neither starts nor ends agents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

import msgspec
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Static

from gshtui.bus.agent_data import AgentRow
from gshtui.bus.event import Event
from gshtui.text.sanitise import one_line
from gshtui.tmux.tmux_errors import TmuxError
from gshtui.ui.kit.keys.bound_keys import key_of, printed_key
from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.kit.widget_messages import AgentSeen, OpenConversation, OpenTerminal
from gshtui.ui.kit.widgets.agent_line import AGENT_EVENTS, TabAgent, after_event, both_ends, tab_agent, title_line
from gshtui.ui.kit.widgets.search_line import SearchLine
from gshtui.ui.kit.widgets.tabs import TabPane
from gshtui.ui.terminal.terminal_connection import TerminalChanged
from gshtui.ui.terminal.terminal_reader import TerminalSearched
from gshtui.ui.terminal.terminal_view import TerminalView
from gshtui.ui.terminal.terminals import Terminal, TerminalError, TerminalRegistry

if TYPE_CHECKING:
    from gshtui.tmux.panes import PaneInfo

_MUTED = "$foreground-muted"


class TerminalDisplay(msgspec.Struct, frozen=True):
    """How a terminal is shown now."""

    way: str = ""
    typing: bool = False
    leave: str = ""
    """The key that ends typing, as displayed."""
    reach: str = ""
    """The key that goes to the terminal, as displayed, while the focus is elsewhere."""
    up: int = 0
    """Rows between the visible part and the end."""
    held: bool = False
    behind: bool = False
    gone: bool = False
    failed: str = ""
    size: tuple[int, int] = (0, 0)
    """The tab's size."""
    command: str = ""
    """The command that attaches to it, if the line above has no room for it."""


def status_line(state: TabAgent, info: PaneInfo | None, shown: TerminalDisplay, width: int) -> Content:
    """What keys do now, or what is wrong; at the right, the kind of connection and its cost."""
    left = Content(" ") + _matter(state, info, shown)
    ended = shown.gone or (info is not None and info.dead)
    facts = [*([shown.command] if shown.command else []), *_facts(info, shown), *([] if ended else [shown.way])]
    # What there is no room for goes, the way last of all.
    while len(facts) > 1 and left.cell_length + len(" · ".join(facts)) + 2 > width:
        del facts[0]
    return both_ends(left, Content.styled(" · ".join(facts), _MUTED), width)


def _matter(state: TabAgent, info: PaneInfo | None, shown: TerminalDisplay) -> Content:
    name = one_line(state.row.name, 40)
    if shown.failed:
        return Content.styled(one_line(shown.failed), "$text-error")
    if shown.gone:
        return Content.styled("The terminal was closed. This was its last screen.", "$text-warning")
    if info is not None and info.dead:
        return Content.styled(f"{ended_line(info)} This is its last screen.", "$text-warning")
    if shown.typing:
        return Content.assemble((f"Typing in {name}", "bold $text-warning"), (f" · {shown.leave} to stop", _MUTED))
    if shown.held:
        more = " · new output below" if shown.behind else ""
        where = f"{shown.up:,} lines up" if shown.up else "paused"
        return Content.styled(f"↑ {where}{more} · escape to go back to the live screen", "$primary")
    if info is None:
        return Content.styled("Waiting for the first screen …", _MUTED)
    first = f"{shown.reach}, then " if shown.reach else ""
    return Content.styled(f"{first}enter to type into {name}", _MUTED)


def ended_line(info: PaneInfo) -> str:
    """How a program ended, in a sentence."""
    if info.exit_status is None:
        return "It has ended."
    if info.exit_status > 128:
        return f"Killed by signal {info.exit_status - 128}."
    return f"Exited with status {info.exit_status}."


def _facts(info: PaneInfo | None, shown: TerminalDisplay) -> list[str]:
    facts: list[str] = []
    if info is not None:
        if info.alternate:
            facts.append("full-screen program")
        if (info.width, info.height) != shown.size and not info.dead and not shown.held and info.width:
            facts.append(f"{info.width}x{info.height}{', someone is attached' if info.attached else ''}")
    return facts


_EVERY = 1.0
"""Seconds between updates of ages and costs."""
_LOW = 10
"""A tab of this many rows or fewer has no line below the terminal."""


class TerminalPane(TabPane):
    """See the module. Closing it leaves the agent running."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = AGENT_EVENTS
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("terminal.attach", "attach"),
        bind("terminal.search", "search"),
        bind("terminal.conversation", "conversation"),
        bind("terminal.command", "command"),
        bind("terminal.close", "close"),
    ]

    def __init__(self, terminals: TerminalRegistry, row: AgentRow, clock: Callable[[], float]) -> None:
        super().__init__(classes="terminal-pane")
        self.state = tab_agent(row)
        self._terminals = terminals
        self._terminal: Terminal = terminals.terminal_of(row)
        self._command = terminals.command(row)
        self._clock = clock
        self.view = self.front = TerminalView(self._terminal)
        self._title = Static("", markup=False, classes="tab-title")
        self._status = Static("", markup=False, classes="terminal-status")
        self._lines: tuple[Content, ...] = ()
        self.filled = False
        """Whether a program has filled the screen since this was last set."""

    @property
    def agent(self) -> str:
        return "" if self.state.row.id == OpenTerminal.SHARED else self.state.row.id

    def compose(self) -> ComposeResult:
        yield self._title
        yield self.view
        yield SearchLine("search the terminal")
        yield self._status

    def on_mount(self) -> None:
        self.view.connection.leave_room(self.state.status == "waiting")
        self.set_interval(_EVERY, self.draw)
        self.draw()

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        before = self.state
        for event in events:
            self.state = after_event(self.state, event)
        self._follow(before.row)
        if self.state is not before:
            self.draw()
            if self.state.row.unread and self.is_on_screen:
                self.post_message(AgentSeen(self.agent))

    def show_row(self, row: AgentRow) -> None:
        """Show the agent's row."""
        before, self.state = self.state.row, tab_agent(row)
        self._follow(before)
        self.draw()

    def _follow(self, before: AgentRow) -> None:
        """Watch the agent's terminal, if it changed."""
        row = self.state.row
        self.view.connection.leave_room(self.state.status == "waiting")
        if row.pane and (row.socket, row.pane) != (before.socket, before.pane):
            try:
                self._terminal = self._terminals.terminal_of(row)
            except TerminalError as error:
                self.view.connection.failed = str(error)
            else:
                self._command = self._terminals.command(row)
                self.view.connect(self._terminal)

    def draw(self) -> None:
        """Update both lines."""
        if not self.is_attached or not self.view.size:
            return
        view, width = self.view, self.size.width
        named = view.picture.info.title if view.picture.info is not None else ""
        title = title_line(self.state, named, self._command, width, self._clock(), focused=view.has_focus)
        shown = TerminalDisplay(
            way=self._terminal.way(),
            typing=view.typing,
            leave=self._leave_key() if view.typing else "",
            reach="" if view.has_focus else key_of(self, "panes.next"),
            up=view.picture.up,
            held=view.picture.past is not None,
            behind=view.picture.behind,
            gone=view.picture.frame is not None and view.picture.frame.gone,
            failed=view.connection.failed,
            size=(view.text_size.width, view.text_size.height),
            command="" if self._command in title.plain else self._command,
        )
        lines = (title, status_line(self.state, view.picture.info, shown, width))
        if lines != self._lines:
            self._lines = lines
            self._title.update(lines[0], layout=False)
            self._status.update(lines[1], layout=False)

    def on_resize(self) -> None:
        self._status.display = self.size.height > _LOW
        self.draw()

    def on_terminal_changed(self, message: TerminalChanged) -> None:
        message.stop()
        self.filled = self.filled or ((info := self.view.picture.info) is not None and info.alternate)
        self.draw()

    def _leave_key(self) -> str:
        for active in self.screen.active_bindings.values():
            if active.binding.id == "terminal.leave":
                return printed_key(active.binding.key)
        return ""

    # What can be done

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "conversation" and not self.has_other_view:
            return False
        if action == "attach" and self.view.picture.frame is not None and not self.view.picture.runs:
            return False  # there is nothing to type into, and nothing leads back but tmux's own key
        if action in ("attach", "search", "conversation", "command", "close"):
            return self.view.has_focus and not self.view.typing
        return super().check_action(action, parameters)

    def action_attach(self) -> None:
        self.run_worker(self.visit(), exit_on_error=False, group="visit", exclusive=True)

    def take_keys(self) -> None:
        """Have what is typed go to the program, also before its first picture has come."""
        if self.view.picture.runs or self.view.picture.frame is None:  # a tab just opened has no picture yet
            self.view.reader.let_go()
            self.view.typing = True

    async def visit(self) -> None:
        """Show the agent full screen until the person comes back."""
        self.take_keys()
        self.view.connection.show(False)
        try:
            said = await self._terminal.visit(app_of(self))
        except TmuxError as error:
            said = str(error)
        finally:
            self.view.connection.show(True)
            self.view.typing = False
        if said:
            self.notify(said, timeout=8, markup=False)

    def action_conversation(self) -> None:
        self.show_other_view()

    @property
    def has_other_view(self) -> bool:
        return self.state.row.speaks_events

    def show_other_view(self) -> bool:
        """Show the conversation of one of our own agents in place of its terminal."""
        if not self.has_other_view:
            return False
        self.post_message(OpenConversation(self.state.row))
        self.action_close()
        return True

    def action_command(self) -> None:
        app_of(self).copy_to_clipboard(self._command)
        self.notify(f"Copied: {self._command}", timeout=4, markup=False)

    def action_search(self) -> None:
        self.view.reader.hold()  # also so that the program does not get another size for the search line
        self.query_one(SearchLine).open()

    def on_search_line_changed(self, message: SearchLine.Changed) -> None:
        message.stop()
        if self.query_one(SearchLine).display:
            self.view.reader.find(message.words)

    def on_search_line_stepped(self, message: SearchLine.Stepped) -> None:
        message.stop()
        self.view.reader.find_more(message.step)

    def on_search_line_taken(self, message: SearchLine.Taken) -> None:
        message.stop()
        self.query_one(SearchLine).hide()
        self.view.focus()

    def on_search_line_closed(self, message: SearchLine.Closed) -> None:
        message.stop()
        self.view.reader.let_go()
        self.view.focus()

    def on_terminal_searched(self, message: TerminalSearched) -> None:
        message.stop()
        self.query_one(SearchLine).show_position(message.at, message.hits, message.done)

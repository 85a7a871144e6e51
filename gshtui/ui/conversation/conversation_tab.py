"""The tab of one of our own agents: its conversation, with a line about the agent above.

The same transcript as the chat, fed from the record and from the agent's own events; where its process reports to
another window, from the record alone. Whatever has a conversation and a stream of events can be such a tab.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

import msgspec
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.widgets import Static

from gshtui.bus.agent_data import AT_WORK, AgentRow
from gshtui.bus.event import Event
from gshtui.text.sanitise import one_line
from gshtui.ui.conversation.conversation_pane import ConversationPane
from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.widget_messages import AgentSeen, OpenTerminal
from gshtui.ui.kit.widgets.agent_line import AGENT_EVENTS, after_event, tab_agent, title_line
from gshtui.ui.kit.widgets.tabs import TabPane

if TYPE_CHECKING:
    from gshtui.store.tables.message_table import StoredMessage

_EVERY = 1.0
"""Seconds between updates of ages, and between two looks at the record of an agent that does not report here."""


def empty_words(name: str) -> str:
    """What the tab says before the first message."""
    return (
        f"No messages yet.\n\nType below what {one_line(name, 40)} should do, and press enter. "
        "{tabs.view} to show its terminal."
    )


class TabSources(msgspec.Struct, frozen=True):
    """Where a tab gets what it shows."""

    newer: Callable[[str, int], Awaitable[Sequence[StoredMessage]]]
    """(session, after this number) → its newer messages, in order. It may raise anything."""
    connected: Callable[[str], Awaitable[bool]]
    """Whether an agent's events arrive in this window."""
    turn: Callable[[str], Sequence[Event]]
    """An agent's turn in progress so far."""
    clock: Callable[[], float]
    """Seconds since the epoch."""


class ConversationTab(TabPane):
    """See the module. Closing it leaves the agent running.

    Args:
        conversation: shows the messages.
        attach: the command that attaches to the agent's terminal; empty: it has none.
    """

    TAKES_KEYS: ClassVar[bool] = False
    CONSUMES: ClassVar[tuple[type[Event], ...]] = AGENT_EVENTS
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("conversation.terminal", "terminal"),
        bind("conversation.close", "close"),
    ]

    def __init__(self, row: AgentRow, conversation: ConversationPane, sources: TabSources, attach: str = "") -> None:
        super().__init__(classes="conversation-tab")
        self.state = tab_agent(row)
        self.conversation = conversation
        self.front = conversation.transcript
        self._sources = sources
        self._attach_line = attach
        self._title = Static("", markup=False, classes="tab-title")
        self._line = Content()

    @property
    def agent(self) -> str:
        return self.state.row.id

    def compose(self) -> ComposeResult:
        yield self._title
        yield self.conversation

    def on_mount(self) -> None:
        self.set_interval(_EVERY, self._look)
        self.call_after_refresh(self._join)
        self.draw()

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        before = self.state
        for event in events:
            self.state = after_event(self.state, event)
        if self.state is not before:
            self._join()
            self.draw()
            if self.state.row.unread and self.is_on_screen:
                self.post_message(AgentSeen(self.agent))

    def show_row(self, row: AgentRow) -> None:
        """Show the agent's row."""
        self.state = tab_agent(row)
        self._join()
        self.draw()

    def _join(self) -> None:
        """Show the agent's conversation, if that is known and not shown yet."""
        row = self.state.row
        if row.session and row.session != self.conversation.session:
            turn = self._sources.turn(row.id)
            self.conversation.join(row.session, turn, in_turn=self.state.status in AT_WORK)

    def draw(self) -> None:
        """Update the line above."""
        if not self.is_attached or not self.size.width:
            return
        command = "" if self.state.row.ended else self._attach_line
        now = self._sources.clock()
        line = title_line(self.state, "", command, self.size.width, now, focused=self.has_focus_within)
        if line != self._line:
            self._line = line
            self._title.update(line, layout=False)

    def on_resize(self) -> None:
        self.draw()

    def on_descendant_focus(self) -> None:
        self.draw()

    def on_descendant_blur(self) -> None:
        self.draw()

    def _look(self) -> None:
        self.draw()
        pane = self.conversation
        if pane.session and pane.is_on_screen:
            self.run_worker(self._read_along(pane), exit_on_error=False, group="record", exclusive=True)

    async def _read_along(self, pane: ConversationPane) -> None:
        session = pane.session
        with contextlib.suppress(Exception):  # busy for the moment; the next look tells
            if await self._sources.connected(self.agent):
                return
            newer = await self._sources.newer(session, pane.newest)
            if newer and session == pane.session:
                pane.take_newer(newer)

    def action_terminal(self) -> None:
        self.show_other_view()

    @property
    def has_other_view(self) -> bool:
        return True

    def show_other_view(self) -> bool:
        """Show the agent's terminal."""
        self.post_message(OpenTerminal(self.agent))
        return True

"""The offer to go on with the last conversation of this folder: one line above the input, in nobody's way.

Owns the line; refuses to take the focus. Goes when it is taken, put away, or a prompt is sent. Called by the app.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from gshtui.bus.event import Event
from gshtui.bus.events.agent import TurnStarted
from gshtui.bus.events.session import SessionOpened


class Offer(Static):
    """Hidden until there is something to offer. `agent` is the one in front, whose turns settle the question."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = (SessionOpened, TurnStarted)

    class Taken(Message):
        """The conversation shall be continued."""

        def __init__(self, session: str) -> None:
            super().__init__()
            self.session = session

    class Listed(Message):
        """The others shall be shown."""

    def __init__(self, agent: str = "main") -> None:
        super().__init__(id="offer", markup=False)
        self._agent = agent
        self.display = False
        self.session = ""
        self._listing = (0, 0)

    def offer(self, session: str, title: str, detail: str) -> None:
        """Offer this conversation."""
        self.session = session
        first = Content.assemble((" alt+c ", "bold $primary"), "continues ", (f"“{title}”", "bold"))
        about = Content.styled(f" {detail} · ", "$foreground-muted")
        listing = Content.assemble(("f3 ", "bold $primary"), "lists all")
        self._listing = (about.cell_length, about.cell_length + listing.cell_length)
        second = Content.assemble(about, listing, (" · or just type for a new one", "$foreground-muted"))
        self.update(Content("\n").join([first, second]))
        self.display = True

    def withdraw(self) -> None:
        """Take the offer back."""
        self.session = ""
        self.display = False

    def consume(self, events: Sequence[Event]) -> None:
        """A prompt to the agent in front, or another conversation of it, settles the question."""
        if any(
            event.agent == self._agent and (isinstance(event, TurnStarted) or event.resumed)
            for event in events
            if isinstance(event, (SessionOpened, TurnStarted))
        ):
            self.withdraw()

    def on_click(self, event: events.Click) -> None:
        start, end = self._listing
        if event.y == 1 and start <= event.x < end:
            self.post_message(self.Listed())
        elif self.session:
            self.post_message(self.Taken(self.session))

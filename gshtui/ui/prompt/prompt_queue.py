"""The queue above the input: prompts waiting for the turn in progress to end; each can be edited or withdrawn.

A pure reducer and the pane that shows it. The pane publishes what the person wants, and changes only when the agent
confirms it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import msgspec
from msgspec.structs import replace
from rich.segment import Segment
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    PromptEdited,
    PromptEditRequested,
    PromptQueued,
    PromptSubmitted,
    PromptWithdrawn,
    QueueReleaseRequested,
    TurnStarted,
)
from gshtui.bus.events.session_events import SessionOpened
from gshtui.ui.kit.keys.bound_keys import BoundKeys
from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.widget_messages import Intent
from gshtui.ui.kit.widgets.fitted_text import fit

QUEUE_EVENTS: tuple[type[Event], ...] = (
    PromptQueued,
    PromptEdited,
    PromptWithdrawn,
    TurnStarted,
    SessionOpened,
)


class WaitingPrompt(msgspec.Struct, frozen=True):
    """A waiting prompt."""

    prompt: str
    agent: str
    text: str
    source: str = "person"
    held: bool = False
    """It waits until the person sends it."""


class QueueState(msgspec.Struct, frozen=True):
    """The waiting prompts, next first, each agent's in its own order."""

    waiting: tuple[WaitingPrompt, ...] = ()

    def find(self, prompt: str) -> WaitingPrompt | None:
        """The prompt with this id, if it is waiting."""
        return next((w for w in self.waiting if w.prompt == prompt), None)

    def of_person(self, agent: str) -> tuple[WaitingPrompt, ...]:
        """The person's own prompts that wait for this agent's turn in progress."""
        return tuple(w for w in self.waiting if w.agent == agent and w.source == "person" and not w.held)


def reduce_queue(state: QueueState, event: Event) -> QueueState:
    """The state after the event; the same object when nothing changed."""
    match event:
        case PromptQueued():
            known = state.find(event.prompt)
            entry = WaitingPrompt(event.prompt, event.agent, event.text, event.source, event.held)
            if known is not None:
                return _with_entry(state, entry)
            return replace(state, waiting=(*state.waiting, entry))
        case PromptEdited() if (known := state.find(event.prompt)) is not None:
            return _with_entry(state, replace(known, text=event.text))
        case PromptWithdrawn() | TurnStarted() if state.find(event.prompt) is not None:
            return replace(state, waiting=tuple(w for w in state.waiting if w.prompt != event.prompt))
        case SessionOpened() if any(w.agent == event.agent for w in state.waiting):
            return replace(state, waiting=tuple(w for w in state.waiting if w.agent != event.agent))
        case _:
            return state


def _with_entry(state: QueueState, entry: WaitingPrompt) -> QueueState:
    return replace(state, waiting=tuple(entry if w.prompt == entry.prompt else w for w in state.waiting))


ROWS = 4
BUTTONS = " edit  withdraw "
SEND = " send "
"""The button before them of a prompt that is held."""


class QueuePane(Widget, can_focus=True):
    """One line for each waiting prompt; hidden while none waits."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = (*QUEUE_EVENTS, PromptSubmitted)
    COMPONENT_CLASSES: ClassVar[set[str]] = {"queue--number", "queue--text", "queue--chosen", "queue--button"}
    BINDINGS = [
        bind("queue.up", "move(-1)"),
        bind("queue.down", "move(1)"),
        bind("queue.edit", "edit"),
        bind("queue.send", "send"),
        bind("queue.withdraw", "withdraw"),
        bind("queue.back", "back"),
    ]

    class EditChosen(Message):
        """The person wants to edit this prompt."""

        def __init__(self, waiting: WaitingPrompt) -> None:
            super().__init__()
            self.waiting = waiting

    class Refused(Message):
        """An agent did not take a prompt that was sent from this window."""

        def __init__(self, prompt: str, agent: str, text: str) -> None:
            super().__init__()
            self.prompt = prompt
            self.agent = agent
            self.text = text

    class Changed(Message):
        """The waiting prompts changed."""

        def __init__(self, state: QueueState) -> None:
            super().__init__()
            self.state = state

    def __init__(
        self, home: Callable[[], Widget | None] = lambda: None, typed: Callable[[str], None] = lambda _: None
    ) -> None:
        super().__init__(id="queue")
        self.state = QueueState()
        self._home = home
        self._typed = typed
        self._keys = BoundKeys()
        self._sent: set[str] = set()
        """Prompts from this window that no agent has taken yet."""
        self._chosen = 0
        self._top = 0
        self.display = False

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        before = self.state
        for event in events:
            self._follow(event)
            self.state = reduce_queue(self.state, event)
        if self.state is before:
            return
        count = len(self.state.waiting)
        self._chosen = max(0, min(self._chosen, count - 1))
        if not count and self.has_focus:
            self.action_back()
        self.draw()
        self.post_message(self.Changed(self.state))

    def _follow(self, event: Event) -> None:
        match event:
            case PromptSubmitted(source="person") | PromptQueued(source="person", held=True):
                self._sent.add(event.prompt)
            case PromptWithdrawn() if event.prompt in self._sent:
                self._sent.discard(event.prompt)
                if event.why:
                    self.post_message(self.Refused(event.prompt, event.agent, event.text))
            case TurnStarted():
                self._sent.discard(event.prompt)
            case _:
                pass

    def draw(self) -> None:
        """Take a row per waiting prompt, as far as the window has room; none in a tiny one."""
        self.display = bool(self.state.waiting) and self.screen.size.height >= 9
        rows = max(1, min(ROWS, len(self.state.waiting), self.screen.size.height // 6))
        if self.styles.height is None or self.styles.height.value != rows:
            self.styles.height = rows
        self._top = max(self._chosen - rows + 1, min(self._top, self._chosen))
        self.refresh()

    def on_resize(self) -> None:
        self.draw()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Rows shown."""
        return max(1, min(ROWS, len(self.state.waiting)))

    def render_line(self, y: int) -> Strip:
        """One waiting prompt: its place, its beginning, and its buttons."""
        at, style, width = self._top + y, self.get_component_rich_style, self.size.width
        if at >= len(self.state.waiting):
            return Strip.blank(width, style("queue--text"))
        waiting, chosen = self.state.waiting[at], self.has_focus and at == self._chosen
        text_style, number_style, button_style = (
            [style("queue--chosen")] * 3
            if chosen
            else [style(f"queue--{part}") for part in ("text", "number", "button")]
        )
        number = f"{'▸' if chosen else ' '}{at + 1} {'held' if waiting.held else 'queued'}  "
        below = len(self.state.waiting) - at - 1 if y == self.size.height - 1 else 0
        more = f" (+{below} more) " if below else ""
        buttons = f"{SEND if waiting.held else ''}{BUTTONS}" if width >= 50 else ""
        text = fit(waiting.text, width - len(number) - len(more) - len(buttons))
        left = Strip(
            [
                Segment(number, number_style),
                Segment(text, text_style),
                Segment(more, number_style),
            ]
        ).adjust_cell_length(width - len(buttons), text_style)
        return Strip([*left, Segment(buttons, button_style)])

    async def on_key(self, event: events.Key) -> None:
        event.prevent_default()
        action = self._keys.action(self, event.key)
        if action is not None:
            event.stop()
            await self.run_action(action)
        elif event.is_printable and event.character and "+" not in event.key:
            event.stop()
            self._typed(event.character)

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        """Handle the buttons at the right edge; elsewhere a click selects, a double click edits."""
        event.stop()
        at = self._top + event.y
        if at >= len(self.state.waiting):
            return
        self._chosen = at
        from_right = self.size.width - event.x
        if self.size.width >= 50 and from_right <= len("  withdraw "):
            self.action_withdraw()
        elif (self.size.width >= 50 and from_right <= len(BUTTONS)) or event.chain == 2:
            self.action_edit()
        elif self.size.width >= 50 and from_right <= len(BUTTONS) + len(SEND):
            self.action_send()
        self.refresh()

    def action_move(self, by: int) -> None:
        """Select another prompt."""
        self._chosen = max(0, min(self._chosen + by, len(self.state.waiting) - 1))
        self.draw()

    def action_edit(self) -> None:
        """Change the chosen prompt in the input line."""
        if self._chosen < len(self.state.waiting):
            self.post_message(self.EditChosen(self.state.waiting[self._chosen]))

    def action_send(self) -> None:
        """Send the chosen prompt, if it is held."""
        if self._chosen < len(self.state.waiting) and (waiting := self.state.waiting[self._chosen]).held:
            self.post_message(Intent(QueueReleaseRequested(prompt=waiting.prompt, agent=waiting.agent)))

    def action_withdraw(self) -> None:
        """Withdraw the chosen prompt."""
        if self._chosen < len(self.state.waiting):
            waiting = self.state.waiting[self._chosen]
            self.post_message(Intent(PromptEditRequested(prompt=waiting.prompt, agent=waiting.agent)))

    def action_back(self) -> None:
        """Go back to the input line."""
        if (home := self._home()) is not None:
            home.focus()

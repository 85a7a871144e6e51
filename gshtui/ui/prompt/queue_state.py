"""What the queue shows: the prompts that wait behind a turn, in the order in which they will be taken.

Pure: `(state, event) → state`. Fed by `QueuePane`, and tested without a terminal.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from gshtui.bus.event import Event
from gshtui.bus.events.agent import PromptEdited, PromptQueued, PromptWithdrawn, TurnStarted

CONSUMED: tuple[type[Event], ...] = (PromptQueued, PromptEdited, PromptWithdrawn, TurnStarted)


class Waiting(msgspec.Struct, frozen=True):
    """A prompt that waits."""

    prompt: str
    agent: str
    text: str


class QueueState(msgspec.Struct, frozen=True):
    """The prompts that wait, first to be taken first, each agent's in its own order."""

    waiting: tuple[Waiting, ...] = ()

    def find(self, prompt: str) -> Waiting | None:
        """The prompt of this id, if it waits."""
        return next((w for w in self.waiting if w.prompt == prompt), None)


def reduce(state: QueueState, event: Event) -> QueueState:
    """The state after the event; the same object when nothing changed."""
    match event:
        case PromptQueued():
            known = state.find(event.prompt)
            entry = Waiting(event.prompt, event.agent, event.text)
            if known is not None:
                return _with(state, entry)
            return replace(state, waiting=(*state.waiting, entry))
        case PromptEdited() if state.find(event.prompt) is not None:
            return _with(state, Waiting(event.prompt, event.agent, event.text))
        case PromptWithdrawn() | TurnStarted() if state.find(event.prompt) is not None:
            return replace(state, waiting=tuple(w for w in state.waiting if w.prompt != event.prompt))
        case _:
            return state


def _with(state: QueueState, entry: Waiting) -> QueueState:
    return replace(state, waiting=tuple(entry if w.prompt == entry.prompt else w for w in state.waiting))

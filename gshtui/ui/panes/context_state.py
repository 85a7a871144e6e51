"""What the context pane knows: the sections of the last assembly, and what its provider counted.

A pure reducer over events; refuses widgets. Called by the context pane.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from gshtui.bus.event import Event
from gshtui.bus.events.agent import ContextAssembled, ModelChanged, UsageReported
from gshtui.bus.events.session import SessionOpened
from gshtui.bus.messages import Usage

CONSUMED: tuple[type[Event], ...] = (ContextAssembled, ModelChanged, SessionOpened, UsageReported)


class ContextState(msgspec.Struct, frozen=True):
    """The context of the agent in front."""

    agent: str
    session: str = ""
    sections: tuple[tuple[str, int], ...] = ()
    """Name and estimated tokens, in the order in which they are sent."""
    tokens: int = 0
    window: int = 0
    iteration: int = 0
    usage: Usage | None = None
    """What the provider counted for this assembly; `None` until it has."""
    total: Usage = msgspec.field(default_factory=Usage)
    requests: int = 0


def reduce(state: ContextState, event: Event) -> ContextState:
    """The state after an event; what other agents do changes nothing."""
    if getattr(event, "agent", state.agent) != state.agent:
        return state
    match event:
        case ContextAssembled():
            return replace(
                state,
                sections=tuple((section.name, section.tokens) for section in event.sections),
                tokens=event.tokens,
                window=event.window or state.window,
                iteration=event.iteration,
                usage=None,
            )
        case UsageReported():
            return replace(state, usage=event.usage, total=state.total + event.usage, requests=state.requests + 1)
        case ModelChanged():
            return replace(state, window=event.window or state.window)
        case SessionOpened():
            if event.session == state.session:
                return state
            return ContextState(state.agent, session=event.session, window=state.window)
        case _:
            return state

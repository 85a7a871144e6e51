"""What the timeline knows: one mark an iteration with its tokens, and how its turn ended.

A pure reducer over events; refuses widgets. Called by the timeline pane.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from gshtui.bus.event import Event
from gshtui.bus.events.agent import ContextAssembled, TurnFinished, UsageReported
from gshtui.bus.events.session import SessionOpened

CONSUMED: tuple[type[Event], ...] = (ContextAssembled, SessionOpened, TurnFinished, UsageReported)
KEPT = 1_000
"""Marks; older ones leave the pane (the record keeps them)."""


class Mark(msgspec.Struct, frozen=True):
    """One iteration."""

    turn: str
    iteration: int
    tokens: int
    exact: bool = False
    """By the provider's count, not an estimate."""
    end: str = ""
    """Why the turn stopped, on its last iteration."""
    at: float = 0.0


class TimelineState(msgspec.Struct, frozen=True):
    """The iterations of the conversation of the agent in front, oldest first."""

    agent: str
    session: str = ""
    marks: tuple[Mark, ...] = ()
    window: int = 0


def reduce(state: TimelineState, event: Event) -> TimelineState:
    """The state after an event; what other agents do changes nothing."""
    if getattr(event, "agent", state.agent) != state.agent:
        return state
    match event:
        case ContextAssembled():
            mark = Mark(event.turn, event.iteration, event.tokens, at=event.at)
            marks = _without(state.marks, event.turn, event.iteration)
            return replace(state, marks=(*marks, mark)[-KEPT:], window=event.window or state.window)
        case UsageReported():
            old = next(
                (mark for mark in state.marks if (mark.turn, mark.iteration) == (event.turn, event.iteration)), None
            )
            mark = Mark(event.turn, event.iteration, event.usage.context, exact=True, at=old.at if old else event.at)
            return replace(state, marks=(*_without(state.marks, event.turn, event.iteration), mark)[-KEPT:])
        case TurnFinished():
            if not state.marks or state.marks[-1].turn != event.turn:
                return state
            return replace(state, marks=(*state.marks[:-1], replace(state.marks[-1], end=event.stop)))
        case SessionOpened():
            return state if event.session == state.session else TimelineState(state.agent, session=event.session)
        case _:
            return state


def _without(marks: tuple[Mark, ...], turn: str, iteration: int) -> tuple[Mark, ...]:
    return tuple(mark for mark in marks if (mark.turn, mark.iteration) != (turn, iteration))

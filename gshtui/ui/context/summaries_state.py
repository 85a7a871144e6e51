"""Which summaries wait for a person's word, the one in front first.

A pure reducer over events; refuses widgets. Called by the panel of summaries.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from gshtui.bus.event import Event
from gshtui.bus.events.context import ContextCut, CutFailed, SummaryAnswered, SummaryProposed

CONSUMED: tuple[type[Event], ...] = (ContextCut, CutFailed, SummaryAnswered, SummaryProposed)


class SummariesState(msgspec.Struct, frozen=True):
    """In the order in which they came."""

    waiting: tuple[SummaryProposed, ...] = ()

    @property
    def shown(self) -> SummaryProposed | None:
        """The one in front."""
        return self.waiting[0] if self.waiting else None


def reduce(state: SummariesState, event: Event) -> SummariesState:
    """The state after an event: answered, cut or failed, a summary waits no longer."""
    match event:
        case SummaryProposed():
            known = any(one.receipt.id == event.receipt.id for one in state.waiting)
            return state if known else SummariesState((*state.waiting, event))
        case SummaryAnswered():
            return without(state, lambda one: one.receipt.id == event.cut)
        case ContextCut() if event.receipt.kind == "compact":
            return without(state, lambda one: one.agent == event.agent)
        case CutFailed() if event.kind == "compact":
            return without(state, lambda one: one.agent == event.agent)
        case _:
            return state


def overdue(state: SummariesState, now: float) -> SummariesState:
    """Without those whose time is over: they count as accepted."""
    return without(state, lambda one: bool(one.deadline) and one.deadline <= now)


def without(state: SummariesState, gone: Callable[[SummaryProposed], bool]) -> SummariesState:
    """Without some; the same object when none of them is here."""
    left = tuple(one for one in state.waiting if not gone(one))
    return state if len(left) == len(state.waiting) else SummariesState(left)

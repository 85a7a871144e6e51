"""What the context pane knows: the sections of the last assembly, what its provider counted, the trigger.

A pure reducer over events and what the record held; refuses widgets. Called by the context pane.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from gshtui.bus.context import Iteration
from gshtui.bus.event import Event
from gshtui.bus.events.agent import ContextAssembled, ModelChanged, UsageReported
from gshtui.bus.events.context import ContextCut, CutUndone
from gshtui.bus.events.session import SessionOpened
from gshtui.bus.messages import Usage

CONSUMED: tuple[type[Event], ...] = (
    ContextAssembled, ContextCut, CutUndone, ModelChanged, SessionOpened, UsageReported,
)  # fmt: skip


class ContextState(msgspec.Struct, frozen=True):
    """The context of the agent in front."""

    agent: str
    session: str = ""
    sections: tuple[tuple[str, int], ...] = ()
    """Name and estimated tokens, in the order in which they are sent."""
    tokens: int = 0
    window: int = 0
    trigger: int = 0
    """Tokens at which a compaction starts; 0: not known."""
    iteration: int = 0
    usage: Usage | None = None
    """What the provider counted for this assembly; `None` until it has."""
    total: Usage = msgspec.field(default_factory=Usage)
    requests: int = 0
    broken_by: str = ""
    """The block at which the provider's cache broke; empty: it held, or that is not known."""
    chosen: str = ""
    """The section under the cursor; empty: none."""

    @property
    def used(self) -> int:
        """The best figure for the window: the provider's count, else the estimate."""
        return self.usage.context if self.usage is not None else self.tokens

    @property
    def sent(self) -> int:
        """What the provider counted as input; 0: it has not."""
        usage = self.usage
        return usage.input + usage.cache_read + usage.cache_write if usage is not None else 0


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
                trigger=event.trigger or state.trigger,
                iteration=event.iteration,
                usage=None,
                broken_by="",
            )
        case ContextCut() | CutUndone() if event.sections:
            sections = tuple((section.name, section.tokens) for section in event.sections)
            return replace(state, sections=sections, tokens=sum(tokens for _, tokens in sections), usage=None)
        case UsageReported():
            return replace(state, usage=event.usage, total=state.total + event.usage, requests=state.requests + 1)
        case ModelChanged():
            return replace(state, window=event.window or state.window, trigger=0)
        case SessionOpened():
            if event.session == state.session:
                return state
            return ContextState(state.agent, session=event.session, window=state.window)
        case _:
            return state


def restored(state: ContextState, iterations: Sequence[Iteration], session: str) -> ContextState:
    """With what the record holds, unless something was sent meanwhile or another conversation is open."""
    if state.requests or (state.session and session != state.session):
        return state
    mine = [one for one in iterations if not session or one.session == session]
    if not mine:
        return state
    last, total = mine[-1], Usage()
    counted = [one.usage for one in mine if one.usage is not None]
    for usage in counted:
        total = total + usage
    if state.sections:  # a request went out before the record was read
        return replace(state, total=total, requests=len(counted))
    return replace(
        state,
        sections=tuple(last.sections),
        tokens=last.tokens,
        window=state.window or last.window,
        trigger=last.trigger if last.window == (state.window or last.window) else state.trigger,
        iteration=last.iteration,
        usage=last.usage,
        total=total,
        requests=len(counted),
        broken_by=last.broken_by,
    )


def chosen(state: ContextState, step: int) -> ContextState:
    """With the cursor on the next section, or the one before."""
    names = [name for name, _ in state.sections]
    if not names:
        return state
    at = names.index(state.chosen) + step if state.chosen in names else 0 if step > 0 else len(names) - 1
    return replace(state, chosen=names[max(0, min(len(names) - 1, at))])

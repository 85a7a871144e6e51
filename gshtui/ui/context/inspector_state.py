"""The state of an inspector: one request of an agent (past or next), what is open, and what it is compared with.

Pure: `(state, input) → state`; no widgets, no waiting. Called by the inspector's tab and its outline.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec.structs import replace

from gshtui.bus.context_data import SECTIONS, Block, Difference, Iteration
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    ContextAssembled,
    IterationStarted,
    MessageAppended,
    ModelChanged,
    TextDelta,
    ThinkingDelta,
    TurnFinished,
    UsageReported,
)
from gshtui.bus.events.context_events import BlockPinned, BlockRestored, ContextCut, CutUndone, TasksChanged
from gshtui.bus.events.session_events import SessionOpened
from gshtui.context.views import Carry, ContextView, RequestText

InspectorMode = Literal["blocks", "request", "difference"]
CHANGING: tuple[type[Event], ...] = (
    BlockPinned,
    BlockRestored,
    ContextAssembled,
    ContextCut,
    CutUndone,
    MessageAppended,
    ModelChanged,
    SessionOpened,
    TasksChanged,
    TurnFinished,
    UsageReported,
)
"""Events after which the next request differs, or is known better."""
CONSUMED: tuple[type[Event], ...] = (*CHANGING, IterationStarted, TextDelta, ThinkingDelta)


class InspectorState(msgspec.Struct, frozen=True):
    """See the module."""

    agent: str
    iterations: tuple[Iteration, ...] = ()
    """Oldest first."""
    at: str = ""
    """Id of the shown iteration; empty: the next request."""
    view: ContextView | None = None
    mode: InspectorMode = "blocks"
    opened: frozenset[str] = frozenset()
    """Ids of entries."""
    texts: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    """By hash, as far as loaded."""
    request: RequestText | None = None
    other: ContextView | None = None
    """The older request that it is compared with."""
    differences: tuple[Difference, ...] = ()
    carry: dict[str, Carry] = msgspec.field(default_factory=dict[str, Carry])
    """By source."""
    stale: bool = False
    """The shown data may be outdated."""
    streamed: int = 0
    """Characters of the streaming answer so far."""
    problem: str = ""

    @property
    def blocks(self) -> tuple[Block, ...]:
        return self.view.blocks if self.view is not None else ()

    @property
    def place(self) -> int:
        """Index of the shown iteration, from 0; the number of iterations: the next request."""
        ids = [one.id for one in self.iterations]
        return ids.index(self.at) if self.at in ids else len(ids)

    def block(self, id: str) -> Block | None:
        """The block with this id."""
        return next((one for one in self.blocks if one.id == id), None)


def reduce(state: InspectorState, event: Event) -> InspectorState:
    """The state after an event; what other agents do changes nothing."""
    agent = getattr(event, "agent", "")
    mine = agent == state.agent
    if isinstance(event, TextDelta | ThinkingDelta):
        return replace(state, streamed=state.streamed + len(event.text)) if mine else state
    if isinstance(event, IterationStarted):
        return replace(state, streamed=0) if mine else state
    if not isinstance(event, CHANGING) or not (mine or (state.other and agent == state.other.agent)):
        return state
    streamed = 0 if isinstance(event, TurnFinished | MessageAppended) else state.streamed
    return replace(state, stale=True, streamed=streamed)


def with_view(state: InspectorState, view: ContextView, iterations: tuple[Iteration, ...]) -> InspectorState:
    """A request was loaded; open entries stay open."""
    request = state.request if state.view == view else None
    return replace(state, view=view, iterations=iterations, stale=False, problem="", request=request)


def with_texts(state: InspectorState, texts: dict[str, str]) -> InspectorState:
    """Texts were loaded."""
    return replace(state, texts={**state.texts, **texts})


def compared(state: InspectorState, other: ContextView, found: tuple[Difference, ...]) -> InspectorState:
    """Compare it with another request."""
    return replace(state, other=other, differences=found, mode="difference")


def uncompared(state: InspectorState) -> InspectorState:
    """Stop comparing."""
    return replace(state, other=None, differences=(), mode="blocks")


def stepped(state: InspectorState, step: int) -> str | None:
    """Id of the iteration this many places further, `""` after the last; `None`: no more."""
    place = state.place + step
    if not 0 <= place <= len(state.iterations):
        return None
    return state.iterations[place].id if place < len(state.iterations) else ""


def toggled(state: InspectorState, id: str) -> InspectorState:
    """Open or fold an entry."""
    return replace(state, opened=state.opened ^ {id})


def all_toggled(state: InspectorState) -> InspectorState:
    """Open all sections (or changes), or fold them if all are open."""
    if state.mode == "difference":
        ids = frozenset(f"d:{number}" for number in range(len(state.differences)))
    else:
        held = {block.section for block in state.blocks}
        ids = frozenset(f"s:{name}" for name in SECTIONS if name in held)
    return replace(state, opened=frozenset[str]() if ids <= state.opened else state.opened | ids)


def revealed(state: InspectorState, block: Block) -> InspectorState:
    """Open a block and its section."""
    return replace(state, mode="blocks", opened=state.opened | {f"s:{block.section}", f"b:{block.id}"})


def wanted(state: InspectorState) -> list[str]:
    """Hashes of texts that open entries need and that are not loaded."""
    hashes: list[str] = []
    if state.mode == "blocks":
        hashes = [block.hash for block in state.blocks if f"b:{block.id}" in state.opened]
    elif state.mode == "difference":
        for number, one in enumerate(state.differences):
            if f"d:{number}" in state.opened:
                hashes += [one.hash_before, one.hash_after]
    return [hash for hash in dict.fromkeys(hashes) if hash and hash not in state.texts]

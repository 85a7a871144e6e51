"""The state of the timeline: a mark per iteration with its tokens, the cuts before it, its turn's end; the forecast.

A pure reducer over events and the record's data; no widgets. Called by the timeline pane.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from gshtui.bus.context_data import CutKind, Iteration, Receipt
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import ContextAssembled, ModelChanged, TurnFinished, UsageReported
from gshtui.bus.events.context_events import ContextCut, ContextTuned, CutFailed, CutUndone, OutputTruncated
from gshtui.bus.events.session_events import SessionOpened

CONSUMED: tuple[type[Event], ...] = (
    ContextAssembled,
    ContextCut,
    ContextTuned,
    CutFailed,
    CutUndone,
    ModelChanged,
    OutputTruncated,
    SessionOpened,
    TurnFinished,
    UsageReported,
)
KEPT = 1_000
"""How many marks are kept; older ones leave the pane (the record has them)."""
SIGNS: dict[CutKind, str] = {"truncate": "T", "prune": "P", "compact": "C", "clear": "X", "drop": "D"}
MEANING = {
    "T": "truncated",
    "P": "pruned",
    "C": "compacted",
    "X": "cleared",
    "D": "dropped",
    "U": "undone",
    "!": "failed",
}
LOUDEST = "!UCXDPT"
"""Of several signs, the first in this order is shown."""


class TimelineCut(msgspec.Struct, frozen=True):
    """A change to the context before an iteration. `id`: of its receipt; empty: none."""

    sign: str
    id: str = ""
    before: int = 0
    after: int = 0
    why: str = ""


class TimelineMark(msgspec.Struct, frozen=True):
    """One iteration."""

    turn: str
    iteration: int
    tokens: int
    exact: bool = False
    """Counted by the provider, not estimated."""
    end: str = ""
    """Why the turn stopped, on its last iteration."""
    at: float = 0.0
    id: str = ""
    """`Iteration.id`; empty: unknown (so far)."""
    cuts: tuple[TimelineCut, ...] = ()
    error: str = ""

    @property
    def sign(self) -> str:
        """The most important sign here; empty: nothing happened."""
        signs = {cut.sign for cut in self.cuts} | ({"!"} if self.error else set[str]())
        return next((sign for sign in LOUDEST if sign in signs), "")


class TimelineState(msgspec.Struct, frozen=True):
    """The iterations of the conversation of the agent in front, oldest first."""

    agent: str
    session: str = ""
    marks: tuple[TimelineMark, ...] = ()
    window: int = 0
    trigger: int = 0
    waiting: tuple[TimelineCut, ...] = ()
    """Changes since the last iteration; they belong to the next one."""
    turns_left: int | None = None
    """Forecast turns until the next compaction; `None`: unknown."""
    per_turn: int = 0
    modelless: bool = False
    """No model is connected: a window and a trigger would be nobody's."""

    @property
    def drawn(self) -> TimelineState:
        """As it is shown."""
        return replace(self, window=0, trigger=0) if self.modelless else self


def reduce(state: TimelineState, event: Event) -> TimelineState:
    """The state after an event; what other agents do changes nothing."""
    if getattr(event, "agent", state.agent) != state.agent:
        return state
    match event:
        case ContextAssembled():
            mark = TimelineMark(event.turn, event.iteration, event.size, at=event.at, id=event.id, cuts=state.waiting)
            marks = _without(state.marks, event.turn, event.iteration)
            return replace(
                state,
                marks=(*marks, mark)[-KEPT:],
                window=event.window or state.window,
                trigger=event.trigger or state.trigger,
                waiting=(),
            )
        case UsageReported() if event.iteration:
            old = _mark(state.marks, event.turn, event.iteration) or TimelineMark(
                event.turn, event.iteration, 0, at=event.at
            )
            mark = replace(old, tokens=event.usage.context, exact=True)
            return replace(state, marks=(*_without(state.marks, event.turn, event.iteration), mark)[-KEPT:])
        case TurnFinished():
            if not state.marks or state.marks[-1].turn != event.turn:
                return state
            last = replace(state.marks[-1], end=event.stop, error=event.error)
            return replace(state, marks=(*state.marks[:-1], last))
        case ContextTuned():
            return replace(state, trigger=event.trigger or state.trigger)
        case ModelChanged():
            return replace(state, window=event.window or state.window, modelless=event.provider == "offline")
        case SessionOpened():
            fresh = TimelineState(state.agent, session=event.session, modelless=state.modelless)
            return state if event.session == state.session else fresh
        case _:
            return _cut(state, event)


def _cut(state: TimelineState, event: Event) -> TimelineState:
    match event:
        case ContextCut():
            return replace(state, waiting=(*state.waiting, cut_of(event.receipt)), turns_left=None)
        case CutUndone():
            return replace(state, waiting=(*state.waiting, TimelineCut("U", event.cut)), turns_left=None)
        case CutFailed():
            return replace(state, waiting=(*state.waiting, TimelineCut("!", why=event.why)))
        case OutputTruncated():
            before, after = event.original_bytes // 4, event.kept_bytes // 4
            truncated = TimelineCut("T", event.block, before, after, event.tool)
            return replace(state, waiting=(*state.waiting, truncated))
        case _:
            return state


def cut_of(receipt: Receipt) -> TimelineCut:
    """A receipt as a cut of the timeline."""
    return TimelineCut(SIGNS[receipt.kind], receipt.id, receipt.tokens_before, receipt.tokens_after, receipt.why)


def restored(
    state: TimelineState, iterations: Sequence[Iteration], receipts: Iterable[Receipt], session: str
) -> TimelineState:
    """With the conversation's data from the record; marks that came meanwhile follow it."""
    if state.session and session != state.session:
        return state
    known = {receipt.id: receipt for receipt in receipts}
    mine = [one for one in iterations if not session or one.session == session]
    marks = [_of(one, known) for one in mine]
    named = {id for one in mine for id in one.cuts}
    waiting: list[TimelineCut] = []
    for receipt in known.values():
        if receipt.id in named:
            continue
        at = next((at for at, mark in enumerate(marks) if mark.at >= receipt.at), None)
        cut = TimelineCut("U", receipt.id) if receipt.undone else cut_of(receipt)
        if at is None:
            waiting.append(cut)
        else:
            marks[at] = replace(marks[at], cuts=(*marks[at].cuts, cut))
    for number in range(len(marks) - 1):  # the last one of a turn ended it
        if marks[number].turn != marks[number + 1].turn:
            marks[number] = replace(marks[number], end="end")
    if marks:
        marks[-1] = replace(marks[-1], end=marks[-1].end or "end")
    there = {(mark.turn, mark.iteration) for mark in marks}
    newer = [mark for mark in state.marks if (mark.turn, mark.iteration) not in there]
    last = mine[-1] if mine else None
    return replace(
        state,
        waiting=state.waiting or tuple(waiting),
        marks=(*marks, *newer)[-KEPT:],
        window=state.window or (last.window if last else 0),
        trigger=state.trigger or (last.trigger if last else 0),
    )


def _of(one: Iteration, receipts: dict[str, Receipt]) -> TimelineMark:
    cuts = tuple(
        TimelineCut("U", id) if receipts[id].undone else cut_of(receipts[id]) for id in one.cuts if id in receipts
    )
    tokens = one.usage.context if one.usage is not None else one.tokens
    return TimelineMark(one.turn, one.iteration, tokens, one.usage is not None, "", one.at, one.id, cuts, one.error)


def foretold(state: TimelineState, turns: int | None, per_turn: int, trigger: int) -> TimelineState:
    """With this forecast."""
    return replace(state, turns_left=turns, per_turn=per_turn, trigger=trigger or state.trigger)


def _mark(marks: tuple[TimelineMark, ...], turn: str, iteration: int) -> TimelineMark | None:
    return next((mark for mark in reversed(marks) if (mark.turn, mark.iteration) == (turn, iteration)), None)


def _without(marks: tuple[TimelineMark, ...], turn: str, iteration: int) -> tuple[TimelineMark, ...]:
    if _mark(marks[-3:], turn, iteration) is None and _mark(marks, turn, iteration) is None:
        return marks
    return tuple(mark for mark in marks if (mark.turn, mark.iteration) != (turn, iteration))

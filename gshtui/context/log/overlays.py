"""Overlays: decisions about a conversation's context, append-only beside its log, and the plan they add up to.

Owns their form on disk, the fold over them, and this process's list. An overlay counts only once the store has it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

import msgspec

from gshtui.bus.agent_data import EffortChoice
from gshtui.bus.context_data import Receipt, Task
from gshtui.context.log.ports import ContextStore
from gshtui.system.ids import new_id
from gshtui.system.struct_types import learned


class _Overlay(msgspec.Struct, frozen=True, kw_only=True, tag_field="kind", omit_defaults=True):
    """What every overlay has. Times are for display; what counts is the order in which they were written."""

    id: str = msgspec.field(default_factory=new_id)
    at: float = msgspec.field(default_factory=time.time)
    by: str = ""
    """`threshold`, `overflow`, `strategy`, `person`, or an agent's name."""


class Pruned(_Overlay, frozen=True, kw_only=True, tag="pruned"):
    """Old tool outputs are sent as placeholders from now on."""

    blocks: dict[str, int]
    """Id of the result's block → the tokens that its placeholder names."""
    receipt: Receipt


class Compacted(_Overlay, frozen=True, kw_only=True, tag="compacted"):
    """A compaction: everything up to a message is sent as a summary, plus what is carried past it."""

    upto: str
    """Id of the last message that the summary covers."""
    summary: str
    words: dict[str, int] = {}
    """Blocks of people's words that are carried → bytes of each to keep; 0: all."""
    tasks: tuple[Task, ...] = ()
    files: tuple[str, ...] = ()
    """Touched files, a line each."""
    receipt: Receipt


class Cleared(_Overlay, frozen=True, kw_only=True, tag="cleared"):
    """Nothing up to a message is sent any more, except pinned and carried blocks."""

    upto: str
    words: dict[str, int] = {}
    tasks: tuple[Task, ...] = ()
    receipt: Receipt


class Dropped(_Overlay, frozen=True, kw_only=True, tag="dropped"):
    """The calls of these answers and their results are not sent any more."""

    messages: tuple[str, ...]
    receipt: Receipt


class Pinned(_Overlay, frozen=True, kw_only=True, tag="pinned"):
    """A block is never cut from now on."""

    block: str


class Unpinned(_Overlay, frozen=True, kw_only=True, tag="unpinned"):
    """A block may be cut again."""

    block: str


class Restored(_Overlay, frozen=True, kw_only=True, tag="restored"):
    """One block is sent in full again, until a later compaction covers it."""

    block: str


class Undone(_Overlay, frozen=True, kw_only=True, tag="undone"):
    """An earlier cut does not count."""

    cut: str


class SummaryEdited(_Overlay, frozen=True, kw_only=True, tag="summary_edited"):
    """A compaction's summary was replaced."""

    cut: str
    summary: str


class Tuned(_Overlay, frozen=True, kw_only=True, tag="tuned"):
    """How this agent's requests are made from now on; `None` values stay unchanged."""

    threshold: float | None = None
    """Fraction of the window at which a compaction starts."""
    protect: int | None = None
    """Tokens of recent tool output that pruning never touches."""
    strategy: str | None = None
    """`summarise`, `last N` (messages) or `budget N` (tokens)."""
    output_bytes: int | None = None
    """Bytes kept of a tool's output when it is captured; 0: all."""
    effort: EffortChoice | None = None
    """How hard the model should think; empty: as its provider decides."""


class Tasks(_Overlay, frozen=True, kw_only=True, tag="tasks"):
    """The agent's task list is this one."""

    tasks: tuple[Task, ...] = ()


class SideNote(_Overlay, frozen=True, kw_only=True, tag="told"):
    """A text accompanies a person's message: facts about the environment, recent shell commands.

    It stays where it was first sent, so later changes do not alter earlier messages.
    """

    message: str
    source: str
    text: str


Cut = Pruned | Compacted | Cleared | Dropped
Overlay = (
    Pruned
    | Compacted
    | Cleared
    | Dropped
    | Pinned
    | Unpinned
    | Restored
    | Undone
    | SummaryEdited
    | Tuned
    | Tasks
    | SideNote
)
_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(learned(Overlay), strict=False)


def encode(overlay: Overlay) -> str:
    return _encoder.encode(overlay).decode()


def decode(data: str | bytes) -> Overlay | None:
    """The overlay; `None` for a kind that this version does not know, or one that is damaged: it changes nothing."""
    try:
        return _decoder.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def kind_of(overlay: Overlay) -> str:
    """Its tag, as the store keeps it beside the data."""
    tag: Any = overlay.__struct_config__.tag
    return str(tag)


Base = Compacted | Cleared


class ContextPlan(msgspec.Struct):
    """The decisions that count now. Made by `fold_overlays`, and not changed afterwards."""

    base: Base | None = None
    """The cut after which the log is sent; earlier messages are carried or summarised."""
    pruned: dict[str, tuple[str, int]] = msgspec.field(default_factory=dict[str, tuple[str, int]])
    """Result's block → cut, and the tokens that the placeholder names."""
    dropped: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    """Answer → the cut that removed its calls and their results."""
    pinned: dict[str, None] = msgspec.field(default_factory=dict[str, None])
    restored: dict[str, None] = msgspec.field(default_factory=dict[str, None])
    """Blocks to send in full, as a person or an agent requested."""
    spared: set[str] = msgspec.field(default_factory=set[str])
    """Blocks of undone cuts: never cut again automatically unless there is no other way."""
    told: dict[str, list[SideNote]] = msgspec.field(default_factory=dict[str, list[SideNote]])
    """Message → texts that accompany it."""
    tasks: tuple[Task, ...] = ()
    tuned: Tuned = msgspec.field(default_factory=lambda: Tuned(id="", at=0.0))
    cuts: dict[str, Cut] = msgspec.field(default_factory=dict[str, Cut])
    """Every cut there ever was, by id, in order."""
    undone: dict[str, Undone] = msgspec.field(default_factory=dict[str, Undone])
    summaries: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    """Cut → its edited summary."""
    held: bool = False
    """Whether the newest compaction was undone, so that the threshold alone does not start another one."""

    def summary(self, cut: str) -> str:
        """A compaction's text, as sent."""
        made = self.cuts.get(cut)
        return self.summaries.get(cut) or (made.summary if isinstance(made, Compacted) else "")


def fold_overlays(overlays: Iterable[Overlay]) -> ContextPlan:
    found = tuple(overlays)
    plan = ContextPlan(undone={o.cut: o for o in found if isinstance(o, Undone)})
    for overlay in found:
        _add(plan, overlay)
    last = next((cut for cut in reversed(plan.cuts.values()) if isinstance(cut, Compacted)), None)
    plan.held = last is not None and last.id in plan.undone
    return plan


def _add(plan: ContextPlan, overlay: Overlay) -> None:
    match overlay:
        case Pruned() | Compacted() | Cleared() | Dropped():
            plan.cuts[overlay.id] = overlay
            _cut(plan, overlay)
        case Pinned():
            plan.pinned[overlay.block] = None
        case Unpinned():
            plan.pinned.pop(overlay.block, None)
        case Restored():
            plan.restored[overlay.block] = None
            # A call is useless without its result: they were dropped together and come back together.
            plan.dropped.pop(overlay.block.rpartition("/")[0].removesuffix("-results"), None)
        case SummaryEdited():
            plan.summaries[overlay.cut] = overlay.summary
        case Tasks():
            plan.tasks = overlay.tasks
        case SideNote():
            plan.told.setdefault(overlay.message, []).append(overlay)
        case Tuned():
            plan.tuned = tuned(plan.tuned, overlay)
        case _:
            pass


def _cut(plan: ContextPlan, cut: Cut) -> None:
    if cut.id in plan.undone:
        if isinstance(cut, Pruned):
            plan.spared |= cut.blocks.keys()
        elif isinstance(cut, Dropped):
            plan.spared |= set(cut.messages)
        return
    match cut:
        case Pruned():
            plan.pruned |= {block: (cut.id, tokens) for block, tokens in cut.blocks.items()}
            for block in cut.blocks:
                plan.restored.pop(block, None)
        case Dropped():
            plan.dropped |= dict.fromkeys(cut.messages, cut.id)
        case Compacted() | Cleared():
            plan.base = cut
            plan.restored = {}


def tuned(before: Tuned, now: Tuned) -> Tuned:
    """Both combined; where the later one has a value, it wins."""

    given = {
        name: value if value is not None else getattr(before, name)
        for name in ("threshold", "protect", "strategy", "output_bytes", "effort")
        for value in (getattr(now, name),)
    }
    return Tuned(id=now.id, at=now.at, by=now.by, **given)


class OverlayLog:
    """See the module's text. `plan` becomes a new object after each change, and only then."""

    def __init__(self, context_store: ContextStore, session: str) -> None:
        self.session = session
        self.plan: ContextPlan = fold_overlays(())
        self._context_store = context_store
        self._overlays: list[Overlay] = []
        self._after = 0

    async def refresh(self) -> bool:
        """Load newly written overlays; returns whether there were any. Raises `StoreError`."""
        found = await self._context_store.overlays(self.session, self._after)
        fresh = [overlay for _, data in found if (overlay := decode(data)) is not None]
        if found:
            self._after = found[-1][0]
        if fresh:
            self._overlays += fresh
            self.plan = fold_overlays(self._overlays)
        return bool(fresh)

    async def add(self, overlay: Overlay) -> None:
        """Write an overlay; it counts when this returns. Raises `StoreError`."""
        await self._context_store.add_overlay(self.session, overlay.id, kind_of(overlay), overlay.at, encode(overlay))
        await self.refresh()

    def with_one_more(self, overlay: Overlay) -> ContextPlan:
        """The plan as it would be with this additional overlay."""
        return fold_overlays([*self._overlays, overlay])

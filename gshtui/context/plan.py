"""The plan: what all overlays of a conversation together say about its context. A pure fold.

Owns the meaning of each overlay in the order in which they were written; refuses to look at the log or a clock. Called
by the engine and the service; rendered by `history`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from gshtui.bus.context import Task
from gshtui.context.overlays import (
    Cleared,
    Compacted,
    Cut,
    Dropped,
    Overlay,
    Pinned,
    Pruned,
    Restored,
    SummaryEdited,
    Tasks,
    Told,
    Tuned,
    Undone,
    Unpinned,
)

Base = Compacted | Cleared


@dataclass(slots=True)
class Plan:
    """What counts now. Made by `fold`, and not changed afterwards."""

    base: Base | None = None
    """The cut behind which the log is sent; what is before it is carried or summarised."""
    pruned: dict[str, tuple[str, int]] = field(default_factory=dict[str, tuple[str, int]])
    """Result's block → cut, and the tokens that the placeholder names."""
    dropped: dict[str, str] = field(default_factory=dict[str, str])
    """Answer → the cut that took out its calls and their results."""
    pinned: dict[str, None] = field(default_factory=dict[str, None])
    restored: dict[str, None] = field(default_factory=dict[str, None])
    """Blocks to send in full, by the word of a person or agent."""
    spared: set[str] = field(default_factory=set[str])
    """Blocks of cuts that were undone: nothing cuts them again by itself unless there is no other way."""
    told: dict[str, list[Told]] = field(default_factory=dict[str, list[Told]])
    """Message → texts that go along with it."""
    tasks: tuple[Task, ...] = ()
    tuned: Tuned = field(default_factory=lambda: Tuned(id="", at=0.0))
    cuts: dict[str, Cut] = field(default_factory=dict[str, Cut])
    """Every cut there ever was, by id, in order."""
    undone: dict[str, Undone] = field(default_factory=dict[str, Undone])
    summaries: dict[str, str] = field(default_factory=dict[str, str])
    """Cut → its summary as it was edited."""
    held: bool = False
    """The newest compaction was undone: the threshold alone does not start another one."""

    def summary(self, cut: str) -> str:
        """The words of a compaction, as they are sent."""
        made = self.cuts.get(cut)
        return self.summaries.get(cut) or (made.summary if isinstance(made, Compacted) else "")


def fold(overlays: Iterable[Overlay]) -> Plan:
    """The plan of these overlays."""
    found = tuple(overlays)
    plan = Plan(undone={o.cut: o for o in found if isinstance(o, Undone)})
    for overlay in found:
        _add(plan, overlay)
    last = next((cut for cut in reversed(plan.cuts.values()) if isinstance(cut, Compacted)), None)
    plan.held = last is not None and last.id in plan.undone
    return plan


def _add(plan: Plan, overlay: Overlay) -> None:
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
            # A call is nothing without its result: what was dropped together comes back together.
            plan.dropped.pop(overlay.block.rpartition("/")[0].removesuffix("-results"), None)
        case SummaryEdited():
            plan.summaries[overlay.cut] = overlay.summary
        case Tasks():
            plan.tasks = overlay.tasks
        case Told():
            plan.told.setdefault(overlay.message, []).append(overlay)
        case Tuned():
            plan.tuned = tuned(plan.tuned, overlay)
        case _:
            pass


def _cut(plan: Plan, cut: Cut) -> None:
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
    """Both together, the later one winning where it says something."""

    given = {
        name: value if value is not None else getattr(before, name)
        for name in ("threshold", "protect", "strategy", "output_bytes")
        for value in (getattr(now, name),)
    }
    return Tuned(id=now.id, at=now.at, by=now.by, **given)

"""Bringing a request under the trigger, or at least into the window: which cuts are made, in which order.

Owns the ladder (strategy, prune, compact, everything prunable, oldest pairs, extract) and the cool-down: each step is
tried once, and two compactions of one turn need progress between them. Refuses to fail: what does not fit afterwards is
the engine's to say. Called by the engine before each request.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gshtui.bus.bus import Bus
from gshtui.bus.context import CutKind, Receipt
from gshtui.bus.events.context import CutFailed
from gshtui.bus.events.hub import Noticed
from gshtui.context import compact
from gshtui.context.cutter import Cutter
from gshtui.context.limits import strategy_of
from gshtui.context.order import Order
from gshtui.context.prune import step_of
from gshtui.context.terms import Terms
from gshtui.context.views import ContextError

PROGRESS = 3
"""Answers between two automatic compactions of one turn that count as progress."""
_DROPS = 8


@dataclass(slots=True)
class Pace:
    """What happened in the turn in progress."""

    turn: str = ""
    answers: int = 0
    overflows: int = 0
    """Times that the provider said that it was too long."""
    compacted_at: int | None = None
    """`answers` at the last automatic compaction."""
    cuts: list[str] = field(default_factory=list[str])
    """Receipts since this list was emptied last."""

    @property
    def just_compacted(self) -> bool:
        """There was a compaction, and no progress since."""
        return self.compacted_at is not None and self.answers - self.compacted_at < PROGRESS


class Shrinker:
    """Automatic cuts of one conversation, and those that were asked for."""

    def __init__(self, bus: Bus, cutter: Cutter, pace: Pace) -> None:
        self.pace = pace
        self._bus = bus
        self._cutter = cutter

    async def shrink(self, terms: Terms) -> None:
        """Make the cuts that are due before a request. Raises `StoreError`, and `ContextError` (`full`)."""
        await self._prune(terms)
        await self._by_strategy(terms)
        if not self._over(terms, terms.limits.trigger):
            return
        by = "overflow" if self.pace.overflows else "threshold"
        order = Order(by, self._why(terms))
        if self._may_compact(must=self._over(terms, terms.limits.hard)):
            await self.attempt(terms, "prune", order)
            if self._over(terms, terms.limits.trigger) and await self.attempt(terms, "compact", order):
                self.pace.compacted_at = self.pace.answers
        if self._over(terms, terms.limits.hard):
            await self._make_room(terms, Order("overflow", order.why, forced=True))

    async def attempt(self, terms: Terms, kind: CutKind, order: Order) -> Receipt | None:
        """One cut; a failure is told, and what is sent stays as it is."""
        try:
            receipt = await self._cutter.cut(terms, kind, order)
        except ContextError as error:
            self._failed(terms, kind, error, order)
            return None
        if receipt is not None:
            self.pace.cuts.append(receipt.id)
        return receipt

    def _failed(self, terms: Terms, kind: CutKind, error: ContextError, order: Order) -> None:
        if error.kind == "rejected":
            self.pace.compacted_at = self.pace.answers
        elif error.kind == "full" and order.automatic:
            raise error
        self._bus.publish(
            CutFailed(
                agent=terms.agent, session=terms.session, kind=kind, why=error.message, hint=error.hint,
                request=order.request,
            )
        )  # fmt: skip

    async def _prune(self, terms: Terms) -> None:
        self._cutter.assemble(terms)
        protect = terms.limits.protect
        if self._cutter.outputs.prunable(protect) >= step_of(protect):
            why = f"More than {protect:,} tokens of tool output came after these."
            await self.attempt(terms, "prune", Order("threshold", why))

    async def _make_room(self, terms: Terms, order: Order) -> None:
        """What is left when no ordinary cut was enough: all outputs, the oldest pairs, everything before the prompt."""
        await self.attempt(terms, "prune", order)
        for _ in range(_DROPS):
            if not self._over(terms, terms.limits.hard) or not await self.attempt(terms, "drop", order):
                break
        last = self._over(terms, terms.limits.hard) and not self.pace.just_compacted
        if last and await self.attempt(terms, "compact", order):
            self.pace.compacted_at = self.pace.answers

    def _may_compact(self, *, must: bool) -> bool:
        """No second compaction without progress after the first; and what a person undid stays undone while it fits."""
        return not self.pace.just_compacted and (must or not self._cutter.plan.held)

    async def _by_strategy(self, terms: Terms) -> None:
        try:
            name, count = strategy_of(terms.settings.strategy)
        except ValueError as error:
            self._bus.publish(Noticed(level="warning", text=str(error), about=terms.agent))
            return
        if name == "summarise":
            return
        self._cutter.assemble(terms)
        history, plan = self._cutter.assembler.history, self._cutter.plan
        # Half as much again may gather before it is cut: each cut breaks the provider's cache.
        allowed = count + count // 2
        if name == "last":
            due = len(history.log.entries) - compact.start_of(history.log, plan) > allowed
            cut = compact.last_messages(history.log, plan, count)
        else:
            due = history.tokens > allowed
            cut = compact.span(history.log, plan, count)
        if not due:
            return
        order = Order("strategy", f"The strategy is `{name} {count}`.")
        try:
            receipt = await self._cutter.clear_by(terms, order, cut)
        except ContextError as error:
            self._failed(terms, "clear", error, order)
            return
        if receipt is not None:
            self.pace.cuts.append(receipt.id)

    def _over(self, terms: Terms, limit: int) -> bool:
        return self._cutter.expected(terms, self._cutter.assemble(terms).tokens) > limit

    def _why(self, terms: Terms) -> str:
        tokens = self._cutter.expected(terms, self._cutter.assemble(terms).tokens)
        return f"The next request would be {tokens:,} tokens, and {terms.limits.trigger:,} is the trigger."

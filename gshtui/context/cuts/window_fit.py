"""Bring a request under the trigger, or at least into the window: which cuts to make, and in which order.

A request that cannot fit is refused, with the list of what fills the window.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from gshtui.bus.bus import Bus
from gshtui.bus.context_data import CutKind, Receipt
from gshtui.bus.events.context_events import CutFailed
from gshtui.bus.events.hub_events import Noticed
from gshtui.context.assembly.assembly import Assembly, CutRequest, RequestInputs
from gshtui.context.assembly.limits import strategy_of
from gshtui.context.cuts import cut_rules
from gshtui.context.cuts.cut_rules import largest, step_of
from gshtui.context.cuts.cutter import Cutter
from gshtui.context.views import ContextError

_LARGER = "Switch to a model with a larger window (`model list`)"


def refusal(terms: RequestInputs, assembly: Assembly, expected: int, *, again: bool) -> ContextError | None:
    """Return why the request may not be sent; `None` if it may.

    Args:
        expected: its tokens as the provider would count them.
        again: it was compacted only a moment ago.
    """
    hard = terms.limits.hard
    if expected <= hard:
        return None
    ratio = expected / max(1, assembly.tokens)
    takes = f"{terms.model} accepts {terms.limits.window:,} including its answer"
    fixed, rest = assembly.blocks[: assembly.fixed], assembly.blocks[assembly.fixed :]
    size = round(sum(block.tokens for block in fixed) * ratio)
    pins = [block for block in rest if block.pinned]
    pinned = round(sum(block.tokens for block in pins) * ratio)
    if size > hard:
        return ContextError(
            "full",
            f"The system and tools sections alone take about {size:,} tokens, but {takes}; the largest are "
            f"{largest(fixed)}.",
            f"{_LARGER}, or shorten AGENTS.md and give the agent fewer tools.",
        )
    if pinned and size + pinned > hard:
        return ContextError(
            "full",
            f"The pinned blocks do not fit: they take about {pinned:,} tokens on top of {size:,} for system and tools, "
            f"but {takes}.",
            f"Unpin one (`unpin`). {_LARGER}.",
        )
    if again:
        return ContextError(
            "full",
            f"The context was full again right after it was compacted: about {expected:,} tokens, but {takes}; the "
            f"largest are {largest(rest)}.",
            f"{_LARGER}, lower `[context] max_tool_output_bytes`, or ask for less at a time.",
        )
    return ContextError(
        "full",
        f"The message is too long: even with everything possible cut, the request is about {expected:,} tokens, but "
        f"{takes}; the largest are {largest(rest)}.",
        f"Put the text into a file, and let the agent read it in parts. {_LARGER}.",
    )


def with_room(terms: RequestInputs, assembly: Assembly, expected: int) -> Assembly:
    """Limit the answer to the remaining room: providers refuse a request and answer that together exceed the window."""
    left = terms.limits.window - expected - 64
    wanted = assembly.request.max_output or terms.capabilities.max_output
    if not wanted or wanted <= left:
        return assembly
    return replace(assembly, request=replace(assembly.request, max_output=max(128, left)))


PROGRESS = 3
"""Answers between two automatic compactions of one turn that count as progress."""
_DROPS = 8


class CutPace(msgspec.Struct):
    """What happened in the turn in progress."""

    turn: str = ""
    answers: int = 0
    overflows: int = 0
    """How often the provider said that the request was too long."""
    suspected: bool = False
    """The request was cut because it may have been too long."""
    compacted_at: int | None = None
    """`answers` at the last automatic compaction."""
    cuts: list[str] = msgspec.field(default_factory=list[str])
    """Receipts since this list was last emptied."""

    @property
    def just_compacted(self) -> bool:
        """Return whether there was a compaction, and no progress since."""
        return self.compacted_at is not None and self.answers - self.compacted_at < PROGRESS


class Shrinker:
    """Automatic and requested cuts of one conversation."""

    def __init__(self, bus: Bus, cutter: Cutter, pace: CutPace) -> None:
        self.pace = pace
        self._bus = bus
        self._cutter = cutter

    async def shrink(self, terms: RequestInputs) -> None:
        """Make the cuts that are due before a request. Raises `StoreError`, and `ContextError` (`full`)."""
        await self._prune(terms)
        await self._by_strategy(terms)
        if not self._over(terms, terms.limits.trigger):
            return
        by = "overflow" if self.pace.overflows else "threshold"
        order = CutRequest(by, self._why(terms))
        if self._may_compact(must=self._over(terms, terms.limits.hard)):
            await self.attempt(terms, "prune", order)
            if self._over(terms, terms.limits.trigger) and await self.attempt(terms, "compact", order):
                self.pace.compacted_at = self.pace.answers
        if self._over(terms, terms.limits.hard):
            await self._make_room(terms, CutRequest("overflow", order.why, forced=True))

    async def attempt(self, terms: RequestInputs, kind: CutKind, order: CutRequest) -> Receipt | None:
        """Make one cut; a failure is reported, and what is sent stays unchanged."""
        try:
            receipt = await self._cutter.cut(terms, kind, order)
        except ContextError as error:
            self._failed(terms, kind, error, order)
            return None
        if receipt is not None:
            self.pace.cuts.append(receipt.id)
        return receipt

    def _failed(self, terms: RequestInputs, kind: CutKind, error: ContextError, order: CutRequest) -> None:
        if error.kind == "rejected":
            self.pace.compacted_at = self.pace.answers
        elif error.kind == "full" and order.automatic:
            raise error
        self._bus.publish(
            CutFailed(
                agent=terms.agent,
                session=terms.session,
                kind=kind,
                why=error.message,
                hint=error.hint,
                request=order.request,
            )
        )

    async def _prune(self, terms: RequestInputs) -> None:
        self._cutter.assemble(terms)
        protect = terms.limits.protect
        if self._cutter.outputs.prunable(protect) >= step_of(protect):
            why = f"More than {protect:,} tokens of tool output came after these."
            await self.attempt(terms, "prune", CutRequest("threshold", why))

    async def _make_room(self, terms: RequestInputs, order: CutRequest) -> None:
        """The last resort when ordinary cuts were not enough: all outputs, the oldest pairs, everything before the
        prompt.
        """
        await self.attempt(terms, "prune", order)
        for _ in range(_DROPS):
            if not self._over(terms, terms.limits.hard) or not await self.attempt(terms, "drop", order):
                break
        last = self._over(terms, terms.limits.hard) and not self.pace.just_compacted
        if last and await self.attempt(terms, "compact", order):
            self.pace.compacted_at = self.pace.answers

    def _may_compact(self, *, must: bool) -> bool:
        """Allow no second compaction without progress after the first, and keep what a person undid undone while it
        fits.
        """
        return not self.pace.just_compacted and (must or not self._cutter.plan.held)

    async def _by_strategy(self, terms: RequestInputs) -> None:
        try:
            name, count = strategy_of(terms.settings.strategy)
        except ValueError as error:
            self._bus.publish(Noticed(level="warning", text=str(error), about=terms.agent))
            return
        if name == "summarise":
            return
        self._cutter.assemble(terms)
        history, plan = self._cutter.assembler.history, self._cutter.plan
        # Let half as much again gather before cutting: each cut breaks the provider's cache.
        allowed = count + count // 2
        if name == "last":
            due = len(history.log.entries) - cut_rules.start_of(history.log, plan) > allowed
            cut = cut_rules.last_messages(history.log, plan, count)
        else:
            due = history.tokens > allowed
            cut = cut_rules.span(history.log, plan, count)
        if not due:
            return
        order = CutRequest("strategy", f"The strategy is `{name} {count}`.")
        try:
            receipt = await self._cutter.clear_by(terms, order, cut)
        except ContextError as error:
            self._failed(terms, "clear", error, order)
            return
        if receipt is not None:
            self.pace.cuts.append(receipt.id)

    def _over(self, terms: RequestInputs, limit: int) -> bool:
        assembly = self._cutter.assemble(terms)
        tokens = self._cutter.expected(terms, assembly.tokens)
        if terms.limits.reserved and limit < terms.limits.hard:  # a reservation starts a cut, and refuses nothing
            fixed = sum(block.tokens for block in assembly.blocks[: assembly.fixed])
            tokens += max(0, terms.limits.reserved - fixed)
        return tokens > limit

    def _why(self, terms: RequestInputs) -> str:
        tokens = self._cutter.expected(terms, self._cutter.assemble(terms).tokens)
        return f"The next request would have {tokens:,} tokens; the trigger is {terms.limits.trigger:,}."

"""The cutter: makes a cut of one conversation, from the request to the written overlay and its receipt.

Its order is: choose, try, validate, write, and only then publish. So a crash at any moment leaves everything as it was
either before or after the whole cut. Refuses a cut that removes nothing or whose pins do not fit. Called by the engine
and the service.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import msgspec
from msgspec.structs import replace

from gshtui.bus.bus import Bus
from gshtui.bus.context_data import CutKind, Receipt, Task
from gshtui.bus.events.context_events import ContextCut
from gshtui.context.assembly.assembly import Assembler, Assembly, CutRequest, RequestInputs
from gshtui.context.cuts import cut_rules
from gshtui.context.cuts.cut_rules import CutSpan, PrunableOutputs, touched_files
from gshtui.context.cuts.receipts import items, priced
from gshtui.context.cuts.summary import STAND_IN, ChooseSmall, DraftedSummary, draft_summary, extract, finished_summary
from gshtui.context.log.blocks import Correction
from gshtui.context.log.overlays import Cleared, Compacted, ContextPlan, Cut, Dropped, OverlayLog, Pruned
from gshtui.context.views import ContextError
from gshtui.system.ids import new_id

Review = Callable[[Receipt], Awaitable[str | None]]
"""Shows a summary for review: returns the text to use, or `None` if it is rejected."""
BeforeCompaction = Callable[[CutRequest], Awaitable[str]]
_LEAST = 400
"""Tokens below which compacting cannot pay."""


class Cutter:
    """Cuts of one conversation. Not to be used by two tasks at once."""

    def __init__(self, bus: Bus, decisions: OverlayLog, correction: Correction, review: Review | None = None) -> None:
        self.decisions = decisions
        self.assembler = Assembler()
        self.outputs = PrunableOutputs()
        self._bus = bus
        self._correction = correction
        self._review = review
        self.before_compaction: BeforeCompaction | None = None
        """Says why a conversation must not be compacted now; empty: it may be."""
        self.choose_small: ChooseSmall | None = None
        """The model that writes summaries; `None`: the agent's own."""
        self._followed: ContextPlan | None = None
        self._made: tuple[RequestInputs, ContextPlan, int, Assembly] | None = None
        """The last assembly and its inputs: one request uses it several times."""

    @property
    def plan(self) -> ContextPlan:
        return self.decisions.plan

    def assemble(self, terms: RequestInputs) -> Assembly:
        """The request as it would go out now."""
        key = (terms, self.plan, len(terms.messages))
        if self._made is not None and self._made[0] is terms and self._made[1] is self.plan and self._made[2] == key[2]:
            return self._made[3]
        made = self.assembler.assemble(terms.messages, self.plan, terms.inputs)
        history = self.assembler.history
        fresh = 0 if self._followed is not self.plan else history.fresh
        self._followed = self.plan
        self.outputs.follow(history.blocks, fresh, self.plan)
        self._made = (*key, made)
        return made

    def expected(self, terms: RequestInputs, tokens: int) -> int:
        """Tokens as the provider would count them."""
        return self._correction.expected(terms.key, tokens)

    async def cut(self, terms: RequestInputs, kind: CutKind, order: CutRequest) -> Receipt | None:
        """Make a cut; returns `None` if an automatic one has nothing to do. Raises `ContextError`: it is not possible;
        what is sent stays unchanged. Raises `StoreError`: it could not be written.
        """
        self.assemble(terms)
        match kind:
            case "prune":
                return await self._prune(terms, order)
            case "compact":
                asked = None if order.dry else self.before_compaction
                if asked is not None and (why := await asked(order)):
                    raise ContextError("failed", f"A hook prevented the compaction: {why}")
                return await self._compact(terms, order)
            case "clear":
                return await self._clear(terms, order)
            case "drop":
                return await self._drop(terms, order)
            case "truncate":
                raise ContextError("invalid", "Outputs are truncated only when they are captured.")

    # Prune

    async def _prune(self, terms: RequestInputs, order: CutRequest, steps: tuple[str, ...] = ()) -> Receipt | None:
        protect = 0 if order.forced else terms.limits.protect
        chosen = self.outputs.choose(protect, self.plan, spared=order.forced or not order.automatic)
        if not chosen:
            if order.automatic:
                return None
            raise ContextError(
                "invalid",
                f"There is nothing to prune: the newest {protect:,} tokens of tool output are protected.",
                "`tune protect=N` sets another limit for this agent.",
            )
        receipt = self._blank(terms, "prune", order, steps)
        return await self._make(
            terms, order, Pruned(id=receipt.id, at=receipt.at, by=order.by, blocks=chosen, receipt=receipt)
        )

    # Drop

    async def _drop(self, terms: RequestInputs, order: CutRequest) -> Receipt | None:
        tokens = self.assembler.history.tokens // 4
        chosen = cut_rules.oldest_pairs(self.assembler.history, self.plan, tokens)
        if not chosen:
            if order.automatic:
                return None
            raise ContextError("invalid", "No old calls to drop.")
        receipt = self._blank(terms, "drop", order)
        return await self._make(
            terms, order, Dropped(id=receipt.id, at=receipt.at, by=order.by, messages=chosen, receipt=receipt)
        )

    # Clear

    async def _clear(self, terms: RequestInputs, order: CutRequest) -> Receipt | None:
        log = self.assembler.history.log
        return await self._clear_span(terms, order, cut_rules.span(log, self.plan, 0))

    async def clear_by(self, terms: RequestInputs, order: CutRequest, cut: CutSpan) -> Receipt | None:
        """Clear this span, carrying people's words: what the strategies `last N` and `budget N` do."""
        words = cut_rules.words(self.assembler.history.log, self.plan, cut.end, terms.limits.words)
        return await self._clear_span(terms, order, cut, words)

    async def _clear_span(
        self, terms: RequestInputs, order: CutRequest, cut: CutSpan, words: dict[str, int] | None = None
    ) -> Receipt | None:
        log = self.assembler.history.log
        if cut.end <= cut.start:
            if order.automatic:
                return None
            raise ContextError("invalid", "There is nothing before this point to clear.")
        self._check_pins(terms)
        receipt = self._blank(terms, "clear", order)
        overlay = Cleared(
            id=receipt.id,
            at=receipt.at,
            by=order.by,
            upto=cut.upto(log),
            words=words or {},
            tasks=self._open_tasks(),
            receipt=receipt,
        )
        return await self._make(terms, order, overlay)

    # Compact

    async def _compact(self, terms: RequestInputs, order: CutRequest) -> Receipt | None:
        began = time.monotonic()
        log = self.assembler.history.log
        recent = terms.limits.recent if order.automatic and not order.forced else 0
        cut = cut_rules.span(log, self.plan, recent)
        replaced = self._tokens_of(cut)
        if cut.end <= cut.start or replaced < _LEAST:
            if order.automatic:
                return None
            raise ContextError("invalid", "There is nothing to compact yet: the conversation is short.")
        self._check_pins(terms)
        assembly = self.assemble(terms)
        tokens = self.expected(terms, assembly.tokens)
        drafted = await draft_summary(
            self._bus, terms, order, finished_summary(assembly.request, log), tokens, replaced, self.choose_small
        )
        if not drafted.summary:  # no model wrote one
            if order.automatic and not order.forced and not order.dry:
                pruned = await self._prune_instead(terms, order, drafted)
                if pruned is not None:
                    return pruned
            text = extract(cut_rules.covered(log, cut), min(terms.limits.summary, replaced // 2))
            step = "The model's summary was rejected, so a plain extract was used." if drafted.steps else ""
            drafted = DraftedSummary(text, drafted.usage, (*drafted.steps, *([step] if step else [])), drafted.cost)
        receipt = msgspec.structs.replace(
            self._blank(terms, "compact", order, drafted.steps),
            summary=STAND_IN if order.dry else drafted.summary,
            usage=drafted.usage,
            cost=drafted.cost,
            seconds=time.monotonic() - began,
        )
        overlay = Compacted(
            id=receipt.id,
            at=receipt.at,
            by=order.by,
            upto=cut.upto(log),
            summary=drafted.summary,
            words=cut_rules.words(log, self.plan, cut.end, terms.limits.words),
            tasks=self._open_tasks(),
            files=touched_files(log.entries[: cut.end]),
            receipt=receipt,
        )
        if self._review is not None and not order.dry:
            shown = self._receipt_of(terms, overlay, self.decisions.with_one_more(overlay))
            words = await self._review(shown)
            if words is None:
                raise ContextError("rejected", "The summary was rejected, so nothing was compacted.")
            overlay = msgspec.structs.replace(
                overlay, summary=words, receipt=msgspec.structs.replace(receipt, summary=words)
            )
        return await self._make(terms, order, overlay)

    async def _prune_instead(self, terms: RequestInputs, order: CutRequest, drafted: DraftedSummary) -> Receipt | None:
        """Prune everything prunable, if that alone brings the request under the trigger."""
        plan = self.plan
        freed = sum(self.outputs.choose(0, plan).values())
        if self.expected(terms, self.assemble(terms).tokens - freed) > terms.limits.trigger:
            return None
        forced = replace(order, forced=True)
        return await self._prune(terms, forced, (*drafted.steps, "Old outputs were pruned instead."))

    # What they share

    def _tokens_of(self, cut: CutSpan) -> int:
        log = self.assembler.history.log
        covered = {entry.message.id for entry in cut_rules.covered(log, cut)}
        return sum(b.tokens for b in self.assembler.history.blocks if b.message in covered or b.kind == "summary")

    def _open_tasks(self) -> tuple[Task, ...]:
        return tuple(task for task in self.plan.tasks if task.state != "dropped")

    def _check_pins(self, terms: RequestInputs) -> None:
        tokens = self.expected(terms, cut_rules.pinned_tokens(self.assembler.history.log, self.plan))
        if tokens > terms.limits.pins:
            raise ContextError(
                "full",
                f"The pinned blocks take about {tokens:,} tokens; {terms.model} has room for {terms.limits.pins:,} "
                "of them.",
                "Unpin one (`unpin`), or switch to a model with a larger window (`model list`).",
            )

    def _blank(self, terms: RequestInputs, kind: CutKind, order: CutRequest, steps: tuple[str, ...] = ()) -> Receipt:
        return Receipt(
            kind=kind,
            agent=terms.agent,
            session=terms.session,
            id="" if order.dry else new_id(),
            at=time.time(),
            by=order.by,
            why=order.why,
            turn=terms.inputs.turn,
            steps=steps,
        )

    def _receipt_of(self, terms: RequestInputs, overlay: Cut, after_plan: ContextPlan) -> Receipt:
        history = self.assembler.history
        before = list(history.blocks)
        tokens = self.assembler.assemble(terms.messages, self.plan, terms.inputs).tokens
        counts = len(history.messages)
        other = Assembler().assemble(terms.messages, after_plan, terms.inputs)
        after = [block for block in other.blocks if block.section in ("history", "input")]
        told = items(before, after, overlay.receipt.kind)
        if overlay.receipt.kind in ("prune", "drop"):
            told = tuple(item for item in told if item.fate != "kept" or item.why == "pinned")
        return priced(
            msgspec.structs.replace(
                overlay.receipt,
                tokens_before=self.expected(terms, tokens),
                tokens_after=self.expected(terms, other.tokens),
                messages_before=counts,
                messages_after=len(other.request.messages),
                items=told,
            ),
            terms.capabilities,
        )

    async def _make(self, terms: RequestInputs, order: CutRequest, overlay: Cut) -> Receipt | None:
        receipt = self._receipt_of(terms, overlay, self.decisions.with_one_more(overlay))
        if receipt.tokens_after >= receipt.tokens_before:
            if order.automatic:
                return None
            raise ContextError(
                "invalid", f"A {receipt.kind} would not make the context smaller now, so nothing was cut."
            )
        if order.dry:
            return receipt
        await self.decisions.add(msgspec.structs.replace(overlay, receipt=receipt))
        after = self.assemble(terms)
        self._bus.publish(
            ContextCut(
                agent=terms.agent,
                session=terms.session,
                receipt=receipt,
                request=order.request,
                sections=after.sections,
                expected=self.expected(terms, after.tokens),
            )
        )
        return receipt

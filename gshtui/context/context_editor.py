"""Changes to the context of any agent, for commands, panes and tools: cuts, undo, restore, pins, summaries, thresholds.

Owns the checks before an overlay is written; the log stays unchanged, and an agent in another process sees the overlay.
Raises `ContextError` and no other error. `ContextQueries` does the reading. Made by the hub and by agents in terminals.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gshtui.bus.bus import Bus
from gshtui.bus.context_data import CutKind, Receipt
from gshtui.bus.event import Event
from gshtui.bus.events.context_events import BlockPinned, BlockRestored, ContextTuned, CutUndone, SummaryAnswered
from gshtui.bus.messages import ToolResult
from gshtui.context.assembly.assembly import CutRequest
from gshtui.context.assembly.limits import ContextSettings, strategy_of
from gshtui.context.cuts import cut_rules
from gshtui.context.log.blocks import text_tokens
from gshtui.context.log.conversation_log import ConversationLog
from gshtui.context.log.overlays import Cleared, Compacted, Pinned, Restored, SummaryEdited, Tuned, Undone, Unpinned
from gshtui.context.log.ports import ContextStore
from gshtui.context.queries import ContextQueries, ContextSubject, CurrentContext
from gshtui.context.views import ContextError
from gshtui.providers.port import ProviderError
from gshtui.store.engine.store_errors import StoreError


class ContextEditor:
    """Changes the context of any agent, by name or id."""

    def __init__(
        self, bus: Bus, context_store: ContextStore, settings: ContextSettings, queries: ContextQueries
    ) -> None:
        self._bus = bus
        self._context_store = context_store
        self._settings = settings
        self._queries = queries
        bus.subscribe(self._answered, SummaryAnswered, name="summaries")

    async def preview(self, agent: str, kind: CutKind) -> Receipt:
        """Preview a cut: change nothing, and ask no model."""
        return await self._cut(await self._queries.subject(agent), kind, CutRequest(why="Manual compaction.", dry=True))

    async def cut(self, agent: str, kind: CutKind, *, by: str = "person", focus: str = "") -> Receipt:
        """Cut now. `focus`: what a summary should focus on, in the requester's words."""
        order = CutRequest(by, "Requested by you.", focus)
        return await self._cut(await self._queries.subject(agent), kind, order)

    async def undo(self, agent: str, cut: str, *, by: str = "person") -> None:
        """Send everything again that a cut removed. A truncation is undone by restoring its block."""
        subject = await self._queries.subject(agent)
        cutter, _ = await self._queries.cutter(subject)
        plan = cutter.plan
        made = plan.cuts.get(cut)
        if made is None:
            if "/" in cut:
                await self.restore(agent, cut, by=by)
                return
            raise ContextError("unknown", f"{agent} has no cut {cut!r}.", "`timeline` lists them.")
        if cut in plan.undone:
            raise ContextError("invalid", "That cut is already undone.")
        if isinstance(made, Compacted | Cleared) and plan.base is not None and plan.base.id != cut:
            raise ContextError(
                "invalid",
                f"A later {plan.base.receipt.kind} covers it, too; undo that one first.",
                f"`undo cut={plan.base.id}` undoes it.",
            )
        await self._queries.await_record(cutter.decisions.add(Undone(cut=cut, by=by)))
        self._bus.publish(
            CutUndone(
                agent=subject.agent,
                session=subject.session,
                cut=cut,
                by=by,
                **await self._sizes(subject),
            )
        )

    async def _sizes(self, subject: ContextSubject) -> dict[str, Any]:
        """The next request as of now; nothing if it cannot be determined."""
        try:
            now = await self._queries.standing(subject)
        except ContextError:
            return {}
        tokens = now.assembly.tokens
        expected = now.cutter.expected(now.terms, tokens)
        return {"tokens": tokens, "sections": now.assembly.sections, "expected": expected}

    async def restore(self, agent: str, block: str, *, by: str = "person") -> None:
        """Send one block in full again, until a later cut covers it; a dropped call returns with its results."""
        subject = await self._queries.subject(agent)
        standing = await self._queries.standing(subject)
        plan, log = standing.cutter.plan, standing.cutter.assembler.history.log
        found = log.block(block)
        if found is None:
            raise ContextError("unknown", f"{agent} has no block {block!r}.", "A cut's receipt lists its blocks.")
        entry, number = found
        part = entry.message.blocks[number]
        shortened = isinstance(part, ToolResult) and bool(part.output)
        if block in plan.restored or (not shortened and self._in_full(standing, block)):
            raise ContextError("invalid", "That block is already sent in full.")
        answer = entry.message.id.removesuffix("-results")
        tokens = entry.blocks[number].tokens if answer not in plan.dropped else self._pair_tokens(log, answer)
        if shortened and isinstance(part, ToolResult):
            tokens = max(tokens, text_tokens(await self._queries.await_record(self._context_store.output(part.output))))
        self._check_room(standing, tokens, "It")
        await self._queries.await_record(standing.cutter.decisions.add(Restored(block=block, by=by)))
        self._bus.publish(BlockRestored(agent=subject.agent, session=subject.session, block=block, by=by))

    async def pin(self, agent: str, block: str, on: bool, *, by: str = "person") -> None:
        """Never cut a block from now on, or allow it to be cut again."""
        subject = await self._queries.subject(agent)
        standing = await self._queries.standing(subject)
        plan, log = standing.cutter.plan, standing.cutter.assembler.history.log
        if not on:
            if block not in plan.pinned:
                raise ContextError("invalid", "That block is not pinned.")
            await self._queries.await_record(standing.cutter.decisions.add(Unpinned(block=block, by=by)))
        else:
            found = log.block(block)
            if found is None:
                fixed = any(b.id == block for b in standing.assembly.blocks)
                why = f"{block} is part of every request anyway." if fixed else f"{agent} has no block {block!r}."
                raise ContextError("invalid" if fixed else "unknown", why)
            if block in plan.pinned:
                raise ContextError("invalid", "That block is already pinned.")
            pinned = cut_rules.pinned_tokens(log, plan)
            self._check_room(standing, pinned + found[0].blocks[found[1]].tokens, "With it the pinned blocks")
            await self._queries.await_record(standing.cutter.decisions.add(Pinned(block=block, by=by)))
        self._bus.publish(BlockPinned(agent=subject.agent, session=subject.session, block=block, pinned=on, by=by))

    async def edit_summary(self, agent: str, cut: str, text: str, *, by: str = "person") -> None:
        """Replace the text of a compaction's summary."""
        cutter, _ = await self._queries.cutter(await self._queries.subject(agent))
        if not isinstance(cutter.plan.cuts.get(cut), Compacted):
            raise ContextError("unknown", f"{agent} has no compaction {cut!r}.", "`timeline` lists its cuts.")
        if not text.strip():
            raise ContextError("invalid", "A summary needs words; `undo` takes the compaction back.")
        await self._queries.await_record(cutter.decisions.add(SummaryEdited(cut=cut, summary=text.strip(), by=by)))

    async def tune(
        self,
        agent: str,
        *,
        threshold: float | None = None,
        protect: int | None = None,
        strategy: str | None = None,
        output_bytes: int | None = None,
        by: str = "person",
    ) -> None:
        """Change how this agent's context is cut, from its next request on; `None` leaves a value unchanged."""
        subject = await self._queries.subject(agent)
        cutter, _ = await self._queries.cutter(subject)
        if threshold is not None and not 0.1 <= threshold <= 1:
            raise ContextError(
                "invalid", f"The threshold must be a fraction of the window from 0.1 to 1, not {threshold:g}."
            )
        for name, value in (("protect", protect), ("output_bytes", output_bytes)):
            if value is not None and not 0 <= value <= 1_000_000_000:
                raise ContextError("invalid", f"{name} must be a number from 0 to 1,000,000,000, not {value}.")
        if strategy is not None:
            try:
                strategy_of(strategy)
            except ValueError as error:
                raise ContextError("invalid", str(error)) from error
        overlay = Tuned(threshold=threshold, protect=protect, strategy=strategy, output_bytes=output_bytes, by=by)
        await self._queries.await_record(cutter.decisions.add(overlay))
        try:
            trigger = (await self._queries.standing(subject)).terms.limits.trigger
        except (ContextError, StoreError, ProviderError):
            trigger = 0
        self._bus.publish(ContextTuned(agent=subject.agent, session=subject.session, by=by, trigger=trigger))

    async def settings(self, agent: str) -> ContextSettings:
        """When and how this agent's context is cut: the settings, and its own overrides."""
        cutter, _ = await self._queries.cutter(await self._queries.subject(agent))
        return self._settings.tuned(cutter.plan.tuned)

    async def _cut(self, subject: ContextSubject, kind: CutKind, order: CutRequest) -> Receipt:
        try:
            if subject.live is not None and not order.dry:
                live = subject.live
                return await live.engine.cut(await live.messages(), await live.draft(), kind, order)
            standing = await self._queries.standing(subject)
            receipt = await standing.cutter.cut(standing.terms, kind, order)
        except (StoreError, ProviderError) as error:
            raise ContextError("failed", error.message, error.hint) from error
        if receipt is None:
            raise ContextError("invalid", f"There is nothing for a {kind} to cut.")
        return receipt

    @staticmethod
    def _in_full(standing: CurrentContext, block: str) -> bool:
        sent = next((b for b in standing.assembly.blocks if b.id == block), None)
        return sent is not None and all(change.kind in ("carried", "restored") for change in sent.changes)

    @staticmethod
    def _pair_tokens(log: ConversationLog, answer: str) -> int:
        """Tokens of an answer's calls and of their results."""
        places = [place for id in (answer, f"{answer}-results") if (place := log.place(id)) is not None]
        return sum(b.tokens for p in places for b in log.entries[p].blocks if b.kind in ("tool_call", "tool_result"))

    @staticmethod
    def _check_room(standing: CurrentContext, tokens: int, what: str) -> None:
        terms = standing.terms
        tokens = standing.cutter.expected(terms, tokens)
        if tokens > terms.limits.pins:
            raise ContextError(
                "full",
                f"{what} would take about {tokens:,} tokens; {terms.model} has room for {terms.limits.pins:,}.",
                "Unpin something first, or switch to a model with a larger window (`model list`).",
            )

    async def _answered(self, batch: Sequence[Event]) -> None:
        """Handle a person's answer about a summary that already counts: replace its text, or reject it."""
        for event in batch:
            if not isinstance(event, SummaryAnswered):
                continue
            try:
                cutter, _ = await self._queries.cutter(await self._queries.subject(event.agent))
                if event.cut not in cutter.plan.cuts:
                    continue  # the review still waits for this answer, and handles it
                if not event.accepted:
                    await self.undo(event.agent, event.cut)
                elif event.summary.strip() and event.summary.strip() != cutter.plan.summary(event.cut):
                    await self.edit_summary(event.agent, event.cut, event.summary)
            except ContextError:
                continue  # nothing of ours, or undone meanwhile

"""Changing a context: the handlers of `compact prune forget pin unpin restore undo tune`, with previews of cuts.

The log stays as it is; what is changed counts from the next request on, also for an agent in another process. Called
by the declarations in `commands`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pydantic import Field

from gshtui.bus.context_data import CutKind
from gshtui.commands.declaration import Invocation, Outcome, UsageError, Word
from gshtui.commands.schema import ToolParameters
from gshtui.context.commands import answers, lookup, tables
from gshtui.context.commands.access import ContextAccess
from gshtui.context.commands.answers import context_handler
from gshtui.text.sanitise import one_line

if TYPE_CHECKING:
    from gshtui.context.commands.context_router import ContextRouter


class CutParameters(ToolParameters):
    """Whose context is cut."""

    agent: Word = Field(Word(), description="Id or name; empty: your own, or the agent in front")
    preview: bool = Field(False, description="Only say what it would do")


class CompactParameters(CutParameters):
    """Parameters of `compact`."""

    focus: str = Field("", description="What the summary should dwell on")


class ClearParameters(CutParameters):
    """Parameters of `forget`."""


class BlockParameters(ToolParameters):
    """Which block of whose context."""

    block: Word = Field(description="Number, id, file or source of the block", min_length=1)
    agent: Word = Field(Word(), description="Id or name; empty: your own, or the agent in front")


class UndoParameters(ToolParameters):
    """Which cut of whose context."""

    cut: Word = Field(Word(), description="Id of the cut; empty: the newest one")
    agent: Word = Field(Word(), description="Id or name; empty: your own, or the agent in front")


class TuneParameters(ToolParameters):
    """What is to be another one; what is left out stays."""

    agent: Word = Field(Word(), description="Id or name; empty: the agent in front")
    threshold: float | None = Field(None, description="Fraction of the window at which a compaction starts", gt=0, le=1)
    protect: int | None = Field(None, description="Tokens of recent tool output that pruning leaves alone", ge=0)
    strategy: str | None = Field(None, description="summarise, last N (messages) or budget N (tokens)")
    output_bytes: int | None = Field(None, description="Bytes of a tool's output that are kept; 0: all", ge=0)


class CutCommands:
    """The handlers."""

    def __init__(self, contexts: ContextRouter, rights: ContextAccess) -> None:
        self._contexts = contexts
        self._rights = rights

    @context_handler
    async def compact(self, invocation: Invocation, parameters: CompactParameters) -> Outcome:
        """A summary in place of the conversation so far."""
        return await self._cut(invocation, parameters, "compact", parameters.focus)

    @context_handler
    async def prune(self, invocation: Invocation, parameters: CutParameters) -> Outcome:
        """Placeholders in place of old tool outputs."""
        return await self._cut(invocation, parameters, "prune")

    @context_handler
    async def clear(self, invocation: Invocation, parameters: ClearParameters) -> Outcome:
        """Nothing in place of the conversation so far."""
        return await self._cut(invocation, parameters, "clear")

    async def _cut(self, invocation: Invocation, parameters: CutParameters, kind: CutKind, focus: str = "") -> Outcome:
        agent = await self._rights.target(invocation, parameters.agent)
        if parameters.preview:
            receipt = await self._contexts.preview(agent, kind)
        else:
            receipt = await self._contexts.cut(agent, kind, by=_by(invocation), focus=focus)
        text = tables.receipt(receipt, limit=12)
        if receipt.id:
            text += f"\n\n`undo {receipt.id}` takes it back."
        return Outcome(answers.brief(receipt) if invocation.caller.is_agent else answers.receipt(receipt), text)

    @context_handler
    async def pin(self, invocation: Invocation, parameters: BlockParameters) -> Outcome:
        """A block that is never cut."""
        return await self._pinned(invocation, parameters, on=True)

    @context_handler
    async def unpin(self, invocation: Invocation, parameters: BlockParameters) -> Outcome:
        """A block that may be cut again."""
        return await self._pinned(invocation, parameters, on=False)

    async def _pinned(self, invocation: Invocation, parameters: BlockParameters, *, on: bool) -> Outcome:
        agent = await self._rights.target(invocation, parameters.agent)
        number, block = lookup.block(await self._contexts.view(agent), parameters.block)
        await self._contexts.pin(agent, block.id, on, by=_by(invocation))
        said = "is never cut from now on" if on else "may be cut again"
        text = f"{one_line(block.source)} (#{number}, {block.tokens:,} tokens) {said}."
        return Outcome({"agent": agent, "block": block.id, "pinned": on}, text)

    @context_handler
    async def restore(self, invocation: Invocation, parameters: BlockParameters) -> Outcome:
        """A block that was cut, in full again."""
        agent = await self._rights.target(invocation, parameters.agent)
        id = lookup.removed(await self._contexts.receipts(agent), parameters.block)
        if not id:
            id = lookup.block(await self._contexts.view(agent), parameters.block)[1].id
        await self._contexts.restore(agent, id, by=_by(invocation))
        return Outcome({"agent": agent, "block": id}, "It is sent in full again from the next request on.")

    @context_handler
    async def undo(self, invocation: Invocation, parameters: UndoParameters) -> Outcome:
        """What a cut took out is sent again."""
        agent = await self._rights.target(invocation, parameters.agent)
        receipt = lookup.cut(await self._contexts.receipts(agent), parameters.cut)
        if receipt.undone:
            raise UsageError(f"The cut {receipt.id} is undone already.", hint="`timeline` lists them.")
        await self._contexts.undo(agent, receipt.id, by=_by(invocation))
        back = receipt.tokens_before - receipt.tokens_after
        text = (
            f"The {receipt.kind} {receipt.id} is undone: about {back:,} tokens are sent again from the next request on."
        )
        return Outcome({"agent": agent, "cut": receipt.id, "kind": receipt.kind, "tokens": back}, text)

    @context_handler
    async def tune(self, invocation: Invocation, parameters: TuneParameters) -> Outcome:
        """Other thresholds for this agent; without any, what they are."""
        agent = await self._rights.target(invocation, parameters.agent)
        wanted: dict[str, Any] = parameters.model_dump(exclude={"agent"}, exclude_none=True)
        if wanted:
            await self._contexts.tune(agent, by=_by(invocation), **wanted)
        return await self._tuned(agent)

    async def _tuned(self, agent: str) -> Outcome:
        settings = await self._contexts.settings(agent)
        view, forecast = await self._contexts.view(agent), await self._contexts.forecast(agent)
        data = {
            "agent": agent,
            "window": view.window,
            "tokens": view.tokens,
            "trigger": view.trigger,
            "threshold": settings.threshold,
            "protect": settings.protect,
            "strategy": settings.strategy,
            "output_bytes": settings.output_bytes,
            "forecast": answers.forecast(forecast),
        }
        share = f" ({view.trigger / view.window:.0%} of {view.window:,})" if view.window else ""
        kept = f"{settings.output_bytes:,}" if settings.output_bytes else "all"
        rows = [
            ("threshold", f"{settings.threshold:g}"),
            ("protect", f"{settings.protect:,} tokens of recent tool output"),
            ("strategy", settings.strategy),
            ("output_bytes", f"{kept} of a tool's output"),
        ]
        head = f"{await self._rights.called(agent)}: {tables.due(forecast, view.trigger)}{share}."
        return Outcome(data, "\n\n".join([head, tables.table(("setting", "is"), rows)]))


def _by(invocation: Invocation) -> str:
    return invocation.caller.name if invocation.caller.is_agent else "person"

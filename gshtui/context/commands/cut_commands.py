"""Change a context: `compact prune clear_context pin unpin restore undo tune`, with previews of cuts.

The log stays unchanged; changes apply from the next request, also for an agent in another process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol

import msgspec
from pydantic import Field

from gshtui.bus.context_data import Block, CutKind, Receipt
from gshtui.commands.declaration import (
    AnyAction,
    CutPreview,
    Invocation,
    Mark,
    Outcome,
    Parameters,
    Returns,
    ToastView,
    UsageError,
    View,
    Where,
    Word,
)
from gshtui.commands.schema import ToolParameters
from gshtui.commands.shell_form import ShellForm, ShellOption
from gshtui.context.assembly.limits import ContextSettings
from gshtui.context.commands import answers, lookup, tables
from gshtui.context.commands.answers import action, context_errors
from gshtui.context.commands.context_router import ContextAccess
from gshtui.context.commands.view_calls import CONTEXT_PARTS
from gshtui.context.views import ContextView, Forecast
from gshtui.text import units
from gshtui.text.sanitise import one_line

if TYPE_CHECKING:
    from gshtui.context.commands.context_router import ContextRouter


class PinnedBlock(msgspec.Struct, frozen=True):
    """A block that is pinned, or no longer pinned."""

    agent: str
    id: str
    pinned: bool
    number: int = 0
    """Its place in the next request, if it is part of it."""
    block: Block | None = None
    """The block as in the next request; `None`: a cut removed it."""


class RestoredBlock(msgspec.Struct, frozen=True):
    """A block that is sent in full again."""

    agent: str
    block: str


class UndoneCut(msgspec.Struct, frozen=True):
    """A cut whose blocks are sent again."""

    agent: str
    receipt: Receipt
    """The receipt as first written."""


class EditedSummary(msgspec.Struct, frozen=True):
    """A compaction with a rewritten summary."""

    agent: str
    cut: str


class ContextLimits(msgspec.Struct, frozen=True):
    """When and how an agent's context is cut."""

    agent: str
    name: str
    """What people call the agent."""
    settings: ContextSettings
    view: ContextView
    """The agent's next request."""
    forecast: Forecast
    changed: bool
    """Whether the limits were just set, not only read."""


class ShownContext(Protocol):
    """The selection in a pane about an agent's context."""

    @property
    def agent(self) -> str: ...
    @property
    def cut(self) -> str:
        """Id of a cut that an undo would take back; empty: none."""
        ...

    @property
    def block(self) -> Block | None: ...


_FOR_SCRIPTS = "For scripts that give it: nothing is asked anyway."


class CutParameters(ToolParameters, Returns[Receipt]):
    """Whose context to cut."""

    agent: Annotated[Word, ShellOption(kind="agent")] = Field(
        default=Word(), description="Id or name; empty: your own, or the selected agent's"
    )
    preview: bool = Field(default=False, description="Only report what it would do")


class CompactContext(CutParameters):
    """Replace AGENT's conversation so far with a summary, from its next request on.

    Nothing is lost: `gsh-tui run undo` reverts it. People's messages, pins, tasks and touched files stay.
    """

    COMMAND: ClassVar[str] = "compact"
    SHELL = ShellForm(
        ("agent",),
        summary="Replace an agent's conversation so far with a summary.",
        parts=CONTEXT_PARTS,
        yes=_FOR_SCRIPTS,
        own_hub=True,
    )
    focus: Annotated[str, Mark.VERBATIM, ShellOption(metavar="TEXT")] = Field(
        default="", description="What the summary should focus on"
    )


class PruneContext(CutParameters):
    """Replace AGENT's old tool outputs with placeholders, from its next request on. Costs nothing; can be undone."""

    COMMAND: ClassVar[str] = "prune"
    SHELL = ShellForm(
        summary="Replace an agent's old tool outputs with placeholders.",
        parts=CONTEXT_PARTS,
        yes=_FOR_SCRIPTS,
        own_hub=True,
    )


class ClearContext(CutParameters):
    """Parameters of `clear_context`."""

    COMMAND: ClassVar[str] = "clear_context"


class _Block(ToolParameters):
    """Which block of whose context."""

    block: Word = Field(description="Number, id, file or source of the block", min_length=1)
    agent: Word = Field(default=Word(), description="Id or name; empty: your own, or the selected agent's")


class PinBlock(_Block, Returns[PinnedBlock]):
    """Parameters of `pin`."""

    COMMAND: ClassVar[str] = "pin"


class UnpinBlock(_Block, Returns[PinnedBlock]):
    """Parameters of `unpin`."""

    COMMAND: ClassVar[str] = "unpin"


class RestoreBlock(_Block, Returns[RestoredBlock]):
    """Parameters of `restore`."""

    COMMAND: ClassVar[str] = "restore"


class UndoCut(ToolParameters, Returns[UndoneCut]):
    """Which cut of whose context."""

    COMMAND: ClassVar[str] = "undo"
    cut: Word = Field(default=Word(), description="Id of the cut; empty: the newest one")
    agent: Word = Field(default=Word(), description="Id or name; empty: your own, or the selected agent's")


class EditSummary(Parameters, Returns[EditedSummary]):
    """A new text for a compaction's summary. It is too long for a line, so this is only called by value."""

    COMMAND: ClassVar[str] = "compact"
    agent: str
    cut: str
    text: str


class TuneContext(ToolParameters, Returns[ContextLimits]):
    """What to change; omitted settings stay."""

    COMMAND: ClassVar[str] = "tune"
    agent: Word = Field(default=Word(), description="Id or name; empty: the selected agent")
    threshold: float | None = Field(
        default=None, description="Fraction of the window at which a compaction starts", gt=0, le=1
    )
    protect: int | None = Field(
        default=None, description="Tokens of recent tool output that pruning never touches", ge=0
    )
    strategy: str | None = Field(default=None, description="summarise, last N (messages) or budget N (tokens)")
    output_bytes: int | None = Field(default=None, description="Bytes of a tool's output to keep; 0: all", ge=0)


_KINDS: dict[type[CutParameters], CutKind] = {CompactContext: "compact", PruneContext: "prune", ClearContext: "clear"}
_DONE = {"compact": "Compacted", "prune": "Pruned", "clear": "Cleared"}
_FROM_NOW = "It takes effect with the next request. You can undo it at any time: the conversation itself is kept."
_ESTIMATES = "The model writes the summary once you apply it; until then the sizes are estimates."


class CutCommands:
    """The handlers and renderings."""

    def __init__(self, contexts: ContextRouter, rights: ContextAccess) -> None:
        self._contexts = contexts
        self._rights = rights
        self.actions: dict[str, AnyAction] = {
            one.parameters.COMMAND: one
            for one in (
                self._cutting(CompactContext, "compact"),
                self._cutting(PruneContext, "prune"),
                self._cutting(ClearContext, "clear"),
                action(PinBlock, self._pinned, _render_pinned, where=[Where("inspector.pin", _to_pin)]),
                action(UnpinBlock, self._pinned, _render_pinned, where=[Where("inspector.pin", _to_unpin)]),
                action(RestoreBlock, self._restore, _render_restored, where=[Where("inspector.restore", _to_restore)]),
                action(
                    UndoCut,
                    self._undo,
                    _render_undone,
                    where=[Where("timeline.undo", _to_undo), Where("inspector.restore", _to_undo)],
                ),
                action(TuneContext, self._tune, _render_limits, shows=_tuned),
            )
        }

        self.edit_summary = action(EditSummary, self._edit, _render_edited, shows=_edited)

    def _cutting(self, parameters: type[CutParameters], key: str) -> AnyAction:
        def of(row: ShownContext) -> CutParameters:
            return parameters(agent=Word(row.agent), preview=True)

        where = [Where(f"{pane}.{key}", of) for pane in ("context", "inspector")]
        return action(parameters, self._cut, _render_receipt, shows=self._said, where=where)

    @context_errors
    async def _cut(self, invocation: Invocation, parameters: CutParameters) -> Receipt:
        agent = await self._rights.target(invocation, parameters.agent)
        kind = _KINDS[type(parameters)]
        editor = await self._contexts.editor(agent)
        if parameters.preview:
            return await editor.preview(agent, kind)
        focus = parameters.focus if isinstance(parameters, CompactContext) else ""
        return await editor.cut(agent, kind, by=_by(invocation), focus=focus)

    async def _said(self, _invocation: Invocation, receipt: Receipt) -> View | None:
        if not receipt.id:
            return CutPreview(receipt, f"{_ESTIMATES} {_FROM_NOW}" if receipt.kind == "compact" else _FROM_NOW)
        name = await self._rights.called(receipt.agent)
        sizes = f"{units.tokens(receipt.tokens_before)} → {units.tokens(receipt.tokens_after)} tokens"
        done = f"{_DONE.get(receipt.kind, 'Cut')} {name}: {sizes}."
        said = " ".join([done, "`/undo` to take it back.", *receipt.steps[-1:]])  # the receipt has all steps
        return ToastView(said, 8 if receipt.steps else None)

    @context_errors
    async def _pinned(self, invocation: Invocation, parameters: PinBlock | UnpinBlock) -> PinnedBlock:
        agent = await self._rights.target(invocation, parameters.agent)
        on = isinstance(parameters, PinBlock)
        view = await (await self._contexts.reader(agent)).view(agent)
        try:
            number, block = lookup.block(view, parameters.block)
        except UsageError:
            if "/" not in parameters.block:
                raise
            # The id of a block that a cut took out, which only an earlier request holds.
            editor = await self._contexts.editor(agent)
            await editor.pin(agent, parameters.block, on, by=_by(invocation))
            return PinnedBlock(agent, parameters.block, on)
        editor = await self._contexts.editor(agent)
        await editor.pin(agent, block.id, on, by=_by(invocation))
        return PinnedBlock(agent, block.id, on, number, block)

    @context_errors
    async def _restore(self, invocation: Invocation, parameters: RestoreBlock) -> RestoredBlock:
        agent = await self._rights.target(invocation, parameters.agent)
        reader = await self._contexts.reader(agent)
        id = lookup.removed(await reader.receipts(agent), parameters.block)
        if not id:
            id = lookup.block(await reader.view(agent), parameters.block)[1].id
        editor = await self._contexts.editor(agent)
        await editor.restore(agent, id, by=_by(invocation))
        return RestoredBlock(agent, id)

    @context_errors
    async def _undo(self, invocation: Invocation, parameters: UndoCut) -> UndoneCut:
        agent = await self._rights.target(invocation, parameters.agent)
        reader = await self._contexts.reader(agent)
        receipt = lookup.cut(await reader.receipts(agent), parameters.cut)
        if receipt.undone:
            raise UsageError(f"Cut {receipt.id} is already undone.", hint="`timeline` lists them.")
        editor = await self._contexts.editor(agent)
        await editor.undo(agent, receipt.id, by=_by(invocation))
        return UndoneCut(agent, receipt)

    @context_errors
    async def _edit(self, invocation: Invocation, parameters: EditSummary) -> EditedSummary:
        agent = await self._rights.target(invocation, parameters.agent)
        editor = await self._contexts.editor(agent)
        await editor.edit_summary(agent, parameters.cut, parameters.text, by=_by(invocation))
        return EditedSummary(agent, parameters.cut)

    @context_errors
    async def _tune(self, invocation: Invocation, parameters: TuneContext) -> ContextLimits:
        """Set thresholds for this agent; without any, show them."""
        agent = await self._rights.target(invocation, parameters.agent)
        wanted: dict[str, Any] = parameters.model_dump(exclude={"agent"}, exclude_none=True)
        editor = await self._contexts.editor(agent)
        if wanted:
            await editor.tune(agent, by=_by(invocation), **wanted)
        settings = await editor.settings(agent)
        reader = await self._contexts.reader(agent)
        view, forecast = await reader.view(agent), await reader.forecast(agent)
        return ContextLimits(agent, await self._rights.called(agent), settings, view, forecast, bool(wanted))


def _to_pin(row: ShownContext) -> PinBlock | None:
    block = row.block
    return None if block is None or block.pinned else PinBlock(agent=Word(row.agent), block=Word(block.id))


def _to_unpin(row: ShownContext) -> UnpinBlock | None:
    block = row.block
    return UnpinBlock(agent=Word(row.agent), block=Word(block.id)) if block is not None and block.pinned else None


def _to_restore(row: ShownContext) -> RestoreBlock | None:
    """Restore a block that was cut; for a summary, undo the whole cut."""
    block = row.block
    if block is None or row.cut or not block.changes:
        return None
    return RestoreBlock(agent=Word(row.agent), block=Word(block.id))


def _to_undo(row: ShownContext) -> UndoCut | None:
    return UndoCut(agent=Word(row.agent), cut=Word(row.cut)) if row.cut else None


def _render_receipt(invocation: Invocation, receipt: Receipt) -> Outcome:
    text = tables.receipt(receipt, limit=12)
    if receipt.id:
        text += f"\n\n`undo {receipt.id}` undoes it."
    return Outcome(answers.brief(receipt) if invocation.caller.is_agent else answers.all_fields(receipt), text)


def _render_pinned(_invocation: Invocation, done: PinnedBlock) -> Outcome:
    said = "will never be cut" if done.pinned else "may be cut again"
    block = done.block
    what = done.id
    if block is not None:
        what = f"{one_line(block.source)} (#{done.number}, {units.tokens(block.tokens)} tokens)"
    return Outcome({"agent": done.agent, "block": done.id, "pinned": done.pinned}, f"{what} {said}.")


def _render_restored(_invocation: Invocation, done: RestoredBlock) -> Outcome:
    data = {"agent": done.agent, "block": done.block}
    return Outcome(data, "It will be sent in full again from the next request.")


def _render_undone(_invocation: Invocation, done: UndoneCut) -> Outcome:
    receipt = done.receipt
    back = receipt.tokens_before - receipt.tokens_after
    again = f"about {units.tokens(back)} tokens will be sent again from the next request"
    text = f"The {receipt.kind} {receipt.id} is undone: {again}."
    return Outcome({"agent": done.agent, "cut": receipt.id, "kind": receipt.kind, "tokens": back}, text)


async def _edited(_invocation: Invocation, _done: EditedSummary) -> View | None:
    return ToastView("Your summary will be used from the next request.")


def _render_edited(_invocation: Invocation, done: EditedSummary) -> Outcome:
    return Outcome({"agent": done.agent, "cut": done.cut}, "Your summary will be used from the next request.")


async def _tuned(_invocation: Invocation, found: ContextLimits) -> View | None:
    return ToastView("Set for this agent, from its next request.") if found.changed else None


def _render_limits(_invocation: Invocation, found: ContextLimits) -> Outcome:
    settings, view = found.settings, found.view
    data = {
        "agent": found.agent,
        "window": view.window,
        "tokens": view.tokens,
        "trigger": view.trigger,
        "threshold": settings.threshold,
        "protect": settings.protect,
        "strategy": settings.strategy,
        "output_bytes": settings.output_bytes,
        "forecast": answers.all_fields(found.forecast),
    }
    share = f" ({units.percent(view.trigger, view.window)} of {units.tokens(view.window)})" if view.window else ""
    kept = f"{settings.output_bytes:,}" if settings.output_bytes else "all"
    rows = [
        ("threshold", f"{settings.threshold:g}"),
        ("protect", f"{units.tokens(settings.protect)} tokens of recent tool output"),
        ("strategy", settings.strategy),
        ("output_bytes", f"{kept} of a tool's output"),
    ]
    head = f"{found.name}: {tables.due(found.forecast, view.trigger)}{share}."
    return Outcome(data, "\n\n".join([head, tables.table(("setting", "is"), rows)]))


def _by(invocation: Invocation) -> str:
    return invocation.caller.name if invocation.caller.is_agent else "person"

"""Commands that look at a context: `context timeline whatif carry`, typed as lines or called by value. Only reads.

If something does not exist, the error says how to find it. Called by the declarations in `context_commands`.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, ClassVar, TypeAlias

import msgspec
from pydantic import Field

from gshtui.bus.context_data import SECTIONS, Receipt
from gshtui.commands.declaration import Invocation, Outcome, Returns, UsageError, Word, short_json
from gshtui.commands.schema import FOR_PEOPLE, ToolParameters
from gshtui.commands.shell_form import ShellForm, ShellOption
from gshtui.context.assembly.prompt_cache import ledger
from gshtui.context.commands import answers, lookup, tables
from gshtui.context.commands import view_calls as calls
from gshtui.context.commands.answers import action, context_errors
from gshtui.context.commands.context_router import ContextAccess
from gshtui.context.cuts.forecast import CarryBy
from gshtui.context.log.block_diff import differences
from gshtui.context.log.scratchpad import THINKING, thoughts
from gshtui.context.views import ContextError, ContextView, Forecast, RequestText
from gshtui.text.plain_name import known_names

if TYPE_CHECKING:
    from gshtui.context.commands.context_router import ContextReader, ContextRouter

AGENTS_ITEMS = 40
"""Items of a receipt shown to an agent."""
Shown: TypeAlias = calls.ContextReport | calls.BlockText | calls.ContextDifference
ShownCuts: TypeAlias = calls.Timeline | Receipt


def context_outcome(invocation: Invocation, found: Shown) -> Outcome:
    """A request, one of its blocks, or what differs between two."""
    match found:
        case calls.ContextReport():
            return _report_outcome(found)
        case calls.BlockText():
            data = answers.block(found.block, found.number, {found.block.hash: found.text})
            return Outcome(data, tables.whole_block(found.block, found.text, found.number))
        case calls.ContextDifference():
            return difference_outcome(invocation, found)


def _report_outcome(found: calls.ContextReport) -> Outcome:
    """A view: the whole, one section, or the request in its provider's form."""
    number, section, limit, request = found.number, found.section, found.limit, found.request
    data = answers.view(found.view, number=number, section=section, limit=limit, texts=found.texts, request=request)
    if found.as_json:
        return Outcome(data, short_json(data))
    if request is not None:
        note = f"\n\n{request.note}" if request.note else ""
        return Outcome(data, tables.fenced(request.text, "json") + note)
    view = msgspec.structs.replace(found.view, agent=found.name)
    if section:
        shown = (view, section, limit, number)
        return Outcome(data, tables.section(*shown), aloud=tables.section(*shown, aloud=True))
    if found.forecast is not None:
        data["forecast"] = answers.all_fields(found.forecast)
    whole = (view, found.forecast, number)
    return Outcome(data, tables.overview(*whole), aloud=tables.overview(*whole, aloud=True))


def difference_outcome(_invocation: Invocation, found: calls.ContextDifference) -> Outcome:
    """The differences between two requests."""
    first, second, before, after = found.first, found.second, found.before, found.after
    data = {
        "from": {"agent": before.agent, "iteration": first.number or None, "tokens": before.tokens},
        "to": {"agent": after.agent, "iteration": second.number or None, "tokens": after.tokens},
        "differences": answers.difference(found.differences, found.texts),
    }
    if found.as_json:
        return Outcome(data, short_json(data))
    shown = found.differences[-found.limit :] if found.limit else found.differences
    return Outcome(data, tables.difference(shown, (str(first), str(second))))


def view_outcome(_invocation: Invocation, view: ContextView) -> Outcome:
    return Outcome(answers.view(view), tables.overview(view))


def request_outcome(_invocation: Invocation, request: RequestText) -> Outcome:
    return Outcome(answers.parsed(request.text), tables.fenced(request.text, "json"))


def text_outcome(_invocation: Invocation, text: str) -> Outcome:
    return Outcome(text, tables.fenced(text))


def timeline_outcome(invocation: Invocation, found: ShownCuts) -> Outcome:
    """Requests, cuts and the forecast, or one cut; an agent gets only the newest requests."""
    if isinstance(found, Receipt):
        return receipt_outcome(invocation, found)
    iterations, receipts = found.iterations, found.receipts
    numbered = list(enumerate(iterations, 1))
    if invocation.caller.is_agent:
        numbered = numbered[-found.limit :]
    cached = {entry.iteration: {"cache": answers.cache(entry)} for entry in ledger(iterations)}
    data = {
        "agent": found.agent,
        "requests": len(iterations),
        "iterations": [answers.iteration(one, number) | cached[one.id] for number, one in numbered],
        "cuts": [answers.all_fields(receipt) | {"items": len(receipt.items)} for receipt in receipts],
        "forecast": answers.all_fields(found.forecast),
    }
    shown = (found.name, iterations, receipts, found.forecast, found.limit)
    return Outcome(data, tables.timeline(*shown), aloud=tables.timeline(*shown, aloud=True))


def receipt_outcome(invocation: Invocation, receipt: Receipt) -> Outcome:
    """One cut, item by item."""
    data = answers.brief(receipt, AGENTS_ITEMS) if invocation.caller.is_agent else answers.all_fields(receipt)
    return Outcome(data, tables.receipt(receipt))


def iterations_outcome(_invocation: Invocation, found: calls.IterationList) -> Outcome:
    return Outcome([answers.iteration(one, number) for number, one in enumerate(found.iterations, 1)])


def receipts_outcome(_invocation: Invocation, found: calls.ReceiptList) -> Outcome:
    return Outcome([answers.all_fields(one) for one in found.receipts], tables.cuts_table(found.receipts))


def forecast_outcome(_invocation: Invocation, found: Forecast) -> Outcome:
    return Outcome(answers.all_fields(found), f"{tables.due(found, found.trigger)}.")


def what_if_outcome(_invocation: Invocation, found: calls.WhatIfReport) -> Outcome:
    """The next request under other circumstances."""
    now = {"model": found.now.model, "tokens": found.now.expected or found.now.tokens}
    data = {"agent": found.agent, "now": now} | answers.all_fields(found.then)
    return Outcome(data, tables.what_if(found.now, found.then, found.model))


def carry_outcome(_invocation: Invocation, found: calls.CarryCosts) -> Outcome:
    """The things that are sent again and again, most expensive first."""
    return Outcome([answers.all_fields(one) for one in found.costs], tables.carry(found.costs, found.limit))


AGENTS_BLOCKS = 12
"""Blocks per section shown to an agent that sets no limit: reading a context must not fill it."""
_TOGETHER = 16
"""Texts read at once."""


with warnings.catch_warnings():
    # People know it as `json`; pydantic's old method of that name does not matter here.
    warnings.simplefilter("ignore", UserWarning)

    class ContextParameters(ToolParameters, Returns[Shown]):
        """What to look at."""

        COMMAND: ClassVar[str] = "context"
        SHELL = ShellForm(
            ("agent",),
            summary="Show what an agent's model is sent, section by section.",
            help="""\
Show what AGENT's model is sent: the next request or, with --iteration, a past one.

AGENT is an agent's id or name; the default is `main`, this folder's latest conversation. For a program such as
claude or codex, the request is reconstructed from its transcript.""",
            examples=(
                "gsh-tui context",
                "gsh-tui context main --section history",
                "gsh-tui context main --diff 3 7",
                "gsh-tui context --json main",
            ),
            parts=calls.CONTEXT_PARTS,
        )

        agent: Annotated[Word, ShellOption(kind="agent")] = Field(
            Word(), description="Id or name; empty: your own, or the selected agent's"
        )
        section: Annotated[
            Word, ShellOption(choices=(*SECTIONS, THINKING), help="Show only this section's blocks.")
        ] = Field(Word(), description="system, call, memory, tools, history, input; or thinking: of the last turn")
        iteration: Annotated[
            str, ShellOption(metavar="N", help="Show a past request by number; -1 is the last one sent.")
        ] = Field("", description="Number or id of a past request; -1: the last one sent; empty: the next one")
        diff: Annotated[
            str,
            ShellOption(
                metavar="A B", words=2, help="Compare two requests by number, or the next requests of two agents."
            ),
        ] = Field("", description="Two requests: '3 7', '3' (with the next), 'main helper:4'")
        block: Annotated[
            Word, ShellOption(metavar="B", help="Show the exact text of one block, by number, id, file or source.")
        ] = Field(Word(), description="Number, id, file or source of one block: gives its exact text")
        limit: Annotated[int, ShellOption(absent=True)] = Field(
            0, description="Maximum number of blocks per section; 0: the default", ge=0, le=100_000
        )
        request: Annotated[
            bool, ShellOption(with_json=True, help="Show the request itself, as the provider gets it.")
        ] = Field(False, description="The request itself, as JSON")
        texts: Annotated[bool, ShellOption(absent=True, with_json=True)] = Field(
            False, description="Include the texts of all blocks, in JSON", json_schema_extra=FOR_PEOPLE
        )
        self: Annotated[bool, ShellOption(absent=True)] = Field(
            False, description="Your own, which is also the default", json_schema_extra=FOR_PEOPLE
        )
        json: Annotated[bool, ShellOption(absent=True)] = Field(  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]
            False, description="JSON instead of the rendering", json_schema_extra=FOR_PEOPLE
        )


class TimelineParameters(ToolParameters, Returns[ShownCuts]):
    """Whose timeline."""

    COMMAND: ClassVar[str] = "timeline"
    SHELL = ShellForm(
        summary="Show an agent's requests and cuts over time.",
        help="Show AGENT's requests and cuts over time, and when the next compaction is due.",
        parts=calls.CONTEXT_PARTS,
    )

    agent: Annotated[Word, ShellOption(kind="agent")] = Field(
        Word(), description="Id or name; empty: your own, or the selected agent's"
    )
    limit: Annotated[int, ShellOption(help="Maximum number of lines.")] = Field(
        10, description="How many of the newest requests and cuts to list", ge=1, le=100_000
    )
    cut: Annotated[Word, ShellOption(metavar="ID", help="Show one cut's receipt, item by item.")] = Field(
        Word(), description="Id of one cut: show its receipt, item by item"
    )


class WhatIfParameters(ToolParameters, Returns[calls.WhatIfReport]):
    """What would be different."""

    COMMAND: ClassVar[str] = "whatif"

    model: Word = Field(default=Word(), description="Another model, or provider/model")
    without: str = Field(
        default="", description="What to leave out, comma-separated: a section, a tool (`git_*`), a file, a block"
    )
    provider: str = Field(default="", description="Another provider")
    agent: Word = Field(default=Word(), description="Id or name; empty: the selected agent")


class CarryParameters(ToolParameters, Returns[calls.CarryCosts]):
    """What to group by."""

    COMMAND: ClassVar[str] = "carry"

    agent: Word = Field(default=Word(), description="Id or name; empty: the selected agent")
    by: CarryBy = Field(default="source", description="source, file, tool, section or agent")
    limit: int = Field(default=15, description="Maximum number of lines", ge=1, le=10_000)


class ViewCommands:
    """The handlers, each with the outcome of its result."""

    def __init__(self, contexts: ContextRouter, rights: ContextAccess) -> None:
        self._contexts = contexts
        self._rights = rights
        self.context = (
            action(ContextParameters, self._show, context_outcome),
            action(calls.CompareContexts, self._compare, difference_outcome),
            action(calls.ReadContext, self._view, view_outcome),
            action(calls.ReadRequest, self._request, request_outcome),
            action(calls.ReadText, self._text, text_outcome),
        )
        self.timeline = (
            action(TimelineParameters, self._timeline, timeline_outcome),
            action(calls.ShowReceipt, self._receipt, receipt_outcome),
            action(calls.ReadIterations, self._iterations, iterations_outcome),
            action(calls.ReadReceipts, self._cuts, receipts_outcome),
            action(calls.ForecastContext, self._forecast, forecast_outcome),
        )
        self.what_if = action(WhatIfParameters, self._what_if, what_if_outcome)
        self.carry = action(CarryParameters, self._carry, carry_outcome)

    # context

    @context_errors
    async def _show(self, invocation: Invocation, wanted: ContextParameters) -> Shown:
        if wanted.diff:
            before, after = lookup.compared_requests(wanted.diff)
            given = wanted.model_dump(include={"agent", "section", "limit", "texts"})
            return await self._compare(
                invocation, calls.CompareContexts(before=before, after=after, as_json=wanted.json, **given)
            )
        if wanted.block:
            return await self._block(invocation, wanted)
        reader, agent = await self._reader(invocation, wanted.agent)
        if wanted.section == THINKING:
            iteration = wanted.iteration or ("-1" if await reader.iterations(agent, limit=1) else "")
            which, view = await _found(reader, agent, iteration)
            view = msgspec.structs.replace(view, blocks=thoughts(view.blocks))
            wanted = wanted.model_copy(update={"section": Word()})
        else:
            _check_section(wanted.section)
            which, view = await _found(reader, agent, wanted.iteration)
        limit = wanted.limit or (AGENTS_BLOCKS if invocation.caller.is_agent else 0)
        texts = await self._texts(_hashes(view, wanted.section, limit)) if wanted.texts else None
        request = await reader.request(agent, which.id) if wanted.request else None
        whole = not (wanted.section or wanted.json or which.id or request is not None)
        forecast = await reader.forecast(agent) if whole else None
        name = await self._rights.called(view.agent)
        return calls.ContextReport(
            view, name, which.number, wanted.section, limit, texts, request, forecast, wanted.json
        )

    async def _block(self, invocation: Invocation, wanted: ContextParameters) -> calls.BlockText:
        _check_section(wanted.section)
        reader, agent = await self._reader(invocation, wanted.agent)
        _, view = await _found(reader, agent, wanted.iteration)
        number, block = lookup.block(view, wanted.block)
        return calls.BlockText(number, block, await self._contexts.text(block.hash))

    @context_errors
    async def _compare(self, invocation: Invocation, wanted: calls.CompareContexts) -> calls.ContextDifference:
        _check_section(wanted.section)
        agent = await self._rights.target(invocation, wanted.agent)
        first, before = await self._side(invocation, agent, wanted.before)
        second, after = await self._side(invocation, agent, wanted.after)
        found = await asyncio.to_thread(differences, before.blocks, after.blocks)
        if wanted.section:
            found = [one for one in found if one.section == wanted.section]
        hashes = [hash for one in found for hash in (one.hash_before, one.hash_after) if hash]
        texts = await self._texts(hashes) if wanted.texts else None
        return calls.ContextDifference(first, second, before, after, found, wanted.limit, texts, wanted.as_json)

    async def _side(
        self, invocation: Invocation, agent: str, name: calls.RequestName
    ) -> tuple[calls.FoundRequest, ContextView]:
        of = await self._rights.target(invocation, name.agent) if name.agent else agent
        return await _found(await self._contexts.reader(of), of, name.request)

    @context_errors
    async def _view(self, invocation: Invocation, wanted: calls.ReadContext) -> ContextView:
        reader, agent = await self._reader(invocation, wanted.agent)
        return await reader.view(agent, wanted.iteration)

    @context_errors
    async def _request(self, invocation: Invocation, wanted: calls.ReadRequest) -> RequestText:
        reader, agent = await self._reader(invocation, wanted.agent)
        return await reader.request(agent, wanted.iteration)

    @context_errors
    async def _text(self, _invocation: Invocation, wanted: calls.ReadText) -> str:
        return await self._contexts.text(wanted.hash)

    # timeline

    @context_errors
    async def _timeline(self, invocation: Invocation, wanted: TimelineParameters) -> ShownCuts:
        if wanted.cut:
            return await self._receipt(invocation, calls.ShowReceipt(agent=wanted.agent, cut=wanted.cut))
        reader, agent = await self._reader(invocation, wanted.agent)
        receipts = await _receipts(reader, agent)
        iterations = await reader.iterations(agent, limit=lookup.ALL)
        forecast = await reader.forecast(agent)
        name = await self._rights.called(agent)
        return calls.Timeline(agent, name, iterations, receipts, forecast, wanted.limit)

    @context_errors
    async def _receipt(self, invocation: Invocation, wanted: calls.ShowReceipt) -> Receipt:
        """Find the cut: one of the agent's or, for a person, any agent's with exactly this id."""
        reader, agent = await self._reader(invocation, wanted.agent)
        try:
            return lookup.cut(await _receipts(reader, agent), wanted.cut)
        except UsageError:
            if invocation.caller.is_agent:
                raise
            try:
                return await self._contexts.queries.receipt(wanted.cut)
            except ContextError as error:
                if error.kind != "unknown":
                    raise
            raise

    @context_errors
    async def _iterations(self, invocation: Invocation, wanted: calls.ReadIterations) -> calls.IterationList:
        reader, agent = await self._reader(invocation, wanted.agent)
        return calls.IterationList(await reader.iterations(agent, limit=wanted.limit))

    @context_errors
    async def _cuts(self, invocation: Invocation, wanted: calls.ReadReceipts) -> calls.ReceiptList:
        reader, agent = await self._reader(invocation, wanted.agent)
        return calls.ReceiptList(await _receipts(reader, agent))

    @context_errors
    async def _forecast(self, invocation: Invocation, wanted: calls.ForecastContext) -> Forecast:
        reader, agent = await self._reader(invocation, wanted.agent)
        return await reader.forecast(agent)

    # whatif, carry

    @context_errors
    async def _what_if(self, invocation: Invocation, wanted: WhatIfParameters) -> calls.WhatIfReport:
        without = tuple(word.strip() for word in wanted.without.split(",") if word.strip())
        if not (wanted.model or wanted.provider or without):
            hint = "For example `whatif haiku`, `whatif without=git_worktree` or `whatif provider=ollama`."
            raise UsageError("Say what to change.", hint=hint)
        reader, agent = await self._reader(invocation, wanted.agent)
        view = await reader.view(agent)
        found = await reader.what_if(agent, model=wanted.model, provider=wanted.provider, without=without)
        return calls.WhatIfReport(agent, view, found, wanted.model)

    @context_errors
    async def _carry(self, invocation: Invocation, wanted: CarryParameters) -> calls.CarryCosts:
        reader, agent = await self._reader(invocation, wanted.agent)
        return calls.CarryCosts(await reader.carry(agent, by=wanted.by), wanted.limit)

    async def _texts(self, hashes: Iterable[str]) -> dict[str, str]:
        wanted = list(dict.fromkeys(hashes))
        found: dict[str, str] = {}
        for at in range(0, len(wanted), _TOGETHER):
            some = wanted[at : at + _TOGETHER]
            found |= zip(some, await asyncio.gather(*map(self._readable, some)), strict=True)
        return found

    async def _readable(self, hash: str) -> str:
        try:
            return await self._contexts.text(hash)
        except ContextError as error:
            return f"({error.message})"

    async def _reader(self, invocation: Invocation, wanted: str) -> tuple[ContextReader, str]:
        """The reader of the named context, and the name under which it finds the agent."""
        agent = await self._rights.target(invocation, wanted)
        return await self._contexts.reader(agent), agent


async def _found(reader: ContextReader, agent: str, iteration: str) -> tuple[calls.FoundRequest, ContextView]:
    listed = await reader.iterations(agent, limit=lookup.ALL) if lookup.is_past(iteration) else []
    which = lookup.iteration(agent, listed, iteration)
    return which, await reader.view(agent, which.id)


async def _receipts(reader: ContextReader, agent: str) -> list[Receipt]:
    try:
        return await reader.receipts(agent)
    except ContextError as error:
        if error.kind == "unknown":
            return []
        raise


def _check_section(section: str) -> None:
    if section and section not in SECTIONS:
        raise UsageError(f"There is no section {section!r}.", hint=known_names("sections", SECTIONS))


def _hashes(view: ContextView, section: str, limit: int) -> list[str]:
    """The texts of the shown blocks, by section."""
    hashes: list[str] = []
    for name in SECTIONS if not section else (section,):
        mine = [block.hash for block in view.blocks if block.section == name]
        hashes += mine[-limit:] if limit else mine
    return hashes

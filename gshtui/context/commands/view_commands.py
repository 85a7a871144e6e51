"""Looking at a context: the handlers of `context timeline whatif carry`. Nothing here changes anything.

It refuses what is not there with a sentence that says how to find it. Called by the declarations in `commands`.
"""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
from pydantic import Field

from gshtui.bus.context_data import SECTIONS, Receipt
from gshtui.commands.declaration import Invocation, Outcome, UsageError, Word
from gshtui.commands.schema import FOR_PEOPLE, ToolParameters
from gshtui.context.commands import answers, lookup, tables
from gshtui.context.commands import tables as timeline
from gshtui.context.commands.access import ContextAccess
from gshtui.context.commands.answers import context_handler
from gshtui.context.forecast import CarryBy
from gshtui.context.prompt_cache import ledger
from gshtui.context.views import ContextError, ContextView

if TYPE_CHECKING:
    from gshtui.context.commands.context_router import ContextRouter

AGENTS_BLOCKS = 12
"""Blocks of a section that an agent is told when it sets no limit: looking must not fill what is looked at."""
_AGENTS_ITEMS = 40
"""Items of a receipt that an agent is told."""
_TOGETHER = 16
"""Texts that are read at once."""


with warnings.catch_warnings():
    # `json` is what people know it by; that pydantic had a method of the name long ago concerns nobody.
    warnings.simplefilter("ignore", UserWarning)

    class ContextParameters(ToolParameters):
        """What to look at."""

        agent: Word = Field(Word(), description="Id or name; empty: your own, or the agent in front")
        section: Word = Field(Word(), description="system, call, memory, tools, history or input")
        iteration: str = Field(
            "", description="Number or id of a past request; -1: the last one sent; empty: the next one"
        )
        diff: str = Field("", description="Two requests: '3 7', '3' (with the next), 'main helper:4'")
        block: Word = Field(Word(), description="Number, id, file or source of one block: gives its exact text")
        limit: int = Field(0, description="Blocks of each section at most; 0: the usual", ge=0, le=100_000)
        request: bool = Field(False, description="The request itself, as JSON")
        texts: bool = Field(False, description="With the texts of all blocks, in JSON", json_schema_extra=FOR_PEOPLE)
        json: bool = Field(False, description="JSON in place of the rendering", json_schema_extra=FOR_PEOPLE)  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]


class TimelineParameters(ToolParameters):
    """Whose timeline."""

    agent: Word = Field(Word(), description="Id or name; empty: your own, or the agent in front")
    limit: int = Field(10, description="Requests and cuts to list, the newest", ge=1, le=100_000)
    cut: Word = Field(Word(), description="Id of one cut: its receipt, item by item")


class WhatIfParameters(ToolParameters):
    """What would be different."""

    model: Word = Field(Word(), description="Another model, or provider/model")
    without: str = Field("", description="What is left out, with commas: a section, a tool (`git_*`), a file, a block")
    provider: str = Field("", description="Another provider")
    agent: Word = Field(Word(), description="Id or name; empty: the agent in front")


class CarryParameters(ToolParameters):
    """What is counted as one."""

    agent: Word = Field(Word(), description="Id or name; empty: the agent in front")
    by: CarryBy = Field("source", description="source, file, tool, section or agent")
    limit: int = Field(15, description="Lines at most", ge=1, le=10_000)


class ViewCommands:
    """The handlers."""

    def __init__(self, contexts: ContextRouter, rights: ContextAccess) -> None:
        self._contexts = contexts
        self._rights = rights

    @context_handler
    async def context(self, invocation: Invocation, parameters: ContextParameters) -> Outcome:
        """What is sent, the whole, one section, one block, or what differs."""
        if parameters.section and parameters.section not in SECTIONS:
            raise UsageError(f"There is no section {parameters.section!r}.", hint=f"There are {', '.join(SECTIONS)}.")
        agent = await self._rights.target(invocation, parameters.agent)
        if parameters.diff:
            return await self._difference(invocation, agent, parameters)
        listed = await self._contexts.iterations(agent, limit=lookup.ALL) if parameters.iteration else []
        which = lookup.iteration(agent, listed, parameters.iteration)
        view = await self._contexts.view(agent, which.id)
        if parameters.block:
            number, block = lookup.block(view, parameters.block)
            text = await self._contexts.text(block.hash)
            return Outcome(answers.block(block, number, {block.hash: text}), tables.whole_block(block, text, number))
        limit = parameters.limit or (AGENTS_BLOCKS if invocation.caller.is_agent else 0)
        texts = await self.texts(view, parameters.section, limit) if parameters.texts else None
        request = await self._contexts.request(agent, which.id) if parameters.request else None
        data = answers.view(
            view, number=which.number, section=parameters.section, limit=limit, texts=texts, request=request
        )
        if parameters.json:
            return Outcome(data, answers.short(data))
        if request is not None:
            note = f"\n\n{request.note}" if request.note else ""
            return Outcome(data, tables.fenced(request.text, "json") + note)
        view = msgspec.structs.replace(view, agent=await self._rights.called(view.agent))
        if parameters.section:
            return Outcome(data, tables.section(view, parameters.section, limit, which.number))
        forecast = await self._contexts.forecast(agent) if not which.id else None
        if forecast is not None:
            data["forecast"] = answers.forecast(forecast)
        return Outcome(data, tables.overview(view, forecast, which.number))

    async def _difference(self, invocation: Invocation, agent: str, parameters: ContextParameters) -> Outcome:
        target = partial(self._rights.target, invocation)
        first, second = await lookup.sides(self._contexts, agent, parameters.diff, target)
        before = await self._contexts.view(first.agent, first.id)
        after = await self._contexts.view(second.agent, second.id)
        found = await self._contexts.difference(before, after)
        if parameters.section:
            found = [one for one in found if one.section == parameters.section]
        hashes = [hash for one in found for hash in (one.hash_before, one.hash_after) if hash]
        texts = await self._texts(hashes) if parameters.texts else None
        data = {
            "from": {"agent": before.agent, "iteration": first.number or None, "tokens": before.tokens},
            "to": {"agent": after.agent, "iteration": second.number or None, "tokens": after.tokens},
            "differences": answers.difference(found, texts),
        }
        if parameters.json:
            return Outcome(data, answers.short(data))
        shown = found[-parameters.limit :] if parameters.limit else found
        return Outcome(data, tables.difference(shown, (str(first), str(second))))

    @context_handler
    async def timeline(self, invocation: Invocation, parameters: TimelineParameters) -> Outcome:
        """The requests so far, or one cut's receipt."""
        agent = await self._rights.target(invocation, parameters.agent)
        if parameters.cut:
            receipt = await self._receipt(invocation, parameters, agent)
            data = answers.brief(receipt, _AGENTS_ITEMS) if invocation.caller.is_agent else answers.receipt(receipt)
            return Outcome(data, timeline.receipt(receipt))
        receipts = await self._receipts(agent)
        iterations = await self._contexts.iterations(agent, limit=lookup.ALL)
        forecast = await self._contexts.forecast(agent)
        numbered = list(enumerate(iterations, 1))
        if invocation.caller.is_agent:
            numbered = numbered[-parameters.limit :]
        cached = {entry.iteration: {"cache": answers.cache(entry)} for entry in ledger(iterations)}
        data = {
            "agent": agent,
            "requests": len(iterations),
            "iterations": [answers.iteration(one, number) | cached[one.id] for number, one in numbered],
            "cuts": [answers.receipt(receipt) | {"items": len(receipt.items)} for receipt in receipts],
            "forecast": answers.forecast(forecast),
        }
        called = await self._rights.called(agent)
        return Outcome(data, timeline.timeline(called, iterations, receipts, forecast, parameters.limit))

    async def _receipt(self, invocation: Invocation, parameters: TimelineParameters, agent: str) -> Receipt:
        """The cut that is meant: one of the agent's or, for a person, whoever's has this whole id."""
        try:
            return lookup.cut(await self._receipts(agent), parameters.cut)
        except UsageError:
            if invocation.caller.is_agent:
                raise
            try:
                return await self._contexts.receipt(parameters.cut)
            except ContextError as error:
                if error.kind != "unknown":
                    raise
            raise

    @context_handler
    async def what_if(self, invocation: Invocation, parameters: WhatIfParameters) -> Outcome:
        """The next request under other circumstances."""
        without = tuple(word.strip() for word in parameters.without.split(",") if word.strip())
        if not (parameters.model or parameters.provider or without):
            hint = "`whatif haiku`, `whatif without=git_worktree`, `whatif provider=ollama`."
            raise UsageError("Say what would be different.", hint=hint)
        agent = await self._rights.target(invocation, parameters.agent)
        view = await self._contexts.view(agent)
        told = await self._contexts.what_if(
            agent, model=parameters.model, provider=parameters.provider, without=without
        )
        data = {"agent": agent, "now": {"model": view.model, "tokens": view.expected or view.tokens}}
        return Outcome(data | answers.what_if(told), tables.what_if(view, told, parameters.model))

    @context_handler
    async def carry(self, invocation: Invocation, parameters: CarryParameters) -> Outcome:
        """What was read once and is paid for with every request."""
        agent = await self._rights.target(invocation, parameters.agent)
        found = await self._contexts.carry(agent, by=parameters.by)
        return Outcome([answers.carry(one) for one in found], tables.carry(found, parameters.limit))

    async def texts(self, view: ContextView, section: str = "", limit: int = 0) -> dict[str, str]:
        """The texts of a view's blocks, by hash."""
        hashes: list[str] = []
        for name in SECTIONS if not section else (section,):
            mine = [block.hash for block in view.blocks if block.section == name]
            hashes += mine[-limit:] if limit else mine
        return await self._texts(hashes)

    async def _texts(self, hashes: Iterable[str]) -> dict[str, str]:
        wanted = list(dict.fromkeys(hashes))
        found: dict[str, str] = {}
        for at in range(0, len(wanted), _TOGETHER):
            some = wanted[at : at + _TOGETHER]
            found |= zip(some, await asyncio.gather(*map(self._text, some)), strict=True)
        return found

    async def _text(self, hash: str) -> str:
        try:
            return await self._contexts.text(hash)
        except ContextError as error:
            return f"({error.message})"

    async def _receipts(self, agent: str) -> list[Any]:
        try:
            return await self._contexts.receipts(agent)
        except ContextError as error:
            if error.kind == "unknown":
                return []
            raise

"""The requests to any agent's model: past ones, the next one, their bytes, cuts and costs.

Defines the protocols for finding agents. Changes nothing and asks no provider.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from gshtui.bus.bus import Bus
from gshtui.bus.context_data import Block, Iteration, Receipt
from gshtui.bus.messages import Message, Usage
from gshtui.context.assembly.assembly import Assembly, Inputs, RequestInputs
from gshtui.context.assembly.limits import ContextSettings, limits
from gshtui.context.assembly.prompt_cache import is_cache_warm, marked
from gshtui.context.assembly.request_record import passages_of, recorded_texts, request_of, restored_outputs, tools_of
from gshtui.context.cuts.cutter import Cutter
from gshtui.context.cuts.forecast import CarryBy, WhatIfTarget, carry_costs, forecast, suppose
from gshtui.context.cuts.receipts import found_receipt, receipts_of
from gshtui.context.engine import ContextDraft, ContextEngine
from gshtui.context.log.blocks import Correction, Passage
from gshtui.context.log.conversation_log import ConversationLog
from gshtui.context.log.overlays import OverlayLog
from gshtui.context.log.ports import ContextStore
from gshtui.context.views import Carry, ContextError, ContextView, Forecast, RequestText, WhatIf
from gshtui.providers.port import Capabilities, Delta, Provider, ProviderError, Request
from gshtui.providers.wire.request_hash import text_of, was_sent
from gshtui.store.engine.store_errors import StoreError


class UnavailableProvider:
    """See the module's text."""

    def __init__(self, name: str, capabilities: Capabilities) -> None:
        self.name = name
        self._capabilities = capabilities

    def capabilities(self, model: str) -> Capabilities:
        return self._capabilities

    def body(self, request: Request) -> dict[str, Any]:
        """Only a note: how this provider writes requests is unknown here."""
        return {"model": request.model, "note": f"The provider {self.name!r} is not available here."}

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        raise ProviderError("missing", f"The provider {self.name!r} is not available here.", hint="Is its key set?")
        yield  # an async generator, as the port has it

    async def close(self) -> None:
        """There is nothing to close."""


class LiveAgent(Protocol):
    """An agent of this process."""

    @property
    def engine(self) -> ContextEngine: ...

    async def messages(self) -> list[Message]: ...

    async def draft(self) -> ContextDraft: ...


class ContextSubject(msgspec.Struct, frozen=True):
    """See the module's text."""

    agent: str
    """The name under which its iterations are stored."""
    session: str
    live: LiveAgent | None = None
    name: str = ""
    """As people know it; empty: by the same name."""


BeginAgent = Callable[[str], AbstractAsyncContextManager[LiveAgent | None]]
"""(agent) → the agent as it would begin, to be looked at; `None`: that is not known here."""
Find = Callable[[str], Awaitable[ContextSubject]]
"""An agent by name or id. Raises `ContextError` (`unknown`) and `StoreError`."""
Choose = Callable[[str, str], Awaitable[tuple[Provider, str]]]
"""(provider, model) → a provider to ask; either may be empty. Raises `ProviderError`."""
ReadMemory = Callable[[str, str], Awaitable[Sequence[Passage]]]
"""(agent, first prompt of the conversation) → the memory section as it is now. Raises `StoreError`."""
Abilities = Callable[[str, str], Capabilities]
"""(provider, model) → the known facts about it, without network access."""


class ContextEnvironment(msgspec.Struct, frozen=True):
    """The service's other needs, besides bus and record."""

    find: Find
    choose: Choose
    abilities: Abilities
    load: Callable[[str], Awaitable[Sequence[Message]]]
    """The log of a conversation. Raises `StoreError`."""
    redact: Callable[[str], str] = lambda text: text
    memory: ReadMemory | None = None
    """Reads the memory that an agent's next request has; `None`: what its last one had is as near as can be told."""
    begin: BeginAgent | None = None
    """Shows what an agent that was never asked would send; `None`: nothing does."""


T = TypeVar("T")
_UNSENT = "its system, call and tools are known once it has; memory, history and input are those of its first request."
_BEGINS = "this is its first request as it would be now, without the prompt; a window may choose another model or mode."
_FRESH = 5.0
"""Seconds for which what an agent would begin with is not looked up again: a listing asks for each of its files."""
_CARRY = 200
"""How many of the newest requests are examined for the carry cost."""
_TOGETHER = 50


class CurrentContext(msgspec.Struct):
    """An agent's next request as of now."""

    subject: ContextSubject
    cutter: Cutter
    terms: RequestInputs
    assembly: Assembly
    correction: Correction
    note: str = ""


class ContextQueries:
    """See the module's text."""

    def __init__(
        self, bus: Bus, context_store: ContextStore, settings: ContextSettings, around: ContextEnvironment
    ) -> None:
        self._bus = bus
        self._context_store = context_store
        self._settings = settings
        self._around = around
        self._cutters: dict[str, tuple[Cutter, Correction]] = {}
        """Session → its cutter here, separate from the engine's own, which may be busy."""
        self._last: dict[str, tuple[Assembly, dict[str, int]]] = {}
        """Session → the last view, and the place of each text in it once one was requested."""
        self._receipts: dict[str, Receipt] = {}
        self._beginnings: dict[str, tuple[float, RequestInputs]] = {}
        """Agent → when it was looked at, and the terms with which it would begin."""

    async def iterations(self, agent: str, *, limit: int = 500) -> list[Iteration]:
        """The agent's requests in its conversation, oldest first."""
        subject = await self.subject(agent, begun=False)
        if not subject.session:
            return []
        return await self.await_record(
            self._context_store.iterations(subject.session, agent=subject.agent, limit=limit)
        )

    async def view(self, agent: str, iteration: str = "") -> ContextView:
        """A request's contents, block by block; without an iteration those of the next one as of now."""
        subject = await self.subject(agent, begun=bool(iteration))
        if iteration:
            return await self._past(subject, iteration)
        standing = await self.standing(subject)
        terms, assembly = standing.terms, standing.assembly
        blocks = assembly.blocks
        if subject.session:
            blocks = await self.await_record(is_cache_warm(self._context_store, terms, blocks))
        return ContextView(
            agent=subject.agent,
            session=subject.session,
            model=terms.model,
            provider=terms.provider.name,
            window=terms.capabilities.window,
            tokens=assembly.tokens,
            trigger=terms.limits.trigger,
            blocks=blocks,
            note=standing.note,
            expected=standing.cutter.expected(terms, assembly.tokens),
            error=standing.correction.error,
            temperature=assembly.request.temperature,
            effort=terms.settings.effort if terms.capabilities.effort else "",
        )

    async def text(self, hash: str) -> str:
        for assembly, places in self._last.values():
            if not places:
                places |= {block.hash: place for place, block in enumerate(assembly.blocks)}
            if (place := places.get(hash)) is not None:
                return assembly.text(place)
        return await self.await_record(self._context_store.text(hash))

    async def request(self, agent: str, iteration: str = "") -> RequestText:
        """A request in its provider's form, as JSON; keys and other secrets are redacted."""
        subject = await self.subject(agent, begun=bool(iteration))
        if not iteration:
            standing = await self.standing(subject)
            body = standing.terms.provider.body(standing.assembly.request)
            return RequestText(self._around.redact(text_of(body)), not standing.note, standing.note)
        mark, blocks, texts, messages = await self._kept(subject, iteration)
        log = ConversationLog()
        log.update(messages)
        provider = await self._provider(mark.provider, mark.model)
        request = request_of(mark.model, blocks, texts, log)
        body, exact = provider.body(request), False
        for longest in (0, await self._draft_output(subject), mark.window - mark.tokens - 64):
            tried = provider.body(replace(request, max_output=max(0, longest)))
            if was_sent(tried, mark.sent):
                body, exact = tried, True
                break
        note = "" if exact else "Reassembled from its blocks; the bytes that were sent may differ."
        return RequestText(self._around.redact(text_of(body)), exact, note)

    async def receipts(self, agent: str) -> list[Receipt]:
        """Every cut of the agent's conversation, oldest first, including truncations at capture."""
        subject = await self.subject(agent)
        cutter, _ = await self.cutter(subject)
        messages = await self._messages(subject)
        found = await asyncio.to_thread(receipts_of, subject.agent, subject.session, messages, cutter.plan)
        self._receipts |= {receipt.id: receipt for receipt in found}
        return found

    async def receipt(self, id: str) -> Receipt:
        found = await self.await_record(
            found_receipt(self._context_store, self._around.load, id)
        ) or self._receipts.get(id)
        if found is None:
            raise ContextError("unknown", f"There is no cut {id!r}.", "`timeline` lists an agent's cuts.")
        return found

    async def forecast(self, agent: str) -> Forecast:
        """In how many turns the next compaction comes."""
        view = await self.view(agent)
        return forecast(await self.iterations(agent), view.expected or view.tokens, view.trigger)

    async def what_if(self, agent: str, *, model: str = "", provider: str = "", without: Sequence[str] = ()) -> WhatIf:
        """The next request with another model, or without some of its contents."""
        view = await self.view(agent)
        subject = await self.subject(agent, begun=False)
        name, chosen = view.provider, view.model
        if model or provider:
            try:
                found, chosen = await self._around.choose(provider, model)
                name, able = found.name, found.capabilities(chosen)
            except ProviderError as error:
                # A model's price is known even without the key for using it.
                able, name, chosen = self._around.abilities(provider, model), provider or name, model
                if not able.known:
                    raise ContextError("unknown", error.message, error.hint) from error
        else:
            able = self._around.abilities(name, chosen)
        standing = await self.standing(subject)
        prunable = standing.cutter.outputs.prunable(standing.terms.limits.protect)
        target = WhatIfTarget(chosen, name, able, limits(able, self._settings).trigger, prunable)
        return suppose(view, target, without)

    async def carry(self, agent: str, *, by: CarryBy = "source") -> list[Carry]:
        """The cost of sending each thing again and again."""
        marks = await self.iterations(agent, limit=_CARRY)
        sent = [(mark, await self.await_record(self._context_store.blocks(mark.id))) for mark in marks]
        return await asyncio.to_thread(carry_costs, sent, self._price, by)

    # What the editor uses, too

    async def subject(self, agent: str, *, begun: bool = True) -> ContextSubject:
        """An agent by name or id. `begun`: only one that has a conversation."""
        subject = await self.await_record(self._around.find(agent))
        if begun and not subject.session:
            raise _not_begun(subject)
        return subject

    async def standing(self, subject: ContextSubject) -> CurrentContext:
        """The next request as of now, before any cut."""
        cutter, correction = await self.cutter(subject)
        note = ""
        if subject.live is not None:
            correction = subject.live.engine.correction
            try:
                terms = await subject.live.engine.terms(await subject.live.messages(), await subject.live.draft())
                terms = await self._newest(terms, cutter, subject.live.engine.settings)
            except (ProviderError, StoreError) as error:
                raise ContextError("failed", error.message, error.hint) from error
        else:
            terms, note = await self._elsewhere(subject, cutter)
        assembly = cutter.assemble(terms)
        self._last[subject.session or subject.agent] = assembly, {}
        return CurrentContext(subject, cutter, terms, assembly, correction, note)

    async def _newest(self, terms: RequestInputs, cutter: Cutter, settings: ContextSettings) -> RequestInputs:
        """Terms with the decisions since the engine last looked: it looks again before its next request."""
        tuned = settings.tuned(cutter.plan.tuned)
        outputs = await restored_outputs(self._context_store, terms.messages, cutter.plan)
        bounds = limits(terms.capabilities, tuned)
        effort = tuned.effort if terms.capabilities.effort else ""
        inputs = replace(terms.inputs, outputs=outputs, effort=effort)
        return replace(terms, settings=tuned, limits=bounds, inputs=inputs)

    async def _elsewhere(self, subject: ContextSubject, cutter: Cutter) -> tuple[RequestInputs, str]:
        """The terms of an agent that is not in this process: the fixed sections as it sent them last."""
        marks: Sequence[Iteration] = ()
        if subject.session:
            marks = await self.await_record(
                self._context_store.iterations(subject.session, agent=subject.agent, limit=1)
            )
        if not marks and (begins := await self._beginning(subject, cutter)) is not None:
            return begins
        blocks: Sequence[Block] = ()
        if marks:
            blocks = await self.await_record(self._context_store.blocks(marks[0].id))
        elif not subject.session:
            raise _not_begun(subject)
        fixed = [block for block in blocks if block.section not in ("history", "input")]
        texts = await self._texts(fixed)
        passages = passages_of(fixed, texts)
        if marks:
            window, model = marks[0].window, marks[0].model
            provider = await self._provider(marks[0].provider, model)
        else:
            provider, model, window = *await self._first_choice(), 0
        able = provider.capabilities(model)
        able = replace(able, window=window or able.window or 100_000)
        messages = await self._messages(subject)
        note = "System, call, memory and tools are those of its last request; history and input are the next one's."
        if self._around.memory is not None:
            first = next((message.text for message in messages if message.role == "user"), "")
            memory = await self.await_record(self._around.memory(subject.agent, first))
            passages = (*(one for one in passages if one.section != "memory"), *memory)
            note = "System, call and tools are those of its last request; memory, history and input are the next one's."
        if not marks:
            note = f"{subject.name or subject.agent} has sent nothing yet: {_UNSENT}"
        settings = self._settings.tuned(cutter.plan.tuned)
        outputs = await restored_outputs(self._context_store, messages, cutter.plan)
        inputs = Inputs(model, passages, tools_of(fixed, texts), "", 0, outputs)
        terms = RequestInputs(
            subject.agent,
            subject.session,
            provider,
            model,
            able,
            settings,
            limits(able, settings),
            messages,
            inputs,
        )
        return terms, note

    async def _beginning(self, subject: ContextSubject, cutter: Cutter) -> tuple[RequestInputs, str] | None:
        """The terms of an agent that was never asked: what it would send now. `None`: that is not known here."""
        at, known = self._beginnings.get(subject.agent, (0.0, None))
        if known is None or time.monotonic() - at > _FRESH:
            known = await self._begun(subject)
            if known is None:
                return None
            self._beginnings[subject.agent] = time.monotonic(), known
        terms = replace(known, messages=await self._messages(subject))
        terms = await self._newest(terms, cutter, self._settings)
        return terms, f"{subject.name or subject.agent} has sent nothing yet: {_BEGINS}"

    async def _begun(self, subject: ContextSubject) -> RequestInputs | None:
        if self._around.begin is None:
            return None
        try:
            async with self._around.begin(subject.agent) as agent:
                if agent is None:
                    return None
                terms = await agent.engine.terms([], await agent.draft())
        except (ProviderError, StoreError) as error:
            raise ContextError("failed", error.message, error.hint) from error
        provider = await self._provider(terms.provider.name, terms.model)
        return replace(terms, agent=subject.agent, session=subject.session, provider=provider)

    async def cutter(self, subject: ContextSubject) -> tuple[Cutter, Correction]:
        """The cutter for this agent's context here, and the correction of its estimates."""
        if not subject.session:
            correction = Correction()
            return Cutter(self._bus, OverlayLog(self._context_store, ""), correction), correction
        if subject.session not in self._cutters:
            correction = Correction()
            for mark in await self.await_record(
                self._context_store.iterations(subject.session, agent=subject.agent, limit=20)
            ):
                correction.note(f"{mark.provider}/{mark.model}", mark.tokens, mark.usage or Usage())
            decisions = OverlayLog(self._context_store, subject.session)
            self._cutters[subject.session] = Cutter(self._bus, decisions, correction), correction
        cutter, correction = self._cutters[subject.session]
        await self.await_record(cutter.decisions.refresh())
        return cutter, correction

    async def _messages(self, subject: ContextSubject) -> Sequence[Message]:
        if subject.live is not None:
            return await subject.live.messages()
        if not subject.session:
            return []
        return await self.await_record(self._around.load(subject.session))

    async def _past(self, subject: ContextSubject, iteration: str) -> ContextView:
        mark = await self._mark(subject, iteration)
        blocks = marked(await self.await_record(self._context_store.blocks(iteration)), mark.usage, mark.provider)
        return ContextView(
            agent=subject.agent,
            session=mark.session,
            iteration=mark,
            model=mark.model,
            provider=mark.provider,
            window=mark.window,
            tokens=mark.tokens,
            trigger=mark.trigger,
            blocks=blocks,
            expected=mark.tokens,
        )

    async def _mark(self, subject: ContextSubject, iteration: str) -> Iteration:
        marks = await self.await_record(
            self._context_store.iterations(subject.session, agent=subject.agent, limit=100_000)
        )
        found = next((mark for mark in marks if mark.id == iteration), None)
        if found is None:
            raise ContextError("unknown", f"{subject.agent} made no request {iteration!r}.", "`timeline` lists them.")
        return found

    async def _kept(
        self, subject: ContextSubject, iteration: str
    ) -> tuple[Iteration, Sequence[Block], Mapping[str, str], Sequence[Message]]:
        mark = await self._mark(subject, iteration)
        blocks = await self.await_record(self._context_store.blocks(iteration))
        texts, messages = await self._texts(blocks), await self._messages(subject)
        if unkept := {block.hash for block in blocks} - texts.keys():  # a process that ended too early to keep them
            texts |= recorded_texts(unkept, messages)
        return mark, blocks, texts, messages

    async def _texts(self, blocks: Sequence[Block]) -> dict[str, str]:
        wanted = list(dict.fromkeys(block.hash for block in blocks))
        found: dict[str, str] = {}
        for at in range(0, len(wanted), _TOGETHER):
            some = wanted[at : at + _TOGETHER]
            texts = await asyncio.gather(*(self._context_store.text(hash) for hash in some), return_exceptions=True)
            found |= {hash: text for hash, text in zip(some, texts, strict=True) if isinstance(text, str)}
        return found

    async def _provider(self, provider: str, model: str) -> Provider:
        try:
            found, _ = await self._around.choose(provider, model)
        except ProviderError:
            return UnavailableProvider(provider, self._around.abilities(provider, model))
        return found

    async def _first_choice(self) -> tuple[Provider, str]:
        """What an agent without a model of its own begins with."""
        try:
            return await self._around.choose("", "")
        except ProviderError:
            return UnavailableProvider("", Capabilities()), ""

    async def _draft_output(self, subject: ContextSubject) -> int:
        try:
            return (await subject.live.draft()).max_output if subject.live is not None else 0
        except ProviderError:
            return 0

    def _price(self, mark: Iteration) -> float | None:
        able = self._around.abilities(mark.provider, mark.model)
        usage = mark.usage or Usage(input=mark.tokens)
        return able.cost(msgspec.structs.replace(usage, output=0, reasoning=0))

    async def await_record(self, work: Awaitable[T]) -> T:
        """The outcome of work on the record, whose errors become `ContextError`."""
        try:
            return await work
        except StoreError as error:
            kind = "unknown" if error.kind == "unknown" else "record"
            raise ContextError(kind, error.message, error.hint) from error


def _not_begun(subject: ContextSubject) -> ContextError:
    who = subject.name or subject.agent
    return ContextError("unknown", f"{who} has no conversation here yet.", "It begins with the first prompt.")

"""The context engine of one agent: before each request it prunes, compacts over the trigger, assembles and stores.

Owns the order of these steps, and sends a text that accompanies prompts only once; handles one request at a time.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from gshtui.bus.agent_data import EffortChoice
from gshtui.bus.bus import Bus
from gshtui.bus.context_data import CutKind, Receipt
from gshtui.bus.events.agent_events import ContextAssembled
from gshtui.bus.events.context_events import CutFailed
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.messages import Message, Usage
from gshtui.context.assembly.assembly import Assembly, CutRequest, Inputs, RequestInputs
from gshtui.context.assembly.limits import ContextSettings, Limits, capture_bytes, limits
from gshtui.context.assembly.request_record import RequestRecorder, restored_outputs
from gshtui.context.cuts.cutter import BeforeCompaction, Cutter, Review
from gshtui.context.cuts.summary import ChooseSmall
from gshtui.context.cuts.window_fit import CutPace, Shrinker, refusal, with_room
from gshtui.context.log.blocks import Correction, Passage
from gshtui.context.log.conversation_log import ConversationLog
from gshtui.context.log.history import SPOKEN
from gshtui.context.log.overlays import ContextPlan, OverlayLog, SideNote, Tuned
from gshtui.context.log.ports import ContextStore, Contribute, Contribution, SideText
from gshtui.context.log.tool_budget import ToolOffer, worded
from gshtui.context.views import ContextError
from gshtui.providers.port import Provider, ProviderError, Request, ToolSpec
from gshtui.providers.wire.media_notes import media_rule
from gshtui.providers.wire.provider_errors import may_be_too_long
from gshtui.providers.wire.refusals import LearntWindows
from gshtui.store.engine.store_errors import PASSING, StoreError
from gshtui.system.tasks import start_job
from gshtui.text.truncation import shorten


def fitted(along: SideText, limit: int) -> SideText:
    """The text, shortened to this many bytes if a small window has no room for all of it."""
    text = shorten(along.text, limit)
    return along if text == along.text else replace(along, text=text)


def is_news(along: SideText, plan: ContextPlan, log: ConversationLog) -> bool:
    """Whether to send it with the newest prompt."""
    newest = next((t for told in reversed(plan.told.values()) for t in told if t.source == along.source), None)
    if newest is None or along.once:
        return newest is None
    base = log.place(plan.base.upto) if plan.base is not None else None
    place = log.place(newest.message)
    return newest.text != along.text or (base is not None and place is not None and place <= base)


_ALONG = 8
"""A text that accompanies a prompt takes at most this fraction of a request: an eighth."""
_STEP = 200
"""Messages that are rendered ahead in one go: a few milliseconds."""
_TOGETHER = 2_000
"""Blocks that are set aside in one go: a few milliseconds."""
_LARGE = 4_000
"""Tokens of a request that may be too long for a model whose window nobody knows."""
_OVERFLOWS = 4
"""Most retries in one turn after a provider rejects the request as too long."""


class ContextDraft(msgspec.Struct, frozen=True):
    """The loop's facts about the request that it is about to make."""

    provider: Provider
    model: str
    tools: tuple[ToolSpec, ...] = ()
    turn: str = ""
    iteration: int = 0
    max_output: int = 0
    findable: frozenset[str] = frozenset()
    """Tools that are not among `tools`, but that the model can find."""

    @property
    def key(self) -> str:
        return f"{self.provider.name}/{self.model}"


class Prepared(msgspec.Struct, frozen=True):
    """A request that is ready to be sent, and the id under which it is stored."""

    assembly: Assembly
    iteration: str
    key: str


class RequestOutcome(msgspec.Struct, frozen=True):
    """How a request ended; `sent` is the hash of what went out."""

    iteration: str
    usage: Usage | None = None
    cost: float | None = None
    error: str = ""
    sent: str = ""


async def _nothing_owed() -> None:
    """For a conversation whose messages are all recorded."""


class ContextEngine:
    """See the module's text. Call `converse` before anything else."""

    def __init__(
        self,
        bus: Bus,
        agent: str,
        context_store: ContextStore,
        settings: ContextSettings,
        contribute: Sequence[Contribute] = (),
        review: Review | None = None,
    ) -> None:
        """`contribute`: sources of passages, in their order; `review`: shows summaries before they count."""
        self.agent = agent
        self.session = ""
        self.settings = settings
        self.correction = Correction()
        self._bus = bus
        self._context_store = context_store
        self._contribute = tuple(contribute)
        self._review = review
        self._lock = asyncio.Lock()
        self._cut_requests: deque[tuple[CutKind, CutRequest]] = deque()
        self._accepted: dict[str, int] = {}
        """Model → the tokens of the largest request that it has answered."""
        self._windows = LearntWindows()
        """Model → the window that it really has, if its provider's answers show that it is smaller than stated."""
        self._pace = CutPace()
        self._passages: tuple[Passage, ...] = ()
        self._restored: tuple[ContextPlan, Mapping[str, str]] | None = None
        self._offer = ToolOffer()
        self._filing = RequestRecorder(context_store)
        self._keeping: asyncio.Task[None] | None = None
        self._settle: Callable[[], Awaitable[None]] = _nothing_owed
        self._outcomes: deque[RequestOutcome] = deque()
        """Those that the record does not have yet."""
        self._cutter: Cutter | None = None
        self.before_compaction: BeforeCompaction | None = None
        """Says why a conversation must not be compacted now; empty: it may be."""
        self.choose_small: ChooseSmall | None = None
        """The model that writes summaries; `None`: the agent's own."""

    def converse(self, session: str, settle: Callable[[], Awaitable[None]] = _nothing_owed) -> None:
        """Switch to a conversation; it is read when first needed. `settle`: has everything that was said in it
        recorded; nothing is sent before that. Raises `StoreError`.
        """
        self._settle = settle
        if session != self.session:
            self.session, self._cutter = session, None

    async def _ready(self) -> None:
        """Load new decisions about the conversation, the first time all of them. Raises `StoreError`."""
        if self._cutter is not None:
            await self.cutter.decisions.refresh()
            return
        session = self.session
        decisions = OverlayLog(self._context_store, session)
        await decisions.refresh()
        self.correction = Correction()
        for past in await self._context_store.iterations(session, agent=self.agent, limit=20):
            if past.usage is not None:
                self.correction.note(f"{past.provider}/{past.model}", past.tokens, past.usage)
        self._cutter = Cutter(self._bus, decisions, self.correction, self._review)
        self._cutter.before_compaction = self.before_compaction
        self._cutter.choose_small = self.choose_small
        self._pace, self._filing, self._restored = CutPace(), RequestRecorder(self._context_store), None
        self._passages = ()

    @property
    def cutter(self) -> Cutter:
        """The cutter of the current conversation."""
        assert self._cutter is not None, "no conversation is open"
        return self._cutter

    async def get_ready(self, messages: Sequence[Message], provider: Provider, model: str) -> None:
        """Do ahead, in small steps, what makes the first request of a long conversation late.

        The next request does what is left, and does again what turns out otherwise. Raises `StoreError`.
        """
        session, rule = self.session, media_rule(provider.capabilities(model))
        kept = -1
        while True:
            await asyncio.sleep(0)
            async with self._lock:
                if self.session != session or self._pace.turn:
                    return
                if self._cutter is None:
                    await self._ready()
                history, plan = self.cutter.assembler.history, self.cutter.plan
                if kept < 0:
                    if self._restored is None or self._restored[0] is not plan:
                        self._restored = plan, await restored_outputs(self._context_store, messages, plan)
                    rendered = history.render(messages, plan, self._restored[1], "", SPOKEN, rule, _STEP)
                    if not rendered:
                        continue
                elif kept < len(history.blocks):
                    step = slice(kept, kept + _TOGETHER)
                    blocks, parts = history.blocks[step], history.parts[step]
                    await self._filing.set_aside(session, self.agent, blocks, parts, history.log)
                    kept += _TOGETHER
                    continue
                else:
                    return
            kept = 0
            await asyncio.to_thread(provider.body, Request(model, (), tuple(history.messages)))  # its adapter keeps it
            await self._context_store.recall(session, self.agent)

    async def settle(self) -> None:
        """Return once what was sent is kept whole; what cannot be kept is left for the next request."""
        if self._keeping is not None:
            await asyncio.wait((self._keeping,))

    def _keep_rest(self) -> None:
        """Keep the texts that the last request did not wait for, now that it is answered."""
        if self._filing.unkept and (self._keeping is None or self._keeping.done()):
            self._keeping = start_job(self._keep(self._filing, self.session), f"what {self.agent} has sent")

    async def _keep(self, filing: RequestRecorder, session: str) -> None:
        with contextlib.suppress(StoreError):  # the record reports its own trouble
            await filing.keep_rest(session)

    async def effort(self) -> EffortChoice:
        """How hard the model is to think in the open conversation. Raises `StoreError`."""
        async with self._lock:
            await self._ready()
        return self.settings.tuned(self.cutter.plan.tuned).effort

    async def set_effort(self, effort: EffortChoice) -> None:
        """Keep it with the conversation; it holds from the next request on. Raises `StoreError`."""
        if self._cutter is None:
            async with self._lock:
                await self._ready()
        await self.cutter.decisions.add(Tuned(effort=effort))

    def output_bytes(self, draft: ContextDraft) -> int:
        """Bytes of one tool's output to keep at capture; 0: all."""
        settings = self.settings if self._cutter is None else self.settings.tuned(self._cutter.plan.tuned)
        return capture_bytes(draft.provider.capabilities(draft.model).window, settings.output_bytes)

    async def prepare(self, messages: Sequence[Message], draft: ContextDraft) -> Prepared:
        """Prepare a request; when this returns, the request is stored and published. Raises `ContextError`: `full`: it
        does not fit, whatever is cut; `StoreError`: the record failed.
        """
        async with self._lock:
            await self._settle()
            await self._write_outcomes()
            await self._ready()
            if self._pace.turn != draft.turn:
                await self._begin(messages, draft)
            terms = await self._terms(messages, draft)
            shrinker = Shrinker(self._bus, self.cutter, self._pace)
            await self._grant(terms, shrinker)
            await shrinker.shrink(terms)
            assembly = self.cutter.assemble(terms)
            expected = self.cutter.expected(terms, assembly.tokens)
            if (why := refusal(terms, assembly, expected, again=self._full_again)) is not None:
                raise why
            assembly = with_room(terms, assembly, expected)
            history = self.cutter.assembler.history
            kept = await self._filing.file(terms, assembly, draft.iteration, self._pace.cuts, history)
            self._pace.cuts.clear()
        self._bus.publish(
            ContextAssembled(
                agent=self.agent,
                session=self.session,
                turn=draft.turn,
                iteration=draft.iteration,
                sections=assembly.sections,
                tokens=assembly.tokens,
                expected=expected,
                window=draft.provider.capabilities(draft.model).window,
                trigger=terms.limits.trigger,
                id=kept.id,
            )
        )
        return Prepared(assembly, kept.id, draft.key)

    @property
    def _full_again(self) -> bool:
        return self._pace.just_compacted and self._pace.answers > 0

    async def answered(self, prepared: Prepared, usage: Usage, cost: float | None, sent: str = "") -> None:
        """The provider has answered and counted; `sent` is the hash of what went out. Never raises."""
        self._pace.answers += 1
        expected = self.correction.expected(prepared.key, prepared.assembly.tokens)
        self._accepted[prepared.key] = max(expected, self._accepted.get(prepared.key, 0))
        self._windows.confirm(prepared.key)
        self.correction.note(prepared.key, prepared.assembly.tokens, usage)
        await self._update(prepared.iteration, usage, cost, sent=sent)

    async def failed(self, prepared: Prepared, error: str, sent: str = "") -> None:
        """Note that the request failed or (without an error) was interrupted; `sent` as in `answered`. Never raises."""
        await self._update(prepared.iteration, error=error, sent=sent)

    def overflowed(self, prepared: Prepared, why: str) -> bool:
        """Handle a rejection as too long: the window is smaller than stated. Returns whether to prepare it again."""
        self._pace.overflows += 1
        if self._pace.overflows > _OVERFLOWS:
            return False
        seen = self.correction.expected(prepared.key, prepared.assembly.tokens)
        self._windows.learn(prepared.key, max(256, int(seen * 0.95)))
        # What was compacted for a larger window may be compacted again for this one.
        self._pace.compacted_at = None
        text = f"{why.rstrip('.')}. Our estimate was {seen:,} tokens; the context is cut and sent again."
        self._bus.publish(Noticed(level="warning", text=text, about=self.agent))
        return True

    def suspected(self, prepared: Prepared, error: ProviderError) -> bool:
        """Handle a rejection that may be for the length, in words that nobody knows. Returns whether to try it smaller.

        Only for a large request, once a turn: one that names a size, or is far above all that the model has answered.
        """
        seen = self.correction.expected(prepared.key, prepared.assembly.tokens)
        if self._pace.suspected:
            self._windows.forget(prepared.key)  # it was not the length
            return False
        accepted = self._accepted.get(prepared.key, 0)
        grown = error.kind == "bad_request" and 0 < accepted * 1.5 < seen
        if seen < _LARGE or not (grown or may_be_too_long(error)):
            return False
        self._pace.suspected = True
        self._windows.suspect(prepared.key, max(256, accepted if 0 < accepted < seen else seen // 2))
        self._pace.compacted_at = None
        text = (
            f"{error.message.rstrip('.')}. It may be too long (about {seen:,} tokens); it is cut and tried once more."
        )
        self._bus.publish(Noticed(level="warning", text=text, about=self.agent))
        return True

    def request_cut(self, kind: CutKind, order: CutRequest) -> None:
        """Make a cut before the next request, or at the next `grant`."""
        self._cut_requests.append((kind, order))

    @property
    def wished(self) -> bool:
        return bool(self._cut_requests)

    def forget(self, why: str, hint: str = "") -> None:
        """Reject the waiting cuts, and tell those who asked."""
        while self._cut_requests:
            kind, order = self._cut_requests.popleft()
            self._bus.publish(
                CutFailed(agent=self.agent, session=self.session, kind=kind, why=why, hint=hint, request=order.request)
            )

    async def grant(self, messages: Sequence[Message], draft: ContextDraft) -> None:
        """Make the requested cuts now. Failures are published as `CutFailed`."""
        async with self._lock:
            try:
                await self._settle()
                await self._ready()
                terms = await self._terms(messages, draft)
                await self._grant(terms, Shrinker(self._bus, self.cutter, self._pace))
            except StoreError as error:
                self.forget(error.message, error.hint)

    async def cut(self, messages: Sequence[Message], draft: ContextDraft, kind: CutKind, order: CutRequest) -> Receipt:
        """Make one cut now, or only preview it (`order.dry`). Raises `ContextError` and `StoreError`."""
        async with self._lock:
            if not order.dry:
                await self._settle()
            await self._ready()
            receipt = await self.cutter.cut(await self._terms(messages, draft), kind, order)
        if receipt is None:
            raise ContextError("invalid", f"There is nothing for a {kind} to cut.")
        if not order.dry:
            self._pace.cuts.append(receipt.id)
        return receipt

    async def terms(self, messages: Sequence[Message], draft: ContextDraft) -> RequestInputs:
        """The terms of the next request as they are now; waits for no cut in progress. Raises `StoreError`."""
        if self._cutter is None:
            async with self._lock:
                await self._ready()
        return await self._terms(messages, draft)

    async def _grant(self, terms: RequestInputs, shrinker: Shrinker) -> None:
        while self._cut_requests:
            kind, order = self._cut_requests.popleft()
            await shrinker.attempt(terms, kind, order)

    async def _begin(self, messages: Sequence[Message], draft: ContextDraft) -> None:
        """The start of a turn: collect contributions, and the texts that accompany its prompt."""
        contributed = await self._contributions(not any(m.role == "assistant" for m in messages))
        self._pace = CutPace(draft.turn, cuts=self._pace.cuts)
        self._passages = tuple(p for c in contributed for p in c.passages)
        prompt = next((m for m in reversed(messages) if m.role == "user"), None)
        if prompt is None:
            return
        self.cutter.assembler.history.log.update(messages)
        room = limits(draft.provider.capabilities(draft.model), self.settings).hard // _ALONG
        latest = {along.source: along for c in contributed for along in c.along}  # a source says one thing
        for along in (fitted(along, room * 4) for along in latest.values()):
            if along.text and is_news(along, self.cutter.plan, self.cutter.assembler.history.log):
                await self.cutter.decisions.add(SideNote(message=prompt.id, source=along.source, text=along.text))
            if along.told is not None:
                along.told()

    async def _contributions(self, fresh: bool) -> list[Contribution]:
        return [await contribute(fresh) for contribute in self._contribute]

    async def _terms(self, messages: Sequence[Message], draft: ContextDraft) -> RequestInputs:
        passages, plan = self._passages, self.cutter.plan
        if not passages:
            passages = self._passages = tuple(p for c in await self._contributions(False) for p in c.passages)
        model = draft.provider.capabilities(draft.model)
        if learnt := self._windows.window_of(draft.key, known=model.known):
            model = replace(model, window=min(model.window, learnt))
        settings = self.settings.tuned(plan.tuned)
        if self._restored is None or self._restored[0] is not plan:
            self._restored = plan, await restored_outputs(self._context_store, messages, plan)
        bounds = limits(model, settings)
        tools = self._tools(draft, bounds)
        withheld = self._offer.withheld
        passages = tuple(fit for p in passages if (fit := worded(p, withheld)) is not None)
        effort = settings.effort if model.effort else ""
        inputs = Inputs(
            draft.model, passages, tools, draft.turn, draft.max_output, self._restored[1], effort, media_rule(model)
        )
        return RequestInputs(
            self.agent, self.session, draft.provider, draft.model, model, settings, bounds, messages, inputs
        )

    def _tools(self, draft: ContextDraft, bounds: Limits) -> tuple[ToolSpec, ...]:
        tools = self._offer.select(draft.tools, bounds.hard, draft.findable)
        if word := self._offer.word(draft.model, bounds.window, draft.tools):
            self._bus.publish(Noticed(level="warning", text=word, about=self.agent))
        return tools

    async def _update(
        self, iteration: str, usage: Usage | None = None, cost: float | None = None, error: str = "", sent: str = ""
    ) -> None:
        self._outcomes.append(RequestOutcome(iteration, usage, cost, error, sent))
        self._keep_rest()
        try:
            await self._write_outcomes()
        except StoreError as failed:
            self._bus.publish(Noticed(level="warning", text=failed.message, hint=failed.hint, about=self.agent))

    async def _write_outcomes(self) -> None:
        """Record how requests ended; what cannot be recorded for the moment is, before the next request."""
        while self._outcomes:
            ended = self._outcomes[0]
            try:
                await self._context_store.update_iteration(
                    ended.iteration, ended.usage, ended.cost, ended.error, sent=ended.sent
                )
            except StoreError as failed:
                if failed.kind in PASSING:
                    raise
                self._bus.publish(Noticed(level="warning", text=failed.message, hint=failed.hint, about=self.agent))
            self._outcomes.popleft()

"""The summary of a compaction: the request to a model, the check of its answer, the fallback, and a person's review.

A summary that lacks a heading is rejected.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence

import msgspec
from msgspec.structs import replace

from gshtui.bus.bus import Bus
from gshtui.bus.context_data import Receipt
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import AgentStatusChanged
from gshtui.bus.events.context_events import SummaryAnswered, SummaryProposed
from gshtui.bus.messages import Message, Text, Thinking, ToolCall, ToolResult, Usage
from gshtui.context.assembly.assembly import CutRequest, RequestInputs
from gshtui.context.assembly.limits import INSTRUCTION_TOKENS
from gshtui.context.log.blocks import block_tokens, subject_of, text_tokens
from gshtui.context.log.conversation_log import ConversationLog, LogEntry
from gshtui.providers.port import Completed, Provider, ProviderError, Request
from gshtui.system.processes.time_limit import time_limit
from gshtui.text.truncation import shorten

HEADINGS = ("Progress", "Key decisions", "Files modified", "Remaining work", "Critical context")
_ASK = """\
You are performing a CONTEXT CHECKPOINT. Summarize the conversation so far into a handoff briefing for yourself, to \
continue the task.

Answer in Markdown under exactly these five headings, in this order, with nothing before them:

## Progress
What is done, step by step, with the results you saw.

## Key decisions
Decisions and their reasons; the person's constraints and preferences, and rules to follow.

## Files modified
Files modified or read, with their paths and what matters in them.

## Remaining work
What remains to be done, as clear next steps.

## Critical context
Any critical data you need to continue: exact names, numbers, commands, error messages and code.

Be thorough but concise: at most {words} words. Write “none” under a heading that has nothing. Do not call any tool: \
only this text counts now.{focus}"""
_FOCUS = "\n\nPay particular attention to this, as {by} asked: {focus}"
_REMIND = """\
That was not a usable briefing: {why}. Answer once more, with nothing but the briefing as text, under the five \
headings Progress, Key decisions, Files modified, Remaining work, Critical context. Do not call a tool."""
STAND_IN = "(the summary that the model will write)"
"""What a preview says in place of the summary."""
_EXTRACT_CALLS = 40
_EXTRACT_TEXT = 1_500


def instruction(limit: int, focus: str = "", by: str = "the person") -> str:
    """Ask for a summary of at most `limit` tokens."""
    said = _FOCUS.format(by=by, focus=shorten(focus, 2_000)) if focus.strip() else ""
    return _ASK.format(words=max(80, limit // 2), focus=said)


def summary_fault(summary: str, replaced: int) -> str:
    """Return why a summary is refused, as the end of a sentence; empty for a good one.

    Args:
        summary: the answer.
        replaced: tokens of the conversation that it replaces.
    """
    if not summary.strip():
        return "it is empty"
    missing = [heading for heading in HEADINGS if not _has(summary, heading)]
    if missing:
        return f"it lacks the heading {missing[0]}" if len(missing) == 1 else f"it lacks {', '.join(missing)}"
    if (tokens := text_tokens(summary)) * 2 > replaced:
        return f"it takes {tokens:,} tokens instead of {replaced:,}, which is more than half"
    return ""


def _has(summary: str, heading: str) -> bool:
    begins = rf"^(?:[#*\d.]|[^\S\n])*+{re.escape(heading)}\b"
    return re.search(begins, summary, re.IGNORECASE | re.MULTILINE) is not None


def extract(entries: Sequence[LogEntry], limit: int) -> str:
    """Make a summary without a model: what calls did, what failed, and the agent's last words.

    The same entries give the same text. People's words, tasks and files are carried beside it.

    Args:
        entries: what it replaces.
        limit: tokens that it may take.
    """
    done: list[str] = []
    failed: list[str] = []
    said = ""
    calls: dict[str, ToolCall] = {}
    for entry in entries:
        for part in entry.message.blocks:
            if isinstance(part, ToolCall):
                calls[part.id] = part
            elif isinstance(part, ToolResult):
                call = calls.get(part.call_id)
                line = f"- {part.name} {subject_of(call) if call else ''}".rstrip()
                done.append(line if part.status == "ok" else f"{line} → {part.status}")
                if part.status != "ok":
                    failed.append(f"{line}: {shorten(' '.join(part.content.split()), 200)}")
        said = _words(entry.message) or said
    skipped = len(done) - _EXTRACT_CALLS
    if skipped > 0:
        done = [f"- ({skipped} earlier calls)", *done[-_EXTRACT_CALLS:]]
    parts = (
        ("Progress", "\n".join(done) or "none"),
        ("Key decisions", "not extracted: no model wrote this; the person's own words follow below"),
        ("Files modified", "see the list of touched files below"),
        ("Remaining work", shorten(said, _EXTRACT_TEXT) if said else "none"),
        ("Critical context", "\n".join(failed[-8:]) or "none"),
    )
    text = "\n\n".join(f"## {heading}\n{body}" for heading, body in parts)
    return shorten(text, max(400, limit * 4))


def _words(message: Message) -> str:
    if message.role != "assistant":
        return ""
    return "\n".join(part.text for part in message.blocks if isinstance(part, Text)).strip()


_DROPS = 4
"""Times that the oldest pairs are dropped because the provider says the request is too long."""


class NoSummary(Exception):
    """No usable summary; `steps` say what was tried."""

    def __init__(self, steps: Sequence[str], usage: Usage) -> None:
        super().__init__(steps[-1] if steps else "no summary")
        self.steps = tuple(steps)
        self.usage = usage


class SummaryRequest(msgspec.Struct, frozen=True):
    """The summary that is wanted."""

    replaced: int
    """Tokens of the conversation that it replaces."""
    limit: int
    """Tokens that it may take."""
    focus: str = ""
    by: str = "the person"
    seconds: float = 180.0


class ModelSummary(msgspec.Struct, frozen=True):
    """A summary that passed the check."""

    text: str
    usage: Usage
    steps: tuple[str, ...] = ()


async def request_summary(provider: Provider, request: Request, wish: SummaryRequest) -> ModelSummary:
    """Return the model's summary of a request's conversation. Raises `NoSummary`: the model fails, takes too long, or
    gives two unusable answers.
    """
    asking = _Asking(provider, wish)
    try:
        async with time_limit(wish.seconds):
            return await asking.ask(request)
    except TimeoutError:
        asking.steps.append(f"The summary did not arrive within {wish.seconds:.0f} seconds.")
        raise NoSummary(asking.steps, asking.usage) from None


class _Asking:
    def __init__(self, provider: Provider, wish: SummaryRequest) -> None:
        self.steps: list[str] = []
        self.usage = Usage()
        self._provider = provider
        self._wish = wish

    async def ask(self, request: Request) -> ModelSummary:
        """Ask; again without the oldest pairs if the request is too long, and again if the answer is unusable."""
        wish = self._wish
        asked = _message("summary", "user", instruction(wish.limit, wish.focus, wish.by))
        body = replace(request, messages=(*request.messages, asked), max_output=wish.limit)
        answer, body = await self._fitting(body)
        if not (why := _why_not(answer, wish)):
            return ModelSummary(answer.text.strip(), self.usage, tuple(self.steps))
        self.steps.append(f"The first summary was rejected: {why}. The model was asked once more.")
        again = (
            *body.messages,
            _message("unusable", "assistant", answer.text.strip()[:2_000] or "(no briefing)"),
            _message("reminder", "user", _REMIND.format(why=why)),
        )
        answer, _ = await self._fitting(replace(body, messages=again))
        if why := _why_not(answer, wish):
            self.steps.append(f"The second summary was rejected, too: {why}.")
            raise NoSummary(self.steps, self.usage)
        return ModelSummary(answer.text.strip(), self.usage, tuple(self.steps))

    async def _fitting(self, request: Request) -> tuple[Message, Request]:
        for _ in range(_DROPS + 1):
            try:
                return await self._answer(request), request
            except ProviderError as error:
                if error.kind != "context":
                    self.steps.append(f"The summary failed: {error.message}.")
                    raise NoSummary(self.steps, self.usage) from error
                fewer = without_oldest(request)
                if fewer is None:
                    self.steps.append("The provider says that even the rest is too long to summarise.")
                    raise NoSummary(self.steps, self.usage) from error
                self.steps.append(
                    "The provider says that the conversation is too long; the oldest calls and results were left out."
                )
                request = fewer
        raise NoSummary(self.steps, self.usage)

    async def _answer(self, request: Request) -> Message:
        deltas = self._provider.stream(request)
        try:
            async for delta in deltas:
                if isinstance(delta, Completed):
                    self.usage = self.usage + delta.usage
                    return delta.message
        finally:
            if (close := getattr(deltas, "aclose", None)) is not None:
                await close()
        raise ProviderError("truncated", f"{self._provider.name} broke off the summary")


def _why_not(answer: Message, wish: SummaryRequest) -> str:
    if answer.calls:
        return f"it asked for the tool {answer.calls[0].name}"
    return summary_fault(answer.text, wish.replaced)


def _message(id: str, role: str, text: str) -> Message:
    return Message(id=id, role="user" if role == "user" else "assistant", blocks=(Text(text),))


def without_oldest(request: Request, tokens: int = 0) -> Request | None:
    """The request without its oldest calls and their results and, once those are gone, without its oldest messages.
    `tokens`: how many to free; 0: a third of all messages.

    Returns:
        `None` when there is nothing left to drop: the last two messages stay.
    """
    sizes = [4 + sum(block_tokens(part) for part in message.blocks) for message in request.messages]
    left = tokens or max(1, sum(sizes) // 3)
    kept = list(request.messages)
    kept, left = _without_pairs(kept, left)
    while left > 0 and len(kept) > 2:
        left -= 4 + sum(block_tokens(part) for part in kept[0].blocks)
        del kept[0]
        while len(kept) > 2 and kept[0].role == "tool":
            del kept[0]
    if len(kept) == len(request.messages) and all(a is b for a, b in zip(kept, request.messages, strict=True)):
        return None
    return replace(request, messages=tuple(kept))


def _without_pairs(messages: list[Message], tokens: int) -> tuple[list[Message], int]:
    """The messages without the oldest pairs of that many tokens, and how many tokens are still to be freed."""
    owner = {call.id: message.id for message in messages for call in message.calls}
    gone: set[str] = set()
    freed: dict[str, int] = {}
    for message in messages:
        answer = message.id if message.calls else owner.get(message.results[0].call_id, "") if message.results else ""
        if answer:
            freed[answer] = freed.get(answer, 0) + sum(block_tokens(part) for part in message.blocks)
    for answer, size in freed.items():
        if tokens <= 0:
            break
        gone.add(answer)
        tokens -= size
    kept: list[Message] = []
    for message in messages:
        if message.results and owner.get(message.results[0].call_id, "") in gone:
            continue
        if message.id in gone:
            parts = tuple(part for part in message.blocks if not isinstance(part, ToolCall | Thinking))
            if not parts:
                continue
            message = Message(message.id, message.role, parts, provider=message.provider, model=message.model)
        kept.append(message)
    return kept, tokens


class DraftedSummary(msgspec.Struct, frozen=True):
    """A summary or none; if none, the steps say why."""

    summary: str = ""
    usage: Usage = msgspec.field(default_factory=Usage)
    steps: tuple[str, ...] = ()
    cost: float | None = 0.0
    """US dollars; `None`: a price is not known."""


class SummaryWriter(msgspec.Struct, frozen=True):
    """A model that writes summaries in place of the agents' own."""

    provider: Provider
    model: str


ChooseSmall = Callable[[], Awaitable[SummaryWriter | None]]
"""The small model; `None`: none is configured. Raises `ProviderError`: it cannot be used."""


async def draft_summary(
    bus: Bus,
    terms: RequestInputs,
    order: CutRequest,
    request: Request,
    tokens: int,
    replaced: int,
    choose_small: ChooseSmall | None = None,
) -> DraftedSummary:
    """Have the small model write the summary, or, where that can't, the agent's own.

    Args:
        bus: learns that a turn waits for the summary.
        terms: of the request that the summary makes room for.
        order: who wants it.
        request: what to summarise, as the model knows it.
        tokens: of that request, as the provider would count them.
        replaced: tokens of what the summary replaces.
        choose_small: the small model; `None`: there is none.
    """
    if order.dry:
        return DraftedSummary(STAND_IN + " ·" * min(terms.limits.summary, replaced // 4))
    who = "the person" if order.by == "person" else order.by
    wish = SummaryRequest(replaced, terms.limits.summary, order.focus, who, terms.settings.summary_seconds)
    if order.automatic and terms.provider.name != "offline":  # within a turn the wait needs a description
        bus.publish(AgentStatusChanged(agent=terms.agent, status="thinking", doing="summarising the conversation"))
    small = await _by_small(terms, request, tokens, wish, choose_small)
    if small.summary:
        return small
    own = await _by_own(terms, request, tokens, wish)
    cost = None if small.cost is None or own.cost is None else small.cost + own.cost
    return DraftedSummary(own.summary, small.usage + own.usage, (*small.steps, *own.steps), cost)


async def _by_small(
    terms: RequestInputs, request: Request, tokens: int, wish: SummaryRequest, choose: ChooseSmall | None
) -> DraftedSummary:
    """The small model's summary. None where there is no such model, or its window is too small."""
    if choose is None:
        return DraftedSummary()
    instead = "so the agent's own model was asked"
    try:
        small = await choose()
    except ProviderError as error:
        return DraftedSummary(steps=(f"The small model cannot be used, {instead}: {error.message}",))
    if small is None or small.provider.name == "offline" or small.model == terms.model:
        return DraftedSummary()
    able = small.provider.capabilities(small.model)
    if tokens > able.window - wish.limit - INSTRUCTION_TOKENS:
        return DraftedSummary(steps=(f"The conversation is too long for {small.model}, {instead}.",))
    shown = replace(request, model=small.model)
    made = await _asked(small.provider, shown, wish, able.cost)
    if made.summary:
        return replace(made, steps=(*made.steps, f"{small.model} wrote the summary."))
    return replace(made, steps=(*made.steps, f"{small.model} wrote no usable summary, {instead}."))


async def _by_own(terms: RequestInputs, request: Request, tokens: int, wish: SummaryRequest) -> DraftedSummary:
    """The summary of the agent's own model."""
    if terms.provider.name == "offline":
        return DraftedSummary(steps=("There is no model to write a summary.",))
    steps: tuple[str, ...] = ()
    over = tokens - (terms.limits.window - terms.limits.summary - INSTRUCTION_TOKENS)
    if over > 0:
        steps = ("The oldest part was left out of the request for the summary, to make room.",)
        if (shorter := without_oldest(request, over)) is None:
            return DraftedSummary(steps=("There was no room left to ask for a summary.",))
        request = shorter
    made = await _asked(terms.provider, request, wish, terms.capabilities.cost)
    return replace(made, steps=(*steps, *made.steps))


async def _asked(
    provider: Provider, request: Request, wish: SummaryRequest, cost: Callable[[Usage], float | None]
) -> DraftedSummary:
    try:
        made = await request_summary(provider, request, wish)
    except NoSummary as none:
        return DraftedSummary("", none.usage, none.steps, cost(none.usage))
    return DraftedSummary(made.text, made.usage, made.steps, cost(made.usage))


def finished_summary(request: Request, log: ConversationLog) -> Request:
    """The request without the answer whose calls still run: a command of that answer may have asked for this."""
    running = {entry.message.id for entry in log.entries[log.unfinished :]}
    return replace(request, messages=tuple(m for m in request.messages if m.id not in running))


class SummaryReviewer:
    """Asks a person to review one agent's summaries. Await it for the text to use, or `None` if it is rejected."""

    def __init__(self, bus: Bus, agent: str, seconds: float, attended: Callable[[], bool]) -> None:
        """Args:
        attended: returns whether someone is there to answer; called for each summary.
        """
        self._bus = bus
        self._agent = agent
        self._seconds = seconds
        self._attended = attended

    async def __call__(self, receipt: Receipt) -> str | None:
        if not self._attended():
            return receipt.summary
        answer: asyncio.Future[SummaryAnswered] = asyncio.get_running_loop().create_future()

        def listen(batch: Sequence[Event]) -> None:
            for event in batch:
                if isinstance(event, SummaryAnswered) and event.cut == receipt.id and not answer.done():
                    answer.set_result(event)

        subscription = self._bus.subscribe(listen, SummaryAnswered, name=f"review {receipt.id}")
        deadline = time.time() + self._seconds
        self._bus.publish(
            SummaryProposed(agent=self._agent, session=receipt.session, receipt=receipt, deadline=deadline)
        )
        self._bus.publish(AgentStatusChanged(agent=self._agent, status="waiting", doing="for a word on its summary"))
        try:
            async with time_limit(self._seconds):
                said = await answer
        except TimeoutError:
            return receipt.summary
        finally:
            subscription.unsubscribe()
            self._bus.publish(AgentStatusChanged(agent=self._agent, status="thinking"))
        return (said.summary.strip() or receipt.summary) if said.accepted else None

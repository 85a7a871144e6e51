"""Asking a model for a summary: the same request as a normal one, with the briefing asked for as its last message.

Same prefix and same tools, so that the provider's cache holds; tools cannot be used all the same, since an answer that
calls one is refused. Owns the one reminder, the retries without the oldest pairs and the deadline; fails as `NoSummary`
and changes nothing. Called by the cutter.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gshtui.bus.messages import Message, Text, Thinking, ToolCall, Usage
from gshtui.context.summary import fault, instruction, reminder
from gshtui.context.tokens import block_tokens
from gshtui.providers.port import Completed, Provider, ProviderError, Request

_DROPS = 4
"""Times that the oldest pairs are dropped because the provider says that the request is too long."""


class NoSummary(Exception):
    """There is no usable summary; `steps` say what was tried."""

    def __init__(self, steps: Sequence[str], usage: Usage) -> None:
        super().__init__(steps[-1] if steps else "no summary")
        self.steps = tuple(steps)
        self.usage = usage


@dataclass(frozen=True, slots=True)
class Wish:
    """What summary is wanted."""

    replaced: int
    """Tokens of what it stands for."""
    limit: int
    """Tokens that it may take."""
    focus: str = ""
    by: str = "the person"
    seconds: float = 180.0


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary that counts."""

    text: str
    usage: Usage
    steps: tuple[str, ...] = ()


async def summarise(provider: Provider, request: Request, wish: Wish) -> Summary:
    """The model's summary of a request's conversation.

    Raises:
        NoSummary: it errs, takes too long, or answers twice what cannot be used.
    """
    asking = _Asking(provider, wish)
    try:
        async with asyncio.timeout(wish.seconds):
            return await asking.ask(request)
    except TimeoutError:
        asking.steps.append(f"The summary did not come within {wish.seconds:.0f} seconds.")
        raise NoSummary(asking.steps, asking.usage) from None


class _Asking:
    def __init__(self, provider: Provider, wish: Wish) -> None:
        self.steps: list[str] = []
        self.usage = Usage()
        self._provider = provider
        self._wish = wish

    async def ask(self, request: Request) -> Summary:
        """Ask, once more without the oldest pairs where it is too long, once more where the answer is unusable."""
        wish = self._wish
        asked = _message("summary", "user", instruction(wish.limit, wish.focus, wish.by))
        body = replace(request, messages=(*request.messages, asked), max_output=wish.limit)
        answer, body = await self._fitting(body)
        if not (why := _why_not(answer, wish)):
            return Summary(answer.text.strip(), self.usage, tuple(self.steps))
        self.steps.append(f"The first summary did not count: {why}. It was asked for once more.")
        again = (
            *body.messages,
            _message("unusable", "assistant", answer.text.strip()[:2_000] or "(no briefing)"),
            _message("reminder", "user", reminder(why)),
        )
        answer, _ = await self._fitting(replace(body, messages=again))
        if why := _why_not(answer, wish):
            self.steps.append(f"The second summary did not count either: {why}.")
            raise NoSummary(self.steps, self.usage)
        return Summary(answer.text.strip(), self.usage, tuple(self.steps))

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
                    self.steps.append("The provider says that even the rest is too long for a summary.")
                    raise NoSummary(self.steps, self.usage) from error
                self.steps.append("The provider says that it is too long; the oldest calls and results were left out.")
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
        raise ProviderError("truncated", f"{self._provider.name} ended the summary in the middle")


def _why_not(answer: Message, wish: Wish) -> str:
    if answer.calls:
        return f"it asked for the tool {answer.calls[0].name}"
    return fault(answer.text, wish.replaced)


def _message(id: str, role: str, text: str) -> Message:
    return Message(id=id, role="user" if role == "user" else "assistant", blocks=(Text(text),))


def without_oldest(request: Request, tokens: int = 0) -> Request | None:
    """The request without its oldest calls and their results, and when those are gone without its oldest messages.

    Args:
        tokens: how many to free; 0: a third of all messages.

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
    """The messages without the oldest pairs of that many tokens, and how many are still to be freed."""
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

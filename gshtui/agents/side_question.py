"""One question to an agent's model, on the side: no history, no tools, one answer, counted against the same budgets."""

from __future__ import annotations

import asyncio
import time

import msgspec

from gshtui.agents.loop import TurnLimit
from gshtui.agents.ports import ModelHandle
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import UsageReported
from gshtui.bus.messages import Message, Text
from gshtui.providers.port import Completed, ProviderError, Request
from gshtui.system.ids import new_id
from gshtui.system.processes.time_limit import time_limit

WITHIN = 300.0
"""Seconds for an answer."""
SIDE = 0
"""The iteration of such a request in `UsageReported`: it is not of the conversation's own context."""


class SideAnswer(msgspec.Struct, frozen=True):
    """What a model answered. `is_cut`: the answer reached the most tokens that it may have."""

    text: str
    model: str
    is_cut: bool = False


class SideQuestions:
    """The questions of one asker that are under way; `cease` ends them, and no other one begins."""

    def __init__(self) -> None:
        self._ceased = False
        self._open: set[asyncio.Task[SideAnswer]] = set()

    def cease(self) -> None:
        """Ask nothing from now on, and give up what is being asked."""
        self._ceased = True
        for question in self._open:
            question.cancel()

    async def ask(
        self, bus: Bus, agent: str, session: str, handle: ModelHandle, limit: TurnLimit, prompt: str, tokens: int = 0
    ) -> SideAnswer:
        """The answer. Arguments and errors as for `ask_model`; also when it is given up."""
        if self._ceased:
            raise _given_up()
        question = asyncio.get_running_loop().create_task(
            ask_model(bus, agent, session, handle, limit, prompt, tokens), name=f"question:{agent}"
        )
        self._open.add(question)
        question.add_done_callback(self._open.discard)
        try:
            return await question
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is None or task.cancelling():
                raise
            raise _given_up() from None


def _given_up() -> ProviderError:
    return ProviderError("refusal", "gsh-tui is closing, so no model was asked.")


async def ask_model(
    bus: Bus, agent: str, session: str, handle: ModelHandle, limit: TurnLimit, prompt: str, tokens: int = 0
) -> SideAnswer:
    """The answer.

    Args:
        limit: the agent's budgets, which may ask a person first.
        tokens: most tokens of the answer; 0: the model's maximum.

    Raises `ProviderError`: a budget is used up, or the model did not answer.
    """
    if reached := await limit(handle):
        raise ProviderError("quota", reached)
    question = Message(new_id(), "user", (Text(prompt),), at=time.time(), agent=agent)
    request = Request(
        handle.model, (), (question,), max_output=min(filter(None, (tokens, handle.max_output)), default=0)
    )
    try:
        async with time_limit(WITHIN):
            completed = await _completed(handle, request)
    except TimeoutError:
        raise ProviderError("timeout", f"{handle.provider.name} did not answer within {WITHIN:g} s.") from None
    cost = handle.provider.capabilities(handle.model).cost(completed.usage)
    bus.publish(
        UsageReported(
            agent=agent,
            session=session,
            turn=f"side {question.id}",
            iteration=SIDE,
            provider=handle.provider.name,
            model=handle.model,
            usage=completed.usage,
            cost=cost,
        )
    )
    return SideAnswer(completed.message.text, handle.model, completed.stop == "max_tokens")


async def _completed(handle: ModelHandle, request: Request) -> Completed:
    deltas = handle.provider.stream(request)
    try:
        async for delta in deltas:
            if isinstance(delta, Completed):
                return delta
    finally:
        if (close := getattr(deltas, "aclose", None)) is not None:
            await close()
    raise ProviderError("truncated", f"{handle.provider.name} ended the answer in the middle.")

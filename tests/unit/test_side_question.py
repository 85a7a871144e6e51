"""A question beside the conversation: one request, counted against the agent's budgets, and no part of its context."""

import pytest

from gshtui.agents.ports import ModelHandle
from gshtui.agents.side_question import SIDE, ask_model
from gshtui.bus.agent_data import AgentRow
from gshtui.bus.agent_reducer import apply_event
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import UsageReported
from gshtui.bus.messages import Usage
from gshtui.providers.port import ProviderError
from tests.kit.scripted_provider import Recorder, ScriptedProvider


async def no_limit(_: ModelHandle) -> str:
    return ""


async def test_the_answer_and_its_usage() -> None:
    bus, provider = Bus(), ScriptedProvider(["because"])
    recorder = Recorder(bus)
    answer = await ask_model(bus, "main", "s1", ModelHandle(provider, "m"), no_limit, "why?")
    await bus.drained()
    assert answer.text == "because" and not answer.is_cut
    (request,) = provider.requests
    assert ([message.text for message in request.messages], request.tools, request.system) == (["why?"], (), ())
    (used,) = recorder.of(UsageReported)
    assert (used.agent, used.session, used.iteration, used.model) == ("main", "s1", SIDE, "m")
    await bus.close()


async def test_a_budget_that_is_used_up_refuses_it() -> None:
    async def reached(_: ModelHandle) -> str:
        return "The budget is used up."

    bus, provider = Bus(), ScriptedProvider(["never"])
    with pytest.raises(ProviderError, match="The budget is used up"):
        await ask_model(bus, "main", "s1", ModelHandle(provider, "m"), reached, "why?")
    assert provider.requests == []
    await bus.close()


def test_it_says_nothing_about_the_context() -> None:
    row = AgentRow(id="main", name="main", context=1_000)
    event = UsageReported(
        agent="main", session="s1", turn="side", iteration=SIDE, provider="p", model="m", usage=Usage(input=7), cost=0.1
    )
    found = apply_event(row, event)
    assert (found.context, found.tokens) == (1_000, 7)

"""What `info` says of an agent's context: as data, and as rows for people."""

import msgspec
import pytest

from gshtui.context.commands.agent_facts import read_facts, rows
from gshtui.context.views import ContextError
from tests.kit.fixed_contexts import FixedContexts
from tests.kit.own_contexts import router_without_programs


async def test_an_agents_context_is_told_in_numbers_and_for_people() -> None:
    known = await read_facts(router_without_programs(FixedContexts()), "main")
    assert (known.agent, known.session, known.model, known.window) == ("main", "s1", "m", 200_000)
    assert known.tokens == known.expected == 4_500
    assert (known.trigger, known.threshold, known.turns_left) == (170_000, 0.85, 12)
    assert known.sections == {"system": 1_200, "history": 3_000, "input": 300}
    assert (known.requests, known.cuts, known.cost) == (3, 1, 0.03)
    assert dict(rows(known)) == {
        "conversation": "s1",
        "model": "m via anthropic",
        "next request": "4.5k tokens of 200k (2 %)",
        "sections": "system 1.2k · history 3k · input 300",
        "compaction": "at 170k tokens, in about 12 turns",
        "requests": "3, 1 cut",
        "cost": dict(rows(known))["cost"],
    }
    assert "0.03" in dict(rows(known))["cost"]


async def test_what_is_not_known_is_left_out() -> None:
    known = await read_facts(router_without_programs(FixedContexts()), "main")
    shown = dict(
        rows(
            msgspec.structs.replace(
                known, model="", provider="", window=0, trigger=0, tokens=4_000, estimate_error=0.12
            )
        )
    )
    assert shown["model"] == "none yet" and "compaction" not in shown
    assert shown["next request"] == "4.5k tokens, estimated 4k"
    assert not {"effort", "temperature"} & set(shown), "another program decides that"


async def test_how_hard_its_model_thinks_and_how_freely_is_told_of_our_own_agents() -> None:
    known = await read_facts(router_without_programs(FixedContexts()), "main")
    plain = dict(rows(msgspec.structs.replace(known, effort="")))
    assert plain["effort"] == plain["temperature"] == "the model's default"
    tuned = dict(rows(msgspec.structs.replace(known, effort="high", temperature=0.2)))
    assert (tuned["effort"], tuned["temperature"]) == ("high", "0.2")


async def test_an_unknown_agent_is_an_error_with_a_hint() -> None:
    with pytest.raises(ContextError, match="no agent 'nobody'") as error:
        await read_facts(router_without_programs(FixedContexts()), "nobody")
    assert "`agent ls`" in error.value.hint

"""The context commands: what they say to people and to agents, whom they let do what, and how they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeVar

import pytest

from gshtui.agents.toolbox import assess
from gshtui.bus.agent_data import AgentRow
from gshtui.commands.completion import complete
from gshtui.commands.declaration import (
    Assessment,
    Caller,
    CommandError,
    Effect,
    Invocation,
    Outcome,
    Returns,
    UsageError,
    Word,
)
from gshtui.commands.execution import bound, call, run_line, run_value
from gshtui.commands.language import parse
from gshtui.commands.registry import Registry
from gshtui.commands.schema import lean_schema, tool_description
from gshtui.context.commands.answers import ContextRefused
from gshtui.context.commands.context_commands import commands
from gshtui.context.commands.cut_commands import EditSummary, PinBlock
from gshtui.context.commands.view_calls import (
    CompareContexts,
    ForecastContext,
    ReadContext,
    ReadIterations,
    ReadReceipts,
    ReadText,
    RequestName,
    ShowBlock,
    ShowContext,
    ShowReceipt,
    ShowTimeline,
)
from gshtui.store.store_errors import StoreError
from tests.kit.our_contexts import ours_alone
from tests.kit.told_contexts import TEXTS, ToldContexts

R = TypeVar("R")
ROWS = {
    "0007": AgentRow(id="0007", name="helper", parent="main"),
    "0008": AgentRow(id="0008", name="grandchild", parent="0007"),
    "0009": AgentRow(id="0009", name="stranger"),
}


async def row(id: str) -> AgentRow:
    for one in ROWS.values():
        if id in (one.id, one.name):
            return one
    raise StoreError("unknown", f"There is no agent {id!r}.")


class Office:
    """The commands, on contexts that are told."""

    def __init__(self) -> None:
        self.contexts = ToldContexts()
        self.registry = Registry(commands(ours_alone(self.contexts), row, lambda: ["main", "helper"]))

    def invocation(self, caller: str = "") -> Invocation:
        by = Caller(caller, is_agent=True) if caller else Caller()
        return Invocation(by, Path("/"), Path("/"), agent=caller or "main")

    async def run(self, line: str, caller: str = "") -> Outcome:
        return await run_line(self.registry, line, self.invocation(caller))

    async def call(self, parameters: Returns[R]) -> R:
        return await call(self.registry, parameters, self.invocation())

    async def assess(self, line: str, caller: str) -> Assessment:
        parsed = parse(self.registry, line)
        return await assess(parsed.command, self.invocation(caller), parsed.parameters, {"line": line})

    async def free(self, line: str, caller: str) -> bool:
        """Whether no question is asked."""
        found = await self.assess(line, caller)
        return found.inside and found.effect is Effect.READ


@pytest.fixture
def office() -> Office:
    return Office()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("context", "4,500 of 200,000 tokens"),
        ("context main", "in about 12 turns"),
        ("/context agent=helper", "**helper (0007)**"),
        ("context main history", "bash npm test"),
        ("context section=input", "input: 1 block, 300 tokens"),
        ("context block=2", TEXTS["h1"]),
        ("context block='bash npm test'", "#2, history, tool_result"),
        ("context iteration=-1", "iteration 3"),
        ("context request=true", '{"model": "m", "messages": []}'),
        ("context diff=2", "From main:2 to main:next"),
        ("context diff='1 2'", "send the same"),
        ("context diff='main helper:1'", "From main:next to 0007:1"),
        ("timeline", "3 requests, 1 cut, $0.0300"),
        ("timeline cut=cut1", "read old.py"),
        ("whatif haiku", "It fits: 4,000 of 4,096 tokens (-500)"),
        ("carry by=tool", "sent 31 times, 93,000 paid"),
        ("compact preview=true", "4,500 → 1,500 tokens (-3,000)"),
        ("compact the parser", "`undo cut2` takes it back"),
        ("prune", "**prune** cut2 of main by person"),
        ("forget helper", "**clear** cut2 of 0007"),
        ("pin 2", "bash npm test (#2, 3,000 tokens) is never cut"),
        ("unpin m1/0", "may be cut again"),
        ("restore old.py", "sent in full again"),
        ("undo", "The prune cut1 is undone: about 4,500 tokens"),
        ("tune threshold=0.7", "170,000"),
        ("tune", "| threshold    | 0.7"),
    ],
)
async def test_what_people_read(office: Office, line: str, said: str) -> None:
    outcome = await office.run(line)
    assert said in outcome.text
    assert not outcome.is_error
    json.dumps(outcome.data)


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("compact the parser", ("cut", "main", "compact", "person", "the parser")),
        ("compact agent=helper focus='the parser'", ("cut", "0007", "compact", "person", "the parser")),
        ("compact preview=true", ("preview", "main", "compact")),
        ("prune helper preview=true", ("preview", "0007", "prune")),
        ("pin 1 agent=helper", ("pin", "0007", "system/0", True, "person")),
        ("prune helper", ("cut", "0007", "prune", "person", "")),
        ("clear_context", ("cut", "main", "clear", "person", "")),
        ("pin agent=helper 1", ("pin", "0007", "system/0", True, "person")),
        ("unpin 1", ("pin", "main", "system/0", False, "person")),
        ("restore m0/0", ("restore", "main", "m0/0", "person")),
        ("restore 'read old.py'", ("restore", "main", "m0/0", "person")),
        ("undo cut1", ("undo", "main", "cut1", "person")),
        (
            "tune threshold=0.7 strategy='last 40'",
            ("tune", "main", "person", {"threshold": 0.7, "strategy": "last 40"}),
        ),
        ("whatif without='git_*, read' provider=ollama", ("what_if", "main", "", "ollama", ("git_*", "read"))),
    ],
)
async def test_what_is_done(office: Office, line: str, asked: tuple[Any, ...]) -> None:
    await office.run(line)
    assert office.contexts.asked == [asked]


@pytest.mark.parametrize(
    ("line", "error", "said"),
    [
        ("context nobody", CommandError, "`agent ls` lists them"),
        ("context section=thoughts", UsageError, "history"),
        ("context iteration=9", UsageError, "It made 3"),
        ("context block=9", UsageError, "no block"),
        ("context diff='1 2 3'", UsageError, "two requests"),
        ("context diff='1 nobody'", CommandError, "nobody"),
        ("timeline cut=zzz", UsageError, "no cut"),
        ("whatif", UsageError, "different"),
        ("carry by=colour", UsageError, "by"),
        ("pin", UsageError, "block"),
        ("pin 77", UsageError, "no block"),
        ("restore nothing", UsageError, "no block"),
        ("undo zzz", UsageError, "no cut"),
        ("tune threshold=85", UsageError, "threshold"),
        ("tune nobody", CommandError, "nobody"),
        ("compact agent=parent", CommandError, "no parent"),
    ],
)
async def test_what_is_refused(office: Office, line: str, error: type[CommandError], said: str) -> None:
    with pytest.raises(error, match=said):
        await office.run(line)
    assert office.contexts.asked == []


async def test_json_and_limits(office: Office) -> None:
    outcome = await office.run("context json=true texts=true request=true limit=1")
    data = json.loads(outcome.text)
    assert data == outcome.data
    assert data["request"] == {"model": "m", "messages": []}
    assert [block["text"] for section in data["sections"] for block in section["blocks"]] == [
        TEXTS["h0"], TEXTS["h1"], TEXTS["h2"],
    ]  # fmt: skip
    found = (await office.run("context diff=2 texts=true")).data["differences"]
    assert [(one["kind"], one["text_before"], one["text_after"]) for one in found] == [
        ("rewritten", TEXTS["h3"], TEXTS["h1"]),
        ("added", "", TEXTS["h2"]),
    ]


async def test_agents_get_short_json_about_themselves(office: Office) -> None:
    outcome = await office.run("context", "helper")
    data = json.loads(outcome.text)
    assert data["agent"] == "0007"
    assert "text" not in data["sections"][0]["blocks"][0]
    assert "note" not in data
    assert len(outcome.text) < len(json.dumps(outcome.data))
    assert json.loads((await office.run("context block=2", "helper")).text)["text"] == TEXTS["h1"]
    assert json.loads((await office.run("context parent", "0008")).text)["agent"] == "0007"


@pytest.mark.parametrize(
    ("line", "caller", "free"),
    [
        ("context", "main", True),
        ("context main", "main", True),
        ("context helper", "main", True),
        ("context grandchild", "main", True),
        ("context parent", "0008", True),
        ("timeline 0007", "helper", True),
        ("context stranger", "main", False),
        ("context main", "0009", False),
        ("context main", "0008", False),  # its parent's parent is not its parent
        ("timeline stranger", "main", False),
        ("context diff='2 stranger:1'", "main", False),
        ("context diff='1 2'", "main", True),
        ("compact", "main", True),
        ("prune", "0008", True),
        ("pin 1", "main", True),
        ("restore m0/0", "main", True),
        ("undo", "main", True),
        ("forget", "main", True),
        ("compact agent=helper", "main", False),
        ("compact agent=helper preview=true", "main", True),
        ("prune parent", "0008", False),
        ("pin agent=stranger 1", "main", False),
        ("unpin 1", "main", False),
        ("tune threshold=0.1", "main", False),
        ("tune helper threshold=0.1", "main", False),
    ],
)
async def test_agents_rights(office: Office, line: str, caller: str, free: bool) -> None:
    assert await office.free(line, caller) is free


async def test_a_question_says_what_it_is_about(office: Office) -> None:
    found = await office.assess("prune parent", "0008")
    assert (found.effect, found.subject) == (Effect.EXECUTE, "0007")
    assert found.pattern == ""  # never `always allow`
    assert (await office.assess("context stranger", "main")).pattern


async def test_who_cut_it_is_noted(office: Office) -> None:
    await office.run("prune", "main")
    await office.run("pin 1", "main")
    assert office.contexts.asked == [("cut", "main", "prune", "main", ""), ("pin", "main", "system/0", True, "main")]


async def test_tune_tells_what_is_set(office: Office) -> None:
    data = (await office.run("tune")).data
    assert (data["threshold"], data["protect"], data["strategy"], data["output_bytes"]) == (
        0.7, 40_000, "summarise", 30_000,
    )  # fmt: skip
    assert office.contexts.asked == []


async def test_completion(office: Office) -> None:
    line = "context section=h"
    found = await complete(office.registry, office.invocation(), line, len(line))
    assert any("history" in str(one) for one in found)
    line = "prune hel"
    assert any("helper" in str(one) for one in await complete(office.registry, office.invocation(), line, len(line)))


async def test_code_looks_at_contexts_by_value(office: Office) -> None:
    view = await office.call(ReadContext(agent="helper"))
    assert (view.agent, view.tokens) == ("0007", 4_500)
    assert await office.call(ReadText(hash="h1")) == TEXTS["h1"]
    assert [one.id for one in (await office.call(ReadIterations(limit=2))).iterations] == ["i2", "i3"]
    assert [one.id for one in (await office.call(ReadReceipts())).receipts] == ["cut1"]
    assert (await office.call(ForecastContext(agent="main"))).turns == 12
    sides = CompareContexts(before=RequestName("", "i2"), after=RequestName("helper"))
    found = await office.call(sides)
    assert (str(found.first), str(found.second)) == ("main:2", "0007:next")
    assert [one.kind for one in found.differences] == ["rewritten", "added"]


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("context main history", ShowContext(agent="main", section="history")),
        ("context block=2 iteration=1", ShowBlock(block="2", iteration="1")),
        ("context diff='1 helper:2'", CompareContexts(before=RequestName("", "1"), after=RequestName("helper", "2"))),
        ("context diff=helper:2", CompareContexts(before=RequestName("helper", "2"), after=RequestName("helper"))),
        ("timeline limit=3", ShowTimeline(limit=3)),
        ("timeline cut=cut1", ShowReceipt(cut="cut1")),
    ],
)
async def test_a_line_comes_down_to_a_value_that_says_the_same(office: Office, line: str, value: Any) -> None:
    assert bound(office.registry, line) == value
    by_value = await run_value(office.registry, value, office.invocation())
    assert by_value == await office.run(line)


async def test_a_block_that_a_cut_took_out_can_be_pinned_by_its_id(office: Office) -> None:
    done = await office.call(PinBlock(block=Word("m0/0")))
    assert (done.id, done.block) == ("m0/0", None)
    assert office.contexts.asked == [("pin", "main", "m0/0", True, "person")]


async def test_a_summary_is_given_other_words(office: Office) -> None:
    done = await office.call(EditSummary(agent="helper", cut="cut1", text="Shorter."))
    assert (done.agent, done.cut) == ("0007", "cut1")
    assert office.contexts.asked == [("edit_summary", "0007", "cut1", "Shorter.", "person")]


async def test_what_is_refused_says_which_kind(office: Office) -> None:
    with pytest.raises(ContextRefused, match="nobody") as refused:
        await office.call(ReadContext(agent="nobody"))
    assert refused.value.kind == "unknown"


def test_the_tools_are_few_and_short(office: Office) -> None:
    tools = office.registry.tools()
    assert [tool.name for tool in tools] == ["compact", "context", "pin", "prune", "restore", "timeline", "undo"]
    sizes = [len(tool_description(tool)) + len(json.dumps(lean_schema(tool))) for tool in tools]
    assert sum(sizes) / 4 < 950  # tokens of every request

"""The context commands: what they say to people and to agents, whom they let do what, and how they refuse."""

import json
from pathlib import Path
from types import SimpleNamespace
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
from gshtui.commands.evaluation import run_line
from gshtui.commands.execution import call, run_value
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
    ShowReceipt,
)
from gshtui.store.engine.store_errors import StoreError
from tests.kit.fixed_contexts import TEXTS, FixedContexts
from tests.kit.own_contexts import router_without_programs

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


class ContextTools:
    """The commands, on contexts that are told."""

    def __init__(self) -> None:
        self.contexts = FixedContexts()
        self.registry = Registry(commands(router_without_programs(self.contexts), row, lambda: ["main", "helper"]))

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
def tools() -> ContextTools:
    return ContextTools()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("context", "4.5k of 200k tokens"),
        ("context main", "in about 12 turns"),
        ("/context agent=helper", "helper (0007)"),
        ("context main history", "bash npm test"),
        ("context section=input", "input: 1 block, 300 tokens"),
        ("context block=2", TEXTS["h1"]),
        ("context block='bash npm test'", "#2, history, tool_result"),
        ("context iteration=-1", "iteration 3"),
        ("context request=true", '{"model": "m", "messages": []}'),
        ("context diff=2", "From main:2 to main:next"),
        ("context diff='1 2'", "send the same"),
        ("context diff='main helper:1'", "From main:next to 0007:1"),
        ("timeline", "3 requests, 1 cut, $0.03"),
        ("timeline cut=cut1", "read old.py"),
        ("whatif haiku", "It fits: 4k of 4.1k tokens (-500)"),
        ("carry by=tool", "sent 31 times, 93k paid"),
        ("compact preview=true", "4.5k → 1.5k tokens (-3k)"),
        ("compact the parser", "`undo cut2` undoes it"),
        ("prune", "prune cut2 of main by person"),
        ("clear_context helper", "clear cut2 of 0007"),
        ("pin 2", "bash npm test (#2, 3k tokens) will never be cut"),
        ("unpin m1/0", "may be cut again"),
        ("restore old.py", "sent in full"),
        ("undo", "The prune cut1 is undone: about 4.5k tokens"),
        ("tune threshold=0.7", "170k"),
        ("tune", "| threshold    | 0.7"),
    ],
)
async def test_what_people_read(tools: ContextTools, line: str, said: str) -> None:
    outcome = await tools.run(line)
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
async def test_what_is_done(tools: ContextTools, line: str, asked: tuple[Any, ...]) -> None:
    await tools.run(line)
    assert tools.contexts.calls == [asked]


@pytest.mark.parametrize(
    ("line", "error", "said"),
    [
        ("context nobody", CommandError, "`agent ls` lists them"),
        ("context section=thoughts", UsageError, "history"),
        ("context iteration=9", UsageError, "It has made 3"),
        ("context block=9", UsageError, "no block"),
        ("context diff='1 2 3'", UsageError, "two requests"),
        ("context diff='1 nobody'", CommandError, "nobody"),
        ("timeline cut=zzz", UsageError, "no cut"),
        ("whatif", UsageError, "what to change"),
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
async def test_what_is_refused(tools: ContextTools, line: str, error: type[CommandError], said: str) -> None:
    with pytest.raises(error, match=said):
        await tools.run(line)
    assert tools.contexts.calls == []


async def test_json_and_limits(tools: ContextTools) -> None:
    outcome = await tools.run("context json=true texts=true request=true limit=1")
    data = json.loads(outcome.text)
    assert data == outcome.data
    assert data["request"] == {"model": "m", "messages": []}
    assert [block["text"] for section in data["sections"] for block in section["blocks"]] == [
        TEXTS["h0"],
        TEXTS["h1"],
        TEXTS["h2"],
    ]
    found = (await tools.run("context diff=2 texts=true")).data["differences"]
    assert [(one["kind"], one["text_before"], one["text_after"]) for one in found] == [
        ("rewritten", TEXTS["h3"], TEXTS["h1"]),
        ("added", "", TEXTS["h2"]),
    ]


async def test_agents_get_short_json_about_themselves(tools: ContextTools) -> None:
    outcome = await tools.run("context", "helper")
    data = json.loads(outcome.text)
    assert data["agent"] == "0007"
    assert "text" not in data["sections"][0]["blocks"][0]
    assert "note" not in data
    assert len(outcome.text) < len(json.dumps(outcome.data))
    assert json.loads((await tools.run("context block=2", "helper")).text)["text"] == TEXTS["h1"]
    assert json.loads((await tools.run("context parent", "0008")).text)["agent"] == "0007"


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
        ("clear_context", "main", True),
        ("compact agent=helper", "main", False),
        ("compact agent=helper preview=true", "main", True),
        ("prune parent", "0008", False),
        ("pin agent=stranger 1", "main", False),
        ("unpin 1", "main", False),
        ("tune threshold=0.1", "main", False),
        ("tune helper threshold=0.1", "main", False),
    ],
)
async def test_agents_rights(tools: ContextTools, line: str, caller: str, free: bool) -> None:
    assert await tools.free(line, caller) is free


async def test_a_question_says_what_it_is_about(tools: ContextTools) -> None:
    found = await tools.assess("prune parent", "0008")
    assert (found.effect, found.subject) == (Effect.EXECUTE, "0007")
    assert found.pattern == ""  # never `always allow`
    assert (await tools.assess("context stranger", "main")).pattern


async def test_who_cut_it_is_noted(tools: ContextTools) -> None:
    await tools.run("prune", "main")
    await tools.run("pin 1", "main")
    assert tools.contexts.calls == [("cut", "main", "prune", "main", ""), ("pin", "main", "system/0", True, "main")]


async def test_tune_tells_what_is_set(tools: ContextTools) -> None:
    data = (await tools.run("tune")).data
    assert (data["threshold"], data["protect"], data["strategy"], data["output_bytes"]) == (
        0.7,
        40_000,
        "summarise",
        30_000,
    )
    assert tools.contexts.calls == []


async def test_completion(tools: ContextTools) -> None:
    line = "context section=h"
    found = await complete(tools.registry, tools.invocation(), line, len(line))
    assert any("history" in str(one) for one in found)
    line = "prune hel"
    assert any("helper" in str(one) for one in await complete(tools.registry, tools.invocation(), line, len(line)))


async def test_code_looks_at_contexts_by_value(tools: ContextTools) -> None:
    view = await tools.call(ReadContext(agent="helper"))
    assert (view.agent, view.tokens) == ("0007", 4_500)
    assert await tools.call(ReadText(hash="h1")) == TEXTS["h1"]
    assert [one.id for one in (await tools.call(ReadIterations(limit=2))).iterations] == ["i2", "i3"]
    assert [one.id for one in (await tools.call(ReadReceipts())).receipts] == ["cut1"]
    assert (await tools.call(ForecastContext(agent="main"))).turns == 12
    sides = CompareContexts(before=RequestName("", "i2"), after=RequestName("helper"))
    found = await tools.call(sides)
    assert (str(found.first), str(found.second)) == ("main:2", "0007:next")
    assert [one.kind for one in found.differences] == ["rewritten", "added"]


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("context diff='1 helper:2'", CompareContexts(before=RequestName("", "1"), after=RequestName("helper", "2"))),
        ("context diff=helper:2", CompareContexts(before=RequestName("helper", "2"), after=RequestName("helper"))),
        ("timeline cut=cut1", ShowReceipt(cut="cut1")),
    ],
)
async def test_a_line_comes_down_to_a_value_that_says_the_same(
    tools: ContextTools, monkeypatch: pytest.MonkeyPatch, line: str, value: Any
) -> None:
    monkeypatch.setattr("gshtui.context.commands.answers.time", SimpleNamespace(time=lambda: 5.0))  # of blocks' ages
    by_value = await run_value(tools.registry, value, tools.invocation())
    assert by_value == await tools.run(line)


async def test_a_block_that_a_cut_took_out_can_be_pinned_by_its_id(tools: ContextTools) -> None:
    done = await tools.call(PinBlock(block=Word("m0/0")))
    assert (done.id, done.block) == ("m0/0", None)
    assert tools.contexts.calls == [("pin", "main", "m0/0", True, "person")]


async def test_a_summary_is_given_other_words(tools: ContextTools) -> None:
    done = await tools.call(EditSummary(agent="helper", cut="cut1", text="Shorter."))
    assert (done.agent, done.cut) == ("0007", "cut1")
    assert tools.contexts.calls == [("edit_summary", "0007", "cut1", "Shorter.", "person")]


async def test_what_is_refused_says_which_kind(tools: ContextTools) -> None:
    with pytest.raises(ContextRefused, match="nobody") as refused:
        await tools.call(ReadContext(agent="nobody"))
    assert refused.value.kind == "unknown"


def test_the_tools_are_few_and_short(tools: ContextTools) -> None:
    found = tools.registry.tools()
    assert [tool.name for tool in found] == ["compact", "context", "pin", "prune", "restore", "timeline", "undo"]
    sizes = [len(tool_description(tool)) + len(json.dumps(lean_schema(tool))) for tool in found]
    assert sum(sizes) / 4 < 950  # tokens of every request

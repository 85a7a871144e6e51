"""Tools that requests do not describe: how a query finds them, and which of them a conversation has."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from gshtui.agents.tool_selection import ToolSelector
from gshtui.bus.messages import Message, ToolCall
from gshtui.commands.declaration import Caller, Command, CommandError, Invocation, Outcome
from gshtui.commands.registry import AnyCommand, Registry
from gshtui.commands.schema import RARE, ToolParameters
from gshtui.commands.tool_search import FIND_TOOL, find_tool_command, find_tools, found_tools, index_of
from gshtui.context.log.tool_budget import ToolOffer
from gshtui.fleet.native.permissions import permitted_registry
from gshtui.fleet.native.spec import ToolLimit


class Given(ToolParameters):
    """What the tools here take."""

    text: str = ""
    often: int = Field(default=1, description="How often it is done", json_schema_extra=RARE)


async def _nothing(_invocation: Invocation, _parameters: Given) -> Outcome:
    return Outcome()


def tool(name: str, summary: str, family: str, *, always: bool = False) -> AnyCommand:
    return Command(name, summary, Given, _nothing, family=family, tool=True, always_offered=always, details="More.")


USUAL = (tool("read", "Read a file", "files", always=True), tool("bash", "Run a command", "run", always=True))
TERMINALS = (tool("tmux", "Work in a terminal", "run"), tool("terminal", "Run a command in the shared shell", "run"))
CUTS = (tool("prune", "Cut old outputs", "context"), tool("undo", "Undo a cut", "context"))
RARES = (*TERMINALS, *CUTS)


def registry() -> Registry:
    made = Registry((*USUAL, *RARES))
    made.register(find_tool_command(made))
    return made


def calls(*made: tuple[str, dict[str, object]]) -> list[Message]:
    return [
        Message(str(at), "assistant", (ToolCall(f"c{at}", name, arguments),))
        for at, (name, arguments) in enumerate(made)
    ]


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("tmux", ["tmux"]),
        ("prune, undo", ["prune", "undo"]),
        ("`tmux`", ["tmux"]),
        ("work in a terminal", ["tmux", "terminal"]),
        ("shared shell", ["terminal"]),
        ("CUT", ["undo", "prune"]),
        ("spreadsheet", []),
        ("", []),
    ],
)
def test_a_query_means_the_tools_that_it_names_or_that_its_words_fit(query: str, names: list[str]) -> None:
    assert sorted(found.name for found in find_tools(RARES, query)) == sorted(names)


def test_what_was_found_or_called_is_described_from_then_on() -> None:
    box = ToolSelector(registry())
    first = box.select([])
    assert [spec.name for spec in first.specs] == ["bash", FIND_TOOL, "read"]
    assert first.findable == {"tmux", "terminal", "prune", "undo"}
    searched = next(spec for spec in first.specs if spec.name == FIND_TOOL)
    assert "context: prune, undo; run: terminal, tmux" in searched.description
    log = calls((FIND_TOOL, {"query": "undo"}), ("read", {}), ("tmux", {}))
    later = box.select(log)
    assert [spec.name for spec in later.specs] == ["bash", FIND_TOOL, "read", "undo", "tmux"]
    assert later.specs[:3] == first.specs, "the beginning of the request stays as it was"
    assert later.findable == {"terminal", "prune"}


def test_settings_and_personas_decide_what_is_described_always() -> None:
    assert [spec.name for spec in ToolSelector(registry(), ["tmux"]).select([]).specs] == [
        "bash",
        FIND_TOOL,
        "read",
        "tmux",
    ]
    every = ToolSelector(registry(), ["*"]).select([])
    assert {spec.name for spec in every.specs} == {command.name for command in (*USUAL, *RARES)}
    named = permitted_registry(registry(), [ToolLimit(tools=("read", "tmux"))])
    assert [spec.name for spec in ToolSelector(named).select([]).specs] == ["read", "tmux"]


async def test_only_permitted_tools_are_found() -> None:
    named = permitted_registry(registry(), [ToolLimit(tools=("read", "undo", FIND_TOOL))])
    here = Invocation(Caller("main", is_agent=True), Path("/"), Path("/"))
    command = named.get(FIND_TOOL)
    listed = await command.handler(here, command.parameters())
    assert [one["name"] for one in listed.data] == ["read", "undo"]
    with pytest.raises(CommandError, match="No tool fits 'tmux'"):
        await command.handler(here, command.parameters(query="tmux"))


async def test_a_tool_that_is_described_is_explained_whole() -> None:
    """Its rare parameters are in no request."""
    made = registry()
    assert all("often" not in spec.schema["properties"] for spec in ToolSelector(made).select([]).specs)
    here = Invocation(Caller("main", is_agent=True), Path("/"), Path("/"))
    command = made.get(FIND_TOOL)
    said = await command.handler(here, command.parameters(query="read"))
    assert "More." in said.text and "How often it is done" in said.text


def test_texts_may_name_what_can_be_found() -> None:
    selected = ToolSelector(registry()).select([])
    offer = ToolOffer()
    offer.select(selected.specs, 100_000, selected.findable)
    assert "tmux" not in offer.withheld
    offer.select(tuple(spec for spec in selected.specs if spec.name != FIND_TOOL), 100_000, selected.findable)
    assert "tmux" in offer.withheld


_CALLS = st.one_of(
    st.tuples(st.sampled_from([one.name for one in (*USUAL, *RARES)]), st.just({})),
    st.tuples(st.just(FIND_TOOL), st.fixed_dictionaries({"query": st.sampled_from(["tmux", "cut", "run", "x", ""])})),
    st.tuples(
        st.just(FIND_TOOL), st.dictionaries(st.text(max_size=3), st.integers() | st.none() | st.text(max_size=3))
    ),
)


@given(st.lists(_CALLS, max_size=12), st.integers(0, 12))
def test_a_longer_conversation_only_adds_tools_at_the_end(made: list[tuple[str, dict[str, object]]], at: int) -> None:
    box = ToolSelector(registry())
    before, after = box.select(calls(*made[:at])), box.select(calls(*made))
    assert after.specs[: len(before.specs)] == before.specs
    assert len({spec.name for spec in after.specs}) == len(after.specs)
    rare = {one.name for one in RARES}
    assert set(found_tools(registry(), calls(*made))) & rare == {spec.name for spec in after.specs} & rare
    assert after.findable.isdisjoint(spec.name for spec in after.specs)


def test_the_index_of_hundreds_of_tools_stays_short_and_names_small_families_whole() -> None:
    many = [tool(f"many__search_issues_{number}", "Search", "many") for number in range(500)]
    told = index_of(Registry([*RARES, *many]).listed_tools())
    assert len(told) < 600
    assert "many: 500 tools, such as many__search_issues_0" in told
    assert all(one.name in told for one in RARES)


def test_one_of_hundreds_of_tools_is_found_by_words() -> None:
    many = [tool(f"many__search_part_{number}", f"Search part {number}", "many") for number in range(500)]
    wanted = tool("many__close_ticket", "Close a ticket of the tracker", "many")
    assert [one.name for one in find_tools([*many, wanted], "close ticket")] == ["many__close_ticket"]

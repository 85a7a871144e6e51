"""What every request carries beside the conversation is small; rare tools come with the calls that find them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gshtui.context.log.blocks import text_tokens, tool_text
from gshtui.providers.port import ToolSpec
from tests.kit.configuration import user_file
from tests.kit.home import Home
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Call, Say
from tests.kit.loopback.server import Loopback
from tests.kit.providers import MODELS
from tests.kit.warm_program import run_gsh

MOST = 2_260
"""Tokens, by our estimate, of the system section and the tools of a request with the default configuration.

Of the tokenizers that can count offline one for newer Claude models finds 12 % more, so that by its count it is less
than 2,500, too; cl100k finds 5 % less.
"""


def spec_of(tool: dict[str, Any]) -> ToolSpec:
    """A tool of any API's body."""
    inner = tool.get("function", tool)
    schema = next(inner[key] for key in ("input_schema", "parameters", "parametersJsonSchema") if key in inner)
    return ToolSpec(inner["name"], inner["description"], schema)


def tools_of(body: dict[str, Any]) -> list[ToolSpec]:
    groups = [tool.get("functionDeclarations", [tool]) for tool in body["tools"]]
    return [spec_of(tool) for group in groups for tool in group]


async def bodies(project: Path, server: Loopback, api: str) -> list[dict[str, Any]]:
    words = ("prompt", "--json", "--provider", api.split("-")[0], "--model", MODELS[api], "count")
    ran = await asyncio.to_thread(run_gsh, *words, cwd=project, env=variables(api, server.url))
    assert ran.code == 0, ran.err
    assert server.refused == []
    return [chat.body for chat in server.chats]


async def test_the_fixed_part_of_a_request_is_small(project: Path) -> None:
    async with loopback("anthropic", [[Say("ok")]], models=[MODELS["anthropic"]]) as server:
        (body,) = await bodies(project, server, "anthropic")
    sizes = {tool.name: text_tokens(tool_text(tool)) for tool in tools_of(body)}
    sizes |= {text["text"].split("\n")[0]: text_tokens(text["text"]) for text in body["system"]}
    assert sum(sizes.values()) <= MOST, sizes


@pytest.mark.parametrize("api", ["anthropic", "openai-chat", "gemini", "ollama"])
async def test_a_tool_that_was_found_is_called_by_its_name(project: Path, api: str) -> None:
    script = [
        [Call("find_tool", {"query": "list worktrees"})],
        [Call("git_worktree", {"action": "list"})],
        [Say("done")],
    ]
    async with loopback(api, script, models=[MODELS[api]]) as server:
        first, second, third = await bodies(project, server, api)
    assert "git_worktree" not in [tool.name for tool in tools_of(first)]
    assert "git_worktree" in [tool.name for tool in tools_of(second)]
    assert tools_of(second)[: len(tools_of(first))] == tools_of(first)
    assert tools_of(third) == tools_of(second)
    assert "Call it by this name" in str(
        second["messages" if "messages" in second else "input" if "input" in second else "contents"]
    )


@pytest.mark.parametrize("always", ['["python", "usage"]', '["*"]'])
async def test_the_settings_describe_more_in_every_request(project: Path, home: Home, always: str) -> None:
    user_file(home, f"[agent]\nalways_tools = {always}\n")
    async with loopback("anthropic", [[Say("ok")]], models=[MODELS["anthropic"]]) as server:
        (body,) = await bodies(project, server, "anthropic")
    names = {tool.name for tool in tools_of(body)}
    assert {"python", "usage"} <= names
    assert ("find_tool" in names) == ("*" not in always)

"""What an API receives of a long output is what the receipt says, and names only tools that the request offers."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gshtui.context.log.tool_budget import TOOLS
from gshtui.text.truncation import least
from tests.kit.command import CommandResult
from tests.kit.home import Home
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Call, Say
from tests.kit.loopback.server import Loopback
from tests.kit.markers import MARKER, cut_of
from tests.kit.providers import MODELS
from tests.kit.warm_program import run_gsh

PRINTED = 108_894
"""Bytes of `seq 1 20000`."""


def window(home: Home, api: str, tokens: int) -> None:
    file = home.config / "gsh" / "models.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    provider = api.split("-")[0]
    file.write_text(
        f'[[model]]\nname = "{MODELS[api]}"\nprovider = "{provider}"\nwindow = {tokens}\nmax_output = 500\n'
    )


def texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from texts(part)
    elif isinstance(value, list):
        for part in value:
            yield from texts(part)


async def prompted(project: Path, server: Loopback, api: str, *more: str) -> CommandResult:
    words = ("prompt", "--yes", "--json", "--provider", api.split("-")[0], "--model", MODELS[api], *more, "count")
    return await asyncio.to_thread(run_gsh, *words, cwd=project, env=variables(api, server.url))


@pytest.mark.parametrize(
    ("api", "limit"), [("anthropic", 0), ("anthropic", 100), ("openai-chat", 5_000), ("openai-chat", 30_000)]
)
async def test_what_is_sent_is_what_the_receipt_says(project: Path, api: str, limit: int) -> None:
    script = [[Call("bash", {"command": "seq 1 20000"})], [Say("Counted.")]]
    async with loopback(api, script, models=[MODELS[api]]) as server:
        ran = await prompted(project, server, api, "--set", f"context.max_tool_output_bytes={limit}")
        assert ran.code == 0, ran.err
        assert server.refused == []
        (finished,) = [line for line in ran.lines if line["type"] == "ToolFinished"]
        sent = [text for text in texts(server.chats[1].body) if text == finished["content"]]
        assert len(sent) == 1
        told = [line for line in ran.lines if line["type"] == "OutputTruncated"]
        if not limit:
            assert not told
            assert sent[0] == "\n".join(map(str, range(1, 20_001)))
            return
        (event,) = told
        head, omitted, tail = cut_of(sent[0])
        assert len(head) + omitted + len(tail) == PRINTED == event["original_bytes"] == finished["bytes"]
        assert event["kept_bytes"] == len(sent[0].encode()) <= max(limit, least("0" * 32))
        logged = await asyncio.to_thread(run_gsh, "logs", "--type", "truncation", "--json", cwd=project)
        (record,) = logged.lines
        assert (record["original_bytes"], record["truncated_bytes"]) == (PRINTED, event["kept_bytes"])


@pytest.mark.parametrize(
    ("api", "tokens"), [("anthropic", 4_000), ("anthropic", 16_000), ("ollama", 8_192), ("ollama", 200_000)]
)
async def test_only_tools_that_are_offered_are_named(project: Path, home: Home, api: str, tokens: int) -> None:
    window(home, api, tokens)
    await asyncio.to_thread(run_gsh, "run", "bash false", cwd=project)
    script = [[Call("bash", {"command": "seq 1 20000"})], [Say("Counted.")]]
    async with loopback(api, script, models=[MODELS[api]]) as server:
        ran = await prompted(project, server, api)
        assert ran.code == 0, ran.err + ran.out
        for asked in server.chats:
            offered = {tool.get("name") or tool["function"]["name"] for tool in asked.body["tools"]}
            assert "bash" in offered
            found = next((tool for tool in asked.body["tools"] if "find_tool" in str(tool)), {})
            offered |= set(re.findall(r"[a-z_]+", str(found))) & TOOLS  # it names the tools that it finds
            for text in texts([asked.body.get("system"), asked.body["messages"]]):
                named = {name for name in re.findall(r"`([a-z_]+)[` ]", text) if name in TOOLS}
                assert named <= offered, text
            told = {tool.get("name") or tool["function"]["name"]: tool for tool in asked.body["tools"]}
            for tool in told.values():
                about = tool.get("description") or tool["function"]["description"]
                own = set(re.findall(r"\w+", str(tool.get("input_schema") or tool["function"])))
                named = {name for name in re.findall(r"`([a-z_]+)[` ]", about) if name in TOOLS}
                assert named - own <= offered, about
        cut = [text for text in texts(server.chats[1].body) if MARKER.search(text)]
        (only,) = cut
        head, omitted, tail = cut_of(only)
        assert len(head) + omitted + len(tail) == PRINTED
        assert ("`output key=" in only) == ("output" in offered)

"""A request of the past, put together again by another process, is byte for byte what the API received."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from gshtui.settings import trust
from tests.kit.command import CommandResult
from tests.kit.configuration import made_project
from tests.kit.home import Home
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Call, Say, Spent
from tests.kit.loopback.server import Loopback
from tests.kit.providers import MODELS
from tests.kit.storms import some
from tests.kit.warm_program import run_gsh


@pytest.fixture
def project(tmp_path: Path, home: Home) -> Path:
    folder = made_project(tmp_path / "project")
    (folder / "README.md").write_text("hello from the readme\n", encoding="utf-8")
    (folder / "AGENTS.md").write_text("Say it in Latin.\n", encoding="utf-8")
    own = home.config / "gsh" / "AGENTS.md"
    own.parent.mkdir(parents=True, exist_ok=True)
    own.write_text("Be brief.\n", encoding="utf-8")
    return folder


async def run(project: Path, server: Loopback, api: str, *arguments: str) -> CommandResult:
    return await asyncio.to_thread(run_gsh, *arguments, cwd=project, env=variables(api, server.url))


def blocks(view: Any, *sections: str) -> list[dict[str, Any]]:
    return [block for one in view["sections"] if one["name"] in sections for block in one["blocks"]]


@pytest.mark.parametrize("api", some(["anthropic", "openai-chat", "gemini", "ollama"], 2))
async def test_a_turn_with_a_tool(project: Path, api: str) -> None:
    script = [
        [Say("I look."), Call("read", {"path": "README.md"}), Spent(input=10, cache_write=7_000)],
        [Say("Salve."), Spent(input=10, cache_read=7_000, cache_write=60)],
    ]
    async with loopback(api, script, models=[MODELS[api]]) as server:
        model = ("--provider", api.split("-")[0], "--model", MODELS[api])
        trust.trust(project, None)
        prompted = await run(project, server, api, "prompt", *model, "what does README.md say?")
        assert prompted.code == 0, prompted.err
        assert len(server.chats) == 2
        assert server.refused == []
        for number, asked in enumerate(server.chats, 1):
            shown = await run(project, server, api, "context", "main", "--json", "--iteration", str(number))
            view = shown.json
            request = view["request"]
            assert (json.loads(request) if isinstance(request, str) else request) == asked.body
            assert (view["request_exact"], view["request_note"]) == (True, "")
            instructions = [block for block in blocks(view, "system") if block["kind"] == "file"]
            assert [block["source"] for block in instructions] == ["AGENTS.md (yours)", "AGENTS.md"]
            assert "Say it in Latin." in instructions[1]["text"]
            assert "Say it in Latin." in json.dumps(asked.body)
            assert "loopback" not in json.dumps(request)  # the key
            if number == 2:
                states = {block["cache"] for block in blocks(view, "system", "memory", "tools")}
                assert states == ({""} if api == "ollama" else {"read"})  # which counts no cache


async def test_what_is_not_trusted_is_told_and_not_sent(project: Path) -> None:
    async with loopback("anthropic", [[Say("Salve.")]], repeat=True) as server:
        model = ("--provider", "anthropic", "--model", MODELS["anthropic"])
        first = await run(project, server, "anthropic", "prompt", *model, "--json", "hello")
        told = [line for line in first.lines if line["type"] == "Noticed"]
        assert any("AGENTS.md" in line["text"] and "config trust" in line["hint"] for line in told)
        second = await run(project, server, "anthropic", "prompt", *model, "--json", "hello")
        assert not any("AGENTS.md" in line["text"] for line in second.lines if line["type"] == "Noticed")
        for asked in server.chats:
            assert "Say it in Latin." not in json.dumps(asked.body)
            assert "Be brief." in json.dumps(asked.body)

"""Tools of real MCP servers in turns of an agent: offered, called past the guard, watched, and never a danger."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gshtui.bus.events.agent_events import PromptSubmitted, ToolFinished, TurnFinished
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested
from gshtui.hub.composition import build_hub
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings import paths
from gshtui.settings.loader import load
from gshtui.system.ids import new_id
from tests.kit.command import ROOT
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Answer, Call, Say
from tests.kit.loopback.server import Loopback
from tests.kit.scripted_provider import Recorder

COVERS = (
    "gshtui.hub.mcp_part",
    "gshtui.mcp_client.answer_outcome",
    "gshtui.mcp_client.consents",
    "gshtui.mcp_client.http_transport",
    "gshtui.mcp_client.sdk_session",
    "gshtui.mcp_client.server_definition",
    "gshtui.mcp_client.server_requests",
    "gshtui.mcp_client.server_tools",
    "gshtui.mcp_client.tool_pins",
)
PARTS = frozenset({"store", "guard", "providers", "agents"})


def configure(*servers: str, **kinds: str) -> None:
    """Write the person's configuration: a server of `tests.kit.mcp_server` for each name and kind, and more tables."""
    folder = paths.config_dir(create=True)
    lines = list(servers)
    for name, kind in kinds.items():
        lines.append(
            f"[mcp.servers.{name}]\ncommand = {sys.executable!r}\nargs = ['-m', 'tests.kit.mcp_server', '{kind}']\n"
            f"env = {{PYTHONPATH = {str(ROOT)!r}}}\nsandbox = false\n"
        )
    (folder / "config.toml").write_text("\n".join(lines), encoding="utf-8")


def allow(*tools: str) -> None:
    """Write a rule that allows these tools."""
    text = f'[[rule]]\ndo = "allow"\ntool = {list(tools)!r}\n'
    (paths.config_dir(create=True) / "rules.toml").write_text(text, encoding="utf-8")


@asynccontextmanager
async def agent_with(
    folder: Path, monkeypatch: pytest.MonkeyPatch, script: Sequence[Answer], respondent: Any = "person"
) -> AsyncIterator[tuple[Hub, Loopback, Recorder]]:
    """A hub whose agent gets these answers of its model."""
    async with loopback("anthropic", script) as provider:
        for name, value in variables("anthropic", provider.url).items():
            monkeypatch.setenv(name, value)
        hub = build_hub(HubOptions(cwd=folder, loaded=load(folder), respondent=respondent, parts=PARTS))
        recorder = Recorder(hub.bus)
        await hub.start()
        try:
            assert hub.failed == {}
            yield hub, provider, recorder
        finally:
            await hub.stop()


async def ask(hub: Hub, text: str = "Go on.") -> TurnFinished:
    """One turn."""
    waiting = asyncio.create_task(hub.bus.wait_for(TurnFinished, timeout=30))
    await asyncio.sleep(0)
    hub.bus.publish(PromptSubmitted(prompt=new_id(), agent="main", text=text))
    finished = await waiting
    await hub.bus.drained()
    return finished


def finished(recorder: Recorder) -> list[ToolFinished]:
    """The calls that have ended."""
    return [event for event in recorder.events if isinstance(event, ToolFinished)]


async def test_a_turn_calls_a_servers_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(kit="tools")
    allow("kit__add")
    script = [[Call("kit__add", {"a": 2, "b": 40})], [Say("It is 42.")]]
    async with agent_with(tmp_path, monkeypatch, script) as (hub, provider, recorder):
        assert (await ask(hub)).text == "It is 42."
        (call,) = finished(recorder)
        assert (call.tool, call.status, call.content) == ("kit__add", "ok", "42")
        first, second = (request.body["tools"] for request in provider.requests if "tools" in (request.body or {}))
        search = next(tool for tool in first if tool["name"] == "find_tool")
        assert "kit__add" in search["description"]
        assert {"a", "b"} == set(next(t for t in second if t["name"] == "kit__add")["input_schema"]["properties"])


async def test_each_call_asks_unless_a_rule_names_the_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(kit="tools")
    script = [[Call("kit__add", {"a": 1, "b": 1})], [Say("done")]]
    async with agent_with(tmp_path, monkeypatch, script) as (hub, _, recorder):
        turn = asyncio.create_task(ask(hub))
        question = await hub.bus.wait_for(ApprovalRequested, timeout=20)
        assert question.tool == "kit__add"
        assert '"a": 1' in question.detail
        assert "MCP server kit" in question.detail
        hub.bus.publish(ApprovalAnswered(approval=question.approval, decision="deny", reason="use bash"))
        await turn
        (call,) = finished(recorder)
        assert call.status == "denied"
        assert "use bash" in call.content

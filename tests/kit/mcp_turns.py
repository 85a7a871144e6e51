"""Turns of an agent with MCP servers: their configuration, a hub whose model follows a script, what its calls gave."""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from gshtui.bus.events.agent_events import PromptSubmitted, ToolFinished, TurnFinished
from gshtui.hub.composition import build_hub
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.mcp_client.server_requests import Elicitation, SamplingAnswer, SamplingRequest, ToolCaller
from gshtui.settings import paths
from gshtui.settings.loader import load
from gshtui.system.ids import new_id
from tests.kit import warm_program
from tests.kit.command import ROOT
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Answer
from tests.kit.loopback.server import Loopback
from tests.kit.running_hub import started_hub
from tests.kit.scripted_provider import Recorder

WITHIN = 45.0
"""Seconds for a turn, and for a question in it: a server's start takes many of them beside a machine's other work."""
PARTS = frozenset({"store", "guard", "providers", "agents"})


class NobodyAnswers:
    """Answers a server where neither an agent nor a person is: the folders, and nothing else."""

    def __init__(self, project: Path) -> None:
        self._project = project

    def roots(self) -> list[Path]:
        return [self._project]

    async def sample(self, server: str, caller: ToolCaller, request: SamplingRequest) -> SamplingAnswer | None:
        return None

    async def elicit(self, server: str, caller: ToolCaller, asked: Elicitation) -> Mapping[str, Any] | None:
        return None

    async def sign_in(self, server: str, url: str) -> bool:
        return False


def configure(*servers: str, sandboxed: bool = False, **kinds: str) -> None:
    """Write the person's configuration: a server of `tests.kit.mcp_server` for each name and kind, and more tables.

    Each is a fork of a process that has loaded it; in the sandbox it is a process from its start.
    """
    folder = paths.config_dir(create=True)
    lines = list(servers)
    forked = warm_program.shared("tests.kit.mcp_server", rooms=()).argv("tests.kit.mcp_server:main")
    command, *words = [sys.executable, "-m", "tests.kit.mcp_server"] if sandboxed else forked
    for name, kind in kinds.items():
        lines.append(
            f"[mcp.servers.{name}]\ncommand = {command!r}\nargs = {[*words, kind]!r}\n"
            f"env = {{PYTHONPATH = {str(ROOT)!r}}}\nsandbox = {str(sandboxed).lower()}\n"
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
        async with started_hub(hub):
            assert hub.failed == {}
            yield hub, provider, recorder


async def ask(hub: Hub, text: str = "Go on.", *, within: float = WITHIN) -> TurnFinished:
    """One turn, once it is known what the person's servers offer: a turn by itself waits ten seconds for that."""
    await _learn(hub)
    return await turn(hub, text, within=within)


async def turn(hub: Hub, text: str = "Go on.", *, within: float = WITHIN) -> TurnFinished:
    waiting = hub.bus.wait_for(TurnFinished, timeout=within)
    hub.bus.publish(PromptSubmitted(prompt=new_id(), agent="main", text=text))
    finished = await waiting
    await hub.bus.drained()
    return finished


async def _learn(hub: Hub) -> None:
    """Start the servers of which nothing is known, as the first turn does."""
    pool = hub.mcp_servers()
    await pool.load()
    unknown = [
        one.name
        for one in pool.definitions
        if one.settings.enabled and not one.brought and pool.pins(one.name).definition != one.digest
    ]
    await asyncio.gather(*(pool.started(name, "main") for name in unknown), return_exceptions=True)


def finished(recorder: Recorder) -> list[ToolFinished]:
    """The calls that have ended."""
    return [event for event in recorder.events if isinstance(event, ToolFinished)]

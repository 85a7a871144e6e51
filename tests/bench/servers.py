"""MCP servers: what a call costs over the SDK's own, what hundreds of tools cost a request, and a window with ten.

The floor of a call is the SDK's client with the same server, in the same run, one call after the other of each.
"""

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Any

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from gshtui.agents.tool_selection import ToolSelector
from gshtui.agents.toolbox import Toolbox, WorkDirs
from gshtui.bus.bus import Bus
from gshtui.bus.messages import ToolCall
from gshtui.commands.registry import Registry
from gshtui.commands.tool_search import find_tool_command
from gshtui.context.log.blocks import text_tokens, tool_text
from gshtui.guard.approval.gate import Gate
from gshtui.guard.rules.rule_book import GuardRule, RuleBook
from gshtui.mcp_client.server_connection import ConnectionOptions
from gshtui.mcp_client.server_definition import ServerDefinition
from gshtui.mcp_client.server_pool import ServerPool, ServerQuestion
from gshtui.settings.started_programs import McpServer
from tests.bench.figures import Report, median, p95
from tests.bench.place import ROOT, Place, ours
from tests.bench.pty_probe import Probe
from tests.kit.mcp_turns import NobodyAnswers

CALLS = 200
ROUNDS = 5


def run(report: Report, place: Place) -> None:
    """All of it."""
    asyncio.run(_calls(report, place.project))
    asyncio.run(_tools(report, place.project))
    _window(report, place)


def _definition(name: str, kind: str, project: Path) -> ServerDefinition:
    settings = McpServer(
        command=sys.executable, args=["-m", "tests.kit.mcp_server", kind], env={"PYTHONPATH": str(ROOT)}, sandbox=False
    )
    return ServerDefinition(name, settings, project)


async def _agree(_agent: str, _question: ServerQuestion) -> bool:
    return True


def _pool(bus: Bus, project: Path, *definitions: ServerDefinition) -> ServerPool:
    options = ConnectionOptions(os.environ, None, NobodyAnswers(project), 60.0)
    return ServerPool(bus, definitions, options, _agree, project / "files")


async def _calls(report: Report, project: Path) -> None:
    """A tool's call through an agent's toolbox, guard and all, beside the SDK's."""

    async def keep(_session: str, _call: str, _text: str) -> str:
        return "key"

    bus, registry = Bus(), Registry()
    pool = _pool(bus, project, _definition("kit", "tools", project))
    rule = GuardRule("allow", project / "rules.toml", 1, tool=("kit__add",))
    gate = Gate(bus, respondent="nobody", auto_approve=frozenset(), rules=lambda: RuleBook((rule,), project=project))
    toolbox = Toolbox(bus, registry, gate, "main", WorkDirs(project, project), keep, 30_000)
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "tests.kit.mcp_server", "tools"], env={"PYTHONPATH": str(ROOT)}
    )
    own: list[float] = []
    theirs: list[float] = []
    try:
        async with Client(stdio_client(parameters)) as client:
            await pool.prepare(registry, "main", lambda _: True)
            for number in range(CALLS):
                began = time.perf_counter()
                answer = await client.call_tool("add", {"a": number, "b": 1})
                theirs.append((time.perf_counter() - began) * 1_000)
                assert not answer.is_error
                call = ToolCall(f"c{number}", "kit__add", {"a": number, "b": 1})
                began = time.perf_counter()
                (result,), _ = await toolbox.run([call], "s", "m")
                own.append((time.perf_counter() - began) * 1_000)
                assert result.content == str(number + 1), result
    finally:
        await pool.close()
        await gate.close()
        await bus.close()
    report.add("a call by the SDK alone: p95", p95(theirs), "ms", note="the floor")
    report.add("a call of an agent, over the SDK's: median", median(own) - median(theirs), "ms")
    report.add("a call of an agent, over the SDK's: p95", p95(own) - p95(theirs), "ms", limit=10)


def _request_tokens(registry: Registry) -> int:
    return sum(text_tokens(tool_text(spec)) for spec in ToolSelector(registry).select(()).specs)


async def _tools(report: Report, project: Path) -> None:
    bus, registry = Bus(), Registry()
    registry.register(find_tool_command(registry))
    pool = _pool(bus, project, _definition("many", "many", project))
    before = _request_tokens(registry)
    try:
        began = time.perf_counter()
        await pool.prepare(registry, "main", lambda _: True)
        report.add("500 tools are learned", (time.perf_counter() - began) * 1_000, "ms")
        report.add("500 tools, offered", float(_request_tokens(registry) - before), "tokens", limit=2_000)
        began = time.perf_counter()
        _request_tokens(registry)
        report.add("500 tools, selected for a request", (time.perf_counter() - began) * 1_000, "ms", limit=50)
    finally:
        await pool.close()
        await bus.close()


def _window(report: Report, place: Place) -> None:
    """The window with ten servers configured, beside one with none, one start after the other of each."""
    file = Path(place.environ["XDG_CONFIG_HOME"]) / "gsh" / "config.toml"
    lines: dict[str, Any] = {
        "none": "",
        "ten": "".join(f'[mcp.servers.s{n}]\ncommand = "server{n}"\nargs = ["-x"]\n' for n in range(10)),
    }
    frame: dict[str, list[float]] = {name: [] for name in lines}
    takes: dict[str, list[float]] = {name: [] for name in lines}
    memory: dict[str, list[float]] = {name: [] for name in lines}
    file.parent.mkdir(parents=True, exist_ok=True)
    with Probe(ours(), environ=place.environ, cwd=place.project) as warm:
        warm.first_frame()
        warm.rest(3.0)
    for _ in range(ROUNDS):
        for name, text in lines.items():
            file.write_text(text, "utf-8")
            with Probe(ours(), environ=place.environ, cwd=place.project) as probe:
                frame[name].append(probe.first_frame())
                takes[name].append(probe.accepts()[0])
                probe.rest(2.5)
                memory[name].append(probe.memory())
    file.unlink()
    for what, values, unit in (
        ("first frame", frame, "s"),
        ("the first letter is shown", takes, "s"),
        ("resident memory at rest", memory, "MB"),
    ):
        report.add(f"ten servers: {what}", median(values["ten"]), unit, floor=median(values["none"]), limit=1.1)

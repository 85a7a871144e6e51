"""`gsh-tui mcp serve` as other programs see it, by the SDK's own client: what is offered, allowed, and refused."""

import asyncio
import json
import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult

from gshtui.fleet.keeper.keeper import running_keeper, stop_keeper
from gshtui.fleet.native.spec import read_spec, spec_path
from gshtui.settings import paths
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Say
from tests.kit.resident import beside
from tests.kit.warm_program import SDKS, WarmProgram, run_gsh, shared, start_gsh
from tests.real.test_keeper import CLAUDE, Place, place
from tests.real.test_one_writer import writers

__all__ = ["beside", "place"]


def server() -> WarmProgram:
    return shared(*SDKS, "gshtui.features.mcp_server.mcp_face", "uvicorn")


@asynccontextmanager
async def served(folder: Path, *options: str) -> AsyncIterator[Client]:
    program, *words = server().argv()
    parameters = StdioServerParameters(
        command=program, args=[*words, "mcp", "serve", *options], env=dict(os.environ), cwd=folder
    )
    with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: PTH123, ASYNC230
        async with Client(stdio_client(parameters, errlog=nowhere)) as client:
            yield client


def text(result: CallToolResult) -> str:
    return "".join(getattr(block, "text", "") for block in result.content)


async def data(client: Client, name: str, /, **arguments: object) -> Any:
    """The data of a command, which the SDK's client has checked against the schema that is offered for it."""
    result = await client.call_tool(name, arguments)
    assert not result.is_error, text(result)
    return cast("dict[str, Any]", result.structured_content)["result"]


async def test_a_program_reads_and_searches(tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("the needle", "utf-8")
    assert run_gsh("prompt", "read note.txt", cwd=tmp_path).code == 0
    async with served(tmp_path) as client:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert {"agent_ls", "agent_show", "agent_wait", "search", "context", "session_ls"} <= names
        assert names.isdisjoint({"agent_spawn", "agent_send", "agent_interrupt", "bash", "write"})
        found = await client.call_tool("search", {"source": "sessions", "query": "needle"})
        assert not found.is_error
        assert "note.txt" in text(found)
        assert "needle" in text(await client.call_tool("context", {"agent": "main", "texts": True}))
        session = (await data(client, "session_ls"))[0]["id"]
        assert (await data(client, "search", source="sessions", query="needle"))[0]["session"] == session
        assert (await data(client, "session_show", session=session))["session"]["id"] == session
        assert (await data(client, "timeline", agent="main"))["requests"] == 2
        assert "system" in [part["name"] for part in (await data(client, "context", agent="main"))["sections"]]
        assert await data(client, "agent_ls") == []
    (paths.config_dir(create=True) / "config.toml").write_text("[context]\nmax_tool_output_bytes = 2000\n", "utf-8")
    async with served(tmp_path) as client:
        long = await client.call_tool("context", {"agent": "main", "texts": True})
        assert long.structured_content == {"text": text(long)}


def initialize(version: str, **params: object) -> dict[str, Any]:
    told = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}} | params
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": told}


def test_a_handshake_is_answered_once_and_what_was_not_allowed_refused_with_what_to_do(tmp_path: Path) -> None:
    asked = (
        initialize("2025-06-18"),
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": "agent_spawn", "arguments": {"prompt": "hello"}},
        },
    )
    with start_gsh("mcp", "serve", cwd=tmp_path, stdin=subprocess.PIPE, warm=server()) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("".join(f"{json.dumps(message)}\n" for message in asked).encode())
        process.stdin.flush()
        first, second = (json.loads(process.stdout.readline()) for _ in range(2))
        process.stdin.close()
        assert (first["id"], second["id"]) == (1, 2) and not process.stdout.read()
        assert first["result"]["serverInfo"]["name"] == "gsh-tui"
        assert second["result"]["isError"] and "--allow agent_spawn" in second["result"]["content"][0]["text"]


async def test_no_program_can_widen_anything(tmp_path: Path) -> None:
    """No other program is started, no question answered, no mode changed, no unlisted parameter taken."""
    allowed = ("--allow", "agent_spawn", "--allow", "agent_send", "--allow", "agent_interrupt")
    async with served(tmp_path, *allowed) as client:
        for name, arguments in (
            ("agent_spawn", {"prompt": "x", "cli": "touch made"}),
            ("agent_spawn", {"prompt": "x", "env": ["A=b"]}),
            ("agent_answer", {"agent": "1", "choice": "1"}),
            ("approvals", {}),
            ("mode", {"mode": "yolo"}),
            ("config", {"action": "set"}),
            ("bash", {"command": "touch made"}),
        ):
            refused = await client.call_tool(name, arguments)
            assert refused.is_error, name
    assert not (tmp_path / "made").exists()


@pytest.mark.tmux
async def test_a_child_that_an_agents_program_starts_is_held_to_the_agents_mode_and_reports(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever names itself its starter: by the variable of an agent's terminal, and by none for a person's program."""
    async with loopback("anthropic", [[Say("first")], [Say("second")]]) as model:
        for name, value in variables("anthropic", model.url).items():
            monkeypatch.setenv(name, value)
        place.run("agent", "spawn", "--cli", CLAUDE, "--profile", "claude", "--mode", "plan", "--name", "planner")
        modes: dict[str, str] = {}
        for agent in ("", "0001"):
            monkeypatch.setenv("GSH_AGENT", agent)
            async with served(place.project, "--allow", "agent_spawn") as client:
                child = await data(client, "agent_spawn", prompt="one", name=f"child-{agent or 'mine'}")
                await data(client, "agent_wait", agent=child["id"], timeout=60)
                shown = await data(client, "agent_show", agent=child["id"])
                assert shown["report"] in ("first", "second")
                spec = read_spec(spec_path(paths.data_dir(), child["id"]))
                modes[agent] = spec.mode
                assert (spec.request.parent, spec.respondent) == ("mcp-mcp", "person")
                refused = await client.call_tool("agent_kill", {"agent": child["id"]})
                assert refused.is_error, "only its person ends it"
        assert modes == {"": "ask", "0001": "plan"}


async def test_a_persons_rule_counts_for_programs_too(tmp_path: Path) -> None:
    rule = '[[rule]]\ndo = "deny"\ntool = ["agent_send"]\nwhy = "not from outside"\n'
    (paths.config_dir(create=True) / "rules.toml").write_text(rule, "utf-8")
    async with served(tmp_path, "--allow", "agent_send") as client:
        refused = await client.call_tool("agent_send", {"agent": "1", "text": "hello"})
        assert refused.is_error
        assert "not from outside" in text(refused)


@pytest.mark.parametrize("keep", ["alone", "auto"])
async def test_two_programs_over_http_with_the_token_alone(
    tmp_path: Path, keep: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside a hub, which alone has the record open, or as the hub itself."""
    monkeypatch.setenv("GSH_HUB__KEEP", keep)
    with start_gsh("mcp", "serve", "--http", "--json", cwd=tmp_path, warm=server()) as process:
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        file = Path(told["token_file"])
        assert file.stat().st_mode & 0o777 == 0o600
        token = file.read_text("utf-8").strip()
        async with httpx2.AsyncClient() as stranger:
            for headers in ({}, {"Authorization": "Bearer wrong"}):
                assert (await stranger.post(told["url"], headers=headers, json={})).status_code == 401
            with_token = {"Authorization": f"Bearer {token}"}
            for headers in (
                {"Host": "127.0.0.1:1"},
                {"Host": "evil.example"},
                {"Host": "127.0.0.1"},
                {"Origin": "http://127.0.0.1:1"},
                {"Origin": "http://evil.example"},
                {"Origin": "null"},
            ):
                answer = await stranger.post(told["url"], headers={**with_token, **headers}, json={})
                assert answer.status_code == 403, headers
        async with (
            httpx2.AsyncClient(headers=with_token) as first_http,
            httpx2.AsyncClient(headers=with_token) as second_http,
            Client(streamable_http_client(told["url"], http_client=first_http)) as first,
            Client(streamable_http_client(told["url"], http_client=second_http)) as second,
        ):
            for client in (first, second):
                assert "agent_ls" in {tool.name for tool in (await client.list_tools()).tools}
                assert not (await client.call_tool("agent_ls", {})).is_error
                refused = await client.call_tool("agent_spawn", {"prompt": "hello"})
                assert refused.is_error and "--allow agent_spawn" in text(refused)
            holder = running_keeper(paths.data_dir())
            assert holder is not None
            assert await asyncio.to_thread(writers, paths.data_dir()) == {holder.process.pid}
        process.terminate()
        assert process.wait(20) in (0, 130, -15)
        assert not file.exists(), "a token is for one run"
    await stop_keeper(paths.data_dir())


async def test_a_token_over_http_is_new_at_each_start_unless_the_person_made_it(tmp_path: Path) -> None:
    own = tmp_path / "token"
    own.write_text("a-token-of-mine-that-is-long-enough-for-this\n")
    own.chmod(0o600)
    tokens: list[str] = []
    for more in ((), (), ("--token-file", "token")):
        with start_gsh("mcp", "serve", "--http", "--json", *more, cwd=tmp_path, warm=server()) as process:
            assert process.stdout is not None
            told = json.loads(process.stdout.readline())
            tokens.append(Path(told["token_file"]).read_text("utf-8").strip())
            async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {tokens[-1]}"}) as client:
                assert (await client.post(told["url"], json={})).status_code not in (401, 403)
            process.terminate()
            process.wait(20)
    assert len(set(tokens)) == 3 and tokens[-1] == own.read_text().strip()
    for wrong, mode, why in (("short", 0o600, "at least 32"), (tokens[-1], 0o644, "chmod 600")):
        own.write_text(wrong)
        own.chmod(mode)
        refused = run_gsh("mcp", "serve", "--http", "--token-file", "token", cwd=tmp_path)
        assert refused.code == 1 and why in refused.err


@pytest.mark.parametrize("words", [("mcp", "serve"), ("acp",)])
def test_a_server_that_is_switched_off_says_how_to_switch_it_on(
    tmp_path: Path, beside: str, words: tuple[str, ...]
) -> None:
    name = "acp" if words == ("acp",) else "mcp_server"
    first = json.dumps(initialize("2025-06-18")).encode() + b"\n"
    served = run_gsh(*words, cwd=tmp_path, env={f"GSH_FEATURES__{name.upper()}": "false"}, stdin=first)
    assert (served.code, served.out) == (2, "")
    assert f"config set features.{name} true" in served.err

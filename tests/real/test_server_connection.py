"""Servers that misbehave cost one clear error each, and never the next call, the window or a person's terminal."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gshtui.mcp_client import message_filter
from gshtui.mcp_client.answer_outcome import call_outcome
from gshtui.mcp_client.server_connection import ConnectionOptions, ServerConnection
from gshtui.mcp_client.server_definition import McpError, ServerDefinition
from gshtui.mcp_client.server_requests import ToolCaller
from gshtui.mcp_client.tool_pins import ServerPins
from gshtui.settings.started_programs import McpServer
from tests.kit.command import ROOT
from tests.kit.endings import closing_async
from tests.kit.mcp_turns import NobodyAnswers
from tests.kit.warm_program import shared

OnOffer = Callable[[ServerConnection, ServerPins], Awaitable[None]]


def definition(folder: Path, kind: str, module: str = "tests.kit.mcp_faults", **env: str) -> ServerDefinition:
    settings = McpServer(
        command=sys.executable, args=["-m", module, kind], env={"PYTHONPATH": str(ROOT), **env}, sandbox=False
    )
    return ServerDefinition(kind, settings, folder)


def tools(folder: Path) -> ServerDefinition:
    """The SDK's server, a fork of one that is loaded."""
    command, *words = shared("tests.kit.mcp_server", rooms=()).argv("tests.kit.mcp_server:main")
    return ServerDefinition("tools", McpServer(command=command, args=[*words, "tools"], sandbox=False), folder)


NEIGHBOURS = """\
[Content of the type hologram cannot be read here and was left out.]
the good one
[Content of the type int cannot be read here and was left out.]
[Content of the type NoneType cannot be read here and was left out.]"""


@asynccontextmanager
async def connected(
    one: ServerDefinition, start_seconds: float = 60.0, on_offer: OnOffer | None = None
) -> AsyncIterator[ServerConnection]:
    options = ConnectionOptions(os.environ, None, NobodyAnswers(one.project), start_seconds)
    async with closing_async(ServerConnection(one, options, on_offer=on_offer)) as connection:
        yield connection


async def go(connection: ServerConnection, tool: str = "go", seconds: float = 60.0, **arguments: object) -> str:
    """Call a tool; its text as an agent gets it."""
    result = await connection.run(
        lambda session: session.call_tool(tool, arguments, lambda *_: None), ToolCaller(), seconds
    )
    return call_outcome(result, connection.definition.project / "files").text


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("flood", "after the flood"),
        ("noise", "after the noise"),
        ("usual", "went, usual"),
        ("structured", '{\n "n": 41\n}'),
        ("listed", "[41, 42]"),
        ("neighbour", NEIGHBOURS),
        ("empty", "(no output)"),
        ("marked", "went, marked"),
        ("unversioned", "went, unversioned"),
    ],
)
async def test_what_can_be_passed_over_is(tmp_path: Path, kind: str, text: str) -> None:
    async with connected(definition(tmp_path, kind)) as connection:
        assert await go(connection) == text
        assert await go(connection) == text
        assert connection.starts == 1


@pytest.mark.parametrize(
    ("kind", "why", "starts"),
    [
        ("huge", "50,000,0", 1),
        ("exhausted", "refused it: quota exhausted", 1),
        ("invalid", "not MCP", 1),
        ("die", "exit code 9", 2),
        ("half", "exit code 0", 2),
        ("babble", "no messages", 2),
    ],
)
async def test_a_call_that_goes_wrong_costs_itself_alone(tmp_path: Path, kind: str, why: str, starts: int) -> None:
    async with connected(definition(tmp_path, kind)) as connection:
        with pytest.raises(McpError) as failed:
            await go(connection)
        assert why in failed.value.message
        assert kind in failed.value.message
        await connection.ready()
        assert connection.starts == starts


async def test_a_tool_with_an_odd_schema_costs_no_other(tmp_path: Path) -> None:
    offers: list[ServerPins] = []

    async def note(_: ServerConnection, offer: ServerPins) -> None:
        offers.append(offer)

    async with connected(definition(tmp_path, "odd"), on_offer=note) as connection:
        assert await go(connection) == "went, odd"
        assert await go(connection, "any", a="x") == "went, odd"
        tools = {tool.name: tool for tool in offers[0].accepted}
        assert list(tools) == ["any", "untyped", "bare", "listed", "hinted", "go"]
        assert {tool.schema["type"] for tool in tools.values()} == {"object"}
        assert tools["untyped"].schema["properties"] == {"a": {"type": "string"}}
        assert connection.left_out == ("a tool without a name",)


async def test_a_server_that_never_answers_a_call_is_given_up_and_the_call_withdrawn(tmp_path: Path) -> None:
    async with connected(definition(tmp_path, "hang")) as connection:
        await connection.ready()
        with pytest.raises(McpError, match=r"did not answer within 0\.5 s"):
            await go(connection, seconds=0.5)
        assert connection.state == "ready"


async def test_a_server_that_never_answers_at_all_does_not_start(tmp_path: Path) -> None:
    async with connected(definition(tmp_path, "silent"), start_seconds=1.0) as connection:
        with pytest.raises(McpError, match="did not start within 1 s"):
            await go(connection)
        with pytest.raises(McpError, match="did not start"):
            await go(connection)


async def test_a_server_that_is_deaf_to_what_it_does_not_know_is_greeted_its_way_and_known_by_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK would wait ten seconds for an answer to its first question, at each start that ends before."""
    monkeypatch.setattr(message_filter, "GREETS_WITHIN", 0.1)
    offers: list[ServerPins] = []

    async def note(_: ServerConnection, offer: ServerPins) -> None:
        offers.append(offer)

    async with connected(definition(tmp_path, "deaf"), start_seconds=9.0, on_offer=note) as connection:
        assert await go(connection) == "went, deaf"
        assert offers[0].legacy and connection.legacy


async def test_a_server_of_today_that_answers_late_is_not_taken_for_an_earlier_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(message_filter, "GREETS_WITHIN", 0.01)  # before its program is loaded
    one = definition(tmp_path, "tools", "tests.kit.mcp_server")
    async with connected(one) as connection:
        await connection.ready()
        assert not connection.legacy


async def test_nothing_that_a_server_writes_drives_a_terminal(tmp_path: Path) -> None:
    async with connected(definition(tmp_path, "strange")) as connection:
        text = await go(connection)
        assert "red" in text
        assert not set(text) & {"\x1b", "\x07", "\u202e"}


async def test_a_cancelled_call_leaves_the_server_usable(tmp_path: Path) -> None:
    async with connected(tools(tmp_path)) as connection:
        await connection.ready()
        call = asyncio.create_task(go(connection, "wait_for_ever"))
        while not connection.said:  # noqa: ASYNC110
            await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert await go(connection, "add", a=1, b=2) == "3"
        assert connection.starts == 1


async def test_nothing_of_a_server_is_left_behind(tmp_path: Path) -> None:
    async with connected(definition(tmp_path, "tools", "tests.kit.mcp_server")) as connection:
        session = await connection.ready()
        assert session.process is not None
        process = session.process.process
    assert process.returncode is not None


async def test_a_picture_is_kept_and_named(tmp_path: Path) -> None:
    async with connected(tools(tmp_path)) as connection:
        text = await go(connection, "picture")
        assert "a red field" in text
        assert "[picture image/png" in text
        (file,) = (tmp_path / "files").iterdir()
        assert str(file) in text
        assert file.read_bytes().startswith(b"\x89PNG")
        assert file.stat().st_mode & 0o777 == 0o600


async def test_twenty_servers_at_once_and_one_that_hangs(tmp_path: Path) -> None:
    """Each answers on its own; none waits for the one that hangs."""
    ones = [ServerDefinition(f"s{n}", definition(tmp_path, "usual").settings, tmp_path) for n in range(20)]
    hanging = definition(tmp_path, "silent")
    connections: list[ServerConnection] = []
    options = ConnectionOptions(os.environ, None, NobodyAnswers(tmp_path), 60.0)
    try:
        connections = [ServerConnection(one, options) for one in (hanging, *ones)]
        waiting = asyncio.create_task(go(connections[0]))
        assert await asyncio.gather(*(go(one) for one in connections[1:])) == ["went, usual"] * 20
        assert not waiting.done()
        waiting.cancel()
        await asyncio.wait([waiting])
    finally:
        await asyncio.gather(*(one.close() for one in connections))


async def test_a_missing_variable_and_a_missing_program_are_told(tmp_path: Path) -> None:
    for settings, why in (
        (McpServer(command="x", env={"TOKEN": "${NOT_SET_ANYWHERE}"}), "needs the variable NOT_SET_ANYWHERE"),
        (McpServer(command="/no/such/program", sandbox=False), "/no/such/program: No such program"),
        (McpServer(), "neither a command nor a url"),
        (McpServer(command="x", url="https://a.example"), "both a command and a url"),
    ):
        async with connected(ServerDefinition("one", settings, tmp_path)) as connection:
            with pytest.raises(McpError, match=why):
                await go(connection)

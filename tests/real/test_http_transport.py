"""Servers over HTTP: a real one of the SDK on this machine, one that sends elsewhere, one that sends too much."""

import asyncio
import json
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import uvicorn

from gshtui.mcp_client.answer_outcome import call_outcome
from gshtui.mcp_client.server_connection import ConnectionOptions, ServerConnection
from gshtui.mcp_client.server_definition import McpError, ServerDefinition
from gshtui.mcp_client.server_requests import ToolCaller
from gshtui.settings.started_programs import McpServer
from tests.kit.mcp_server import ordinary
from tests.kit.mcp_turns import NobodyAnswers


@asynccontextmanager
async def sdk_server() -> AsyncIterator[str]:
    """The SDK's own server; its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    app = ordinary().streamable_http_app()
    server = uvicorn.Server(uvicorn.Config(app, log_config=None, lifespan="on", timeout_graceful_shutdown=1))
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    finally:
        server.should_exit = True
        await serving


@asynccontextmanager
async def raw_server(answer: bytes, asked: list[bytes]) -> AsyncIterator[str]:
    """A server that answers everything with these bytes, and keeps what it was asked; its address."""

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(answer)
        try:
            await writer.drain()
        except ConnectionError:
            pass
        writer.close()

    server = await asyncio.start_server(accept, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"


@asynccontextmanager
async def connected(folder: Path, url: str, **headers: str) -> AsyncIterator[ServerConnection]:
    definition = ServerDefinition("far", McpServer(url=url, headers=headers), folder)
    connection = ServerConnection(definition, ConnectionOptions(os.environ, None, NobodyAnswers(folder), 20.0))
    try:
        yield connection
    finally:
        await connection.close()


async def add(connection: ServerConnection) -> str:
    result = await connection.run(
        lambda session: session.call_tool("add", {"a": 40, "b": 2}, lambda *_: None), ToolCaller(), 20.0
    )
    return call_outcome(result, connection.definition.project / "files").text


async def test_a_tool_is_called_over_http(tmp_path: Path) -> None:
    async with sdk_server() as url, connected(tmp_path, url) as connection:
        assert await add(connection) == "42"
        assert connection.definition.is_http


async def test_a_server_that_ends_costs_one_error_and_is_reached_again(tmp_path: Path) -> None:
    async with connected(tmp_path, "http://127.0.0.1:1/mcp") as connection:
        with pytest.raises(McpError, match="far cannot be reached"):
            await add(connection)
        assert connection.state == "failed"


async def test_a_redirect_elsewhere_is_not_followed_and_takes_no_secret_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAR_TOKEN", "very-secret")
    elsewhere: list[bytes] = []
    here: list[bytes] = []
    async with raw_server(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", elsewhere) as other:
        moved = f"HTTP/1.1 307 Temporary Redirect\r\nlocation: {other}\r\ncontent-length: 0\r\n\r\n".encode()
        async with (
            raw_server(moved, here) as url,
            connected(tmp_path, url, Authorization="Bearer ${FAR_TOKEN}") as connection,
        ):
            with pytest.raises(McpError) as failed:
                await add(connection)
    assert here
    assert b"very-secret" in here[0]
    assert elsewhere == []
    assert "very-secret" not in str(failed.value)


async def test_an_answer_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"x": "y" * 20_000_000}}).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode()
    async with raw_server(head + body, []) as url, connected(tmp_path, url) as connection:
        with pytest.raises(McpError):
            await add(connection)

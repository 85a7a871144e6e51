"""Our commands as an MCP server, by the official SDK: over standard input and output, or HTTP on this machine."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import io
import logging
import socket
from collections.abc import Awaitable, Callable, Generator, Mapping, MutableMapping
from typing import Any, Protocol, cast

import anyio
import anyio.to_thread
import mcp_types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage
from mcp_types import CLIENT_INFO_META_KEY
from pydantic import ValidationError

from gshtui import __version__
from gshtui.commands.declaration import Effect
from gshtui.features.mcp_server.served_commands import ServedCommands
from gshtui.system.json_types import is_object
from gshtui.system.network.local_address import LocalAddress
from gshtui.system.tasks import cancel_and_wait, start_job

_NAME = "gsh-tui"
_INSTRUCTIONS = """\
Agents of gsh-tui, a terminal workbench: list and read them, search the shell history and past conversations, and, \
where the person allowed it, start, prompt and interrupt agents. An agent's own questions are answered by its person."""
_ALIVE_EVERY = 5.0
"""Seconds between two signs of life of a long call."""
_ENDS_WITHIN = 5.0
Scope = MutableMapping[str, Any]
AsgiApp = Callable[[Scope, Any, Any], Awaitable[None]]


class _Output:
    """What the SDK takes for an open file."""

    def __init__(self, write_line: Callable[[str], None]) -> None:
        self._write_line = write_line

    async def write(self, text: str) -> None:
        await anyio.to_thread.run_sync(self._write_line, text)

    async def flush(self) -> None:
        """Nothing is held back."""


class McpTools(Protocol):
    """What programs are offered. `client`: what the program calls itself."""

    async def list_tools(self, client: str, /) -> mcp_types.ListToolsResult: ...
    async def call_tool(self, client: str, params: mcp_types.CallToolRequestParams, /) -> mcp_types.CallToolResult: ...


class McpFace:
    """Serves these tools."""

    def __init__(self, tools: McpTools) -> None:
        self._tools = tools
        self._server: Server[Any] = Server(
            _NAME,
            version=__version__,
            instructions=_INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
        )

    async def serve_lines(self, lines: io.RawIOBase, write_line: Callable[[str], None]) -> None:
        """Serve until these lines end. `lines`: what the program says. `write_line`: writes a message for it, and may
        block.
        """
        _quiet()
        given = anyio.wrap_file(io.TextIOWrapper(io.BufferedReader(lines), encoding="utf-8", errors="replace"))
        async with stdio_server(given, cast("Any", _Output(write_line))) as (read, write):
            await self._server.run(read, write, self._server.create_initialization_options())

    async def serve_messages(
        self,
        receive: Callable[[], Awaitable[dict[str, Any] | None]],
        send: Callable[[dict[str, Any]], Awaitable[None]],
    ) -> None:
        """Serve until there are no more messages.

        Args:
            receive: gives the next one of the program's; `None`: the end.
            send: sends one to it.
        """
        _quiet()
        to_server, heard = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        said, from_server = anyio.create_memory_object_stream[SessionMessage](0)

        async def listen() -> None:
            async with to_server:
                while (message := await receive()) is not None:
                    try:
                        parsed = mcp_types.jsonrpc_message_adapter.validate_python(message, by_name=False)
                    except ValidationError:
                        await send(_no_message(message))
                    else:
                        await to_server.send(SessionMessage(parsed))

        async def speak() -> None:
            async with from_server:
                async for one in from_server:
                    await send(one.message.model_dump(mode="json", by_alias=True, exclude_unset=True))

        async with anyio.create_task_group() as group:
            group.start_soon(listen)
            group.start_soon(speak)
            await self._server.run(heard, said, self._server.create_initialization_options())
            group.cancel_scope.cancel()

    async def serve_http(self, listener: socket.socket, token: str, stop: asyncio.Event) -> None:
        """Serve on a socket of this machine, until asked to stop, those who have the token."""
        import uvicorn  # not for a program that waits on our standard output

        here = LocalAddress(*listener.getsockname()[:2])

        class SignallessServer(uvicorn.Server):
            """Leaves signals to the command that runs it."""

            @contextlib.contextmanager
            def capture_signals(self) -> Generator[None]:
                yield

        _quiet()
        app = guarded(cast("AsgiApp", self._server.streamable_http_app()), here, token)
        config = uvicorn.Config(
            cast("Any", app), log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=2
        )
        server = SignallessServer(config)
        serving = start_job(server.serve(sockets=[listener]), "the MCP server")
        stopping = asyncio.ensure_future(stop.wait())
        try:
            await asyncio.wait([serving, stopping], return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            server.should_exit = True
            await asyncio.wait([serving], timeout=_ENDS_WITHIN)
            await cancel_and_wait(serving)

    async def _list_tools(
        self, context: ServerRequestContext[Any], _params: mcp_types.PaginatedRequestParams | None
    ) -> mcp_types.ListToolsResult:
        return await self._tools.list_tools(_client(context))

    async def _call_tool(
        self, context: ServerRequestContext[Any], params: mcp_types.CallToolRequestParams
    ) -> mcp_types.CallToolResult:
        alive = start_job(_say_alive(context), "signs of life")
        try:
            return await self._tools.call_tool(_client(context), params)
        finally:
            await cancel_and_wait(alive)


class ServedTools:
    """The commands of a hub of this process, see `McpTools`."""

    def __init__(self, commands: ServedCommands) -> None:
        self._commands = commands

    async def list_tools(self, _client: str) -> mcp_types.ListToolsResult:
        tools = [
            mcp_types.Tool(
                name=one.name,
                description=one.description,
                input_schema=one.schema(),
                output_schema=one.output_schema(),
                annotations=mcp_types.ToolAnnotations(read_only_hint=one.effect is Effect.READ),
            )
            for one in self._commands.commands()
        ]
        self._commands.begin()  # it will call one of them
        return mcp_types.ListToolsResult(tools=tools)

    async def call_tool(self, client: str, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        text, data, failed = await self._commands.run(client, params.name, params.arguments or {}, lambda _: None)
        content = [mcp_types.TextContent(type="text", text=text)]
        return mcp_types.CallToolResult(content=cast("Any", content), structured_content=data, is_error=failed)


async def _say_alive(context: ServerRequestContext[Any]) -> None:
    """Tell a program that waits long that its call goes on."""
    seconds = 0.0
    while True:
        await asyncio.sleep(_ALIVE_EVERY)
        seconds += _ALIVE_EVERY
        with contextlib.suppress(Exception):  # nobody listens, or nobody asked for it
            await context.session.report_progress(seconds, None, "working")


def _no_message(given: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to what is no message: whoever sent it need not wait for another one."""
    id = given.get("id")
    error = {"code": mcp_types.INVALID_REQUEST, "message": "This is no message of JSON-RPC 2.0."}
    return {"jsonrpc": "2.0", "id": id if type(id) in (int, str) else None, "error": error}


def _client(context: ServerRequestContext[Any]) -> str:
    """What the program calls itself."""
    told = context.session.client_params
    if told is not None:
        return told.client_info.name
    info = (context.meta or {}).get(CLIENT_INFO_META_KEY)
    return str(info.get("name", "")) if is_object(info) else ""


def guarded(app: AsgiApp, here: LocalAddress, token: str) -> AsgiApp:
    """The app for those alone who send this token, to its own name, and from no page of another server."""
    expected = f"Bearer {token}".encode()

    async def answer(scope: Scope, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        raw = cast("list[tuple[bytes, bytes]]", scope.get("headers", []))
        headers = {name.decode("latin-1").title(): value.decode("latin-1") for name, value in raw}
        if not here.is_ours(headers):
            await _refuse(send, 403, "This is another server than the one that was asked for.")
        elif not hmac.compare_digest(headers.get("Authorization", "").encode("latin-1"), expected):
            await _refuse(send, 401, "The token is missing or wrong.", (b"www-authenticate", b"Bearer"))
        else:
            await app(scope, receive, send)

    return answer


async def _refuse(send: Any, status: int, why: str, *more: tuple[bytes, bytes]) -> None:
    head = [(b"content-type", b"text/plain"), *more]
    await send({"type": "http.response.start", "status": status, "headers": head})
    await send({"type": "http.response.body", "body": f"{why}\n".encode()})


def _quiet() -> None:
    """Keep the libraries' log lines off our output."""
    for name in ("mcp", "uvicorn", "uvicorn.error", "sse_starlette"):
        logging.getLogger(name).setLevel(logging.CRITICAL)

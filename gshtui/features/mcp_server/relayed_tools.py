"""Our commands as the hub serves them, for programs that reach this process by HTTP: a connection for each of them."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
from collections.abc import Mapping
from typing import Any

import mcp_types
from mcp.shared.exceptions import MCPError

from gshtui import __version__
from gshtui.headless.runner import Stop
from gshtui.headless.servers.program_relay import McpProtocol, relayed
from gshtui.system.json_types import is_object
from gshtui.system.tasks import cancel_and_wait, start_job

_ENDS_WITHIN = 2.0
_LONGEST = 64 * 1024 * 1024
"""Bytes of a message."""


class RelayedTools:
    """See `McpTools`. `wanted`: what the hub is asked for. `close` ends all connections."""

    def __init__(self, wanted: Mapping[str, Any]) -> None:
        self._wanted = wanted
        self._programs: dict[str, asyncio.Task[_Program]] = {}

    async def list_tools(self, client: str) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult.model_validate(await self._ask(client, "tools/list", {}))

    async def call_tool(self, client: str, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        given = {"name": params.name, "arguments": params.arguments or {}}
        return mcp_types.CallToolResult.model_validate(await self._ask(client, "tools/call", given))

    async def close(self) -> None:
        """Hang up."""
        for opening in self._programs.values():
            if not _has_failed(opening) and opening.done():
                await opening.result().close()
            await cancel_and_wait(opening)

    async def _ask(self, client: str, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        opening = self._programs.get(client)
        if opening is None or _has_failed(opening):
            opening = self._programs[client] = asyncio.ensure_future(_Program.opened(self._wanted, client))
        return await (await asyncio.shield(opening)).ask(method, params)


def _has_failed(opening: asyncio.Task[_Program]) -> bool:
    """Whether it came to nothing, or what it has opened is at its end."""
    return opening.done() and (opening.cancelled() or opening.exception() is not None or opening.result().is_over)


class _Program:
    """A program's connection with the hub, which follows it to the next one."""

    def __init__(self, wanted: Mapping[str, Any]) -> None:
        self._answers, self._sink = os.pipe()
        self._source, self._said = os.pipe()
        self._stop = Stop()
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[Mapping[str, Any]]] = {}
        self._writer: asyncio.WriteTransport | None = None
        relay = relayed(McpProtocol(), wanted, self._source, self._sink, self._stop)
        self._relay = asyncio.ensure_future(relay)
        self._hearing = start_job(self._hear(), "the answers to a program over HTTP")

    @property
    def is_over(self) -> bool:
        """Whether nothing is passed on any more."""
        return self._relay.done()

    @classmethod
    async def opened(cls, wanted: Mapping[str, Any], client: str) -> _Program:
        """One that has greeted the hub."""
        program = cls(wanted)
        pipe = os.fdopen(program._said, "wb", buffering=0)
        program._writer, _ = await asyncio.get_running_loop().connect_write_pipe(asyncio.BaseProtocol, pipe)
        greeting = {
            "protocolVersion": mcp_types.LATEST_PROTOCOL_VERSION,
            "capabilities": {},
            "clientInfo": {"name": client or "a program over HTTP", "version": __version__},
        }
        await program.ask("initialize", greeting)
        program._say({"method": "notifications/initialized"})
        return program

    async def ask(self, method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        """The result. Raises `MCPError`, `HubUnavailable`."""
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        self._say({"id": number, "method": method, "params": dict(params)})
        try:
            await asyncio.wait({answer, self._relay}, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                self._relay.result()
                raise MCPError(mcp_types.INTERNAL_ERROR, "No hub runs: `gsh-tui hub start` says why.")
            return answer.result()
        except asyncio.CancelledError:
            self._say({"method": "notifications/cancelled", "params": {"requestId": number}})
            raise
        finally:
            self._waiting.pop(number, None)

    async def close(self) -> None:
        """End it."""
        self._stop.asked.set()
        await asyncio.wait({self._relay}, timeout=_ENDS_WITHIN)
        await cancel_and_wait(self._relay, self._hearing)
        if self._writer is not None:
            self._writer.close()
        for descriptor in (self._source, self._sink):
            os.close(descriptor)

    def _say(self, message: Mapping[str, Any]) -> None:
        assert self._writer is not None
        self._writer.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def _hear(self) -> None:
        lines = asyncio.StreamReader(limit=_LONGEST)
        pipe = os.fdopen(self._answers, "rb", buffering=0)
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), pipe)
        while line := await lines.readline():
            message: object = json.loads(line)
            if not is_object(message) or (waiting := self._waiting.get(message.get("id", 0))) is None:
                continue
            if is_object(error := message.get("error")):
                waiting.set_exception(MCPError(int(error.get("code", 0)), str(error.get("message", ""))))
            elif not waiting.done():
                waiting.set_result(message.get("result") or {})

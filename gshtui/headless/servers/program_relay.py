"""`gsh-tui mcp serve` and `gsh-tui acp` beside a resident hub: messages between a program and the hub, which serves it.

This process has no hub, no record and no SDK. A hub that ends, as when a newer program replaces it, is followed by the
next one, of whatever version: what the program said that lasts is said again there, and what waited for an answer is
told that it has none, and is not repeated.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Protocol

from gshtui.client.hub_greeting import HubUnavailable, surroundings
from gshtui.headless import exits, streams
from gshtui.headless.runner import Stop
from gshtui.headless.servers.hub_reach import start_hub, taken
from gshtui.system.json_types import is_object, parse_foreign_json
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait

_AGAIN_WITHIN = 60.0
"""Seconds for the next hub to answer what is said again, as it opens a conversation."""
_LOOK_AROUND = 1.0
"""Seconds after which a program whose requests wait is looked for again."""
_LONGEST = 64 * 1024 * 1024
"""Bytes of a message."""
_MOST_WAITING = 128
"""Requests without an answer, at which the program is read no further."""
_MOST_GARBAGE = 100
"""Lines that are no messages before the connection ends."""
_ENDED = "The hub ended before it answered, so it is not known whether this was done."
_PARSE_ERROR, _SERVER_ERROR = -32700, -32000
"""JSON-RPC 2.0, section 5.1."""
Message = dict[str, Any]


class ProgramProtocol(Protocol):
    """A protocol of JSON-RPC, and what a program has said in it that lasts."""

    kind: str
    """Of the connection, see `gshtui.shell.event_table`."""
    finishes: bool
    """A program that says no more still waits for its answers."""
    answers_garbage: bool
    """It is answered that a line is no message."""

    def record_message(self, message: Message) -> None: ...

    def record_answer(self, message: Message) -> None: ...

    def again(self) -> list[Message]:
        """What the next hub has to hear, in order."""
        ...


class McpProtocol:
    """MCP: a greeting."""

    kind, finishes, answers_garbage = "mcp", True, True

    def __init__(self) -> None:
        self._greeting: list[Message] = []

    def record_message(self, message: Message) -> None:
        """Keep its greeting."""
        if message.get("method") == "initialize":
            self._greeting = [message]
        elif message.get("method") == "notifications/initialized":
            self._greeting.append(message)

    def record_answer(self, message: Message) -> None:
        """Nothing lasts."""

    def again(self) -> list[Message]:
        return self._greeting


class AcpProtocol:
    """ACP: a greeting, the open sessions, and what was chosen for each."""

    kind, finishes, answers_garbage = "acp", False, False

    def __init__(self) -> None:
        self._greeting: list[Message] = []
        self._opening: dict[int | str, Mapping[str, Any]] = {}
        """Parameters of requests that open a session, by their id."""
        self._sessions: dict[str, Message] = {}
        self._choices: dict[tuple[str, str, str], Message] = {}

    def record_message(self, message: Message) -> None:
        """Keep what lasts."""
        method, id, given = message.get("method"), message.get("id"), message.get("params")
        if not is_object(given):
            return
        session = str(given.get("sessionId", ""))
        match method:
            case "initialize" | "authenticate":
                self._greeting.append(message)
            case "session/new" | "session/load" | "session/resume" if isinstance(id, int | str):
                self._opening[id] = given
            case "session/close":
                self._sessions.pop(session, None)
            case "session/set_mode" | "session/set_config_option" | "session/set_model":
                self._choices[session, method, str(given.get("configId", ""))] = message
            case _:
                pass

    def record_answer(self, message: Message) -> None:
        """Keep the session that was opened."""
        parameters, result = self._opening.pop(message.get("id", ""), None), message.get("result")
        if parameters is None or not is_object(result):
            return
        session = str(parameters.get("sessionId") or result.get("sessionId", ""))
        where = {name: parameters[name] for name in ("cwd", "mcpServers") if name in parameters}
        self._sessions[session] = _request("session/resume", f"again {session}", {"sessionId": session, **where})

    def again(self) -> list[Message]:
        """The greeting, the sessions that are open, and their choices."""
        chosen = [message for (session, *_), message in self._choices.items() if session in self._sessions]
        return [*self._greeting, *self._sessions.values(), *chosen]


def _request(method: str, id: str, parameters: Mapping[str, Any]) -> Message:
    return {"jsonrpc": "2.0", "id": id, "method": method, "params": dict(parameters)}


async def relayed(spoken: ProgramProtocol, fields: Mapping[str, Any], source: int, sink: int, stop: Stop) -> int | None:
    """Pass messages on until the program leaves; returns the exit code, `None` where no hub takes it.

    Args:
        fields: what the hub is asked for besides.
        source: descriptor of what the program says; `sink`: of what it is told.
    """
    try:
        cwd = os.getcwd()  # noqa: PTH109
    except OSError:
        return None  # which says that it is gone
    relay = _Relay(spoken, _line({**fields, **surroundings(cwd)}), sink)
    if not await relay.connect():
        return None
    lines = asyncio.StreamReader(limit=_LONGEST)
    said = os.fdopen(source if streams.is_pipe(source) else _piped(source), "rb", closefd=False)
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), said)
    passing, stopping = asyncio.ensure_future(relay.run(lines)), asyncio.ensure_future(stop.asked.wait())
    await asyncio.wait([passing, stopping], return_when=asyncio.FIRST_COMPLETED)
    stopped = not passing.done()
    fault = "" if stopped else passing.result()
    await cancel_and_wait(passing, stopping)
    relay.close()
    if fault:
        streams.complain(f"the client {fault}, so the connection was ended.")
        return exits.ERROR
    return exits.INTERRUPTED if stopped and not spoken.finishes else exits.DONE


def _piped(source: int) -> int:
    """A pipe with what a file or a terminal says, for which a loop cannot wait."""
    reading, writing = os.pipe()

    def copy() -> None:
        with suppress(OSError), os.fdopen(writing, "wb", buffering=0) as pipe:
            while said := os.read(source, select.PIPE_BUF):
                pipe.write(said)

    threading.Thread(target=copy, name="standard input", daemon=True).start()
    return reading


class _Relay:
    """See the module's text."""

    def __init__(self, spoken: ProgramProtocol, opening: bytes, sink: int) -> None:
        self._spoken = spoken
        self._opening = opening
        self._sink = sink
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._hearing: asyncio.Task[None] | None = None
        self._waiting: dict[int | str, bool] = {}
        """Ids of requests without an answer."""
        self._connections = 0
        self._asked: dict[int | str, int | str] = {}
        """Ids under which the program was asked something by this hub, with the hub's own."""
        self._answered = asyncio.Event()
        self._telling = asyncio.Lock()
        self._garbage = 0

    async def connect(self) -> bool:
        """Be taken by a hub, and say again there what lasts. Raises `HubUnavailable`; `OSError`: it says nothing."""
        again = self._spoken.again()
        connected = await asyncio.to_thread(taken, self._spoken.kind, self._opening, of_any_version=bool(again))
        if connected is None:
            return False
        connected.setblocking(False)
        reader, writer = await asyncio.open_unix_connection(sock=connected, limit=_LONGEST)
        try:
            for message in again:
                writer.write(_line(message))
                if "id" in message:
                    async with time_limit(_AGAIN_WITHIN):
                        await _answer_to(message["id"], reader)  # what the hub before has said already
        except BaseException:
            writer.close()
            raise
        self._reader, self._writer = reader, writer
        self._connections += 1
        self._hearing = asyncio.ensure_future(self._hear(reader, writer))
        return True

    def close(self) -> None:
        if self._hearing is not None:
            self._hearing.cancel()
        if self._writer is not None:
            self._writer.close()

    async def run(self, lines: asyncio.StreamReader) -> str:
        """Pass on what the program says until it ends; returns why it had to end, empty: it did by itself."""
        while line := await _next(lines):
            if not line.strip():
                continue
            if (message := _parsed(line)) is not None:
                await self._pass(message)
            elif fault := await self._garbled(line):
                return fault
            await self._until(_MOST_WAITING)
        if self._spoken.finishes:
            await self._until(1)
        return ""

    async def _until(self, fewer: int) -> None:
        """Wait until fewer requests wait for an answer, or nobody reads the answers."""
        while len(self._waiting) >= fewer and not _is_unread(self._sink):
            self._answered.clear()
            with suppress(TimeoutError):
                async with time_limit(_LOOK_AROUND):
                    await self._answered.wait()

    async def _garbled(self, line: bytes) -> str:
        self._garbage += 1
        if self._spoken.answers_garbage:
            await self._refuse(None, _PARSE_ERROR, "This is no message: an object of JSON on one line.")
        elif self._garbage == 1:
            start = line[:400].decode("utf-8", "replace").strip()
            streams.complain(f"a line that is no message of the protocol was skipped: {start}")
        if self._garbage > _MOST_GARBAGE:
            return f"wrote more than {_MOST_GARBAGE} lines that are no messages of the protocol"
        return ""

    async def _pass(self, message: Message) -> None:
        id = message.get("id")
        request = id if isinstance(message.get("method"), str) and type(id) in (int, str) else None
        if "method" not in message:
            id = self._asked.pop(id, None) if isinstance(id, int | str) else None
            if id is None:
                return  # of a hub that has gone
            message = {**message, "id": id}
        if self._reader is not None and self._reader.at_eof() and self._hearing is not None:
            await self._hearing  # the hub has gone already
        if request is not None:
            self._waiting[request] = True
        try:
            if self._writer is None and not await self.connect():
                await start_hub()
                if not await self.connect():
                    raise ConnectionError
            assert self._writer is not None
            self._spoken.record_message(message)
            self._writer.write(_line(message))
            await self._writer.drain()
            if (cancelled := cancelled_id(message)) is not None:
                self._waiting.pop(cancelled, None)
                self._answered.set()
        except (OSError, HubUnavailable) as error:
            text = "No hub runs, and none could be started: `gsh-tui hub start` says why."
            if isinstance(error, HubUnavailable):
                text = f"{error.message} Start it again."
            if request is not None and self._waiting.pop(request, False):
                await self._refuse(id, _SERVER_ERROR, text)

    async def _hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while line := await _next(reader):
                message = _parsed(line) or {}
                if "jsonrpc" not in message:
                    if "bye" in message:
                        break
                    continue  # another word of the hub's own
                if "method" in message and "id" in message:
                    line = self._asking(message)
                await self._tell(line)
                if "method" not in message:
                    self._spoken.record_answer(message)
                    self._waiting.pop(message.get("id", ""), None)
                    self._answered.set()
        writer.close()
        self._writer = None
        self._asked.clear()
        for id in tuple(self._waiting):
            if self._waiting.pop(id, False):
                await self._refuse(id, _SERVER_ERROR, _ENDED)
        self._answered.set()

    def _asking(self, message: Message) -> bytes:
        """A question of the hub's, under an id that no hub before has used: a late answer to one of those is none."""
        id = message["id"]
        shown = id if self._connections == 1 else f"{self._connections} {id}"
        self._asked[shown] = id
        return _line({**message, "id": shown})

    async def _refuse(self, id: object, code: int, text: str) -> None:
        await self._tell(_line({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": text}}))

    async def _tell(self, line: bytes) -> None:
        """Have the program hear it, if it still listens."""
        async with self._telling:
            with suppress(OSError):
                await asyncio.to_thread(streams.pass_on, self._sink, line)


def cancelled_id(message: Mapping[str, Any]) -> int | str | None:
    """The request of MCP that a message cancels: it is not answered. `None`: it cancels none."""
    about: object = message.get("params")
    if message.get("method") != "notifications/cancelled" or not is_object(about):
        return None
    id = about.get("requestId")
    return id if isinstance(id, int | str) else None


def _is_unread(sink: int) -> bool:
    """Whether the program that reads there has ended."""
    looked = select.poll()
    looked.register(sink, 0)
    return any(seen & (select.POLLERR | select.POLLHUP) for _, seen in looked.poll(0))


async def _answer_to(id: object, lines: asyncio.StreamReader) -> None:
    """Read up to the answer to a request."""
    while line := await _next(lines):
        message = _parsed(line) or {}
        if message.get("id") == id and "method" not in message:
            return


async def _next(lines: asyncio.StreamReader) -> bytes:
    """The next line, empty at the end; one that is too long ends it, too."""
    try:
        return await lines.readline()
    except ValueError:
        return b""


def _line(message: Mapping[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def _parsed(line: bytes) -> Message | None:
    try:
        message: object = parse_foreign_json(line)
    except ValueError:
        return None
    return message if is_object(message) else None

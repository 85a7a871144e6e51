"""The HTTP API of one OpenCode server: requests with deadlines and limits, and the stream of its events.

What is no JSON of the expected kind is refused. An event that is malformed, or larger than `LARGEST`, costs that event.
`ServerState` holds what the server said of its conversations: which work, what they ask, and in which its screen is.
Those of helpers belong to the one that started them. All of one server belong to one screen.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import urlencode

import msgspec

from gshtui.programs.opencode.server_launch import ServerAddress
from gshtui.programs.opencode.server_questions import ServerRequest, permission_request, question_request
from gshtui.programs.transcripts.program_transcript import (
    seconds,
)
from gshtui.system.json_types import obj, parse_foreign_json, seq, string
from gshtui.system.processes.time_limit import time_limit
from gshtui.text.sanitise import one_line

_MOST_SESSIONS, _MOST_REQUESTS = 300, 60
_TAKEN_UP = 15.0
"""Seconds within which a prompt that the server has taken leads to work."""
Activity = Literal["thinking", "tool", "waiting", "idle"]


class _Session(msgspec.Struct):
    """One conversation."""

    parent: str = ""
    works: bool = False
    doing: str = ""
    running: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    """Calls under way: part → what it is about."""
    prompted: float = 0.0
    """When it got the prompt that it has yet to take up; 0: there is none."""


class ServerState(msgspec.Struct):
    """See the module. `since`: since when it does what it does, seconds since 1970."""

    sessions: dict[str, _Session] = msgspec.field(default_factory=dict[str, _Session])
    requests: dict[str, ServerRequest] = msgspec.field(default_factory=dict[str, ServerRequest])
    """What waits for an answer, the oldest first."""
    conversation: str = ""
    """The one that was given a prompt last; empty: none was."""
    since: float = 0.0

    # -- what comes in ---------------------------------------------------------------------------------------------

    def begin(self, statuses: object, permissions: object, questions: object, now: float) -> None:
        """Everything as it stands now, in place of what was known."""
        before = self.activity(now)
        for session in self.sessions.values():
            session.works, session.running, session.prompted = False, {}, 0.0
        for id, status in obj(statuses).items():
            self._status(id, obj(status), now)
        self.requests.clear()
        for each in seq(permissions):
            self._ask(permission_request(obj(each), self._call_of(each), now))
        for each in seq(questions):
            self._ask(question_request(obj(each), now))
        if self.activity(now) != before or not self.since:
            self.since = now

    def handle_event(self, event: Mapping[str, Any], now: float) -> None:
        """One event."""
        before = self.activity(now), self.asked
        self._handle(string(event.get("type")), obj(event.get("properties")), now)
        if (self.activity(now), self.asked) != before:
            self.since = now

    def answered_in_part(
        self, request: ServerRequest, given: Sequence[Sequence[str]], chosen: Sequence[str] = ()
    ) -> None:
        """Of several questions in one, the first ones have answers, or of several answers to one some are chosen: the
        rest is asked."""
        rest = question_request(request.told, request.at, given, chosen)
        if request.id in self.requests and rest is not None:
            self.requests[request.id] = rest

    def prompted(self, session: str, now: float) -> None:
        """A prompt was given that it has yet to take up."""
        self._session(session).prompted = now
        self.conversation = session
        self.since = now

    def _handle(self, kind: str, told: dict[str, Any], now: float) -> None:
        id = string(told.get("sessionID"))
        match kind:
            case "session.created" | "session.updated":
                info = obj(told.get("info"))
                if id := string(info.get("id")):
                    self._session(id).parent = string(info.get("parentID"))
            case "session.deleted":
                gone = string(obj(told.get("info")).get("id")) or id
                self.sessions.pop(gone, None)
                self.requests = {name: each for name, each in self.requests.items() if each.session != gone}
            case "session.status":
                self._status(id, obj(told.get("status")), now)
            case "session.idle":
                self._status(id, {"type": "idle"}, now)
            case "message.updated":
                self._message(id, obj(told.get("info")), now)
            case "message.part.updated":
                self._part(obj(told.get("part")))
            case "permission.asked":
                self._ask(permission_request(told, self._call_of(told), now))
            case "question.asked":
                self._ask(question_request(told, now))
            case "permission.replied" | "question.replied" | "question.rejected":
                self.requests.pop(string(told.get("requestID")), None)
            case _:
                pass

    def _session(self, id: str) -> _Session:
        if id not in self.sessions and len(self.sessions) >= _MOST_SESSIONS:
            rests = next((one for one, each in self.sessions.items() if not each.works), next(iter(self.sessions)))
            del self.sessions[rests]
        return self.sessions.setdefault(id, _Session())

    def _status(self, id: str, status: Mapping[str, Any], now: float) -> None:
        if not id:
            return
        session = self._session(id)
        kind = string(status.get("type"))
        session.works = kind in ("busy", "retry")
        session.prompted = 0.0
        session.doing = one_line(f"tries again: {string(status.get('message'))}", 160) if kind == "retry" else ""
        if not session.works:
            session.running.clear()
        elif not session.parent:
            self.conversation = id

    def _message(self, id: str, info: Mapping[str, Any], now: float) -> None:
        """A prompt that has just been taken; the same message is told again later."""
        created = seconds(obj(info.get("time")).get("created"))
        session = self._session(id) if id else None
        if session is None or info.get("role") != "user" or session.works or abs(now - created) > _TAKEN_UP:
            return
        if not obj(info.get("summary")):  # it is told with one once its turn is over
            session.prompted = now

    def _part(self, part: Mapping[str, Any]) -> None:
        session = self.sessions.get(string(part.get("sessionID")))
        id, state = string(part.get("id")), obj(part.get("state"))
        if session is None or part.get("type") != "tool" or not id:
            return
        if string(state.get("status")) == "running":
            given = obj(state.get("input"))
            about = next((string(given.get(name)) for name in _ABOUT if string(given.get(name))), "")
            session.running[id] = one_line(f"{string(part.get('tool'))} {about}".strip(), 160)
        elif string(state.get("status")) in ("completed", "error"):
            session.running.pop(id, None)

    def _call_of(self, asked: object) -> str:
        """The session of a helper's request has a parent: whose helper asks is part of the question."""
        id = string(obj(asked).get("sessionID"))
        session = self.sessions.get(id)
        return "one of its helpers" if session is not None and session.parent else ""

    def _ask(self, request: ServerRequest | None) -> None:
        if request is not None and len(self.requests) < _MOST_REQUESTS:
            self.requests.setdefault(request.id, request)

    # -- what is known ---------------------------------------------------------------------------------------------

    @property
    def asked(self) -> ServerRequest | None:
        """The oldest open request."""
        return next(iter(self.requests.values()), None)

    def find(self, question: str) -> ServerRequest | None:
        return next((each for each in self.requests.values() if each.question.id == question), None)

    def working(self) -> Sequence[str]:
        """The conversations that work, helpers last."""
        works = [id for id, each in self.sessions.items() if each.works]
        return sorted(works, key=lambda id: bool(self.sessions[id].parent))

    def activity(self, now: float) -> Activity:
        """What it does."""
        if self.requests:
            return "waiting"
        works = [each for each in self.sessions.values() if each.works]
        if any(each.running for each in works):
            return "tool"
        return "thinking" if works or self.expects_work(now) else "idle"

    def expects_work(self, now: float) -> float:
        """Seconds for which a prompt may yet lead to work; 0: there is none."""
        newest = max((each.prompted for each in self.sessions.values()), default=0.0)
        return max(0.0, newest + _TAKEN_UP - now)

    @property
    def doing(self) -> str:
        """What it does, in a few words."""
        if self.asked is not None:
            return self.asked.question.subject
        works = [each for each in self.sessions.values() if each.works]
        running = [about for each in works for about in each.running.values()]
        return running[-1] if running else next((each.doing for each in works if each.doing), "")


_ABOUT = ("command", "filePath", "description", "pattern", "url", "query", "path")
"""What says what a call of a tool is about."""


LARGEST = 8_000_000
"""Bytes of an answer, and of an event."""
_ANSWER_WITHIN, _CONNECT_WITHIN = 20.0, 5.0
"""Seconds for an answer: some versions answer nothing while they start; and for a connection."""
_SILENT = 45.0
"""Seconds without anything after which a stream is broken: the server says every ten that it is there."""
_PIECE, _HEAD = b'"message.part.delta"', 200
"""The event of each piece of an answer, which nobody here needs, and where it says so."""
_PIECE_SIZE = 65_536
Trouble = Literal["gone", "refused", "missing", "unsure"]


class ServerError(Exception):
    """A request failed. gone: nothing was sent. refused: the server said no. missing: what it is about does not exist.
    unsure: it was sent, and nobody knows what came of it.
    """

    def __init__(self, kind: Trouble, message: str) -> None:
        super().__init__(message)
        self.kind: Trouble = kind


class _Head(msgspec.Struct, frozen=True):
    """How an answer begins."""

    status: int
    kind: str
    """The type of its body."""


class ServerClient:
    """Requests to one server, each on a connection of its own."""

    def __init__(self, address: ServerAddress) -> None:
        self._address = address

    async def get(self, path: str, **query: str) -> Any:
        """An answer's value. Raises `ServerError`."""
        return await self._call("GET", f"{path}?{urlencode(query)}" if query else path, None)

    async def post(self, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Have something done; the answer's value, `None` where there is none. Raises `ServerError`."""
        return await self._call("POST", path, {} if body is None else body)

    async def is_open_to_all(self) -> bool:
        """Whether it lets somebody in who does not know the secret. Raises `ServerError`."""
        head, _ = await self._exchange("GET", "/global/health", None, known=False)
        return head.status != 401

    async def _call(self, method: str, path: str, body: Mapping[str, Any] | None) -> Any:
        return _value(*await self._exchange(method, path, body))

    async def _exchange(
        self, method: str, path: str, body: Mapping[str, Any] | None, *, known: bool = True
    ) -> tuple[_Head, bytes]:
        """The whole answer. Raises `ServerError`. `known`: with the secret."""
        head, data = _Head(0, ""), b""
        try:
            async with time_limit(_ANSWER_WITHIN), contextlib.aclosing(self._send(method, path, body, known)) as parts:
                async for part in parts:
                    if isinstance(part, _Head):
                        head = part
                    elif len(data := data + part) > LARGEST:
                        raise ServerError("refused", "its answer is too large")
        except TimeoutError as error:
            raise ServerError("unsure" if method == "POST" else "gone", "it does not answer") from error
        return head, data

    async def events(self) -> AsyncGenerator[dict[str, Any]]:
        """What the server says by itself, from now on, until the connection ends. Raises `ServerError`."""
        reader = ServerEventReader()
        async with contextlib.aclosing(self._send("GET", "/event", None, True)) as parts:
            async for part in parts:
                if not isinstance(part, _Head):
                    for event in reader.feed(part):
                        yield event
                elif part.status != 200 or part.kind != "text/event-stream":
                    raise ServerError("refused", f"it has no events ({part.status})")

    async def _send(
        self, method: str, path: str, body: Mapping[str, Any] | None, known: bool
    ) -> AsyncGenerator[_Head | bytes]:
        """Send a request; how the answer begins, and then its body as it comes. Raises `ServerError`."""
        import h11  # without TLS, which the keeper does without

        host, port = self._address.host, self._address.port
        try:
            async with time_limit(_CONNECT_WITHIN):
                reader, writer = await asyncio.open_connection(host, port)
        except (OSError, TimeoutError) as error:
            raise ServerError("gone", "it cannot be reached") from error
        try:
            wire, data = h11.Connection(h11.CLIENT), b"" if body is None else json.dumps(body).encode()
            headers = [("Host", f"{host}:{port}"), ("Connection", "close"), ("Content-Length", str(len(data)))]
            headers += [("Content-Type", "application/json")] if body is not None else []
            headers += [("Authorization", self._address.authorization)] if known else []
            request = h11.Request(method=method, target=path, headers=headers)
            for event in (request, h11.Data(data=data), h11.EndOfMessage()):
                writer.write(wire.send(event) or b"")
            await writer.drain()
            while True:
                event = wire.next_event()
                if event is h11.NEED_DATA:
                    async with time_limit(_SILENT):
                        wire.receive_data(await reader.read(_PIECE_SIZE))
                elif isinstance(event, h11.Response):
                    kinds = [value for name, value in event.headers if name == b"content-type"]
                    yield _Head(event.status_code, kinds[0].decode("latin-1").partition(";")[0] if kinds else "")
                elif isinstance(event, h11.Data):
                    yield bytes(event.data)
                elif isinstance(event, h11.EndOfMessage):
                    return
                elif isinstance(event, h11.ConnectionClosed):
                    raise ServerError("unsure" if method == "POST" else "gone", "it ended the connection")
        except (h11.ProtocolError, OSError, TimeoutError) as error:
            raise ServerError("unsure" if method == "POST" else "gone", _words(error)) from error
        finally:
            writer.transport.abort()  # it notices that at once, while it sees a farewell with its next event


class ServerEventReader:
    """Takes a stream of events apart."""

    def __init__(self) -> None:
        self._held = b""
        self._data: list[bytes] = []
        self._size = 0
        self._skips = False
        """The line under way is too long: what is left of it, and its event, do not count."""

    def feed(self, piece: bytes) -> list[dict[str, Any]]:
        """The events that this piece of the stream completes."""
        found: list[dict[str, Any]] = []
        *lines, self._held = (self._held + piece).split(b"\n")
        for line in lines:
            if not line.rstrip(b"\r"):
                found += self._event()
            elif line.startswith(b"data:"):
                self._size += len(line)
                self._data.append(line[5:].strip())
        if len(self._held) + self._size > LARGEST:
            self._skips, self._held, self._data, self._size = True, b"", [], 0
        return found

    def _event(self) -> list[dict[str, Any]]:
        data, skips = b"\n".join(self._data), self._skips
        self._data, self._size, self._skips = [], 0, False
        if not data or skips or _PIECE in data[:_HEAD]:
            return []
        try:
            event = obj(parse_foreign_json(data))
        except ValueError:
            return []
        return [event] if event else []


def _value(head: _Head, data: bytes) -> Any:
    status, is_json = head.status, head.kind == "application/json"
    if status == 204 or (status < 300 and not data):
        return None
    try:
        value: object = parse_foreign_json(data) if is_json else None
    except ValueError as error:
        raise ServerError("refused", "its answer is no JSON") from error
    if status >= 300 or not is_json:  # an unknown path is answered with a page for browsers
        words = obj(value).get("message")
        why = words if isinstance(words, str) else f"it answers with {status}"
        raise ServerError("missing" if status == 404 else "refused", one_line(why, 200))
    return value


def _words(error: BaseException) -> str:
    return one_line(str(error) or type(error).__name__, 120)

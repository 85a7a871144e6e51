"""The client of one language server: its frames on a process's standard input and output, requests with a deadline.

Bad servers harm nobody: a message that is too long costs its own request, messages that are none are counted, and a
server that writes too many of those, or more than anybody can read, is given up. What a server asks of us is answered
at once; what it wants changed in files is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec
from msgspec import UNSET, Raw

from gshtui.features.code.lsp_types import Envelope, ResponseError
from gshtui.system.expected_error import ExpectedError
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.struct_types import learned
from gshtui.system.tasks import cancel_and_wait, start_job
from gshtui.text.sanitise import literal, one_line

LONGEST = 8 * 1024 * 1024
"""Bytes of one message of a server; a longer one is not read."""
_PIECE = 1 << 16
_HEAD = 4_096
"""Bytes at the beginning of a message that is too long in which its id is looked for."""
_LONGEST_HEADER = 8_192
_MOST_NOISE = 1 << 20
"""Bytes in a row that are no message, after which it is no language server."""
_MOST_INVALID = 100
_FLOOD = 64 * 1024 * 1024
_FLOOD_SECONDS = 10.0
"""More than so many bytes in so many seconds are a flood."""
_UNSENT = 32 * 1024 * 1024
"""Bytes that a server may leave unread."""
_ID = re.compile(rb'"id"\s*:\s*(\d{1,12})')
_LENGTH = re.compile(rb"content-length:[ \t]*(\d{1,12})[ \t]*\r?\n", re.IGNORECASE)
_START = re.compile(rb"content-(?:length|type):", re.IGNORECASE)
METHOD_NOT_FOUND = -32601


class LanguageServerError(ExpectedError):
    """A language server cannot be used, or did not do what was asked; the message is one sentence."""


class FrameReader:
    """Splits what a server writes into the bodies of its messages.

    Attributes:
        fault: why nothing more can be read, as the end of a sentence; empty: it can.
    """

    def __init__(self, longest: int = LONGEST) -> None:
        self.fault = ""
        self._longest = longest
        self._buffer = bytearray()
        self._missing = -1
        """Bytes of the body that are still to come; negative: a header is."""
        self._skipped = 0
        """Size of the body that is being passed over; 0: none is."""
        self._head = b""
        self._noise = 0

    def feed(self, piece: bytes) -> list[bytes | OversizedMessage]:
        found: list[bytes | OversizedMessage] = []
        self._buffer += piece
        while not self.fault:
            if self._missing < 0 and not self._read_header():
                break
            if self._skipped:
                if not self._pass_over():
                    break
                found.append(OversizedMessage(self._head, self._skipped))
                self._skipped, self._head = 0, b""
            elif len(self._buffer) < self._missing:
                break
            else:
                found.append(bytes(self._buffer[: self._missing]))
                del self._buffer[: self._missing]
            self._missing = -1
        return found

    def _pass_over(self) -> bool:
        """Drop what there is of a message that is too long; returns whether that was all."""
        if len(self._head) < _HEAD:
            self._head += bytes(self._buffer[: min(self._missing, _HEAD - len(self._head))])
        dropped = min(self._missing, len(self._buffer))
        del self._buffer[:dropped]
        self._missing -= dropped
        return self._missing == 0

    def _read_header(self) -> bool:
        """Whether a whole header was read. Lines before it that are none are passed over."""
        start = _START.search(self._buffer)
        if start is None:
            self._drop(max(0, len(self._buffer) - 16))
            return False
        self._drop(start.start())
        end = min((at for mark in (b"\r\n\r\n", b"\n\n") if (at := self._buffer.find(mark)) >= 0), default=-1)
        if end < 0:
            if len(self._buffer) > _LONGEST_HEADER:
                self.fault = "it does not speak the Language Server Protocol"
            return False
        size = 4 if self._buffer[end] == ord("\r") else 2
        length = _LENGTH.search(self._buffer[: end + size])
        del self._buffer[: end + size]
        if length is None:
            self._drop(0)
            return False
        self._noise = 0
        self._missing = int(length[1])
        self._skipped = self._missing if self._missing > self._longest else 0
        return True

    def _drop(self, size: int) -> None:
        del self._buffer[:size]
        self._noise += size
        if self._noise > _MOST_NOISE:
            self.fault = "it writes what is no message of the Language Server Protocol"


class OversizedMessage(msgspec.Struct, frozen=True):
    """The beginning of a message that is too long, and its size in bytes."""

    head: bytes
    size: int


class ServerRequests(msgspec.Struct):
    """What a server is told and may tell.

    Attributes:
        settings: its configuration, by section.
        folder: the answer to `workspace/workspaceFolders`.
        on_notification: called with the method and parameters of each notification.
        on_lost: called when nothing can be read from it any more.
    """

    settings: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    folder: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    on_notification: Callable[[str, Raw], None] = lambda _method, _params: None
    on_lost: Callable[[], None] = lambda: None


class LspClient:
    """See the module's text. Create it inside a running event loop; `close` it at the end."""

    def __init__(
        self, name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, requests: ServerRequests
    ) -> None:
        self.name = name
        self.lost = asyncio.Event()
        """Set once nothing can be read from it any more."""
        self.fault = ""
        """Why it was given up here, as the end of a sentence; empty: it was not."""
        self._reader = reader
        self._writer = writer
        self._requests = requests
        self._waiting: dict[int, asyncio.Future[Raw]] = {}
        self._next = 0
        self._invalid = 0
        self._reading = start_job(self._read(), f"what the language server {name} says")

    async def request(self, method: str, params: object, seconds: float) -> Raw:
        """Ask the server; the raw result. Raises `LanguageServerError`: it refused, is lost, or did not answer in time,
        and is told that it need not any more.
        """
        self._check()
        self._next += 1
        number, answer = self._next, asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            self._send({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
            async with time_limit(seconds):
                return await answer
        except TimeoutError:
            raise LanguageServerError(f"The language server {self.name} did not answer within {seconds:g} s.") from None
        finally:
            del self._waiting[number]
            if not answer.done() or answer.cancelled():
                with contextlib.suppress(LanguageServerError):
                    self.notify("$/cancelRequest", {"id": number})

    def notify(self, method: str, params: object) -> None:
        """Tell the server. Raises `LanguageServerError`: it is lost, or does not read."""
        self._check()
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    async def close(self) -> None:
        """Stop reading; the process is ended by who started it."""
        await cancel_and_wait(self._reading)
        self.give_up("")

    def _check(self) -> None:
        if self.lost.is_set():
            raise LanguageServerError(f"The language server {self.name} is gone.")

    def _send(self, message: Mapping[str, Any]) -> None:
        try:
            body = msgspec.json.encode(message)
        except ValueError:  # such as a folder whose name is no text
            raise LanguageServerError(f"The language server {self.name} cannot be sent what is no text.") from None
        transport = self._writer.transport
        if transport.is_closing():
            raise LanguageServerError(f"The language server {self.name} is gone.")
        if transport.get_write_buffer_size() + len(body) > _UNSENT:
            self.give_up("it does not read what it is sent")
            raise LanguageServerError(f"The language server {self.name} does not read what it is sent.")
        self._writer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)

    async def _read(self) -> None:
        frames = FrameReader()
        read, since = 0, time.monotonic()
        try:
            while piece := await self._reader.read(_PIECE):
                now = time.monotonic()
                if now - since > _FLOOD_SECONDS:
                    read, since = 0, now
                read += len(piece)
                for message in frames.feed(piece):
                    if isinstance(message, OversizedMessage):
                        self._refuse(message)
                    else:
                        self._take(message)
                if why := frames.fault or self._misbehaves(read):
                    self.give_up(why)
                    return
                await asyncio.sleep(0)  # whoever writes without end must not keep everybody else waiting
        finally:
            self.give_up("")

    def _misbehaves(self, read: int) -> str:
        if read > _FLOOD:
            return f"it wrote more than {_FLOOD >> 20} MB within {_FLOOD_SECONDS:g} s"
        return f"it wrote {self._invalid:,} messages that are none" if self._invalid > _MOST_INVALID else ""

    def give_up(self, why: str) -> None:
        """Take it for lost. `why`: as the end of a sentence; empty: it ended by itself."""
        self.fault = self.fault or why
        if not self.lost.is_set():
            self.lost.set()
            self._requests.on_lost()
        for answer in self._waiting.values():
            if not answer.done():
                said = self.fault or "it ended"
                answer.set_exception(LanguageServerError(f"The language server {self.name} is gone: {said}."))

    def _refuse(self, message: OversizedMessage) -> None:
        found = _ID.search(message.head)
        answer = self._waiting.get(int(found[1])) if found is not None else None
        if answer is not None and not answer.done():
            said = f"{self.name} answered with {message.size:,} bytes; more than {LONGEST:,} are not read."
            answer.set_exception(LanguageServerError(f"The language server {said}"))

    def _take(self, body: bytes) -> None:
        try:
            message = msgspec.json.decode(body, type=learned(Envelope))
        except (ValueError, RecursionError):
            self._invalid += 1
            return
        if not message.method:
            self._take_answer(message)
        elif message.id is None:
            self._requests.on_notification(message.method, message.params)
        else:
            with contextlib.suppress(LanguageServerError):
                self._answer(message.id, message.method, message.params)

    def _take_answer(self, message: Envelope) -> None:
        answer = self._waiting.get(message.id) if isinstance(message.id, int) else None
        if answer is None or answer.done():
            return
        if message.error is UNSET or bytes(message.error) == b"null":
            answer.set_result(message.result if isinstance(message.result, Raw) else Raw(b"null"))
            return
        try:
            error = msgspec.json.decode(message.error, type=learned(ResponseError))
        except (ValueError, RecursionError, TypeError):
            error = ResponseError()
        said = one_line(literal(error.message or "it gave no reason"), 300).rstrip(".")
        answer.set_exception(RequestRefused(f"The language server {self.name} refused: {said}.", error.code))

    def _answer(self, number: int | str, method: str, params: Raw) -> None:
        result: Any = None
        match method:
            case "workspace/configuration":
                result = [self._setting(section) for section in _sections(params)]
            case "workspace/workspaceFolders":
                result = [self._requests.folder]
            case "workspace/applyEdit":
                result = {"applied": False, "failureReason": "No edits of language servers are applied here."}
            case "client/registerCapability" | "client/unregisterCapability" | "window/workDoneProgress/create":
                pass
            case "window/showMessageRequest" | "window/showDocument":
                result = {"success": False} if method.endswith("Document") else None
            case _ if method.startswith("workspace/") and method.endswith("/refresh"):
                self._requests.on_notification(method, params)
            case _:
                error = {"code": METHOD_NOT_FOUND, "message": f"{one_line(literal(method), 60)} is not supported."}
                self._send({"jsonrpc": "2.0", "id": number, "error": error})
                return
        self._send({"jsonrpc": "2.0", "id": number, "result": result})

    def _setting(self, section: str) -> Any:
        value: Any = self._requests.settings
        for part in filter(None, section.split(".")):
            value = cast("Mapping[str, Any]", value).get(part) if isinstance(value, Mapping) else None
        return value


class RequestRefused(LanguageServerError):
    """The server answered that it does not do it. `code`: the protocol's."""

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class _Item(msgspec.Struct):
    section: str = ""


class _Items(msgspec.Struct):
    items: list[_Item] = []


def _sections(params: Raw) -> list[str]:
    try:
        return [item.section for item in msgspec.json.decode(params, type=learned(_Items)).items[:100]]
    except (ValueError, RecursionError):
        return []

"""What of a server's messages reaches the SDK: valid results, no flood of notifications, nothing too large.

Makes a server's result valid, item by item: one bad item costs itself, not the list that it stands in.

Servers take more liberties than the protocol allows, and the SDK refuses a whole result for one of them. Of a listed
tool, prompt or resource only the fields that are used here are kept. Output schemas are not among them: their regular
expressions are the server's own and would be run here without a limit.
"""

from __future__ import annotations

import functools
import json
import math
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, cast

import anyio
import mcp_types
from mcp.client._transport import TransportStreams
from mcp.shared.message import SessionMessage
from mcp_types import (
    CONNECTION_CLOSED,
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
)
from pydantic import TypeAdapter, ValidationError

from gshtui.system.json_types import is_array, is_object

Item = dict[str, Any]
_TEXTS = ("name", "title", "description", "uri", "uriTemplate", "mimeType")
_CALL_FIELDS = frozenset({"content", "structuredContent", "isError", "resultType", "_meta"})


def repair_result(result: Item, note: Callable[[str], None]) -> None:
    """Repair a result in place. What it answers is told by its fields. `note`: called with each item that was left out,
    as a phrase.
    """
    for field, named, repair in _LISTS:
        if isinstance(items := result.get(field), list):
            result[field] = _kept(cast("list[object]", items), named, repair, note)
            for name, default in (("resultType", "complete"), ("ttlMs", 0), ("cacheScope", "private")):
                result.setdefault(name, default)
    if isinstance(result.get("protocolVersion"), str):
        _repair_handshake(result)
    elif result.get("resultType") != "input_required" and (
        "content" in result or "structuredContent" in result or result.keys() <= _CALL_FIELDS
    ):
        _repair_answer(result, note)
    if isinstance(messages := result.get("messages"), list):
        listed = cast("list[object]", messages)
        result["messages"] = [_message(one, note) for one in listed if is_object(one)]


def _kept(
    items: list[object], named: str, repair: Callable[[Item], Item | None], note: Callable[[str], None]
) -> list[Item]:
    kept: list[Item] = []
    for item in items:
        repaired = repair(item) if is_object(item) else None
        if repaired is not None:
            kept.append(repaired)
            continue
        name = item.get("name") if is_object(item) else None
        note(f"the {named} {name}" if isinstance(name, str) and name else f"a {named} without a name")
    return kept


def _texts(item: Item) -> Item:
    return {name: item[name] for name in _TEXTS if isinstance(item.get(name), str)}


def _tool(item: Item) -> Item | None:
    made = _texts(item)
    if not made.get("name"):
        return None
    schema = item.get("inputSchema")
    made["inputSchema"] = {**(schema if is_object(schema) else {}), "type": "object"}
    for field in ("properties", "required"):  # each counts only in the form that the schema's meaning needs
        if not isinstance(made["inputSchema"].get(field, []), dict if field == "properties" else list):
            made["inputSchema"].pop(field, None)
    notes = item.get("annotations")
    reads = notes.get("readOnlyHint") if is_object(notes) else None
    if isinstance(reads, bool):
        made["annotations"] = {"readOnlyHint": reads}
    return made


def _prompt(item: Item) -> Item | None:
    made = _texts(item)
    if not made.get("name"):
        return None
    arguments = item.get("arguments")
    named = [
        {"name": one["name"], **({"required": one["required"]} if isinstance(one.get("required"), bool) else {})}
        for one in cast("list[Item]", arguments if isinstance(arguments, list) else [])
        if isinstance(one, dict) and isinstance(one.get("name"), str)
    ]
    return {**made, "arguments": named}


def _resource(item: Item) -> Item | None:
    made = _texts(item)
    return {**made, "name": made.get("name") or made["uri"]} if made.get("uri") else None


def _template(item: Item) -> Item | None:
    made = _texts(item)
    return {**made, "name": made.get("name") or made["uriTemplate"]} if made.get("uriTemplate") else None


def _contents(item: Item) -> Item | None:
    kept = {name: item[name] for name in (*_TEXTS, "text", "blob") if isinstance(item.get(name), str)}
    return kept if kept.get("uri") and ("text" in kept or "blob" in kept) else None


_LISTS: tuple[tuple[str, str, Callable[[Item], Item | None]], ...] = (
    ("tools", "tool", _tool),
    ("prompts", "prompt", _prompt),
    ("resources", "resource", _resource),
    ("resourceTemplates", "template", _template),
    ("contents", "part of a resource", _contents),
)


def _repair_handshake(result: Item) -> None:
    about = result.get("serverInfo")
    result["serverInfo"] = {
        "name": "unnamed",
        "version": "",
        **_texts(about if is_object(about) else {}),
    }
    if is_object(about) and isinstance(version := about.get("version"), str | int | float):
        result["serverInfo"]["version"] = str(version)
    offers = result.get("capabilities")
    named = offers if is_object(offers) else {}
    result["capabilities"] = {
        name: one if isinstance(one, dict) else {} for name, one in named.items() if one not in (None, False)
    }
    if not isinstance(result.get("instructions", ""), str):
        del result["instructions"]


def _repair_answer(result: Item, note: Callable[[str], None]) -> None:
    """A call's answer. Nothing but `{}` tells a ping's apart, which takes more fields without harm."""
    content = result.get("content")
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    elif is_object(content) or content is None:
        content = [content] if content else []
    if not is_array(content):
        return
    result["content"] = [_block(item, note) for item in content]
    structured = result.get("structuredContent")
    if structured is None:
        result.pop("structuredContent", None)
    elif not isinstance(structured, dict):  # earlier versions of the protocol know objects alone
        result["content"].append(
            {"type": "text", "text": json.dumps(result.pop("structuredContent"), ensure_ascii=False)}
        )
    if not isinstance(result.get("isError", False), bool):
        result["isError"] = bool(result["isError"])
    result.setdefault("resultType", "complete")


def _message(item: Item, note: Callable[[str], None]) -> Item:
    role = item.get("role")
    return {"role": role if role in ("user", "assistant") else "user", "content": _block(item.get("content"), note)}


def _block(item: object, note: Callable[[str], None]) -> object:
    try:
        _blocks().validate_python(item, by_name=False)
    except (ValidationError, RecursionError):
        kind = item.get("type") if is_object(item) else type(item).__name__
        text = item.get("text") if is_object(item) else item
        if isinstance(text, str):
            return {"type": "text", "text": text}
        note(f"content of the type {kind}")
        return {"type": "text", "text": f"[Content of the type {kind} cannot be read here and was left out.]"}
    return item


@functools.cache
def _blocks() -> TypeAdapter[Any]:
    return TypeAdapter(mcp_types.ContentBlock)


_BURST = 400
"""Notifications that may come at once."""
_EACH_SECOND = 200
"""Notifications that may come in a second for as long as it likes."""
GREETS_WITHIN = 2.0
"""Seconds that a server has to answer the first question, which servers of earlier versions of MCP may not know. A
later answer is not lost: such a server refuses the handshake that follows, and is asked again."""


def filtered(read: Any, write: Any, note_left_out: Callable[[str], None]) -> TransportStreams:
    """The streams of a transport as the SDK gets them. `note_left_out`: called with each item of a result that was left
    out, as a phrase.
    """
    stream = FilteredStream(read, note_left_out)
    return stream, _NotingStream(write, stream)


class NotificationLimit:
    """Lets a burst through, then so many a second."""

    def __init__(self) -> None:
        self._left = float(_BURST)
        self._at = time.monotonic()
        self.dropped = 0

    def passes(self) -> bool:
        """Whether one more may pass now."""
        now = time.monotonic()
        self._left = min(float(_BURST), self._left + (now - self._at) * _EACH_SECOND)
        self._at = now
        if self._left < 1:
            self.dropped += 1
            return False
        self._left -= 1
        return True


class FilteredStream:
    """The SDK's stream of messages from a server, filtered."""

    def __init__(self, inner: Any, note_left_out: Callable[[str], None]) -> None:
        """
        Args:
            inner: the transport's own stream.
            note_left_out: called with each item of a result that was left out, as a phrase.
        """
        self._inner = inner
        self._note_left_out = note_left_out
        self.limit = NotificationLimit()
        self._greeting: int | str | None = None
        """Id of the first question."""
        self._greeted = False
        self._greets_until = math.inf
        self._waiting = anyio.CancelScope()

    def note_sent(self, message: Any) -> None:
        """A message that goes to the server: its time to answer the first question begins."""
        if not self._greeted and isinstance(message, JSONRPCRequest):
            self._greeted = True
            if message.method == "server/discover":
                self._greeting, self._greets_until = message.id, anyio.current_time() + GREETS_WITHIN
                self._waiting.deadline = self._greets_until  # of the reader that is there already

    @property
    def last_context(self) -> Any:
        """The context in which the last message was sent, for the SDK."""
        return getattr(self._inner, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """The next message that passes. Raises as the transport's stream does."""
        while True:
            item = await self._next()
            if not isinstance(item, SessionMessage):
                return item
            message = item.message
            if isinstance(message, JSONRPCResponse | JSONRPCError) and message.id == self._greeting:
                self._greets_until = math.inf
            if isinstance(message, JSONRPCNotification) and not self.limit.passes():
                continue
            if isinstance(message, JSONRPCResponse):
                repair_result(message.result, self._note_left_out)
            elif isinstance(message, JSONRPCError) and message.error.code == CONNECTION_CLOSED:
                message.error.code = INTERNAL_ERROR  # the SDK uses that number for a connection that it lost
            return item

    async def _next(self) -> SessionMessage | Exception:
        """The next message; in place of an answer to the first question that does not come, that it is not known."""
        with anyio.CancelScope(deadline=self._greets_until) as self._waiting:
            return await self._inner.receive()
        self._greets_until = math.inf
        error = ErrorData(code=METHOD_NOT_FOUND, message="There is no answer.")
        return SessionMessage(JSONRPCError(jsonrpc="2.0", id=self._greeting, error=error))

    async def aclose(self) -> None:
        await self._inner.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


class _NotingStream:
    """The SDK's stream of messages to a server; what reads its answers hears of each."""

    def __init__(self, inner: Any, reader: FilteredStream) -> None:
        self._inner = inner
        self._reader = reader

    async def send(self, item: SessionMessage, /) -> None:
        """Send a message. Raises as the transport's stream does."""
        self._reader.note_sent(item.message)
        await self._inner.send(item)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()

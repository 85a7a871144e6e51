"""Reads the events of a streamed answer off the wire, as servers really send them, for all adapters.

Takes what the SDKs do not: chunks that are no JSON (skipped and counted), a whole JSON answer in place of a stream,
JSON lines, a byte order mark, events without blank lines between them. Refuses web pages and lines without an end.
Gives other tasks their turn however fast the server is. Raises `ProviderError` (`garbage`) and the transport's errors.
"""

from __future__ import annotations

import asyncio
import codecs
import json
import re
import time
from collections.abc import AsyncIterator
from typing import Any

from gshtui.providers.wire.provider_errors import ErrorOrigin, endless, garbled
from gshtui.system.json_types import is_array, is_object, obj, string

Wire = dict[str, Any]
"""An object of JSON."""
LONGEST = 64_000_000
"""Bytes of one event, or of an answer that is no stream."""
_MOST = 512_000_000
"""Bytes of all events, which may say nothing."""
_TURN = 0.005
"""Seconds of reading after which other tasks have a turn: keys are read between them."""
_LINE_END = re.compile(rb"\r\n|\n|\r(?!\Z)")


class EventStream:
    """The events of one response; iterate over it once. An event's own name is its `type`, where it has none."""

    def __init__(self, origin: ErrorOrigin, response: Any) -> None:
        self._origin = origin
        self._response = response
        self._since = 0.0
        self.events = 0
        self.bad = 0
        """Chunks that could not be read."""
        self.done = False
        """The server said that this is all."""

    async def __aiter__(self) -> AsyncIterator[Wire]:
        name, data, form = "", list[bytes](), ""
        async for line in self._lines():
            if not form and line.strip():
                form = self._form(line)
            if form == "json":
                for event in self._values(data, line):
                    yield event
                continue
            if not line:
                for event in self._events(name, data):
                    yield event
                name, data = "", []
                continue
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"data":
                data.append(value)
            elif field == b"event":
                name = value.decode("utf-8", "replace")
        for event in self._events(name, data):
            yield event

    def _form(self, line: bytes) -> str:
        start = line.lstrip()[:1]
        if start == b"<":
            kind = str(self._response.headers.get("content-type", "")).partition(";")[0] or "a page"
            raise garbled(self._origin, f"it is {kind}, not a stream of events")
        return "json" if start in b"{[" else "events"

    async def _lines(self) -> AsyncIterator[bytes]:
        held, size, first = b"", 0, True
        async for piece in self._response.aiter_bytes():
            held += piece
            if (size := size + len(piece)) > _MOST:
                raise endless(self._origin)
            if first and len(held) >= 3:
                held, first = held.removeprefix(codecs.BOM_UTF8), False
            if len(held) > LONGEST:
                raise garbled(self._origin, "an event without an end")
            *lines, held = _LINE_END.split(held)
            for line in lines:
                yield line
                await self._others()
        if held := held.removeprefix(codecs.BOM_UTF8).rstrip(b"\r"):
            yield held

    async def _others(self) -> None:
        now = time.monotonic()
        if now - self._since >= _TURN:
            await asyncio.sleep(0)
            self._since = time.monotonic()

    def _events(self, name: str, data: list[bytes]) -> list[Wire]:
        """The events of the data lines before a blank line: one, but some servers leave the blank lines out."""
        if not data:
            return []
        found = self._parsed(name, b"\n".join(data))
        if found is not None:
            return found
        several = [self._parsed(name, line) for line in data] if len(data) > 1 else []
        if not any(several):
            self.bad += 1
        return [event for events in several for event in events or []]

    def _parsed(self, name: str, data: bytes) -> list[Wire] | None:
        """The events of this text; `None`: it is no JSON."""
        text = data.decode("utf-8", "replace").strip()
        if text == "[DONE]":
            self.done = True
            return []
        if not text:
            return []
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return [{"type": "error", "error": {"message": text}}] if name == "error" else None
        items = value if is_array(value) else [value]
        events = [item for item in items if is_object(item)]
        self.events += len(events)
        for event in events:
            if name and not isinstance(event.get("type"), str):
                event["type"] = name
        return events

    def _values(self, held: list[bytes], line: bytes) -> list[Wire]:
        """The events that this line completes: JSON lines, a list, or an indented value that ends at the margin."""
        opens, closes = line[:1] in (b"{", b"["), line[:1] in (b"}", b"]")
        if held and held[0].startswith(b"["):
            opens, closes = False, line.rstrip().endswith(b"]")
        elif held and opens:
            self.bad += 1  # what was held never became a value
            held.clear()
        if line.strip():
            held.append(line)
        if not (opens or closes) or (found := self._parsed("", b"\n".join(held))) is None:
            return []
        held.clear()
        return found


class DecodedStream:
    """The events of a response that an SDK decodes: its cloud packs them in a form of its own. As `EventStream`."""

    def __init__(self, decoded: Any) -> None:
        self._decoded = decoded
        self.events = 0
        self.bad = 0
        self.done = False

    async def __aiter__(self) -> AsyncIterator[Wire]:
        async for event in self._decoded:
            if is_object(event):
                self.events += 1
                yield event
            else:
                self.bad += 1


def number(value: Any) -> int:
    """The value as a count; 0 if it is none."""
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else 0


def words(content: Any) -> str:
    """The text of a content that is text, a part, or a list of parts."""
    if isinstance(content, str):
        return content
    if is_array(content):
        return "".join(words(part) for part in content)
    part = obj(content)
    return string(part.get("text")) or words(part.get("content")) if part else ""

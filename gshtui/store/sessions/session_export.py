"""A conversation as a file: lossless JSON lines or an array of them, or Markdown or HTML (`session_html`) for people.

Lines come a page at a time; the whole conversation is never in memory.
"""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from gshtui.bus.messages import (
    PNG_TEXT,
    Audio,
    Block,
    Document,
    Image,
    Message,
    Picture,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
)
from gshtui.media import media_files
from gshtui.store.engine.encoding import visible
from gshtui.store.engine.store_errors import StoreError
from gshtui.system.json_types import is_array, is_object

if TYPE_CHECKING:
    from gshtui.store.record.store import Store
    from gshtui.store.tables.session_table import SessionInfo

VERSION = 1
"""Version of the JSON lines."""
_PAGE = 200
_FILES = frozenset(("data", "colours"))
"""Fields that are files."""
Format = Literal["jsonl", "json", "markdown", "html"]


async def lines(
    store: Store, session: str, form: Format, redact: Callable[[str], str] | None = None
) -> AsyncIterator[str]:
    """The conversation in pieces that end with a newline, all texts as `redact` gives them.

    As JSON lines: first `{"v": 1, "type": "session", …}`, then each `message` with its position in the log, each answer
    that was cut off as `partial`, each full output as `output`, each picture of a call as `picture`, each `overlay`,
    each `text` that was sent, and each `iteration`: its mark and its blocks, where `[2, 7]` stands for the blocks 2 to
    6 of the iteration `base`. As JSON: an array of these lines. Raises `StoreError`: there is no such conversation, or
    it cannot be read.
    """
    info = await store.sessions.find(session)
    if form == "html":
        async for piece in _html(store, info, redact):
            yield piece
        return
    if form == "markdown":
        async for line in _markdown(store, info):
            yield line if redact is None else redact(line)
        return
    before = "[" if form == "json" else ""
    async for line in _json_lines(store, info):
        clean = line if redact is None else json.dumps(_cleaned(json.loads(line), redact), ensure_ascii=False) + "\n"
        yield before + clean
        before = "," if form == "json" else ""
    if form == "json":
        yield "]\n"


def _cleaned(value: object, redact: Callable[[str], str]) -> Any:
    """The value with every text cleaned but the names of fields, and attached files, which are no text."""
    if isinstance(value, str):
        return redact(value)
    if is_array(value):
        return [_cleaned(inner, redact) for inner in value]
    if is_object(value):
        fields = value
        return {name: inner if name in _FILES else _cleaned(inner, redact) for name, inner in fields.items()}
    return value


async def _json_lines(store: Store, info: SessionInfo) -> AsyncIterator[str]:
    yield _line("session", v=VERSION, **msgspec.to_builtins(info))
    async for seq, message in all_messages(store, info.id):
        yield _line("message", seq=seq, message=msgspec.to_builtins(message))
    for message in await store.messages.partials(info.id):
        yield _line("partial", message=msgspec.to_builtins(message))
    for call, key in await store.outputs.find_all(info.id):
        try:
            text = await store.outputs.get(key)
        except StoreError as error:
            yield _line("output", call=call, key=key, error=error.message)
        else:
            if text.startswith(PNG_TEXT):
                yield _line("picture", call=call, key=key, media_type="image/png", data=text.removeprefix(PNG_TEXT))
            else:
                yield _line("output", call=call, key=key, text=text)
    async for line in _sent(store, info.id):
        yield line


async def _sent(store: Store, session: str) -> AsyncIterator[str]:
    for seq, data in await store.contexts.overlays(session):
        try:
            yield _line("overlay", seq=seq, overlay=json.loads(data))
        except ValueError:
            yield _line("overlay", seq=seq, error="It is damaged.")
    for name in await store.contexts.texts_of(session):
        try:
            text = await store.contexts.text(name)
        except StoreError as error:
            yield _line("text", hash=name, error=error.message)
        else:
            yield _line("text", hash=name, text=text)
    seq = 0
    while rows := await store.contexts.iteration_rows(session, seq, _PAGE):
        for row in rows:
            seq = row.seq
            made = msgspec.to_builtins(row)
            yield _line("iteration", iteration=made["iteration"], base=row.base, blocks=made["pieces"])


async def _markdown(store: Store, info: SessionInfo) -> AsyncIterator[str]:
    yield f"# {visible(info.title) or 'Conversation'}\n\n"
    about = [info.id, info.cwd, info.model, f"{info.messages} messages", _when(info.created)]
    yield " · ".join(visible(part) for part in about if part) + "\n"
    async for _, message in all_messages(store, info.id):
        yield "\n" + message_markdown(message)


async def _html(store: Store, info: SessionInfo, redact: Callable[[str], str] | None) -> AsyncIterator[str]:
    from gshtui.store.sessions.session_html import html_pieces  # most exports are of another form

    async def find_picture(key: str) -> str:
        with contextlib.suppress(StoreError):
            return await store.outputs.get(key)
        return ""

    async for piece in html_pieces(info, all_messages(store, info.id), find_picture, redact):
        yield piece


async def all_messages(store: Store, session: str) -> AsyncIterator[tuple[int, Message]]:
    """A conversation's messages with their numbers, a page at a time. Raises `StoreError`."""
    seq = 0
    while page := await store.messages.read_after(session, seq, _PAGE):
        for stored in page:
            seq = stored.seq
            yield seq, stored.message


def message_markdown(message: Message) -> str:
    """One message under its own heading; control characters are escaped, so that it can be printed."""
    who = {"user": "You", "assistant": message.agent or "Assistant", "tool": "Results"}[message.role]
    model = f" ({message.model})" if message.role == "assistant" and message.model else ""
    said = "\n\n".join(part for block in message.blocks if (part := _block_markdown(block)))
    return visible(f"## {who}{model}\n\n{said}\n")


def _block_markdown(block: Block) -> str:
    match block:
        case Text(text=text):
            return text
        case Thinking(text=text):
            return "\n".join(f"> {line}".rstrip() for line in text.splitlines())
        case ToolCall(name=name, arguments=arguments, broken=broken):
            shown = broken or json.dumps(arguments, ensure_ascii=False, indent=2)
            return f"**{name}**\n\n{_fenced(shown, '' if broken else 'json')}"
        case ToolResult(name=name, status=status, content=content, diff=diff):
            parts = [f"**{name}**: {status}", _fenced(content)]
            parts += [_fenced(diff, "diff")] if diff else []
            return "\n\n".join([*parts, *map(_picture_text, block.pictures)])
        case (
            Image(media_type=kind, name=name) | Document(media_type=kind, name=name) | Audio(media_type=kind, name=name)
        ):
            return f"({name or 'attachment'}: {kind}, {media_files.size(block)} bytes)"


def _picture_text(picture: Picture) -> str:
    about = f"{picture.width} × {picture.height}, image/png, {picture.bytes} bytes"
    return f"(picture {picture.title}: {about}{'' if picture.key else ', not kept'})"


def _fenced(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any inside."""
    longest = max((len(run) for run in re.findall(r"`{3,}", text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def _line(kind: str, **fields: object) -> str:
    return msgspec.json.encode({"type": kind, **fields}).decode() + "\n"


def _when(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))

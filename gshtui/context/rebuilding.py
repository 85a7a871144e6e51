"""A request of the past, put together again from its blocks, their texts and the log.

Owns the way back from blocks to messages; refuses to invent: a block whose text is not kept any more is said to be
missing. Called by the service.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from gshtui.bus.context import Block
from gshtui.bus.messages import Block as Part
from gshtui.bus.messages import Message, Text, ToolResult
from gshtui.context.blocks import Passage, hash_of, text_of
from gshtui.context.log import Log
from gshtui.providers.port import Request, ToolSpec

MISSING = "[this text is not kept any more]"


def passages_of(blocks: Sequence[Block], texts: Mapping[str, str]) -> tuple[Passage, ...]:
    """The passages of system, call and memory."""
    return tuple(
        Passage(b.section, b.source, texts.get(b.hash, MISSING), b.path, b.kind)
        for b in blocks
        if b.section in ("system", "call", "memory")
    )


def tools_of(blocks: Sequence[Block], texts: Mapping[str, str]) -> tuple[ToolSpec, ...]:
    """The tools that were offered."""
    found: list[ToolSpec] = []
    for block in blocks:
        if block.section != "tools":
            continue
        try:
            told: dict[str, Any] = json.loads(texts.get(block.hash, ""))
            found.append(ToolSpec(str(told["name"]), str(told["description"]), dict(told["schema"])))
        except (ValueError, KeyError, TypeError):
            found.append(ToolSpec(block.source, MISSING, {"type": "object"}))
    return tuple(found)


def request_of(model: str, blocks: Sequence[Block], texts: Mapping[str, str], log: Log) -> Request:
    """The request of these blocks."""
    messages: list[tuple[str, str, float, list[Part]]] = []
    for block in blocks:
        if block.section not in ("history", "input"):
            continue
        part = _part(block, texts, log)
        if messages and messages[-1][0] == block.message and messages[-1][1] == block.role:
            messages[-1][3].append(part)
        else:
            messages.append((block.message, block.role, block.at, [part]))
    system = tuple(passage.text for passage in passages_of(blocks, texts))
    return Request(model, system, tuple(_message(log, *one) for one in messages), tools_of(blocks, texts))


def _message(log: Log, id: str, role: str, at: float, parts: list[Part]) -> Message:
    place = log.place(id)
    known = log.entries[place].message if place is not None else None
    if known is not None and known.role == role:
        return msgspec.structs.replace(known, blocks=tuple(parts))
    return Message(id, "assistant" if role == "assistant" else "tool" if role == "tool" else "user", tuple(parts), at)


def _part(block: Block, texts: Mapping[str, str], log: Log) -> Part:
    found = log.block(block.id)
    part = found[0].message.blocks[found[1]] if found is not None else None
    if part is not None and hash_of(text_of(part)) == block.hash:
        return part
    text = texts.get(block.hash, MISSING)
    if isinstance(part, ToolResult) and block.kind == "tool_result":
        return msgspec.structs.replace(part, content=text)
    return Text(text)

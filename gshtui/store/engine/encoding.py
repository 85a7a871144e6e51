"""JSON data that every reader can read back.

Repairs what JSON or UTF-8 cannot represent (lone surrogates, NaN, huge integers, foreign objects, unbounded nesting)
instead of refusing it, so that no append fails because of a tool's arguments.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, TypeVar, cast

import msgspec

from gshtui.bus.messages import Message, ToolResult
from gshtui.system.json_types import is_object
from gshtui.system.struct_types import learned

MAX_DEPTH = 100
"""Levels of lists and objects in one value; deeper content is replaced by a sentence."""
MAX_INTEGER_BITS = 8192
TOO_DEEP = "(nested too deeply to be saved)"

T = TypeVar("T")
_encoder = msgspec.json.Encoder()
_CONTROLS = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}


def decoder(kind: type[T], *, strict: bool = True) -> msgspec.json.Decoder[T]:
    """The decoder of a type, created on first use: a large struct's takes milliseconds."""
    return _decoder(kind, strict)


@cache
def _decoder(kind: type[Any], strict: bool) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(learned(kind), strict=strict)


def clean_text(text: str) -> str:
    """The text with U+FFFD for each lone surrogate, as a strict UTF-8 reader would show it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def clean(value: object, depth: int = 0) -> Any:
    """Plain JSON data: text without lone surrogates, NaN and infinities as words, keys as text.

    Keeps integers up to 8,192 bits; anything that is not JSON data becomes its `str`.
    """
    if isinstance(value, str):
        return clean_text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, int):
        bits = value.bit_length()
        return value if bits <= MAX_INTEGER_BITS else f"(an integer of {bits} bits)"
    if depth >= MAX_DEPTH:
        return TOO_DEEP
    if is_object(value):
        return {clean_text(str(key)): clean(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [clean(item, depth + 1) for item in cast("list[object]", value)]
    return clean_text(str(value))


def encode_message(message: Message) -> bytes:
    """The message as one JSON object that `decode_message` reads again."""
    fields = {name: getattr(message, name) for name in message.__struct_fields__}
    fields["blocks"] = [_block(block) for block in message.blocks]
    fields["usage"] = None if message.usage is None else msgspec.to_builtins(message.usage)
    fields["at"] = _finite(message.at)
    return _encoder.encode(
        clean({name: value for name, value in fields.items() if name == "id" or value not in ("", None)})
    )


def _block(block: msgspec.Struct) -> dict[str, Any]:
    """The block as its own fields; arguments are not traversed here, because their depth is unbounded."""
    fields = {name: getattr(block, name) for name in block.__struct_fields__}
    if isinstance(block, ToolResult):
        fields["duration"] = _finite(block.duration)
        fields["pictures"] = [msgspec.to_builtins(picture) for picture in block.pictures]
    return {"type": block.__struct_config__.tag, **fields}


def decode_message(data: bytes | str) -> Message:
    """Decode a message of `encode_message`. Raises `msgspec.DecodeError` if the data is not one."""
    return decoder(Message).decode(data)


def encode_plain(value: object) -> bytes:
    """Any value as JSON, repaired if necessary."""
    return _encoder.encode(clean(value))


def visible(text: str) -> str:
    """The text with control characters escaped, so that printing it cannot control a terminal."""
    return clean_text(text).translate(_CONTROLS)


def _finite(seconds: float) -> float:
    return seconds if math.isfinite(seconds) else 0.0

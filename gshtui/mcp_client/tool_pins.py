"""What each server's tools were when a person last accepted them: names, descriptions and parameters, with a hash each.

Models get the tools as they are here, so nothing that a server says later reaches them before a person has agreed. The
first list of a server that the person configured is accepted; whatever is new or different afterwards is not. One file
per server in the data folder, 0600.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from gshtui.settings import paths
from gshtui.system.files import private_files
from gshtui.system.json_types import is_array, is_object
from gshtui.system.struct_types import learned
from gshtui.text.sanitise import one_line, plain

_MOST_DESCRIPTION = 1_000
"""Characters of a tool's description that a model gets."""
_MOST_PARAMETER = 300
"""Characters of one parameter's description."""
_MOST_SCHEMA = 8_000
"""Characters of a tool's schema; a larger one loses its descriptions, and then all but its names."""
_MOST_DEPTH = 12
_LARGEST = 32 * 1024 * 1024
_WORDS = frozenset(
    {
        *("type", "properties", "required", "items", "enum", "const", "anyOf", "oneOf", "allOf", "minimum", "maximum"),
        *("minItems", "maxItems", "default", "format", "additionalProperties", "prefixItems"),
    }
)
"""The words of a JSON schema that a model gets; the server itself checks the rest."""


class ToolPin(msgspec.Struct, frozen=True):
    """One tool as models get it."""

    name: str
    """As the server calls it."""
    description: str
    schema: dict[str, Any]
    reads: bool = False
    """The server says that it changes nothing, which it need not be right about."""

    @property
    def digest(self) -> str:
        """The hash of all that a model gets."""
        told = [self.name, self.description, self.schema, self.reads]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()


class PromptPin(msgspec.Struct, frozen=True):
    """One prompt of a server."""

    name: str
    description: str = ""
    arguments: tuple[str, ...] = ()


class ServerPins(msgspec.Struct, frozen=True):
    """What is known of one server."""

    definition: str = ""
    """The hash of what was configured then; with another one, the tools are those of another server."""
    legacy: bool = False
    """It needs the handshake of earlier versions of MCP."""
    accepted: tuple[ToolPin, ...] = ()
    offered: tuple[ToolPin, ...] = ()
    """What it offered last, if that differs from what was accepted."""
    prompts: tuple[PromptPin, ...] = ()
    has_resources: bool = False
    failed: str = ""
    """The hash of what was configured when its last start failed; empty: it did not."""
    failed_at: float = 0.0
    """When, in seconds since the epoch."""

    @property
    def changed(self) -> tuple[ToolPin, ...]:
        """The tools that differ from the accepted ones, or are new."""
        known = {pin.name: pin.digest for pin in self.accepted}
        return tuple(pin for pin in self.offered if known.get(pin.name) != pin.digest)


def tool_pin(name: str, description: str, schema: dict[str, Any], *, reads: bool) -> ToolPin:
    """A tool as models get it, out of what the server says: sanitised and cut."""
    clean: dict[str, Any] = _clean_schema(schema)
    if _size(clean) > _MOST_SCHEMA:
        clean = _without_texts(clean)
    if _size(clean) > _MOST_SCHEMA:
        names = cast("dict[str, Any]", clean.get("properties") or {})
        clean = {"type": "object", "properties": {key: dict[str, Any]() for key in list(names)[:100]}}
    return ToolPin(one_line(plain(name), 128), _text(description, _MOST_DESCRIPTION), clean, reads)


def prompt_pin(name: str, description: str, arguments: Sequence[str]) -> PromptPin:
    """A prompt as it is listed, out of what the server says: sanitised and cut."""
    named = tuple(one_line(plain(argument), 60) for argument in arguments[:20])
    return PromptPin(one_line(plain(name), 80), _text(description, _MOST_PARAMETER), named)


def read_pins(server: str) -> ServerPins:
    """What is known of a server; nothing where there is no file, or none that can be read. Blocks for a moment."""
    try:
        file = _file(server)
        if file.stat().st_size > _LARGEST:
            return ServerPins()
        return msgspec.json.decode(file.read_bytes(), type=learned(ServerPins))
    except (OSError, msgspec.DecodeError):
        return ServerPins()


def write_pins(server: str, pins: ServerPins) -> None:
    """Keep it. Blocks for a moment. Raises `OSError`."""
    file = _file(server)
    paths.data_dir()
    private_files.make_folder(file.parent)
    private_files.write_whole(file, msgspec.json.encode(pins))


def forget_pins(server: str) -> None:
    """Remove what is known of a server. Raises `OSError`."""
    _file(server).unlink(missing_ok=True)


def received(before: ServerPins, now: ServerPins) -> ServerPins:
    """What is known after a server has listed its tools: its first list counts, a later one is only offered. `now`:
    what it lists, all of it as accepted.
    """
    distinct = tuple({pin.name: pin for pin in now.accepted}.values())
    first = msgspec.structs.replace(now, accepted=distinct)
    if before.definition != now.definition:
        return first
    named = {pin.name for pin in distinct}
    kept = tuple(pin for pin in before.accepted if pin.name in named)
    later = msgspec.structs.replace(now, accepted=kept, offered=distinct)
    return later if later.changed else first


def accepted(pins: ServerPins) -> ServerPins:
    return msgspec.structs.replace(pins, accepted=pins.offered, offered=()) if pins.offered else pins


def _file(server: str) -> Path:
    return paths.data_dir(create=False) / "mcp" / f"{server}.json"


def _text(text: str, most: int) -> str:
    """What a server says, without anything unseen, on one line."""
    return one_line(" ".join(plain(text[: most * 4]).split()), most)


def _size(schema: dict[str, Any]) -> int:
    return len(json.dumps(schema, ensure_ascii=False))


def _clean_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """The parts of a schema that tell a model something, its references put in, no deeper than a few levels."""
    found = schema.get("$defs") or schema.get("definitions")
    definitions = found if is_object(found) else {}
    clean = _clean(schema, definitions, 0)
    made = clean if is_object(clean) else {}
    made["type"] = "object"
    if not isinstance(made.get("properties"), dict):
        made["properties"] = {}
    return made


def _clean(node: Any, definitions: dict[str, Any], depth: int) -> Any:
    if depth > _MOST_DEPTH:
        return {}
    if is_array(node):
        return [_clean(one, definitions, depth + 1) for one in node[:200]]
    if isinstance(node, str):
        return _text(node, _MOST_PARAMETER)
    if not is_object(node):
        return node
    if isinstance(reference := node.get("$ref"), str):
        target = definitions.get(reference.rsplit("/", 1)[-1])
        return _clean(target, definitions, depth + 1) if isinstance(target, dict) else {}
    made: dict[str, Any] = {}
    for key, value in node.items():
        if key == "properties" and is_object(value):
            entries = list(value.items())[:100]
            made[key] = {_text(name, 64): _clean(one, definitions, depth + 1) for name, one in entries}
        elif key == "description":
            made[key] = _text(str(value), _MOST_PARAMETER)
        elif key in _WORDS:
            made[key] = _clean(value, definitions, depth + 1)
    return made


def _without_texts(node: Any) -> Any:
    if is_array(node):
        return [_without_texts(one) for one in node]
    if not is_object(node):
        return node
    return {
        key: {name: _without_texts(one) for name, one in value.items()}
        if key == "properties" and is_object(value)
        else _without_texts(value)
        for key, value in node.items()
        if key not in ("description", "default")
    }

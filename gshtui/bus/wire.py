"""Events as JSON lines: one vocabulary for the hub, agents in tmux, the shell plugin and scripts.

A line is one JSON object with `v` (version of the wire form), `type` and the event's fields. A reader passes on what
it does not know: an unknown type becomes `Unknown`, an unknown field goes to `beyond`. An invalid line is an error of
that line only.
"""

from __future__ import annotations

import re
from typing import Any, cast

import msgspec

from gshtui.bus.event import Event, Unknown
from gshtui.bus.events import (
    agent_events,
    approval_events,
    call_events,
    context_events,
    fleet_events,
    hub_events,
    server_events,
    session_events,
    shell_events,
    workflow_events,
)
from gshtui.system.json_types import is_array, is_object, map_texts
from gshtui.system.struct_types import learned

VERSION = 2
"""Raised by what an older reader would refuse: a new kind of block in a message, a field of another type. 2: sounds."""
MAX_LINE = 4 * 1024 * 1024
"""Bytes; a longer line is refused before it is parsed."""


class WireError(ValueError):
    """The line is not an event; the text says why."""


def _family(module: object) -> dict[str, type[Event]]:
    return {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Event) and value is not Event
    }


EVENT_TYPES: dict[str, type[Event]] = {
    k: v
    for module in (
        agent_events,
        approval_events,
        call_events,
        context_events,
        fleet_events,
        hub_events,
        server_events,
        session_events,
        shell_events,
        workflow_events,
    )
    for k, v in _family(module).items()
}
"""Every event type on the wire, by name."""

_encoder = msgspec.json.Encoder(enc_hook=str)
_LONG_NUMBER = re.compile(rb"[0-9]{19}")
_known_fields = {name: {*kind.__struct_encode_fields__, "type"} - {"beyond"} for name, kind in EVENT_TYPES.items()}


def to_plain(event: Event) -> dict[str, Any]:
    """The event as plain JSON data, `v` and `type` first."""
    if isinstance(event, Unknown):
        return {"v": VERSION, "type": event.name, **event.fields}
    fields = cast("dict[str, Any]", msgspec.to_builtins(event, enc_hook=str))
    beyond = fields.pop("beyond", None)
    plain = {"v": VERSION, **fields}
    if beyond:
        known = _known_fields.get(fields["type"], frozenset[str]())
        plain.update((key, value) for key, value in beyond.items() if key not in known)
    return plain


def encode(event: Event) -> bytes:
    """The event as one line, with its newline. Lone surrogates (odd bytes of a file name) become `?`."""
    plain = to_plain(event)
    try:
        return _encoder.encode(plain) + b"\n"
    except UnicodeEncodeError:
        return _encoder.encode(map_texts(plain, _encodable)) + b"\n"


def decode(line: bytes) -> Event:
    """Decode one line. Raises `WireError`: too long, not JSON, not an object with a `type`, or a known type with a
    wrong or missing field.
    """
    if len(line) > MAX_LINE:
        raise WireError(f"a line of {len(line)} bytes; the limit is {MAX_LINE}")
    return from_plain(_object(line))


def _encodable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def fields_of(line: bytes) -> dict[str, Any]:
    """The fields of a line from outside, whatever its type. Raises `WireError` like `decode`."""
    fields = _object(line)
    if _LONG_NUMBER.search(line):
        _must_fit(fields)
    return fields


def _object(line: bytes) -> dict[str, Any]:
    try:
        fields = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise WireError(f"not JSON: {error}") from error
    if not is_object(fields):
        raise WireError("not a JSON object")
    return fields


def _must_fit(fields: Any) -> None:
    """Raise `WireError` for a number that neither the record nor a line can hold."""
    waiting: list[Any] = [fields]
    while waiting:
        value = waiting.pop()
        if is_object(value):
            waiting += value.values()
        elif is_array(value):
            waiting += value
        elif isinstance(value, int) and not -(2**63) <= value < 2**63:
            raise WireError("a number of more than 64 bits")


def from_plain(fields: dict[str, Any]) -> Event:
    """The event from `to_plain`'s data. Raises `WireError` like `decode`."""
    fields = dict(fields)
    if fields.get("v") == VERSION:
        del fields["v"]  # another version's number is passed on with the other unknown fields
    name = fields.get("type")
    if not isinstance(name, str):
        raise WireError("no `type`")
    kind = EVENT_TYPES.get(name)
    if kind is None:
        del fields["type"]
        at = fields.get("at")
        return Unknown(name=name, fields=fields, at=float(at) if isinstance(at, int | float) else 0.0)
    beyond = {key: fields.pop(key) for key in list(fields) if key not in _known_fields[name]}
    try:
        event = msgspec.convert(fields, learned(kind))
    except msgspec.ValidationError as error:
        raise WireError(f"{name}: {error}") from error
    return msgspec.structs.replace(event, beyond=beyond) if beyond else event

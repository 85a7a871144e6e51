"""Values of this program's own data classes as JSON data, and back: what processes of one version tell each other.

Text, numbers and lists stand for themselves; everything else is an object that names its class. Read are only data
classes of this program, which are built from their fields: nothing that comes in runs anything.
"""

from __future__ import annotations

import base64
import dataclasses
import enum
import math
from collections.abc import Collection, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import msgspec

_KIND, _OF = "%", "of"
_OWN = "gshtui."


class PlainValueError(ValueError):
    """It is no value that processes tell each other; the text says why."""


def to_plain(value: object) -> Any:
    """A value as JSON data. Raises `PlainValueError` for one that is no data."""
    if value is None or type(value) in (bool, int):
        return value
    if isinstance(value, str) and not isinstance(value, enum.Enum):
        return _plain_text(str(value))
    if isinstance(value, list):
        return [to_plain(each) for each in cast("list[object]", value)]
    if isinstance(value, Mapping):
        return _plain_mapping(cast("Mapping[object, object]", value))
    if isinstance(value, enum.Enum):
        return {_KIND: _name(type(value)), _OF: to_plain(cast("object", value.value))}
    fields = _fields(type(value))
    if fields is not None:
        return {_KIND: _name(type(value)), _OF: {name: to_plain(getattr(value, name)) for name in fields}}
    match value:
        case float() if not math.isfinite(value):
            return {_KIND: "float", _OF: str(value)}
        case bool() | int() | float():
            return value
        case bytes():
            return {_KIND: "bytes", _OF: base64.b64encode(value).decode("ascii")}
        case Path():
            return {_KIND: "path", _OF: str(value)}
        case tuple() | set() | frozenset():
            items = cast("Collection[object]", value)
            return {_KIND: _collection(items), _OF: [to_plain(each) for each in items]}
        case _:
            raise PlainValueError(f"a {type(value).__module__}.{type(value).__qualname__} is no data")


def from_plain(plain: Any) -> Any:
    """The value of `to_plain`. Raises `PlainValueError`."""
    if isinstance(plain, list):
        return [from_plain(each) for each in cast("list[Any]", plain)]
    if not isinstance(plain, dict):
        return plain
    fields = cast("dict[str, Any]", plain)
    kind = fields.get(_KIND)
    if kind is None:
        return {key: from_plain(each) for key, each in fields.items()}
    of: Any = fields.get(_OF)
    try:
        match kind:
            case "float":
                return float(of)
            case "bytes":
                return base64.b64decode(of)
            case "text":
                return base64.b64decode(of).decode("utf-8", "surrogatepass")
            case "path":
                return Path(of)
            case "tuple" | "set" | "frozenset":
                return _COLLECTIONS[kind](from_plain(each) for each in of)
            case "dict":
                return {from_plain(key): from_plain(each) for key, each in of}
            case _:
                return _built(_class(kind), from_plain(of))
    except PlainValueError:
        raise
    except (ValueError, TypeError, AttributeError) as error:
        raise PlainValueError(f"{kind}: {error}") from error


_COLLECTIONS: dict[str, type[Any]] = {"tuple": tuple, "set": set, "frozenset": frozenset}


def _collection(value: object) -> str:
    return next(name for name, kind in _COLLECTIONS.items() if isinstance(value, kind))


def _plain_text(text: str) -> Any:
    """Odd bytes of a file name are lone surrogates, which JSON cannot hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return {_KIND: "text", _OF: base64.b64encode(text.encode("utf-8", "surrogatepass")).decode("ascii")}
    return text


def _plain_mapping(value: Mapping[object, object]) -> Any:
    if all(isinstance(key, str) and key != _KIND for key in value):
        return {str(key): to_plain(each) for key, each in value.items()}
    return {_KIND: "dict", _OF: [[to_plain(key), to_plain(each)] for key, each in value.items()]}


@cache
def _fields(kind: type[Any]) -> tuple[str, ...] | None:
    """The fields from which a data class of this program is built; `None`: it is none."""
    if not kind.__module__.startswith(_OWN):
        return None
    if issubclass(kind, msgspec.Struct):
        return kind.__struct_fields__
    if dataclasses.is_dataclass(kind):
        return tuple(field.name for field in dataclasses.fields(kind) if field.init)
    fields: object = getattr(kind, "model_fields", None)  # pydantic's, without loading it
    return tuple(cast("dict[str, object]", fields)) if isinstance(fields, dict) else None


def _name(kind: type[Any]) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


@cache
def _class(name: str) -> type[Any]:
    module, _, path = name.partition(":")
    if not module.startswith(_OWN):
        raise PlainValueError(f"{name[:80]} is not of this program")
    try:
        found: Any = import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise PlainValueError(f"there is no {name[:80]}") from error
    if not isinstance(found, type) or (_fields(found) is None and not issubclass(found, enum.Enum)):
        raise PlainValueError(f"{name[:80]} is no data class")
    return cast("type[Any]", found)


def _built(kind: type[Any], of: Any) -> Any:
    return kind(of) if issubclass(kind, enum.Enum) else kind(**of)

"""Parsed values (JSON, TOML, YAML): whether one is an object or an array, for the type checker, too; changed texts; and
JSON that other programs wrote, whose values can be kept, counted with and sent on.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, TypeGuard, cast


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def obj(value: object) -> dict[str, Any]:
    """The value if it is an object, else an empty one."""
    return value if is_object(value) else {}


def seq(value: object) -> list[Any]:
    """The value if it is an array, else an empty one."""
    return value if is_array(value) else []


def objects(value: object) -> list[dict[str, Any]]:
    """The objects in the value if it is an array."""
    return [one for one in seq(value) if is_object(one)]


def strings(value: object) -> list[str]:
    """The texts in the value if it is an array."""
    return [one for one in seq(value) if isinstance(one, str)]


def string(value: object) -> str:
    """The value if it is text, else nothing."""
    return value if isinstance(value, str) else ""


def map_texts(value: object, change: Callable[[str], str]) -> Any:
    """JSON data with every text in it changed, names of fields included."""
    if isinstance(value, str):
        return change(value)
    if is_object(value):
        return {change(str(name)): map_texts(one, change) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [map_texts(one, change) for one in cast("list[object]", value)]
    return value


_SURROGATE = re.compile("[\ud800-\udfff]")
_LONGEST_NUMBER = 18
"""Digits of a whole number that fits into 64 bits, whatever they are."""


def parse_foreign_json(data: str | bytes) -> Any:
    """The value. Raises `ValueError` alone."""
    try:
        value = json.loads(data, parse_int=_whole, parse_float=_finite, parse_constant=lambda _: None)
        return map_texts(value, _encodable) if isinstance(data, str) or b"\\ud" in data or b"\\uD" in data else value
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _whole(digits: str) -> int | None:
    return int(digits) if len(digits) <= _LONGEST_NUMBER else None


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None


def _encodable(text: str) -> str:
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)

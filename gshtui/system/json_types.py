"""Parsed values (JSON, TOML, YAML): whether one is an object or an array, for the type checker, too; changed texts."""

from __future__ import annotations

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

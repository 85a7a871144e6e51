"""Fields of messages that another program wrote: what is missing, or of another type, counts as empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast


def text_of(fields: Mapping[str, Any], name: str) -> str:
    """A text."""
    value = fields.get(name)
    return value if isinstance(value, str) else ""


def number_of(fields: Mapping[str, Any], name: str) -> float:
    """A number."""
    value = fields.get(name)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else 0.0


def table_of(fields: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """An object."""
    value = fields.get(name)
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def tables_of(fields: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """The objects of an array."""
    value = fields.get(name)
    every = cast("list[object]", value) if isinstance(value, list) else []
    return [cast("Mapping[str, Any]", one) for one in every if isinstance(one, dict)]


def words_of(fields: Mapping[str, Any], name: str) -> list[str]:
    """The texts of an array."""
    value = fields.get(name)
    every = cast("list[object]", value) if isinstance(value, list) else []
    return [one for one in every if isinstance(one, str)]

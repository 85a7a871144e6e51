"""Fields of messages that another program wrote: what is missing, or of another type, counts as empty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gshtui.system.json_types import is_array, is_object


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
    return value if is_object(value) else {}


def tables_of(fields: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """The objects of an array."""
    value = fields.get(name)
    every = value if is_array(value) else []
    return [one for one in every if is_object(one)]


def words_of(fields: Mapping[str, Any], name: str) -> list[str]:
    """The texts of an array."""
    value = fields.get(name)
    every = value if is_array(value) else []
    return [one for one in every if isinstance(one, str)]

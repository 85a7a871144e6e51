"""Whether a parsed value (JSON, TOML, YAML) is an object or an array, for the type checker, too."""

from __future__ import annotations

from typing import Any, TypeGuard


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    """Its keys are text, as in JSON."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)

"""The base of the tools' parameters. Models send `null` for what they mean to leave out; it is taken so."""

from __future__ import annotations

from typing import Any, cast

from pydantic import model_validator

from gshtui.commands.declaration import Parameters


class ToolParameters(Parameters):
    """Parameters of a tool: as any command's, and `null` counts as not given."""

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        return {name: value for name, value in cast("dict[str, Any]", data).items() if value is not None}

"""Values that flow through a line, and the variables of one conversation or face.

Variables live in memory only, and are not those of the process: what a line means must not depend on where the program
was started, and an agent must not read keys out of the environment.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Literal, cast

import msgspec
from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, JsonValue
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from gshtui.system.expected_error import ExpectedError

LANGUAGE = "language"
"""The family of the language's own commands; an agent's line may use them, though only some are tools."""
LAST = "last"
"""The variable that has the result of the line before."""
_MOST_VARIABLES = 1_000
_MOST_CHARACTERS = 10_000_000
"""Of all variables together."""

Origin = Literal["written", "computed", "readable"]


class LineValue(msgspec.Struct, frozen=True):
    """A value with its rendering. As a parameter's type, the command gets both.

    Attributes:
        data: plain JSON data.
        text: how people see it.
        origin: written out in the line, computed by a variable or `$(…)`, or `<(…)`.
    """

    data: Any
    text: str
    origin: Origin = "written"

    @classmethod
    def from_data(cls, data: Any, origin: Origin = "written") -> LineValue:
        """A value whose text is made from its data."""
        return cls(data, text_of(data), origin)

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            lambda given: given if isinstance(given, LineValue) else LineValue.from_data(given),
            serialization=core_schema.plain_serializer_function_ser_schema(lambda value: value.data),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, _core: CoreSchema, _handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"description": "Text, or any JSON value"}


def text_of(data: object) -> str:
    """Plain data as text: text as it is, everything else as JSON."""
    if isinstance(data, str):
        return data
    return "" if data is None else json.dumps(data, ensure_ascii=False, default=str)


class VariableError(ExpectedError):
    """A variable cannot be read or set."""


class Variables:
    """Variables by name, in the order in which they were set. Their number and size are bounded."""

    def __init__(self) -> None:
        self._values: dict[str, LineValue] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __getitem__(self, name: str) -> LineValue:
        return self._values[name]

    def set(self, name: str, value: LineValue) -> None:
        """Set a variable. Raises `VariableError`: the name is none, or too much is kept."""
        if not name.isidentifier():
            raise VariableError(f"{name!r} cannot be the name of a variable.", "Use letters, digits and `_`.")
        if name == LAST:
            raise VariableError(f"`{LAST}` always has the result of the line before.", "Use another name.")
        if name not in self._values and len(self._values) >= _MOST_VARIABLES:
            raise VariableError(f"There are {_MOST_VARIABLES:,} variables, which is the most.")
        size = sum(_size(kept) for one, kept in self._values.items() if one not in (name, LAST))
        if size + _size(value) > _MOST_CHARACTERS:
            raise VariableError(
                f"The variables would have more than {_MOST_CHARACTERS:,} characters.",
                f"Write the value into a file, or `env name={name} remove=true` others.",
            )
        self._values[name] = value

    def remove(self, name: str) -> None:
        """Remove a variable. Raises `VariableError`: there is none of this name."""
        if name == LAST or self._values.pop(name, None) is None:
            raise VariableError(f"There is no variable {name!r} to remove.")

    def keep_last(self, value: LineValue) -> None:
        """Keep the result of a line, unless it is too large."""
        self._values.pop(LAST, None)
        if _size(value) <= _MOST_CHARACTERS:
            self._values = {LAST: value, **self._values}


def _size(value: LineValue) -> int:
    data = 0 if value.data is value.text else len(value.data) if isinstance(value.data, str) else len(value.text)
    return len(value.text) + data


def selected(value: LineValue, path: tuple[str | int, ...]) -> LineValue:
    """A part of a value by fields and indexes; the field `text` of anything is its rendering. Raises `VariableError`:
    the data has no such part; the text says where.
    """
    data, text = cast("JsonValue", value.data), value.text
    for number, step in enumerate(path):
        found = _part(data, step)
        if found is None:
            if step == "text":
                data = text
                continue
            raise VariableError(f"{_where(path[:number])} has no {_said(step)}.", _offers(data))
        data = found[0]
        text = text_of(data)
    return LineValue(data, text, value.origin)


def _part(data: JsonValue, step: str | int) -> tuple[JsonValue] | None:
    if isinstance(data, dict):
        return (data[str(step)],) if str(step) in data else None
    if isinstance(data, list):
        index = step if isinstance(step, int) else int(step) if step.isascii() and step.isdigit() else None
        return (data[index],) if index is not None and -len(data) <= index < len(data) else None
    return None


def _where(path: tuple[str | int, ...]) -> str:
    return "It" if not path else ".".join(map(str, path)).join("``")


def _said(step: str | int) -> str:
    return f"item {step}" if isinstance(step, int) or step.isdigit() else f"field {step!r}"


def _offers(data: JsonValue) -> str:
    if isinstance(data, dict):
        names = [name[:40] for name in list(data)[:8]]
        return f"It has {', '.join(names)}{' …' if len(data) > 8 else ''}." if names else "It is empty."
    if isinstance(data, list):
        return f"It is a list of {len(data)}."
    return "It is a single value."

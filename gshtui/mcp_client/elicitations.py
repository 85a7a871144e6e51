"""The open questions of servers to the person that need values, and how an answer in words becomes those values."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping
from typing import Any, cast

import msgspec

from gshtui.mcp_client.server_definition import McpError
from gshtui.mcp_client.server_requests import Elicitation
from gshtui.system.json_types import is_array, is_object, obj, seq
from gshtui.text.sanitise import literal, one_line

_YES = frozenset({"true", "yes", "y", "1", "on"})
_NO = frozenset({"false", "no", "n", "0", "off"})


class Elicitations(msgspec.Struct):
    """Those that wait, at most one a server."""

    _open: dict[str, tuple[Elicitation, asyncio.Future[Mapping[str, Any]]]] = msgspec.field(
        default_factory=dict[str, "tuple[Elicitation, asyncio.Future[Mapping[str, Any]]]"]
    )

    def open(self, server: str, asked: Elicitation) -> asyncio.Future[Mapping[str, Any]]:
        """A question of a server; gives its values once they are there. Raises `McpError`: it has one already."""
        if server in self._open:
            raise McpError(f"The MCP server {server} asks already.")
        answer: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self._open[server] = (asked, answer)
        answer.add_done_callback(lambda done: self._forget(server, done))
        return answer

    def _forget(self, server: str, answer: asyncio.Future[Mapping[str, Any]]) -> None:
        if server in self._open and self._open[server][1] is answer:
            del self._open[server]

    def answer(self, server: str, words: str) -> None:
        """Answer a server's question. Raises `McpError`: it asks nothing, or the values are not what it asks for."""
        if server not in self._open:
            raise McpError(f"The MCP server {server[:40]} is not asking anything.")
        asked, answer = self._open[server]
        values = parsed_values(asked, words)
        del self._open[server]
        if not answer.done():
            answer.set_result(values)


def parsed_values(asked: Elicitation, words: str) -> dict[str, Any]:
    """The values in words such as `colour=red bright=yes`. Raises `McpError`: they are not what it asks for."""
    hint = f"It asks for {fields_text(asked)}."
    try:
        split = shlex.split(words)
        if len(split) == 1 and words.strip()[:1] in ("'", '"'):  # all of it in quotes, for a value called `name`
            split = shlex.split(split[0])
    except ValueError as error:
        raise McpError(f"The values are not complete ({error}).", hint) from error
    found: dict[str, Any] = {}
    for word in split:
        name, equals, text = word.partition("=")
        if not equals or name not in asked.fields:
            raise McpError(f"{one_line(literal(name), 40)!r} is not one of its values.", hint)
        found[name] = _value(name, asked.fields[name], text, hint)
    for name, schema in asked.fields.items():
        default: Any = schema.get("default") if is_object(schema) else None
        if name not in found and default is not None:
            found[name] = default
    if missing := [name for name in asked.required if name not in found]:
        raise McpError(f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing.", hint)
    return found


def checked_values(asked: Elicitation, given: Mapping[str, Any]) -> dict[str, Any]:
    """Values from a form, which may be texts, as what it asks for; empty ones count as not given. Raises `McpError`."""
    words = {name: value for name, value in given.items() if value not in ("", None, [])}
    if unknown := next((name for name in words if name not in asked.fields), ""):
        raise McpError(f"{one_line(literal(unknown), 40)!r} is not one of its values.")
    found = {name: field_value(name, asked.fields[name], value) for name, value in words.items()}
    if missing := [name for name in asked.required if name not in found]:
        raise McpError(f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing.")
    return found


def field_value(name: str, schema: object, given: object) -> Any:
    """One value of a form as its schema wants it. Raises `McpError`: it is none."""
    told = obj(schema)
    if isinstance(given, bool) and told.get("type") == "boolean":
        return given
    words = ",".join(map(str, given)) if is_array(given) else str(given)
    value = _value(name, schema, words, "")
    if (wrong := _outside(told, value)) is not None:
        raise McpError(f"{name} must be {wrong}.")
    return value


def _outside(told: Mapping[str, Any], value: object) -> str | None:
    """What a value must be and is not: within its limits."""
    match value:
        case str():
            measured, (least, most, unit) = len(value), ("minLength", "maxLength", " characters")
        case list():
            measured, (least, most, unit) = len(cast("list[object]", value)), ("minItems", "maxItems", " entries")
        case int() | float():
            measured, (least, most, unit) = value, ("minimum", "maximum", "")
        case _:
            return None
    if isinstance(low := told.get(least), (int, float)) and measured < low:
        return f"at least {low:g}{unit}"
    if isinstance(high := told.get(most), (int, float)) and measured > high:
        return f"at most {high:g}{unit}"
    return None


def defaults(asked: Elicitation) -> dict[str, Any] | None:
    """The values if the person only agrees: the defaults, and a plain yes; `None`: those are not enough."""
    only = [name for name, schema in asked.fields.items() if _is_boolean(schema)]
    agreed = " ".join(f"{name}=yes" for name in only) if len(only) == len(asked.fields) == 1 else ""
    try:
        return parsed_values(asked, agreed)
    except McpError:
        return None


def _is_boolean(schema: object) -> bool:
    return is_object(schema) and schema.get("type") == "boolean"


def fields_text(asked: Elicitation) -> str:
    return one_line(literal(", ".join(_field(name, schema) for name, schema in asked.fields.items())), 600)


def field_choices(schema: object) -> list[tuple[str, str]]:
    """The values that a field can have, each with its title; none: it is free.

    They are a list of words (`enum`, with `enumNames`), or of constants with titles (`oneOf`, `anyOf`); a field of
    several values has them in `items`.
    """
    told = obj(schema)
    if told.get("type") == "array":
        return field_choices({**obj(told.get("items")), "type": "string"})
    if words := list(map(str, seq(told.get("enum")))):
        titles = list(map(str, seq(told.get("enumNames"))))
        return list(zip(words, titles if len(titles) == len(words) else words, strict=True))
    found: list[tuple[str, str]] = []
    for one in seq(told.get("oneOf") or told.get("anyOf")):
        constant = obj(one)
        if "const" in constant:
            found.append((str(constant["const"]), str(constant.get("title") or constant["const"])))
    return found


def _field(name: str, schema: object) -> str:
    told = obj(schema)
    kind = " or ".join(value for value, _ in field_choices(schema)[:20]) or told.get("type")
    about = told.get("description") or told.get("title") or ""
    return f"{name} ({kind or 'string'}{f': {about}' if about else ''})"


_KINDS = {"integer": "a whole number, such as 3", "number": "a number, such as 2.5", "boolean": "yes or no"}


def _value(name: str, schema: object, text: str, hint: str) -> Any:
    told = obj(schema)
    offered = [value for value, _ in field_choices(schema)]
    words = [one.strip() for one in text.split(",") if one.strip()] if told.get("type") == "array" else [text]
    if offered and not set(words) <= set(offered):
        some = "any" if told.get("type") == "array" else "one"
        raise McpError(f"{name} must be {some} of {one_line(literal(', '.join(offered)), 200)}.", hint)
    try:
        match told.get("type"):
            case "integer":
                return int(text)
            case "number":
                return float(text)
            case "boolean":
                if text.lower() in _YES | _NO:
                    return text.lower() in _YES
                raise ValueError
            case "array":
                return words
            case _:
                return text
    except ValueError:
        raise McpError(f"{name} must be {_KINDS[str(told.get('type'))]}.", hint) from None

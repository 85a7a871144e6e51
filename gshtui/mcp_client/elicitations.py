"""The open questions of servers to the person that need values, and how an answer in words becomes those values."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any, cast

import msgspec

from gshtui.mcp_client.server_definition import McpError
from gshtui.mcp_client.server_requests import Elicitation
from gshtui.system.json_types import is_array, is_object, obj, seq
from gshtui.text.sanitise import literal, one_line

_YES = frozenset({"true", "yes", "y", "1", "on"})
_NO = frozenset({"false", "no", "n", "0", "off"})


class FieldError(McpError):
    """A value is missing, or is not what its `field` (by name) asks for."""

    def __init__(self, field: str, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.field = field


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
        found[name] = _value(name, name, asked.fields[name], text, hint)
    for name, schema in asked.fields.items():
        default: Any = schema.get("default") if is_object(schema) else None
        if name not in found and default is not None:
            found[name] = default
    if missing := [name for name in asked.required if name not in found]:
        raise FieldError(missing[0], _missing(missing), hint)
    return found


def checked_values(asked: Elicitation, given: Mapping[str, Any]) -> dict[str, Any]:
    """Values from a form, which may be texts, as what it asks for; empty ones count as not given. Raises `McpError`."""
    words = {name: value for name, value in given.items() if value not in ("", None, [])}
    if unknown := next((name for name in words if name not in asked.fields), ""):
        raise McpError(f"{one_line(literal(unknown), 40)!r} is not one of its values.")
    found = {name: _form_value(name, asked.fields[name], value) for name, value in words.items()}
    if missing := [name for name in asked.required if name not in found]:
        raise FieldError(missing[0], _missing([field_title(name, asked.fields.get(name)) for name in missing]))
    return found


def _missing(labels: list[str]) -> str:
    return f"{', '.join(labels)} {'is' if len(labels) == 1 else 'are'} missing."


def _form_value(name: str, schema: object, given: object) -> Any:
    """One value of a form as its schema wants it. Raises `McpError`: it is none."""
    told = obj(schema)
    if isinstance(given, bool) and told.get("type") == "boolean":
        return given
    words = ",".join(map(str, given)) if is_array(given) else str(given)
    label = field_title(name, schema)
    value = _value(name, label, schema, words, "")
    if (wrong := _outside(told, value)) is not None:
        raise FieldError(name, f"{label} must be {wrong}.")
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
    """The names of the values and what each is, for who types them."""
    return one_line(literal(", ".join(f"{name} ({_kind(one) or 'text'})" for name, one in asked.fields.items())), 600)


def question_text(asked: Elicitation) -> str:
    """What is asked for, a line for each value, as its form calls it."""
    return "\n".join(["It asks for:", *(_question_line(name, schema) for name, schema in asked.fields.items())])


def _question_line(name: str, schema: object) -> str:
    kind, about = _kind(schema), obj(schema).get("description") or ""
    words = f"{field_title(name, schema)}{f' ({kind})' if kind else ''}{f': {about}' if about else ''}"
    return f"- {one_line(literal(words), 300)}"


def _kind(schema: object) -> str:
    """What a value is, in words; empty: any text."""
    return " or ".join(value for value, _ in field_choices(schema)[:20]) or field_hint(schema).partition(", such")[0]


def field_title(name: str, schema: object) -> str:
    """What a person calls a field."""
    return one_line(literal(str(obj(schema).get("title") or name)), 60)


def field_hint(schema: object) -> str:
    """What a person can write in a free field, with an example; empty: any text."""
    return _KINDS.get(_form(obj(schema)), "")


def _form(told: Mapping[str, Any]) -> str:
    """The type of a value, and of a text its format."""
    kind = str(told.get("type") or "string")
    return str(told.get("format")) if kind == "string" else kind


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


_KINDS = {
    "array": "words, with commas between",
    "boolean": "yes or no",
    "date": "a date, such as 2026-01-31",
    "date-time": "a date and time, such as 2026-01-31T09:30:00Z",
    "email": "an email address, such as ann@example.org",
    "integer": "a whole number, such as 3",
    "number": "a number, such as 2.5",
    "uri": "an address, such as https://example.org",
}


def _is_email(text: str) -> bool:
    name, _, host = text.rpartition("@")
    return bool(name) and "@" not in name and all(host.split(".")) and not any(map(str.isspace, text))


def _is_uri(text: str) -> bool:
    scheme, _, rest = text.partition(":")
    known = scheme[:1].isalpha() and scheme.isascii() and all(each.isalnum() or each in "+-." for each in scheme)
    return known and bool(rest) and not any(map(str.isspace, rest))


def _is_date(text: str) -> bool:
    return len(text) == len("2026-01-31") and date.fromisoformat(text).isoformat() == text


def _is_moment(text: str) -> bool:
    return "T" in text and datetime.fromisoformat(text).tzinfo is not None


_FORMATS: dict[str, Callable[[str], bool]] = {
    "email": _is_email,
    "uri": _is_uri,
    "date": _is_date,
    "date-time": _is_moment,
}
"""Checks of the formats that the specification has; one may raise `ValueError`."""


def _value(name: str, label: str, schema: object, text: str, hint: str) -> Any:
    told = obj(schema)
    offered = [value for value, _ in field_choices(schema)]
    words = [one.strip() for one in text.split(",") if one.strip()] if told.get("type") == "array" else [text]
    if offered and not set(words) <= set(offered):
        some = "any" if told.get("type") == "array" else "one"
        raise FieldError(name, f"{label} must be {some} of {one_line(literal(', '.join(offered)), 200)}.", hint)
    try:
        match _form(told):
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
            case form if form in _FORMATS and not _FORMATS[form](text):
                raise ValueError
            case _:
                return text
    except ValueError:
        raise FieldError(name, f"{label} must be {field_hint(schema)}.", hint) from None

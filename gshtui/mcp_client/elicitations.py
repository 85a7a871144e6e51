"""The open questions of servers to the person that need values, and how an answer in words becomes those values."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from gshtui.mcp_client.server_definition import McpError
from gshtui.mcp_client.server_requests import Elicitation
from gshtui.text.sanitise import literal, one_line

_YES = frozenset({"true", "yes", "y", "1", "on"})
_NO = frozenset({"false", "no", "n", "0", "off"})


@dataclass(slots=True)
class Elicitations:
    """Those that wait, at most one a server."""

    _open: dict[str, tuple[Elicitation, asyncio.Future[Mapping[str, Any]]]] = field(
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
            raise McpError(f"The MCP server {server[:40]} asks nothing now.")
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
        default: Any = cast("dict[str, Any]", schema).get("default") if isinstance(schema, dict) else None
        if name not in found and default is not None:
            found[name] = default
    if missing := [name for name in asked.required if name not in found]:
        raise McpError(f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing.", hint)
    return found


def defaults(asked: Elicitation) -> dict[str, Any] | None:
    """The values if the person only agrees: the defaults, and a plain yes; `None`: those are not enough."""
    only = [name for name, schema in asked.fields.items() if _is_boolean(schema)]
    agreed = " ".join(f"{name}=yes" for name in only) if len(only) == len(asked.fields) == 1 else ""
    try:
        return parsed_values(asked, agreed)
    except McpError:
        return None


def _is_boolean(schema: object) -> bool:
    return isinstance(schema, dict) and cast("dict[str, Any]", schema).get("type") == "boolean"


def fields_text(asked: Elicitation) -> str:
    """What it asks for, in words."""
    return one_line(literal(", ".join(_field(name, schema) for name, schema in asked.fields.items())), 600)


def _field(name: str, schema: object) -> str:
    told = cast("dict[str, Any]", schema) if isinstance(schema, dict) else {}
    choices = told.get("enum")
    kind = " or ".join(map(str, cast("list[object]", choices)[:20])) if isinstance(choices, list) else told.get("type")
    about = told.get("description") or told.get("title") or ""
    return f"{name} ({kind or 'string'}{f': {about}' if about else ''})"


def _value(name: str, schema: object, text: str, hint: str) -> Any:
    told = cast("dict[str, Any]", schema) if isinstance(schema, dict) else {}
    choices = told.get("enum")
    if isinstance(choices, list) and text not in cast("list[object]", choices):
        raise McpError(f"{name} cannot be {one_line(literal(text), 60)!r}.", hint)
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
                return [one.strip() for one in text.split(",") if one.strip()]
            case _:
                return text
    except ValueError:
        raise McpError(f"{name} cannot be {one_line(literal(text), 60)!r}.", hint) from None

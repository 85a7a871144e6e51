"""Check one layer value by value: wrong values are skipped and become Problems.

Pure. `strict` is for files, where a number must be a number; variables and flags are text and are converted. Never
repeats a value that is or may be a secret.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from pydantic import BaseModel, ValidationError

from gshtui.settings.keys import FREE_TABLES, NAMED_TABLES, SERVERS, TABLES, nearest, nearest_table, shown, spelled
from gshtui.settings.setting_values import expanded, looks_secret, names_secret, server_name, shared_name
from gshtui.settings.started_programs import McpServer
from gshtui.settings.toml_file import Origin, Problem
from gshtui.system.json_types import is_array, is_object

Path = tuple[str, ...]
OriginOf = Callable[..., Origin]
"""Maps a key's path to where it was set."""

_IS_TABLE = "{} is a table, not a value."
_PLAINER = {
    "valid integer": "whole number",
    "valid boolean": "true or false",
    "a true or false": "true or false",
    "valid string": "text in quotes",
    "a text in quotes": "text in quotes",
    "valid list": "list in [ ]",
    "valid number": "number",
}
_GONE: dict[Path, str] = {
    ("hub", "resident"): '`[hub] keep = "alone"` keeps turns in their own processes.',
}
"""Former settings, and what says the same now."""
_NOT_REPEATED = frozenset({"api_key_env", "base_url", "env", "headers", "url"})


class Checked(msgspec.Struct):
    """The valid part of a layer, and the problems of the rest."""

    values: dict[str, dict[str, Any]] = msgspec.field(default_factory=dict[str, "dict[str, Any]"])
    problems: list[Problem] = msgspec.field(default_factory=list[Problem])

    def refuse(self, origin_of: OriginOf, path: Path, text: str, hint: str = "") -> None:
        """Skip a value and say why."""
        self.problems.append(Problem(text, hint, origin_of(*path), ".".join(path)))


def check(data: dict[str, Any], origin_of: OriginOf, *, strict: bool) -> Checked:
    """Return the layer's valid values by table, and a Problem for each bad one."""
    out = Checked()
    for name, entries in data.items():
        if name not in TABLES and name not in FREE_TABLES:
            _unknown_table(out, origin_of, name, entries)
        elif not is_object(entries):
            out.refuse(origin_of, (name,), _IS_TABLE.format(spelled((name,))), f"Write [{name}] above its keys.")
        elif name == "keybindings":
            out.values[name] = _keybindings(out, origin_of, entries)
        elif name == "shared":
            out.values[name] = _shared(out, origin_of, entries)
        elif name == SERVERS[0]:
            out.values[name] = _mcp(out, origin_of, entries, strict)
        elif name in NAMED_TABLES:
            out.values[name] = _named(out, origin_of, name, entries, strict)
        else:
            out.values[name] = _table(out, origin_of, (name,), TABLES[name], entries, strict)
    return out


def _unknown_table(out: Checked, origin_of: OriginOf, name: str, entries: object) -> None:
    if names_secret(name):
        _secret(out, origin_of, (name,))
    elif isinstance(entries, dict):
        near = nearest_table(name)
        hint = f"Did you mean [{near}]?" if near else ""
        if name == "plugins":
            hint = "Plugins have no settings there: `gsh-tui plugins approve` approves one, on this machine."
        # In brackets: a lone word in a code span would be taken for a command.
        out.refuse(origin_of, (name,), f"there is no table [{spelled((name,))[1:-1]}].", hint)
    else:
        _unknown_key(out, origin_of, (name,))


def _unknown_key(out: Checked, origin_of: OriginOf, path: Path) -> None:
    near = nearest(path)
    hint = f"Did you mean `{near}`?" if near else "`gsh-tui config schema` lists all keys."
    hint = _GONE.get(path, hint)
    out.refuse(origin_of, path, f"there is no setting {spelled(path)}.", hint)


def _secret(out: Checked, origin_of: OriginOf, path: Path) -> None:
    text = f"{spelled(path)} contains a key or password; the configuration must not contain those."
    hint = "Remove it, put it into an environment variable, and name that variable in `api_key_env`."
    out.refuse(origin_of, path, text, hint)


def _table(
    out: Checked, origin_of: OriginOf, at: Path, model: type[BaseModel], entries: dict[str, Any], strict: bool
) -> dict[str, Any]:
    """The valid values of one table with fixed keys."""
    kept: dict[str, Any] = {}
    for key, value in entries.items():
        path = (*at, key)
        if (key not in model.model_fields and names_secret(key)) or _any_secret(value):
            _secret(out, origin_of, path)
        elif key not in model.model_fields:
            _unknown_key(out, origin_of, path)
        else:
            kept[key] = value
    try:
        model.model_validate(kept, strict=strict)
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_context=False):
            key = str(fault["loc"][0]) if fault["loc"] else ""
            if key not in kept:  # a second mistake in the same value, or not in any particular value
                continue
            value = kept.pop(key)
            repeated = "" if key in _NOT_REPEATED else f" cannot be {shown(value)}"
            out.refuse(
                origin_of, (*at, key), f"{spelled((*at, key))}{repeated}: {_said(fault['msg'])}.", "It is ignored."
            )
    return kept


def _any_secret(value: object) -> bool:
    return any(map(looks_secret, value)) if is_array(value) else looks_secret(value)


def _said(message: str) -> str:
    """Rephrase Pydantic's message as the rest of a sentence."""
    text = message.removeprefix("Value error, ").replace("Input should", "it should").partition(", unable to")[0]
    for theirs, ours in _PLAINER.items():
        text = text.replace(theirs, ours)
    return text[:1].lower() + text[1:].rstrip(".")


def _named(out: Checked, origin_of: OriginOf, table: str, entries: dict[str, Any], strict: bool) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for name, fields in entries.items():
        path = (table, name)
        if is_object(fields):
            kept[name] = _table(out, origin_of, path, NAMED_TABLES[table], fields, strict)
        elif names_secret(name) or _any_secret(fields):
            _secret(out, origin_of, path)
        else:
            out.refuse(origin_of, path, _IS_TABLE.format(spelled(path)), f"Write [{table}.NAME] above its keys.")
    return kept


def _mcp(out: Checked, origin_of: OriginOf, entries: dict[str, Any], strict: bool) -> dict[str, Any]:
    """The table of MCP servers: a mistake in one of them costs no other."""
    table, key = SERVERS
    kept = _table(out, origin_of, (table,), TABLES[table], {k: v for k, v in entries.items() if k != key}, strict)
    servers: object = entries.get(key, {})
    if not is_object(servers):
        out.refuse(origin_of, SERVERS, _IS_TABLE.format(spelled(SERVERS)), "Write [mcp.servers.NAME] above its keys.")
        return kept
    found: dict[str, Any] = {}
    for name, fields in servers.items():
        path = (*SERVERS, name)
        try:
            server_name(name)
        except ValueError as error:
            out.refuse(origin_of, path, f"{spelled(path)} cannot be the name of a server: {error}.", "It is ignored.")
            continue
        if is_object(fields):
            found[name] = _table(out, origin_of, path, McpServer, fields, strict)
        else:
            out.refuse(origin_of, path, _IS_TABLE.format(spelled(path)), f"Write [mcp.servers.{name}] above its keys.")
    return {**kept, key: found} if found else kept


def _shared(out: Checked, origin_of: OriginOf, entries: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    for name, value in entries.items():
        try:
            shared_name(name)
            expanded(value if isinstance(value, str) else "")
        except ValueError as error:
            text = f"{spelled(('shared', name))} cannot be {shown(value)}: {_said(str(error))}."
            out.refuse(origin_of, ("shared", name), text, "It is ignored.")
        else:
            kept[name] = value
    return kept


def _keybindings(out: Checked, origin_of: OriginOf, entries: dict[str, Any]) -> dict[str, Any]:
    """Keys by id; an unquoted `app.palette = …` is a nested table in TOML, but means one id."""
    kept: dict[str, Any] = {}

    def take(parts: Path, value: object) -> None:
        path = ("keybindings", ".".join(parts))
        if is_object(value):
            for key, inner in value.items():
                take((*parts, key), inner)
        elif isinstance(value, str):
            kept[path[1]] = value
        else:
            text = f'{spelled(path)} cannot be {shown(value)}: a key is text, such as "ctrl+p".'
            out.refuse(origin_of, ("keybindings", *parts), text, "It is ignored.")

    for key, value in entries.items():
        take((key,), value)
    return kept

"""All configuration keys, by table and dotted, with their fields; and the closest key to a misspelt one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, cast, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from gshtui.settings.model import Settings
from gshtui.settings.setting_values import SettingsTable
from gshtui.settings.settings_tables import (
    AccountSettings,
    GroupSettings,
    HostSettings,
    NamedAgentSettings,
    ProviderSettings,
)
from gshtui.settings.started_programs import LanguageServerSettings, McpServer
from gshtui.text.plain_name import similar_names

NAMED_TABLES: dict[str, type[SettingsTable]] = {
    "providers": ProviderSettings,
    "accounts": AccountSettings,
    "groups": GroupSettings,
    "agents": NamedAgentSettings,
    "hosts": HostSettings,
    "language_servers": LanguageServerSettings,
}
"""Tables of tables whose names the user chooses, and what each of those contains."""
SERVERS = ("mcp", "servers")
"""The one table of tables inside a table."""
TEXT_TABLES = ("keybindings", "shared")
"""Tables of texts whose names the user chooses."""
FREE_TABLES = (*NAMED_TABLES, *TEXT_TABLES)
"""Tables whose entries have names the user chooses."""

TABLES: dict[str, type[SettingsTable]] = {
    name: info.annotation
    for name, info in Settings.model_fields.items()
    if isinstance(info.annotation, type) and issubclass(info.annotation, SettingsTable)
}
"""The tables with fixed keys, by name."""


def split(key: str) -> tuple[str, ...]:
    """Split a dotted key into a path; an id under `keybindings` keeps its dots."""
    table, _, rest = key.partition(".")
    if table == "keybindings":
        return (table, rest) if rest else (table,)
    return tuple(key.split("."))


def field_of(path: tuple[str, ...]) -> FieldInfo | None:
    """The field at a path; `None` if there is none or it is an entry of a table of texts."""
    if len(path) == 2 and path[0] in TABLES:
        return TABLES[path[0]].model_fields.get(path[1])
    if len(path) == 3 and path[0] in NAMED_TABLES:
        return NAMED_TABLES[path[0]].model_fields.get(path[2])
    if len(path) == 4 and path[:2] == SERVERS:
        return McpServer.model_fields.get(path[3])
    return None


def is_known(path: tuple[str, ...]) -> bool:
    """Whether a value can be set at this path."""
    return field_of(path) is not None or (len(path) == 2 and path[0] in TEXT_TABLES and bool(path[1]))


def is_list(info: FieldInfo | None) -> bool:
    return info is not None and get_origin(info.annotation) is list


def from_text(path: tuple[str, ...], text: str) -> Any:
    """Parse a value given by a variable, a flag or a command: text, or JSON if the setting is a list.
    Raises `ValueError`: the setting is a list and the text is not JSON; the message says so.
    """
    if not is_list(field_of(path)):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError(f'{spelled(path)} is a list and must be JSON, like ["read", "glob"].') from None


def nested(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """A layer with only this value."""
    for part in reversed(path):
        value = {part: value}
    return cast("dict[str, Any]", value)


def flat(value: Mapping[str, Any] | BaseModel) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every leaf of settings or of a checked layer, with its path."""
    top = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    for table, fields in top.items():
        for name, entry in cast("dict[str, Any]", fields).items():
            if (table, name) == SERVERS:
                for server, keys in cast("dict[str, dict[str, Any]]", entry).items():
                    yield from (((table, name, server, key), leaf) for key, leaf in keys.items())
            elif table in NAMED_TABLES:
                yield from (((table, name, key), leaf) for key, leaf in cast("dict[str, Any]", entry).items())
            else:
                yield (table, name), entry


def known_keys(providers: tuple[str, ...] = ("anthropic",)) -> list[str]:
    """Every dotted key that can be set, including those of these providers."""
    fixed = [f"{table}.{key}" for table, model in TABLES.items() for key in model.model_fields]
    return fixed + [f"providers.{name}.{key}" for name in providers for key in ProviderSettings.model_fields]


def nearest(path: tuple[str, ...]) -> str:
    """The most similar dotted key, or an empty string."""
    if path[:2] == SERVERS and len(path) == 4:
        keys = similar_names(path[3], McpServer.model_fields)
        return ".".join((*path[:3], keys[0])) if keys else ""
    provider = (path[1],) if len(path) == 3 and path[0] in ("providers", "provider") else ("anthropic",)
    keys = known_keys(provider)
    if len(path) == 3 and path[0] in ("accounts", "groups", "hosts", "language_servers"):
        keys += [f"{path[0]}.{path[1]}.{key}" for key in NAMED_TABLES[path[0]].model_fields]
    wanted = ".".join(path)
    if close := similar_names(wanted, keys, cutoff=0.75):
        return close[0]
    by_last = {key.rpartition(".")[2]: key for key in reversed(keys)}
    close = similar_names(path[-1], by_last, cutoff=0.75)
    return by_last[close[0]] if close else ""


def nearest_table(name: str) -> str:
    """The most similar table name, or an empty string."""
    return next(iter(similar_names(name, [*TABLES, *FREE_TABLES])), "")


def shown(value: object) -> str:
    """A value as ASCII JSON for a sentence, safe to print on a terminal; long ones are cut."""
    text = json.dumps(value, default=str, ensure_ascii=True)
    return text if len(text) <= 60 else text[:56] + " …"


def spelled(path: tuple[str, ...]) -> str:
    """A dotted key for a sentence, in ASCII without control characters."""
    return "`" + json.dumps(".".join(path), ensure_ascii=True)[1:-1] + "`"

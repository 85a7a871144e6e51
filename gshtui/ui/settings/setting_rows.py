"""The rows of the settings screen: every setting with its value, source and help, keys, personas and profiles.

The names of settings here are for people; the raw ones stay what is written. Pure: made of the loaded settings and the
lists of commands; how a row is changed is its `kind`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, cast, get_args, get_origin

import msgspec
from annotated_types import Le

from gshtui.settings import known_providers
from gshtui.settings.keys import TEXT_TABLES, field_of, flat
from gshtui.settings.loader import Loaded
from gshtui.settings.model import DEFAULT_KEYS, Settings
from gshtui.settings.setting_values import LOWER_BUT_ZERO
from gshtui.settings.toml_file import Origin
from gshtui.ui.kit.keys.key_table import KEYS

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

Kind = Literal[
    "switch", "choice", "theme", "model", "text", "list", "key", "shell key", "persona", "profile", "new persona"
]
_LAYERS = {"default": "", "user": "your file", "project": "this project", "environment": "environment", "flag": "--set"}


class SettingRow(msgspec.Struct, frozen=True):
    """One row. `id`: the dotted key, or `persona NAME` and `profile NAME`."""

    id: str
    kind: Kind
    value: str
    """As it is shown: JSON, or a file."""
    source: str = ""
    """Where it comes from; empty: it is the default."""
    help: str = ""
    choices: tuple[str, ...] = ()
    fixed: str = ""
    """What overrides the user's file, if something does."""
    provider: str = ""
    """The provider that it is about."""
    used: str = ""
    """The model that a new conversation gets."""
    zero: str = ""
    """What the number 0 means here; empty: just that."""
    share: bool = False
    """A fraction, which is told in percent."""

    @property
    def group(self) -> str:
        """The title of its group."""
        return MOST_USED if self.kind == "model" else group_of(self.id)

    @property
    def rank(self) -> int:
        """Its place in its group."""
        return 0 if self.kind == "model" else rank(self.id)

    @property
    def label(self) -> str:
        """What it is called, in words."""
        return "Model" if self.kind == "model" else label_of(self.id)

    @property
    def words(self) -> str:
        """Its value for people."""
        if self.kind == "switch":
            return "on" if self.value == "true" else "off"
        if self.kind == "list":
            return ", ".join(map(str, cast("list[object]", json.loads(self.value))))
        if self.kind == "model":
            return self.used or self.value or known_providers.label_of(self.provider)
        if self.zero and self.value in ("0", "0.0"):
            return self.zero
        if self.share:
            return f"{float(self.value) * 100:.4g} %"
        return self.value.removesuffix(".0")

    @property
    def searched(self) -> str:
        """What typed words are looked for in."""
        return f"{self.label} {self.group} {self.id} {self.value} {self.words} {self.source} {self.help}".lower()


def setting_rows(loaded: Loaded, used: str = "") -> list[SettingRow]:
    """Every setting, in the order of the configuration's tables; the keys of the window last.

    The model of the provider that is preferred is simply the model. `used`: what a new conversation gets.
    """
    model = f"providers.{loaded.settings.agent.default_provider}.default_model"
    rows = [
        _setting(path, value, loaded.origins.get(".".join(path), Origin("default")))
        for path, value in flat(loaded.settings)
        if not (path[0] == "keybindings" and path[1] in KEYS)
    ]
    rows = [msgspec.structs.replace(row, kind="model", used=used) if row.id == model else row for row in rows]
    return [*rows, *_key_rows(loaded.settings.keybindings, loaded.origins)]


def _setting(path: tuple[str, ...], value: Any, origin: Origin) -> SettingRow:
    key, info = ".".join(path), field_of(path)
    told = info.description or "" if info is not None else ""
    if info is None and path[0] in TEXT_TABLES:
        told = str(Settings.model_fields[path[0]].description or "")
    words = (
        tuple(str(one) for one in get_args(info.annotation)) if info and get_origin(info.annotation) is Literal else ()
    )
    kind: Kind = "text"
    if key == "ui.theme":
        kind = "theme"
    elif path[0] == "keybindings" and path[1] in DEFAULT_KEYS:
        kind = "shell key"
    elif isinstance(value, bool):
        kind = "switch"
    elif words:
        kind = "choice"
    elif isinstance(value, list):
        kind = "list"
    return SettingRow(
        key,
        kind,
        shown_value(cast("object", value)),
        _source(origin),
        told,
        words,
        _fixed(origin),
        path[1] if path[0] == "providers" else "",
        zero=_zero(info) if isinstance(value, float | int) else "",
        share=isinstance(value, float) and info is not None and Le(1) in info.metadata,
    )


def _zero(info: FieldInfo | None) -> str:
    """What a field says that 0 means; empty: just that."""
    if info is None:
        return ""
    meaning = f"{info.description}".partition("0: ")[2].partition(". ")[0].partition(", ")[0].removesuffix(".")
    return meaning or ("no limit" if info.json_schema_extra == LOWER_BUT_ZERO else "")


def _key_rows(configured: Mapping[str, str], origins: Mapping[str, Origin]) -> Iterable[SettingRow]:
    for id, key in KEYS.items():
        origin = origins.get(f"keybindings.{id}", Origin("default"))
        told = f"{key.help} ({key.group.lower()})"
        keys = configured.get(id, key.keys)
        yield SettingRow(f"keybindings.{id}", "key", keys, _source(origin), told, fixed=_fixed(origin))


def _source(origin: Origin) -> str:
    line = f":{origin.line}" if origin.line else ""
    named = _LAYERS.get(origin.layer, origin.layer)
    return f"{named}{line}" if origin.layer in ("user", "project") else origin.where or named


def _fixed(origin: Origin) -> str:
    return str(origin) if origin.layer not in ("default", "user") else ""


def shown_value(value: object) -> str:
    """A value as JSON; a text without its quotes."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


MOST_USED = "Most used"
_FIRST: dict[str, str] = {
    "agent.mode": "Starting mode",
    "ui.theme": "Theme",
    "ui.notifications": "Notifications",
    "ui.keys": "Editing keys",
    "ui.result_lines": "Result lines",
    "budget.day_dollars": "Daily budget ($)",
    "context.compact_threshold": "Compact the context at",
    "sandbox.allow_network": "Network in the sandbox",
    "hub.closing": "When the window closes",
}
"""The settings that most people change, in this order, each with its label."""
_LABELS: dict[str, str] = {
    "general.name": "Your name",
    "sandbox.enabled": "Use the sandbox",
    "sandbox.hosts": "Reachable hosts",
    "sandbox.environment": "Passed variables",
    "sandbox.visible": "Readable secrets",
    "worktrees.setup": "Set-up command",
    "worktrees.teardown": "Tear-down command",
    "python.enabled": "Use Python",
    "python.blocks": "Python in answers",
    "code.enabled": "Use language servers",
    "context.history": "Long history",
    "shell.ignore": "Ignored commands",
    "ui.first_questions": "First-start card",
    "ui.outside": "State shown outside",
    "notify.command": "Command to run",
    "notify.webhook": "Webhook address",
    "notify.apprise": "Phones and chats",
    "notify.quiet": "Quiet hours",
    "notify.muted": "Muted agents",
    "hub.keep": "Run the hub",
    "hub.memory": "Memory limit (MB)",
    "sessions.enabled": "Keep conversations",
    "store.synchronous": "Durability",
}
"""Those whose name says too little."""
_GROUPS: dict[str, str] = {
    "providers": "Model providers",
    "accounts": "Accounts",
    "agent": "Agents",
    "agents": "Agents in calls",
    "groups": "Groups of agents",
    "programs": "Other programs",
    "budget": "Budgets",
    "context": "Context",
    "ui": "Window",
    "notify": "Notifications",
    "sandbox": "Sandbox",
    "shell": "Shell log",
    "tmux": "Terminals",
    "worktrees": "Worktrees",
    "python": "Python",
    "code": "Language servers",
    "language_servers": "Language servers",
    "mcp": "MCP servers",
    "hooks": "Hooks",
    "shared": "Shared folders",
    "hosts": "Other machines",
    "ssh": "SSH access",
    "hub": "Background",
    "sessions": "Conversations",
    "store": "Record",
    "features": "Features",
    "general": "Files",
    "persona": "Personas",
    "new": "Personas",
    "profile": "Profiles",
    "keybindings": "Keys",
}
"""Titles of the configuration's tables, in the order in which they are listed."""
ORDER: tuple[str, ...] = (MOST_USED, *dict.fromkeys(_GROUPS.values()), "Other")
_UNITS = {"seconds": "(s)", "minutes": "(min)", "mb": "(MB)", "dollars": "($)", "bytes": "(bytes)"}
_WORDS = {
    "api": "API",
    "url": "URL",
    "env": "variable",
    "dir": "folder",
    "mcp": "MCP",
    "fps": "frames a second",
    "venv": "virtual environment",
    "max": "maximum",
}


def group_of(id: str) -> str:
    """The title of the group that a row is listed in."""
    if id in _FIRST:
        return MOST_USED
    return _GROUPS.get(id.partition(".")[0].partition(" ")[0], "Other")


def rank(id: str) -> int:
    """The place of a row among those of its group."""
    return list(_FIRST).index(id) + 1 if id in _FIRST else len(_FIRST) + 1


def label_of(id: str) -> str:
    """What a row is called, in words."""
    if named := _FIRST.get(id) or _LABELS.get(id):
        return named
    table, _, rest = id.partition(".")
    if not rest:
        return id
    if table == "keybindings" and rest in KEYS:
        return KEYS[rest].name
    *owners, name = rest.split(".")
    parts = name.split("_")
    unit = _UNITS.get(parts[-1], "") if len(parts) > 1 else ""
    words = [_WORDS.get(part, part) for part in (parts[:-1] if unit else parts)]
    label = " ".join([*words, unit]).strip()
    label = label if owners else label[:1].upper() + label[1:]
    return " · ".join([*owners, label])

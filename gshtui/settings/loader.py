"""Load the settings from their layers: default < user's file < trusted project's file < environment < flags.

A project's own file may make things stricter, never looser. Whatever is wrong in a layer is skipped and reported.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast, get_args

from pydantic_settings import EnvSettingsSource, InitSettingsSource, TomlConfigSettingsSource

from gshtui.settings import paths, trust
from gshtui.settings.keys import (
    FREE_TABLES,
    NAMED_TABLES,
    SERVERS,
    TABLES,
    field_of,
    flat,
    from_text,
    nested,
    shown,
    spelled,
    split,
)
from gshtui.settings.known_providers import KNOWN_PROVIDERS, OTHER_NAMES, PROVIDER_NAMES
from gshtui.settings.model import DEFAULT_AGENTS, DEFAULT_KEYS, DEFAULT_PROVIDERS, Settings
from gshtui.settings.started_programs import McpServer
from gshtui.settings.toml_file import Origin, Problem, TomlFile, read_toml
from gshtui.settings.validation import Checked, OriginOf, check
from gshtui.system.json_types import is_object

PREFIX = "GSH_"


def variable(path: tuple[str, ...]) -> str:
    return PREFIX + "__".join(path).upper()


class CheckedEnvironment(EnvSettingsSource):
    """pydantic-settings' environment source, restricted to valid values."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self.environ = environ
        self.problems: list[Problem] = []
        self.origins: dict[tuple[str, ...], Origin] = {}
        super().__init__(Settings)

    def _load_env_vars(self) -> Mapping[str, str | None]:
        named = {
            tuple(name.removeprefix(PREFIX).lower().split("__")): name
            for name in self.environ
            if name.startswith(PREFIX) and "__" in name
        }
        good: dict[str, str | None] = {}
        for path, name in named.items():
            if self._takes(path, name):
                self.origins[path] = Origin("environment", name)
                good[name.lower()] = self.environ[name]
        return good

    def _takes(self, path: tuple[str, ...], name: str) -> bool:
        """Whether the variable holds a valid setting; reports it if not."""
        origin = Origin("environment", name)
        depth = 3 if path[0] in NAMED_TABLES else 2
        if len(path) != depth and (path[0] in TABLES or path[0] in FREE_TABLES):
            form = f"GSH_{path[0].upper()}__NAME__KEY" if depth == 3 else "GSH_TABLE__KEY"
            self.problems.append(
                Problem("this does not name a setting.", f"Write it as {form}.", origin, ".".join(path))
            )
            return False
        try:
            value = from_text(path, self.environ[name])
        except ValueError as error:
            self.problems.append(Problem(str(error), "It is ignored.", origin, ".".join(path)))
            return False
        checked = check(nested(path, value), lambda *_: origin, strict=False)
        self.problems += checked.problems
        return not checked.problems


_NOT_YOURS = "A project's configuration can only make things stricter; set this in your own."


def tightened(values: dict[str, dict[str, Any]], user: Settings, origin_of: OriginOf) -> Checked:
    """The part of a project's checked values that is stricter than the user's layers."""
    out = Checked()
    for path, value in flat(values):
        if path[:2] == SERVERS:
            if path[2] in user.mcp.servers:
                text = f"a project cannot change {spelled(path)}: the server {shown(path[2])} is yours."
                out.refuse(origin_of, path, text, "Give the project's server another name.")
            else:
                servers = out.values.setdefault(path[0], {}).setdefault(path[1], {})
                servers.setdefault(path[2], {})[path[3]] = value
            continue
        info = field_of(path)
        marks = info.json_schema_extra if info is not None else None
        mark = marks if is_object(marks) else {}
        rule = str(mark.get("project", ""))
        if not rule:
            out.refuse(origin_of, path, f"a project cannot set {spelled(path)}.", _NOT_YOURS)
            continue
        before: Any = getattr(getattr(user, path[0]), path[1])
        if rule == "asked":
            out.values.setdefault(path[0], {})[path[1]] = value
        elif rule == "fewer":
            kept, added = _fewer(cast("list[str]", before), cast("list[str]", value))
            for item in added:
                out.refuse(origin_of, path, f"a project cannot add {shown(item)} to {spelled(path)}.", _NOT_YOURS)
            out.values.setdefault(path[0], {})[path[1]] = kept
        elif _is_stricter(rule, before, value, mark, get_args(info.annotation) if info is not None else ()):
            out.values.setdefault(path[0], {})[path[1]] = value
        else:
            text = f"a project cannot change {spelled(path)} from {shown(before)} to {shown(value)}."
            out.refuse(origin_of, path, text, _NOT_YOURS)
    return out


def _is_stricter(rule: str, before: Any, value: Any, mark: dict[str, Any], words: Sequence[Any]) -> bool:
    """Whether the value is at least as strict as the previous one. `words`: the possible ones, strictest first."""
    if rule in ("true", "false"):
        return value is (rule == "true") or value is before
    if rule == "stricter":
        return words.index(value) <= words.index(before)
    if mark.get("zero_is_unlimited") and 0 in (before, value):
        return before == 0
    return value <= before


def _fewer(before: list[str], value: list[str]) -> tuple[list[str], list[str]]:
    """(items of `value` that were there before, items that were not)"""
    return [item for item in value if item in before], [item for item in value if item not in before]


@dataclass(frozen=True, slots=True)
class ClientServers:
    """MCP servers that the client of this process, an editor, has passed on; the variables hold their secrets."""

    servers: Mapping[str, McpServer] = field(default_factory=dict[str, McpServer])
    variables: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings, where each value came from (by dotted key), and what was wrong."""

    settings: Settings
    origins: Mapping[str, Origin] = field(default_factory=dict[str, Origin])
    problems: tuple[Problem, ...] = ()
    cwd: Path = field(default_factory=Path.cwd)
    project: Path = field(default_factory=Path.cwd)
    """Root of the project that contains `cwd`."""
    trust: trust.State = "untrusted"
    """Whether the project's configuration (and AGENTS.md) applies."""
    flags: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The flags it was loaded with, for reloading."""
    client: ClientServers = field(default_factory=ClientServers)
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    """The environment of whoever opened the folder: its settings, keys, and what commands there get."""

    @property
    def unreadable(self) -> bool:
        """Whether a file is no TOML now, as while it is edited."""
        return any(problem.level != "info" and not problem.key for problem in self.problems)

    def again(self) -> Loaded:
        """Reload the same layers."""
        return replace(load(self.cwd, flags=self.flags, environ=self.environ), client=self.client)


class CheckedFile(TomlConfigSettingsSource):
    """pydantic-settings' TOML source, restricted to the valid values of a file that was already checked."""

    def __init__(self, file: TomlFile, checked: Checked) -> None:
        self.file, self.checked = file, checked
        super().__init__(Settings, toml_file=None)
        self.init_kwargs = dict(checked.values)


def load(cwd: Path, *, flags: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None) -> Loaded:
    """The settings for work in this folder.

    Args:
        flags: values by dotted key, from the command line.
        environ: the environment to read; the process's own when not given.
    """
    root = paths.project_root(cwd)
    user = _user_layer()
    environ = os.environ if environ is None else environ
    environment = CheckedEnvironment(environ)
    project, trusted = _project_layer(root, user)
    given, flagged = _flags_layer(flags or {})
    settings = Settings.of_layers(given, environment, project, user, _defaults())
    origins = {".".join(path): Origin("default") for path, _ in flat(settings)}
    for file in (user, project):
        origins |= {".".join(path): file.file.origin(*path) for path, _ in flat(file.checked.values)}
    origins |= {".".join(path): origin for path, origin in environment.origins.items()}
    origins |= {".".join(path): Origin("flag", f"--set {'.'.join(path)}") for path, _ in flat(flagged.values)}
    problems = [
        *(problem for file in (user, project) for problem in (*file.file.problems, *file.checked.problems)),
        *environment.problems,
        *flagged.problems,
        *_nameless_providers(settings, origins),
    ]
    return Loaded(settings, origins, tuple(problems), cwd, root, trusted, flags or {}, environ=environ)


def _defaults() -> InitSettingsSource:
    """The lowest layer, whose entries a file's table of the same name changes in part."""
    return InitSettingsSource(
        Settings, {"providers": DEFAULT_PROVIDERS, "agents": DEFAULT_AGENTS, "keybindings": DEFAULT_KEYS}
    )


def _user_layer() -> CheckedFile:
    file = read_toml(paths.config_file(), "user")
    return CheckedFile(file, check(_settings_in(file), file.origin, strict=True))


def _settings_in(file: TomlFile) -> dict[str, Any]:
    """What a file has of settings: its workflows are read by `features/workflows/workflow_library.py`."""
    return {name: table for name, table in file.data.items() if name != "workflows"}


def _project_layer(root: Path, user: CheckedFile) -> tuple[CheckedFile, trust.State]:
    """The project's file, as far as it is trusted and stricter than the user's."""
    file = read_toml(paths.project_config_file(root), "project")
    trusted = trust.state(root, file.raw if file.exists else None)
    if not file.exists or file.problems:
        return CheckedFile(file, Checked()), trusted
    if trusted != "trusted":
        text = "it was changed since you trusted it." if trusted == "changed" else "this folder is not trusted."
        hint = "It is ignored; read it, then run `gsh-tui config trust`."
        said = Problem(text, hint, Origin("project", str(file.path)), level="info")
        return CheckedFile(file, Checked(problems=[said])), trusted
    checked = check(_settings_in(file), file.origin, strict=True)
    base = Settings.of_layers(user, _defaults())
    kept = tightened(checked.values, base, file.origin)
    return CheckedFile(file, Checked(kept.values, checked.problems + kept.problems)), trusted


def _flags_layer(flags: Mapping[str, Any]) -> tuple[InitSettingsSource, Checked]:
    out = Checked()
    for key, value in flags.items():
        path, origin_of = split(key), _flag_origin(key)
        try:
            typed = from_text(path, value) if isinstance(value, str) else value
        except ValueError as error:
            out.refuse(origin_of, path, str(error), "It is ignored.")
            continue
        one = check(nested(path, typed), origin_of, strict=False)
        out.problems += one.problems
        for table, entries in one.values.items():
            here = out.values.setdefault(table, {})
            for name, entry in entries.items():
                if (table, name) == SERVERS:
                    before = here.get(name, {})
                    entry = {one: {**before.get(one, {}), **keys} for one, keys in entry.items()}
                here[name] = {**here.get(name, {}), **entry} if table in NAMED_TABLES or name == SERVERS[1] else entry
    return InitSettingsSource(Settings, dict(out.values)), out


def _flag_origin(key: str) -> OriginOf:
    return lambda *_: Origin("flag", f"--set {key}")


def _nameless_providers(settings: Settings, origins: Mapping[str, Origin]) -> list[Problem]:
    """Report the user's own providers that do not say which API they use."""
    found: list[Problem] = []
    for name, provider in settings.providers.items():
        if provider.type or name in (*KNOWN_PROVIDERS, *OTHER_NAMES, "offline"):
            continue
        prefix = f"providers.{name}."
        origin = next((at for key, at in origins.items() if key.startswith(prefix) and at.layer != "default"), None)
        text = f"provider {spelled((name,))} does not say which API it uses."
        hint = f"Give it a `type`, one of {PROVIDER_NAMES}."
        found.append(Problem(text, hint, origin or Origin("default"), f"{prefix}type"))
    return found


def changed_settings(loaded: Loaded) -> Callable[[], Settings | None]:
    """What gives the settings anew if the user's file has changed since it was last asked; it also does the first time.

    A file that is no TOML now, as while it is edited, changes nothing: what was set before goes on to hold.
    """
    seen: tuple[int, int] | None = None

    def changed() -> Settings | None:
        nonlocal seen
        try:
            found = paths.config_file().stat()
            now = found.st_mtime_ns, found.st_size
        except OSError:
            now = 0, 0
        if now == seen:
            return None
        seen = now
        fresh = loaded.again()
        return None if fresh.unreadable else fresh.settings

    return changed

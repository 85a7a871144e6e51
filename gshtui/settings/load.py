"""Loads the settings from their layers: default < user's file < trusted project's file < environment < flags.

pydantic-settings puts the layers together; each was checked value by value before, so one mistake costs one value.
Never raises for anything that a file, a variable or a flag says. Called by the faces and by `config`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic_settings import InitSettingsSource, TomlConfigSettingsSource

from gshtui.settings import paths, trust
from gshtui.settings.check import Checked, OriginOf, check
from gshtui.settings.environment import CheckedEnvironment
from gshtui.settings.keys import flat, from_text, nested, spelled, split
from gshtui.settings.model import DEFAULT_KEYS, DEFAULT_PROVIDERS, Settings
from gshtui.settings.problem import Origin, Problem
from gshtui.settings.project import tightened
from gshtui.settings.reading import TomlFile, read_toml

KNOWN_PROVIDERS = frozenset({*DEFAULT_PROVIDERS, "ollama", "offline"})


@dataclass(frozen=True, slots=True)
class Loaded:
    """The settings, where each value came from (by dotted key), and what was wrong."""

    settings: Settings
    origins: Mapping[str, Origin] = field(default_factory=dict[str, Origin])
    problems: tuple[Problem, ...] = ()
    cwd: Path = field(default_factory=Path.cwd)
    project: Path = field(default_factory=Path.cwd)
    """Root of the project that `cwd` belongs to."""
    trust: trust.State = "untrusted"
    """Whether the project's configuration (and AGENTS.md) may count."""
    flags: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The flags it was loaded with, so that it can be loaded again."""

    def again(self) -> Loaded:
        """The same layers, read anew."""
        return load(self.cwd, flags=self.flags)


class CheckedFile(TomlConfigSettingsSource):
    """pydantic-settings' TOML source, given only what is right in a file that was read and checked before."""

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
    environment = CheckedEnvironment(os.environ if environ is None else environ)
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
    return Loaded(settings, origins, tuple(problems), cwd, root, trusted, flags or {})


def _defaults() -> InitSettingsSource:
    """The lowest layer: entries that a file's table of the same name changes in part."""
    return InitSettingsSource(Settings, {"providers": DEFAULT_PROVIDERS, "keybindings": DEFAULT_KEYS})


def _user_layer() -> CheckedFile:
    file = read_toml(paths.config_file(), "user")
    return CheckedFile(file, check(file.data, file.origin, strict=True))


def _project_layer(root: Path, user: CheckedFile) -> tuple[CheckedFile, trust.State]:
    """The project's file, as far as it is trusted and only makes things stricter than the user's file says."""
    file = read_toml(paths.project_config_file(root), "project")
    trusted = trust.state(root, file.raw if file.exists else None)
    if not file.exists or file.problems:
        return CheckedFile(file, Checked()), trusted
    if trusted != "trusted":
        text = "it was changed since you trusted it." if trusted == "changed" else "this folder is not trusted."
        hint = "It is not used; read it, then `gsh-tui config trust`."
        said = Problem(text, hint, Origin("project", str(file.path)), level="info")
        return CheckedFile(file, Checked(problems=[said])), trusted
    checked = check(file.data, file.origin, strict=True)
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
            out.refuse(origin_of, path, str(error), "It is not used.")
            continue
        one = check(nested(path, typed), origin_of, strict=False)
        out.problems += one.problems
        for table, entries in one.values.items():
            here = out.values.setdefault(table, {})
            for name, entry in entries.items():
                here[name] = {**here.get(name, {}), **entry} if table == "providers" else entry
    return InitSettingsSource(Settings, dict(out.values)), out


def _flag_origin(key: str) -> OriginOf:
    return lambda *_: Origin("flag", f"--set {key}")


def _nameless_providers(settings: Settings, origins: Mapping[str, Origin]) -> list[Problem]:
    """A provider of the user's own must say which API it speaks."""
    found: list[Problem] = []
    for name, provider in settings.providers.items():
        if provider.type or name in KNOWN_PROVIDERS:
            continue
        prefix = f"providers.{name}."
        origin = next((at for key, at in origins.items() if key.startswith(prefix) and at.layer != "default"), None)
        text = f"provider {spelled((name,))} does not say which API it speaks."
        hint = 'Give it `type = "openai"` (or anthropic, gemini, ollama).'
        found.append(Problem(text, hint, origin or Origin("default"), f"{prefix}type"))
    return found

"""Which language servers there are for which files: the known ones (`language_table.toml`) with a person's settings on
top, and where a server's program and the folder that it is for are.

Starts nothing. A project says nothing of this: its configuration has no `[language_servers]`.
"""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from gshtui.settings.model import Settings
from gshtui.settings.started_programs import LanguageServerSettings


class LanguageServerEntry(msgspec.Struct, frozen=True):
    """One language server.

    Attributes:
        command: its program and arguments.
        files: patterns of names of files, each with the protocol's id of the language.
        roots: names of files and folders that mark the folder that it is for.
        job: of several entries with the same one, the first that is installed is used; empty: it stands alone.
        runs_nothing: it runs no program of the project.
        env: variables for it; `{scratch}` is a folder of its own.
        options: what it is told when it starts.
        settings: what it is told of its configuration, by section.
        sandbox: whether it runs in the sandbox.
        memory_mb: megabytes that it may use with all that it starts.
        is_own: a person's settings name its command.
        enabled: whether it is used.
    """

    name: str
    command: tuple[str, ...]
    files: Mapping[str, str]
    roots: tuple[str, ...] = ()
    job: str = ""
    runs_nothing: bool = False
    env: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])
    options: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    settings: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    sandbox: bool = True
    memory_mb: int = 0
    is_own: bool = False
    enabled: bool = True

    def language_of(self, name: str) -> str:
        return next((language for pattern, language in self.files.items() if fnmatchcase(name, pattern)), "")

    def root_of(self, file: Path, project: Path) -> Path:
        """The folder that the server for this file is for: the nearest one with a mark, in the project at most."""
        for folder in file.parents:
            if not folder.is_relative_to(project):
                break
            if any((folder / mark).exists() for mark in self.roots):
                return folder
        return project


@cache
def _known() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


@cache
def _languages() -> dict[str, str]:
    """The language's id by pattern, as the known servers have it."""
    return {pattern: language for entry in _known().values() for pattern, language in entry["files"].items()}


def language_servers(settings: Settings) -> list[LanguageServerEntry]:
    """All of them in the order of preference, a person's own first; also those that are switched off."""
    named = settings.language_servers
    own = [name for name in named if name not in _known()]
    return [_entry(name, named.get(name), settings) for name in (*own, *_known())]


def _entry(name: str, given: LanguageServerSettings | None, settings: Settings) -> LanguageServerEntry:
    known = _known().get(name, {})
    given = given or LanguageServerSettings()
    files = {one: _languages().get(one, one.rpartition(".")[2]) for one in given.files} or dict(known.get("files", {}))
    return LanguageServerEntry(
        name,
        tuple(given.command or known.get("command", ())),
        files,
        tuple(given.roots or known.get("roots", ())),
        str(known.get("job", "")),
        bool(known.get("runs_nothing", False)) and not given.command,
        dict(known.get("env", {})),
        dict(known.get("options", {})),
        dict(known.get("settings", {})),
        given.sandbox,
        given.memory_mb or settings.code.memory_mb,
        bool(given.command),
        given.enabled and bool(given.command or known),
    )


def find_program(word: str, environ: Mapping[str, str]) -> Path | None:
    """The absolute path of a program, looked for in the absolute folders of `PATH`; `None`: it is not installed.

    Blocks for a moment.
    """
    asked = Path(os.path.expanduser(word))  # noqa: PTH111 - Path.expanduser raises where there is no such user
    if asked.is_absolute():
        return asked if _is_program(asked) else None
    if "/" in word:
        return None
    folders = [Path(each) for each in environ.get("PATH", os.defpath).split(os.pathsep)]
    return next((path for each in folders if each.is_absolute() and _is_program(path := each / word)), None)


def _is_program(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.stat().st_mode) and os.access(path, os.X_OK)
    except OSError:
        return False


def is_inside(program: Path, project: Path) -> bool:
    """Whether a program, or what its links lead to, is a file of the project, which may have brought it."""
    ends = (program, Path(os.path.realpath(program)))
    return any(end.is_relative_to(project) for end in ends)

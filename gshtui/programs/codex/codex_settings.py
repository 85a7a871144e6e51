"""The permissions in Codex's own settings: `config.toml` of the person, of a trusted project, and of the system."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gshtui.programs.codex.thread_modes import Permissions
from gshtui.programs.profiles.settings_files import content_of, folders_above
from gshtui.system.json_types import obj, string

_SANDBOXES = ("read-only", "workspace-write", "danger-full-access")
"""Strictest first."""
_PROFILES = {":read-only": "read-only", ":workspace": "workspace-write", ":danger-full-access": "danger-full-access"}


class CodexSettings(NamedTuple):
    """What it starts with, and the file that says so."""

    permissions: Permissions
    file: str


def read(root: Path, folder: Path) -> CodexSettings | None:
    """Those for a start in this folder; `None`: no file says anything. Blocks for a moment."""
    person = content_of(root / "config.toml")
    trust = _trust(person, folder)
    approval = sandbox = file = ""
    for path, table in _layers(root, folder, person, trusted=trust != "untrusted"):
        for layer in (obj(obj(table.get("profiles")).get(string(table.get("profile")))), table):
            said = _approval(layer), string(layer.get("sandbox_mode")) or _sandbox(layer, table)
            if any(said):
                file = file or str(path)
            approval, sandbox = approval or said[0], sandbox or said[1]
    if trust == "untrusted" and not approval:
        approval, file = "untrusted", file or str(root / "config.toml")
    if not file:
        return None
    usual = "workspace-write" if trust else "read-only"  # of one that is not trusted, too (0.169 to 0.171)
    return CodexSettings(Permissions(approval or "on-request", sandbox or usual), file)


def fits(sandbox: str, wanted: str) -> bool:
    """Whether a sandbox lets no more be written than the wanted one; one of the person's own making is as they want."""
    return sandbox not in _SANDBOXES or _SANDBOXES.index(sandbox) <= _SANDBOXES.index(wanted)


def _layers(
    root: Path, folder: Path, person: Mapping[str, Any], *, trusted: bool
) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Those that count most first."""
    for path in (Path("/etc/codex/managed_config.toml"), *(_of_project(folder) if trusted else ())):
        yield path, content_of(path)
    yield root / "config.toml", person
    yield Path("/etc/codex/config.toml"), content_of(Path("/etc/codex/config.toml"))


def _of_project(folder: Path) -> Iterator[Path]:
    yield from (each / ".codex/config.toml" for each in folders_above(folder))


def _trust(person: Mapping[str, Any], folder: Path) -> str:
    projects = obj(person.get("projects"))
    said = (string(obj(projects.get(str(each))).get("trust_level")) for each in folders_above(folder))
    return next((level for level in said if level), "")


def _approval(layer: Mapping[str, Any]) -> str:
    return string(layer.get("approval_policy")) or ("on-request" if obj(layer.get("approval_policy")) else "")


def _sandbox(layer: Mapping[str, Any], table: Mapping[str, Any]) -> str:
    """The sandbox of the permission profile that a layer chooses: by the built-in one that it extends."""
    name, seen = string(layer.get("default_permissions")), set[str]()
    while name and name not in _PROFILES and name not in seen:
        seen.add(name)
        name = string(obj(obj(table.get("permissions")).get(name)).get("extends"))
    return _PROFILES.get(name, "")

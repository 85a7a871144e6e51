"""Plugins: installed Python packages that bring commands, tools, providers, personas or programs by entry points, and
plugins of Claude Code, which bring prompts, personas and skills by files.

Nothing of a plugin is imported or read into a prompt before a person has approved it; what was approved is its name,
version and files, so that an update is shown and approved again. The approvals are a file of the person's own, and have
the one switch that turns all plugins off. What a project says changes nothing here.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec.structs import replace

from gshtui.settings import paths
from gshtui.settings.contract import PLUGIN_KINDS, PluginKind
from gshtui.system.expected_error import ExpectedError
from gshtui.system.files import private_files
from gshtui.system.json_types import is_array, is_object
from gshtui.text.plain_name import known_names
from gshtui.text.sanitise import one_line

if TYPE_CHECKING:
    from importlib.metadata import Distribution

    from gshtui.settings.claude_plugins import ClaudePlugin

PartKind = PluginKind | Literal["prompts", "skills", "MCP servers", "hooks"]
PREFIX = "gshtui."
"""Before a kind as the group of an entry point: `gshtui.commands`."""
PluginState = Literal["approved", "new", "changed"]
_LARGEST = 1 << 20
"""Bytes of the approvals that are read."""
_OWN = "gsh-tui"
_METADATA = (".dist-info", ".egg-info", "egg-info")
"""Ends of the names of folders that say what a package is."""


class PluginError(ExpectedError):
    """The approvals cannot be read or written, or there is no such plugin."""


class PluginPart(msgspec.Struct, frozen=True):
    """One entry point, or one file."""

    kind: PartKind
    name: str
    value: str
    """The object, `package.module:attribute`, or the file."""


class Plugin(msgspec.Struct, frozen=True):
    """An installed package, or a plugin of Claude Code, that brings something."""

    name: str
    version: str
    summary: str
    fingerprint: str
    """Of its version, its entry points and its list of files with their hashes."""
    contributions: tuple[PluginPart, ...]
    place: str = ""
    """Its folder, where it runs from its source, whose changes are not noticed; of one of Claude Code, always."""
    state: PluginState = "new"
    is_claude: bool = False
    """It is in the form of Claude Code: files, no package."""


class LoadedContribution(msgspec.Struct, frozen=True):
    """What an approved plugin brings: the object, or why it could not be imported."""

    plugin: Plugin
    name: str
    found: object = None
    problem: str = ""


class Approvals(msgspec.Struct, frozen=True):
    """The file."""

    enabled: bool = True
    approved: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    """Fingerprints by name."""
    shown: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    """Fingerprints, by name, of those that were announced."""


def approvals_file(*, create: bool = False) -> Path:
    """Where the approvals are. Raises `FolderError`."""
    return paths.config_dir(create=create) / "plugins.json"


def read_approvals() -> Approvals:
    """What was approved; nothing without a file. Raises `PluginError`: then nothing counts as approved."""
    file = approvals_file()
    try:
        with file.open("rb") as opened:
            if file.stat().st_mode & 0o022:
                raise PluginError(f"{file} can be written by others, so no plugin is loaded.", "chmod 600 it.")
            data: Any = json.loads(opened.read(_LARGEST))
    except FileNotFoundError:
        return Approvals()
    except (OSError, ValueError, RecursionError) as error:
        raise PluginError(f"{file} cannot be read, so no plugin is loaded.", "`plugins` says what to do.") from error
    table = data if is_object(data) else {}
    return Approvals(table.get("enabled", True) is True, _hashes(table.get("approved")), _hashes(table.get("shown")))


def _hashes(given: object) -> dict[str, str]:
    table = given if is_object(given) else {}
    return {name: found for name, found in table.items() if isinstance(found, str)}


def find_plugins(project: Path | None = None) -> list[Plugin]:
    """Every plugin, by name: installed packages, and those of Claude Code for the person or this project.

    Reads files and metadata, imports nothing; may take 0.1 s. Raises `PluginError`: the approvals cannot be read.
    """
    approved = read_approvals().approved
    found = [*_find_packages(approved), *_find_claude_plugins(approved, project)]
    return sorted(found, key=lambda one: one.name)


def _find_claude_plugins(approved: dict[str, str], project: Path | None) -> Iterator[Plugin]:
    """Those that Claude Code has installed, and the approved folders."""
    from gshtui.settings import claude_plugins  # few people have one

    found = {one.key: one for one in claude_plugins.installed_claude_plugins(project)}
    found |= {one.key: one for one in claude_plugins.chosen_claude_plugins(approved, project)}
    for one in found.values():
        with contextlib.suppress(claude_plugins.ClaudePluginError, OSError):
            yield _of_claude(one, approved)


def approved_claude_plugins(project: Path) -> tuple[list[ClaudePlugin], list[str]]:
    """The plugins of Claude Code that are approved as they are now, and why others are not used, a sentence each.

    Costs next to nothing where none is approved. Raises nothing.
    """
    try:
        known = read_approvals()
    except PluginError as error:
        return [], [error.message]
    keys = _claude_keys(known)
    if not keys:
        return [], []
    from gshtui.settings.claude_plugins import ClaudePluginError, chosen_claude_plugins

    made: list[ClaudePlugin] = []
    problems: list[str] = []
    for one in chosen_claude_plugins(keys, project):
        try:
            if one.fingerprint == known.approved[one.key]:
                made.append(one)
            else:
                problems.append(
                    f"The plugin {one.key} is not used: it has changed since you approved it;"
                    f" run `gsh-tui plugins approve {one.key}`."
                )
        except (ClaudePluginError, OSError) as error:
            problems.append(f"The plugin {one.key} is not used: {error}")
    return made, problems


def has_claude_plugins() -> bool:
    """Whether any plugin of Claude Code is approved, as it is now or was."""
    try:
        return bool(_claude_keys(read_approvals()))
    except PluginError:
        return False


def _claude_keys(known: Approvals) -> list[str]:
    return [key for key in known.approved if _is_claude(key)] if known.enabled else []


def plugin_key(name: str, cwd: Path) -> str:
    """What a plugin is called in the approvals: a folder by its real path."""
    if "/" in name or name in (".", "..", "~"):
        return str((cwd / Path(name).expanduser()).resolve())
    return name


def _is_claude(key: str) -> bool:
    return "@" in key or key.startswith("/")


def _of_claude(one: ClaudePlugin, approved: dict[str, str]) -> Plugin:
    """Raises `ClaudePluginError`, `OSError`."""
    parts = (
        *(PluginPart("prompts", path.stem, _below(path, one)) for place in one.commands for path in _prompts(place)),
        *(PluginPart("personas", path.stem, _below(path, one)) for path in one.agents),
        *(PluginPart("skills", path.name, _below(path, one)) for path in one.skills),
        *(PluginPart("MCP servers", name, _shown_server(entry)) for name, entry in one.servers.items()),
        *(PluginPart("hooks", one_line(event, 40), _below(file, one)) for file, table in one.hooks for event in table),
    )
    state = _state(approved.get(one.key), one.fingerprint)
    return Plugin(one.key, one.version, one.summary, one.fingerprint, parts, str(one.folder), state, is_claude=True)


def _prompts(place: Path) -> list[Path]:
    return sorted(place.rglob("*.md")) if place.is_dir() else [place]


def _shown_server(entry: dict[str, Any]) -> str:
    given = entry.get("args")
    words = [entry.get("url") or entry.get("command"), *(given if is_array(given) else [])]
    return one_line(" ".join(str(word) for word in words), 200)


def _below(path: Path, plugin: ClaudePlugin) -> str:
    return one_line(os.path.relpath(path, plugin.folder), 200)


def _state(before: str | None, now: str) -> PluginState:
    return "new" if before is None else "approved" if before == now else "changed"


def _find_packages(approved: dict[str, str]) -> list[Plugin]:
    if not _some_bring():
        return []
    from importlib.metadata import distributions  # with readers of mail and archives, where there is one

    found: dict[str, Plugin] = {}
    for distribution in distributions():
        plugin = _plugin(distribution, approved)
        if plugin is not None:
            found.setdefault(plugin.name, plugin)
    return list(found.values())


def _some_bring() -> bool:
    """Whether an installed package may be a plugin. Most often none is, and what reads metadata takes a megabyte."""
    if any(hasattr(finder, "find_distributions") for finder in sys.meta_path if finder is not PathFinder):
        return True
    for place in dict.fromkeys(sys.path):
        try:
            listed = [folder for folder in Path(place or ".").iterdir() if folder.name.lower().endswith(_METADATA)]
        except NotADirectoryError:
            return True  # an archive
        except OSError:
            continue
        if any(map(_brings, listed)):
            return True
    return False


def _brings(folder: Path) -> bool:
    """Whether the entry points in a folder of metadata name a group of ours."""
    try:
        text = (folder / "entry_points.txt").read_bytes()
    except OSError:
        return False
    return f"[{PREFIX}".encode() in text


def approve(name: str, project: Path | None = None) -> list[Plugin]:
    """Approve a plugin, or those of a marketplace's folder, as they are now. Raises `PluginError`."""
    found = named_plugins(name, project)
    known = read_approvals()
    _write(replace(known, approved={**known.approved, **{one.name: one.fingerprint for one in found}}))
    return found


def announced() -> list[Plugin]:
    """The plugins that wait for approval and were not announced before as they are now; from now on they were.
    Raises `PluginError`: the approvals cannot be read or written.
    """
    known = read_approvals()
    fresh = (
        [one for one in find_plugins() if one.state != "approved" and known.shown.get(one.name) != one.fingerprint]
        if known.enabled
        else []
    )
    if fresh:
        _write(replace(known, shown={**known.shown, **{one.name: one.fingerprint for one in fresh}}))
    return fresh


def revoke(name: str) -> None:
    """Load a plugin, or those of a marketplace's folder, no more from the next start on. Raises `PluginError`."""
    known = read_approvals()
    names = {name}
    if name.startswith("/"):
        from gshtui.settings.claude_plugins import of_marketplace

        names |= set(map(str, of_marketplace(Path(name))))
    if names.isdisjoint(known.approved):
        raise PluginError(f"The plugin {one_line(name, 60)!r} is not approved.", "`plugins` lists them.")
    _write(replace(known, approved={one: found for one, found in known.approved.items() if one not in names}))


def switch(*, on: bool) -> None:
    """Turn all plugins on or off, from the next start on. Raises `PluginError`."""
    _write(replace(read_approvals(), enabled=on))


def load_contributions(kind: PluginKind) -> Iterator[LoadedContribution]:
    """Import what approved plugins bring of a kind. Costs next to nothing where none is approved. Raises `PluginError`:
    the approvals cannot be read.
    """
    known = read_approvals()
    if not known.enabled or not known.approved:
        return
    from importlib.metadata import PackageNotFoundError, distribution

    for name in sorted(name for name in known.approved if not _is_claude(name)):
        try:
            found = distribution(name)
        except PackageNotFoundError:
            continue  # it was uninstalled
        plugin = _plugin(found, known.approved)
        if plugin is None or plugin.state != "approved":
            continue
        for one in plugin.contributions:
            if one.kind == kind:
                yield _loaded(plugin, one)


def _loaded(plugin: Plugin, one: PluginPart) -> LoadedContribution:
    from importlib.metadata import EntryPoint

    entry = EntryPoint(one.name, one.value, PREFIX + one.kind)
    try:
        return LoadedContribution(plugin, one.name, entry.load())
    except Exception as error:  # whatever a plugin does when it is imported, the rest works
        why = one_line(f"{type(error).__name__}: {error}", 200)
        return LoadedContribution(plugin, one.name, problem=f"The plugin {plugin.name} could not be loaded: {why}.")


def named_plugin(name: str, project: Path | None = None) -> Plugin:
    """The plugin of this name, or in this folder. Raises `PluginError`."""
    if _is_claude(name):
        from gshtui.settings import claude_plugins

        try:
            if name.startswith("/"):
                return _of_claude(claude_plugins.claude_plugin(Path(name)), read_approvals().approved)
            for one in claude_plugins.chosen_claude_plugins([name], project):
                return _of_claude(one, read_approvals().approved)
        except (claude_plugins.ClaudePluginError, OSError) as error:
            raise PluginError(one_line(str(error), 300)) from error
    found = find_plugins(project)
    plugin = next((one for one in found if one.name == name), None)
    if plugin is None:
        known = known_names("plugins", (one.name for one in found)) if found else "None is installed."
        raise PluginError(f"There is no plugin {one_line(name, 60)!r}.", known)
    return plugin


def named_plugins(name: str, project: Path | None = None) -> list[Plugin]:
    """The plugin of this name or folder, or all that are in a marketplace's folder. Raises `PluginError`."""
    if name.startswith("/"):
        from gshtui.settings.claude_plugins import of_marketplace

        if folders := of_marketplace(Path(name)):
            return [named_plugin(str(one), project) for one in folders]
    return [named_plugin(name, project)]


def _plugin(distribution: Distribution, approved: dict[str, str]) -> Plugin | None:
    """A package as a plugin; `None`: it brings nothing."""
    try:
        entries = [one for one in distribution.entry_points if one.group.startswith(PREFIX)]
        brought = tuple(
            PluginPart(kind, one_line(one.name, 60), one_line(one.value, 200))
            for kind in PLUGIN_KINDS
            for one in entries
            if one.group == PREFIX + kind
        )
        name = one_line(distribution.metadata["Name"] or "", 80)
        if not brought or not name or name == _OWN:
            return None
        summary = one_line(str(distribution.metadata.json.get("summary", "")), 200)
        version = one_line(distribution.version, 40)
        listed = "\n".join(distribution.read_text(file) or "" for file in ("entry_points.txt", "RECORD"))
        place = _source(distribution)
    except Exception:  # metadata that is no metadata: such a package is none
        return None
    fingerprint = hashlib.sha256(f"{name} {version} {place}\n{listed}".encode(errors="replace")).hexdigest()
    return Plugin(name, version, summary, fingerprint, brought, place, _state(approved.get(name), fingerprint))


def _source(distribution: Distribution) -> str:
    """The folder of a package that is installed editable; empty otherwise."""
    text = distribution.read_text("direct_url.json")
    if not text:
        return ""
    data = json.loads(text)
    return one_line(data["url"].removeprefix("file://"), 400) if data.get("dir_info", {}).get("editable") else ""


def _write(approvals: Approvals) -> None:
    data = {"enabled": approvals.enabled, "approved": approvals.approved, "shown": approvals.shown}
    try:
        private_files.write_whole(approvals_file(create=True), f"{json.dumps(data, indent=1)}\n".encode(), sync=True)
    except (OSError, paths.FolderError) as error:
        raise PluginError(f"The approvals of plugins cannot be written: {error}.") from error

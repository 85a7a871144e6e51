"""Plugins in the form of Claude Code: a folder with `.claude-plugin/plugin.json`, and those that it has installed.

Reads their files and runs nothing. What may count is decided with the approvals of all plugins.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from gshtui.settings import paths, trust
from gshtui.settings.toml_file import read_bytes
from gshtui.system.expected_error import ExpectedError
from gshtui.system.json_types import is_array, is_object, obj, seq
from gshtui.text.sanitise import one_line

MANIFEST = Path(".claude-plugin", "plugin.json")
MARKETPLACE = Path(".claude-plugin", "marketplace.json")
ROOT_WORD = "${CLAUDE_PLUGIN_ROOT}"
"""Stands for the plugin's folder in its files."""
_MOST_FILES = 5_000
_MOST_BYTES = 256 * 1024 * 1024
_DEEPEST = 4
"""Folders above a plugin's in which its marketplace may be."""
_LARGEST = 4 * 1024 * 1024
"""Bytes of one file of JSON."""
_UNUSABLE = re.compile(r"[^A-Za-z0-9_.-]+")
_MARKS = frozenset((".git", ".in_use", ".orphaned_at"))
"""Not of the plugin: what git and Claude Code itself write beside its files."""


class ClaudePluginError(ExpectedError):
    """A folder is no plugin, or one that cannot be used."""


@dataclass(frozen=True)
class ClaudePlugin:
    """One plugin, as its files are now."""

    key: str
    """What people call it: `name@marketplace`, or its folder."""
    folder: Path
    """Real path."""
    manifest: dict[str, Any]
    """Of its `plugin.json`, over what its marketplace says of it."""

    @property
    def name(self) -> str:
        """Before the names of what it brings: `name:command`."""
        given = self.manifest.get("name")
        return _UNUSABLE.sub("-", given if isinstance(given, str) and given else self.folder.name)[:64]

    @property
    def version(self) -> str:
        """As it says."""
        return one_line(str(self.manifest.get("version") or ""), 40)

    @property
    def summary(self) -> str:
        """As it says."""
        return one_line(str(self.manifest.get("description") or ""), 200)

    @cached_property
    def commands(self) -> list[Path]:
        """Markdown files, and folders of them."""
        return self._places("commands", "commands")

    @cached_property
    def agents(self) -> list[Path]:
        """Markdown files."""
        return [file for place in self._places("agents", "agents") for file in _markdown(place)]

    @cached_property
    def skills(self) -> list[Path]:
        """Folders with a `SKILL.md`. The manifest adds to the usual folder."""
        found = [
            *self._inside(["skills"]),
            *(self._inside(self._listed("skills")) if "skills" in self.manifest else []),
        ]
        return list(dict.fromkeys(folder for place in found for folder in _skill_folders(place)))

    @cached_property
    def servers(self) -> dict[str, dict[str, Any]]:
        """Its MCP servers by name, as its files have them, with its folder put in."""
        given: Any = self.manifest.get("mcpServers")
        tables: list[Any] = [".mcp.json", *(given if is_array(given) else [given])]
        found: dict[str, dict[str, Any]] = {}
        for one in tables:
            if isinstance(one, str):
                read = _read(file[0]) if (file := self._inside([one])) else {}
                table = obj(read.get("mcpServers", read))
            else:
                table = obj(one)
            found |= {one_line(name, 60): self._placed_entry(obj(entry)) for name, entry in table.items()}
        return found

    @cached_property
    def hooks(self) -> list[tuple[Path, dict[str, Any]]]:
        """Its tables of hooks by event, each with the file that it is of; its folder is not put in."""
        given: Any = self.manifest.get("hooks")
        tables: list[Any] = ["hooks/hooks.json", *(given if is_array(given) else [given])]
        found: dict[Path, dict[str, Any]] = {}
        for one in tables:
            if isinstance(one, str):
                found |= {file: obj(_read(file).get("hooks")) for file in self._inside([one])}
            elif isinstance(one, dict):
                table = obj(cast("object", one))
                found[self.folder / MANIFEST] = obj(table.get("hooks", table))
        return [(file, table) for file, table in found.items() if table]

    @property
    def files(self) -> list[Path]:
        """Everything in its folder, for whoever watches it for a change."""
        return sorted(self.folder.rglob("*"))

    @cached_property
    def fingerprint(self) -> str:
        """Of its manifest and of every file in its folder. Raises `ClaudePluginError`: there are too many."""
        made = hashlib.sha256(json.dumps(self.manifest, sort_keys=True).encode(errors="replace"))
        size = 0
        for number, (path, mark) in enumerate(_contents(self.folder)):
            size += path.lstat().st_size
            if number >= _MOST_FILES or size > _MOST_BYTES:
                raise ClaudePluginError(f"The plugin {self.key} is too large to be looked through.")
            name = os.fsencode(path.relative_to(self.folder))
            made.update(b"\0%d %s\0%s" % (len(name), name, mark.encode(errors="replace")))
        return made.hexdigest()

    def placed(self, text: str) -> str:
        """The text with the plugin's folder put in."""
        return text.replace(ROOT_WORD, str(self.folder))

    def _placed_entry(self, entry: dict[str, Any]) -> dict[str, Any]:
        # With the quotes of JSON around it, a folder of any name stays one text.
        made = obj(json.loads(json.dumps(entry).replace(ROOT_WORD, json.dumps(str(self.folder))[1:-1])))
        if "command" in made:
            made["env"] = {ROOT_WORD[2:-1]: str(self.folder), **obj(made.get("env"))}
        return made

    def _places(self, key: str, usual: str) -> list[Path]:
        """What the manifest names, or else the usual folder."""
        return self._inside(self._listed(key) if key in self.manifest else [usual])

    def _listed(self, key: str) -> list[str]:
        given: Any = self.manifest.get(key)
        if is_object(given):  # by name, with where each is
            given = [obj(one).get("source") for one in given.values()]
        listed = given if is_array(given) else [given]
        return [one for one in listed if isinstance(one, str)]

    def _inside(self, names: list[str]) -> list[Path]:
        """Those of its files and folders that exist. What leads out of it is no part of it."""
        made: list[Path] = []
        for name in names:
            with contextlib.suppress(OSError, ValueError):  # no name that a file can have
                path = self.folder / name
                if path.resolve(strict=True).is_relative_to(self.folder):
                    made.append(path)
        return made


def claude_plugin(folder: Path) -> ClaudePlugin:
    """The plugin in a folder. Raises `ClaudePluginError`."""
    real = folder.resolve()
    about = _told(real)
    if not about and not (real / MANIFEST).is_file():
        raise ClaudePluginError(f"{real} is no plugin: it has no {MANIFEST}.")
    return ClaudePlugin(str(real), real, {**about, **_read(real / MANIFEST)})


def of_marketplace(folder: Path) -> list[Path]:
    """The folders of the plugins that are in a marketplace's own folder; none where it is no marketplace."""
    real = folder.resolve()
    places = [_source_in(real, one) for one in _entries(real)]
    return [place for place in places if place is not None and place.is_dir() and place.is_relative_to(real)]


def _told(folder: Path) -> dict[str, Any]:
    """What the marketplace in whose folder this is says of the plugin in it: all, where it has no manifest."""
    for root in folder.parents[:_DEEPEST]:
        for one in _entries(root):
            if _source_in(root, one) == folder:
                return _about(one)
    return {}


def _source_in(root: Path, entry: dict[str, Any]) -> Path | None:
    """The real path of a plugin that is in its marketplace's folder; `None`: it is elsewhere."""
    source = entry.get("source")
    with contextlib.suppress(OSError, ValueError, RuntimeError):  # no name that a file can have, or a ring of links
        return (root / source).resolve() if isinstance(source, str) else None
    return None


def _entries(root: Path) -> list[dict[str, Any]]:
    return list(map(obj, seq(_read(root / MARKETPLACE).get("plugins"))))


def _about(entry: dict[str, Any]) -> dict[str, Any]:
    return {word: value for word, value in entry.items() if word not in ("source", "strict", "category")}


def installed_claude_plugins(project: Path | None = None) -> Iterator[ClaudePlugin]:
    """Those that Claude Code has installed and not switched off, for the person or for a project."""
    home = paths.claude_dir()
    listed = obj(_read(home / "plugins" / "installed_plugins.json").get("plugins"))
    if not listed:
        return
    switches = obj(_read(home / "settings.json").get("enabledPlugins"))
    markets = _read(home / "plugins" / "known_marketplaces.json")
    for key, given in listed.items():
        entries = [obj(one) for one in (given if is_array(given) else [given])]
        mine = next((one for one in entries if _applies(one, project)), None)
        if mine is None or switches.get(key) is False or not isinstance(mine.get("installPath"), str):
            continue
        name, _, market = key.partition("@")
        live, entry = _of_marketplace(obj(markets.get(market)), name)
        folder = (live or Path(mine["installPath"])).resolve()
        if folder.is_dir() and ((folder / MANIFEST).is_file() or entry):
            version = {"version": mine["version"]} if isinstance(mine.get("version"), str) else {}
            yield ClaudePlugin(one_line(key, 120), folder, {**version, **_about(entry), **_read(folder / MANIFEST)})


def chosen_claude_plugins(keys: Collection[str], project: Path | None = None) -> Iterator[ClaudePlugin]:
    """Those of these keys that are there: installed ones, and folders."""
    for one in installed_claude_plugins(project):
        if one.key in keys:
            yield one
    for key in keys:
        if key.startswith("/"):
            with contextlib.suppress(ClaudePluginError):
                yield claude_plugin(Path(key))


def _applies(entry: dict[str, Any], project: Path | None) -> bool:
    """Whether an installation is for the person everywhere, or for this project."""
    where = entry.get("projectPath")
    return not isinstance(where, str) or (project is not None and Path(where).resolve() == project.resolve())


def _of_marketplace(market: dict[str, Any], name: str) -> tuple[Path | None, dict[str, Any]]:
    """The folder of a plugin that is used where it is written, if it is, and what its marketplace says of it."""
    place = market.get("installLocation")
    if not isinstance(place, str):
        return None, {}
    root = Path(place)
    entry = next((one for one in _entries(root) if one.get("name") == name), obj(None))
    source = entry.get("source")
    is_live = obj(market.get("source")).get("source") == "directory" and isinstance(source, str)
    return (root / str(source) if is_live else None), entry


def _contents(folder: Path) -> Iterator[tuple[Path, str]]:
    """Each file below a folder with its hash; each link to a folder with where it leads."""
    for path, folders, names in os.walk(folder):
        if Path(path) == folder:
            folders[:] = [name for name in folders if name not in _MARKS]
            names = [name for name in names if name not in _MARKS]
        folders.sort()
        for name in sorted((*folders, *names)):
            one = Path(path, name)
            if name not in folders:
                yield one, trust.file_hash(one)
            elif one.is_symlink():
                yield one, f"link {one.readlink()}"


def _markdown(place: Path) -> list[Path]:
    return sorted(place.glob("*.md")) if place.is_dir() else [place] if place.suffix == ".md" else []


def _skill_folders(place: Path) -> list[Path]:
    if (place / "SKILL.md").is_file():
        return [place]
    return sorted(one.parent for one in place.glob("*/SKILL.md"))


def _read(file: Path) -> dict[str, Any]:
    """A table of JSON; nothing where there is none that can be read."""
    try:
        raw = read_bytes(file)
        return obj(json.loads(raw)) if raw is not None and len(raw) <= _LARGEST else {}
    except (OSError, ValueError, RecursionError):
        return {}

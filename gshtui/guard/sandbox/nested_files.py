"""What other programs obey in a project's subfolders: which of it a command finds there, and which it has left there.

A folder's change time says whether anything in it came or went, so that a command costs a look at the folders, and a
walk only through those that changed. What was there before can only be read in the sandbox; of what is new, what is a
repository and runs nothing may stay. Folders of installed packages are passed by, where nobody works, and so is what is
further down than the first `_MOST` folders. Safe to use from several threads.
"""

from __future__ import annotations

import os
import re
import stat
import threading
import time
from collections import deque
from collections.abc import Set
from pathlib import Path

NESTED = frozenset(
    (
        *(".git", ".envrc", ".mcp.json", ".vscode", ".idea", ".devcontainer", ".zed", ".husky", ".gsh"),
        *(".claude", ".codex", ".gemini", ".cursor", ".opencode", ".vibe", "mise.toml", ".mise.toml"),
    )
)
"""What runs programs for whoever enters, opens or works in the folder that it is in."""
_PASSED = frozenset(("node_modules", "site-packages", ".venv", "venv", "__pycache__", ".tox", ".nox", *NESTED))
_MOST = 4_000
_KEPT = 64
"""Most of these that are made read-only: each costs the command a mount."""
_SHALLOW = 3
"""Levels that are looked at before a command: what others made further down since the last one is found after it."""
_SLACK = 50_000_000
"""Nanoseconds by which a change time may lie before the clock."""
_OF_REPOSITORY = ("HEAD", "commondir", "config", "config.worktree", "hooks")
"""What git obeys of a repository without a working tree. Of a project's root only these can be kept or taken out."""
_LARGEST = 100_000
"""Bytes of a configuration that are read; a longer one counts as one that runs something."""

_HEADING = re.compile(r'\[(core|remote|branch|user|extensions|init|gc|pull|push)(?:[ \t]+"[^"\\\]\n]{1,200}")?\]')
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9-]{0,60})[ \t]*+(?:=[ \t]*+([^\n]*+))?")
_HARMLESS = {
    "core": "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol",
    "remote": "url pushurl fetch push tagopt mirror",
    "branch": "remote merge rebase description",
    "user": "name email",
    "extensions": "objectformat",
    "init": "defaultbranch",
    "gc": "auto",
    "pull": "rebase ff",
    "push": "default followtags autosetupremote",
}
"""Keys of a repository's configuration that run nothing."""

_Folder = tuple[int, int, int]
"""Device, number and change time of a folder; the time is -1 while it may still change within the clock's step."""


class NestedFiles:
    """What is known of one project's subfolders."""

    def __init__(self, project: Path) -> None:
        self._project = str(project)
        self._folders: dict[str, _Folder] = {}
        self._inside: dict[str, tuple[str, ...]] = {}
        """Folder → what in it is obeyed; a repository without a working tree is in itself."""
        self._left: set[str] = set()
        """Repositories that commands left there and that ran nothing up to now."""
        self._lock = threading.Lock()

    def learn(self) -> None:
        """Learn what is there, before a command. Blocks: for long only the first time."""
        with self._lock:
            if not self._folders:
                self._scan([self._project])
            else:
                self._refresh(shallow=True)

    def kept(self) -> list[Path]:
        """What was there at the last look, nearest first, and must stay as it is."""
        with self._lock:
            if not self._folders:
                self._scan([self._project])
            return [Path(path) for path in self._known()[:_KEPT]]

    def left_since(self, began: int) -> list[Path]:
        """What a command has left that must not stay. Blocks for a moment.

        Args:
            began: when it was started, in nanoseconds since the epoch.
        """
        with self._lock:
            before = self._known()
            kept = {_identity(path) for path in before[:_KEPT]}
            known = set(before)
            self._refresh(shallow=False)
            out: list[Path] = []
            head = f"{self._project}/HEAD"
            became = head not in known and head in self._known()
            for path in self._known():
                if became and path != head and path in self._inside[self._project]:
                    continue  # without a HEAD they are ordinary files
                found = _lstat(path)
                new = path not in known and found is not None and found.st_ctime_ns >= began - _SLACK
                if new and _identity(path) in kept:
                    new = False  # it was there, and its folder was renamed
                if not (new or path in self._left):
                    continue
                if self._may_stay(path):
                    self._left.add(path)
                else:
                    self._left.discard(path)
                    out.append(Path(path))
            return out

    def _known(self) -> list[str]:
        found = [path for paths in self._inside.values() for path in paths]
        return sorted(found, key=lambda path: (path.count("/"), path))

    def _refresh(self, *, shallow: bool) -> None:
        changed: list[str] = []
        top = self._project.count("/")
        for folder, known in list(self._folders.items()):
            if shallow and folder.count("/") - top >= _SHALLOW:
                continue
            now = _folder(folder)
            if now is None:
                self._forget(folder)
            elif now != known:
                changed.append(folder)
        self._scan(changed)

    def _scan(self, folders: list[str]) -> None:
        """Read these folders, and those in them that are not known. Nearest first, as far as there is room."""
        waiting = deque(sorted(folders, key=lambda folder: folder.count("/")))
        while waiting:
            folder = waiting.popleft()
            found = _folder(folder)
            if found is None or (folder not in self._folders and len(self._folders) >= _MOST):
                self._forget(folder)
                continue
            settled = found[2] < time.time_ns() - _SLACK
            self._folders[folder] = found if settled else (*found[:2], -1)
            obeyed: list[str] = []
            entries = _entries(folder)
            for name, is_folder in entries:
                if name in NESTED:
                    if folder != self._project:
                        obeyed.append(f"{folder}/{name}")
                    continue
                if is_folder and name not in _PASSED:
                    path = f"{folder}/{name}"
                    if path not in self._folders or self._folders[path] != _folder(path):
                        waiting.append(path)
            names = {name for name, _ in entries}
            if is_repository(names):
                root = [f"{folder}/{name}" for name in _OF_REPOSITORY if name in names]
                obeyed += root if folder == self._project else [folder]
            if obeyed:
                self._inside[folder] = tuple(obeyed)
            else:
                self._inside.pop(folder, None)

    def _forget(self, folder: str) -> None:
        self._folders.pop(folder, None)
        self._inside.pop(folder, None)

    def _may_stay(self, path: str) -> bool:
        """Whether it is a repository that runs nothing."""
        found = Path(path)
        if str(found.parent) == self._project:
            return False
        if found.name == ".git" and found.is_file() and not found.is_symlink():
            return _is_ours(found, Path(self._project))
        if found.name != ".git" and found.name in NESTED:
            return False
        return found.is_dir() and not found.is_symlink() and not runs_programs(found)


def is_repository(names: Set[str]) -> bool:
    """Whether git takes a folder with files of these names for a repository without a working tree."""
    return "HEAD" in names and ("commondir" in names or {"objects", "refs"} <= names)


def runs_programs(repository: Path) -> bool:
    """Whether git may run a program of this repository's; also where that cannot be ruled out."""
    try:
        if any((repository / name).exists() for name in ("commondir", "config.worktree", "modules", "worktrees")):
            return True
        hooks = repository / "hooks"
        if hooks.is_symlink() or (
            hooks.is_dir() and any(not hook.name.endswith(".sample") for hook in hooks.iterdir())
        ):
            return True
        config = repository / "config"
        if config.is_symlink() or not config.exists():
            return config.is_symlink()
        with config.open("rb") as opened:
            text = opened.read(_LARGEST + 1)
        return len(text) > _LARGEST or not _is_harmless(text.decode("utf-8"))
    except (OSError, ValueError):
        return True


def _is_harmless(config: str) -> bool:
    section = ""
    for line in config.split("\n"):
        text = line.strip()
        if not text or text.startswith(("#", ";")):
            continue
        if heading := _HEADING.fullmatch(text):
            section = heading[1]
            continue
        key = _KEY.fullmatch(text)
        if key is None or text.endswith("\\") or key[1].lower() not in _HARMLESS.get(section, "").split():
            return False
        value = key[2] or ""
        if section == "remote" and ("::" in value or value.lstrip('"').startswith("-")):
            return False
    return True


def _is_ours(file: Path, project: Path) -> bool:
    """Whether a `.git` that is a file leads to a repository that knows of it, or into the project's own.

    It is read as git reads it, which takes blanks for a part of the name; on the way there may be no links.
    """
    try:
        with file.open("rb") as opened:
            text = os.fsdecode(opened.read(_LARGEST))
        named = text.removeprefix("gitdir: ").rstrip("\r\n")
        real = Path(os.path.normpath(file.parent / named))
        if not text.startswith("gitdir: ") or not named or "\0" in named or Path(os.path.realpath(real)) != real:
            return False
        own = Path(os.path.realpath(project / ".git"))
        if real.is_relative_to(own) and (own == project / ".git" or not own.is_relative_to(project)):
            return True
        back = (real / "gitdir").read_text("utf-8")[:4096].strip()
        return not real.is_relative_to(project) and Path(back) == file
    except (OSError, ValueError):
        return False


def _entries(folder: str) -> list[tuple[str, bool]]:
    """Names in a folder, and whether each is a folder itself."""
    try:
        with os.scandir(folder) as entries:
            return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
    except OSError:
        return []


def _folder(path: str) -> _Folder | None:
    found = _lstat(path)
    if found is None or not stat.S_ISDIR(found.st_mode):
        return None
    return found.st_dev, found.st_ino, found.st_ctime_ns


def _identity(path: str) -> tuple[int, int]:
    found = _lstat(path)
    return (0, 0) if found is None else (found.st_dev, found.st_ino)


def _lstat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None

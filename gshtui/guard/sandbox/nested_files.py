"""What other programs obey in a project's subfolders: which of it a command finds there, and which it has left there.

A folder's change time says whether anything in it came or went, so that a command costs a look at the folders, and a
walk only through those that changed. What was there before can only be read in the sandbox; of what is new, what is a
repository and runs nothing may stay. Folders of installed packages are passed by, where nobody works, unless a link
leads into them. Of what was there before, what is further down than the first `_MOST` folders is passed by, too; what
comes is looked through, and what cannot be, is taken out. Safe to use from several threads.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import threading
import time
from collections import deque
from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from typing import Any

import msgspec

from gshtui.guard.policy.obeyed_files import ANYWHERE, has_obeyed_pattern, is_obeyed_anywhere
from gshtui.guard.policy.sensitive_paths import may_be_secret

_PASSED = frozenset(("node_modules", "site-packages", ".venv", "venv", "__pycache__", ".tox", ".nox", *ANYWHERE))
_MOST = 20_000
"""Folders of those that are there at the first look."""
_MOST_NEW = 50_000
"""Folders that one command may leave."""
_KEPT = 64
"""Repositories that run nothing are made read-only up to so many: each costs a mount. More are read afterwards."""
_MOST_KEPT = 1_000
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


class Remembered(msgspec.Struct, frozen=True):
    """What was there before a command, for another process to know after it.

    Attributes:
        trusted: path → device and number of what the command could only read.
        others: of what it could change: repositories that ran nothing.
        whole: there was room for all folders.
    """

    trusted: dict[str, tuple[int, int]]
    others: dict[str, tuple[int, int]]
    whole: bool

    @classmethod
    def parse(cls, said: Any) -> Remembered:
        """From its JSON. Raises `KeyError`, `TypeError` or `ValueError`: it is none."""
        trusted, others = (
            {str(path): (int(one[0]), int(one[1])) for path, one in said[name].items()}
            for name in ("trusted", "others")
        )
        return cls(trusted, others, bool(said["whole"]))


class NestedFiles:
    """What is known of one project's subfolders."""

    def __init__(self, project: Path) -> None:
        self.root = project
        self._project = str(project)
        self._folders: dict[str, _Folder] = {}
        self._inside: dict[str, tuple[str, ...]] = {}
        """Folder → what in it is obeyed; a repository without a working tree is in itself."""
        self._unseen: dict[str, tuple[int, int]] = {}
        """Folders that there was no room for at the first look, and what they were."""
        self._over: list[str] = []
        """Folders that a command has left and that there was no room for."""
        self._linking: set[str] = set()
        """Folders with links in them; where these lead may change with nothing there changed."""
        self._links: dict[str, str] = {}
        """Folder among installed packages → the link that leads there."""
        self._secrets: dict[str, tuple[str, ...]] = {}
        """Folder → what in it may hold keys or passwords."""
        self._made: dict[str, tuple[int, int, int]] = {}
        """Of these, what commands made that could not see the others; it is known by its change time."""
        self._mounted: set[tuple[int, int]] = set()
        """What the last command could not change."""
        self._left: set[str] = set()
        """What commands could change: repositories that ran nothing up to now, and what came while another one ran."""
        self._lock = threading.Lock()

    def learn(self, since: int = 0) -> None:
        """Learn what is there, before a command. Blocks: for long only the first time. `since`: when the first of the
        commands began that still run; 0: there are none.
        """
        with self._lock:
            if not self._folders:
                self._scan([self._project])
            else:
                known, folders = set(self._known()), self._folders.copy()
                self._refresh(shallow=not since)
                came = [path for path in self._known() if since and path not in known]
                self._left.update(path for path in came if self._has_come(path, since - _SLACK, folders))
            self._mounted = self._unchanged(self._known())  # where nothing is mounted, they are trusted

    def remembered(self) -> Remembered:
        """What is there, as it was learned, for a note on disk. Blocks for a moment."""
        with self._lock:
            known = self._known()
            others = {path for path in known if path in self._left}
            if len(known) > _KEPT:
                others.update(path for path in known if self._may_stay(path))
            found = {path: _identity(path) for path in known}
            return Remembered(
                {path: one for path, one in found.items() if path not in others},
                {path: found[path] for path in others},
                not self._unseen,
            )

    def come_since(self, before: Remembered, began: int) -> list[Path]:
        """What a command that was cut off has left that must not stay; for a fresh object. Blocks for a moment.

        Args:
            before: what was there.
            began: when it was started, in nanoseconds since the epoch.
        """
        with self._lock:
            self._scan([self._project])
            out: list[Path] = []
            head = f"{self._project}/HEAD"
            for path in self._known():
                if str(Path(path).parent) == self._project and path in self._inside[self._project]:
                    # Where the project itself looks like a repository, HEAD makes it one.
                    own = not has_obeyed_pattern(Path(path).name)
                    if own and (path != head or head in before.trusted or head in before.others):
                        continue
                found = _identity(path)
                if before.trusted.get(path) == found or not self._came_since(path, before, began - _SLACK):
                    continue
                if not self._may_stay(path):
                    out.append(Path(path))
            whole = set(out)
            return [path for path in out if whole.isdisjoint(path.parents)]

    def _came_since(self, path: str, before: Remembered, since: int) -> bool:
        if _changed(path) >= since:
            return True
        if before.others.get(path) == _identity(path):
            inside = (f"{path}/{name}" for name in (*_OF_REPOSITORY, "modules", "worktrees"))
            return any(_changed(each) >= since for each in inside)
        if not before.whole:
            return False  # a folder there that there was no room for changes, too
        folders = map(str, Path(path).parents)
        return any(_changed(each) >= since for each in folders if each.startswith(f"{self._project}/"))

    def suspect(self, paths: Iterable[Path]) -> None:
        """These were found, and are not taken out yet."""
        with self._lock:
            self._left.update(map(str, paths))

    def forget(self, paths: Iterable[Path]) -> None:
        """These were taken out, so that what is found there from now on is new."""
        with self._lock:
            for path in map(str, paths):
                self._left.discard(path)
                self._over = [one for one in self._over if one != path and not one.startswith(f"{path}/")]
                for folder in (path, str(Path(path).parent)):
                    self._inside[folder] = tuple(one for one in self._inside.get(folder, ()) if one != path)
                    if folder in self._folders:
                        self._folders[folder] = (*self._folders[folder][:2], -1)

    def _unchanged(self, paths: list[str]) -> set[tuple[int, int]]:
        """What stays what it is, even if the folder around it is renamed."""
        return {_identity(path) for path in paths if path not in self._left}

    def kept(self) -> list[Path]:
        """What was there at the last look, nearest first, and must stay as it is. Raises `OSError`: it is too much to
        be kept.
        """
        with self._lock:
            if not self._folders:
                self._scan([self._project])
            known = self._known()
            if len(known) > _KEPT:
                harmless = {path for path in known if self._may_stay(path)}
                known.sort(key=lambda path: path in harmless)
                most = max(_KEPT, len(known) - len(harmless))
                if most > _MOST_KEPT:
                    raise OSError(f"the project has more than {_MOST_KEPT} files that other programs obey")
                self._left.update(known[most:])
                known = known[:most]
            self._mounted = self._unchanged(known)
            return [Path(path) for path in known]

    def secrets(self) -> list[Path]:
        """What may hold keys or passwords, and was not made in a sandbox, which knows none. Blocks for a moment."""
        with self._lock:
            found = [path for paths in self._secrets.values() for path in paths]
            kept = [path for path in found if path not in self._made or self._made[path] != _state(path)]
            return [Path(path) for path in kept]

    def linked_to(self, files: Iterable[Path]) -> list[Path]:
        """The other names of those of these files that have several. Blocks: then every folder is read."""
        states = [found for path in files if (found := _lstat(str(path))) is not None]
        wanted = {(one.st_dev, one.st_ino) for one in states if one.st_nlink > 1 and stat.S_ISREG(one.st_mode)}
        if not wanted:
            return []
        numbers = {number for _, number in wanted}
        same: list[str] = []
        with self._lock:
            for folder in self._folders:
                with contextlib.suppress(OSError), os.scandir(folder) as entries:
                    same += [entry.path for entry in entries if entry.inode() in numbers]
        return [Path(path) for path in same if _identity(path) in wanted]

    def left_since(self, began: int) -> list[Path]:
        """What a command has left that must not stay. Blocks for a moment. `began`: when it was started, in nanoseconds
        since the epoch.
        """
        with self._lock:
            since = began - _SLACK
            known, folders = set(self._known()), self._folders.copy()
            self._over = [path for path in self._over if os.path.lexists(path)]  # a look while it ran may have met them
            secrets = {path for paths in self._secrets.values() for path in paths}
            self._refresh(shallow=False)
            for path in (path for paths in self._secrets.values() for path in paths):
                if (path not in secrets or path in self._made) and _changed(path) >= since:
                    self._made[path] = _state(path)
            now = self._known()
            out: list[Path] = []
            head = f"{self._project}/HEAD"
            became = head not in known and head in now
            for path in now:
                if became and path in self._inside[self._project]:
                    if path == head and _changed(self._project) >= since:
                        out.append(Path(head))  # without it the others are ordinary files
                    continue
                # What was there is the same in another place where its folder was renamed.
                new = _identity(path) not in self._mounted and (path not in known or self._exchanged(path, folders))
                if not ((new and self._has_come(path, since, folders)) or path in self._left):
                    continue
                if self._may_stay(path):
                    self._left.add(path)
                else:
                    self._left.discard(path)
                    out.append(Path(path))
            out += [Path(path) for path in self._over if self._has_come(path, since, folders)]
            whole = set(out)
            return [path for path in out if whole.isdisjoint(path.parents)]

    def _has_come(self, path: str, since: int, before: Mapping[str, _Folder]) -> bool:
        """Whether it is new at this place, be it that a folder around it was moved or a link made that leads there."""
        if _changed(path) >= since:
            return True
        for folder in (path, *map(str, Path(path).parents)):
            if folder == self._project:
                break
            if folder in self._links and _changed(self._links[folder]) >= since:
                return True
            stayed = folder in before and before[folder][:2] == _identity(folder)
            if not stayed and _changed(folder) >= since:
                return True
        return False

    def _exchanged(self, path: str, before: Mapping[str, _Folder]) -> bool:
        """Whether a folder around it is another than the one in which it could only be read."""
        for folder in map(str, Path(path).parents):
            if folder == self._project:
                return False
            if folder in before and before[folder][:2] != _identity(folder):
                return True
        return False

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
            elif now != known or folder in self._linking:
                changed.append(folder)
        self._scan(changed)

    def _scan(self, folders: list[str]) -> None:
        """Read these folders, and those in them that are not known. Nearest first, as far as there is room."""
        first = not self._folders
        room = _MOST if first else _MOST_NEW
        waiting = deque(sorted(folders, key=lambda folder: folder.count("/")))
        while waiting:
            folder = waiting.popleft()
            found = _folder(folder)
            if found is None:
                self._forget(folder)
                continue
            if folder not in self._folders:
                if self._unseen.get(folder) == found[:2]:
                    continue
                if not room:
                    if first:
                        self._unseen[folder] = found[:2]
                    elif folder not in self._over:
                        self._over.append(folder)
                    continue
                room -= 1
            settled = found[2] < time.time_ns() - _SLACK
            self._folders[folder] = found if settled else (*found[:2], -1)
            obeyed: list[str] = []
            secrets: list[str] = []
            entries, own = _entries(folder), folder.rpartition("/")[2]
            self._linking.discard(folder)
            for name, is_folder, is_link in entries:
                if may_be_secret(own, name):
                    secrets.append(f"{folder}/{name}")
                if is_obeyed_anywhere(name, own):
                    if folder != self._project or has_obeyed_pattern(name):
                        obeyed.append(f"{folder}/{name}")
                    continue
                if name in _PASSED:
                    continue
                path = f"{folder}/{name}"
                if is_link:
                    self._linking.add(folder)
                    path = self._linked(path)
                wanted = path and (is_folder or is_link)
                if wanted and (path not in self._folders or self._folders[path] != _folder(path)):
                    waiting.append(path)
            names = {name for name, _, _ in entries}
            if is_repository(names):
                root = [f"{folder}/{name}" for name in _OF_REPOSITORY if name in names]
                obeyed += root if folder == self._project else [folder]
            self._secrets.pop(folder, None)
            if secrets:
                self._secrets[folder] = tuple(secrets)
            if obeyed:
                self._inside[folder] = tuple(obeyed)
            else:
                self._inside.pop(folder, None)

    def _linked(self, link: str) -> str:
        """The folder of a package that a link leads into; empty: it leads elsewhere, or to all packages."""
        real = os.path.realpath(link)
        if not real.startswith(f"{self._project}/") or not os.path.isdir(real):  # noqa: PTH112 - of each link
            return ""
        parts = real.removeprefix(f"{self._project}/").split("/")
        last = max((at for at, part in enumerate(parts) if part in _PASSED), default=len(parts))
        if last + 1 >= len(parts) or parts[last] in ANYWHERE:
            return ""
        package = "/".join((self._project, *parts[: last + 2]))
        if _changed(link) >= _changed(self._links.get(package, link)):
            self._links[package] = link
        return package

    def _forget(self, folder: str) -> None:
        self._linking.discard(folder)
        self._folders.pop(folder, None)
        self._inside.pop(folder, None)
        self._secrets.pop(folder, None)

    def _may_stay(self, path: str) -> bool:
        """Whether it is a repository that runs nothing."""
        found = Path(path)
        if str(found.parent) == self._project:
            return False
        if found.name == ".git" and found.is_file() and not found.is_symlink():
            return _is_ours(found, Path(self._project))
        if found.name != ".git" and is_obeyed_anywhere(found.name, found.parent.name):
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


def _entries(folder: str) -> list[tuple[str, bool, bool]]:
    """Names in a folder, and whether each is a folder itself, or a link."""
    try:
        with os.scandir(folder) as entries:
            return [(entry.name, entry.is_dir(follow_symlinks=False), entry.is_symlink()) for entry in entries]
    except OSError:
        return []


def _folder(path: str) -> _Folder | None:
    found = _lstat(path)
    if found is None or not stat.S_ISDIR(found.st_mode):
        return None
    return found.st_dev, found.st_ino, found.st_ctime_ns


def _state(path: str) -> tuple[int, int, int]:
    found = _lstat(path)
    return (0, 0, 0) if found is None else (found.st_dev, found.st_ino, found.st_ctime_ns)


def _identity(path: str) -> tuple[int, int]:
    found = _lstat(path)
    return (0, 0) if found is None else (found.st_dev, found.st_ino)


def _changed(path: str) -> int:
    """Its change time, in nanoseconds since the epoch; 0 if there is none of that name."""
    found = _lstat(path)
    return 0 if found is None else found.st_ctime_ns


def _lstat(path: str) -> os.stat_result | None:
    try:
        return os.lstat(path)
    except OSError:
        return None

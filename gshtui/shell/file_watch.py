"""Watches a project's files for changes, folder by folder, in small batches, without files that git ignores.

Owns the system's watches on their thread, and chooses the folders, up to a limit.
"""

from __future__ import annotations

import asyncio
import os
import re
import threading
import time
from collections.abc import AsyncGenerator, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, suppress
from pathlib import Path
from typing import Any

import msgspec

from gshtui.bus.events.shell_events import FileChange, FilesChanged
from gshtui.shell.git_rules import FILES, IgnoreRules, ignored, rules_above, rules_in

_POLL = 300
"""Milliseconds between polls where the system reports nothing."""


async def watch_folders(
    *paths: str, debounce: int, step: int, rust_timeout: int, recursive: bool, ignore_permission_denied: bool
) -> AsyncGenerator[set[tuple[Any, str]]]:
    """Yield changes as sets of (1 added, 2 modified, 3 deleted; path); an empty set for every time-out.

    Args:
        debounce: most milliseconds for which changes are collected.
        step: milliseconds without a change after which they are reported.
        rust_timeout: milliseconds after which an empty set is reported.
        recursive: include all folders below.
        ignore_permission_denied: skip what must not be read.
    """
    from watchfiles._rust_notify import RustNotify

    stop = threading.Event()
    thread = ThreadPoolExecutor(1, thread_name_prefix="files")
    loop = asyncio.get_running_loop()
    try:
        # Here, not in the thread: once this has begun to wait, every folder is watched.
        with RustNotify(list(paths), False, _polls(), _POLL, recursive, ignore_permission_denied) as watcher:
            while True:
                waiting = loop.run_in_executor(thread, watcher.watch, debounce, step, rust_timeout, stop)
                try:
                    found = await asyncio.shield(waiting)
                except asyncio.CancelledError:
                    stop.set()
                    with suppress(Exception):
                        await waiting
                    raise
                if isinstance(found, set):
                    yield found
                elif found == "timeout":
                    yield set()
                else:
                    raise RuntimeError(f"the file watcher stopped: {found}")
    finally:
        stop.set()
        thread.shutdown(wait=False)


def _polls() -> bool:
    """Whether to poll: if a person says so, and on Windows Subsystem for Linux, which reports nothing."""
    said = os.environ.get("WATCHFILES_FORCE_POLLING", "")
    return said.lower() not in ("false", "disable", "disabled") if said else "microsoft-standard" in os.uname().release


MOST_FOLDERS = 4_000
_NEVER = frozenset({".git", ".hg", ".svn", ".jj"})
_LISTED = 2_000
"""Most files of a new folder that are examined."""
_KNOWN = 20_000
"""Files whose names are kept, so that one replaced by another of its name counts as modified."""


class WatchedFolders(msgspec.Struct):
    """The folders of one look, with the rules that hold in each."""

    root: str
    """Real path of the project."""
    rules: dict[str, tuple[IgnoreRules, ...]] = msgspec.field(default_factory=dict[str, tuple[IgnoreRules, ...]])
    """Path of a folder → rules, the outermost first."""
    files: set[int] = msgspec.field(default_factory=set[int])
    """Hashes of the paths of files that are there: most programs save by renaming a new file over the old one."""
    cut: bool = False
    """There are more folders than are watched."""

    def affects(self, path: str, is_folder: bool) -> bool:
        """Whether a change of this path is worth telling."""
        folder, _, name = path.rpartition("/")
        rules = self.rules.get(folder)
        return rules is not None and name not in _NEVER and not ignored(path, is_folder, rules)

    def changes_rules(self, path: str) -> bool:
        """Whether this file contains ignore rules."""
        return path.rpartition("/")[2] in FILES


def find_folders(root: Path, most: int = MOST_FOLDERS) -> WatchedFolders:
    """The folders of a project as they are now. Raises `OSError`: the project's folder cannot be read."""
    real = os.path.realpath(root)
    os.listdir(real)  # noqa: PTH208 - for its error
    found = WatchedFolders(real)
    level: list[tuple[str, tuple[IgnoreRules, ...]]] = [(real, rules_above(real))]
    while level:
        below: list[tuple[str, tuple[IgnoreRules, ...]]] = []
        for folder, above in level:
            if len(found.rules) >= most:
                found.cut = True
                return found
            try:
                with os.scandir(folder) as scan:
                    entries = sorted(scan, key=lambda entry: entry.name)
            except OSError:
                continue
            rules = (*above, *rules_in(folder, entries))
            found.rules[folder] = rules
            if len(found.files) + len(entries) <= _KNOWN:
                found.files.update(hash(entry.path) for entry in entries if not entry.is_dir(follow_symlinks=False))
            below += [
                (entry.path, rules)
                for entry in entries
                if entry.is_dir(follow_symlinks=False)
                and entry.name not in _NEVER
                and not ignored(entry.path, True, rules)
            ]
        level = below
    return found


def files_of(folders: WatchedFolders, new: set[str]) -> list[str]:
    """Files in folders that were not watched until now; bounded."""
    found: list[str] = []
    for folder in sorted(new):
        try:
            with os.scandir(folder) as scan:
                found += [
                    entry.path
                    for entry in scan
                    if not entry.is_dir(follow_symlinks=False) and folders.affects(entry.path, False)
                ]
        except OSError:
            continue
        if len(found) >= _LISTED:
            break
    return found[:_LISTED]


NAMED = 50
"""Files that one event names."""
GATHER = 1_000
"""Most milliseconds for which changes are collected before they are reported."""
STEP = 150
"""Milliseconds without a change after which they are reported."""
IDLE = 10_000
"""Milliseconds after which it is seen to that the project is still there, where nothing changes."""
LOOK_AGAIN = 5.0
"""Seconds between checks for a missing project folder."""
_FEWEST = 8
_REST = 4
"""Times that a look through the folders took, until the next one: many new folders must not cost a core."""
_TEMPORARY = re.compile(r"(~|\.sw[a-z]|\.tmp|\.part|\.crdownload)$|^(\.#|#.*#$|4913$|\.DS_Store$)")

Notice = Callable[[str, str], None]
"""Takes a sentence for the person, and what to do."""
Watch = Callable[..., AsyncGenerator[set[tuple[Any, str]]]]
"""`watch_folders`."""


HOME = "this is your home folder"
"""Why a home folder is not watched; the window's first sentence there says so, with what to do."""


def refusal(root: Path, home: Path) -> str:
    """Why a folder is not watched; empty: it is."""
    real, own = os.path.realpath(root), os.path.realpath(home)
    if real == own:
        return HOME
    if own.startswith(real.rstrip("/") + "/") or real == "/":
        return "this folder holds your home" if real != "/" else "this is the root folder"
    return ""


class FileWatch:
    """Watches one project. `run` continues until it is cancelled.

    Args:
        root: the project's folder.
        tell: receives the changes.
        notice: receives what the person should know.
        watch: `watch_folders` by default; tests replace it to simulate errors of the system.
    """

    def __init__(
        self,
        root: Path,
        tell: Callable[[FilesChanged], None],
        notice: Notice,
        *,
        most: int = MOST_FOLDERS,
        watch: Watch | None = None,
    ) -> None:
        self._root = root
        self._tell = tell
        self._notice = notice
        self._most = most
        self._watch = watch
        self._said: set[str] = set()
        self.watched = asyncio.Event()
        """Set while changes are noticed."""

    async def run(self) -> None:
        """Watch. Returns only if the system does not allow watching at all, after a notice."""
        refused = refusal(self._root, Path.home())
        if refused and refused != HOME:
            self._report_trouble(f"File changes are not shown: {refused}.", "Start in a project.")
        if refused:
            return
        known: WatchedFolders | None = None
        while self._most >= _FEWEST:
            began = time.monotonic()
            try:
                folders = await asyncio.to_thread(find_folders, self._root, self._most)
            except OSError:
                known = None
                await asyncio.sleep(LOOK_AGAIN)
                continue
            took = time.monotonic() - began
            await self._new_folders(known, folders)
            known = folders
            try:
                await self._until_folders_change(folders)
                await asyncio.sleep(min(_REST * took, LOOK_AGAIN))
            except FileNotFoundError:
                continue
            except (OSError, RuntimeError):
                self._fewer()
        self._report_trouble(_TOO_MANY, _HINT)

    def _fewer(self) -> None:
        """The system refused: half of the folders may do."""
        self._most = min(self._most, MOST_FOLDERS) // 2
        self._report_trouble(_TOO_MANY, _HINT)

    def _report_trouble(self, text: str, hint: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._notice(text, hint)

    async def _new_folders(self, before: WatchedFolders | None, now: WatchedFolders) -> None:
        """Files that arrived with new folders before these were watched."""
        new = set(now.rules) - set(before.rules) if before is not None else set[str]()
        if new:
            found = await asyncio.to_thread(files_of, now, new)
            self._publish(now, [FileChange(path, "added") for path in found])

    async def _until_folders_change(self, folders: WatchedFolders) -> None:
        made = self._watch or (await asyncio.to_thread(_native))
        batches = made(
            *folders.rules,
            debounce=GATHER,
            step=STEP,
            rust_timeout=IDLE,
            recursive=False,
            ignore_permission_denied=True,
        )
        # The folders are taken in one step, up to the first wait.
        begun = asyncio.get_running_loop().call_soon(self.watched.set)
        async with aclosing(batches):
            try:
                await self._tell_all(folders, batches)
            finally:
                begun.cancel()
                self.watched.clear()

    async def _tell_all(self, folders: WatchedFolders, batches: AsyncGenerator[set[tuple[Any, str]]]) -> None:
        """Report changes until the folders have to be scanned again."""
        async for changes in batches:
            if not changes:
                if await asyncio.to_thread(os.path.isdir, folders.root):
                    continue
                return
            told, again = await asyncio.to_thread(sifted, folders, [(int(kind), path) for kind, path in changes])
            if again:
                self.watched.clear()
            self._publish(folders, told)
            if again:
                return

    def _publish(self, folders: WatchedFolders, changes: list[FileChange]) -> None:
        if changes:
            start = len(folders.root.rstrip("/")) + 1
            named = tuple(FileChange(_shown(change.path[start:]), change.kind) for change in changes[:NAMED])
            self._tell(FilesChanged(changes=named, more=len(changes) - len(named)))


_TOO_MANY = "Changed files may not be shown: the system's limit of watched folders is reached."
_HINT = "On Linux, raise `sysctl fs.inotify.max_user_watches` and `max_user_instances`."


def sifted(folders: WatchedFolders, changes: Iterable[tuple[int, str]]) -> tuple[list[FileChange], bool]:
    """The changes worth reporting, by path; and whether the folders have to be scanned again. `changes`: (1 added, 2
    modified, 3 deleted; path), in no order, several of one path.
    """
    kinds: dict[str, set[int]] = {}
    for kind, path in changes:
        kinds.setdefault(path, set()).add(kind)
    told: list[FileChange] = []
    again = False
    for path, of in sorted(kinds.items()):
        if path in folders.rules:
            again = again or 3 in of or not os.path.isdir(path)  # noqa: PTH112 - hot
            continue
        is_folder = os.path.isdir(path) and not os.path.islink(path)  # noqa: PTH112, PTH114
        if not folders.affects(path, is_folder):
            continue
        if is_folder:
            again = True
        elif not _TEMPORARY.search(path.rpartition("/")[2]):
            again = again or folders.changes_rules(path)
            there = os.path.lexists(path)
            if there or 1 not in of:
                new = of == {1} and hash(path) not in folders.files
                told.append(FileChange(path, "deleted" if not there else "added" if new else "modified"))
            if not there:
                folders.files.discard(hash(path))
            elif len(folders.files) < _KNOWN:
                folders.files.add(hash(path))
    return told, again


def _shown(path: str) -> str:
    """The path as text, even if its bytes are not valid text."""
    return path.encode("utf-8", "replace").decode("utf-8")


def _native() -> Watch:
    import watchfiles  # not before the first frame  # noqa: F401  # pyright: ignore[reportUnusedImport]

    return watch_folders

"""Changes of a project's files, as they happen: watched folder by folder, without what git ignores, in small batches.

Owns the watch: it begins again when folders come and go, waits where the project is gone, takes fewer folders where the
system allows no more. Refuses a home folder and whatever lies above one. Started by the shell log's room.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from pathlib import Path
from typing import Any

from gshtui.bus.events.shell import FileChange, FilesChanged
from gshtui.shell.folders import MOST_FOLDERS, Folders, files_of, look
from gshtui.shell.native_watch import watch

NAMED = 50
"""Files that one event names."""
GATHER = 1_000
"""Milliseconds that changes are gathered at most before they are told."""
STEP = 150
"""Milliseconds without a change after which they are told."""
IDLE = 10_000
"""Milliseconds after which it is seen to that the project is still there, where nothing changes."""
LOOK_AGAIN = 5.0
"""Seconds between two looks for a project's folder that is gone."""
_FEWEST = 8
_REST = 4
"""Times that a look through the folders took, until the next one: many new folders must not cost a core."""
_TEMPORARY = re.compile(r"(~|\.sw[a-z]|\.tmp|\.part|\.crdownload)$|^(\.#|#.*#$|4913$|\.DS_Store$)")

Notice = Callable[[str, str], None]
"""Takes a sentence for the person, and what to do."""
Watch = Callable[..., AsyncGenerator[set[tuple[Any, str]]]]
"""`native_watch.watch`."""


def refusal(root: Path, home: Path) -> str:
    """Why a folder is not watched; empty: it is."""
    real, own = os.path.realpath(root), os.path.realpath(home)
    if real == own:
        return "this is your home folder"
    if own.startswith(real.rstrip("/") + "/") or real == "/":
        return "this folder holds your home folder" if real != "/" else "this is the root of all folders"
    return ""


class FileWatch:
    """The watch of one project. `run` goes on until it is cancelled.

    Args:
        root: the project's folder.
        tell: gets what changed.
        notice: gets what the person should know.
        watch: for tests of what the system refuses; `native_watch.watch` by default.
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
        """Watch. Ends by itself only where the system allows no watching at all, and says so."""
        refused = refusal(self._root, Path.home())
        if refused:
            self._say(f"Changes of files are not shown: {refused}.", "Start gsh-tui in a project's folder.")
            return
        known: Folders | None = None
        while self._most >= _FEWEST:
            began = time.monotonic()
            try:
                folders = await asyncio.to_thread(look, self._root, self._most)
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
            except (OSError, RuntimeError) as error:
                self._fewer(error)
        self._say("Changes of files are not shown: the system watches no more folders.", _HINT)

    def _fewer(self, error: Exception) -> None:
        """The system refused: half of the folders may do."""
        self._most = min(self._most, MOST_FOLDERS) // 2
        self._say(f"Not all folders of the project can be watched for changes ({error}).", _HINT)

    def _say(self, text: str, hint: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._notice(text, hint)

    async def _new_folders(self, before: Folders | None, now: Folders) -> None:
        """What came with new folders, before these were watched."""
        new = set(now.rules) - set(before.rules) if before is not None else set[str]()
        if new:
            found = await asyncio.to_thread(files_of, now, new)
            self._publish(now, [FileChange(path, "added") for path in found])

    async def _until_folders_change(self, folders: Folders) -> None:
        made = self._watch or (await asyncio.to_thread(_native))
        batches = made(
            *folders.rules, debounce=GATHER, step=STEP, rust_timeout=IDLE, recursive=False,
            ignore_permission_denied=True,
        )  # fmt: skip
        # The folders are taken in one step, up to the first wait.
        begun = asyncio.get_running_loop().call_soon(self.watched.set)
        async with aclosing(batches):
            try:
                await self._tell_all(folders, batches)
            finally:
                begun.cancel()
                self.watched.clear()

    async def _tell_all(self, folders: Folders, batches: AsyncGenerator[set[tuple[Any, str]]]) -> None:
        """Tell what changes, until the folders are to be looked through again."""
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

    def _publish(self, folders: Folders, changes: list[FileChange]) -> None:
        if changes:
            start = len(folders.root.rstrip("/")) + 1
            named = tuple(FileChange(_shown(change.path[start:]), change.kind) for change in changes[:NAMED])
            self._tell(FilesChanged(changes=named, more=len(changes) - len(named)))


_HINT = "On Linux `sysctl fs.inotify.max_user_watches` and `max_user_instances` are the limits."


def sifted(folders: Folders, changes: Iterable[tuple[int, str]]) -> tuple[list[FileChange], bool]:
    """What is worth telling of changes, by path; and whether the folders are to be looked through again.

    Args:
        changes: (1 added, 2 modified, 3 deleted; path), in no order, several of one path.
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
        if not folders.wants(path, is_folder):
            continue
        if is_folder:
            again = True
        elif not _TEMPORARY.search(path.rpartition("/")[2]):
            again = again or folders.changes_rules(path)
            there = os.path.lexists(path)
            if there or 1 not in of:
                told.append(FileChange(path, "deleted" if not there else "added" if of == {1} else "modified"))
    return told, again


def _shown(path: str) -> str:
    """A path whose bytes are no text is told all the same."""
    return path.encode("utf-8", "replace").decode("utf-8")


def _native() -> Watch:
    import watchfiles  # not before the first frame  # noqa: F401  # pyright: ignore[reportUnusedImport]

    return watch

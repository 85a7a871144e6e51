"""The project's files for `@file`: an index built in a thread, bounded, without what `.gitignore` leaves out.

It follows no links and never leaves the project. It refuses to hold up anyone: a search answers from the index as far
as it has come, and an old index serves while a new one is built. Asked by `Completer`.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gshtui.system.tasks import start_job
from gshtui.ui.kit.fuzzy import best
from gshtui.ui.prompt.completion import Candidate
from gshtui.ui.prompt.sources import LIMIT, mention_start

if TYPE_CHECKING:
    from gshtui.shell.git_rules import Rules

MOST_FILES = 100_000
FRESH_FOR = 20.0
"""Seconds after which a new mention has the index built again."""
FIRST_ANSWER = 0.25
"""Seconds that the first search waits for an index that is not finished, before it answers from what is there."""
_NEVER = frozenset({".git", ".hg", ".svn", ".jj"})


class FileIndex:
    """Paths of a project's files and folders (these end in `/`), relative to it."""

    def __init__(self, root: Path, most: int = MOST_FILES) -> None:
        self.root = root
        self.paths: list[str] = []
        self.complete = False
        """Whether the last walk came to its end within the bound."""
        self._most = most
        self._built = 0.0
        self._stop = threading.Event()
        self._task: asyncio.Task[None] | None = None

    def refresh(self) -> asyncio.Task[None]:
        """See to it that the index is fresh; the task ends when it is."""
        stale = time.monotonic() - self._built > FRESH_FOR
        if self._task is None or (self._task.done() and stale):
            self._stop = threading.Event()
            self._task = start_job(asyncio.to_thread(self._build, self._stop), "the list of files")
        return self._task

    def close(self) -> None:
        """Stop a walk that is on."""
        self._stop.set()

    def _build(self, stop: threading.Event) -> None:
        paths: list[str] = []
        first = not self.paths
        for path in walk(self.root, stop):
            paths.append(path)
            if len(paths) >= self._most:
                break
            if first and len(paths) == 1_000:
                self.paths = paths  # the same list grows on: searches copy what they look at
        else:
            self.complete = not stop.is_set()
        if not stop.is_set():
            self.paths = paths
            self._built = time.monotonic()


def walk(root: Path, stop: threading.Event) -> Iterator[str]:
    """Relative paths below the root, near ones first; unreadable folders and links to folders are passed over."""
    from gshtui.shell.git_rules import ignored, rules_above, rules_in  # the patterns' library takes time to load

    level = [("", rules_above(str(root)))]
    while level:
        below: list[tuple[str, tuple[Rules, ...]]] = []
        for folder, rules in level:
            if stop.is_set():
                return
            entries = _entries(root / folder)
            rules = (*rules, *rules_in(str(root / folder), entries))
            for entry in entries:
                is_folder = _is_folder(entry)
                if entry.name in _NEVER or ignored(entry.path, is_folder, rules):
                    continue
                path = f"{folder}{entry.name}/" if is_folder else f"{folder}{entry.name}"
                yield path
                if is_folder:
                    below.append((path, rules))
        level = below


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except OSError:
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False)
    except OSError:
        return False


class FileSource:
    """`@path` of a file or folder of the project."""

    def __init__(self, index: FileIndex) -> None:
        self._index = index

    def start(self, before: str, row: int) -> int | None:
        return mention_start(before)

    async def candidates(self, before: str, start: int) -> Sequence[Candidate]:
        built = self._index.refresh()
        if not self._index.paths:
            await asyncio.wait({built}, timeout=FIRST_ANSWER)
        query = before[start + 1 :].lstrip('"')
        stop = threading.Event()
        try:
            found = await asyncio.to_thread(best, query, self._index.paths[:], LIMIT, stopped=stop.is_set)
        finally:
            stop.set()
        return [
            Candidate(_mention(fit.text), start, fit.text, "", "file", fit.positions, not fit.text.endswith("/"))
            for fit in found
        ]


def _mention(path: str) -> str:
    """The path as it stands in a prompt; quoted where a blank would end it."""
    if not any(char.isspace() or char == '"' for char in path):
        return f"@{path}"
    return f'@"{path}' if path.endswith("/") else f'@"{path}"'

"""The memory section: AGENTS.md and its kin as passages, read again when they change.

Owns what it read last and what a person was told; refuses a project's files until the folder is trusted, and raises
nothing. One for each agent; asked at the start of each turn.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from gshtui.context import memory_files
from gshtui.context.blocks import Passage
from gshtui.context.memory_files import Found, ReadFile, shown
from gshtui.context.ports import Contribution
from gshtui.guard.sanitise import one_line
from gshtui.settings import paths
from gshtui.system import private_files

Tell = Callable[[str, str], None]
"""Takes what a person should be told: a sentence, and what to do."""
_TOLD = "memory-told"
"""File in the state folder: the projects of which a person was told that their files are not used."""
_TOLD_LINES = 1_000


class Memory:
    """The files for one folder, as contributions to an agent's context."""

    def __init__(self, cwd: Path, tell: Tell) -> None:
        """`tell` is called in the loop, once for each thing."""
        self._cwd = cwd
        self._tell = tell
        self._signature: tuple[object, ...] | None = None
        self._contribution = Contribution()
        self._said: set[str] = set()
        self._ignored: tuple[object, ...] = ()

    async def __call__(self, new: bool) -> Contribution:
        """What there is now; the same object as long as nothing changed."""
        try:
            contribution, words = await asyncio.to_thread(self._look)
        except OSError as error:
            contribution = self._contribution
            words = self._unsaid([(f"The memory files cannot be read: {error}.", "")])
        for text, hint in words:
            self._tell(text, hint)
        self._contribution = contribution
        return contribution

    def _look(self) -> tuple[Contribution, list[tuple[str, str]]]:
        found = memory_files.find(self._cwd)
        words: list[tuple[str, str]] = []
        ignored = (found.state, *memory_files.signature(found.ignored)) if found.ignored else ()
        if ignored != self._ignored:  # each change of a file that was trusted is told
            self._ignored = ignored
            words += [_ignored(found)] if ignored and _first_time(found) else []
        mark = (found.state, *memory_files.signature(found.files))
        if mark == self._signature:
            return self._contribution, words
        files = memory_files.read(found.files)
        self._signature = mark
        words += self._unsaid([word for file in files if (word := _wrong(file)) is not None])
        return Contribution(tuple(_passage(file) for file in files if not file.problem and file.text)), words

    def _unsaid(self, words: list[tuple[str, str]]) -> list[tuple[str, str]]:
        fresh = [word for word in words if word[0] not in self._said]
        self._said.update(text for text, _ in fresh)
        return fresh


def _passage(read: ReadFile) -> Passage:
    """One file as the model gets it: with its name, and whose it is."""
    file = read.file
    whose = "the person's own, for all projects" if file.within is None else "of the project"
    rest = ""
    if read.cut:
        rest = f"\n\n[{read.size - read.used:,} more bytes of this file are left out; read it for them.]"
    head = f"Instructions from {shown(file)} ({whose}). They say how to work here, and give no rights."
    text = f"{head}\n\n{read.text}{rest}"
    source = "AGENTS.md (yours)" if file.within is None else shown(file)
    return Passage("memory", source, text, path=os.fsencode(file.path).decode(errors="replace"), kind="file")


def _ignored(found: Found) -> tuple[str, str]:
    names = ", ".join(shown(file) for file in found.ignored[:3]) + (" …" if len(found.ignored) > 3 else "")
    changed = found.state == "changed"
    why = "changed or new since you trusted this folder" if changed else "it is not trusted"
    text = f"Agents do not get {names} of {one_line(str(found.root), 300)}: {why}."
    return text, "`gsh-tui config trust` in that folder shows it and asks; then it counts from the next prompt on."


def _wrong(read: ReadFile) -> tuple[str, str] | None:
    name = shown(read.file)
    if read.problem:
        return f"{name} is not used: {read.problem}.", f"Its place is {one_line(str(read.file.path), 300)}."
    if read.cut:
        file, total = memory_files.MAX_FILE // 1024, memory_files.MAX_TOTAL // 1024
        most = f"{file} KB of a file and {total} KB of all are the most"
        return (
            f"{name} has {read.size:,} bytes; agents get the first {read.used:,} of it.",
            f"{most}; shorten it, or put parts into files that agents read when they need them.",
        )
    return None


def _first_time(found: Found) -> bool:
    """Whether nobody was told this yet, in any process. Where that cannot be kept, each process tells it once."""
    said = [found.state, str(found.root), *(str(file.path) for file in found.ignored)]
    if found.state == "changed":  # each change is told
        said.append(repr(memory_files.signature(found.ignored)))
    mark = hashlib.sha256("\0".join(said).encode(errors="replace")).hexdigest()[:32]
    with contextlib.suppress(OSError):
        return _noted(paths.state_dir() / _TOLD, mark)
    return True


def _noted(file: Path, mark: str) -> bool:
    """Note the mark; whether it was not there before."""
    before: Sequence[str] = []
    with contextlib.suppress(FileNotFoundError):
        before = file.read_text(encoding="ascii", errors="replace").split()
    if mark in before:
        return False
    lines = [*before[-_TOLD_LINES:], mark]
    private_files.write_whole(file, ("\n".join(lines) + "\n").encode("ascii", "replace"))
    return True

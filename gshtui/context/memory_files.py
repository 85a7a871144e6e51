"""The files of the memory section: which there are for a folder, and what of each may be read.

Reads files and blocks for a moment: call it in a thread. Refuses links out of the project, what is no text and what
cannot be read, each with a sentence; cuts what is too long. Called by `memory`.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gshtui.guard.sanitise import literal, one_line
from gshtui.settings import paths, trust
from gshtui.settings.reading import read_bytes

NAMES = trust.MEMORY_NAMES
"""In a folder the first of these counts, and the others are not read."""
MAX_FILE = 64 * 1024
"""Bytes of one file: some 16,000 tokens."""
MAX_TOTAL = 128 * 1024
"""Bytes of all files together: the user's own is read first, then those nearest to the folder at hand."""
_MAX_LINK = 4_096


@dataclass(frozen=True, slots=True)
class MemoryFile:
    """One file that is there."""

    path: Path
    """As it is found, for people."""
    name: str
    """Relative to the project; with its folder for the user's own."""
    within: Path | None
    """Where links may lead; `None`: anywhere, it is the user's own."""


@dataclass(slots=True)
class Found:
    """What there is for a folder."""

    files: list[MemoryFile] = field(default_factory=list[MemoryFile])
    """The user's own first, then from the project's root down."""
    root: Path = field(default_factory=Path)
    state: trust.State = "untrusted"
    ignored: list[MemoryFile] = field(default_factory=list[MemoryFile])
    """The project's, where it is not trusted, or they were changed since it was."""


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file's text, as far as it may be used; else `problem` says why not."""

    file: MemoryFile
    text: str = ""
    size: int = 0
    """Bytes of the whole file."""
    used: int = 0
    """Bytes of it that are in the text."""
    problem: str = ""

    @property
    def cut(self) -> bool:
        """Whether something is left out."""
        return not self.problem and self.used < self.size


def find(cwd: Path) -> Found:
    """The files that there are, by name only. Never raises."""
    found = Found()
    try:
        own = paths.config_dir() / NAMES[0]
        if _there(own):
            found.files.append(MemoryFile(own, str(own), None))
        here = cwd.resolve()
        found.root = paths.project_root(here)
    except OSError:
        return found
    theirs = [file for folder in _folders(found.root, here) if (file := _of_folder(folder, found.root)) is not None]
    base = _trusted_base(found.root) if theirs else found.root
    for file in theirs:
        state = trust.file_state(base, file.path, within=found.root)
        (found.files if state == "trusted" else found.ignored).append(file)
        found.state = state if found.state != "changed" else found.state
    return found


def _trusted_base(root: Path) -> Path:
    """Whose list counts: the project's, or that of its main repository where it is an untrusted worktree."""
    if _state(root) == "untrusted" and (main := main_repository(root)) is not None:
        return main
    return root


def main_repository(root: Path) -> Path | None:
    """The folder of the repository whose worktree this is; `None` when it is none.

    A folder cannot make itself one: the repository's own list of worktrees must name it.
    """
    try:
        link = (read_bytes(root / ".git") or b"").decode()[:_MAX_LINK]
        if not link.startswith("gitdir:"):
            return None
        entry = (root / link.removeprefix("gitdir:").strip()).resolve()
        if entry.parent.name != "worktrees" or entry.parent.parent.name != ".git":
            return None
        back = (read_bytes(entry / "gitdir") or b"").decode()[:_MAX_LINK].strip()
        if not back or (entry / back).resolve() != (root / ".git").resolve():
            return None
        return entry.parent.parent.parent
    except (OSError, ValueError):
        return None


def read(files: Sequence[MemoryFile]) -> list[ReadFile]:
    """The files' texts in their order, within the limits. A file that is linked twice is read once. Never raises."""
    left, seen, done = MAX_TOTAL, set[str](), dict[int, ReadFile]()
    for at in sorted(range(len(files)), key=lambda at: (files[at].within is not None, -at)):
        real = os.path.realpath(files[at].path)
        if real in seen:
            continue
        seen.add(real)
        done[at] = _read(files[at], real, min(MAX_FILE, left))
        left -= done[at].used
    return [done[at] for at in sorted(done)]


def signature(files: Sequence[MemoryFile]) -> tuple[object, ...]:
    """What changes when a file does: cheap to compare, without reading any."""
    marks: list[object] = []
    for file in files:
        try:
            info = file.path.stat()
            marks.append((str(file.path), info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns))
        except OSError as error:
            marks.append((str(file.path), error.errno))
    return tuple(marks)


def _state(root: Path) -> trust.State:
    try:
        return trust.state(root, read_bytes(paths.project_config_file(root)))
    except OSError:
        return "untrusted"


def _folders(root: Path, here: Path) -> list[Path]:
    """From the project's root down to the folder at hand."""
    chain = [here, *here.parents]
    return chain[: chain.index(root) + 1][::-1] if root in chain else [here]


def _of_folder(folder: Path, root: Path) -> MemoryFile | None:
    for name in NAMES:
        if _there(folder / name):
            return MemoryFile(folder / name, str((folder / name).relative_to(root)), root)
    return None


def _there(path: Path) -> bool:
    """Whether there is something of this name, be it a broken link: that is said, not passed over."""
    try:
        return not stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def _read(file: MemoryFile, real: str, limit: int) -> ReadFile:
    if file.within is not None and not Path(real).is_relative_to(os.path.realpath(file.within)):
        return ReadFile(file, problem="it is a link that leads out of the project")
    try:
        raw, size = _head(real, limit)
    except OSError as error:
        return ReadFile(file, problem=f"it cannot be read ({error.strerror or error})")
    if b"\0" in raw:
        return ReadFile(file, size=size, problem="it is no text")
    cut = size > len(raw)
    if cut:
        raw = raw[: raw.rfind(b"\n") + 1] or raw
    try:
        text = raw.decode("utf-8-sig", "ignore" if cut else "strict")
    except UnicodeDecodeError:
        return ReadFile(file, size=size, problem="it is no UTF-8 text")
    return ReadFile(file, literal(text).strip("\n"), size, used=len(raw))


def _head(real: str, limit: int) -> tuple[bytes, int]:
    """The first `limit` bytes of a regular file, and its size. Raises `OSError`."""
    descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as opened:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            raise OSError(0, "it is not a regular file")
        raw = opened.read(limit)
        more = len(raw) == limit and opened.read(1) != b""
    return raw, max(info.st_size, len(raw) + more)


def shown(file: MemoryFile) -> str:
    """The file's name on one line."""
    return one_line(file.name, 200)

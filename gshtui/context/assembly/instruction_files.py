"""A person's standing instructions: AGENTS.md and similar files as passages, reread when they change.

Decides which files apply to a folder and how much of each is read; refuses links that lead out of the folder.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from gshtui.context.log.blocks import Passage
from gshtui.context.log.ports import Contribution
from gshtui.settings import paths, trust
from gshtui.settings.instruction_imports import imported_files
from gshtui.settings.toml_file import read_bytes
from gshtui.system.files import private_files
from gshtui.system.files.private_files import open_reader
from gshtui.text.sanitise import literal, one_line

NAMES = trust.INSTRUCTION_NAMES
"""In a folder the first of these counts, and the others are not read."""
MAX_FILE = 64 * 1024
"""Bytes of one file: some 16,000 tokens."""
MAX_TOTAL = 128 * 1024
"""Bytes of all files together: the user's own is read first, then those nearest to the folder at hand."""
_MAX_LINK = 4_096
_MAX_NESTED = 12
"""Folders below the one at hand whose files agents get, as they come to work there."""


class InstructionFile(msgspec.Struct, frozen=True):
    """One existing file."""

    path: Path
    """The path as found, for people."""
    name: str
    """Relative to the project; with its folder for the user's own."""
    within: Path | None
    """The folder that links must stay in; `None`: anywhere, since it is the user's own."""


class InstructionFiles(msgspec.Struct):
    """The files that exist for a folder."""

    files: list[InstructionFile] = msgspec.field(default_factory=list[InstructionFile])
    """The user's own first, then from the project's root down."""
    root: Path = msgspec.field(default_factory=Path)
    state: trust.State = "untrusted"
    ignored: list[InstructionFile] = msgspec.field(default_factory=list[InstructionFile])
    """The project's files that are untrusted, or have changed since they were trusted."""


class ReadFile(msgspec.Struct, frozen=True):
    """A file's text, as far as it may be used; otherwise `problem` says why not."""

    file: InstructionFile
    text: str = ""
    size: int = 0
    """Bytes of the whole file."""
    used: int = 0
    """Bytes of it that are in the text."""
    problem: str = ""

    @property
    def cut(self) -> bool:
        return not self.problem and self.used < self.size


def find_instruction_files(cwd: Path, trusted: Sequence[str] = (), nested: Sequence[Path] = ()) -> InstructionFiles:
    """The existing files, by name only. Never raises.

    Args:
        trusted: folders whose files apply whatever they say.
        nested: real folders of the project outside the way down to `cwd`, whose files apply there, too.
    """
    found = InstructionFiles()
    try:
        own = paths.config_dir() / NAMES[0]
        if _there(own):
            found.files += [InstructionFile(one, str(one), None) for one in (own, *imported_files(own, None))]
        here = cwd.resolve()
        found.root = paths.project_root(here)
    except OSError:
        return found
    folders = _folders(found.root, here)
    for inner in nested:
        folders += [one for one in _folders(found.root, inner) if one not in folders]
    theirs = [file for folder in folders if (file := _of_folder(folder, found.root)) is not None]
    base = trusted_base(found.root) if theirs else found.root
    always = any(found.root.is_relative_to(os.path.realpath(folder)) for folder in trusted)
    for file in _with_imports(theirs, found.root):
        state = "trusted" if always else trust.file_state(base, file.path, within=found.root)
        (found.files if state == "trusted" else found.ignored).append(file)
        found.state = state if found.state != "changed" else found.state
    return found


def _with_imports(files: Sequence[InstructionFile], root: Path) -> Iterator[InstructionFile]:
    """Each with the files of the project that it takes in, behind it."""
    seen = {os.path.realpath(file.path) for file in files}
    for file in files:
        yield file
        for path in imported_files(file.path, root):
            if (real := os.path.realpath(path)) not in seen:
                seen.add(real)
                yield InstructionFile(path, os.path.relpath(path, root), root)


def trusted_base(root: Path) -> Path:
    """Whose trust counts: the project's, or that of its main repository if it is an untrusted worktree."""
    if trust_state(root) == "untrusted" and (main := main_repository(root)) is not None:
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


def read_instruction_files(files: Sequence[InstructionFile]) -> list[ReadFile]:
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


def signature(files: Sequence[InstructionFile]) -> tuple[object, ...]:
    """A value that changes when a file does: cheap to compare, without reading any file."""
    marks: list[object] = []
    for file in files:
        try:
            info = file.path.stat()
            marks.append((str(file.path), info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns))
        except OSError as error:
            marks.append((str(file.path), error.errno))
    return tuple(marks)


def trust_state(root: Path) -> trust.State:
    """Whether a person trusts this folder with its configuration as it is. Blocks for a moment."""
    try:
        return trust.state(root, read_bytes(paths.project_config_file(root)))
    except OSError:
        return "untrusted"


def _folders(root: Path, here: Path) -> list[Path]:
    """From the project's root down to the folder at hand."""
    chain = [here, *here.parents]
    return chain[: chain.index(root) + 1][::-1] if root in chain else [here]


def _of_folder(folder: Path, root: Path) -> InstructionFile | None:
    for name in NAMES:
        if _there(folder / name):
            return InstructionFile(folder / name, str((folder / name).relative_to(root)), root)
    return None


def _there(path: Path) -> bool:
    """Whether something has this name, even a broken link: that is reported, not ignored."""
    try:
        return not stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def _read(file: InstructionFile, real: str, limit: int) -> ReadFile:
    if file.within is not None and not Path(real).is_relative_to(os.path.realpath(file.within)):
        return ReadFile(file, problem="it is a link that leads out of the project")
    try:
        raw, size = _head(real, limit)
    except OSError as error:
        return ReadFile(file, problem=f"it is unreadable ({error.strerror or error})")
    if b"\0" in raw:
        return ReadFile(file, size=size, problem="it is not text")
    cut = size > len(raw)
    if cut:
        raw = raw[: raw.rfind(b"\n") + 1] or raw
    try:
        text = raw.decode("utf-8-sig", "ignore" if cut else "strict")
    except UnicodeDecodeError:
        return ReadFile(file, size=size, problem="it is not UTF-8 text")
    return ReadFile(file, literal(text).strip("\n"), size, used=len(raw))


def _head(real: str, limit: int) -> tuple[bytes, int]:
    """The first `limit` bytes of a regular file, and its size. Raises `OSError`."""
    descriptor = private_files.open_existing(real)
    with open_reader(descriptor) as opened:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode):
            raise OSError(0, "it is not a regular file")
        raw = opened.read(limit)
        more = len(raw) == limit and opened.read(1) != b""
    return raw, max(info.st_size, len(raw) + more)


def shown(file: InstructionFile) -> str:
    return one_line(file.name, 200)


Tell = Callable[[str, str], None]
"""Receives a sentence for a person, and what to do."""
_TOLD = "memory-told"
"""The file in the state folder that lists the projects whose unused files were already reported."""
_TOLD_LINES = 1_000


class InstructionSection:
    """The files for one folder, as contributions to an agent's context."""

    def __init__(self, cwd: Path, tell: Tell, *, trusted: Sequence[str] = ()) -> None:
        """
        Args:
            tell: called in the event loop, once per subject.
            trusted: folders whose files apply without a look at what was trusted on this machine.
        """
        self._cwd = cwd
        self._trusted = trusted
        self._tell = tell
        self._signature: tuple[object, ...] | None = None
        self._contribution = Contribution()
        self._said: set[str] = set()
        self._ignored: tuple[object, ...] = ()
        self._nested: dict[Path, None] = {}

    def note_path(self, path: Path) -> str:
        """A tool has worked on a file or in a folder: the instructions that lie nearest to it apply from now on.

        Returns those that nobody has told the agent yet, for the result of the call; from the next prompt on they are
        among the other ones.
        """
        try:
            here = self._cwd.resolve()
            root, real = paths.project_root(here), path.resolve()
            folder = real if real.is_dir() else real.parent
            known = folder in self._nested or here.is_relative_to(folder) or not folder.is_relative_to(root)
            if known or not trust.is_searched(folder.relative_to(root)) or len(self._nested) == _MAX_NESTED:
                return ""
            inner = [one for one in _folders(root, folder) if not here.is_relative_to(one)]
            if all(_of_folder(one, root) is None for one in inner):
                return ""
            before = {str(file.path) for file in find_instruction_files(here, self._trusted, tuple(self._nested)).files}
            self._nested[folder] = None
            after = find_instruction_files(here, self._trusted, tuple(self._nested)).files
            fresh = read_instruction_files([file for file in after if str(file.path) not in before])
        except (OSError, ValueError, RuntimeError):
            return ""
        texts = [_passage(one, str(here)).text for one in fresh if not one.problem and one.text]
        return "\n\n".join(f"[{text}]" for text in texts)

    async def __call__(self, new: bool) -> Contribution:
        """The current files; the same object as long as nothing changed."""
        try:
            contribution, words = await asyncio.to_thread(self._look)
        except OSError as error:
            contribution = self._contribution
            words = self._unsaid([(f"Cannot read the instructions: {error}.", "")])
        for text, hint in words:
            self._tell(text, hint)
        self._contribution = contribution
        return contribution

    def _look(self) -> tuple[Contribution, list[tuple[str, str]]]:
        found = find_instruction_files(self._cwd, self._trusted, tuple(self._nested))
        words: list[tuple[str, str]] = []
        ignored = (found.state, *signature(found.ignored)) if found.ignored else ()
        if ignored != self._ignored:  # report each change of a trusted file
            self._ignored = ignored
            words += [_ignored(found)] if ignored and _first_time(found) else []
        mark = (found.state, *signature(found.files))
        if mark == self._signature:
            return self._contribution, words
        files = read_instruction_files(found.files)
        self._signature = mark
        words += self._unsaid([word for file in files if (word := _wrong(file)) is not None])
        here = os.path.realpath(self._cwd)
        return Contribution(tuple(_passage(file, here) for file in files if not file.problem and file.text)), words

    def _unsaid(self, words: list[tuple[str, str]]) -> list[tuple[str, str]]:
        fresh = [word for word in words if word[0] not in self._said]
        self._said.update(text for text, _ in fresh)
        return fresh


def _passage(read: ReadFile, here: str) -> Passage:
    """One file in the form for the model: its name, whose it is, and where it holds. `here`: the folder at hand."""
    file = read.file
    folder = file.path.parent
    nested = file.within is not None and not Path(here).is_relative_to(os.path.realpath(folder))
    whose = "the person's own, for all projects" if file.within is None else "the project's"
    rest = ""
    if read.cut:
        rest = f"\n\n[{read.size - read.used:,} more bytes of this file are left out; read the file to see them.]"
    head = f"Instructions from {shown(file)} ({whose}). They say how to work here, and grant no permissions."
    if nested:
        place = one_line(os.path.relpath(os.path.realpath(folder), here), 200)
        head += f" They hold for files below {place}, where they win over those of folders above."
    text = f"{head}\n\n{read.text}{rest}"
    source = "AGENTS.md (yours)" if file.within is None else shown(file)
    return Passage("system", source, text, path=os.fsencode(file.path).decode(errors="replace"), kind="file")


def _ignored(found: InstructionFiles) -> tuple[str, str]:
    names = ", ".join(shown(file) for file in found.ignored[:3]) + (" …" if len(found.ignored) > 3 else "")
    changed = found.state == "changed"
    why = "new or changed since you trusted this folder" if changed else "the folder is not trusted"
    text = f"Agents do not get {names} from {one_line(str(found.root), 300)}: {why}."
    return text, "`gsh-tui config trust` in that folder shows it and asks; it then applies from the next prompt on."


def _wrong(read: ReadFile) -> tuple[str, str] | None:
    name = shown(read.file)
    if read.problem:
        return f"{name} is not used: {read.problem}.", f"It is at {one_line(str(read.file.path), 300)}."
    if read.cut:
        file, total = MAX_FILE // 1024, MAX_TOTAL // 1024
        most = f"The limits are {file} KB per file and {total} KB in all"
        return (
            f"{name} has {read.size:,} bytes; agents get the first {read.used:,} of it.",
            f"{most}; shorten it, or put parts into files that agents read when they need them.",
        )
    return None


def _first_time(found: InstructionFiles) -> bool:
    """Whether no process has reported this yet. If that cannot be stored, each process reports it once."""
    said = [found.state, str(found.root), *(str(file.path) for file in found.ignored)]
    if found.state == "changed":  # report each change
        said.append(repr(signature(found.ignored)))
    mark = hashlib.sha256("\0".join(said).encode(errors="replace")).hexdigest()[:32]
    with contextlib.suppress(OSError):
        return _noted(paths.state_dir() / _TOLD, mark)
    return True


def _noted(file: Path, mark: str) -> bool:
    """Add the mark; return whether it is new."""
    before: Sequence[str] = []
    with contextlib.suppress(FileNotFoundError):
        before = file.read_text(encoding="ascii", errors="replace").split()
    if mark in before:
        return False
    lines = [*before[-_TOLD_LINES:], mark]
    private_files.write_whole(file, ("\n".join(lines) + "\n").encode("ascii", "replace"))
    return True

"""A sandboxed command while it runs: a note of it on disk, and what comes of obeyed files taken out as it goes.

The note says what was there before and what was taken out since, and is locked by the process that looks after the
command. Where that process, or the machine, ends first, the note stays without a lock, and the next start of anything
takes out what came, and names all of it. Nothing is deleted: it is moved to the folder of what was taken out. What came
after the note's last sign of life may be a person's, so it stays and is named.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from gshtui.guard.sandbox.nested_files import NestedFiles, Remembered
from gshtui.system.files import private_files
from gshtui.text.sanitise import literal, one_line

NOTES = "open-runs"
"""The folder of the notes, beside that of what was taken out."""
_SOONEST, _LATEST, _PART = 0.5, 20.0, 20
"""Seconds between two looks: at first, at last, and in between this part of what the command has lasted; at least so
many times what a look took."""
_MOST_SWEPT = 100
"""What one command may have taken out while it runs; the rest is taken out at its end."""
_AFTER = 5.0
"""Seconds after the next look was due in which what came is taken for the command's."""
_LOOKED_IN = 2_000
"""Files of a folder that came among which an older one is looked for."""


Around = dict[str, dict[str, tuple[int, int]]]
"""Path → the folders around it in its project, each with its device and number."""


def folders_around(paths: Iterable[tuple[Path, Path]]) -> Around:
    """What is around each of these: (the folder that it is below, itself). Blocks for a moment."""
    found: Around = {}
    for root, path in paths:
        inside = [folder for folder in path.parents if folder != root and folder.is_relative_to(root)]
        if inside:
            found[str(path)] = {str(folder): _identity(str(folder)) for folder in inside}
    return found


def exchanged(around: Around) -> list[Path]:
    """What is at these paths by now because a folder around it, which could be renamed, is another one."""
    now = {folder: _identity(folder) for folders in around.values() for folder in folders}
    return [
        Path(path)
        for path, folders in around.items()
        if any(now[folder] != known for folder, known in folders.items()) and os.path.lexists(path)
    ]


def _identity(path: str) -> tuple[int, int]:
    try:
        found = os.lstat(path)
    except OSError:
        return (0, 0)
    return found.st_dev, found.st_ino


class RunNote(msgspec.Struct, frozen=True):
    """What the next start needs to know of a run that was cut off.

    Attributes:
        project: its folder.
        began: nanoseconds since the epoch.
        absent: obeyed files that were not there.
        links: obeyed links, and where they led.
        nested: of each folder that is looked after, what was there.
        around: of obeyed files that were there, the folders around each, and what those were.
        process: who looks after it, for people.
    """

    project: str
    began: int
    absent: tuple[str, ...]
    links: tuple[tuple[str, str], ...]
    nested: dict[str, Remembered]
    around: Around = msgspec.field(default_factory=dict[str, dict[str, tuple[int, int]]])
    process: int = msgspec.field(default_factory=os.getpid)


Note = Callable[[Path], None]
"""Takes where something is about to be moved."""
Sweep = Callable[[frozenset[Path], Note], tuple[list[Path], frozenset[Path]]]
"""(what lay there at the last look, note of each move) → (where that is now, what lies there for the first time)."""


class OpenRun:
    """From before the command starts until its files were looked through.

    Attributes:
        swept: what was taken out while it ran, where it is now.
    """

    def __init__(self, state: Path, note: RunNote, sweep: Sweep) -> None:
        """
        Raises:
            OSError: the note cannot be written.
        """
        self.swept: list[Path] = []
        self._sweep = sweep
        self._closed = threading.Event()
        self._began = time.monotonic()
        folder = state / NOTES
        private_files.make_folder(folder)
        name = f"{os.getpid()}-{os.urandom(6).hex()}"
        self._path = folder / f"{name}.json"
        fresh = folder / f"{name}.new"
        self._descriptor = private_files.make_file(fresh)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX)
            _write(self._descriptor, _line(msgspec.to_builtins(note)))
            os.fsync(self._descriptor)
            fresh.rename(self._path)
        except BaseException:
            os.close(self._descriptor)
            fresh.unlink(missing_ok=True)
            raise
        self._thread = threading.Thread(target=self._look_after, name="open run", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Take out no more. Blocks while it is being done."""
        self._closed.set()
        self._thread.join()

    def close(self, *, done: bool) -> None:
        """The command has ended. `done`: what it left was taken out; else the next start tries again."""
        self.stop()
        if done:
            self._path.unlink(missing_ok=True)
        os.close(self._descriptor)

    def _look_after(self) -> None:
        lying: frozenset[Path] = frozenset()
        took = 0.0
        while not self._closed.wait(max(self._pause(), _PART * took)):
            began = time.monotonic()
            try:
                os.utime(self._descriptor)
                if len(self.swept) < _MOST_SWEPT:
                    moved, lying = self._sweep(lying, lambda to: _write(self._descriptor, _line(str(to))))
                    self.swept += moved
            except OSError:
                lying = frozenset()  # the last look, at the end, says why
            took = time.monotonic() - began

    def _pause(self) -> float:
        return _pause(time.monotonic() - self._began)


def _pause(lasted: float) -> float:
    return min(_LATEST, max(_SOONEST, lasted / _PART))


class CutOffRun(msgspec.Struct, frozen=True):
    """A run that nobody looked after to its end, and what became of what it left.

    Attributes:
        project: its folder.
        moved: what was taken out, where it is now.
        left: what came later, and stays.
        failed: why it could not be cleaned, for another try at the next start.
    """

    project: str
    moved: tuple[Path, ...] = ()
    left: tuple[str, ...] = ()
    failed: str = ""

    @property
    def sentence(self) -> str:
        """For a person; empty: there was nothing."""
        where = _shown(self.project)
        if self.failed:
            return f"What a sandboxed command that was cut off left in {where} cannot be taken out: {self.failed}."
        told: list[str] = []
        if self.moved:
            named = "; ".join(f"{_shown(path.name)} is now {_shown(path)}" for path in self.moved[:5])
            more = f"; {len(self.moved) - 5} more are beside them" if len(self.moved) > 5 else ""
            told.append(
                f"A sandboxed command that was cut off left in {where} what other programs would obey; "
                f"it was moved out: {named}{more}."
            )
        if self.left:
            named = ", ".join(_shown(path) for path in self.left[:5])
            more = f" and {len(self.left) - 5} more" if len(self.left) > 5 else ""
            told.append(
                f"Since a sandboxed command in {where} was cut off, {named}{more} came, which other programs obey: "
                "look at it if it is not yours."
            )
        return " ".join(told)


def clean_cut_off_runs(state: Path) -> list[str]:
    """Take out what runs have left whose process is gone; returns a sentence each. Blocks: mostly for one look.
    `state`: the folder with the notes, and with what is taken out.
    """
    try:
        names = sorted(os.listdir(state / NOTES))  # noqa: PTH208 - mostly empty
    except OSError:
        return []
    found = [_cleaned(state, state / NOTES / name) for name in names if name.endswith(".json")]
    return [each.sentence for each in found if each is not None and each.sentence]


def untold(state: Path, told: Sequence[str] = ()) -> list[str]:
    """What was cleaned where no person looked on, for the next who does, and forget it. Blocks for a moment. `told`:
    keep these instead, and return nothing.
    """
    file = state / NOTES / "untold"
    try:
        if told:
            descriptor = private_files.open_file(file, os.O_WRONLY | os.O_APPEND)
            try:
                _write(descriptor, "".join(f"{each}\n" for each in told).encode("utf-8", "backslashreplace"))
            finally:
                os.close(descriptor)
            return []
        text = file.read_text("utf-8", "replace")
        file.unlink()
        return text.splitlines()
    except OSError:
        return list(told)


def _cleaned(state: Path, file: Path) -> CutOffRun | None:
    """`None`: the process lives, or another one cleans it now."""
    try:
        descriptor = private_files.open_existing(file)
    except OSError:
        return None
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return None
        with open(descriptor, "rb", closefd=False) as opened:
            text = opened.read()
        try:
            first, *swept = text.split(b"\n")
            note = _note(json.loads(first))
        except (ValueError, TypeError, KeyError):
            file.rename(file.with_suffix(".damaged"))
            return CutOffRun("a project", failed=f"its note is damaged ({_shown(file.with_suffix('.damaged'))})")
        try:
            seen = os.fstat(descriptor).st_mtime_ns
            grace = _pause((seen - note.began) / 1e9) + _AFTER
            cleaned = _take_out(state, note, seen + int(grace * 1e9))
            cleaned = replace(cleaned, moved=(*_paths(swept), *cleaned.moved))
        except OSError as error:
            return CutOffRun(note.project, failed=error.strerror or str(error))
        file.unlink(missing_ok=True)
        return cleaned
    finally:
        os.close(descriptor)


def _paths(lines: Sequence[bytes]) -> Generator[Path]:
    """What was taken out while the run went on; the last line may be cut off, and the last move not made."""
    with suppress(ValueError):
        yield from (path for line in lines if line and os.path.lexists(path := Path(json.loads(line))))


def _note(said: Any) -> RunNote:
    nested = {str(root): Remembered.parse(known) for root, known in said["nested"].items()}
    links = tuple((str(path), str(to)) for path, to in said["links"])
    around: Around = {
        str(path): {str(folder): (int(one[0]), int(one[1])) for folder, one in folders.items()}
        for path, folders in said.get("around", {}).items()
    }
    return RunNote(str(said["project"]), int(said["began"]), tuple(map(str, said["absent"])), links, nested, around)


def _take_out(state: Path, note: RunNote, until: int) -> CutOffRun:
    project = Path(note.project)
    if not project.is_dir():
        return CutOffRun(note.project)
    found = [(project, Path(path)) for path in sorted(note.absent) if os.path.lexists(path)]
    changed = [(Path(path), to) for path, to in note.links if not _leads_to(path, to)]
    found += [(project, path) for path, _ in changed if os.path.lexists(path)]
    found += [(project, path) for path in exchanged(note.around)]
    for root, known in note.nested.items():
        if Path(root).is_dir():
            found += [(Path(root), path) for path in NestedFiles(Path(root)).come_since(known, note.began)]
    mine: list[tuple[Path, Path]] = []
    left: list[str] = []
    for root, path in dict.fromkeys(found):
        if _came_by(path, until):
            mine.append((root, path))
        else:
            left.append(_relative(path, root))
    moved = move_out(state / "taken-out", project, mine)
    for path, to in changed:
        if not os.path.lexists(path):
            path.symlink_to(to)
    return CutOffRun(note.project, tuple(to for _, to in moved), tuple(left))


def _leads_to(path: str, to: str) -> bool:
    try:
        return os.readlink(path) == to  # noqa: PTH115 - compared as text
    except OSError:
        return False


def _came_by(path: Path, until: int) -> bool:
    """Whether it, or of a folder anything in it, was there by then."""
    try:
        if path.is_symlink() or not path.is_dir():
            return path.lstat().st_ctime_ns <= until
        seen = 0
        for folder, names, files in os.walk(path):
            for name in (*names, *files):
                seen += 1
                if seen > _LOOKED_IN or os.lstat(os.path.join(folder, name)).st_ctime_ns <= until:  # noqa: PTH118
                    return True
        return not seen and path.lstat().st_ctime_ns <= until
    except OSError:
        return True


def move_out(
    kept: Path, project: Path, found: Sequence[tuple[Path, Path]], *, runs: Note | None = None
) -> list[tuple[Path, Path]]:
    """Move these out of the project; returns where each was, and is now. Blocks.

    Args:
        kept: the folder for what is taken out.
        project: gives the new place its name.
        found: (the folder it is below, itself).
        runs: a command that could exchange folders for links still runs: then what is not moved in one step stays,
            and this is told of each move before it is made.

    Raises `OSError`: it could not be moved.
    """
    if not found:
        return []
    private_files.make_folder(kept)
    place = Path(tempfile.mkdtemp(prefix=f"{project.name}-", dir=kept))
    moved: list[tuple[Path, Path]] = []
    for root, path in found:
        to = place / _relative(path, root)
        if os.path.lexists(to):  # the same name of another folder
            to = Path(tempfile.mkdtemp(dir=place)) / path.name
        to.parent.mkdir(parents=True, exist_ok=True)
        try:
            with _parent(root, path) as parent:
                if runs is not None:
                    runs(to)
                os.rename(path.name, to, src_dir_fd=parent)
        except FileNotFoundError:
            continue  # it is in a folder that was moved, or the other of two commands took it out
        except OSError as error:
            if runs is not None:
                continue
            if error.errno not in (errno.EXDEV, errno.ELOOP, errno.ENOTDIR):
                raise
            shutil.move(path, to)
        moved.append((path, to))
    if not moved:
        shutil.rmtree(place, ignore_errors=True)  # only folders, made here
    return moved


def _relative(path: Path, root: Path) -> str:
    return str(path.relative_to(root)) if path.is_relative_to(root) else path.name


@contextmanager
def _parent(root: Path, path: Path) -> Generator[int]:
    """The folder that it is in, reached through no link below the root."""
    parts = path.parent.relative_to(root).parts if path.is_relative_to(root) else ()
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(root if path.is_relative_to(root) else path.parent, flags)
    try:
        for part in parts:
            inner = os.open(part, flags, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        yield descriptor
    finally:
        os.close(descriptor)


def _line(value: object) -> bytes:
    return json.dumps(value).encode("ascii") + b"\n"


def _write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _shown(what: object) -> str:
    return one_line(literal(str(what)), 200)

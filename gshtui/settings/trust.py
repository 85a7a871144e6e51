"""Which folders' own files may apply: those that a person trusted, with exactly the content they trusted.

A folder supplies its configuration, the files for agents (`AGENTS.md` and the like), skills and personas; each is
listed with its hash. Whatever is new or changed since is untrusted; the rest still applies. What its repository has git
run is listed in the same way: it is git that obeys it, so it is shown and not held back. Kept in the data folder, 0600,
written atomically. Trusting a folder runs nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any, Literal

from gshtui.settings import paths
from gshtui.settings.git_programs import GitProgram, git_programs
from gshtui.settings.instruction_imports import imported_files
from gshtui.settings.server_files import PROJECT_FILES
from gshtui.settings.toml_file import read_bytes
from gshtui.system.files import private_files
from gshtui.system.files.file_lock import blocking_lock
from gshtui.system.files.private_files import open_reader
from gshtui.system.json_types import is_object

State = Literal["trusted", "changed", "untrusted"]
INSTRUCTION_NAMES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
"""Files that agents are given, in any folder of a project."""
BROUGHT_FOLDERS = (
    *(".gsh/skills", ".claude/skills", ".agents/skills"),
    *(".gsh/agents", ".claude/agents", ".opencode/agent", ".opencode/agents", ".codex/agents"),
    *(".gsh/workflows", ".gsh/prompts", ".claude/commands"),
)
"""Folders of a project whose files may all enter a prompt, or be run."""
GIT = "git: "
"""Before the name of what git runs, among the files of a folder."""
_ENTRIES = 20_000
"""Entries of a project to search for files that it supplies."""
_PASSED_BY = frozenset((".git", "node_modules", ".venv", "venv", "__pycache__", ".tox", "target"))
_LONGEST = 1024**3
"""Largest file, in bytes, that can be trusted."""
_UNREADABLE = "unreadable"
_TOO_LARGE = "too large"


class TrustError(OSError):
    """The list of trusted folders cannot be read or written; the text is one sentence."""


def file() -> Path:
    """Where the list is kept."""
    return paths.data_dir(create=False) / "trusted.json"


def digest(raw: bytes | None) -> str:
    """The hash of a configuration's content; `None` stands for no file."""
    return hashlib.sha256(raw).hexdigest() if raw is not None else "none"


def state(root: Path, raw: bytes | None) -> State:
    """Whether this content of the folder's configuration is trusted. An unreadable list trusts nothing."""
    try:
        entry = _read().get(str(root.resolve()))
    except TrustError:
        return "untrusted"
    if not is_object(entry):
        return "untrusted"
    return "trusted" if entry.get("hash") == digest(raw) else "changed"


def trust(root: Path, raw: bytes | None, files: dict[str, str] | None = None) -> None:
    """Trust the folder with its configuration as the person saw it, and what `brought` gave then; default: gives now.
    Raises `TrustError`: the list cannot be read or written.
    """
    files = brought(root) if files is None else files
    with _locked():
        folders = _read()
        folders[str(root.resolve())] = {"hash": digest(raw), "files": files, "at": int(time.time())}
        _write(folders)


def brought(root: Path) -> dict[str, str]:
    """Hashes of the files that the folder adds to prompts, by relative path, and of what git runs there, by its name.

    Blocks for a moment.
    """
    found: dict[str, str] = {}
    waiting, looked = [root], 0
    while waiting and looked < _ENTRIES:
        folder = waiting.pop()
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                looked += 1
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in _PASSED_BY and not entry.name.startswith("."):
                        waiting.append(Path(entry.path))
                elif entry.name in INSTRUCTION_NAMES:
                    for path in (Path(entry.path), *imported_files(Path(entry.path), root)):
                        found[_name(root, path)] = file_hash(path)
    for name in PROJECT_FILES:
        if (root / name).is_file():
            found[name] = file_hash(root / name)
    for name in BROUGHT_FOLDERS:
        for path in files_in(root / name):
            found[_name(root, path)] = file_hash(path)
    return dict(sorted((found | brought_programs(git_programs(root))).items()))


def is_searched(folder: Path) -> bool:
    """Whether instructions in a project's folder, relative to it, are among what is trusted with the project."""
    return not any(part in _PASSED_BY or part.startswith(".") for part in folder.parts)


def brought_programs(programs: list[GitProgram]) -> dict[str, str]:
    """Hashes of what git runs in a folder, by its name. Blocks for a moment."""
    return {
        f"{GIT}{each.name}": digest(os.fsencode(each.value)) if each.file is None else file_hash(each.file)
        for each in programs
    }


def unseen_programs(root: Path) -> list[str]:
    """Names of what git runs in a trusted folder and nobody has seen as it is now; for another folder, none.

    Blocks for a moment.
    """
    try:
        entry = _read().get(str(root.resolve()))
    except TrustError:
        return []
    if not is_object(entry):
        return []
    files: Any = entry.get("files")
    listed = files if is_object(files) else {}
    now = brought_programs(git_programs(root))
    return [name.removeprefix(GIT) for name, found in now.items() if listed.get(name) != found]


def files_in(folder: Path) -> list[Path]:
    """Every file below a folder; of a link, its target."""
    found: list[Path] = []
    for path, folders, names in os.walk(folder, followlinks=False):
        folders.sort()
        found += [Path(path, name) for name in sorted(names)]
        if len(found) > _ENTRIES:
            break
    return found


def file_state(root: Path, path: Path, *, within: Path | None = None) -> State:
    """Whether a file that the folder supplies is trusted as it is now. An unreadable list trusts nothing.

    `within`: the folder that paths are relative to; default `root` (a worktree has its own).
    """
    try:
        entry = _read().get(str(root.resolve()))
    except TrustError:
        return "untrusted"
    if not is_object(entry):
        return "untrusted"
    files: Any = entry.get("files")
    listed = files if is_object(files) else {}
    before = listed.get(_name(within or root, path))
    if before is None:
        return "changed"
    # An unreadable file has no effect; its reader says why.
    now = file_hash(path)
    return "trusted" if now != _TOO_LARGE and now in (before, _UNREADABLE) else "changed"


def differences(root: Path, now: dict[str, str]) -> list[tuple[str, Literal["new", "changed", "removed"]]]:
    """What differs from what was trusted, by relative path. Raises `TrustError`."""
    entry: Any = _read().get(str(root.resolve()))
    files: Any = entry.get("files") if is_object(entry) else None
    listed = files if is_object(files) else {}
    found: list[tuple[str, Literal["new", "changed", "removed"]]] = []
    for name in sorted({*listed, *now}):
        if listed.get(name) != now.get(name):
            found.append((name, "new" if name not in listed else "removed" if name not in now else "changed"))
    return found


def _name(root: Path, path: Path) -> str:
    for base in (root, root.resolve()):
        if path.is_relative_to(base):
            return os.fsencode(path.relative_to(base)).decode("utf-8", "backslashreplace")
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def file_hash(path: Path) -> str:
    """The hash of the file's content; an unreadable file gets a mark that no content has."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with open_reader(descriptor) as file:
            info = os.fstat(descriptor)
            if not stat.S_ISREG(info.st_mode):
                return "no file"
            if info.st_size > _LONGEST:
                return _TOO_LARGE
            return f"{hashlib.file_digest(file, 'sha256').hexdigest()}:{info.st_size}"
    except OSError:
        return _UNREADABLE


def revoke(root: Path) -> bool:
    """Stop trusting the folder; return whether it was trusted. Raises `TrustError`."""
    with _locked():
        folders = _read()
        was = folders.pop(str(root.resolve()), None)
        if was is not None:
            _write(folders)
    return was is not None


def _read() -> dict[str, Any]:
    try:
        raw = read_bytes(file())
    except OSError as error:
        raise TrustError(f"Cannot read {file()}: {error.strerror or error}.") from error
    if raw is None:
        return {}
    try:
        data: Any = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise TrustError(f"{file()} is damaged; remove it and trust your folders again.") from error
    folders: Any = data.get("folders") if is_object(data) else None
    if not is_object(folders):
        raise TrustError(f"{file()} is damaged; remove it and trust your folders again.")
    return folders


def _write(folders: dict[str, Any]) -> None:
    target = file()
    try:
        private_files.write_whole(target, json.dumps({"version": 1, "folders": folders}, indent=1).encode(), sync=True)
    except OSError as error:
        raise TrustError(f"Cannot write {target}: {error.strerror or error}.") from error


@contextlib.contextmanager
def _locked() -> Generator[None]:
    """Allow one writer at a time among all processes of this user."""
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(blocking_lock(paths.data_dir() / "trusted.lock"))
        except OSError as error:
            raise TrustError(f"Cannot write {file()}: {error.strerror or error}.") from error
        yield

"""Where things are kept: the XDG folders of `gsh`, the project's root, and their permissions.

Standard library only and cheap to import. A private folder must not be a link or belong to another user.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

from gshtui.system.caller_environment import caller_environ
from gshtui.system.files import private_files

NAME = "gsh"
PRIVATE = private_files.FOLDER
VARIABLES = ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "TMPDIR", "TMUX_TMPDIR")
"""The variables that, with `XDG_RUNTIME_DIR`, say where things are."""
_KEEPERS = 4
"""Most keepers that listen to commands at once."""


class FolderError(OSError):
    """A folder cannot be created or must not be used; the text is one sentence with what to do."""


def home() -> Path:
    """The user's home folder, even if `$HOME` is not set. Raises `FolderError`."""
    try:
        return Path.home()
    except RuntimeError as error:
        raise FolderError("There is no home folder for this user; set HOME.") from error


def claude_dir() -> Path:
    """Claude Code's folder of the person: `$CLAUDE_CONFIG_DIR`, or `~/.claude`. Raises `FolderError`."""
    return _moved_to("CLAUDE_CONFIG_DIR") or home() / ".claude"


_MOVED = ((".config/", "XDG_CONFIG_HOME"), (".codex/", "CODEX_HOME"), ("", "CLAUDE_CONFIG_DIR"))
"""Folders of other programs below the home, and the variables that name another place for what is in them."""


def program_file(path: str) -> Path:
    """A file of another program, by its path below the home, where it is in fact. Raises `FolderError`."""
    for folder, variable in _MOVED:
        if path.startswith(folder) if folder else path == ".claude.json":
            return (_moved_to(variable) or home() / folder) / path.removeprefix(folder)
    return home() / path


def _moved_to(variable: str) -> Path | None:
    """Where the person's variable puts another program's folder; `None`: it does not."""
    named = caller_environ().get(variable, "").strip()
    if not named or (variable.startswith("XDG_") and not named.startswith("/")):
        return None
    try:
        return Path(named).expanduser()
    except RuntimeError:
        return Path(named)  # a user that there is not


def _xdg(variable: str, *fallback: str) -> Path:
    value = os.environ.get(variable, "")
    # The XDG specification says to ignore relative paths.
    base = Path(value) if value.startswith("/") else home().joinpath(*fallback)
    return base / NAME


def config_dir(*, create: bool = False) -> Path:
    """`$XDG_CONFIG_HOME/gsh`; created 0700, but an existing mode is kept. Raises `FolderError`."""
    folder = _xdg("XDG_CONFIG_HOME", ".config")
    return _made(folder, "XDG_CONFIG_HOME", tighten=False) if create else folder


def data_dir(*, create: bool = True) -> Path:
    """`$XDG_DATA_HOME/gsh`, the record's folder, 0700. Raises `FolderError`."""
    folder = _xdg("XDG_DATA_HOME", ".local", "share")
    return _made(folder, "XDG_DATA_HOME", tighten=True) if create else folder


def state_dir(*, create: bool = True) -> Path:
    """`$XDG_STATE_HOME/gsh`: logs, crash reports, drafts; 0700. Raises `FolderError`."""
    folder = _xdg("XDG_STATE_HOME", ".local", "state")
    return _made(folder, "XDG_STATE_HOME", tighten=True) if create else folder


def cache_dir() -> Path:
    """`$XDG_CACHE_HOME/gsh`: what may be removed at any time. Who writes there creates it. Raises `FolderError`."""
    return _xdg("XDG_CACHE_HOME", ".cache")


def runtime_dir(*, create: bool = True) -> Path:
    """`$XDG_RUNTIME_DIR/gsh` for sockets; without a folder of ours there `$TMPDIR/gsh-<uid>`. 0700, ours, not a link.
    Raises `FolderError`: it cannot be created, is a link, or belongs to someone else; nothing may be put there.
    """
    if (base := session_runtime_dir()) is not None:
        folder = base / NAME
    else:
        temporary = os.environ.get("TMPDIR", "")
        folder = Path(temporary if temporary.startswith("/") else "/tmp") / f"{NAME}-{os.getuid()}"
    return _private(folder) if create else folder


def session_runtime_dir() -> Path | None:
    """`$XDG_RUNTIME_DIR`, if it is a folder of ours: after `su` the variable still names another user's."""
    base = Path(os.environ.get("XDG_RUNTIME_DIR", ""))
    try:
        return base if base.is_absolute() and base.is_dir() and base.stat().st_uid == os.getuid() else None
    except OSError:
        return None


KEEPER_STATE = "keeper.json"
"""File in the folder of the record, in which its keeper says where it listens."""


def keeper_sockets() -> list[Path]:
    """Where keepers may listen to commands, in the order in which they are tried: each record has a keeper."""
    folder = runtime_dir(create=False)
    return [folder / "keeper.sock", *(folder / f"keeper-{number}.sock" for number in range(1, _KEEPERS))]


def config_file() -> Path:
    """The user's configuration file, which may not exist."""
    return config_dir() / "config.toml"


def set_up_file(*, create: bool = True) -> Path:
    """Is there once a model was connected, or the offer to connect one was answered. Raises `FolderError`."""
    return data_dir(create=create) / "set-up"


def logs_dir(*, create: bool = True) -> Path:
    """Folder of logs and crash reports. Raises `FolderError`."""
    folder = state_dir(create=create) / "logs"
    return _made(folder, "XDG_STATE_HOME", tighten=True) if create else folder


def project_root(cwd: Path) -> Path:
    """The project that contains a folder: the nearest one upwards with `.git` or `.gsh`, or the folder itself.

    The search ends at the home folder, whose own `.gsh` or `.git` does not make everything below it one project.
    """
    start = cwd.resolve()
    ends = home().resolve()
    for folder in (start, *start.parents):
        if folder == ends and folder != start:
            break
        if _is_there(folder / ".git") or _is_folder(folder / ".gsh"):
            return folder
        if folder == ends:
            break
    return start


def project_config_file(root: Path) -> Path:
    """The project's configuration file, which may not exist and applies only once the folder is trusted."""
    return root / ".gsh" / "config.toml"


def _is_there(path: Path) -> bool:
    """Whether something is at this path; false if we may not look."""
    try:
        return path.exists()
    except OSError:
        return False


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def _made(folder: Path, variable: str, *, tighten: bool) -> Path:
    """Create the folder with its parents, 0700; with `tighten`, remove others' permissions from an existing one.
    `variable`: that puts it elsewhere.
    """
    try:
        private_files.make_folder(folder)
        mode = stat.S_IMODE(folder.stat().st_mode)
        if tighten and mode & 0o077:
            folder.chmod(mode & PRIVATE)
    except FileExistsError as error:
        raise FolderError(f"{folder} is not a folder; move that file away.") from error
    except OSError as error:
        why = error.strerror or str(error)
        what = f"Check its owner and permissions, or set {variable} to a writable folder."
        raise FolderError(f"cannot create or use {folder}: {why}. {what}") from error
    return folder


def _private(folder: Path) -> Path:
    """Create or accept a folder that is ours alone; never follows a link or accepts another user's folder."""
    try:
        folder.mkdir(mode=PRIVATE)
    except FileExistsError:
        pass
    except OSError as error:
        why = error.strerror or str(error)
        raise FolderError(f"cannot create {folder}: {why}. Set XDG_RUNTIME_DIR to a folder of yours.") from error
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise FolderError(f"{folder} is a link or a file, not a folder; remove it, or set XDG_RUNTIME_DIR.")
    if found.st_uid != os.getuid():
        raise FolderError(
            f"{folder} belongs to user {found.st_uid}, not to you; set XDG_RUNTIME_DIR to a folder of yours."
        )
    if stat.S_IMODE(found.st_mode) & 0o077:
        folder.chmod(PRIVATE)
    return folder


def definition_entries(folder: Path, accepts: Callable[[Path], bool], most: int, problems: list[str]) -> list[Path]:
    """The entries of a folder that are accepted, by name; none where there is no folder.

    Args:
        most: entries that are read; that there are more becomes a problem.
        problems: gets a sentence for each thing that keeps an entry from being read.
    """
    try:
        entries = sorted(entry for entry in folder.iterdir() if accepts(entry))
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        problems.append(f"Cannot read {folder}: {error.strerror or error}.")
        return []
    if len(entries) > most:
        problems.append(f"{folder} has {len(entries)} entries; only the first {most} are read.")
    return entries[:most]

"""A shell's start-up file: adds our one line and removes it again, and leaves everything else unchanged.

Makes a backup and replaces the file atomically; follows links, for people who keep these files elsewhere. A file that
cannot be written is an error in one sentence. Called by `gsh-tui shell install` and `uninstall`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from gshtui.settings import paths
from gshtui.shell import plugin


class StartupError(Exception):
    """The file cannot be changed; the text is one sentence with what to do."""


class StartupChange(msgspec.Struct, frozen=True):
    """A change made to a file."""

    file: Path
    changed: bool
    backup: Path | None = None


def file_of(shell: str, environ: Mapping[str, str]) -> Path:
    """The file that an interactive shell reads at its start. Raises `FolderError`."""
    if shell == "bash":
        return paths.home() / ".bashrc"
    if shell == "fish":
        folder = environ.get("XDG_CONFIG_HOME", "")
        return (Path(folder) if folder.startswith("/") else paths.home() / ".config") / "fish" / "config.fish"
    folder = environ.get("ZDOTDIR", "")
    return (Path(folder) if folder.startswith("/") else paths.home()) / ".zshrc"


def has_line(file: Path) -> str:
    """Our line in this file; empty if there is none. Raises `StartupError`."""
    return next((line for line in _read(file).decode("utf-8", "surrogateescape").split("\n") if _is_ours(line)), "")


def add(shell: str, file: Path, *, in_tmux: bool = False) -> StartupChange:
    """Put the line at the end, once; another one of ours is replaced. Raises `StartupError`. `in_tmux`: as of it."""
    wanted = plugin.line(shell, in_tmux=in_tmux)
    if has_line(file) == wanted:
        return StartupChange(file, changed=False)
    kept = _without(_read(file))
    if kept and not kept.endswith(b"\n"):
        kept += b"\n"
    return _replace(file, kept + wanted.encode("utf-8", "surrogateescape") + b"\n")


def take_out(file: Path) -> StartupChange:
    """Take our line out. Raises `StartupError`."""
    before = _read(file)
    after = _without(before)
    return StartupChange(file, changed=False) if after == before else _replace(file, after)


def _is_ours(line: str) -> bool:
    return line.rstrip().endswith(plugin.MARK) and "source " in line


def _without(raw: bytes) -> bytes:
    lines = raw.split(b"\n")
    return b"\n".join(line for line in lines if not _is_ours(line.decode("utf-8", "surrogateescape")))


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise StartupError(f"cannot read {file}: {error.strerror or error}.") from error


def _replace(file: Path, raw: bytes) -> StartupChange:
    """The file with this content: whole or not at all, with the rights that it had. A failure leaves no copy."""
    made: list[Path] = []
    try:
        real = file.resolve()
        real.parent.mkdir(parents=True, exist_ok=True)
        backup = None
        if real.exists():
            backup = real.with_name(f"{real.name}.before-gsh-tui-{time.strftime('%Y%m%d-%H%M%S')}")
            if not backup.exists():
                made.append(backup)
                shutil.copy2(real, backup)
        fresh = real.with_name(f"{real.name}.gsh-tui-{os.getpid()}")
        made.append(fresh)
        with fresh.open("xb") as out:
            out.write(raw)
        if backup is not None:
            shutil.copymode(backup, fresh)
        fresh.replace(real)
    except OSError as error:
        for path in made:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
        why = error.strerror or str(error)
        raise StartupError(f"cannot change {file}: {why}. Add the line yourself, or make the file writable.") from error
    return StartupChange(file, changed=True, backup=backup)

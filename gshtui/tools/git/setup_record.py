"""What became of a worktree's set-up command, kept beside what it printed, for whoever looks at its agent later."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec

from gshtui.system.files import private_files
from gshtui.system.files.private_files import open_reader
from gshtui.system.struct_types import learned
from gshtui.text.sanitise import plain

_RECORD_LIMIT = 64 * 1024
_END = 64 * 1024
"""Bytes of the output's end that are read for its last lines."""


class SetupRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One run of a set-up command, or why there was none."""

    command: str
    said: str
    """What became of it, as a sentence without what it printed."""
    code: int | None = None
    """Its exit code; `None`: it was not run, did not start, or was ended before its end."""
    output: str = ""
    """The file that has all that it printed; empty: nothing, or it could not be kept."""
    sandbox: str = ""
    """Whether it ran in the sandbox, as a sentence; empty: it was not run, or that is not known."""
    refused: tuple[str, ...] = ()
    """What the sandbox refused to it, with what would allow it, a sentence each."""


def write(folder: Path, worktree: Path, record: SetupRecord) -> None:
    """Keep it in place of the worktree's earlier one. Raises `OSError`. `folder`: where outputs and records are."""
    private_files.make_folder(folder)
    private_files.write_whole(_file(folder, worktree), msgspec.json.encode(record))


def find(folder: Path, worktree: Path) -> SetupRecord | None:
    """The last one of this worktree; `None` where there is none that can be read."""
    try:
        with open_reader(private_files.open_existing(_file(folder, worktree))) as file:
            return msgspec.json.decode(file.read(_RECORD_LIMIT), type=learned(SetupRecord))
    except (OSError, msgspec.DecodeError):
        return None


def last_lines(record: SetupRecord, most: int) -> tuple[list[str], bool]:
    """At most so many of the last lines that the command printed, whole, and whether there are more before them."""
    if not record.output:
        return [], False
    try:
        with Path(record.output).open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - _END))
            text = plain(file.read(_END).decode("utf-8", "replace"))
    except OSError:
        return [], False
    lines = text.rstrip("\n").split("\n")
    if size > _END:
        lines = lines[1:]  # the first one is only the end of one
    return lines[-most:], size > _END or len(lines) > most


def _file(folder: Path, worktree: Path) -> Path:
    digest = hashlib.sha256(os.fsencode(worktree.resolve())).hexdigest()[:16]
    return folder / f"{digest}.set-up.json"

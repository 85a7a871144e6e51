"""Words for one shell, shown by its plugin before the next prompt: an agent that was started from there has ended.

Owns the file of each shell, beside the plugins' options; refuses whatever is no shell's id, and to grow. Written by
agents in their own processes, read and emptied by the plugins; called by the fleet and by the life of a native agent.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from pathlib import Path

from gshtui.shell import options
from gshtui.system import private_files

_SHELL = re.compile(r"[0-9A-Za-z-]{1,100}")
_MOST = 8_192
"""Bytes of a file that nobody reads."""
_ABANDONED = 7 * 86_400.0
"""Seconds after which a file is removed: its shell is gone."""


def file_of(shell: str) -> Path | None:
    """Where a shell looks for words, the folder made; `None` for what is no shell's id. Raises `OSError`."""
    if not _SHELL.fullmatch(shell):
        return None
    folder = options.folder(create=True)
    with contextlib.suppress(OSError):
        for old in folder.glob("notice-*"):
            if old.lstat().st_mtime < time.time() - _ABANDONED:
                old.unlink()
    return folder / f"notice-{shell}"


def leave(file: Path, text: str) -> None:
    """Add a line to the file. Nothing happens when it is full, or cannot be written: it is only a courtesy."""
    line = "".join(letter if letter.isprintable() else " " for letter in text)[:500].encode() + b"\n"
    with contextlib.suppress(OSError):
        descriptor = private_files.open_file(file, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK)
        try:
            if os.fstat(descriptor).st_size < _MOST:
                os.write(descriptor, line)
        finally:
            os.close(descriptor)


def ended(name: str, id: str, done: bool) -> str:
    """What is said of an agent that has ended. `name`: of its terminal's session."""
    return f"[gsh] Agent {name} {'completed' if done else 'failed'}: gsh show {id.lstrip('0') or id}"

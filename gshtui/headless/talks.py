"""Which conversation goes on when somebody asks again at the same prompt: one for each shell and project.

Owns small files in the state folder, removed after a while; refuses nothing: what cannot be read or written only means
a new conversation. Called by `ask`.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import time
from pathlib import Path

from gshtui.settings import paths
from gshtui.shell import options
from gshtui.system import private_files

_KEPT = 7 * 86_400.0
"""Seconds that a conversation may be gone on with."""


class Talk:
    """The conversation of this shell in this project."""

    def __init__(self, cwd: Path) -> None:
        shell = os.environ.get("GSH_SHELL_ID") or _terminal()
        key = hashlib.sha256(f"{shell}\0{paths.project_root(cwd)}".encode("utf-8", "surrogateescape")).hexdigest()
        self._file = options.folder() / "talks" / key[:32]

    def session(self) -> str:
        """Its id; empty when there is none to go on with."""
        with contextlib.suppress(OSError):
            if time.time() - self._file.stat().st_mtime < _KEPT:
                found = self._file.read_text("utf-8", "replace").strip()
                return found if re.fullmatch(r"[0-9a-zA-Z-]{6,64}", found) else ""
        return ""

    def asked(self) -> float:
        """When it was last gone on with, seconds since the epoch; 0: never."""
        with contextlib.suppress(OSError):
            return self._file.stat().st_mtime
        return 0.0

    def keep(self, session: str) -> None:
        """Go on with this one."""
        with contextlib.suppress(OSError):
            options.folder(create=True)
            private_files.make_folder(self._file.parent)
            private_files.write_whole(self._file, session.encode() + b"\n")
            for old in self._file.parent.iterdir():
                if time.time() - old.stat().st_mtime > _KEPT:
                    old.unlink()


def _terminal() -> str:
    """The terminal and whoever leads it: as much as is known where no plugin says which shell this is."""
    with contextlib.suppress(OSError):
        return f"{os.ttyname(0)} {os.getsid(0)}"
    return ""

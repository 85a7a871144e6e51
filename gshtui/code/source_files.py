"""The source files of a project, and those that name a symbol, found on disk.

A server that was just started answers before it has read the project. It knows the files that it was shown, so those
that matter for a question are shown to it first. Folders that hold no sources of the project's own are left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from gshtui.code.language_session import LARGEST

_LEFT_OUT = frozenset({"node_modules", "__pycache__", "venv", "target", "dist", "build", "vendor", "site-packages"})
_MOST_FILES = 20_000
_MOST_BYTES = 64 << 20


def source_files(project: Path, is_source: Callable[[str], object]) -> Iterator[Path]:
    """Files of a real folder whose names are those of sources; a bounded number. Blocks for a moment."""
    left = _MOST_FILES
    for folder, folders, names in os.walk(project):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _LEFT_OUT)
        for name in sorted(names):
            if is_source(name):
                yield Path(folder, name)
                left -= 1
                if not left:
                    return


def files_with(word: str, project: Path, is_source: Callable[[str], object], most: int) -> list[Path]:
    """Sources that have a word, so many at most. Blocks for a moment."""
    pattern = re.compile(rb"(?<!\w)%b(?!\w)" % re.escape(word.encode("utf-8", "replace")))
    found: list[Path] = []
    read = 0
    for path in source_files(project, is_source):
        try:
            if path.stat().st_size > LARGEST:
                continue
            raw = path.read_bytes()
        except OSError:
            continue
        read += len(raw)
        if pattern.search(raw):
            found.append(path)
        if len(found) >= most or read > _MOST_BYTES:
            break
    return found

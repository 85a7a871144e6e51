"""The files that instructions for agents take in by `@path`, as Claude Code and Gemini CLI read them."""

from __future__ import annotations

import functools
import os
import stat
from pathlib import Path

from gshtui.settings.toml_file import read_bytes

_DEEPEST = 5
"""Files that take one another in, one inside the other."""
_MOST = 50
_LARGEST = 64 * 1024
"""Bytes of a file in which imports are looked for."""


def imported_files(file: Path, root: Path | None) -> list[Path]:
    """The existing files that this one takes in, and those that they do, in order, each once. Never raises. `root`: the
    folder that all of them must be in, links followed; `None`: anywhere, since they are the person's own.
    """
    found: dict[str, Path] = {os.path.realpath(file): file}
    inside = None if root is None else os.path.realpath(root)

    def follow(one: Path, depth: int) -> None:
        for name in _names(one):
            try:
                path = Path(os.path.normpath(one.parent / Path(name).expanduser()))
            except RuntimeError:  # the home of a user whom nobody knows
                continue
            real = os.path.realpath(path)
            if real in found or len(found) > _MOST or not _is_file(real):
                continue
            if inside is not None and not Path(real).is_relative_to(inside):
                continue
            found[real] = path
            if depth < _DEEPEST:
                follow(path, depth + 1)

    follow(file, 1)
    return list(found.values())[1:]


def _is_file(real: str) -> bool:
    try:
        return stat.S_ISREG(os.stat(real).st_mode)  # noqa: PTH116
    except (OSError, ValueError):
        return False


def _names(file: Path) -> tuple[str, ...]:
    try:
        info = file.stat()
    except (OSError, ValueError):
        return ()
    if not stat.S_ISREG(info.st_mode) or info.st_size > _LARGEST:
        return ()
    return _names_in(file, info.st_mtime_ns, info.st_size, info.st_ino)


@functools.lru_cache(maxsize=256)
def _names_in(file: Path, _mtime: int, _size: int, _inode: int) -> tuple[str, ...]:
    """What stands behind each `@` at the beginning of a word, outside of code."""
    try:
        text = (read_bytes(file) or b"").decode("utf-8", "replace")
    except OSError:
        return ()
    names: list[str] = []
    fence = ""
    for line in text.splitlines():
        begun = line.lstrip()[:3]
        if begun in ("```", "~~~") and fence in ("", begun):
            fence = "" if fence else begun
        elif not fence:
            prose = " ".join(line.split("`")[::2])  # what stands between backticks is code
            names += [word[1:] for word in prose.split() if word.startswith("@") and len(word) > 1]
    return tuple(
        name for word in dict.fromkeys(names) for name in dict.fromkeys((word, word.rstrip(".,;:!?)"))) if name
    )

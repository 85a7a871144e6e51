"""What only root may read: in a sandbox of root's, which has root's files, it is hidden like anybody's keys.

Without its capabilities root still is the owner of these files. Looks at modes; opens and changes nothing.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

_PLACES = (("/etc", 8), ("/var", 2), ("/var/spool", 3), ("/var/backups", 2))
"""Folders, and how many levels of each are looked through."""
_KERNEL = ("/sys/kernel/debug", "/sys/kernel/tracing", "/sys/kernel/security", "/sys/fs/pstore", "/sys/fs/bpf")
_KEPT_FOR = 60.0
"""Seconds for which the answer is believed: these files change seldom, and each command asks."""
_MOST = 400


def root_files(user: int) -> tuple[Path, ...]:
    """Files and folders that only root may read, where this user is root; of a folder, what is in it is not named.
    `user`: an effective user id.
    """
    return _files_of_root(int(time.monotonic() / _KEPT_FOR)) if user == 0 else ()


@lru_cache(maxsize=1)
def _files_of_root(_minute: int) -> tuple[Path, ...]:
    found: dict[str, None] = {}
    for place, levels in _PLACES:
        found.update(dict.fromkeys(_private(place, levels)))
    found.update((place, None) for place in _KERNEL if Path(place).is_dir())
    return tuple(map(Path, list(found)[:_MOST]))


def _private(place: str, levels: int) -> Iterator[str]:
    """What others may not read below a folder; a folder that others may not enter stands for what is in it."""
    try:
        with os.scandir(place) as entries:
            for entry in entries:
                mode = entry.stat(follow_symlinks=False).st_mode
                if stat.S_ISDIR(mode):
                    if mode & 0o005 != 0o005:
                        yield entry.path
                    elif levels > 1:
                        yield from _private(entry.path, levels - 1)
                elif stat.S_ISREG(mode) and not mode & 0o004:
                    yield entry.path
    except OSError:
        return

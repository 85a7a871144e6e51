"""Which installation of the program this process runs: an update may leave the version's number as it was.

Read once, at the start, since an update replaces the files under a running process.
"""

from __future__ import annotations

import os

import gshtui


def _installed_at() -> int:
    try:
        return int(os.stat(gshtui.__file__).st_mtime)  # noqa: PTH116  (`Path` costs as much as the rest of a call)
    except (OSError, TypeError):
        return 0  # not from a file


INSTALLED_AT = _installed_at()
"""When the package was installed, in seconds since the epoch."""

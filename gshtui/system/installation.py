"""Which installation of the program this process runs, and how another process of it is started.

Which: an update may leave the version's number as it was. Read once, at the start, since an update replaces the files
under a running process.
"""

# Importing pathlib takes longer than all of this.
# ruff: noqa: PTH116, PTH118, PTH120

from __future__ import annotations

import os
import sys

import gshtui


def installed_at(package: str) -> int:
    """When the package in this folder was installed or, in a clone, last pulled, in seconds since the epoch."""
    newest = 0.0
    # git appends to this file whenever it changes which commit the files are of.
    for file in (os.path.join(package, "__init__.py"), os.path.join(package, "..", ".git", "logs", "HEAD")):
        try:
            newest = max(newest, os.stat(file).st_mtime)
        except OSError:
            pass  # the package is not in a clone, or not in files
    return int(newest)


INSTALLED_AT = installed_at(os.path.dirname(gshtui.__file__))
"""Of the package of this process."""


def own_command(*words: str) -> list[str]:
    """The command line of this program with these words. `-P`: nothing is imported from the folder that it starts in,
    which may be an agent's."""
    return [sys.executable, "-P", "-m", "gshtui", *words]

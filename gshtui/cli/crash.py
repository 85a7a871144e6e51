"""The last resort: an exception that nobody expected becomes a file and one sentence.

Never raises, never prints a traceback. Called by `entry` alone.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
import traceback

from gshtui import __version__
from gshtui.settings import paths


def report(error: BaseException) -> int:
    """Write the crash report, say where it is, give the exit code."""
    what = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    text = "".join(traceback.format_exception(error))
    head = f"gsh-tui {__version__}, Python {sys.version.split()[0]}, {sys.platform}, arguments: {len(sys.argv) - 1}\n\n"
    stamp = time.strftime("%Y%m%dT%H%M%S")
    try:
        file = paths.logs_dir() / f"crash-{stamp}-{os.getpid()}.log"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(file, flags, 0o600), "w", encoding="utf-8", errors="backslashreplace") as out:
            out.write(head + text)
        where = f"The details are in {file}."
    except OSError as failure:
        where = f"The details could not be written: {failure.strerror or failure}."
    said = f"gsh-tui: something went wrong that should not have: {what}. {where}\n"
    shown = "".join(char if char.isprintable() or char == "\n" else "?" for char in said)
    with contextlib.suppress(OSError):
        os.write(2, shown.encode("utf-8", "replace"))
    return 1

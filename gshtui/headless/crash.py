"""A fault that nobody expected becomes a file and one sentence, never a traceback on a terminal.

Catches what escapes commands, tasks and threads. Never raises. Called by `cli` and by `running`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import threading
from typing import Any

from gshtui.headless.streams import STDERR, write_all
from gshtui.settings import paths
from gshtui.system.faults import write_report


def report(error: BaseException) -> int:
    """Write the report, say where it is, give the exit code."""
    what = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    said = f"gsh-tui: something went wrong that should not have: {what}. {_written(error)}\n"
    shown = "".join(char if char.isprintable() or char == "\n" else "?" for char in said)
    with contextlib.suppress(OSError):
        write_all(STDERR, shown.encode("utf-8", "replace"))
    return 1


def catch_in_threads() -> None:
    """Report what escapes a thread or a finaliser, and keep libraries' warnings off the terminal."""

    def in_thread(escaped: threading.ExceptHookArgs) -> None:
        if escaped.exc_value is not None:
            report(escaped.exc_value)

    def unraisable(escaped: sys.UnraisableHookArgs) -> None:
        # In a finaliser at the very end of a process: nothing was lost, so the file is enough.
        if isinstance(escaped.exc_value, Exception):
            _written(escaped.exc_value)

    threading.excepthook = in_thread
    sys.unraisablehook = unraisable
    logging.getLogger().addHandler(logging.NullHandler())


def catch_in_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Report what escapes a task or a callback of this loop."""

    def escaped(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, BaseException):
            report(error)
        elif context.get("message"):
            _written(RuntimeError(str(context["message"])))

    loop.set_exception_handler(escaped)


def _written(error: BaseException) -> str:
    """Write the report; one sentence that says where it is."""
    try:
        file = write_report(paths.logs_dir(), error)
    except OSError as failure:
        return f"The details could not be written: {failure.strerror or failure}."
    return f"The details are in {file}."

"""A crash becomes a file and one sentence that names it. Loads little: every command imports it at its start."""

from __future__ import annotations

import contextlib
import logging
import sys
import threading

from gshtui.headless.streams import STDERR, complain, shown, write_all


def report_crash(error: BaseException) -> int:
    """Write a report and print where it is; returns the exit code."""
    from gshtui.system.faults import outside_failure

    if (outside := outside_failure(error)) is not None:
        complain(f"{outside[0]}.", outside[1])
        return 1
    what = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    said = f"gsh-tui: internal error: {what}. {written(error)}\n"
    with contextlib.suppress(OSError):
        write_all(STDERR, shown("".join(char if char.isprintable() or char == "\n" else "?" for char in said), STDERR))
    return 1


def catch_in_threads() -> None:
    """Report exceptions that escape a thread or a finaliser, and keep libraries' warnings off the terminal."""

    def in_thread(escaped: threading.ExceptHookArgs) -> None:
        if escaped.exc_value is not None:
            report_crash(escaped.exc_value)

    def unraisable(escaped: sys.UnraisableHookArgs) -> None:
        # In a finaliser at the very end of a process: nothing was lost, so the file is enough.
        if isinstance(escaped.exc_value, Exception):
            written(escaped.exc_value)

    threading.excepthook = in_thread
    sys.unraisablehook = unraisable
    logging.getLogger().addHandler(logging.NullHandler())


def written(error: BaseException) -> str:
    """Write the report; returns a sentence that says where it is."""
    from gshtui.guard.secrets.report_redaction import redact_report
    from gshtui.settings import paths
    from gshtui.system.faults import write_report

    try:
        file = write_report(paths.logs_dir(), error, clean=redact_report)
    except OSError as failure:
        return f"The details could not be written: {failure.strerror or failure}."
    return f"The details are in {file}."

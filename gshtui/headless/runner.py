"""Runs one command's coroutine: one signal asks it to stop, a second one ends it, a crash becomes a file and a line."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from gshtui.headless.exits import INTERRUPTED
from gshtui.headless.streams import STDERR, write_all
from gshtui.settings import paths
from gshtui.system.faults import write_report


def report_crash(error: BaseException) -> int:
    """Write a report and print where it is; returns the exit code."""
    what = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    said = f"gsh-tui: internal error: {what}. {_written(error)}\n"
    shown = "".join(char if char.isprintable() or char == "\n" else "?" for char in said)
    with contextlib.suppress(OSError):
        write_all(STDERR, shown.encode("utf-8", "replace"))
    return 1


def catch_in_threads() -> None:
    """Report exceptions that escape a thread or a finaliser, and keep libraries' warnings off the terminal."""

    def in_thread(escaped: threading.ExceptHookArgs) -> None:
        if escaped.exc_value is not None:
            report_crash(escaped.exc_value)

    def unraisable(escaped: sys.UnraisableHookArgs) -> None:
        # In a finaliser at the very end of a process: nothing was lost, so the file is enough.
        if isinstance(escaped.exc_value, Exception):
            _written(escaped.exc_value)

    threading.excepthook = in_thread
    sys.unraisablehook = unraisable
    logging.getLogger().addHandler(logging.NullHandler())


def catch_in_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Report exceptions that escape a task or a callback of this loop."""

    def escaped(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, BaseException):
            report_crash(error)
        elif context.get("message"):
            _written(RuntimeError(str(context["message"])))

    loop.set_exception_handler(escaped)


def _written(error: BaseException) -> str:
    """Write the report; returns a sentence that says where it is."""
    try:
        file = write_report(paths.logs_dir(), error)
    except OSError as failure:
        return f"The details could not be written: {failure.strerror or failure}."
    return f"The details are in {file}."


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stop:
    """Whether the command was asked to stop, and by what."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.signalled = False
        self.unread = False
        """Whether nobody reads the output any more."""

    def nobody_reads(self) -> None:
        """Ask it to stop because nobody reads its output."""
        self.unread = True
        self.asked.set()


def run_command(command: Callable[[Stop], Awaitable[int]]) -> int:
    """Run the command to its end; returns its exit code."""
    return asyncio.run(_run(command))


async def _run(command: Callable[[Stop], Awaitable[int]]) -> int:
    stop = Stop()
    loop = asyncio.get_running_loop()
    catch_in_loop(loop)

    def told() -> None:
        if stop.signalled:
            os._exit(INTERRUPTED)  # asked twice: whatever it is waiting for, it will not end by itself
        stop.signalled = True
        stop.asked.set()

    for number in SIGNALS:
        loop.add_signal_handler(number, told)
    try:
        return await command(stop)
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)


async def until_stopped(work: Awaitable[int], stop: Stop) -> int:
    """The work's exit code, or 130 if it was cancelled because somebody asked to stop."""
    task = asyncio.ensure_future(work)
    asked = asyncio.ensure_future(stop.asked.wait())
    try:
        await asyncio.wait({task, asked}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        return INTERRUPTED
    finally:
        asked.cancel()

"""Runs one command's coroutine with the signals that may end it: the first asks it to stop, the second does not ask.

SIGINT, SIGTERM and SIGHUP all mean "stop, and keep everything". Called by every headless command.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable
from contextlib import suppress

from gshtui.headless.crash import catch_in_loop
from gshtui.headless.exits import INTERRUPTED

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stop:
    """Whether the command was asked to stop, and by what."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.signalled = False
        self.unread = False
        """Nobody reads the output any more."""

    def nobody_reads(self) -> None:
        """Ask it to stop because its output goes nowhere."""
        self.unread = True
        self.asked.set()


def run(command: Callable[[Stop], Awaitable[int]]) -> int:
    """Run the command to its end and give its exit code."""
    return asyncio.run(_run(command))


async def _run(command: Callable[[Stop], Awaitable[int]]) -> int:
    stop = Stop()
    loop = asyncio.get_running_loop()
    catch_in_loop(loop)

    def told() -> None:
        if stop.signalled:
            os._exit(INTERRUPTED)  # asked twice: whatever it waits for, it does not end by itself
        stop.signalled = True
        stop.asked.set()

    for number in SIGNALS:
        loop.add_signal_handler(number, told)
    try:
        return await command(stop)
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)


async def until_asked(work: Awaitable[int], stop: Stop) -> int:
    """The work's exit code, or 130 when it was cancelled because somebody asked to stop."""
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

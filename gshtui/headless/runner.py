"""Runs one command's coroutine: one signal asks it to stop, a second one ends it, a crash becomes a file and a line."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Awaitable, Callable
from functools import partial
from selectors import BaseSelector
from typing import Any

from gshtui.headless.crash import report_crash, written
from gshtui.headless.exits import INTERRUPTED
from gshtui.headless.streams import LINE_FACE
from gshtui.system.processes.processes import kill_calls
from gshtui.system.tasks import cancel_and_wait


def catch_in_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Report exceptions that escape a task or a callback of this loop."""

    def escaped(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if isinstance(error, BaseException):
            report_crash(error)
        elif context.get("message"):
            written(RuntimeError(str(context["message"])))

    loop.set_exception_handler(escaped)


_LOADED_AFTER = 10.0
"""Seconds after which a command that goes on has loaded what it needs."""
_GARBAGE = (50_000, 20, 100)
"""Thresholds of the garbage collector from then on."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


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


def run_command(command: Callable[[Stop], Awaitable[int]], selector: BaseSelector | None = None) -> int:
    """Run the command to its end; returns its exit code. `selector`: the event loop's, if not the usual one."""
    loop_factory = partial(asyncio.SelectorEventLoop, selector) if selector is not None else None
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        return runner.run(_run(command))


def collect_later(loop: asyncio.AbstractEventLoop) -> None:
    """Have garbage collected once everything is loaded, where the start of the program has put that off."""
    if gc.get_threshold()[0] > _GARBAGE[0]:
        loop.call_later(_LOADED_AFTER, _collect)


def _collect() -> None:
    """What was made until now stays; what is made from now on is collected now and then."""
    gc.freeze()
    gc.set_threshold(*_GARBAGE)


async def _run(command: Callable[[Stop], Awaitable[int]]) -> int:
    stop = Stop()
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    stays = LINE_FACE.get()
    collect_later(loop)
    catch_in_loop(loop)

    ends: list[int] = []

    def told(number: int) -> None:
        if stays and number in (signal.SIGTERM, signal.SIGHUP):
            ends.append(number)
        if stop.signalled:
            kill_calls()
            if not stays or ends or task is None:
                os._exit(INTERRUPTED)  # asked twice: whatever it is waiting for, it will not end by itself
            task.cancel()
        stop.signalled = True
        stop.asked.set()

    for number in SIGNALS:
        loop.add_signal_handler(number, told, number)
    try:
        return await command(stop)
    except asyncio.CancelledError:
        if not (stays and stop.signalled):
            raise
        return INTERRUPTED
    finally:
        for number in SIGNALS:
            loop.remove_signal_handler(number)
        for number in ends:  # they were for the process, too
            os.kill(os.getpid(), number)


async def until_stopped(work: Awaitable[int], stop: Stop) -> int:
    """The work's exit code, or 130 if it was cancelled because somebody asked to stop."""
    task = asyncio.ensure_future(work)
    asked = asyncio.ensure_future(stop.asked.wait())
    try:
        await asyncio.wait({task, asked}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        await cancel_and_wait(task)
        return INTERRUPTED
    finally:
        asked.cancel()

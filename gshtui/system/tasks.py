"""Tasks in the background that nobody waits for: none of them ends without a word.

Owns how such a task is started, and what becomes of a fault in it: it goes to the event loop's exception handler (as
`message`, `exception` and `part`), which the hub and every face have set, and never any further. A duty is begun again,
after a pause that grows. Refuses to swallow: `CancelledError`, `KeyboardInterrupt` and `SystemExit` pass.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from gshtui.system.faults import expected

T = TypeVar("T")

FIRST_PAUSE = 0.2
"""Seconds until a duty that failed is begun again; twice as long each time."""
LONGEST_PAUSE = 30.0
_WORKS = 60.0
"""A duty that ran for so many seconds works again: the next pause is the first one."""


def keep_on(duty: Callable[[], Awaitable[None]], name: str) -> asyncio.Task[None]:
    """Do a duty until it returns or is cancelled; one that fails is reported and begun again.

    Args:
        duty: gives a new coroutine each time it is called.
        name: what it is, in a person's words, for the report; the task's name too.
    """
    return asyncio.get_running_loop().create_task(_again(duty, name), name=name)


def start_job(work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T | None]:
    """Do something once; when it fails, that is reported and the task's result is `None`."""
    task = asyncio.get_running_loop().create_task(_once(work, name), name=name)
    task.add_done_callback(lambda _: work.close())  # one that was cancelled before it began
    return task


def report(part: str, error: BaseException, hint: str = "", *, shown: bool = False) -> None:
    """Hand a fault that was caught to the loop's exception handler.

    `shown`: the person is told where it happened, so it is only written down.
    """
    asyncio.get_running_loop().call_exception_handler(
        {"message": f"{part} failed", "exception": error, "part": part, "hint": hint, "shown": shown}
    )


def report_unexpected(part: str, error: BaseException) -> None:
    """For who catches everything and says it: what nobody raised on purpose is written down too."""
    if not expected(error):
        report(part, error, shown=True)


async def attempt(part: str, work: Awaitable[T], *passes: type[Exception]) -> T | None:
    """Wait for one of many pieces of work; a fault in it is reported and keeps none of the others from being done.

    `passes`: errors that concern all of them, and are raised.
    """
    try:
        return await work
    except passes:
        raise
    except Exception as error:
        report(part, error)
        return None


async def end_all(part: str, *steps: Callable[[], Awaitable[object] | None]) -> None:
    """Do every step of an end, in order; one that fails is reported, and the next ones are done all the same."""
    for step in steps:
        try:
            waits = step()
            if waits is not None:
                await waits
        except Exception as error:
            report(part, error)


async def _once(work: Coroutine[Any, Any, T], name: str) -> T | None:
    try:
        return await work
    except Exception as error:
        report(name, error)
        return None


async def _again(duty: Callable[[], Awaitable[None]], name: str) -> None:
    pause = FIRST_PAUSE
    while True:
        began = time.monotonic()
        try:
            await duty()
            return
        except asyncio.CancelledError as error:
            if (task := asyncio.current_task()) is None or task.cancelling():
                raise
            failure: BaseException = error  # something that it waited for was cancelled, not the duty
        except Exception as error:
            failure = error
        report(name, failure, f"It is begun again in {pause:g} s.")
        if time.monotonic() - began > _WORKS:
            pause = FIRST_PAUSE
        await asyncio.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)

"""Background tasks that nobody awaits: none of them fails silently.

A fault goes to the event loop's exception handler (as `message`, `exception` and `part`), which the hub and every face
set. A duty is restarted after a growing pause. `CancelledError`, `KeyboardInterrupt` and `SystemExit` pass through.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from gshtui.system.faults import expected

T = TypeVar("T")

FIRST_PAUSE = 0.2
"""Seconds until a failed duty is restarted; doubled each time."""
LONGEST_PAUSE = 30.0
_WORKS = 60.0
"""A duty that ran for so many seconds counts as working: the next pause is the first one again."""


def keep_on(duty: Callable[[], Awaitable[None]], name: str) -> asyncio.Task[None]:
    """Run a duty until it returns or is cancelled; report one that fails by its name, and restart it."""
    return asyncio.get_running_loop().create_task(_again(duty, name), name=name)


def start_job(work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T | None]:
    """Run something once; a failure is reported, and the task's result is then `None`."""
    task = asyncio.get_running_loop().create_task(_once(work, name), name=name)
    task.add_done_callback(lambda _: work.close())  # cancelled before it began
    return task


def report(part: str, error: BaseException, hint: str = "", *, shown: bool = False) -> None:
    """Hand a caught fault to the loop's exception handler.

    `shown`: the person already sees it where it happened, so it is only written down.
    """
    asyncio.get_running_loop().call_exception_handler(
        {"message": f"{part} failed", "exception": error, "part": part, "hint": hint, "shown": shown}
    )


def report_unexpected(part: str, error: BaseException) -> None:
    """For callers that catch and show everything: also write down what nobody raised on purpose."""
    if not expected(error):
        report(part, error, shown=True)


async def attempt(part: str, work: Awaitable[T], *passes: type[Exception]) -> T | None:
    """Await one of many pieces of work; report its fault without keeping the others from being done.

    `passes`: errors that concern all of them, and are raised.
    """
    try:
        return await work
    except passes:
        raise
    except Exception as error:
        report(part, error)
        return None


async def cancel_and_wait(*tasks: asyncio.Future[Any] | None, within: float | None = None) -> None:
    """Cancel tasks, and wait until they have ended, at most `within` seconds. `None` among them is nothing to do.

    An unexpected fault of one of them is reported. A cancellation of the caller is never taken for theirs: it is raised
    at once, and they go on ending.
    """
    here = asyncio.current_task()
    going = [task for task in tasks if task is not None and task is not here]
    for task in going:
        task.cancel()
    if not going:
        return
    await asyncio.wait(going, timeout=within)
    for task in going:
        error = task.exception() if task.done() and not task.cancelled() else None
        if error is not None and not expected(error):
            report(task.get_name() if isinstance(task, asyncio.Task) else "a background task", error)


async def end_all(part: str, *steps: Callable[[], Awaitable[object] | None]) -> None:
    """Run every step of a shutdown, in order; a failing step is reported, and the rest still run."""
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
            failure: BaseException = error  # something that it awaited was cancelled, not the duty
        except Exception as error:
            failure = error
        report(name, failure, f"It will be restarted in {pause:g} s.")
        if time.monotonic() - began > _WORKS:
            pause = FIRST_PAUSE
        await asyncio.sleep(pause)
        pause = min(pause * 2, LONGEST_PAUSE)

"""Runs a benchmark's coroutine so that a signal ends it in order: what it has started is ended, then the program."""

import asyncio
import signal
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

SIGNALS = (signal.SIGTERM, signal.SIGHUP)
T = TypeVar("T")


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run it; a signal cancels it. Raised in the midst of a callback, as it is elsewhere, it would be one task's end.

    Raises:
        SystemExit: a signal came, and the work has ended.
    """
    told: list[int] = []

    async def until_told() -> T:
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(work)

        def tell(number: int) -> None:
            told.append(number)
            task.cancel()

        for number in SIGNALS:
            loop.add_signal_handler(number, tell, number)
        return await task

    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        return asyncio.run(until_told())
    except asyncio.CancelledError:
        if not told:
            raise
        sys.exit(128 + told[0])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

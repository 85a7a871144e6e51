"""`asyncio.timeout`, right also in a task that is being cancelled.

Before Python 3.11.3, the clean-up of such a task gets another `CancelledError` from its first time limit instead of a
`TimeoutError` (CPython issue 102780), and leaves behind what it meant to end.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager


@asynccontextmanager
async def time_limit(seconds: float | None) -> AsyncGenerator[asyncio.Timeout]:
    """A block that ends with `TimeoutError` after so many seconds; `None`: it has no limit. Raises `TimeoutError`: the
    block was not done in time.
    """
    task = asyncio.current_task()
    assert task is not None
    before = task.cancelling()
    limit = asyncio.timeout(seconds)
    try:
        async with limit:
            yield limit
    except asyncio.CancelledError as error:
        if limit.expired() and task.cancelling() <= before:
            raise TimeoutError from error
        raise

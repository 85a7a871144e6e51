"""What a test has opened is closed with it: `contextlib.closing`, for what has to be awaited."""

import contextlib
from collections.abc import AsyncGenerator
from typing import Protocol, TypeVar


class AsyncCloses(Protocol):
    """Something that has to be closed."""

    async def close(self) -> None:
        """Close it."""


C = TypeVar("C", bound=AsyncCloses)


@contextlib.asynccontextmanager
async def closing_async(opened: C) -> AsyncGenerator[C]:
    """Close it at the end, however that comes."""
    try:
        yield opened
    finally:
        await opened.close()

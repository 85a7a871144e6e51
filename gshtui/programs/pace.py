"""Many looks at screens, one after the other and a moment apart, so that a person's keys come in between.

Owns when the next one may be; refuses to know what is looked at. Shared by all statuses that a fleet follows.
"""

from __future__ import annotations

import asyncio

_APART = 0.005
"""Seconds. A look costs about a fifth of it, and fifty that are wanted at once are over in a quarter of a second."""


class Pace:
    """Lets callers go on one by one; the first goes on at once."""

    def __init__(self) -> None:
        self._next = 0.0

    async def wait(self) -> None:
        """Until it is this caller's turn."""
        now = asyncio.get_running_loop().time()
        at = max(now, self._next)
        self._next = at + _APART
        if at > now:
            await asyncio.sleep(at - now)

"""How far apart the looks at programs' screens are, so that many that are wanted at once do not come at once."""

from __future__ import annotations

import asyncio

_APART = 0.005
"""Seconds. A look costs about a fifth of it, and fifty that are wanted at once are over in a quarter of a second."""


class Pacer:
    """Lets callers pass one at a time; the first passes at once.

    Attributes:
        close: the programs that are looked at all the time at this moment.
        steady: those that go on as they did.
    """

    def __init__(self) -> None:
        self.close = set[object]()
        self.steady = set[object]()
        self._next = 0.0

    async def wait(self) -> None:
        """Until it is this caller's turn."""
        now = asyncio.get_running_loop().time()
        at = max(now, self._next)
        self._next = at + _APART
        if at > now:
            await asyncio.sleep(at - now)


_SHIFT, _GOLDEN = 0.25, 0.618
"""The greatest part of a wait that is added to it, and how that part goes from look to look: if all waits were equal, a
spinner that turns once in each would seem to stand still."""


def uneven(wait: float, number: int) -> float:
    """The seconds before look `number`, where they are to be at least `wait`."""
    return wait * (1 + _SHIFT * (number * _GOLDEN % 1))

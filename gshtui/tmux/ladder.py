"""How commands reach the server: the ladder's rung in use, and what a call costs on it.

Callers ask; which way it goes is decided here. The mirror, the watcher and every call of `server` come through it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Literal

from gshtui.tmux.forked import DEADLINE, Forked, Reply

Rung = Literal["control", "chained", "none"]


class Ladder:
    """The way to one server."""

    def __init__(self, address: Sequence[str], forked: Forked) -> None:
        self._address = tuple(address)
        self._forked = forked
        self.may_control = False
        """Whether this tmux can do what the upper rung needs."""
        self.rung: Rung = "chained"
        self.cost_ms = 0.0
        """Milliseconds of a call, smoothed."""

    async def ask(self, lines: Sequence[str], *, deadline: float = DEADLINE, once: bool = False) -> list[Reply]:
        """Run command lines, a reply for each. `once`: never a second time, as they may have been carried out."""
        began = time.perf_counter()
        replies = await self._forked.ask(lines, deadline=deadline)
        spent = 1e3 * (time.perf_counter() - began)
        self.cost_ms = spent if not self.cost_ms else 0.8 * self.cost_ms + 0.2 * spent
        return replies

    async def close(self) -> None:
        """Let go of what is open."""

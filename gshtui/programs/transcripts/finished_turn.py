"""That the last turn of a program's transcript is finished, as evidence that the program rests.

It is read only when the program's screen shows no work: of a turn under way, a transcript tells nothing in time.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from gshtui.programs.evidence import Evidence, LiveSource, Rank
from gshtui.programs.transcripts.transcript_readers import TurnText


class FinishedTurn(LiveSource):
    """The transcript of one agent's conversation."""

    def __init__(self, last_turn: Callable[[], Awaitable[TurnText | None]]) -> None:
        self._last_turn = last_turn
        self._turn: TurnText | None = None
        self._confirmed = 0.0
        self._changed: Callable[[], None] | None = None

    @property
    def evidence(self) -> Evidence | None:
        """That it rests, since its last words were written down."""
        turn = self._turn
        if turn is None or not turn.over:
            return None
        why = "its turn is finished"
        final = turn.final
        return Evidence(Rank.TRANSCRIPT, "transcript", "idle", turn.written, self._confirmed, why=why, final=final)

    async def start(self, changed: Callable[[], None]) -> None:
        """Begin."""
        self._changed = changed

    async def refresh(self, *, quiet: bool) -> None:
        """Read it, if that matters now."""
        if not quiet:
            return
        before, self._turn = self._turn, await self._last_turn()
        self._confirmed = time.time()
        if self._turn != before and self._changed is not None:
            self._changed()

    async def stop(self) -> None:
        """End."""
        self._changed = None

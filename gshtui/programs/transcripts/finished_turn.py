"""That the last turn of a program's transcript is finished, as evidence that the program rests.

It is read only when the program's screen shows no work: of a turn under way, a transcript tells nothing in time. What
is written then is read at once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec

from gshtui.programs.status.evidence import Evidence, LiveSource, Rank
from gshtui.programs.transcripts.transcript_readers import TurnText
from gshtui.system.files.folder_watch import FolderWatch
from gshtui.system.tasks import cancel_and_wait


class FinishedTurn(LiveSource):
    """The transcript of one agent's conversation."""

    def __init__(self, last_turn: Callable[[], Awaitable[TurnText | None]]) -> None:
        self._last_turn = last_turn
        self._turn: TurnText | None = None
        self._confirmed = 0.0
        self._changed: Callable[[], None] | None = None
        self._quiet = False
        self._watched: Path | None = None
        self._watch: FolderWatch | None = None
        self._grown = False
        self._task: asyncio.Task[None] | None = None

    @property
    def evidence(self) -> Evidence | None:
        """That it rests, since its last words were written down."""
        turn = self._turn
        if turn is None or not turn.over:
            return None
        rest = Evidence(Rank.TRANSCRIPT, "transcript", "idle", turn.written, self._confirmed, final=turn.final)
        return msgspec.structs.replace(rest, why="its turn is finished", began=turn.at, timed=turn.timed)

    async def start(self, changed: Callable[[], None]) -> None:
        self._changed = changed

    async def refresh(self, *, quiet: bool) -> None:
        """Read it, if that matters now."""
        self._quiet = quiet
        if not quiet:
            return
        before, self._turn = self._turn, await self._last_turn()
        self._confirmed = time.time()
        if self._turn is not None and self._turn.file != self._watched and self._changed is not None:
            self._follow(self._turn.file)
        if self._turn != before and self._changed is not None:
            self._changed()

    async def stop(self) -> None:
        """End."""
        self._changed = None
        self._follow(None)
        task, self._task = self._task, None
        await cancel_and_wait(task)

    def _follow(self, file: Path | None) -> None:
        """Hear of what is written into this file."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        self._watched = file
        if file is not None:
            self._watch = FolderWatch(file.parent, lambda name: name == file.name)
            self._watch.on_change(self._read_soon)

    def _read_soon(self) -> None:
        self._grown = self._quiet
        if self._grown and (self._task is None or self._task.done()):
            self._task = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        while self._grown:  # it may grow again while it is read
            self._grown = False
            await self.refresh(quiet=True)

"""Checkpoints of the files that an agent works on: before each turn, and after one that may have changed any.

The one before is taken while the model thinks; a call that is no read waits for it. What fails costs no turn: it is
said once, and the conversation goes on without.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from gshtui.settings import paths
from gshtui.store.checkpoint_table import CheckpointTable, Kind
from gshtui.system.expected_error import ExpectedError
from gshtui.system.faults import in_one_line, outside_failure
from gshtui.system.tasks import cancel_and_wait, start_job
from gshtui.tools.shadow_repository import ShadowRepository

_DAYS = 30
"""Checkpoints are kept so long."""
_LONGEST = 20.0
"""Seconds that a call waits for the checkpoint before it."""


class Checkpoints:
    """Those of one agent, in one folder."""

    def __init__(self, folder: Path, table: CheckpointTable, notice: Callable[[str, str], None]) -> None:
        """`notice` is called with what went wrong and what to do about it."""
        self.shadow = ShadowRepository(folder)
        self._folder = folder
        self._table = table
        self._notice = notice
        self._failed = ""
        self._before: asyncio.Task[None] | None = None
        self._at = ("", "")
        self._may_have_changed = False
        self._tidied = False

    def begin(self, session: str, prompt: str) -> None:
        """A turn begins: take the checkpoint before it, without waiting."""
        self._at, self._may_have_changed = (session, prompt), False
        self._before = None if self._failed else start_job(self._take("before"), "a checkpoint")

    async def ready(self) -> None:
        """Return once the files are kept as they were before the turn: what follows may change them."""
        self._may_have_changed = True
        if self._before is not None:
            await asyncio.wait({self._before}, timeout=_LONGEST)

    async def end(self) -> None:
        """The turn has ended: take the checkpoint after it, if anything may have changed."""
        before, self._before = self._before, None
        if before is not None:
            await asyncio.wait({before}, timeout=_LONGEST)
            if not before.done():
                await cancel_and_wait(before)
        if self._may_have_changed and not self._failed and self._at[0]:
            await self._take("after")
        self._at = ("", "")
        if not self._tidied and not self._failed:
            self._tidied = True
            await self._tidy()

    async def _take(self, kind: Kind) -> None:
        session, prompt = self._at
        try:
            tree = await self.shadow.record_files()
            await self._table.add(session, prompt, kind, str(self._folder), tree)
        except (ExpectedError, OSError) as error:
            if not self._failed:
                why, hint = outside_failure(error) or (in_one_line(error), "")
                self._failed = why
                self._notice(f"`rewind` cannot restore files here: {why}.", hint)

    async def _tidy(self) -> None:
        try:
            await self._table.forget_old(str(self._folder), time.time() - _DAYS * 86_400)
            await self.shadow.tidy(await self._table.trees(str(self._folder)))
        except (ExpectedError, OSError):
            return  # the next process tries again


def is_kept(folder: Path) -> bool:
    """Whether checkpoints are taken of this folder: the top of a working tree, and not a home."""
    try:
        return (folder / ".git").exists() and folder.resolve() != paths.home().resolve()
    except OSError:
        return False

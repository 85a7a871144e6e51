"""Lines that shells left in files while no hub listened, taken in exactly once.

Owns the order: a file is locked, all that is in it is kept, then it is emptied; if this process dies in between, the
next one takes the same lines, which the record knows by shell and number. Held by the shell log.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from pathlib import Path

from gshtui.shell import spool
from gshtui.shell.log.intake import Intake
from gshtui.shell.pairing import Said

EVERY = 1.0
"""Seconds between two looks at the folder."""
_ABANDONED = 86_400.0
"""Seconds after which the empty file of a shell that nobody knows is removed."""


class Spooling:
    """Looks at the folder until it is cancelled; one of all hubs does."""

    def __init__(self, where: Path, intake: Intake) -> None:
        self._where = where
        self._intake = intake
        self._alone = asyncio.Lock()
        """A POSIX lock does not hold off one's own process, and is gone when any descriptor of the file is closed."""
        self.taken = 0
        """Lines that were taken."""
        self.bad = 0
        """Lines that were none."""

    async def run(self) -> None:
        """Take in what is there, and what comes."""
        tidied = 0.0
        while True:
            await self.once()
            if time.monotonic() - tidied > 600:
                tidied = time.monotonic()
                async with self._alone:
                    await asyncio.to_thread(_tidy, self._where)
            await asyncio.sleep(EVERY)

    async def once(self) -> None:
        """Take in what is there now."""
        async with self._alone:
            for file in await asyncio.to_thread(spool.files, self._where):
                with contextlib.suppress(OSError), spool.claimed(file) as descriptor:
                    if descriptor is not None:
                        await self._take(descriptor)

    async def _take(self, descriptor: int) -> None:
        start = 0
        while True:
            piece, start = await asyncio.to_thread(spool.read, descriptor, start)
            self.bad += piece.bad
            for number, (event, seq) in enumerate(piece.events, 1):
                self._intake.offer(Said(event, seq))
                self.taken += 1
                if number % 100 == 0:
                    await self._intake.pace()
            await self._intake.idle()
            if not piece.more:
                break
        spool.emptied(descriptor, start)  # else it has grown, and is looked at again

    async def forget(self, shells: set[str]) -> None:
        """Remove the files of shells that are gone, once they are empty."""
        for shell in shells:
            name = f"{shell}.jsonl"
            if Path(name).name != name:
                continue
            async with self._alone:
                await asyncio.to_thread(spool.remove_empty, self._where / name)


def _tidy(where: Path) -> None:
    old = time.time() - _ABANDONED
    for file in where.glob("*.jsonl"):
        with contextlib.suppress(OSError):
            info = file.lstat()
            if not info.st_size and info.st_mtime < old:
                spool.remove_empty(file)

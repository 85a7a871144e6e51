"""Checkpoints of the files that an agent works on: before each turn, and after one that may have changed any.

They are taken one after the other beside the turns; no prompt waits for one. A call that may change anything waits for
those that are not done, but not for long: what is late by then is not kept, and the person is told. A call that names
the files it changes waits for none: these are kept by themselves. What fails costs no turn: it is said once.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from gshtui.settings import paths
from gshtui.store.tables.checkpoint_table import CheckpointTable, Kind
from gshtui.system.expected_error import ExpectedError
from gshtui.system.faults import in_one_line, outside_failure
from gshtui.system.tasks import cancel_and_wait, start_job
from gshtui.tools.git.shadow_repository import KeptFile, ShadowRepository, read_kept

NoticeLevel = Literal["info", "warning"]

_DAYS = 30
"""Checkpoints are kept so long."""
_LONGEST = 20.0
"""Seconds that a call waits for the checkpoints before it, and the end of an agent for the last one."""
_SHORT = 2.0
"""Seconds that the end of an agent waits for one that nothing depends on."""
_MANY = 20_000
"""New files of which a person is told that they are being kept."""


class _Moment(msgspec.Struct, eq=False):
    """A checkpoint that is being taken. `originals`: files as they were, which have been changed in the meantime."""

    kind: Kind
    session: str
    prompt: str
    originals: dict[str, KeptFile | None] = msgspec.field(default_factory=dict[str, "KeptFile | None"])
    late: bool = False
    """What it shows may have been changed in the meantime, nobody knows where."""


class Checkpoints:
    """Those of one agent, in one folder."""

    def __init__(self, folder: Path, table: CheckpointTable, notice: Callable[[NoticeLevel, str, str], None]) -> None:
        """`notice` is called with what a person should know and what to do about it."""
        self.shadow = ShadowRepository(folder)
        self._folder = folder
        self._table = table
        self._notice = notice
        self._failed = ""
        self._moments: list[_Moment] = []
        """Those that are not done, oldest first."""
        self._job: asyncio.Task[None] | None = None
        """The last one to be started; it waits for those before it."""
        self._at = ("", "")
        self._may_have_changed = False
        self._tidied = self._announced = False
        self._progress = (0, 0)
        self._news = asyncio.Event()

    def begin(self, session: str, prompt: str) -> None:
        """A turn begins: take the checkpoint before it, without waiting."""
        self._at, self._may_have_changed = (session, prompt), False
        self._start("before")

    async def ready(self, files: Sequence[str] | None, tell: Callable[[str], None]) -> None:
        """Return once the files are kept as they were: what follows may change them.

        Args:
            files: all that it may change; `None`: anything.
            tell: called with what it waits for, each time there is news.
        """
        self._may_have_changed = True
        if not self._moments:
            return
        if files is not None:
            kept = await asyncio.to_thread(self._read, [Path(file) for file in files])
            for moment in self._moments:
                moment.originals = kept | moment.originals
            return
        until = asyncio.get_running_loop().time() + _LONGEST
        while self._job is not None and self._moments and (left := until - asyncio.get_running_loop().time()) > 0:
            self._news.clear()
            done, total = self._progress
            if total:
                tell(f"the files are being kept for `rewind`: {done:,} of {total:,}")
            news = asyncio.ensure_future(self._news.wait())
            await asyncio.wait({self._job, news}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            news.cancel()
        late = [moment for moment in self._moments if not moment.late]
        for moment in late:
            moment.late = True
        if late:
            done, total = self._progress
            many = f": {done:,} of {total:,} files are" if total else ", and is"
            text = f"The checkpoint of this folder takes long{many} kept, so the work goes on without it."
            self._notice("warning", text, "`rewind` cannot restore the files of this moment.")

    def end(self) -> None:
        """The turn has ended: take the checkpoint after it, if anything may have changed."""
        if self._may_have_changed and self._at[0]:
            self._start("after")
        self._at = ("", "")
        if not self._tidied and not self._failed:
            self._tidied = True
            self._job = start_job(self._tidy(self._job), "forgetting old checkpoints")

    async def settled(self) -> None:
        """Return once no checkpoint is being taken."""
        while self._job is not None and not self._job.done():
            await asyncio.wait({self._job})

    async def close(self) -> None:
        """End: what a turn has changed is still kept, anything else only if that is quick."""
        job = self._job
        if job is not None and not job.done():
            matters = any(moment.kind == "after" and not moment.late for moment in self._moments)
            await asyncio.wait({job}, timeout=_LONGEST if matters else _SHORT)
            await cancel_and_wait(job)

    def _start(self, kind: Kind) -> None:
        if self._failed:
            return
        moment = _Moment(kind, *self._at)
        self._moments.append(moment)
        self._job = start_job(self._take(moment, self._job), "a checkpoint")

    async def _take(self, moment: _Moment, before: asyncio.Task[None] | None) -> None:
        try:
            await _after(before)
            tree = await self.shadow.record_files(self._heard)
            if moment.originals:
                tree = await self.shadow.with_files(tree, moment.originals)
            if not moment.late:
                await self._table.add(moment.session, moment.prompt, moment.kind, str(self._folder), tree)
        except (ExpectedError, OSError) as error:
            if not self._failed:
                why, hint = outside_failure(error) or (in_one_line(error), "")
                self._failed = why
                self._notice("warning", f"`rewind` cannot restore files here: {why}.", hint)
        finally:
            self._moments.remove(moment)
            self._progress = (0, 0)

    def _heard(self, done: int, total: int) -> None:
        """So many new files of so many are kept."""
        if total >= _MANY and not self._announced:
            self._announced = True
            text = f"{total:,} files of this folder are being kept for `rewind`, beside the work."
            self._notice("info", text, "`[agent] checkpoints = false` turns that off.")
        self._progress = (done, total)
        self._news.set()

    def _read(self, files: Sequence[Path]) -> dict[str, KeptFile | None]:
        """These files as they are; those that a checkpoint leaves out are left out. Blocks."""
        found: dict[str, KeptFile | None] = {}
        for path in files:
            if self.shadow.covers(path):
                with contextlib.suppress(OSError):
                    found[str(path.relative_to(self._folder))] = read_kept(path)
        return found

    async def _tidy(self, before: asyncio.Task[None] | None) -> None:
        try:
            await _after(before)
            await self._table.forget_old(str(self._folder), time.time() - _DAYS * 86_400)
            await self.shadow.tidy(await self._table.trees(str(self._folder)))
        except (ExpectedError, OSError):
            return  # the next process tries again


async def _after(job: asyncio.Task[None] | None) -> None:
    """Wait for the one before. Cancelled, this ends that one as well."""
    if job is not None and not job.done():
        try:
            await asyncio.wait({job})
        except asyncio.CancelledError:
            await cancel_and_wait(job)
            raise


def is_kept(folder: Path) -> bool:
    """Whether checkpoints are taken of this folder: the top of a working tree, and not a home."""
    try:
        return (folder / ".git").exists() and folder.resolve() != paths.home().resolve()
    except OSError:
        return False

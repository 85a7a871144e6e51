"""A language server for one folder: started when it is first needed, looked after, and started again after a growing
pause when it was lost; given up after too many failures. It is ended when nobody has needed it for a while, when it
uses too much memory, and with this process.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Literal

from gshtui.features.code.language_session import LanguageSession, ServerLaunch, open_session
from gshtui.features.code.language_table import LanguageServerEntry
from gshtui.features.code.lsp_client import LanguageServerError
from gshtui.features.code.problems import CodeProblem
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, start_job

ServerState = Literal["off", "starting", "ready", "waiting", "failed"]
"""off: nobody needed it yet, or not for a while. waiting: it may be started again after a pause."""
_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
_MOST_FAILURES = 4
"""In a row; then it stays down until a person has it started again."""
_STEADY = 60.0
"""Seconds after which a session counts as one that works."""
_LOOK_EVERY = 2.0
_END_WITHIN = 5.0


class LanguageServer:
    """See the module's text."""

    def __init__(
        self,
        entry: LanguageServerEntry,
        root: Path,
        launch: Callable[[LanguageServerEntry, Path], Awaitable[ServerLaunch]],
        start_seconds: float,
        idle_seconds: float,
    ) -> None:
        """
        Args:
            root: the real folder that it is for.
            launch: says how to start it. Raises `LanguageServerError`: it may not be.
            start_seconds: that a start may take.
            idle_seconds: without use, after which it is ended.
        """
        self.entry = entry
        self.root = root
        self.state: ServerState = "off"
        self.why = ""
        """Why it is not ready, as a sentence."""
        self.outside = ""
        """Why it runs outside the sandbox, as the end of a sentence; empty: it is inside, or does not run."""
        self.starts = 0
        self.memory_mb = 0
        """That it used at the last look, with all that it started."""
        self.told: dict[Path, tuple[CodeProblem, ...]] = {}
        """Problems of files as they were last told."""
        self.owed: set[Path] = set()
        """Files of whose last change nothing could be told yet."""
        self.said_why = False
        """It was told that it is not ready, since it was last ready."""
        self._launch = launch
        self._start_seconds = start_seconds
        self._idle_seconds = idle_seconds
        self._failures = 0
        self._not_before = 0.0
        self._session: LanguageSession | None = None
        self._living: asyncio.Task[None] | None = None
        self._changed = asyncio.Condition()

    @property
    def session(self) -> LanguageSession | None:
        """The open session; `None`: there is none now."""
        found = self._session
        return None if found is None or found.client.lost.is_set() else found

    def start(self) -> None:
        """Start it, unless it is started, or a pause or too many failures forbid it. Does not wait."""
        if self._living is not None and not self._living.done():
            return
        if self.state == "failed" or time.monotonic() < self._not_before:
            return
        self.state, self.why = "starting", ""
        self._living = start_job(self._live(), f"the language server {self.entry.name}")

    async def ready(self, within: float) -> LanguageSession:
        """Start it, unless it is started, and wait until it can be used, so many seconds at most.
        Raises `LanguageServerError`: it cannot be used; the message says why.
        """
        if (found := self.session) is not None:
            return found
        self.start()
        with contextlib.suppress(TimeoutError):
            async with time_limit(within), self._changed:
                await self._changed.wait_for(lambda: self.session is not None or self.state not in ("starting", "off"))
        if (found := self.session) is not None:
            return found
        if self.state == "starting":
            raise LanguageServerError(
                f"The language server {self.entry.name} is still starting.", "Ask again in a moment."
            )
        raise LanguageServerError(self.why or f"The language server {self.entry.name} is not there.", self._hint())

    async def ended(self, within: float) -> None:
        """If it was lost, wait until it has ended and `why` says how, so many seconds at most."""
        with contextlib.suppress(TimeoutError):
            async with time_limit(within), self._changed:
                await self._changed.wait_for(lambda: self.state != "ready" or self.session is not None)

    def _hint(self) -> str:
        if self.state == "failed":
            return f"`code restart {self.entry.name}` tries again."
        left = self._not_before - time.monotonic()
        return f"It may be started again in {max(1, round(left)):,} s." if self.state == "waiting" else ""

    async def restart(self) -> None:
        """End it, and forget its failures; it is started when it is next needed."""
        await self.close()
        self.state, self.why, self._failures, self._not_before = "off", "", 0, 0.0

    async def close(self) -> None:
        living, self._living = self._living, None
        await cancel_and_wait(living, within=_END_WITHIN)
        self._session = None
        self.state = "off"

    async def _live(self) -> None:
        """One session, from its start to its end."""
        began = time.monotonic()
        idle = False
        try:
            launch = await self._launch(self.entry, self.root)
            async with open_session(launch, self._start_seconds) as session:
                self.outside = session.process.outside
                self.told.clear()
                self._session, self.said_why = session, False
                self.starts += 1
                await self._become("ready")
                idle = await self._look_after(session)
                if not idle:
                    self.why = f"The language server {self.entry.name} is gone: {await session.why_lost()}."
        except LanguageServerError as error:
            self.why = str(error)
        finally:
            self._session = None
            self.memory_mb = 0
        if idle:
            await self._become("off")
            return
        lived = time.monotonic() - began
        self._failures = 1 if lived > _STEADY else self._failures + 1
        self._not_before = time.monotonic() + min(_FIRST_PAUSE * 2 ** (self._failures - 1), _LONGEST_PAUSE)
        await self._become("failed" if self._failures >= _MOST_FAILURES else "waiting")

    async def _look_after(self, session: LanguageSession) -> bool:
        """Wait until it is lost, or not needed any more; returns whether it is the latter."""
        while not session.client.lost.is_set():
            with contextlib.suppress(TimeoutError):
                async with time_limit(_LOOK_EVERY):
                    await session.client.lost.wait()
            if session.client.lost.is_set():
                break
            if time.monotonic() - session.used > self._idle_seconds:
                return True
            self.memory_mb = await asyncio.to_thread(_memory_mb, session.process.process.pid)
            if self.memory_mb > self.entry.memory_mb:
                session.client.give_up(f"it used {self.memory_mb:,} MB of memory, {self.entry.memory_mb:,} may be")
        return False

    async def _become(self, state: ServerState) -> None:
        self.state = state
        async with self._changed:
            self._changed.notify_all()


def _memory_mb(pid: int) -> int:
    """Megabytes that a process and all below it have to themselves. Blocks for some milliseconds."""
    import psutil  # not needed for the first screen

    used = 0
    try:
        leader = psutil.Process(pid)
        for one in (leader, *leader.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                info = one.memory_info()
                used += info.rss - getattr(info, "shared", 0)
    except psutil.Error:
        pass  # it has ended
    return used >> 20

"""What Claude Code prints of its sessions (`claude agents --json`): for one that keeps no record that can be read.

Asked seldom, and only while its record says nothing: each time costs a start of the program. A version that was never
seen to know the command is not asked, since it may take it for a prompt.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from gshtui.programs.session.session_record import STATUSES, WAITS, SessionRecord, family_of
from gshtui.programs.status.evidence import Evidence, LiveSource, Rank
from gshtui.system.json_types import is_array, is_object, parse_foreign_json
from gshtui.system.processes import processes
from gshtui.system.tasks import cancel_and_wait, start_job
from gshtui.text.sanitise import one_line
from gshtui.text.version_order import order

_SINCE = (2, 1, 197)
"""The first version that was seen to know it."""
_FIRST, _EVERY, _STALE, _WITHIN = 4.0, 5.0, 12.0, 8.0
"""Seconds that its record is waited for, between two calls, after which an answer says nothing, and for an answer."""
_FAILURES = 3
"""Calls in a row without an answer after which it is not asked again."""
_LARGEST = 400_000
ASKS = "what Claude Code lists"
"""The name of the task that asks."""


class ListedSession(LiveSource):
    """The session of the program in one terminal, as the program lists it."""

    def __init__(self, record: SessionRecord, program: str, pid: int, environ: Mapping[str, str]) -> None:
        """
        Args:
            record: what counts instead, where it says something.
            program: the executable.
            pid: the terminal's process.
        """
        self._record = record
        self._argv = (program, "agents", "--json")
        self._pid = pid
        self._environ = dict(environ)
        self._status = ""
        self._waits = ""
        self._conversation = ""
        self._since = self._confirmed = 0.0
        self._due = time.monotonic() + _FIRST
        self._failures = 0
        self._task: asyncio.Task[None] | None = None
        self._changed: Callable[[], None] = _nothing

    @property
    def evidence(self) -> Evidence | None:
        """Its status."""
        silent = self._record.evidence is not None or time.time() - self._confirmed > _STALE
        if silent or not self._status:
            return None
        why = f"{' '.join(self._argv)}: {self._status}" + (f", {self._waits}" if self._waits else "")
        status = STATUSES[self._status]
        doing = WAITS.get(self._waits, self._waits) if status == "waiting" else ""
        return Evidence(
            Rank.RECORD, "listing", status, self._since, self._confirmed, doing, self._waits in WAITS, why=why
        )

    @property
    def conversation(self) -> str:
        return self._conversation if self._record.evidence is None else ""

    async def start(self, changed: Callable[[], None]) -> None:
        self._changed = changed

    async def refresh(self, *, quiet: bool) -> None:
        """Ask, where it is time; the answer comes later."""
        asks = self._task is not None and not self._task.done()
        if asks or self._record.evidence is not None or self._failures >= _FAILURES or time.monotonic() < self._due:
            return
        self._due = time.monotonic() + _EVERY
        self._task = start_job(self._ask(), ASKS)

    async def stop(self) -> None:
        """End."""
        self._changed = _nothing
        await cancel_and_wait(self._task)

    async def _ask(self) -> None:
        listed = await _listed(self._argv, self._environ)
        if listed is None:
            self._failures += 1
            return
        self._failures = 0
        family = await asyncio.to_thread(family_of, self._pid)
        nothing: Mapping[str, Any] = {}
        mine = next((each for each in listed if each.get("pid") in family), nothing)
        status, waits = _words(mine, "status"), _words(mine, "waitingFor")
        status = status if status in STATUSES else ""
        before, self._confirmed = (self._status, self._waits), time.time()
        self._status, self._waits = status, waits
        self._conversation = _words(mine, "sessionId")
        if (status, waits) != before:
            self._since = self._confirmed
            self._changed()


def lists_sessions(version: str) -> bool:
    """Whether this version of Claude Code is known to list its sessions."""
    key = order(version)
    return key is not None and key[0] >= _SINCE


async def _listed(argv: Sequence[str], environ: Mapping[str, str]) -> list[Mapping[str, Any]] | None:
    """What it prints; `None`: nothing that can be read."""
    try:
        process = await processes.start_child(
            *argv,
            env=dict(environ),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return None
    value: object = None
    try:
        printed, _ = await asyncio.wait_for(process.communicate(), _WITHIN)
        value = parse_foreign_json(printed) if len(printed) <= _LARGEST else None
    except (TimeoutError, ValueError):
        pass
    finally:
        await processes.kill_child(process)
    if not is_array(value):
        return None
    return [each for each in value if is_object(each)]


def _words(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    return one_line(value, 200) if isinstance(value, str) else ""


def _nothing() -> None:
    pass

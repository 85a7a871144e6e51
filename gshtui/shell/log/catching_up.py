"""What a hub did not hear while the socket passed from one to another, read off the record.

Owns the memory of what was heard; tells what the record says otherwise, once. Held by the shell log.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable

from gshtui.bus.event import Event
from gshtui.bus.events.shell import ShellRecorded
from gshtui.bus.shell import ShellRecord
from gshtui.store.errors import StoreError
from gshtui.store.store import Store
from gshtui.system.tasks import start_job

_REMEMBERED = 2_000
_LATEST = 500
"""Commands of the record that are compared."""
_BEFORE = 5.0
"""Seconds before the last thing heard from which on the record is looked at."""
_Key = tuple[str, int]


class CatchingUp:
    """`saw` what was told; `begin` when a hub may have told something that was not heard."""

    def __init__(self, store: Store, tell: Callable[[Event], None]) -> None:
        self._store = store
        self._tell = tell
        self._seen: OrderedDict[_Key, tuple[str, str]] = OrderedDict()
        self._running: dict[_Key, float] = {}
        self._last = 0.0
        self._task: asyncio.Task[None] | None = None

    def saw(self, record: ShellRecord) -> None:
        """A record was told."""
        key = (record.shell, record.number)
        self._seen[key] = (record.state, record.output)
        self._seen.move_to_end(key)
        while len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        self._last = max(self._last, record.at)
        if record.state == "running":
            self._running[key] = record.at
        else:
            self._running.pop(key, None)

    def begin(self) -> None:
        """Compare with the record, behind the scenes; the first time nothing was missed."""
        if self._last and (self._task is None or self._task.done()):
            self._task = start_job(self._compare(), "the shell log's comparison")

    async def _compare(self) -> None:
        after = min([self._last - _BEFORE, *self._running.values()])
        try:
            rows = await self._store.history(after=after, limit=_LATEST)
        except StoreError:
            return
        for row in reversed(rows):
            if self._seen.get((row.shell, row.number)) != (row.state, row.output):
                self._tell(ShellRecorded(record=row))

"""Where lists of tasks are kept: overlays of a conversation, read anew before every change, told on the bus.

Owns reading, changing one at a time and telling; refuses nothing itself, see `lists`. Another process may have changed
a list: what counts is the newest overlay. Made by the hub and by an agent in its own process.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from gshtui.bus.bus import Bus
from gshtui.bus.context import Task
from gshtui.bus.event import Event
from gshtui.bus.events.context import TasksChanged
from gshtui.bus.events.session import SessionOpened
from gshtui.context import overlays
from gshtui.store.errors import StoreError


class Overlays(Protocol):
    """The part of the record that this needs. Raises `StoreError`."""

    async def add_overlay(self, session: str, overlay_id: str, kind: str, at: float, data: str) -> int: ...
    async def overlays(self, session: str, after: int = 0) -> list[tuple[int, str]]: ...


class TaskShelf:
    """Lists by conversation. When a conversation is opened, its list is told again."""

    def __init__(self, bus: Bus, kept: Overlays) -> None:
        self._bus = bus
        self._kept = kept
        self._lock = asyncio.Lock()
        self._read: dict[str, tuple[int, tuple[Task, ...]]] = {}
        bus.subscribe(self._opened, SessionOpened, name="tasks")

    async def tasks(self, session: str) -> tuple[Task, ...]:
        """A conversation's list as it is now. Raises `StoreError`."""
        last, tasks = self._read.get(session, (0, ()))
        for place, data in await self._kept.overlays(session, last):
            last = place
            if '"tasks"' in data and isinstance(overlay := overlays.decode(data), overlays.Tasks):
                tasks = overlay.tasks
        self._read[session] = (last, tasks)
        return tasks

    async def change(
        self, agent: str, session: str, by: str, new: Callable[[tuple[Task, ...]], tuple[Task, ...]]
    ) -> tuple[Task, ...]:
        """Keep what `new` makes of the list, and tell it. Raises `StoreError`, and what `new` raises."""
        async with self._lock:
            before = await self.tasks(session)
            after = new(before)
            if after == before:
                return before
            overlay = overlays.Tasks(tasks=after, by=by, at=time.time())
            data = overlays.encode(overlay)
            await self._kept.add_overlay(session, overlay.id, overlays.kind_of(overlay), overlay.at, data)
            self._bus.publish(TasksChanged(agent=agent, session=session, tasks=after))
            return after

    async def _opened(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if not isinstance(event, SessionOpened):
                continue
            try:
                tasks = await self.tasks(event.session)
            except StoreError:
                continue  # the record says itself what is wrong with it
            self._bus.publish(TasksChanged(agent=event.agent, session=event.session, tasks=tasks))

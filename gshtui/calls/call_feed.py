"""Follows what all processes say in calls, and publishes it in this one: each message once and in order."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable

from gshtui.bus.bus import Bus
from gshtui.bus.call_data import TYPES_FOR, TYPING, CallInfo
from gshtui.bus.events.call_events import CallChanged, CallMessageAdded, CallRemoved, PresenceReported
from gshtui.calls.call_delivery import CallDelivery
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from gshtui.system.files.folder_watch import until_calm_look
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, keep_on

_LOOK_EVERY = 0.5
"""Seconds between looks for what other processes wrote, where the system tells of no change."""


class CallFeed:
    """Use it between `start` and `stop`. What nobody has put to those whom it asks, it has delivered as well."""

    def __init__(self, bus: Bus, store: Store, delivery: CallDelivery) -> None:
        self._bus = bus
        self._store = store
        self._delivery = delivery
        self._known: dict[str, int] = {}
        """Call → number of the last message that was published."""
        self._doing: dict[tuple[str, str], str] = {}
        """(call, member) → what was last published of it."""
        self._revision = (-1, -1)
        self._stirred = asyncio.Event()
        self._life: asyncio.Task[None] | None = None
        self._unwatch: Callable[[], None] = lambda: None

    async def start(self, *, shown: bool = True) -> None:
        """Publish every call as it is, and what is said from now on. Raises `StoreError`. `shown`: as for
        `CallService.start`.
        """
        for call in await self._store.calls.find_all():
            self._known[call.name] = call.messages - 1
            if shown:
                self._bus.publish(CallChanged(call=call.name, data=await self._delivery.with_everyone(call)))
        self._revision = await self._store.calls.revision()
        self._unwatch = self._store.changes.on_change(self._stirred.set)
        self._stirred.set()
        self._life = keep_on(self._follow, "the calls")

    async def stop(self) -> None:
        """Follow no longer."""
        self._unwatch()
        await cancel_and_wait(self._life)

    def stir(self) -> None:
        """Look now: something was written here."""
        self._stirred.set()

    def note_doing(self, call: str, member: str, doing: str) -> None:
        """It was published already what this member does."""
        self._doing[call, member] = doing

    async def _follow(self) -> None:
        while True:
            try:
                revision = await self._store.calls.revision()
                if revision != self._revision:
                    await self._publish(revision)
                await self._delivery.dispatch()
            except StoreError:
                self._revision = (-1, -1)  # busy or full: the next look tries again
            told = self._store.changes.works and self._revision[0] >= 0
            with contextlib.suppress(TimeoutError):
                async with time_limit(until_calm_look() if told else _LOOK_EVERY):
                    await self._stirred.wait()
            self._stirred.clear()

    async def _publish(self, revision: tuple[int, int]) -> None:
        if revision[1] < len(self._known) or (revision[1] != self._revision[1] and self._known):
            names = set(await self._store.calls.names())
            for gone in set(self._known) - names:
                del self._known[gone]
                self._bus.publish(CallRemoved(call=gone))
        for call in await self._store.calls.find_all(self._revision[0]):
            last = self._known.get(call.name, -1)
            while last < call.messages - 1:
                found = (
                    await self._store.calls.messages(call.name, after=last, limit=200)
                    if last >= 0
                    else (await self._store.calls.messages(call.name, before=call.messages, limit=200))
                )
                if not found:
                    break
                for message in found:
                    self._bus.publish(CallMessageAdded(call=call.name, message=message))
                last = found[-1].seq
            self._known[call.name] = max(last, call.messages - 1)
            self._publish_presence(call)
            self._bus.publish(CallChanged(call=call.name, data=await self._delivery.with_everyone(call)))
        self._revision = revision

    def _publish_presence(self, call: CallInfo) -> None:
        """Publish what people of other processes do, as far as that changed."""
        for one in call.members:
            doing = "" if one.doing == TYPING and time.time() - one.at > TYPES_FOR else one.doing
            if not one.is_agent and self._doing.get((call.name, one.member), "") != doing:
                self._doing[call.name, one.member] = doing
                self._bus.publish(PresenceReported(call=call.name, member=one.member, name=one.name, doing=doing))

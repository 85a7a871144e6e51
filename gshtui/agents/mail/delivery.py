"""Delivers messages: for each agent that this hub looks after one at a time, oldest first, when it can take them.

Owns the way of a message from queued to acted, and says each step on the bus. It refuses to send twice what may have
arrived: that is held for a person. Looks when something is said on the bus, and now and then at what other processes
left in the record. Started and stopped by `room`.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Sequence
from typing import Literal

from gshtui.agents.mail.carriers import Carriers, Gone, NotNow, Route, Unsure
from gshtui.agents.mail.progress import Progress
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent import AgentStatusChanged, PromptEdited, PromptWithdrawn, TurnFinished, TurnStarted
from gshtui.bus.events.fleet import AgentChanged, AgentEnded, MessagePosted
from gshtui.bus.events.session import SessionOpened
from gshtui.bus.mail import Letter
from gshtui.store.errors import StoreError
from gshtui.store.store import Store

LOOK_EVERY = 2.0
"""Seconds between looks at what other processes left."""
AGAIN_AFTER = 0.7
"""Seconds until a busy program is tried again."""
KEPT_DAYS = 30.0
HEARD = (
    AgentStatusChanged, TurnStarted, TurnFinished, PromptWithdrawn, PromptEdited, AgentChanged, AgentEnded,
    MessagePosted, SessionOpened,
)  # fmt: skip


class Delivery:
    """See the module's text."""

    def __init__(self, bus: Bus, store: Store, carriers: Carriers) -> None:
        self.progress = Progress(bus, store)
        self._bus = bus
        self._store = store
        self._carriers = carriers
        self._stirred = asyncio.Event()
        self._busy_with: dict[str, asyncio.Task[None]] = {}
        self._not_before: dict[str, float] = {}
        self._revision = -1
        self._waiting = False
        """Something is queued here that could not be delivered yet."""
        self._life: asyncio.Task[None] | None = None
        self._subscription = bus.subscribe(
            self._listen,
            *HEARD,
            name="mail",
        )  # fmt: skip

    async def start(self) -> None:
        """Take up what was left, and begin. Raises `StoreError`."""
        await self._store.forget_letters(KEPT_DAYS)
        await self._take_over()
        self._life = asyncio.get_running_loop().create_task(self._live(), name="mail")

    async def stop(self) -> None:
        """Deliver no more; what waits stays in the record."""
        self._subscription.unsubscribe()
        for task in (self._life, *self._busy_with.values()):
            if task is not None:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

    def poke(self) -> None:
        """Something is there to be looked at."""
        self._revision = -1
        self._stirred.set()

    async def out(self, id: str, timeout: float) -> Letter:
        """Deliver this one now, by a process that leaves when it is done; the message as it is then.

        Raises:
            TimeoutError: it could not be delivered in time, and waits on.
            StoreError: the record failed.
        """
        async with asyncio.timeout(timeout):
            while True:
                letter = await self._store.letter(id)
                if letter.state not in ("queued", "typed"):
                    return letter
                route = await self._carriers.route(letter)
                if route.standing == "elsewhere":
                    return letter
                await self._try(letter, route)
                if (await self._store.letter(id)).state == "queued":
                    await asyncio.sleep(AGAIN_AFTER)

    async def _live(self) -> None:
        while True:
            try:
                revision = await self._store.letters_revision()
                if revision != self._revision:
                    self._revision = revision
                    await self._look()
            except StoreError:
                self._revision = -1  # busy or full: the next look tries again
            waits = [until - time.monotonic() for until in self._not_before.values()]
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(max(0.05, min([LOOK_EVERY, *waits]))):
                    await self._stirred.wait()
            self._stirred.clear()
            if any(until <= time.monotonic() for until in self._not_before.values()):
                self._revision = -1

    async def _look(self) -> None:
        """Begin to deliver to every agent that can take a message now."""
        waiting: dict[str, list[Letter]] = {}
        for letter in await self._store.letters(("queued",)):
            waiting.setdefault(letter.recipient, []).append(letter)
        self._waiting = bool(waiting)
        now = time.monotonic()
        self._not_before = {who: until for who, until in self._not_before.items() if who in waiting and until > now}
        for who, letters in waiting.items():
            if who in self._busy_with or who in self._not_before:
                continue
            for letter in letters:
                route = await self._carriers.route(letter)
                if route.standing in ("now", "gone"):
                    task = asyncio.get_running_loop().create_task(self._try(letter, route), name=f"mail for {who}")
                    self._busy_with[who] = task
                    task.add_done_callback(lambda _, who=who: self._done(who))
                    break
                if route.standing == "later" and (letter.defer or route.inbox):
                    self._not_before[who] = now + LOOK_EVERY
                    # One that does not wait may stand behind it.
                    if not any(not other.defer for other in letters):
                        break

    def _done(self, who: str) -> None:
        self._busy_with.pop(who, None)
        self.poke()

    async def _try(self, letter: Letter, route: Route) -> None:
        """One attempt. Never raises but when cancelled."""
        try:
            if route.standing == "gone":
                await self.progress.dropped(letter, route.why)
                return
            if not await self._carriers.ready(letter, route):
                self._not_before[letter.recipient] = time.monotonic() + AGAIN_AFTER
                return
            taken = await self._store.take_letter(letter.id)
            if taken is None:
                return
            await self._carry(taken, route)
        except StoreError:
            self._not_before[letter.recipient] = time.monotonic() + LOOK_EVERY

    async def _carry(self, letter: Letter, route: Route) -> None:
        progress = self.progress

        def told(state: Literal["typed", "submitted"]) -> None:
            progress.said(letter, state)

        progress.expect(letter, inbox=route.inbox)
        try:
            await self._carriers.deliver(letter, route, told)
        except NotNow:
            progress.forget(letter)
            self._not_before[letter.recipient] = time.monotonic() + AGAIN_AFTER
            await self._store.let_letter_go(letter.id)
        except Unsure as error:
            progress.forget(letter)
            await self._store.let_letter_go(letter.id)
            await progress.held(letter, str(error))
        except Gone as error:
            progress.forget(letter)
            await self._store.let_letter_go(letter.id)
            await progress.dropped(letter, str(error))
        else:
            await progress.submitted(letter)

    async def _take_over(self) -> None:
        """What a hub that died left: typed or not, nobody knows. What can be looked up in the record is."""
        for letter in await self._store.orphaned_letters():
            route = await self._carriers.route(letter)
            session = letter.session if route.row is None else route.row.session
            if not session or (route.row is not None and route.row.kind != "native"):
                if letter.state == "held":
                    self.progress.tell(letter)
            elif await self._store.letter_in_log(session, letter.id):
                await self._store.change_letter(letter.id, state="acted", why="")
            else:
                await self._store.change_letter(letter.id, state="queued", why="")  # a prompt of this id counts once

    async def _listen(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if isinstance(event, AgentStatusChanged):
                self._carriers.busy.note(event.agent, works=event.status in ("thinking", "tool", "waiting", "starting"))
                self._not_before.pop(event.agent, None)
            elif isinstance(event, TurnStarted):
                self._carriers.busy.note(event.agent, works=True)
            elif isinstance(event, SessionOpened) and event.follows:
                await self._follow(event)
            await self.progress.heard(event)
            if self._waiting or isinstance(event, MessagePosted | SessionOpened):
                self.poke()

    async def _follow(self, event: SessionOpened) -> None:
        """The person put a conversation aside for this one: what waits for its agent comes here."""
        with contextlib.suppress(StoreError):  # it waits for the old one then
            for letter in await self._store.letters(("queued", "held"), recipient=event.agent):
                if letter.session == event.follows:
                    await self._store.change_letter(letter.id, within=("queued", "held"), session=event.session)

"""Delivers messages to this hub's agents: to each one at a time, oldest first, when it can accept them.

Takes a message from queued to acted, and publishes each step. Never sends again what may have arrived: that is held for
a person. Triggered by events, and checks the record now and then for messages from other processes. Started and stopped
by `mail_service`.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Callable, Sequence
from typing import Literal

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import AgentStatusChanged, PromptEdited, PromptWithdrawn, TurnFinished, TurnStarted
from gshtui.bus.events.fleet_events import (
    AgentChanged,
    AgentEnded,
    MessageActed,
    MessageDropped,
    MessageHeld,
    MessagePosted,
    MessageQueued,
    MessagesHeldUp,
    MessageState,
    MessageSubmitted,
)
from gshtui.bus.events.hub_events import Noticed, WaitReported
from gshtui.bus.events.session_events import SessionOpened
from gshtui.bus.letter import OPEN, UNREACHED, Letter
from gshtui.fleet.mail.delivery_state import Answered, DeliveryState, no_call
from gshtui.fleet.mail.transports import DeliveryUnsure, MailTransports, NotDeliverable, RecipientGone, Route
from gshtui.fleet.mail.unsent_prompts import LOOK_EVERY as UNSENT_EVERY
from gshtui.fleet.mail.unsent_prompts import UnsentPrompts
from gshtui.programs.pane.pane_view import BLOCKS, SessionError
from gshtui.store.engine.store_errors import PASSING, StoreError
from gshtui.store.record.store import Store
from gshtui.system.files.folder_watch import until_calm_look
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, keep_on, start_job
from gshtui.text.sanitise import one_line

LOOK_EVERY = 0.5
"""Seconds between looks at what other processes left, where the system tells of no change in the record."""
_LATER = 2.0
"""Seconds until a message that could not be delivered is tried again."""
_SOON, AGAIN_AFTER = 0.15, 0.7
"""Seconds until a busy program is tried again: for the first time, and most."""
_QUIET_FOR = 10.0
"""Seconds for which a program has seemed to rest without a sign that it does, after which its sender is told."""
BLOCKED_FOR = 3.0
"""Seconds that a visiting command waits while a question, an editor or half-typed text blocks the terminal."""
_FINISHED_WITHIN = 4.0
"""Seconds for a delivery that is under way, when its hub stops: nobody could say later whether it was typed."""
_CONFIRMED_WITHIN = 20.0
"""Seconds in which a program writes down what it was asked."""
KEPT_DAYS = 30.0
DELIVERY_EVENTS = (
    AgentStatusChanged,
    TurnStarted,
    TurnFinished,
    PromptWithdrawn,
    PromptEdited,
    AgentChanged,
    AgentEnded,
    MessageActed,
    MessageDropped,
    MessageHeld,
    MessagePosted,
    MessageQueued,
    MessageSubmitted,
    SessionOpened,
)


class Delivery:
    """Delivers this hub's messages; see the module docstring."""

    def __init__(self, bus: Bus, store: Store, carriers: MailTransports, answered: Answered = no_call) -> None:
        """`answered`: says in its call what was answered there."""
        self.progress = DeliveryState(bus, store, answered)
        self._bus = bus
        self._store = store
        self._carriers = carriers
        self._stirred = asyncio.Event()
        self._busy_with: dict[str, asyncio.Task[None]] = {}
        self._confirming = set[asyncio.Task[None]]()
        self._not_before: dict[str, float] = {}
        self._trouble: dict[str, SessionError] = {}
        """Agent → what prevented its last message."""
        self._held_up: dict[str, float] = {}
        """Agent → since when its next message cannot be typed."""
        self._told_held_up: dict[str, str] = {}
        """Agent → what was said of that."""
        self._said_to_wait: dict[str, MessageState] = {}
        """Message → in which state it was said here to wait."""
        self._unsent = UnsentPrompts(bus, store, carriers, self.progress)
        self._looked = 0.0
        """When unsent prompts were looked at last."""
        self._waits: dict[str, float] = {}
        """Agent → the pause before its message is tried again, in seconds."""
        self._revision = -1
        self._waiting = False
        """Whether a message is queued here that could not be delivered yet."""
        self._life: asyncio.Task[None] | None = None
        self._unwatch: Callable[[], None] = lambda: None
        self._subscription = bus.subscribe(
            self._listen,
            *DELIVERY_EVENTS,
            name="mail",
        )

    async def start(self) -> None:
        """Resume what was left over, and start delivering. Raises `StoreError`."""
        try:
            await self._store.mail.delete_old(KEPT_DAYS)
            await self._take_over()
            await self._unsent.load()
            await self._tell_left()
        except StoreError as error:
            if error.kind not in PASSING:
                raise
        self._unwatch = self._store.changes.on_change(self._stirred.set)
        self._life = keep_on(self._poll, "the delivery of mail")

    async def stop(self) -> None:
        """Stop delivering; waiting messages stay in the record. What is being typed is finished first."""
        self._unwatch()
        await cancel_and_wait(self._life)
        if under_way := tuple(self._busy_with.values()):
            await asyncio.wait(under_way, timeout=_FINISHED_WITHIN)
        self._subscription.unsubscribe()
        await cancel_and_wait(*under_way, *self._confirming)

    def check_now(self) -> None:
        """Trigger a look for messages to deliver."""
        self._revision = -1
        self._stirred.set()

    def trouble(self, agent: str) -> SessionError | None:
        """What prevented this agent's last message."""
        return self._trouble.get(agent)

    async def out(self, id: str, timeout: float) -> Letter:
        """Deliver this message now, for a process that then exits; returns the message's new state.

        Raises `TimeoutError`: it could not be delivered in time, or not until somebody frees the terminal; it stays
        queued. Raises `StoreError`: the record failed.
        """
        blocked = 0.0
        async with time_limit(timeout):
            while True:
                letter = await self._store.mail.find(id)
                if letter.state not in ("queued", "typed"):
                    return letter
                before = await self._before(letter)
                route = await self._carriers.route(before)
                if route.standing == "elsewhere":
                    return letter
                await self._try(before, route)
                if before.id != id and (await self._store.mail.find(before.id)).state != "queued":
                    continue
                if (await self._store.mail.find(id)).state == "queued":
                    trouble = self.trouble(letter.recipient)
                    self._bus.publish(WaitReported(text=_waiting(letter, route, trouble), about=letter.recipient))
                    stays = trouble is not None and trouble.kind in BLOCKS
                    blocked = (blocked or time.monotonic()) if stays else 0.0
                    if blocked and time.monotonic() - blocked >= BLOCKED_FOR:
                        raise TimeoutError
                    await asyncio.sleep(AGAIN_AFTER)

    async def _before(self, letter: Letter) -> Letter:
        """The message that its recipient gets next: one that can wait does not overtake those that came earlier."""
        waiting = await self._store.mail.find_all(("queued",), recipient=letter.recipient) if letter.defer else []
        return waiting[0] if waiting else letter

    async def _poll(self) -> None:
        while True:
            try:
                revision = await self._store.mail.revision()
                if revision != self._revision:
                    self._revision = revision
                    await self._begin_deliveries()
                if self._unsent.open and time.monotonic() >= self._looked + UNSENT_EVERY:
                    self._looked = time.monotonic()
                    await self._unsent.check()
            except StoreError:
                self._revision = -1  # busy or full: the next look tries again
            waits = [until - time.monotonic() for until in self._not_before.values()]
            with contextlib.suppress(TimeoutError):
                told = self._store.changes.works and self._revision >= 0
                every = until_calm_look() if told else LOOK_EVERY
                every = min(every, UNSENT_EVERY) if self._unsent.open else every
                async with time_limit(max(0.05, min([every, *waits]))):
                    await self._stirred.wait()
            self._stirred.clear()
            if any(until <= time.monotonic() for until in self._not_before.values()):
                self._revision = -1

    async def _begin_deliveries(self) -> None:
        """Start delivering to every agent that can accept a message now."""
        if await self._store.mail.has_orphans():
            await self._take_over()
        waiting: dict[str, list[Letter]] = {}
        for letter in await self._store.mail.find_all(("queued",)):
            waiting.setdefault(letter.recipient, []).append(letter)
        for agent in [agent for agent in self._held_up if agent not in waiting]:
            del self._held_up[agent]  # it was dropped, or is held
            self._tell_held_up(agent, "")
        self._waiting = bool(waiting)
        await self._tell_of_others()
        now = time.monotonic()
        self._not_before = {who: until for who, until in self._not_before.items() if who in waiting and until > now}
        for who, letters in waiting.items():
            if who in self._busy_with or who in self._not_before:
                continue
            for letter in letters:
                try:
                    route = await self._carriers.route(letter)
                except StoreError:
                    raise
                except Exception as error:  # one that cannot be delivered keeps nobody else's from being
                    self._bus.report(f"the mail for {who}", error, hint="It is tried again.")
                    self._not_before[who] = now + _LATER
                    break
                if route.standing in ("now", "gone"):
                    task = start_job(self._try(letter, route), f"the mail for {who}")
                    self._busy_with[who] = task
                    task.add_done_callback(lambda _, who=who: self._delivery_ended(who))
                    break
                if route.standing == "later" and (letter.defer or route.inbox):
                    self._not_before[who] = now + _LATER
                    # One that does not wait may stand behind it.
                    if not any(not other.defer for other in letters):
                        break

    async def _tell_of_others(self) -> None:
        """Say what became of messages that were said here to wait, and that another process delivers."""
        for id, said in tuple(self._said_to_wait.items()):
            with contextlib.suppress(StoreError):
                letter = await self._store.mail.find(id)
                if letter.state != said and (await self._carriers.route(letter)).standing == "elsewhere":
                    self._note_waiting(id, letter.state)
                    self.progress.publish_change(letter)

    def _note_waiting(self, id: str, state: MessageState) -> None:
        if state in OPEN:
            self._said_to_wait[id] = state
        else:
            self._said_to_wait.pop(id, None)

    def _delivery_ended(self, who: str) -> None:
        self._busy_with.pop(who, None)
        self.check_now()

    async def _try(self, letter: Letter, route: Route) -> None:
        """Try once. Raises only if cancelled."""
        try:
            if route.standing == "gone":
                await self.progress.dropped(letter, route.why)
                return
            if trouble := await self._carriers.ready(letter, route):
                self._later(letter, trouble)
                return
            taken = await self._store.mail.claim(letter.id)
            if taken is None:
                return
            await self._carry(taken, route)
        except StoreError:
            self._not_before[letter.recipient] = time.monotonic() + _LATER
        except Exception as error:
            self._bus.report(f"the mail for {letter.recipient}", error, hint="It is tried again.")
            self._not_before[letter.recipient] = time.monotonic() + _LATER

    async def _carry(self, letter: Letter, route: Route) -> None:
        progress = self.progress

        def told(state: Literal["typed", "submitted"]) -> None:
            progress.said(letter, state)

        progress.expect(letter, inbox=route.inbox)
        began = time.time()
        try:
            await self._carriers.deliver(letter, route, told)
        except NotDeliverable as error:
            progress.forget(letter)
            self._later(letter, error.trouble)
            await self._store.mail.release(letter.id)
        except DeliveryUnsure as error:
            progress.forget(letter)
            await self._store.mail.release(letter.id)
            await progress.held(letter, str(error))
            if route.row is not None and not route.inbox:
                await self._unsent.ask(letter, route.row)
        except RecipientGone as error:
            progress.forget(letter)
            await self._store.mail.release(letter.id)
            await progress.dropped(letter, str(error))
        except (StoreError, asyncio.CancelledError):
            raise
        except Exception as error:  # a fault of ours: nobody knows whether it was typed
            fault = self._bus.report(f"the mail for {letter.recipient}", error, shown=True)
            progress.forget(letter)
            await self._store.mail.release(letter.id)
            await progress.held(letter, f"{fault.failure('Its delivery')} {fault.details}".rstrip())
        else:
            self._trouble.pop(letter.recipient, None)
            self._held_up.pop(letter.recipient, None)
            self._tell_held_up(letter.recipient, "")
            await progress.submitted(letter)
            if await self._carriers.is_shell(route):
                await progress.taken_up(letter)  # it left the prompt, so it is run
            elif not route.inbox:
                self._confirming.add(task := start_job(self._confirm(letter, route, began), f"mail {letter.id}"))
                task.add_done_callback(self._confirming.discard)

    async def _confirm(self, letter: Letter, route: Route, since: float) -> None:
        """See in the program's own record that it acts on the message; its hooks may say so before. Never raises."""
        with contextlib.suppress(StoreError):
            if await self._carriers.taken_up(letter, route, since, _CONFIRMED_WITHIN):
                await self.progress.taken_up(letter)

    def _later(self, letter: Letter, trouble: SessionError) -> None:
        before = self._trouble.get(letter.recipient)
        wait = _SOON if before is None else min(AGAIN_AFTER, 2 * self._waits.get(letter.recipient, AGAIN_AFTER))
        self._waits[letter.recipient] = wait
        self._not_before[letter.recipient] = time.monotonic() + wait
        self._trouble[letter.recipient] = trouble
        since = self._held_up.setdefault(letter.recipient, time.monotonic())
        until_told = BLOCKED_FOR if trouble.kind in BLOCKS else _QUIET_FOR if trouble.kind == "quiet" else math.inf
        if time.monotonic() - since >= until_told:
            self._tell_held_up(letter.recipient, trouble.message)

    def _tell_held_up(self, agent: str, why: str) -> None:
        """Say what keeps an agent's next message from being typed, or that nothing does, once."""
        if why != self._told_held_up.get(agent, ""):
            self._told_held_up[agent] = why
            self._bus.publish(MessagesHeldUp(agent=agent, why=why))

    async def _take_over(self) -> None:
        """Handle messages of a hub that died: find out from the record, where possible, whether they were typed."""
        for letter in await self._store.mail.claim_orphans():
            route = await self._carriers.route(letter)
            session = letter.session if route.row is None else route.row.session
            if not session or (route.row is not None and not route.row.speaks_events):
                if letter.state == "held":
                    await self._settle(letter, route)
            elif await self._store.mail.is_in_log(session, letter.id):
                await self._store.mail.change(letter.id, state="acted", why="")
            else:
                await self._store.mail.change(letter.id, state="queued", why="")  # a prompt of this id counts once

    async def _tell_left(self) -> None:
        """Say which prompts a window that was killed has left for agents that were not connected."""
        left: dict[str, list[Letter]] = {}
        for letter in await self._store.mail.find_all(("held",)):
            if letter.why == UNREACHED:
                left.setdefault(letter.recipient, []).append(letter)
        rows = {row.id: row for row in await self._store.agents.find_all()} if left else {}
        for agent, letters in left.items():
            if (row := rows.get(agent)) is None:
                continue
            for letter in letters:
                self.progress.publish_change(letter)
            waits = "1 prompt waits" if len(letters) == 1 else f"{len(letters)} prompts wait"
            text = f"{waits} for {row.name}: the window ended before it was there."
            self._bus.publish(Noticed(level="warning", text=text, hint="`/mail` lists them.", about=agent))

    async def _settle(self, letter: Letter, route: Route) -> None:
        """Decide about a message that was being typed when its hub died; what nobody knows stays held."""
        match await self._carriers.take_back(letter, route):
            case "taken_back":
                await self._store.mail.change(letter.id, state="queued", why="")
            case "accepted":
                await self._store.mail.change(letter.id, state="submitted", why="")
            case "unknown":
                self.progress.publish_change(letter)

    async def _listen(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if isinstance(event, AgentStatusChanged):
                self._carriers.busy.note(event.agent, works=event.status in ("thinking", "tool", "waiting", "starting"))
                self._carriers.busy.said[event.agent] = (event.status, not event.source.endswith("?"))
                self._not_before.pop(event.agent, None)
            elif isinstance(event, TurnStarted):
                self._carriers.busy.note(event.agent, works=True)
            elif isinstance(event, MessageQueued | MessageHeld | MessageSubmitted | MessageActed | MessageDropped):
                self._note_waiting(event.message, event.state)
            elif isinstance(event, SessionOpened) and event.follows:
                await self._follow(event)
            await self.progress.heard(event)
            if self._waiting or isinstance(event, MessagePosted | SessionOpened):
                self.check_now()

    async def _follow(self, event: SessionOpened) -> None:
        """The person replaced a conversation with this one: redirect messages waiting for its agent."""
        with contextlib.suppress(StoreError):  # it waits for the old one then
            for letter in await self._store.mail.find_all(("queued", "held"), recipient=event.agent):
                if letter.session == event.follows:
                    await self._store.mail.change(letter.id, within=("queued", "held"), session=event.session)


def _waiting(letter: Letter, route: Route, trouble: SessionError | None) -> str:
    """The progress line for a person who waits for the delivery."""
    row, why = route.row, ""
    if trouble is not None:
        why = f": {one_line(trouble.message, 80).rstrip('.')}"
    elif row is not None:
        why = f", which is {row.status}{f': {one_line(row.doing, 60)}' if row.doing else ''}"
    return f"Waiting for {letter.recipient_name or letter.recipient}{why}"

"""The mail service of one hub: outbox, delivery, and a person's control over waiting messages.

Owns those parts and the fleet's transports; refuses to change a message that an agent has accepted. Created, started
and stopped by the hub; an agent's own hub has only an outbox.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence

from gshtui.bus.agent_data import AT_WORK, AgentRow, GuardMode
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import PromptEditRequested
from gshtui.bus.events.fleet_events import MessageEditRequested, MessageHoldRequested
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.letter import OPEN, PERSON, Letter
from gshtui.commands.declaration import CommandError
from gshtui.fleet.core.agent_programs import Programs
from gshtui.fleet.core.agent_terminals import AgentTerminals
from gshtui.fleet.core.ports import FleetError, MessageTransport
from gshtui.fleet.mail.delivery import Delivery
from gshtui.fleet.mail.delivery_state import Answered, no_call
from gshtui.fleet.mail.outbox import Address, Addresses, MailOutbox
from gshtui.fleet.mail.transports import MailTransports
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import end_all

Follow = Callable[[str], Awaitable[None]]
OUT_WITHIN = 90.0
"""Seconds that a command which leaves at once waits for its message to be delivered."""
_COLLECTED_WITHIN, _COLLECTED_EVERY = 15.0, 0.1
"""Seconds for an agent's own hub, or its hub, to take the message up, and between looks."""
_ANSWERED_WITHIN = 3.0
"""Seconds that an agent's inbox has to answer a request."""


class MailService:
    """See the module's text."""

    def __init__(
        self,
        bus: Bus,
        store: Store,
        *,
        here: Callable[[str], str],
        connected: Callable[[str], bool] = lambda agent: False,
        terminals: AgentTerminals | None = None,
        programs: Programs | None = None,
        visiting: bool = False,
        hosted: bool = False,
        follow: Follow | None = None,
        mode_of: Callable[[str], GuardMode] = lambda _: "ask",
        answered: Answered = no_call,
    ) -> None:
        """
        Args:
            here: name of an agent in this window → its conversation; empty if there is none.
            connected: whether an agent's own hub is connected to this hub's bus.
            terminals, programs: shared with the fleet.
            visiting: a short command, which delivers only what it sends itself.
            hosted: the mail of this process reaches the agents in terminals; this one only those that live here.
            mode_of: the mode of an agent that sends from here.
            answered: says in its call what was answered there.
            follow: lets a visitor notice what an agent does that nobody else looks after.
        """
        self.terminals = terminals or AgentTerminals()
        self.programs = programs or Programs()
        self.outbox = MailOutbox(bus, store, Addresses(store, here), mode_of)
        carriers = MailTransports(bus, store, self.terminals, self.programs, here, connected, visiting, hosted)
        self.delivery = Delivery(bus, store, carriers, answered)
        self.visiting = visiting
        self._follow = follow
        self._bus = bus
        self._store = store
        self._subscription = bus.subscribe(self._listen, MessageHoldRequested, MessageEditRequested, name="mail room")

    async def start(self) -> None:
        """Start delivering. Raises `StoreError`."""
        if not self.visiting:
            await self.delivery.start()

    async def stop(self) -> None:
        """Stop delivering; waiting messages are kept."""
        await end_all("the end of mail", self._subscription.unsubscribe, self.outbox.close, self.delivery.stop)

    async def list_letters(self, *, all: bool = False, recipient: str = "") -> list[Letter]:
        """Messages not acted on yet, or all stored ones; oldest first. Raises `StoreError`."""
        states = () if all else (*OPEN, "typed", "submitted")
        letters = await self._store.mail.find_all(states, recipient=recipient)
        # Of some programs nothing but the answer says that they acted on it.
        return letters if all else [letter for letter in letters if not letter.answered]

    async def find(self, id: str) -> Letter:
        """The message of this id, or whose id ends so. Raises `StoreError`."""
        return await self._store.mail.find(id)

    async def hold(self, id: str) -> Letter:
        """Keep it back until a person releases it. Raises `StoreError`."""
        letter = await self._store.mail.find(id)
        if self.delivery.progress.delivered(letter.id):
            await self._back(letter)
        fields = {"state": "held", "why": "A person holds it."}
        return self._publish_change(await self._store.mail.change(letter.id, within=("queued", "dropped"), **fields))

    async def release(self, id: str) -> Letter:
        """Let it go. Raises `StoreError`."""
        letter = await self._store.mail.find(id)
        return self._publish_change(await self._store.mail.change(letter.id, within=("held",), state="queued", why=""))

    async def edit(self, id: str, text: str) -> Letter:
        """Change its text. Raises `StoreError`."""
        letter = await self._store.mail.find(id)
        if self.delivery.progress.delivered(letter.id):
            await self._back(letter)
            fields = {"state": "queued", "why": "", "text": text}
            return self._publish_change(await self._store.mail.change(letter.id, within=("dropped",), **fields))
        return self._publish_change(await self._store.mail.change(letter.id, within=OPEN, text=text))

    async def drop(self, id: str) -> Letter:
        """Never deliver it. Raises `StoreError`."""
        letter = await self._store.mail.find(id)
        if self.delivery.progress.delivered(letter.id):
            return await self._back(letter)
        dropped = await self._store.mail.change(
            letter.id, within=OPEN, state="dropped", why="A person dropped it.", answered=True
        )
        return self._publish_change(dropped)

    def post(self, typing: MessageTransport) -> MailTransport:
        """The fleet's post. `typing`: who interrupts."""
        return MailTransport(self, typing)

    async def send(self, row: AgentRow, text: str, *, sender: str, defer_if_busy: bool) -> str:
        """What the fleet sends: its id. By a visitor it is delivered when this returns. Raises `FleetError`."""
        # Whoever started an agent speaks to it as its principal, and is told of its report; others are quoted.
        family = sender == row.parent or sender == PERSON
        try:
            if not family:
                above = await self.outbox.addresses.row(sender)
                family = above is not None and above.parent == row.id
            letter = await self.outbox.post(
                sender, Address(row.id, row.name, row=row), text, kind="send" if family else "say", defer=defer_if_busy
            )
            if self.visiting:
                await self._out(letter, patient=not (defer_if_busy and row.status in AT_WORK))
        except CommandError as error:
            raise FleetError("invalid", error.message, hint=error.hint) from error
        except StoreError as error:
            raise FleetError("store", error.message, hint=error.hint) from error
        return letter.id

    async def deliver(self, letter: Letter, *, within: float = OUT_WITHIN) -> None:
        """By a visitor: deliver a posted message now, where no other process does, and notice its answer.

        `within`: seconds for the agent to be ready. Raises `CommandError`: it was not delivered; it stays queued, and
        nobody waits for its answer.
        """
        if not self.visiting:
            return
        try:
            row = await self.outbox.addresses.row(letter.recipient)
            if row is None:
                return  # it lives in a window, which takes its messages out of the record
            if self._follow is not None:
                await self._follow(row.id)
            await self._out(letter, patient=False, within=within)
        except (FleetError, StoreError) as error:
            if letter.kind == "talk":
                with contextlib.suppress(StoreError):
                    await self._store.mail.change(letter.id, kind="say")
            raise CommandError(error.message, hint=error.hint) from error

    async def _out(self, letter: Letter, *, patient: bool, within: float = OUT_WITHIN) -> None:
        try:
            out = await self.delivery.out(letter.id, within)
            if out.state == "queued" and patient:
                out = await self._collected(out)
        except TimeoutError as error:
            hint = "It stays queued, and is delivered once that is possible; `mail drop` withdraws it."
            trouble = self.delivery.trouble(letter.recipient)
            why = f": {trouble.message}" if trouble is not None else "."
            message = f"{letter.recipient_name} was not ready for the message{why}"
            raise FleetError("busy", message, hint=hint) from error
        if out.state in ("held", "dropped"):
            raise FleetError("ended" if out.state == "dropped" else "tmux", out.why, hint="`mail ls` shows it.")

    async def _collected(self, letter: Letter) -> Letter:
        """Wait until another process has handled the message; returns it. Raises `TimeoutError`, `StoreError`."""
        async with time_limit(_COLLECTED_WITHIN):
            while letter.state == "queued":
                await asyncio.sleep(_COLLECTED_EVERY)
                letter = await self._store.mail.find(letter.id)
        return letter

    async def _back(self, letter: Letter) -> Letter:
        """Take it out of the agent's inbox again. Raises `StoreError` when the agent was faster."""
        self._bus.publish(PromptEditRequested(prompt=letter.id, agent=letter.recipient, text=""))
        now = letter
        with contextlib.suppress(TimeoutError):
            async with time_limit(_ANSWERED_WITHIN):
                while now.state == letter.state:
                    await self._bus.drained()
                    now = await self._store.mail.find(letter.id)
                    await asyncio.sleep(0.02)
        if now.state != "dropped":
            raise StoreError("busy", f"The message {letter.id} is {now.state} and can no longer be changed.")
        return now

    def _publish_change(self, letter: Letter) -> Letter:
        self.delivery.progress.publish_change(letter)
        self.delivery.check_now()
        return letter

    async def _listen(self, batch: Sequence[Event]) -> None:
        for event in batch:
            try:
                match event:
                    case MessageHoldRequested():
                        await (self.hold(event.message) if event.held else self.release(event.message))
                    case MessageEditRequested():
                        await (self.edit(event.message, event.text) if event.text else self.drop(event.message))
                    case _:
                        pass
            except StoreError as error:
                self._bus.publish(Noticed(level="warning", text=error.message, hint=error.hint, about="mail"))


class MailTransport:
    """The fleet's post: messages go through the mail, interruptions at once."""

    def __init__(self, room: MailService, typing: MessageTransport) -> None:
        self._room = room
        self._typing = typing

    async def send(self, row: AgentRow, text: str, *, sender: str, defer_if_busy: bool) -> str:
        return await self._room.send(row, text, sender=sender, defer_if_busy=defer_if_busy)

    async def interrupt(self, row: AgentRow) -> None:
        """Interrupt it as a person would. Raises `FleetError`."""
        await self._typing.interrupt(row)

"""Accepts messages: addresses them, checks the limits, records them and publishes them.
The limits: how often agents may write, how much, and how many messages may follow each other without a person.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

import msgspec

from gshtui.bus.agent_data import ENDED_STATUSES, AgentRow, GuardMode
from gshtui.bus.bus import Bus
from gshtui.bus.call_data import CallAsk, CallMessage
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import TurnFinished, TurnStarted
from gshtui.bus.events.fleet_events import MessagePosted, MessageQueued
from gshtui.bus.letter import OPEN, PERSON, Letter, LetterKind
from gshtui.commands.declaration import CommandError
from gshtui.commands.execution import command_error, command_errors
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from gshtui.system.ids import new_id

WITHIN = 60.0
"""Seconds over which messages are counted."""
MOST, MOST_TO_ONE = 20, 6
"""Messages of one agent within that time: in all, and to the same agent."""
MOST_WAITING = 50
"""Messages that may wait for one agent."""
DEEPEST = 6
"""Messages of agents in a row, each sent because of the one before, without a person in between."""
LONGEST = 50_000
"""Characters."""


def check_limits(letter: Letter, sent: Sequence[Letter], waiting: int) -> None:
    """Refuse what goes too far.

    Args:
        letter: as it would be sent.
        sent: what its sender has sent within `WITHIN` seconds.
        waiting: messages that wait for its recipient.

    Raises `CommandError`: one sentence, and what to do instead.
    """
    if letter.depth > DEEPEST:
        raise CommandError(
            f"This would be message {letter.depth} in a row from agent to agent; the limit is {DEEPEST}.",
            hint="End your turn with what you know; a person or your parent will continue from there.",
        )
    if len(sent) >= MOST:
        raise CommandError(f"You have sent {len(sent)} messages within a minute, which is the limit.", hint=_LESS)
    if sum(1 for one in sent if one.recipient == letter.recipient) >= MOST_TO_ONE:
        to = letter.recipient_name or letter.recipient
        raise CommandError(
            f"You have sent {MOST_TO_ONE} messages to {to} within a minute, which is the limit.", hint=_LESS
        )
    if waiting >= MOST_WAITING:
        raise CommandError(f"{waiting} messages are already waiting for {letter.recipient_name or letter.recipient}.")
    if len(letter.text) > LONGEST:
        raise CommandError(
            f"A message can have at most {LONGEST:,} characters.", hint="Write it to a file, and send the file's name."
        )


_LESS = "Put everything into one message, or do something else meanwhile."


class PromptChains:
    """The prompts in hand, by agent. `close` ends it."""

    def __init__(self, bus: Bus, store: Store) -> None:
        self._store = store
        self._prompts: dict[str, str] = {}
        self._subscription = bus.subscribe(self._listen, TurnStarted, TurnFinished, name="mail chains")

    def close(self) -> None:
        self._subscription.unsubscribe()

    async def depth(self, sender: str) -> int:
        """The depth of a message that this agent sends now. Raises `StoreError`."""
        if sender == PERSON:
            return 0
        prompt = self._prompts.get(sender)
        if prompt is None:
            return 1
        try:
            return (await self._store.mail.find(prompt)).depth + 1
        except StoreError as error:
            if error.kind in ("unknown", "ambiguous"):
                return 1
            raise

    def _listen(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if isinstance(event, TurnStarted):
                self._prompts[event.agent] = event.prompt
            elif isinstance(event, TurnFinished):
                self._prompts.pop(event.agent, None)


PARENT = "parent"
_HIGHEST = 16
"""Generations to look up; there are never this many."""
Relation = str
"""What the recipient is to the sender: parent, child (at any depth), other."""


class Address(msgspec.Struct, frozen=True):
    """A recipient. If it has no row, it lives in a window, and `session` is its conversation."""

    id: str
    name: str
    session: str = ""
    row: AgentRow | None = None


class Addresses:
    """Reads the record, because messages from other windows and processes count, too."""

    def __init__(self, store: Store, here: Callable[[str], str]) -> None:
        """`here`: name of an agent in this window → its conversation; empty if there is none."""
        self._store = store
        self._here = here
        self.start_named: Callable[[str], Awaitable[AgentRow | None]] | None = None
        """Starts an agent that the settings name; `None`: nothing here can. Raises `CommandError`."""

    async def find(self, wanted: str, sender: str, *, starts: bool = False) -> Address:
        """The recipient of this id or name. `starts`: one that the settings name is started if it does not run.
        Raises `CommandError`: there is none, it has ended, or it could not be started.
        """
        name = wanted.strip()
        if name == PARENT:
            return await self.parent(sender)
        if name in ("", PERSON, "you"):
            raise CommandError("The recipient is missing.", hint="Give an agent's id or name, or `parent`.")
        found = await self._local(name, sender)
        if found is None:
            row = await self.row(name)
            if (
                starts
                and self.start_named is not None
                and (row is None or row.killed or row.ended or row.status == "lost")
            ):
                row = await self.start_named(name) or row
            if row is None:
                raise CommandError(f"There is no agent {name[:40]!r}.", hint="`agent ls` lists them.")
            found = Address(row.id, row.name, row=row)
        return self._reachable(found, sender)

    async def parent(self, sender: str) -> Address:
        """The sender's parent. Raises `CommandError` if that is a person, or no longer exists."""
        row = await self.row(sender)
        if row is None or not row.parent:
            raise CommandError(
                "You were not started by another agent, so there is no parent to report to.",
                hint="The person sees what you answer.",
            )
        above = await self.row(row.parent)
        if above is None:
            return Address(row.parent, row.parent, row.parent_session)
        return self._reachable(Address(above.id, above.name, row=above), sender)

    async def relation(self, sender: str, to: Address) -> Relation:
        """What the recipient is to the sender."""
        row = await self.row(sender)
        if row is not None and row.parent == to.id:
            return PARENT
        above = to.row
        for _ in range(_HIGHEST):
            if above is None:
                break
            if above.parent == sender:
                return "child"
            above = await self.row(above.parent) if above.parent else None
        return "other"

    async def row(self, id: str) -> AgentRow | None:
        """An agent on the roster; `None` if there is none. Raises `CommandError` if the record fails."""
        try:
            return await self._store.agents.find(id)
        except StoreError as error:
            if error.kind == "unknown":
                return None
            raise command_error(error) from error

    async def _local(self, name: str, sender: str) -> Address | None:
        if session := self._here(name):
            return Address(name, name, session)
        # From an agent's own hub: the one in the window at the top of its family.
        row = await self.row(sender) if sender != PERSON else None
        for _ in range(_HIGHEST):
            if row is None or not row.parent:
                return None
            above = await self.row(row.parent)
            if above is None:
                return Address(name, name, row.parent_session) if row.parent == name else None
            row = above
        return None

    def _reachable(self, to: Address, sender: str) -> Address:
        if to.id == sender:
            raise CommandError("You cannot send a message to yourself.")
        row = to.row
        if row is not None and (row.killed or (row.ended and row.status in ENDED_STATUSES)):
            what = "was killed" if row.killed else f"has ended ({row.status})"
            raise CommandError(
                f"{row.name} ({row.id}) {what}, so nobody would read the message.",
                hint=f"`agent show {row.id}` prints its report.",
            )
        return to


class MailOutbox:
    """See the module's text. `close` ends it."""

    def __init__(
        self, bus: Bus, store: Store, addresses: Addresses, mode_of: Callable[[str], GuardMode] = lambda _: "ask"
    ) -> None:
        """`mode_of`: the mode of an agent that sends from here."""
        self.addresses = addresses
        self._bus = bus
        self._store = store
        self._mode_of = mode_of
        self._chains = PromptChains(bus, store)

    def close(self) -> None:
        self._chains.close()

    async def post(
        self, sender: str, to: Address, text: str, *, kind: LetterKind = "say", defer: bool = True
    ) -> Letter:
        """Hand a message in; it is on disk when this returns.

        Args:
            sender: id of an agent, or `person`.
            defer: it waits until the agent is idle.

        Raises `CommandError`: empty, over a limit, or the record failed.
        """
        if not text.strip():
            raise CommandError("The message is empty.", hint="Add the text of the message.")
        with command_errors(StoreError):
            row = await self.addresses.row(sender) if sender != PERSON else None
            letter = Letter(
                id=new_id(),
                sender=sender,
                sender_name=row.name if row is not None else "",
                recipient=to.id,
                recipient_name=to.name,
                session=to.session,
                text=text.strip("\n"),
                kind=kind,
                defer=defer,
                depth=await self._chains.depth(sender),
                mode="" if sender == PERSON else self._mode_of(sender),
            )
            if sender != PERSON and kind != "send":
                await self._check(letter)
            letter = await self._store.mail.add(letter)
        return self._publish(letter)

    async def post_in_call(
        self, ask: CallAsk, message: CallMessage, to: Address, text: str, *, mode: GuardMode | Literal[""]
    ) -> Letter:
        """Hand in what is put to a member of a call; a second time, it changes nothing. Raises `CommandError`. `mode`:
        of the agent that said it; empty: a person did.
        """
        by_agent = message.role != "user"
        with command_errors(StoreError):
            with contextlib.suppress(StoreError):
                return await self._store.mail.find(ask.letter)
            letter = Letter(
                id=ask.letter,
                sender=message.author if by_agent else PERSON,
                sender_name=message.author_name,
                recipient=to.id,
                recipient_name=to.name,
                session=to.session,
                text=text,
                kind="call",
                depth=message.depth,
                mode=mode,
                call=message.call,
                call_seq=message.seq,
            )
            if by_agent:
                await self._check(letter)
            letter = await self._store.mail.add(letter)
        return self._publish(letter)

    async def depth(self, sender: str) -> int:
        """The depth of what this agent says now: of messages that led to it, itself included. Raises `CommandError`."""
        with command_errors(StoreError):
            return await self._chains.depth(sender)

    def mode_of(self, agent: str) -> GuardMode:
        return self._mode_of(agent)

    def _publish(self, letter: Letter) -> Letter:
        self._bus.publish(
            MessageQueued(message=letter.id, agent=letter.recipient, sender=letter.sender, text=letter.text)
        )
        self._bus.publish(MessagePosted(message=letter.id, agent=letter.sender))
        return letter

    async def _check(self, letter: Letter) -> None:
        sent = await self._store.mail.sent_since(letter.sender, time.time() - WITHIN)
        waiting = await self._store.mail.find_all(OPEN, recipient=letter.recipient, limit=MOST_WAITING)
        check_limits(letter, sent, len(waiting))
        if letter.kind == "talk" and await self._waits_for(letter.recipient, letter.sender):
            to = letter.recipient_name or letter.recipient
            raise CommandError(
                f"{to} is waiting for your answer, so you would wait for each other.",
                hint="Answer first, or use `say`.",
            )

    async def _waits_for(self, one: str, other: str) -> bool:
        """Whether an agent waits for another one's answer, perhaps through others."""
        talks = [
            letter
            for letter in await self._store.mail.find_all((*OPEN, "typed", "submitted", "acted"))
            if letter.kind == "talk" and not letter.answered
        ]
        waiting, seen = [one], set[str]()
        while waiting:
            agent = waiting.pop()
            if agent == other:
                return True
            if agent not in seen:
                seen.add(agent)
                waiting.extend(letter.recipient for letter in talks if letter.sender == agent)
        return False

"""Where messages are handed in: checked against the limits, kept in the record, and said on the bus.

From here on a message survives every process. It refuses talks that wait for each other in a circle. Called by the
commands, in windows and in agents' own processes, and by the fleet's post.
"""

from __future__ import annotations

import time

from gshtui.bus.bus import Bus
from gshtui.bus.events.fleet import MessagePosted, MessageQueued
from gshtui.bus.ids import new_id
from gshtui.bus.mail import OPEN, PERSON, Letter, LetterKind
from gshtui.commands.declaration import CommandError
from gshtui.fleet.mail import limits
from gshtui.fleet.mail.addresses import Address, Addresses
from gshtui.fleet.mail.chains import Chains
from gshtui.store.errors import StoreError
from gshtui.store.store import Store


class Counter:
    """See the module's text. `close` ends it."""

    def __init__(self, bus: Bus, store: Store, addresses: Addresses) -> None:
        self.addresses = addresses
        self._bus = bus
        self._store = store
        self._chains = Chains(bus, store)

    def close(self) -> None:
        """Take nothing more."""
        self._chains.close()

    async def post(
        self, sender: str, to: Address, text: str, *, kind: LetterKind = "say", defer: bool = True
    ) -> Letter:
        """Hand a message in; it is on disk when this returns.

        Args:
            sender: id of an agent, or `person`.
            defer: it waits until the agent is idle.

        Raises:
            CommandError: empty, over a limit, or the record failed.
        """
        if not text.strip():
            raise CommandError("There is nothing to say.", hint="Give the words of the message.")
        try:
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
            )
            if sender != PERSON and kind != "send":
                await self._check(letter)
            letter = await self._store.add_letter(letter)
        except StoreError as error:
            raise CommandError(error.message, hint=error.hint) from error
        self._bus.publish(MessageQueued(message=letter.id, agent=letter.recipient, sender=sender, text=letter.text))
        self._bus.publish(MessagePosted(message=letter.id, agent=sender))
        return letter

    async def _check(self, letter: Letter) -> None:
        sent = await self._store.letters_since(letter.sender, time.time() - limits.WITHIN)
        waiting = await self._store.letters(OPEN, recipient=letter.recipient, limit=limits.MOST_WAITING)
        limits.check(letter, sent, len(waiting))
        if letter.kind == "talk" and await self._waits_for(letter.recipient, letter.sender):
            to = letter.recipient_name or letter.recipient
            raise CommandError(
                f"{to} waits for an answer of yours just now, so you would wait for each other.",
                hint="Answer first, or use `say`.",
            )

    async def _waits_for(self, one: str, other: str) -> bool:
        """Whether an agent waits for another one's answer, perhaps through others."""
        talks = [letter for letter in await self._store.letters((*OPEN, "typed", "submitted", "acted"))
                 if letter.kind == "talk" and not letter.answered]  # fmt: skip
        waiting, seen = [one], set[str]()
        while waiting:
            agent = waiting.pop()
            if agent == other:
                return True
            if agent not in seen:
                seen.add(agent)
                waiting.extend(letter.recipient for letter in talks if letter.sender == agent)
        return False

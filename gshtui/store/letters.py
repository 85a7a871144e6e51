"""The part of the record's contract that is about messages to agents; `Store` is one of these.

Owns the coroutines over the table `mail`; refuses nothing itself, see `mail`. Used by the mail and the faces.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from gshtui.bus.mail import Letter
from gshtui.store import mail
from gshtui.store.connection import Database
from gshtui.store.writer import Writer


class Letters:
    """Messages on disk, shared by all processes. Every coroutine raises `StoreError`, and returns when committed."""

    _database: Database
    _writer: Writer

    async def add_letter(self, letter: Letter) -> Letter:
        """Keep a new message; it is safe when this returns."""
        return await self._writer.submit(lambda connection: mail.add(connection, letter))

    async def letter(self, id: str) -> Letter:
        """The message of this id, or the only one whose id ends with it. Raises `StoreError` (unknown, ambiguous)."""
        return await self._database.run(lambda connection: mail.get(connection, id))

    async def letters(self, states: Sequence[str] = (), *, recipient: str = "", limit: int = 500) -> list[Letter]:
        """The newest messages in these states, oldest first."""
        return await self._database.run(partial(mail.listed, states=states, recipient=recipient, limit=limit))

    async def letters_since(self, sender: str, since: float) -> list[Letter]:
        """What an agent has sent since a moment (seconds since the epoch), oldest first."""
        return await self._database.run(lambda connection: mail.sent_since(connection, sender, since))

    async def change_letter(self, id: str, *, within: Sequence[str] = (), **changes: Any) -> Letter:
        """Change a message, in one of these states only. Raises `StoreError` (busy: too late for that)."""
        return await self._writer.submit(lambda connection: mail.change(connection, id, changes, within))

    async def take_letter(self, id: str) -> Letter | None:
        """Take a queued message for delivery; of several callers exactly one gets it."""
        return await self._writer.submit(lambda connection: mail.take(connection, id))

    async def let_letter_go(self, id: str) -> None:
        """Deliver it no longer."""
        await self._writer.submit(lambda connection: mail.let_go(connection, id))

    async def orphaned_letters(self) -> list[Letter]:
        """Messages whose deliverer died on the way. Each is given out once."""
        return await self._writer.submit(mail.orphans)

    async def letters_revision(self) -> int:
        """A number that grows with every change of any message, by whichever process."""
        return await self._database.run(mail.revision)

    async def letter_in_log(self, session: str, id: str) -> bool:
        """Whether a message stands in this conversation already."""
        return await self._database.run(lambda connection: mail.is_in_log(connection, session, id))

    async def forget_letters(self, days: float) -> None:
        """Remove messages that are through and older than this."""
        await self._writer.submit(lambda connection: mail.forget(connection, days))

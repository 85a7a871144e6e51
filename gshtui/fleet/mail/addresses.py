"""Whom a message is for: an agent on the roster by id or name, one that lives in a window, or the sender's parent.

Refuses whoever is not there any more, and the sender itself. In an agent's own process only the window that its family
belongs to can be named. Called by `counter` and the commands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gshtui.bus.fleet import ENDED_STATUSES, AgentRow
from gshtui.bus.mail import PERSON
from gshtui.commands.declaration import CommandError
from gshtui.store.errors import StoreError
from gshtui.store.store import Store

PARENT = "parent"
_HIGHEST = 16
"""Generations that are looked up; there are never so many."""
Relation = str
"""What the recipient is to the sender: parent, child (at any depth), other."""


@dataclass(frozen=True, slots=True)
class Address:
    """A recipient. Without a row it lives in a window; `session` is the conversation there that is meant."""

    id: str
    name: str
    session: str = ""
    row: AgentRow | None = None


class Addresses:
    """Looks up the record, since agents of other windows and processes count too."""

    def __init__(self, store: Store, here: Callable[[str], str]) -> None:
        """`here`: name of an agent that lives in this window → its conversation; empty when there is none."""
        self._store = store
        self._here = here

    async def find(self, wanted: str, sender: str) -> Address:
        """The recipient of this id or name. Raises `CommandError`."""
        name = wanted.strip()
        if name == PARENT:
            return await self.parent(sender)
        if name in ("", PERSON, "you"):
            raise CommandError("Say who it is for.", hint="An agent's id or name, or `parent`.")
        found = await self._local(name, sender)
        if found is None:
            row = await self.row(name)
            if row is None:
                raise CommandError(f"There is no agent {name[:40]!r}.", hint="`agent ls` lists them.")
            found = Address(row.id, row.name, row=row)
        return self._reachable(found, sender)

    async def parent(self, sender: str) -> Address:
        """Whoever started the sender. Raises `CommandError` when that was a person, or it is gone."""
        row = await self.row(sender)
        if row is None or not row.parent:
            raise CommandError(
                "You were not started by another agent, so there is no parent to report to.",
                hint="What you answer is seen by the person.",
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
        """An agent on the roster; `None` when it is not there. Raises `CommandError` when the record fails."""
        try:
            return await self._store.agent(id)
        except StoreError as error:
            if error.kind == "unknown":
                return None
            raise CommandError(error.message, hint=error.hint) from error

    async def _local(self, name: str, sender: str) -> Address | None:
        if session := self._here(name):
            return Address(name, name, session)
        # From an agent's own process: the one in the window at the top of its family.
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
            raise CommandError("That is you; there is no need to send yourself messages.")
        row = to.row
        if row is not None and (row.killed or (row.ended and row.status in ENDED_STATUSES)):
            what = "is killed" if row.killed else f"has ended ({row.status})"
            raise CommandError(
                f"{row.name} ({row.id}) {what}; nobody would read it.", hint=f"`agent show {row.id}` gives its report."
            )
        return to

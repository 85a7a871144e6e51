"""How calls reach agents: by the mail. Refuses shells and interpreters, which would run what is said."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable

from gshtui.bus.agent_data import ENDED_STATUSES, AgentRow, GuardMode
from gshtui.bus.call_data import CallAsk, CallMessage
from gshtui.calls.call_delivery import Recipient
from gshtui.commands.declaration import CommandError
from gshtui.fleet.core.agent_programs import Programs
from gshtui.fleet.mail.mail_service import MailService
from gshtui.fleet.mail.outbox import Address, MailOutbox
from gshtui.programs.profiles.profile import takes_code
from gshtui.store.record.store import Store

Local = Callable[[], Iterable[str]]
"""The names of the agents that live in this process."""


class CallMail:
    """A `CallPost` over the outbox of this hub; `room`: delivers at once where this process ends soon."""

    def __init__(
        self,
        store: Store,
        outbox: MailOutbox,
        local: Local,
        room: MailService | None = None,
    ) -> None:
        self._store = store
        self._outbox = outbox
        self._local = local
        self._room = room
        self._programs = room.programs if room is not None else Programs()

    async def find(self, wanted: str, sender: str, *, starts: bool) -> Recipient:
        """The agent of this id or name. Raises `CommandError`, also for a shell or an interpreter."""
        return (await self._address(wanted, sender, starts=starts))[1]

    async def everyone(self) -> list[Recipient]:
        """Those that live here, and those in terminals, whatever their folder. Raises `StoreError`."""
        rows = await self._store.agents.find_all()
        found = [Recipient(name, name, own=True) for name in self._local()]
        for row in rows:
            gone = row.killed or row.ended or row.status in ENDED_STATUSES
            if not gone and not await self._runs_code(row):
                found.append(Recipient(row.id, row.name, own=row.speaks_events))
        return found

    async def depth(self, sender: str) -> int:
        """The depth of what this agent says now. Raises `CommandError`."""
        return await self._outbox.depth(sender)

    def mode_of(self, agent: str) -> GuardMode:
        return self._outbox.mode_of(agent)

    async def post(self, ask: CallAsk, message: CallMessage, recipient: Recipient, text: str) -> None:
        """Hand it in, once however often it is called. Raises `CommandError`."""
        to, _ = await self._address(recipient.id, message.author)
        letter = await self._outbox.post_in_call(ask, message, to, text, mode=message.mode)
        if self._room is not None:
            with contextlib.suppress(CommandError):  # it stays queued
                await self._room.deliver(letter)

    async def _address(self, wanted: str, sender: str, *, starts: bool = False) -> tuple[Address, Recipient]:
        to = await self._outbox.addresses.find(wanted, sender, starts=starts)
        if to.row is not None and await self._runs_code(to.row):
            raise CommandError(
                f"{to.name} is a shell or an interpreter, which would run what is said in a call.",
                hint="Invite an agent: `agents` lists them.",
            )
        return to, Recipient(to.id, to.name, own=to.row is None or to.row.speaks_events)

    async def _runs_code(self, row: AgentRow) -> bool:
        return row.kind == "cli" and takes_code(await self._programs.profile(row))

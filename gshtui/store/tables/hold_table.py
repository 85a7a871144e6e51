"""The table `holds`: who may write to a conversation.

Runs its SQL inside the caller's transaction. There is no second writer while the first one's process lives.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Awaitable, Callable

import msgspec

from gshtui.store.engine.encoding import clean_text
from gshtui.store.engine.store_errors import SessionHeld, StoreError, missing
from gshtui.store.engine.table import ReadThread, Table, WriteQueue
from gshtui.system.ids import new_id
from gshtui.system.processes.process_identity import Process, is_alive, this_process
from gshtui.system.processes.time_limit import time_limit


class Holder(msgspec.Struct, frozen=True):
    """Who holds a conversation: the place in a person's words, the process, since when in epoch seconds."""

    place: str
    pid: int
    since: float


def acquire_hold(connection: sqlite3.Connection, session: str, place: str) -> str:
    """Take the conversation for this process.

    Returns:
        A token for giving it back.

    Raises `SessionHeld`: a living process has it, possibly this one; `StoreError`: there is no such conversation
    (`unknown`).
    """
    if not connection.execute("SELECT 1 FROM sessions WHERE id = ?", (session,)).fetchone():
        raise missing(session)
    if found := hold_of(connection, session):
        raise SessionHeld(found.place, found.pid, found.since)
    me, token = this_process(), new_id()
    connection.execute(
        "INSERT OR REPLACE INTO holds (session, token, place, machine, pid, started, since)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (session, token, clean_text(place), me.machine, me.pid, me.started, time.time()),
    )
    return token


def release_hold(connection: sqlite3.Connection, token: str) -> None:
    """End a hold, unless another process has taken it over."""
    connection.execute("DELETE FROM holds WHERE token = ?", (token,))


def move_hold(connection: sqlite3.Connection, session: str, place: str) -> None:
    """Note where this process has the conversation open now."""
    connection.execute(
        "UPDATE holds SET place = ? WHERE session = ? AND pid = ?", (clean_text(place), session, this_process().pid)
    )


def hold_of(connection: sqlite3.Connection, session: str) -> Holder | None:
    """Who has the conversation open for writing; `None` if no living process does."""
    row = connection.execute(
        "SELECT place, machine, pid, started, since FROM holds WHERE session = ?", (session,)
    ).fetchone()
    if row is None or not is_alive(Process(str(row[1]), int(row[2]), str(row[3]))):
        return None
    return Holder(str(row[0]), int(row[2]), float(row[4]))


class SessionHold:
    """The right to write to a conversation, until `release`."""

    def __init__(self, session: str, token: str, give_back: Callable[[str], Awaitable[None]]) -> None:
        self.session = session
        self._token = token
        self._give_back = give_back

    async def release(self) -> None:
        """Let others write to it. May be called twice."""
        await self._give_back(self._token)


class HoldTable(Table):
    """`store.holds`: the conversations that this process writes to."""

    def __init__(self, thread: ReadThread, writer: WriteQueue) -> None:
        super().__init__(thread, writer)
        self._held: set[str] = set()

    async def acquire(self, session: str, where: str) -> SessionHold:
        """Take the conversation for writing; `where` says in a person's words where it is open. Raises `SessionHeld`: a
        living process has it.
        """
        token = await self._write(lambda connection: acquire_hold(connection, session, where))
        self._held.add(token)
        return SessionHold(session, token, self._release)

    async def move(self, session: str, where: str) -> None:
        """Say where a conversation of this process is open now, as in `acquire`. Raises `StoreError`."""
        await self._write(lambda connection: move_hold(connection, session, where))

    async def release_all(self, deadline: float) -> None:
        """Release everything that this process holds, with `deadline` seconds for each. Never raises."""
        for token in tuple(self._held):
            with contextlib.suppress(StoreError, TimeoutError):
                async with time_limit(deadline):
                    await self._release(token)

    async def _release(self, token: str) -> None:
        if token in self._held:
            await self._write(lambda connection: release_hold(connection, token))
            self._held.discard(token)

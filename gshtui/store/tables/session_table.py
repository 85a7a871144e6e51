"""The table `sessions`: conversations, their names and order of use.

Runs its SQL inside the caller's transaction.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import sqlite3
import time
from functools import partial
from typing import Any

import msgspec

from gshtui.store.engine import journal_queue
from gshtui.store.engine.encoding import clean_text
from gshtui.store.engine.store_errors import SessionHeld, StoreError, missing
from gshtui.store.engine.table import Table
from gshtui.store.tables.hold_table import hold_of
from gshtui.store.tables.queue_table import WAITS
from gshtui.system.ids import new_id
from gshtui.text.secret_shapes import without_tokens

TITLE_LENGTH = 80
_DIGITS = 3
"""Of a conversation's number in the list; longer ones are parts of ids."""
_BEING_OPENED = 60.0
"""Seconds after its beginning in which a conversation may not be held yet by who began it."""
EMPTY_KEPT = 7 * 86_400.0
"""Seconds after which a conversation without messages is deleted."""
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")
_COST = "(SELECT CASE WHEN sum(cost IS NULL) THEN NULL ELSE sum(cost) END FROM usage WHERE session = sessions.id)"
_USED = (
    "(SELECT coalesce(sum(input + output + cache_read + cache_write), 0) FROM usage WHERE session = sessions.id),"
    f" {_COST}"
)
_QUEUED = "(SELECT count(*) FROM queued_prompts WHERE session = sessions.id)"
_FIELDS = f"id, title, cwd, agent, provider, model, parent, created, updated, messages, archived, {_QUEUED}, {_USED}"
_NEXT_TOUCH = "(SELECT coalesce(max(touched), 0) + 1 FROM sessions)"
_BEGUN = f"(messages > 0 OR {WAITS} OR id IN (SELECT session FROM session_bases WHERE rewound = 1))"
"""Something was said in it, or waits to be, or a person has gone back there to before the first prompt."""


class SessionInfo(msgspec.Struct, frozen=True):
    """A conversation as listed, without opening it. Times are epoch seconds."""

    id: str
    title: str
    cwd: str
    agent: str
    provider: str
    model: str
    created: float
    updated: float
    messages: int
    parent: str = ""
    held_by: str = ""
    """Where it is open for writing; empty: nowhere."""
    tokens: int = 0
    """Of all its requests and answers."""
    cost: float | None = None
    """US dollars; `None`: nothing was sent, or the price of something is unknown."""
    queued: int = 0
    """Prompts that wait in it."""
    archived: bool = False
    """Lists leave it out until something is said in it again, or it is taken back."""


def touch_session(connection: sqlite3.Connection, session: str) -> None:
    """Make it the one that was used last."""
    connection.execute(f"UPDATE sessions SET touched = {_NEXT_TOUCH} WHERE id = ?", (session,))


def create_session(
    connection: sqlite3.Connection, *, cwd: str, agent: str, provider: str, model: str, title: str, parent: str
) -> SessionInfo:
    """A new, empty conversation."""
    now = time.time()
    connection.execute(
        "DELETE FROM sessions WHERE messages = 0 AND updated < ? AND id NOT IN (SELECT session FROM holds)"
        f" AND id NOT IN (SELECT session FROM partials) AND NOT {WAITS}",
        (now - EMPTY_KEPT,),
    )
    journal_queue.trim(connection)
    values = [clean_text(value) for value in (new_id(), title, cwd, agent, provider, model, parent)]
    connection.execute(
        "INSERT INTO sessions (id, title, cwd, agent, provider, model, parent, created, updated, touched)"
        f" VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, {_NEXT_TOUCH})",
        (*values, now, now),
    )
    id, title, cwd, agent, provider, model, parent = values
    return SessionInfo(id, title, cwd, agent, provider, model, now, now, 0, parent)


def lineage(connection: sqlite3.Connection, session: str) -> list[tuple[str, int]]:
    """(conversation, last `seq`) of all that this one's log is made of, its own part first.

    A fork has its own messages from there on; those before are read where they are.
    """
    found: list[tuple[str, int]] = [(session, 2**62)]
    while len(found) <= _GENERATIONS:
        owner, last = found[-1]
        row = connection.execute("SELECT base, upto FROM session_bases WHERE session = ?", (owner,)).fetchone()
        if row is None:
            break
        found.append((str(row[0]), min(last, int(row[1]))))
    return found


def fork_session(
    connection: sqlite3.Connection,
    session: str,
    *,
    cwd: str,
    agent: str,
    title: str,
    parent: str,
    upto: int | None = None,
    rewound: bool = False,
) -> SessionInfo:
    """A new conversation that goes on from another one's messages, cuts and pins; costs nothing a message.

    What was sent, its events and its costs stay with the original.

    Args:
        upto: the position of the last message that it takes over; `None`: all that there are now.
        rewound: it is made by a rewind.

    Raises `StoreError`: there is no such conversation (`unknown`).
    """
    old = find_session(connection, session)
    new = create_session(
        connection, cwd=cwd, agent=agent, provider=old.provider, model=old.model, title=title, parent=parent
    )
    end = int(connection.execute("SELECT last_seq FROM sessions WHERE id = ?", (old.id,)).fetchone()[0])
    last = end if upto is None else max(0, min(upto, end))
    connection.execute(
        "INSERT INTO session_bases (session, base, upto, rewound) VALUES (?, ?, ?, ?)", (new.id, old.id, last, rewound)
    )
    for table, columns in _COPIED.items():
        connection.execute(
            f"INSERT INTO {table} (session, {columns}) SELECT ?, {columns} FROM {table} WHERE session = ?"
            " ORDER BY rowid",
            (new.id, old.id),
        )
    connection.execute("UPDATE sessions SET messages = ?, last_seq = ? WHERE id = ?", (last, last, new.id))
    until = _time_after(connection, old.id, last)
    found = connection.execute(
        "SELECT id, kind, at, data FROM overlays WHERE session = ? AND at < ? ORDER BY seq", (old.id, until)
    )
    overlays = [tuple(row) for row in found.fetchall()]
    # An overlay's id is its own over all conversations, and later ones name earlier ones by it.
    names = {str(id): new_id() for id, *_ in overlays}
    for id, kind, at, data in overlays:
        text = str(data)
        for was, fresh in names.items():
            text = text.replace(was, fresh)
        connection.execute(
            "INSERT INTO overlays (id, session, kind, at, data) VALUES (?, ?, ?, ?, ?)",
            (names[str(id)], new.id, kind, at, text),
        )
    return find_session(connection, new.id)


_COPIED = {"output_uses": "call, key", "media_uses": "key"}
"""The tables of what a conversation uses, and their columns beside it."""
_GENERATIONS = 10_000
"""Forks of forks that are followed; only a damaged record has a circle."""


def _time_after(connection: sqlite3.Connection, session: str, last: int) -> float:
    """When the message after this position was written; infinite if there is none."""
    for owner, upto in reversed(lineage(connection, session)):
        row = connection.execute(
            "SELECT at FROM messages WHERE session = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT 1",
            (owner, last, upto),
        ).fetchone()
        if row is not None:
            return float(row[0])
    return float("inf")


def _hand_down(connection: sqlite3.Connection, session: str) -> None:
    """Give the forks of a conversation that is being deleted the messages that they take over from it."""
    above = connection.execute("SELECT base, upto FROM session_bases WHERE session = ?", (session,)).fetchone()
    forks = connection.execute("SELECT session, upto FROM session_bases WHERE base = ?", (session,)).fetchall()
    for fork, upto in forks:
        connection.execute(
            "INSERT OR IGNORE INTO messages (session, seq, message, role, at, data, body)"
            " SELECT ?, seq, message, role, at, data, body FROM messages WHERE session = ? AND seq <= ? ORDER BY seq",
            (fork, session, upto),
        )
        if above is None:
            connection.execute("DELETE FROM session_bases WHERE session = ?", (fork,))
        else:
            connection.execute(
                "UPDATE session_bases SET base = ?, upto = ?, rewound = 0 WHERE session = ?",
                (above[0], min(int(upto), int(above[1])), fork),
            )


def find_session(connection: sqlite3.Connection, name: str) -> SessionInfo:
    """Find the conversation by id, or by a unique beginning or end of its id. Raises `StoreError`: there is none
    (`unknown`), or there are several (`ambiguous`).
    """
    name = clean_text(name).strip()
    for condition, value in (
        ("id = ?", name),
        ("id >= ?1 AND id < ?1 || 'zz'", name),  # ids begin with the time: those of one day begin alike
        ("substr(id, -length(?1)) = ?1", name),
    ):
        if not name:
            break
        found = connection.execute(
            f"SELECT {_FIELDS} FROM sessions WHERE {condition} ORDER BY touched DESC LIMIT 4", (value,)
        ).fetchall()
        if len(found) == 1:
            return _info(connection, found[0])
        if found:
            some = ", ".join(str(row[0]) for row in found[:3]) + (" …" if len(found) > 3 else "")
            raise StoreError("ambiguous", f"Several conversations match {name!r}: {some}.", hint="Use more of the id.")
    raise StoreError("unknown", f"There is no conversation {name!r}.", hint="`session ls` lists them.")


def numbered_session(connection: sqlite3.Connection, cwd: str, number: int, archived: bool) -> SessionInfo:
    """The conversation with this number in the folder's list, or in that of its archived ones. Raises `StoreError`
    (`unknown`).
    """
    listed = list_sessions(connection, cwd=cwd, limit=number, empty=False, archived=archived)
    if len(listed) < number:
        kind, all_of_them = ("archived conversation", " archived=true") if archived else ("conversation", "")
        why = f"There is no {kind} {number} in this folder: it has {len(listed)}."
        raise StoreError("unknown", why, hint=f"`session ls{all_of_them}` lists them with their numbers.")
    return listed[-1]


def list_sessions(
    connection: sqlite3.Connection,
    *,
    cwd: str | None,
    agent: str = "",
    provider: str = "",
    model: str = "",
    cost: float = 0.0,
    limit: int,
    empty: bool,
    archived: bool | None = None,
) -> list[SessionInfo]:
    """Conversations, most recently used first."""
    conditions = ["1"] if empty else [_BEGUN]
    if archived is not None:
        conditions.append(f"archived = {int(archived)}")
    parameters: list[Any] = []
    for condition, value in (
        ("cwd = ?", cwd),
        ("? IN (agent, (SELECT name FROM agents WHERE agents.id = sessions.agent))", agent),
        ("provider = ?", provider),
        ("instr(lower(model), lower(?))", model),
    ):
        if value:
            conditions.append(condition)
            parameters.append(clean_text(value))
    if cost:
        conditions.append(f"{_COST} >= ?")
        parameters.append(cost)
    found = connection.execute(
        f"SELECT {_FIELDS} FROM sessions WHERE {' AND '.join(conditions)} ORDER BY touched DESC LIMIT ?",
        (*parameters, limit),
    ).fetchall()
    return [_info(connection, row) for row in found]


def latest_session(connection: sqlite3.Connection, cwd: str) -> SessionInfo | None:
    """The folder's most recently used conversation, neither archived nor with a parent; `None` if there is none."""
    row = connection.execute(
        f"SELECT {_FIELDS} FROM sessions WHERE cwd = ? AND {_BEGUN} AND parent = '' AND archived = 0"
        " ORDER BY touched DESC LIMIT 1",
        (clean_text(cwd),),
    ).fetchone()
    return _info(connection, row) if row else None


def latest_of(connection: sqlite3.Connection, agent: str, parent: str) -> SessionInfo | None:
    """An agent's most recently used conversation with this parent; `None` if there is none."""
    row = connection.execute(
        f"SELECT {_FIELDS} FROM sessions WHERE agent = ? AND parent = ? ORDER BY touched DESC LIMIT 1",
        (clean_text(agent), clean_text(parent)),
    ).fetchone()
    return _info(connection, row) if row else None


def update_session(connection: sqlite3.Connection, session: str, changes: dict[str, str | None]) -> None:
    """Set the fields that are not `None`. Raises `StoreError` (`unknown`)."""
    given = {name: clean_text(value) for name, value in changes.items() if value is not None}
    if "title" in given:
        given["title"] = title_of(given["title"])
    sets = ", ".join([*(f"{name} = ?" for name in given), "updated = ?"])
    done = connection.execute(f"UPDATE sessions SET {sets} WHERE id = ?", (*given.values(), time.time(), session))
    if not done.rowcount:
        raise missing(session)


def archive_session(connection: sqlite3.Connection, session: str, archived: bool) -> None:
    """Take a conversation out of the lists, or back into them. Raises `StoreError`: there is none (`unknown`), or it is
    open for writing somewhere (`held`).
    """
    if archived and (holder := hold_of(connection, session)):
        raise SessionHeld(holder.place, holder.pid, holder.since)
    if not connection.execute("UPDATE sessions SET archived = ? WHERE id = ?", (archived, session)).rowcount:
        raise missing(session)


def delete_session(connection: sqlite3.Connection, session: str) -> None:
    """Delete a conversation: messages, what was sent, outputs and texts that no other one uses, journal.
    Raises `StoreError`: there is none (`unknown`), or it is open for writing somewhere (`held`).
    """
    from gshtui.store.tables import (
        output_table,  # late import: most uses of conversations remove none
        sent_texts,
    )

    if holder := hold_of(connection, session):
        raise SessionHeld(holder.place, holder.pid, holder.since)
    _hand_down(connection, session)
    sent_texts.drop_of(connection, session)
    if not connection.execute("DELETE FROM sessions WHERE id = ?", (session,)).rowcount:
        raise missing(session)
    connection.execute("DELETE FROM journal WHERE session = ?", (session,))
    connection.execute("DELETE FROM holds WHERE session = ?", (session,))
    output_table.drop_unused(connection)
    sent_texts.drop_unused(connection)


def _media_in_use(connection: sqlite3.Connection) -> set[str]:
    return {str(key) for (key,) in connection.execute("SELECT DISTINCT key FROM media_uses")}


def _drop_media(used: set[str]) -> None:
    from gshtui.media import media_files  # late: most uses of conversations remove none

    media_files.drop_unused(used)


def _drop_variables(session: str) -> None:
    from gshtui.store.tables import python_states  # late, as above

    python_states.remove_all(session)


def _forget_removed_words(connection: sqlite3.Connection) -> None:
    """Rewrite the word index without the words of removed messages, which it would otherwise keep until its next
    merge.
    """
    connection.execute("INSERT INTO messages_fts (messages_fts) VALUES ('optimize')")


def next_seq(connection: sqlite3.Connection, session: str, title: str) -> int:
    """The position of the next message; the conversation counts it, and takes the title if it has none."""
    row = connection.execute(
        "UPDATE sessions SET last_seq = last_seq + 1, messages = messages + 1, updated = ?, archived = 0,"
        f" touched = {_NEXT_TOUCH}, title = CASE title WHEN '' THEN ? ELSE title END WHERE id = ? RETURNING last_seq",
        (time.time(), title, session),
    ).fetchall()
    if not row:
        raise missing(session)
    return int(row[0][0])


def title_of(text: str) -> str:
    """The first non-blank line without secrets, shortened to fit on one line of a list."""
    for line in _ESCAPES.sub("", text).splitlines():
        line = without_tokens(line[:2_000])
        words = " ".join("".join(char if char.isprintable() else " " for char in line).split())
        if words:
            return words if len(words) <= TITLE_LENGTH else words[: TITLE_LENGTH - 1].rstrip() + "…"
    return ""


def _info(connection: sqlite3.Connection, row: tuple[Any, ...]) -> SessionInfo:
    session, title, cwd, agent, provider, model, parent, created, updated, messages, archived, *rest = row
    queued, tokens, cost = rest
    holder = hold_of(connection, session)
    place = (holder.place or f"process {holder.pid}") if holder else ""
    entry = (session, title, cwd, agent, provider, model)
    return SessionInfo(*entry, created, updated, messages, parent, place, tokens, cost, queued, bool(archived))


class SessionTable(Table):
    """`store.sessions`: conversations without their messages."""

    async def create(
        self, *, cwd: str, agent: str, provider: str = "", model: str = "", title: str = "", parent: str = ""
    ) -> SessionInfo:
        """Create an empty conversation. Its first prompt becomes its title unless it has one."""
        fields = {"cwd": cwd, "agent": agent, "provider": provider, "model": model, "title": title, "parent": parent}
        return await self._write(lambda connection: create_session(connection, **fields))

    async def fork(
        self, id: str, *, cwd: str, agent: str, title: str, parent: str, upto: int | None = None, rewound: bool = False
    ) -> SessionInfo:
        """A conversation that goes on from another one's; see `fork_session`. Raises `StoreError` (`unknown`)."""
        fields: dict[str, Any] = {"cwd": cwd, "agent": agent, "title": title, "parent": parent}
        fields |= {"upto": upto, "rewound": rewound}
        return await self._write(lambda connection: fork_session(connection, id, **fields))

    touch = Table.writes(touch_session)

    async def rewound_from(self, id: str) -> str:
        """The conversation that a rewind left for this one; empty: none did."""

        def look(connection: sqlite3.Connection) -> str:
            row = connection.execute(
                "SELECT base FROM session_bases WHERE session = ? AND rewound = 1", (id,)
            ).fetchone()
            return "" if row is None else str(row[0])

        return await self._read(look)

    async def find(self, name: str, cwd: str = "", *, archived: bool = False) -> SessionInfo:
        """Find the conversation by id, or by a unique beginning or end of its id.

        Args:
            cwd: the folder in whose list a small number is looked up, and whose most recently used one is `latest`;
                empty: both are parts of ids.
            archived: the number is one of the list of archived ones.

        Raises `StoreError`: `unknown` or `ambiguous`.
        """
        if cwd and name.isdecimal() and len(name) <= _DIGITS and int(name):
            return await self._read(lambda connection: numbered_session(connection, cwd, int(name), archived))
        if cwd and name == "latest":
            if info := await self.latest(cwd):
                return info
            why = "This folder has no conversations yet."
            raise StoreError("unknown", why, hint="`session ls all=true` (`--all`) lists those of every folder.")
        return await self._read(lambda connection: find_session(connection, name))

    async def find_all(
        self,
        *,
        cwd: str | None = None,
        agent: str = "",
        provider: str = "",
        model: str = "",
        cost: float = 0.0,
        limit: int = 100,
        empty: bool = False,
        archived: bool | None = None,
    ) -> list[SessionInfo]:
        """Conversations that used this last and cost so many US dollars or more, most recently used first. `empty`:
        those without messages, too. `archived`: `None`: both.
        """
        chosen: dict[str, Any] = {"cwd": cwd, "agent": agent, "provider": provider, "model": model, "cost": cost}
        return await self._read(partial(list_sessions, **chosen, limit=limit, empty=empty, archived=archived))

    latest_of = Table.reads(latest_of)
    latest = Table.reads(latest_session)
    archive = Table.writes(archive_session)

    async def update(
        self, id: str, *, title: str | None = None, provider: str | None = None, model: str | None = None
    ) -> None:
        """Change the given fields. Raises `StoreError` (`unknown`)."""
        changes = {"title": title, "provider": provider, "model": model}
        await self._write(lambda connection: update_session(connection, id, changes))

    async def set_passing(self, id: str) -> None:
        """Note that this conversation is not to be kept: if its process dies, `drop_abandoned` deletes it."""
        await self._write(
            lambda connection: connection.execute("INSERT OR IGNORE INTO passing_sessions (session) VALUES (?)", (id,))
        )

    async def drop_abandoned(self) -> int:
        """Delete the conversations that were not to be kept, and which no living process has open. How many."""

        def look(connection: sqlite3.Connection) -> list[str]:
            found = connection.execute(
                "SELECT session FROM passing_sessions JOIN sessions ON id = session WHERE created < ?",
                (time.time() - _BEING_OPENED,),
            )
            return [id for (id,) in found.fetchall() if hold_of(connection, id) is None]

        abandoned = await self._read(look)
        for id in abandoned:
            with contextlib.suppress(StoreError):  # another process was quicker
                await self.delete(id)
        return len(abandoned)

    async def delete(self, id: str) -> None:
        """Delete a conversation and everything that only it uses, from the file too.

        What was typed stays in the input history. Raises `StoreError` (`unknown`, `held`).
        """
        await self._write(lambda connection: delete_session(connection, id))
        await self._write(_forget_removed_words)
        used = await self._read(_media_in_use)
        await asyncio.to_thread(_drop_media, used)
        await asyncio.to_thread(_drop_variables, id)

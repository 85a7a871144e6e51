"""The journal: every event worth replaying, in the order of recording, and the entries that wait to be written.

Owns the table `journal` and the limit of the queue; refuses deltas, and beyond the limit gives up the oldest and counts
them.
"""

from __future__ import annotations

import math
import sqlite3
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from gshtui.bus import wire
from gshtui.bus.event import Event
from gshtui.bus.events.agent import MessageAppended, TextDelta, ThinkingDelta, ToolOutput, TurnFinished
from gshtui.bus.events.hub import Noticed
from gshtui.bus.events.shell import (
    FilesChanged,
    InputCommandFinished,
    InputCommandPrinted,
    InputCommandStarted,
    ShellFolderChanged,
    ShellNoted,
    ShellRecorded,
)
from gshtui.store import encoding

LOOSE_KEPT = 20_000
"""Entries of no conversation (a window opened, a setting changed) that are kept."""
NOT_RECORDED = (
    *(TextDelta, ThinkingDelta, ToolOutput),
    *(ShellRecorded, ShellNoted, ShellFolderChanged, FilesChanged),  # the history has them, and the runs
    *(InputCommandStarted, InputCommandPrinted, InputCommandFinished),
)


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One event on its way into the journal."""

    session: str
    type: str
    at: float
    data: bytes
    lasting: bool = False
    """To be safe from a power cut at once, with all that was committed before."""


@dataclass(slots=True)
class JournalEncoder:
    """Turns events into entries, and knows which agent is in which conversation."""

    sessions: dict[str, str] = field(default_factory=dict[str, str])

    def entry(self, event: Event) -> JournalEntry | None:
        """The event's entry; `None` for one that is not recorded. Never raises for what an event holds.

        An event that names only its agent belongs to the conversation that this agent was last seen in.
        """
        if isinstance(event, NOT_RECORDED):
            return None
        if not math.isfinite(event.at):
            event = msgspec.structs.replace(event, at=0.0)
        if isinstance(event, MessageAppended):
            event = msgspec.structs.replace(event, message=msgspec.structs.replace(event.message, blocks=()))
        fields = wire.to_plain(event)
        agent, session = (encoding.clean_text(str(fields.get(name, ""))) for name in ("agent", "session"))
        if session and agent:
            self.sessions[agent] = session
        session = session or self.sessions.get(agent, "")
        name, data = encoding.clean_text(str(fields["type"])), encoding.encode_plain(fields)
        if len(data) > wire.MAX_LINE:
            # No reader takes so long a line; the whole of such a text is in the messages or the outputs.
            name = Noticed.__name__
            text = f"The event {fields['type']} had {len(data)} bytes, too many for the journal."
            data = encoding.encode_plain(wire.to_plain(Noticed(at=event.at, text=text, about=agent)))
        return JournalEntry(session, name, event.at, data, lasting=isinstance(event, TurnFinished))


def insert(connection: sqlite3.Connection, entries: Sequence[JournalEntry]) -> None:
    """Add entries at the end."""
    connection.executemany(
        "INSERT INTO journal (session, type, at, data) VALUES (?, ?, ?, ?)",
        [(entry.session, entry.type, entry.at, entry.data.decode()) for entry in entries],
    )


def trim(connection: sqlite3.Connection) -> None:
    """Forget the oldest of what belongs to no conversation; the rest goes with its conversation."""
    connection.execute(
        "DELETE FROM journal WHERE session = '' AND seq <="
        " (SELECT seq FROM journal WHERE session = '' ORDER BY seq DESC LIMIT 1 OFFSET ?)",
        (LOOSE_KEPT,),
    )


def read(connection: sqlite3.Connection, session: str, after: int, limit: int) -> list[tuple[int, Event]]:
    """Events of a conversation after the entry `after`, oldest first. An entry that cannot be read is left out."""
    found = connection.execute(
        "SELECT seq, data FROM journal WHERE session = ? AND seq > ? ORDER BY seq LIMIT ?", (session, after, limit)
    )
    events: list[tuple[int, Event]] = []
    for seq, data in found.fetchall():
        try:
            event = wire.decode(str(data).encode())
        except wire.WireError:
            continue
        events.append((int(seq), _whole(connection, event)))
    return events


def _whole(connection: sqlite3.Connection, event: Event) -> Event:
    if not isinstance(event, MessageAppended):
        return event
    row = connection.execute(
        "SELECT data FROM messages WHERE session = ? AND message = ?", (event.session, event.message.id)
    ).fetchone()
    if row is None:
        return event
    try:
        return msgspec.structs.replace(event, message=encoding.decode_message(row[0]))
    except msgspec.DecodeError:
        return event


QUEUE_LIMIT = 64 * 1024 * 1024
"""Bytes of entries that may wait: hours of work with a full disk."""


class JournalQueue:
    """A queue of entries that knows its size."""

    def __init__(self, limit: int = QUEUE_LIMIT) -> None:
        self._limit = limit
        self._entries: deque[JournalEntry] = deque()
        self._size = 0
        self.lost = 0
        """Entries given up since `take_lost`."""

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, entry: JournalEntry) -> None:
        """Put an entry behind the others."""
        self._entries.append(entry)
        self._size += len(entry.data)
        self._keep_limit()

    def _keep_limit(self) -> None:
        while self._size > self._limit and len(self._entries) > 1:
            self._size -= len(self._entries.popleft().data)
            self.lost += 1

    def take(self, count: int) -> list[JournalEntry]:
        """The oldest `count` entries, out of the queue."""
        taken = [self._entries.popleft() for _ in range(min(count, len(self._entries)))]
        self._size -= sum(len(entry.data) for entry in taken)
        return taken

    def put_back(self, entries: Sequence[JournalEntry]) -> None:
        """What was taken and not written, in front again."""
        self._entries.extendleft(reversed(entries))
        self._size += sum(len(entry.data) for entry in entries)
        self._keep_limit()

    def take_lost(self) -> int:
        """How many were given up, counted anew from now on."""
        lost, self.lost = self.lost, 0
        return lost

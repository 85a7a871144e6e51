"""The journal: every event worth replaying, in the order in which it was recorded.

Owns what is journalled and how; refuses the deltas, whose whole is in the messages and outputs. Messages are kept
once, in their own table, and put back into their events on reading. Called by `Store` and the writer.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field

import msgspec

from gshtui.bus import wire
from gshtui.bus.event import Event
from gshtui.bus.events.agent import MessageAppended, TextDelta, ThinkingDelta, ToolOutput
from gshtui.store import plain

NOT_RECORDED = (TextDelta, ThinkingDelta, ToolOutput)


@dataclass(frozen=True, slots=True)
class Entry:
    """One event on its way into the journal."""

    session: str
    type: str
    at: float
    data: bytes


@dataclass(slots=True)
class Scribe:
    """Turns events into entries, and knows which agent is in which conversation."""

    sessions: dict[str, str] = field(default_factory=dict[str, str])

    def entry(self, event: Event) -> Entry | None:
        """The event's entry; `None` for one that is not recorded. Never raises for what an event holds.

        An event that names only its agent belongs to the conversation that this agent was last seen in.
        """
        if isinstance(event, NOT_RECORDED):
            return None
        if isinstance(event, MessageAppended):
            event = msgspec.structs.replace(event, message=msgspec.structs.replace(event.message, blocks=()))
        fields = wire.to_plain(event)
        agent, session = (plain.clean_text(str(fields.get(name, ""))) for name in ("agent", "session"))
        if session and agent:
            self.sessions[agent] = session
        session = session or self.sessions.get(agent, "")
        return Entry(session, plain.clean_text(str(fields["type"])), event.at, plain.encode_plain(fields))


def insert(connection: sqlite3.Connection, entries: Sequence[Entry]) -> None:
    """Add entries at the end."""
    connection.executemany(
        "INSERT INTO journal (session, type, at, data) VALUES (?, ?, ?, ?)",
        [(entry.session, entry.type, entry.at, entry.data.decode()) for entry in entries],
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
        return msgspec.structs.replace(event, message=plain.decode_message(row[0]))
    except msgspec.DecodeError:
        return event

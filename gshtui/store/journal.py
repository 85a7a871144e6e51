"""The journal: every event worth replaying, in the order in which it was recorded.

Owns what is journalled and how; refuses the deltas, whose whole is in the messages and outputs. Messages are kept
once, in their own table, and put back into their events on reading. Called by `Store` and the writer.
"""

from __future__ import annotations

import math
import sqlite3
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
from gshtui.store import plain

LOOSE_KEPT = 20_000
"""Entries of no conversation (a window opened, a setting changed) that are kept."""
NOT_RECORDED = (
    *(TextDelta, ThinkingDelta, ToolOutput),
    *(ShellRecorded, ShellNoted, ShellFolderChanged, FilesChanged),  # the history has them, and the runs
    *(InputCommandStarted, InputCommandPrinted, InputCommandFinished),
)


@dataclass(frozen=True, slots=True)
class Entry:
    """One event on its way into the journal."""

    session: str
    type: str
    at: float
    data: bytes
    lasting: bool = False
    """To be safe from a power cut at once, with all that was committed before."""


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
        if not math.isfinite(event.at):
            event = msgspec.structs.replace(event, at=0.0)
        if isinstance(event, MessageAppended):
            event = msgspec.structs.replace(event, message=msgspec.structs.replace(event.message, blocks=()))
        fields = wire.to_plain(event)
        agent, session = (plain.clean_text(str(fields.get(name, ""))) for name in ("agent", "session"))
        if session and agent:
            self.sessions[agent] = session
        session = session or self.sessions.get(agent, "")
        name, data = plain.clean_text(str(fields["type"])), plain.encode_plain(fields)
        if len(data) > wire.MAX_LINE:
            # No reader takes so long a line; the whole of such a text is in the messages or the outputs.
            name = Noticed.__name__
            text = f"The event {fields['type']} had {len(data)} bytes, too many for the journal."
            data = plain.encode_plain(wire.to_plain(Noticed(at=event.at, text=text, about=agent)))
        return Entry(session, name, event.at, data, lasting=isinstance(event, TurnFinished))


def insert(connection: sqlite3.Connection, entries: Sequence[Entry]) -> None:
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
        return msgspec.structs.replace(event, message=plain.decode_message(row[0]))
    except msgspec.DecodeError:
        return event

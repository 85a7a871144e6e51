"""The journal: every event worth replaying, in the order of recording; no deltas."""

from __future__ import annotations

import math
import sqlite3

import msgspec

from gshtui.bus import wire
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    MessageAppended,
    PromptBegun,
    TextDelta,
    ThinkingDelta,
    ToolOutput,
    TurnFinished,
    TurnStarted,
)
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.events.shell_events import (
    FilesChanged,
    InputCommandFinished,
    InputCommandPrinted,
    InputCommandStarted,
    ShellFolderChanged,
    ShellNoted,
    ShellRecorded,
)
from gshtui.store.engine import encoding
from gshtui.store.engine.journal_queue import JournalEntry
from gshtui.store.engine.table import ReadThread, Table
from gshtui.store.record.record_writer import RecordWriter

NOT_RECORDED = (
    *(PromptBegun, TextDelta, ThinkingDelta, ToolOutput),
    *(ShellRecorded, ShellNoted, ShellFolderChanged, FilesChanged),  # the history and the runs keep these
    *(InputCommandStarted, InputCommandPrinted, InputCommandFinished),
)


class JournalEncoder(msgspec.Struct):
    """Turns events into entries, and tracks which agent is in which conversation."""

    sessions: dict[str, str] = msgspec.field(default_factory=dict[str, str])

    def entry(self, event: Event) -> JournalEntry | None:
        """The event's entry; `None` if it is not recorded. Never raises because of an event's content.

        An event that names only its agent belongs to the conversation in which this agent was last seen.
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
            # No reader accepts such a long line; messages or outputs have the whole text.
            name = Noticed.__name__
            text = f"The event {fields['type']} had {len(data)} bytes, which is too much for the journal."
            data = encoding.encode_plain(wire.to_plain(Noticed(at=event.at, text=text, about=agent)))
        return JournalEntry(session, name, event.at, data, lasting=isinstance(event, TurnFinished))


def read(
    connection: sqlite3.Connection, session: str, *, after: int = 0, limit: int = 1_000
) -> list[tuple[int, Event]]:
    """Events of a conversation after the entry `after`, oldest first. Unreadable entries are skipped."""
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


def last_turn(connection: sqlite3.Connection, session: str) -> TurnStarted | TurnFinished | None:
    """The end of a conversation's last turn, or its beginning if it has no end; `None`: there was none."""
    turns = "SELECT data FROM journal WHERE session = ? AND type IN ('TurnStarted', 'TurnFinished')"
    row = connection.execute(f"{turns} ORDER BY seq DESC LIMIT 1", (session,)).fetchone()
    try:
        event = None if row is None else wire.decode(str(row[0]).encode())
    except wire.WireError:
        return None
    return event if isinstance(event, TurnStarted | TurnFinished) else None


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


class JournalTable(Table):
    """`store.journal`: events."""

    def __init__(self, thread: ReadThread, writer: RecordWriter) -> None:
        super().__init__(thread, writer)
        self._encoder = JournalEncoder()
        self._add = writer.record

    def record(self, event: Event) -> None:
        """Journal an event unless it is a delta. Returns at once; waits in memory while nothing can be written."""
        if entry := self._encoder.entry(event):
            self._add(entry)

    read = Table.reads(read)
    last_turn = Table.reads(last_turn)

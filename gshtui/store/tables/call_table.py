"""The tables of calls: rooms, members, messages, pinned documents, and which call somebody is in.

Runs its SQL inside the caller's transaction. Every change raises the call's revision, by which other processes find it.
A message of an id that is there already changes nothing, so that what is posted twice after a crash is said once.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence

import msgspec

from gshtui.bus.call_data import LOBBY, CallAsk, CallInfo, CallMember, CallMessage, MessageHead, Pin, Presence
from gshtui.bus.letter import Letter
from gshtui.store.engine.encoding import clean, clean_text, decoder
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.engine.table import Table
from gshtui.store.tables.mail_table import letters_of_calls

Change = Callable[[str], str]
"""A text from what it was, within one transaction, so that of two who write at once neither is lost."""
PIN_BYTES = 200_000
"""Most bytes of one pinned document."""
PINNED_BYTES = 1_000_000
"""Most bytes of a call's pinned documents."""
_NEXT_REVISION = "(SELECT coalesce(max(revision), 0) + 1 FROM calls)"
_FIELDS = frozenset(CallInfo.__struct_fields__) - {
    "name",
    "owner",
    "created",
    "messages",
    "members",
    "pinned",
    "revision",
}
_COLUMNS = "call, seq, data"
_encoder = msgspec.json.Encoder()


def add_call(connection: sqlite3.Connection, call: CallInfo) -> CallInfo:
    """Create a call, with its members. Raises `StoreError` (invalid: the name is taken)."""
    if connection.execute("SELECT 1 FROM calls WHERE name = ?", (call.name,)).fetchone():
        raise StoreError("invalid", f"There is a call {call.name!r} already.", hint=f"`join {call.name}` enters it.")
    call = msgspec.structs.replace(call, created=call.created or time.time())
    connection.execute(
        f"INSERT INTO calls (name, created, data, messages, revision) VALUES (?, ?, ?, 0, {_NEXT_REVISION})",
        (call.name, call.created, _data(call)),
    )
    for member in call.members:
        _put_member(connection, call.name, member)
    return get_call(connection, call.name)


def branch_call(connection: sqlite3.Connection, call: CallInfo, origin: str, upto: int) -> CallInfo:
    """Create a call with what was said, pinned and set in another one up to a message, its agents included.
    Raises `StoreError`: the name is taken (`invalid`), or there is no such origin (`unknown`).
    """
    source = get_call(connection, origin)
    mine = {one.member for one in call.members}
    # what an agent heard there it knows only in that call, so that it is told again here
    agents = [
        msgspec.structs.replace(one, seen=-1) for one in source.members if one.is_agent and one.member not in mine
    ]
    me = [msgspec.structs.replace(one, seen=upto) for one in call.members]
    made = msgspec.structs.replace(
        call,
        topic=call.topic or source.topic,
        instructions=source.instructions,
        window=source.window,
        branched_from=source.name,
        branched_at=upto,
        summary=source.summary if source.summary_to <= upto else "",
        summary_to=source.summary_to if source.summary_to <= upto else -1,
        members=(*me, *agents),
    )
    add_call(connection, made)
    connection.execute(
        "INSERT INTO call_messages (call, seq, message, author, at, data, pending)"
        " SELECT ?, seq, ? || ':' || message, author, at, json_remove(data, '$.asks'), 0"
        " FROM call_messages WHERE call = ? AND seq <= ? ORDER BY seq",
        (made.name, made.name, source.name, upto),
    )
    connection.execute("UPDATE calls SET messages = ? WHERE name = ?", (upto + 1, made.name))
    connection.execute(
        "INSERT INTO call_pins (call, name, text, author, at) SELECT ?, name, text, author, at FROM call_pins"
        " WHERE call = ?",
        (made.name, source.name),
    )
    return get_call(connection, made.name)


def get_call(connection: sqlite3.Connection, name: str) -> CallInfo:
    """The call of this name. Raises `StoreError` (unknown)."""
    found = connection.execute("SELECT data, messages, revision FROM calls WHERE name = ?", (clean_text(name),))
    row = found.fetchone()
    if row is None:
        raise StoreError("unknown", f"There is no call {name[:40]!r}.", hint="`calls` lists them.")
    return _call(connection, *row)


def list_calls(connection: sqlite3.Connection, after: int = -1) -> list[CallInfo]:
    """The calls that changed after a revision (all, by default), the lobby first, then by name."""
    found = connection.execute(
        "SELECT data, messages, revision FROM calls WHERE revision > ? ORDER BY name <> ?, name", (after, LOBBY)
    ).fetchall()
    return [_call(connection, *row) for row in found]


def call_names(connection: sqlite3.Connection) -> list[str]:
    """Every call's name, sorted."""
    return [str(name) for (name,) in connection.execute("SELECT name FROM calls ORDER BY name")]


def instruct_call(connection: sqlite3.Connection, name: str, change: Change) -> CallInfo:
    """Change a call's instructions from what they are. Raises `StoreError` (unknown)."""
    return change_call(connection, name, instructions=change(get_call(connection, name).instructions))


def change_call(connection: sqlite3.Connection, name: str, **changes: object) -> CallInfo:
    """Set fields of a call. Raises `StoreError` (unknown, invalid)."""
    if wrong := set(changes) - _FIELDS:
        raise StoreError("invalid", f"A call has no field {', '.join(sorted(wrong))}.")
    call = msgspec.structs.replace(get_call(connection, name), **changes)
    connection.execute("UPDATE calls SET data = ? WHERE name = ?", (_data(call), call.name))
    _touch(connection, call.name)
    return call


def remove_call(connection: sqlite3.Connection, name: str) -> None:
    """Remove a call with all that was said in it. Raises `StoreError` (unknown, invalid for the lobby)."""
    call = get_call(connection, name)
    if call.name == LOBBY:
        raise StoreError("invalid", "The lobby always exists and cannot be removed.")
    connection.execute("DELETE FROM calls WHERE name = ?", (call.name,))
    connection.execute("DELETE FROM call_presence WHERE call = ?", (call.name,))


def add_member(connection: sqlite3.Connection, call: str, member: CallMember) -> bool:
    """Let somebody in, from now on; return whether they were out. Raises `StoreError` (unknown)."""
    known = get_call(connection, call)
    if known.member(member.member) is not None:
        return False
    _put_member(connection, known.name, member)
    _touch(connection, known.name)
    return True


def remove_member(connection: sqlite3.Connection, call: str, member: str) -> bool:
    """Let somebody leave; return whether they were in."""
    gone = connection.execute("DELETE FROM call_members WHERE call = ? AND member = ?", (call, member)).rowcount > 0
    connection.execute("DELETE FROM call_presence WHERE call = ? AND member = ?", (call, member))
    if gone:
        _touch(connection, call)
    return gone


def mark_seen(connection: sqlite3.Connection, call: str, member: str, seq: int) -> None:
    """Note that a member has seen what was said up to this message."""
    changed = connection.execute(
        "UPDATE call_members SET seen = ? WHERE call = ? AND member = ? AND seen < ?", (seq, call, member, seq)
    )
    if changed.rowcount > 0:
        _touch(connection, call)


def enter(connection: sqlite3.Connection, member: str, call: str) -> None:
    """Note that this is the call that somebody is in now."""
    connection.execute(
        "INSERT INTO call_presence (member, call, at) VALUES (?, ?, ?)"
        " ON CONFLICT (member) DO UPDATE SET call = excluded.call, at = excluded.at",
        (clean_text(member), call, time.time()),
    )


def set_doing(connection: sqlite3.Connection, member: str, doing: str) -> None:
    """Note what somebody says that they are doing; empty: nothing any more."""
    connection.execute(
        "INSERT INTO call_presence (member, call, at, doing) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (member) DO UPDATE SET doing = excluded.doing, at = excluded.at",
        (clean_text(member), LOBBY, time.time(), clean_text(doing)),
    )
    connection.execute(
        f"UPDATE calls SET revision = {_NEXT_REVISION} WHERE name IN"
        " (SELECT call FROM call_members WHERE member = ?1 UNION SELECT call FROM call_presence WHERE member = ?1)",
        (clean_text(member),),
    )


def presences(connection: sqlite3.Connection) -> dict[str, Presence]:
    """Where everybody was last, by member."""
    found = connection.execute("SELECT member, call, at, doing FROM call_presence").fetchall()
    return {str(member): Presence(str(call), float(at), str(doing)) for member, call, at, doing in found}


def people(connection: sqlite3.Connection) -> dict[str, str]:
    """The people who have been in a call: member → name."""
    found = connection.execute("SELECT member, name FROM call_members WHERE NOT is_agent ORDER BY joined")
    return {str(member): str(name) for member, name in found}


def current_call(connection: sqlite3.Connection, member: str) -> str:
    """The call that somebody is in now; the lobby if in no other."""
    found = connection.execute(
        "SELECT call FROM call_presence JOIN calls ON name = call WHERE member = ?", (clean_text(member),)
    ).fetchone()
    return LOBBY if found is None else str(found[0])


def add_message(connection: sqlite3.Connection, message: CallMessage) -> CallMessage:
    """Add a message with the next number; one of the same id that is there already is returned as it is.
    Raises `StoreError`: there is no such call (`unknown`).
    """
    found = connection.execute(f"SELECT {_COLUMNS} FROM call_messages WHERE message = ?", (message.id,)).fetchone()
    if found is not None:
        return _message(*found)
    call = get_call(connection, message.call)
    message = msgspec.structs.replace(
        message, call=call.name, seq=call.messages, at=message.at or time.time(), text=clean_text(message.text)
    )
    connection.execute(
        "INSERT INTO call_messages (call, seq, message, author, at, data, pending) VALUES (?, ?, ?, ?, ?, ?, ?)",
        (call.name, message.seq, message.id, message.author, message.at, _data(message), int(bool(message.asks))),
    )
    connection.execute("UPDATE calls SET messages = messages + 1 WHERE name = ?", (call.name,))
    _touch(connection, call.name)
    mark_seen(connection, call.name, message.author, message.seq)
    connection.execute(
        "UPDATE call_presence SET at = ? WHERE member = ? AND call = ?", (message.at, message.author, call.name)
    )
    return message


def list_messages(
    connection: sqlite3.Connection, call: str, *, after: int = -1, before: int | None = None, limit: int = 200
) -> list[CallMessage]:
    """Messages of a call, oldest first: the newest `limit` below `before`, or the first ones after `after`."""
    forward = before is None and after >= 0
    order = "ASC" if forward else "DESC"
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM call_messages WHERE call = ? AND seq > ? AND seq < ? ORDER BY seq {order} LIMIT ?",
        (call, after, 2**62 if before is None else before, limit),
    ).fetchall()
    return [_message(*row) for row in (found if forward else reversed(found))]


def message_heads(connection: sqlite3.Connection, call: str, limit: int) -> list[MessageHead]:
    """The newest messages of a call without their words, oldest first."""
    found = connection.execute(
        "SELECT seq, at, length(CAST(json_extract(data, '$.text') AS BLOB)), json_array_length(data, '$.tools')"
        " FROM call_messages WHERE call = ? ORDER BY seq DESC LIMIT ?",
        (call, limit),
    ).fetchall()
    return [
        MessageHead(int(seq), float(at), int(size or 0), int(tools or 0)) for seq, at, size, tools in reversed(found)
    ]


def get_message(connection: sqlite3.Connection, call: str, seq: int) -> CallMessage:
    """One message by its number. Raises `StoreError` (unknown)."""
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM call_messages WHERE call = ? AND seq = ?", (call, seq)
    ).fetchone()
    if found is None:
        raise StoreError("unknown", f"There is no message {seq} in the call {call}.")
    return _message(*found)


def search_messages(connection: sqlite3.Connection, call: str, query: str, limit: int = 50) -> list[CallMessage]:
    """The newest messages of a call that contain the text, whatever its case, oldest first."""
    pattern = query.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM call_messages WHERE call = ? AND json_extract(data, '$.text') LIKE ? ESCAPE '\\'"
        " ORDER BY seq DESC LIMIT ?",
        (call, f"%{clean_text(pattern)}%", limit),
    ).fetchall()
    return [_message(*row) for row in reversed(found)]


def pending_messages(connection: sqlite3.Connection, before: float) -> list[CallMessage]:
    """The messages from before a time (epoch seconds) that were not yet put to all whom they ask, oldest first."""
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM call_messages WHERE pending AND at < ? ORDER BY id LIMIT 100", (before,)
    ).fetchall()
    return [_message(*row) for row in found]


def settle(connection: sqlite3.Connection, message: CallMessage, asks: Sequence[CallAsk]) -> None:
    """Note that a message was put to those whom it asks, or why it was not."""
    settled = msgspec.structs.replace(message, asks=tuple(asks))
    connection.execute(
        "UPDATE call_messages SET pending = 0, data = ? WHERE call = ? AND seq = ?",
        (_data(settled), message.call, message.seq),
    )


def unsaid_answers(connection: sqlite3.Connection, since: float) -> list[Letter]:
    """Answers to messages of calls that are not said there yet, of messages sent since a time (epoch seconds)."""
    return [
        letter
        for letter in letters_of_calls(connection, since)
        if connection.execute("SELECT 1 FROM call_messages WHERE message = ?", (letter.id,)).fetchone() is None
    ]


def put_pin(connection: sqlite3.Connection, pin: Pin, change: Change | None = None) -> None:
    """Pin a document, replacing one of the same name.

    `change`: makes its text of the present one (empty: none); `None`: it is the document's. Raises `StoreError`: there
    is no such call (`unknown`), or it is too large (`invalid`).
    """
    call = get_call(connection, pin.call)
    if change is not None:
        found = connection.execute(
            "SELECT text FROM call_pins WHERE call = ? AND name = ?", (call.name, clean_text(pin.name))
        ).fetchone()
        pin = msgspec.structs.replace(pin, text=change("" if found is None else str(found[0])))
    size = len(pin.text.encode(errors="replace"))
    if size > PIN_BYTES:
        raise StoreError(
            "invalid",
            f"A pinned document can have at most {PIN_BYTES:,} bytes; this one has {size:,}.",
            hint="Agents are sent it whole with every request: pin a shorter one, and name the file.",
        )
    others = connection.execute(
        "SELECT coalesce(sum(length(CAST(text AS BLOB))), 0) FROM call_pins WHERE call = ? AND name <> ?",
        (call.name, pin.name),
    ).fetchone()[0]
    if int(others) + size > PINNED_BYTES:
        raise StoreError("invalid", f"The pinned documents of a call can have at most {PINNED_BYTES:,} bytes together.")
    connection.execute(
        "INSERT INTO call_pins (call, name, text, author, at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (call, name)"
        " DO UPDATE SET text = excluded.text, author = excluded.author, at = excluded.at",
        (call.name, clean_text(pin.name), clean_text(pin.text), pin.author, pin.at or time.time()),
    )
    _touch(connection, call.name)


def remove_pin(connection: sqlite3.Connection, call: str, name: str) -> bool:
    """Unpin a document; return whether it was pinned."""
    gone = connection.execute("DELETE FROM call_pins WHERE call = ? AND name = ?", (call, name)).rowcount > 0
    if gone:
        _touch(connection, call)
    return gone


def list_pins(connection: sqlite3.Connection, call: str) -> list[Pin]:
    """The pinned documents of a call, by name."""
    found = connection.execute(
        "SELECT call, name, text, author, at FROM call_pins WHERE call = ? ORDER BY name", (call,)
    ).fetchall()
    return [Pin(str(call), str(name), str(text), str(author), float(at)) for call, name, text, author, at in found]


def revision(connection: sqlite3.Connection) -> tuple[int, int]:
    """Grows with every change of any call by any process; the second number changes when one is removed."""
    newest, number = connection.execute("SELECT coalesce(max(revision), 0), count(*) FROM calls").fetchone()
    return int(newest), int(number)


def sound_call(data: str) -> None:
    """Raise `msgspec.DecodeError` if this is not a call."""
    decoder(CallInfo, strict=False).decode(data)


def sound_message(data: str) -> None:
    """Raise `msgspec.DecodeError` if this is not a message."""
    decoder(CallMessage, strict=False).decode(data)


def _put_member(connection: sqlite3.Connection, call: str, member: CallMember) -> None:
    connection.execute(
        "INSERT INTO call_members (call, member, name, is_agent, joined, seen) VALUES (?, ?, ?, ?, ?, ?)",
        (
            call,
            clean_text(member.member),
            clean_text(member.name),
            int(member.is_agent),
            member.joined or time.time(),
            member.seen,
        ),
    )


def _touch(connection: sqlite3.Connection, call: str) -> None:
    connection.execute(f"UPDATE calls SET revision = {_NEXT_REVISION} WHERE name = ?", (call,))


def _call(connection: sqlite3.Connection, data: str, messages: int, revision: int) -> CallInfo:
    call = decoder(CallInfo, strict=False).decode(data)
    found = connection.execute(
        "SELECT m.member, m.name, m.is_agent, m.joined, m.seen, p.at, p.doing FROM call_members AS m"
        " LEFT JOIN call_presence AS p ON p.member = m.member WHERE m.call = ? ORDER BY m.joined, m.rowid",
        (call.name,),
    )
    members = tuple(
        CallMember(
            member=str(member),
            name=str(name),
            is_agent=bool(agent),
            joined=float(joined),
            seen=int(seen),
            at=float(at or 0.0),
            doing=str(doing or ""),
        )
        for member, name, agent, joined, seen, at, doing in found
    )
    pins = connection.execute("SELECT name FROM call_pins WHERE call = ? ORDER BY name", (call.name,))
    pinned = tuple(str(name) for (name,) in pins)
    return msgspec.structs.replace(call, messages=int(messages), members=members, pinned=pinned, revision=int(revision))


def _message(call: str, seq: int, data: str) -> CallMessage:
    message = decoder(CallMessage, strict=False).decode(data)
    return msgspec.structs.replace(message, call=str(call), seq=int(seq))


def _data(value: CallInfo | CallMessage) -> str:
    if isinstance(value, CallInfo):
        value = msgspec.structs.replace(value, members=(), messages=0, pinned=(), revision=0)
    return _encoder.encode(clean(msgspec.to_builtins(value))).decode()


class CallTable(Table):
    """`store.calls`: the shared rooms."""

    add = Table.writes(add_call)
    branch = Table.writes(branch_call)
    find = Table.reads(get_call)
    find_all = Table.reads(list_calls)
    names = Table.reads(call_names)
    instruct = Table.writes(instruct_call)
    change = Table.writes(change_call)
    remove = Table.writes(remove_call)
    add_member = Table.writes(add_member)
    remove_member = Table.writes(remove_member)
    mark_seen = Table.writes(mark_seen)
    enter = Table.writes(enter)
    set_doing = Table.writes(set_doing)
    presences = Table.reads(presences)
    people = Table.reads(people)
    current = Table.reads(current_call)
    add_message = Table.writes(add_message)
    messages = Table.reads(list_messages)
    message_heads = Table.reads(message_heads)
    message = Table.reads(get_message)
    search = Table.reads(search_messages)
    pending = Table.reads(pending_messages)
    settle = Table.writes(settle)
    unsaid_answers = Table.reads(unsaid_answers)
    put_pin = Table.writes(put_pin)
    remove_pin = Table.writes(remove_pin)
    pins = Table.reads(list_pins)
    revision = Table.reads(revision)

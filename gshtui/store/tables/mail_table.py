"""The table `mail`: messages to agents from the moment they are sent, their state, and who is delivering them.

Runs its SQL inside the caller's transaction. A change is refused in a state that does not allow it.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence

import msgspec

from gshtui.bus.letter import OPEN, Letter
from gshtui.store.engine.encoding import clean_text, decoder
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.engine.table import Table
from gshtui.system.processes.process_identity import Process, is_alive, this_process

_NEXT_REVISION = "(SELECT coalesce(max(revision), 0) + 1 FROM mail)"
_encoder = msgspec.json.Encoder()
_FIELDS = frozenset(Letter.__struct_fields__) - {"id", "sender", "recipient", "created"}
_FREE = ("", 0, "")
UNSURE = "The window closed while the message was being delivered; it may already have been typed."
"""Why a message with an unknown outcome is held."""


def add_letter(connection: sqlite3.Connection, letter: Letter) -> Letter:
    """Keep a new message; it is on disk when this returns."""
    now = time.time()
    letter = msgspec.structs.replace(letter, created=letter.created or now, changed=now, text=clean_text(letter.text))
    connection.execute(
        f"INSERT INTO mail (id, recipient, sender, state, created, data, revision)"
        f" VALUES (?, ?, ?, ?, ?, ?, {_NEXT_REVISION})",
        (letter.id, letter.recipient, letter.sender, letter.state, letter.created, _json(letter)),
    )
    return letter


def get_letter(connection: sqlite3.Connection, id: str) -> Letter:
    """Find the message by id, or by a unique end of its id. Raises `StoreError` (unknown, ambiguous)."""
    wanted = clean_text(id).strip().lower()
    found = connection.execute("SELECT data FROM mail WHERE id = ?", (wanted,)).fetchall()
    if not found and len(wanted) >= 3 and wanted.isalnum():
        found = connection.execute("SELECT data FROM mail WHERE id LIKE ? LIMIT 2", (f"%{wanted}",)).fetchall()
    if not found:
        raise StoreError("unknown", f"There is no message {wanted!r}.", hint="`mail ls` lists them.")
    if len(found) > 1:
        raise StoreError("ambiguous", f"Several messages end with {wanted!r}.", hint="Give more of the id.")
    return decode_letter(found[0][0])


def list_letters(
    connection: sqlite3.Connection, states: Sequence[str] = (), *, recipient: str = "", limit: int = 500
) -> list[Letter]:
    """The newest messages in these states (any, by default), oldest first."""
    marks = ", ".join("?" * len(states))
    where = [f"state IN ({marks})"] if states else []
    where += ["recipient = ?"] if recipient else []
    found = connection.execute(
        f"SELECT data FROM mail {'WHERE ' + ' AND '.join(where) if where else ''} ORDER BY rowid DESC LIMIT ?",
        (*states, *((recipient,) if recipient else ()), limit),
    ).fetchall()
    return [decode_letter(data) for (data,) in reversed(found)]


def sent_since(connection: sqlite3.Connection, sender: str, since: float) -> list[Letter]:
    """What an agent has sent since a time (seconds since the epoch), oldest first."""
    found = connection.execute("SELECT data FROM mail WHERE sender = ? AND created > ? ORDER BY rowid", (sender, since))
    return [decode_letter(data) for (data,) in found]


def letters_of_calls(connection: sqlite3.Connection, since: float) -> list[Letter]:
    """The answered messages of calls that were sent since a time (epoch seconds), oldest first."""
    found = connection.execute(
        "SELECT data FROM mail WHERE created > ? AND json_extract(data, '$.call') <> ''"
        " AND json_extract(data, '$.answered') ORDER BY rowid",
        (since,),
    )
    return [decode_letter(data) for (data,) in found]


def change_letter(connection: sqlite3.Connection, id: str, *, within: Sequence[str] = (), **changes: object) -> Letter:
    """Set fields of a message. `within`: only in one of these states, and only while no one is delivering it.
    Raises `StoreError`: unknown; invalid, for an unknown field; busy, if it is in another state or being delivered.
    """
    if wrong := set(changes) - _FIELDS:
        raise StoreError("invalid", f"A message has no field {', '.join(sorted(wrong))}.")
    letter = get_letter(connection, id)
    if within and (letter.state not in within or _taken(connection, letter.id)):
        state = letter.state if letter.state not in within else "being delivered"
        raise StoreError("busy", f"The message {letter.id} is {state} and can no longer be changed.")
    fresh = msgspec.structs.replace(letter, **changes, changed=time.time())
    connection.execute(
        f"UPDATE mail SET state = ?, data = ?, revision = {_NEXT_REVISION} WHERE id = ?",
        (fresh.state, _json(fresh), letter.id),
    )
    return fresh


def claim_letter(connection: sqlite3.Connection, id: str) -> Letter | None:
    """Take a queued message for delivery by this process; `None` if it is no longer available."""
    letter = get_letter(connection, id)
    if letter.state != "queued" or _taken(connection, letter.id):
        return None
    _mark(connection, letter.id, this_process())
    return letter


def release_letter(connection: sqlite3.Connection, id: str) -> None:
    """End this process's delivery of a message."""
    _mark(connection, id, None)


def has_orphans(connection: sqlite3.Connection) -> bool:
    """Whether there are messages whose deliverer died."""
    found = connection.execute("SELECT DISTINCT machine, pid, started FROM mail WHERE pid <> 0").fetchall()
    return any(not is_alive(Process(str(machine), int(pid), str(started))) for machine, pid, started in found)


def orphans(connection: sqlite3.Connection) -> list[Letter]:
    """Messages whose deliverer died, oldest first. They are unowned now, and each is returned only once.

    One that may or may not have been typed is held: a message is never sent twice automatically.
    """
    found: list[Letter] = []
    for data, *owner in connection.execute(
        "SELECT data, machine, pid, started FROM mail WHERE pid <> 0 ORDER BY rowid"
    ).fetchall():
        if is_alive(Process(str(owner[0]), int(owner[1]), str(owner[2]))):
            continue
        letter = decode_letter(data)
        _mark(connection, letter.id, None)
        if letter.state in ("queued", "typed"):
            letter = change_letter(connection, letter.id, state="held", why=UNSURE)
        found.append(letter)
    return found


def revision(connection: sqlite3.Connection) -> int:
    """A number that grows with every change of any message by any process."""
    return int(connection.execute("SELECT coalesce(max(revision), 0) FROM mail").fetchone()[0])


def is_in_log(connection: sqlite3.Connection, session: str, id: str) -> bool:
    """Whether a conversation has the message as a prompt that was accepted."""
    found = connection.execute("SELECT 1 FROM messages WHERE session = ? AND message = ?", (session, id)).fetchone()
    return found is not None


def delete_old(connection: sqlite3.Connection, days: float) -> None:
    """Remove finished messages older than this."""
    marks = ", ".join("?" * len(OPEN))
    connection.execute(
        f"DELETE FROM mail WHERE created < ? AND state NOT IN ({marks}) AND pid = 0",
        (time.time() - days * 86_400, *OPEN),
    )


def decode_letter(data: str) -> Letter:
    """Raises `msgspec.DecodeError`: it is not a message."""
    return decoder(Letter, strict=False).decode(data)


def _taken(connection: sqlite3.Connection, id: str) -> bool:
    machine, pid, started = connection.execute("SELECT machine, pid, started FROM mail WHERE id = ?", (id,)).fetchone()
    return bool(pid) and is_alive(Process(str(machine), int(pid), str(started)))


def _mark(connection: sqlite3.Connection, id: str, taker: Process | None) -> None:
    values = (taker.machine, taker.pid, taker.started) if taker is not None else _FREE
    connection.execute(
        f"UPDATE mail SET machine = ?, pid = ?, started = ?, revision = {_NEXT_REVISION} WHERE id = ?", (*values, id)
    )


def _json(letter: Letter) -> str:
    fields = msgspec.to_builtins(letter)
    cleaned = {name: clean_text(value) if isinstance(value, str) else value for name, value in fields.items()}
    return _encoder.encode(cleaned).decode()


class MailTable(Table):
    """`store.mail`: messages to agents."""

    add = Table.writes(add_letter)
    find = Table.reads(get_letter)
    find_all = Table.reads(list_letters)
    sent_since = Table.reads(sent_since)
    change = Table.writes(change_letter)
    claim = Table.writes(claim_letter)
    release = Table.writes(release_letter)
    claim_orphans = Table.writes(orphans)
    has_orphans = Table.reads(has_orphans)
    revision = Table.reads(revision)
    is_in_log = Table.reads(is_in_log)
    delete_old = Table.writes(delete_old)

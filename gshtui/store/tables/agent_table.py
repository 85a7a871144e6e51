"""The table `agents`: every agent in a terminal of its own, and the hub responsible for it.

Runs its SQL inside the caller's transaction.
"""

from __future__ import annotations

import itertools
import re
import sqlite3
import time
import unicodedata
from collections.abc import Collection
from typing import Any

import msgspec

from gshtui.bus.agent_data import RESERVED_NAMES, AgentRow, SpawnRequest
from gshtui.store.engine.encoding import clean_text, decoder
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.engine.table import Table
from gshtui.system.json_types import map_texts
from gshtui.system.processes.process_identity import Process, is_alive, this_process
from gshtui.system.struct_types import learned
from gshtui.text.plain_name import shape

NAME_LENGTH = 40
_NEXT_REVISION = "(SELECT coalesce(max(revision), 0) + 1 FROM agents)"
_encoder = msgspec.json.Encoder()
_FIELDS = frozenset(AgentRow.__struct_fields__) - {"id", "owner"}


def add_agent(
    connection: sqlite3.Connection, row: AgentRow, request: SpawnRequest, people: Collection[str] = ()
) -> AgentRow:
    """Add an agent of this process, with the next number and a name that no agent on the roster has.

    Args:
        row: what is known of it; `id` and `owner` are set here, `name` is a wish.
        request: how it was started, for restarting it.
        people: names of people, which it gets no name like.
    """
    number = next_number(connection)
    wished = word(row.name) or "agent"
    row = msgspec.structs.replace(row, id=f"{number:04}", name=_free_name(connection, wished, people), owner=0)
    me = this_process()
    connection.execute(
        "INSERT INTO agents (id, number, name, home, data, request, revision, machine, pid, started)"
        f" VALUES (?, ?, ?, ?, ?, ?, {_NEXT_REVISION}, ?, ?, ?)",
        (row.id, number, row.name, clean_text(row.home), _json(row), _json(request), me.machine, me.pid, me.started),
    )
    return msgspec.structs.replace(row, owner=me.pid)


def next_number(connection: sqlite3.Connection) -> int:
    """The number of the next agent. A number is never reused, even after its agent was removed."""
    return int(connection.execute("SELECT coalesce(max(number), 0) + 1 FROM agents").fetchone()[0])


def word(name: str) -> str:
    """The name as one short word of `[a-z0-9-]`, fit for every list and command line; may be empty."""
    letters = unicodedata.normalize("NFKD", name).casefold()
    plain = "".join(char for char in letters if not unicodedata.combining(char))
    return re.sub(r"[^a-z0-9]+", "-", plain).strip("-")[:NAME_LENGTH].strip("-")


def check_name(name: str) -> None:
    """Raise `StoreError`: nothing of a name that a person gave would be left, or not all (`invalid`)."""
    if name.strip() and not word(name):
        raise StoreError(
            "invalid",
            f"An agent's name is made of a to z, digits and hyphens; {name[:NAME_LENGTH]!r} has none of them.",
            hint="Give it another one.",
        )
    if len(name) > NAME_LENGTH:
        raise StoreError(
            "invalid",
            f"An agent's name has at most {NAME_LENGTH} characters; this one has {len(name)}.",
            hint="Give it a shorter one.",
        )


def _free_name(connection: sqlite3.Connection, wished: str, people: Collection[str], *, but: str = "") -> str:
    taken = {
        str(name) for (name,) in connection.execute("SELECT name FROM agents WHERE NOT removed AND id <> ?", (but,))
    }
    members = connection.execute("SELECT DISTINCT name FROM call_members WHERE NOT is_agent")
    taken |= RESERVED_NAMES | {word(str(name)) for (name,) in members}
    shapes = {shape(name) for name in people}
    if wished.isdecimal():
        wished = f"agent-{wished}"  # a number alone would be an id
    names = itertools.chain((wished,), (f"{wished}-{n}" for n in itertools.count(2)))
    return next(name for name in names if name not in taken and shape(name) not in shapes)


def update_agent(
    connection: sqlite3.Connection, id: str, changes: dict[str, Any], people: Collection[str] = ()
) -> AgentRow:
    """Set fields of a row and keep all others as they are on disk. `people`: as in `add_agent`. Raises `StoreError`:
    there is no such agent (`unknown`), or a field has the wrong type (`invalid`).
    """
    if wrong := set(changes) - _FIELDS:
        raise StoreError("invalid", f"An agent's row has no field {', '.join(sorted(wrong))}.")
    row = get_agent(connection, id)
    if "name" in changes:
        check_name(str(changes["name"]))
        changes = changes | {"name": _free_name(connection, word(str(changes["name"])) or row.name, people, but=row.id)}
    try:
        fields = msgspec.to_builtins(row) | changes
        fresh = msgspec.convert(fields, learned(AgentRow))
    except msgspec.ValidationError as error:
        raise StoreError("invalid", f"The record refused the agent's row: {error}.") from error
    if fresh != row:
        connection.execute(
            f"UPDATE agents SET name = ?, home = ?, data = ?, revision = {_NEXT_REVISION} WHERE id = ?",
            (fresh.name, clean_text(fresh.home), _json(fresh), row.id),
        )
    return fresh


def update_unchanged(connection: sqlite3.Connection, seen: AgentRow, changes: dict[str, Any]) -> AgentRow | None:
    """The same, unless the agent has another terminal, process or hub by now than was seen; then return `None`."""
    row = get_agent(connection, seen.id)
    if (row.pane, row.pid, row.owner) != (seen.pane, seen.pid, seen.owner):
        return None
    return update_agent(connection, seen.id, changes)


def claim_once(connection: sqlite3.Connection, id: str, flag: str) -> bool:
    """Set a boolean field from false to true. Return whether this call did it; only one of several does."""
    if getattr(get_agent(connection, id), flag):
        return False
    update_agent(connection, id, {flag: True})
    return True


def remove_agent(connection: sqlite3.Connection, id: str) -> None:
    """Take an agent off the roster; its number stays used. Raises `StoreError` (`unknown`)."""
    row = get_agent(connection, id)
    connection.execute(
        f"UPDATE agents SET removed = 1, request = '{{}}', revision = {_NEXT_REVISION} WHERE id = ?", (row.id,)
    )


def get_agent(connection: sqlite3.Connection, id: str) -> AgentRow:
    """Find the agent by id (leading zeros optional) or name. Raises `StoreError` (`unknown`)."""
    wanted = clean_text(id).strip()
    key = f"{int(wanted):04}" if wanted.isdecimal() and len(wanted) < 12 else wanted.lower()
    found = connection.execute(
        "SELECT data, machine, pid, started FROM agents WHERE NOT removed AND (id = ?1 OR name = ?1)", (key,)
    ).fetchone()
    if found is None:
        raise StoreError("unknown", f"There is no agent {wanted!r}.", hint="`agent ls` lists them.")
    return _row(found)


def request_of(connection: sqlite3.Connection, id: str) -> SpawnRequest:
    """How the agent was started. Raises `StoreError` (`unknown`)."""
    row = get_agent(connection, id)
    (text,) = connection.execute("SELECT request FROM agents WHERE id = ?", (row.id,)).fetchone()
    return decoder(SpawnRequest, strict=False).decode(text)


def list_agents(connection: sqlite3.Connection) -> list[AgentRow]:
    """Every agent on the roster, of every folder, in the order of the numbers."""
    found = connection.execute("SELECT data, machine, pid, started FROM agents WHERE NOT removed ORDER BY number")
    return [_row(row) for row in found.fetchall()]


def revision(connection: sqlite3.Connection) -> int:
    """A number that grows with every change of the roster by any process."""
    return int(connection.execute("SELECT coalesce(max(revision), 0) FROM agents").fetchone()[0])


def adopt(connection: sqlite3.Connection, home: str | None, over: Process | None = None) -> list[str]:
    """Take over every agent of a folder (all, for `None`) that no living hub is responsible for. `over`: a hub that
    gives way, whose agents are taken over too.

    Returns:
        The ids of those taken over by this call.
    """
    taken: list[str] = []
    for id, folder, machine, pid, started in connection.execute(
        "SELECT id, home, machine, pid, started FROM agents WHERE NOT removed ORDER BY number"
    ).fetchall():
        owner = Process(str(machine), int(pid), str(started))
        if (home is None or folder == home) and (not owner.pid or owner == over or not is_alive(owner)):
            taken.append(str(id))
    for id in taken:
        claim_agent(connection, id)
    return taken


def claim_agent(connection: sqlite3.Connection, id: str) -> None:
    """Make this process responsible for an agent, whoever was until now."""
    me = this_process()
    connection.execute(
        f"UPDATE agents SET machine = ?, pid = ?, started = ?, revision = {_NEXT_REVISION} WHERE id = ?",
        (me.machine, me.pid, me.started, id),
    )


def release(connection: sqlite3.Connection, id: str = "") -> None:
    """Give up an agent, or all; the next hub of each one's folder takes over."""
    me = this_process()
    connection.execute(
        f"UPDATE agents SET machine = '', pid = 0, started = '', revision = {_NEXT_REVISION}"
        " WHERE machine = ?1 AND pid = ?2 AND started = ?3 AND (?4 = '' OR id = ?4)",
        (me.machine, me.pid, me.started, id),
    )


def forget_old(connection: sqlite3.Connection, days: float) -> None:
    """Take agents off the roster that ended longer ago than this; archived ones stay."""
    limit = time.time() - days * 86_400
    for row in list_agents(connection):
        if row.ended and row.ended < limit and not row.archived:
            remove_agent(connection, row.id)


def sound(data: str, request: str) -> None:
    """Raise `msgspec.DecodeError` if these are not a row and a request."""
    decoder(AgentRow, strict=False).decode(data)
    decoder(SpawnRequest, strict=False).decode(request)


def _row(found: tuple[Any, ...]) -> AgentRow:
    data, machine, pid, started = found
    alive = int(pid) and is_alive(Process(str(machine), int(pid), str(started)))
    return msgspec.structs.replace(decoder(AgentRow, strict=False).decode(data), owner=int(pid) if alive else 0)


def _json(value: AgentRow | SpawnRequest) -> str:
    fields = msgspec.to_builtins(value)
    fields.pop("owner", None)
    return _encoder.encode(map_texts(fields, clean_text)).decode()


class AgentTable(Table):
    """`store.agents`: the roster of all hubs."""

    add = Table.writes(add_agent)

    async def update(self, id: str, *, people: Collection[str] = (), **changes: object) -> AgentRow:
        """Change fields of an agent's row; return the whole row. Raises `StoreError` (`unknown`, `invalid`). `people`:
        a new name is made unlike theirs.
        """
        return await self._write(lambda connection: update_agent(connection, id, changes, people))

    async def update_unchanged(self, seen: AgentRow, **changes: object) -> AgentRow | None:
        """The same, unless the agent has another terminal, process or hub by now than was seen; then `None`."""
        return await self._write(lambda connection: update_unchanged(connection, seen, changes))

    claim = Table.writes(claim_once)
    remove = Table.writes(remove_agent)
    find = Table.reads(get_agent)
    request = Table.reads(request_of)
    find_all = Table.reads(list_agents)
    revision = Table.reads(revision)
    adopt = Table.writes(adopt)
    acquire = Table.writes(claim_agent)
    release = Table.writes(release)
    delete_old = Table.writes(forget_old)

"""`/agents`: who is here, a folder each: agents with their status and what they are told, and people."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

import msgspec

from gshtui.bus.agent_data import AgentRow
from gshtui.commands.declaration import Caller
from gshtui.context.commands.context_mount import ContextMount, read_right
from gshtui.context.commands.context_router import ContextAccess
from gshtui.text.plain_name import known_names
from gshtui.text.sanitise import one_line
from gshtui.vfs import FileError, Node, ReadOnlyMount, Right, is_file, is_folder, missing

_ONLINE = 60.0
"""Seconds after what somebody did for which they count as there."""
Rows = Callable[[], Awaitable[list[AgentRow]]]
"""The agents of this folder, those of this process first. Raises `FileError`."""


class PersonHere(msgspec.Struct, frozen=True):
    """Somebody who sits here or comes in from elsewhere."""

    name: str
    call: str = ""
    """The one that they are in."""
    at: float = 0.0
    """When they last did something there, in epoch seconds; 0: that is not known."""
    doing: str = ""


People = Callable[[], Awaitable[list[PersonHere]]]
"""Raises `FileError`."""


class AgentsMount(ReadOnlyMount):
    """The agents of a hub's folder, and the people of its calls."""

    WHY = "It is what an agent is; `agent`, `model` and `status` change it."

    def __init__(
        self, rows: Rows, people: People, access: ContextAccess, contexts: Callable[[], ContextMount | None]
    ) -> None:
        """`contexts`: the requests of agents, once there are providers."""
        self._rows = rows
        self._people = people
        self._access = access
        self._contexts = contexts

    async def right(self, caller: Caller, steps: tuple[str, ...], *, writes: bool) -> Right:
        """Statuses are everyone's; the rest is as for the agent's context."""
        if writes:
            return "never"
        if len(steps) < 2 or steps[1] == ".status":
            return "free"
        return await read_right(self._access, caller, steps[0])

    async def stat(self, caller: Caller, steps: tuple[str, ...]) -> Node:
        """An agent's folder, or a file of it."""
        if not steps:
            return Node("agents", "folder")
        row = await self._find(steps[0])
        if len(steps) == 1:
            return _person_node(row) if isinstance(row, PersonHere) else _node(row)
        found = next((node for node in self._files(row) if steps[1:] == (node.name,)), None)
        if found is None:
            raise missing("agents", steps)
        return found

    async def list(self, caller: Caller, steps: tuple[str, ...]) -> list[Node]:
        """The agents, or the files of one."""
        if not steps:
            return [*map(_node, await self._rows()), *map(_person_node, await self._people())]
        if len(steps) > 1:
            raise is_file("agents", steps)
        return self._files(await self._find("/".join(steps)))

    async def read(self, caller: Caller, steps: tuple[str, ...]) -> str:
        """A status, or the system section."""
        if len(steps) < 2:
            raise is_folder("agents", steps)
        row = await self._find(steps[0])
        if steps[1:] == (".status",):
            return _person_text(row) if isinstance(row, PersonHere) else status_text(row)
        if isinstance(row, PersonHere):
            raise missing("agents", steps)
        if steps[1:] == (".system",) and (contexts := self._contexts()) is not None:
            return await contexts.read(caller, (row.id, "system.ctx"))
        raise missing("agents", steps)

    def _files(self, row: AgentRow | PersonHere) -> list[Node]:
        if isinstance(row, PersonHere):
            return [Node(".status", at=row.at)]
        files = [Node(".status", at=row.status_at)]
        return [*files, Node(".system")] if self._contexts() is not None else files

    async def _find(self, name: str) -> AgentRow | PersonHere:
        rows = await self._rows()
        if (row := next((row for row in rows if name in (row.name, row.id)), None)) is not None:
            return row
        people = await self._people()
        if (person := next((one for one in people if name == one.name), None)) is not None:
            return person
        known = known_names("agents", (one.name for one in (*rows, *people)))
        raise FileError("missing", f"There is no agent {one_line(name)} here.", known)


def _node(row: AgentRow) -> Node:
    return Node(row.name, "folder", at=row.status_at, type="agent", about={"status": row.status, "doing": row.doing})


def _person_node(person: PersonHere) -> Node:
    return Node(person.name, "folder", at=person.at, type="person", about={"doing": person.doing})


def _person_text(person: PersonHere) -> str:
    quiet = time.time() - person.at
    facts = {
        "status": "online" if quiet < _ONLINE else "idle" if person.at else "offline",
        "age": f"{max(0.0, quiet):.0f} s" if person.at else "",
        "doing": person.doing,
        "call": person.call,
    }
    return _facts_text(facts)


def _facts_text(facts: dict[str, str]) -> str:
    return "".join(f"{name}: {one_line(value)}\n" for name, value in facts.items() if value)


def status_text(row: AgentRow) -> str:
    """A status, a line for each fact."""
    facts = {
        "status": row.status,
        "source": row.status_source,
        "age": f"{max(0.0, time.time() - row.status_at):.0f} s" if row.status_at else "",
        "doing": row.doing,
        "id": row.id,
        "persona": row.persona,
        "program": row.profile,
        "model": row.model,
        "folder": row.cwd,
    }
    return _facts_text(facts)

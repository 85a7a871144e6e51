"""`/agents`: who is here, a folder each, with their status and what they are told about themselves."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable

from gshtui.bus.agent_data import AgentRow
from gshtui.commands.declaration import Caller
from gshtui.context.commands.access import ContextAccess
from gshtui.context.context_mount import ContextMount, read_right
from gshtui.text.sanitise import one_line
from gshtui.vfs.mount import FileError, Node, ReadOnlyMount, Right, missing

Rows = Callable[[], Awaitable[list[AgentRow]]]
"""The agents of this folder, those of this process first. Raises `FileError`."""


class AgentsMount(ReadOnlyMount):
    """The agents of a hub's folder."""

    WHY = "It is what an agent is; `agent`, `model` and `status` change it."

    def __init__(self, rows: Rows, access: ContextAccess, contexts: Callable[[], ContextMount | None]) -> None:
        """`contexts`: the requests of agents, once there are providers."""
        self._rows = rows
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
        row = await self._row(steps[0])
        if len(steps) == 1:
            return _node(row)
        found = next((node for node in self._files(row) if steps[1:] == (node.name,)), None)
        if found is None:
            raise missing(steps)
        return found

    async def list(self, caller: Caller, steps: tuple[str, ...]) -> list[Node]:
        """The agents, or the files of one."""
        if not steps:
            return [_node(row) for row in await self._rows()]
        if len(steps) > 1:
            raise FileError("file", f"{steps[-1]} is a file.", "`cat` shows it.")
        return self._files(await self._row("/".join(steps)))

    async def read(self, caller: Caller, steps: tuple[str, ...]) -> str:
        """A status, or the system section."""
        if len(steps) < 2:
            raise FileError("folder", f"/{'/'.join(('agents', *steps))} is a folder.", "`ls` lists it.")
        row = await self._row(steps[0])
        if steps[1:] == (".status",):
            return status_text(row)
        if steps[1:] == (".system",) and (contexts := self._contexts()) is not None:
            return await contexts.read(caller, (row.id, "system.ctx"))
        raise missing(steps)

    def _files(self, row: AgentRow) -> list[Node]:
        files = [Node(".status", at=row.status_at)]
        return [*files, Node(".system")] if self._contexts() is not None else files

    async def _row(self, name: str) -> AgentRow:
        rows = await self._rows()
        found = next((row for row in rows if name in (row.name, row.id)), None)
        if found is None:
            known = ", ".join(row.name for row in rows)
            raise FileError(
                "missing", f"There is no agent {one_line(name)} here.", f"There are {known}." if known else ""
            )
        return found


def _node(row: AgentRow) -> Node:
    return Node(row.name, "folder", at=row.status_at, type="agent", about={"status": row.status, "doing": row.doing})


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
    return "".join(f"{name}: {one_line(value)}\n" for name, value in facts.items() if value)

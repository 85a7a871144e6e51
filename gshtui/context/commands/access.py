"""Whose context an agent may read and change: its own freely; its family's only to read. The guard asks about the rest.

An agent's family is its parent and the agents below it. People may do everything.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal

from gshtui.bus.agent_data import AgentRow
from gshtui.commands.declaration import Assessment, CommandError, Effect, Invocation
from gshtui.store.engine.store_errors import StoreError
from gshtui.text.sanitise import one_line, visible

SELF = ("", "self", "me")
PARENT = "parent"
_HIGHEST = 16
"""Generations to look up; there are never this many."""
Relation = Literal["self", "family", "other"]
FindAgent = Callable[[str], Awaitable[AgentRow]]
"""Looks up an agent of the roster by id or name. Raises `StoreError` (`unknown`)."""
Doing = Literal["look", "cut", "drop", "rule"]
"""`cut`: put back, or keep. `drop`: send less from now on.
`rule`: change what later cuts do, or remove a protection; an agent must ask before doing this to itself."""


class ContextAccess:
    """Looks up the roster, which includes agents of other processes."""

    def __init__(self, row: FindAgent | None) -> None:
        """`row`: `None` if there is no record; then there are no agents in terminals either."""
        self._row = row

    async def target(self, invocation: Invocation, wanted: str) -> str:
        """Return the name or id under which the agent's context is found. Raises `ExpectedError`."""
        name = wanted.strip()
        caller = invocation.caller
        if name in SELF:
            name = caller.name if caller.is_agent else invocation.addressed
        if name == PARENT:
            mine = await self._found(caller.name) if caller.is_agent else None
            if mine is None or not mine.parent:
                raise CommandError("There is no parent: no agent started this one.")
            return mine.parent
        row = await self._found(name)
        return row.id if row is not None else name

    async def called(self, agent: str) -> str:
        """What people call it: `helper (0012)`."""
        row = await self._found(agent)
        return f"{row.name} ({row.id})" if row is not None and row.name != row.id else agent

    async def relation(self, caller: str, target: str) -> Relation:
        mine, theirs = await self._found(caller), await self._found(target)
        if target == caller or (mine is not None and theirs is not None and mine.id == theirs.id):
            return "self"
        names = {caller} if mine is None else {caller, mine.id, mine.name}
        if mine is not None and mine.parent in ({target} if theirs is None else {target, theirs.id, theirs.name}):
            return "family"
        above = theirs
        for _ in range(_HIGHEST):
            if above is None or not above.parent:
                break
            if above.parent in names:
                return "family"
            above = await self._found(above.parent)
        return "other"

    async def assess(self, invocation: Invocation, wanted: str, doing: Doing, subject: str) -> Assessment:
        """Judge an access. Raises `ExpectedError`."""
        target = await self.target(invocation, wanted)
        relation = await self.relation(invocation.caller.name, target) if invocation.caller.is_agent else "self"
        about = visible(one_line(f"{target} {subject}".strip(), 160))
        free = (relation == "self" and doing != "rule") or (relation == "family" and doing == "look")
        if free or not invocation.caller.is_agent:
            return Assessment(Effect.READ, about, drops=doing == "drop" and invocation.caller.is_agent)
        if doing == "look":
            detail = f"the context of {target}, which neither started it nor was started by it"
            return Assessment(
                Effect.READ, about, inside=False, detail=detail, pattern=f"look at the context of {target}"
            )
        detail = f"what {target} is sent" if relation != "self" else "the rules by which its own context is cut"
        return Assessment(Effect.EXECUTE, about, inside=False, detail=detail)

    async def _found(self, name: str) -> AgentRow | None:
        if self._row is None or not name:
            return None
        try:
            return await self._row(name)
        except StoreError as error:
            if error.kind == "unknown":
                return None
            raise

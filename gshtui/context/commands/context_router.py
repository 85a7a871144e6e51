"""Where an agent's context is read, and who may read or change it: an agent its own freely, its family's only to read.

An agent's family is its parent and the agents below it; the guard asks about the rest, and people may do everything.
Our own agents' is read from the record, other programs' from the transcripts that they keep. Refuses to cut what
another program sends: that program does so itself. Its trigger and its tokenizer are unknown here, as forecasts and
what-ifs say.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from gshtui.bus.agent_data import AgentRow
from gshtui.bus.context_data import Iteration, Receipt
from gshtui.bus.messages import Usage
from gshtui.commands.declaration import Assessment, CommandError, Effect, Invocation
from gshtui.context.cuts.forecast import CarryBy, WhatIfTarget, carry_costs, forecast, suppose
from gshtui.context.views import Carry, ContextError, ContextView, Forecast, RequestText, WhatIf
from gshtui.store.engine.store_errors import StoreError
from gshtui.text.sanitise import one_line, visible

if TYPE_CHECKING:
    from gshtui.context.context_editor import ContextEditor
    from gshtui.context.queries import ContextQueries
    from gshtui.providers.port import Capabilities


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


class ContextReader(Protocol):
    """What an agent's model was sent and will be sent. Raises `ContextError`."""

    async def iterations(self, agent: str, *, limit: int = 500) -> list[Iteration]: ...
    async def view(self, agent: str, iteration: str = "") -> ContextView: ...
    async def request(self, agent: str, iteration: str = "") -> RequestText: ...
    async def receipts(self, agent: str) -> list[Receipt]: ...
    async def forecast(self, agent: str) -> Forecast: ...
    async def what_if(
        self, agent: str, *, model: str = "", provider: str = "", without: Sequence[str] = ()
    ) -> WhatIf: ...
    async def carry(self, agent: str, *, by: CarryBy = "source") -> list[Carry]: ...


class ProgramTranscripts(Protocol):
    """What other programs sent, from the transcripts that they keep. Raises `ContextError`."""

    async def view(self, row: AgentRow, iteration: str = "") -> ContextView: ...
    async def iterations(self, row: AgentRow) -> list[Iteration]: ...
    async def receipts(self, row: AgentRow) -> list[Receipt]: ...
    def text(self, hash: str) -> str | None: ...


_LAST = 100
"""Most requests compared for the carry cost: the newest."""


class ProgramContext:
    """A `ContextReader` of one program; its methods expect the name by which it was found."""

    def __init__(self, row: AgentRow, transcripts: ProgramTranscripts, known: Callable[[str], Capabilities]) -> None:
        """`known`: returns the facts about a model by its name."""
        self._row = row
        self._transcripts = transcripts
        self._known = known

    async def iterations(self, agent: str, *, limit: int = 500) -> list[Iteration]:
        """Its requests, oldest first. Raises `ContextError`."""
        return (await self._transcripts.iterations(self._row))[-limit:]

    async def view(self, agent: str, iteration: str = "") -> ContextView:
        """A past request or, without an id, what it has in its context now. Raises `ContextError`."""
        return await self._transcripts.view(self._row, iteration)

    async def request(self, agent: str, iteration: str = "") -> RequestText:
        """What its transcript has of a request, as JSON. Raises `ContextError`."""
        view = await self._transcripts.view(self._row, iteration)
        messages = [
            {"role": block.role, "kind": block.kind, "content": self._transcripts.text(block.hash)}
            for block in view.blocks
        ]
        text = json.dumps({"model": view.model, "messages": messages}, ensure_ascii=False, indent=2)
        return RequestText(text, False, view.note)

    async def receipts(self, agent: str) -> list[Receipt]:
        """Its own compactions, oldest first. Raises `ContextError`."""
        return await self._transcripts.receipts(self._row)

    async def forecast(self, agent: str) -> Forecast:
        """When its next compaction comes, as far as its trigger is known. Raises `ContextError`."""
        view = await self._transcripts.view(self._row)
        marks = await self._transcripts.iterations(self._row)
        return forecast(marks, view.expected or view.tokens, view.trigger)

    async def what_if(self, agent: str, *, model: str = "", provider: str = "", without: Sequence[str] = ()) -> WhatIf:
        """Its next request under other circumstances. Raises `ContextError`."""
        view = await self._transcripts.view(self._row)
        name = model.rpartition("/")[2] or view.model
        return suppose(view, WhatIfTarget(name, provider or view.provider, self._known(name)), without)

    async def carry(self, agent: str, *, by: CarryBy = "source") -> list[Carry]:
        """The things that were read once and are paid for with every request. Raises `ContextError`."""
        marks = (await self._transcripts.iterations(self._row))[-_LAST:]
        sent = [(mark, (await self._transcripts.view(self._row, mark.id)).blocks) for mark in marks]
        return carry_costs(sent, self._price_of_input, by)

    def _price_of_input(self, iteration: Iteration) -> float | None:
        usage = iteration.usage
        if usage is None:
            return 0.0
        sent = Usage(input=usage.input, cache_read=usage.cache_read, cache_write=usage.cache_write)
        return self._known(iteration.model).cost(sent)


class ContextRouter:
    """Finds the reader and the editor of an agent's context."""

    def __init__(
        self,
        queries: ContextQueries,
        editor: ContextEditor,
        row: FindAgent | None,
        transcripts: Callable[[], ProgramTranscripts],
        known: Callable[[str], Capabilities],
    ) -> None:
        """Args:
        row: looks up an agent of the roster; `None` if there is no record.
        transcripts: created on first use.
        """
        self.queries = queries
        """Reads the contexts of our own agents."""
        self._editor = editor
        self._row = row
        self._make = transcripts
        self._transcripts: ProgramTranscripts | None = None
        self._known = known

    async def reader(self, agent: str) -> ContextReader:
        """The reader of this agent's context. Raises `ContextError`."""
        if (row := await self._program(agent)) is None:
            return self.queries
        if self._transcripts is None:
            self._transcripts = self._make()
        return ProgramContext(row, self._transcripts, self._known)

    async def editor(self, agent: str) -> ContextEditor:
        """The editor of this agent's context. Raises `ContextError` for another program."""
        if (row := await self._program(agent)) is None:
            return self._editor
        program = row.profile or "That program"
        hint = f"`agent attach {row.id}` shows its terminal; most programs have a command such as /compact."
        what = f"{program} decides what it sends; {row.name} cannot be cut from here."
        raise ContextError("invalid", what, hint)

    async def text(self, hash: str) -> str:
        """The text of any agent's block. Raises `ContextError`."""
        found = self._transcripts.text(hash) if self._transcripts is not None else None
        return found if found is not None else await self.queries.text(hash)

    async def _program(self, agent: str) -> AgentRow | None:
        """The row of an agent that is another program; `None` for our own agents and unknown ones."""
        if self._row is None:
            return None
        try:
            row = await self._row(agent)
        except StoreError as error:
            if error.kind == "unknown":
                return None
            raise ContextError("record", error.message, error.hint) from error
        return row if row.kind == "cli" else None

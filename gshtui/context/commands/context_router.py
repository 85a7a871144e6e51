"""Where an agent's context is read: our own agents' from the record, other programs' from the transcripts they keep.

Refuses to cut what another program sends: that program does so itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from gshtui.bus.agent_data import AgentRow
from gshtui.bus.context_data import Iteration, Receipt
from gshtui.context.commands.access import Row
from gshtui.context.commands.program_context import ProgramContext, ProgramTranscripts
from gshtui.context.forecast import CarryBy
from gshtui.context.views import Carry, ContextError, ContextView, Forecast, RequestText, WhatIf
from gshtui.store.store_errors import StoreError

if TYPE_CHECKING:
    from gshtui.context.service import ContextService
    from gshtui.providers.port import Capabilities


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


class ContextRouter:
    """Finds the reader of an agent's context, and what may change it."""

    def __init__(
        self,
        ours: ContextService,
        row: Row | None,
        transcripts: Callable[[], ProgramTranscripts],
        known: Callable[[str], Capabilities],
    ) -> None:
        """Args:
        row: looks up an agent of the roster; `None` if there is no record.
        transcripts: made when first asked for.
        """
        self.ours = ours
        """Reads and changes the contexts of our own agents."""
        self._row = row
        self._make = transcripts
        self._transcripts: ProgramTranscripts | None = None
        self._known = known

    async def reader(self, agent: str) -> ContextReader:
        """What reads this agent's context. Raises `ContextError`."""
        if (row := await self._program(agent)) is None:
            return self.ours
        if self._transcripts is None:
            self._transcripts = self._make()
        return ProgramContext(row, self._transcripts, self._known)

    async def editor(self, agent: str) -> ContextService:
        """What changes this agent's context. Raises `ContextError` for another program."""
        if (row := await self._program(agent)) is None:
            return self.ours
        program = row.profile or "That program"
        hint = f"`agent attach {row.id}` shows its terminal; most programs have a command such as /compact."
        what = f"{program} decides itself what it sends; {row.name} cannot be cut from here."
        raise ContextError("invalid", what, hint)

    async def text(self, hash: str) -> str:
        """A block's text, whoever's it is. Raises `ContextError`."""
        found = self._transcripts.text(hash) if self._transcripts is not None else None
        return found if found is not None else await self.ours.text(hash)

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

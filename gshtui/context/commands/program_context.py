"""The context of one agent that is another program, out of the transcript that it keeps.

Its trigger and its tokenizer are not known here; a forecast and a what-if say so. Made by `ContextRouter`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from gshtui.bus.agent_data import AgentRow
from gshtui.bus.context_data import Iteration, Receipt
from gshtui.bus.messages import Usage
from gshtui.context.forecast import CarryBy, WhatIfTarget, carry_costs, forecast, suppose
from gshtui.context.views import Carry, ContextView, Forecast, RequestText, WhatIf

if TYPE_CHECKING:
    from gshtui.providers.port import Capabilities


class ProgramTranscripts(Protocol):
    """What other programs sent, from the transcripts that they keep. Raises `ContextError`."""

    async def view(self, row: AgentRow, iteration: str = "") -> ContextView: ...
    async def iterations(self, row: AgentRow) -> list[Iteration]: ...
    async def receipts(self, row: AgentRow) -> list[Receipt]: ...
    def text(self, hash: str) -> str | None: ...


_LAST = 100
"""Requests whose blocks are held against each other for the carry cost: the newest."""


class ProgramContext:
    """A `ContextReader` of one program; the name by which its methods are asked is the one that it was found by."""

    def __init__(self, row: AgentRow, transcripts: ProgramTranscripts, known: Callable[[str], Capabilities]) -> None:
        """`known`: what is known of a model by its name."""
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
        """What was read once and is paid for with every request. Raises `ContextError`."""
        marks = (await self._transcripts.iterations(self._row))[-_LAST:]
        sent = [(mark, (await self._transcripts.view(self._row, mark.id)).blocks) for mark in marks]
        return carry_costs(sent, self._price_of_input, by)

    def _price_of_input(self, iteration: Iteration) -> float | None:
        usage = iteration.usage
        if usage is None:
            return 0.0
        sent = Usage(input=usage.input, cache_read=usage.cache_read, cache_write=usage.cache_write)
        return self._known(iteration.model).cost(sent)

"""Contexts of all agents: our own from the record, those of other programs from the transcripts they keep.

Answers as the context service does, and passes on whatever concerns our own agents. Refuses to cut what another
program sends: that program does so itself.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NoReturn, Protocol

from gshtui.bus.agent_data import AgentRow
from gshtui.bus.context_data import CutKind, Difference, Iteration, Receipt
from gshtui.bus.messages import Usage
from gshtui.context.block_diff import differences
from gshtui.context.commands.access import Row
from gshtui.context.forecast import CarryBy, WhatIfTarget, carry_costs, forecast, suppose
from gshtui.context.limits import ContextSettings
from gshtui.context.views import Carry, ContextError, ContextView, Forecast, RequestText, WhatIf
from gshtui.store.store_errors import StoreError

if TYPE_CHECKING:
    from gshtui.context.service import ContextService
    from gshtui.providers.port import Capabilities


class Reconstructions(Protocol):
    """What other programs sent, from their transcripts. Raises `ContextError`."""

    async def view(self, row: AgentRow, iteration: str = "") -> ContextView: ...
    async def iterations(self, row: AgentRow) -> list[Iteration]: ...
    async def receipts(self, row: AgentRow) -> list[Receipt]: ...
    def text(self, hash: str) -> str | None: ...


_LAST = 100
"""Requests of another program whose blocks are compared for the carry cost: the newest."""


class ContextRouter:
    """The interface of `ContextService`, for every agent."""

    def __init__(
        self,
        ours: ContextService,
        row: Row | None,
        transcripts: Callable[[], Reconstructions],
        known: Callable[[str], Capabilities],
    ) -> None:
        """Args:
        row: looks up an agent of the roster; `None` if there is no record.
        transcripts: made when first asked for.
        """
        self._ours = ours
        self._row = row
        self._make = transcripts
        self._known = known

    @cached_property
    def _transcripts(self) -> Reconstructions:
        return self._make()

    async def iterations(self, agent: str, *, limit: int = 500) -> list[Iteration]:
        """The agent's requests, oldest first. Raises `ContextError`."""
        if (row := await self._foreign(agent)) is not None:
            return (await self._transcripts.iterations(row))[-limit:]
        return await self._ours.iterations(agent, limit=limit)

    async def view(self, agent: str, iteration: str = "") -> ContextView:
        """A past request or, without an id, the next one. Raises `ContextError`."""
        if (row := await self._foreign(agent)) is not None:
            return await self._transcripts.view(row, iteration)
        return await self._ours.view(agent, iteration)

    async def text(self, hash: str) -> str:
        """A block's text. Raises `ContextError`."""
        found = self._transcripts.text(hash)
        return found if found is not None else await self._ours.text(hash)

    async def request(self, agent: str, iteration: str = "") -> RequestText:
        """The request as JSON; for another program, what its transcript contains. Raises `ContextError`."""
        if (row := await self._foreign(agent)) is None:
            return await self._ours.request(agent, iteration)
        view = await self._transcripts.view(row, iteration)
        messages = [
            {"role": block.role, "kind": block.kind, "content": self._transcripts.text(block.hash)}
            for block in view.blocks
        ]
        text = json.dumps({"model": view.model, "messages": messages}, ensure_ascii=False, indent=2)
        return RequestText(text, False, view.note)

    async def receipts(self, agent: str) -> list[Receipt]:
        """The agent's cuts, oldest first. Raises `ContextError`."""
        if (row := await self._foreign(agent)) is not None:
            return await self._transcripts.receipts(row)
        return await self._ours.receipts(agent)

    async def receipt(self, id: str) -> Receipt:
        """One cut of our own agent. Raises `ContextError`."""
        return await self._ours.receipt(id)

    async def preview(self, agent: str, kind: CutKind) -> Receipt:
        """What a cut would do. Raises `ContextError`."""
        await self._mine(agent)
        return await self._ours.preview(agent, kind)

    async def cut(self, agent: str, kind: CutKind, *, by: str = "person", focus: str = "") -> Receipt:
        """Cut now. Raises `ContextError`."""
        await self._mine(agent)
        return await self._ours.cut(agent, kind, by=by, focus=focus)

    async def undo(self, agent: str, cut: str, *, by: str = "person") -> None:
        """Undo a cut. Raises `ContextError`."""
        await self._mine(agent)
        await self._ours.undo(agent, cut, by=by)

    async def restore(self, agent: str, block: str, *, by: str = "person") -> None:
        """Send one block in full again. Raises `ContextError`."""
        await self._mine(agent)
        await self._ours.restore(agent, block, by=by)

    async def pin(self, agent: str, block: str, on: bool, *, by: str = "person") -> None:
        """Pin a block, or unpin it. Raises `ContextError`."""
        await self._mine(agent)
        await self._ours.pin(agent, block, on, by=by)

    async def edit_summary(self, agent: str, cut: str, text: str, *, by: str = "person") -> None:
        """Replace the words of a summary. Raises `ContextError`."""
        await self._mine(agent)
        await self._ours.edit_summary(agent, cut, text, by=by)

    async def tune(
        self,
        agent: str,
        *,
        threshold: float | None = None,
        protect: int | None = None,
        strategy: str | None = None,
        output_bytes: int | None = None,
        by: str = "person",
    ) -> None:
        """Set when and how an agent's context is cut. Raises `ContextError`."""
        await self._mine(agent)
        await self._ours.tune(
            agent, threshold=threshold, protect=protect, strategy=strategy, output_bytes=output_bytes, by=by
        )

    async def settings(self, agent: str) -> ContextSettings:
        """When and how an agent's context is cut. Raises `ContextError`."""
        await self._mine(agent)
        return await self._ours.settings(agent)

    async def forecast(self, agent: str) -> Forecast:
        """When the next compaction is due; unknown for another program. Raises `ContextError`."""
        if (row := await self._foreign(agent)) is None:
            return await self._ours.forecast(agent)
        view = await self._transcripts.view(row)
        return forecast(await self._transcripts.iterations(row), view.expected or view.tokens, view.trigger)

    async def what_if(self, agent: str, *, model: str = "", provider: str = "", without: Sequence[str] = ()) -> WhatIf:
        """The next request under other circumstances. Raises `ContextError`."""
        if (row := await self._foreign(agent)) is None:
            return await self._ours.what_if(agent, model=model, provider=provider, without=without)
        view = await self._transcripts.view(row)
        name = model.rpartition("/")[2] or view.model
        return suppose(view, WhatIfTarget(name, provider or view.provider, self._known(name)), without)

    async def difference(self, a: ContextView, b: ContextView) -> list[Difference]:
        """What differs between two requests, of one agent or of two."""
        return differences(a.blocks, b.blocks)

    async def carry(self, agent: str, by: CarryBy = "source") -> list[Carry]:
        """What was read once and is paid for in every request. Raises `ContextError`."""
        if (row := await self._foreign(agent)) is None:
            return await self._ours.carry(agent, by=by)
        marks = (await self._transcripts.iterations(row))[-_LAST:]
        sent = [(mark, (await self._transcripts.view(row, mark.id)).blocks) for mark in marks]
        return carry_costs(sent, self._price_of_input, by)

    def _price_of_input(self, iteration: Iteration) -> float | None:
        usage = iteration.usage
        if usage is None:
            return 0.0
        sent = Usage(input=usage.input, cache_read=usage.cache_read, cache_write=usage.cache_write)
        return self._known(iteration.model).cost(sent)

    async def _mine(self, agent: str) -> None:
        if (row := await self._foreign(agent)) is not None:
            _theirs(row)

    async def _foreign(self, agent: str) -> AgentRow | None:
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


def _theirs(row: AgentRow) -> NoReturn:
    program = row.profile or "That program"
    hint = f"`agent attach {row.id}` shows its terminal; most programs have a command such as /compact."
    raise ContextError("invalid", f"{program} decides itself what it sends; {row.name} cannot be cut from here.", hint)

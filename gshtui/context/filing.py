"""Filing: each request's mark and blocks go to the shelf, with the texts that it does not have yet.

Owns what this process knows to be kept; refuses to send a text twice. Called by the engine.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec

from gshtui.bus.context import Block, Iteration
from gshtui.bus.ids import new_id
from gshtui.context.assembly import Assembly
from gshtui.context.cache import broken_by
from gshtui.context.history import History
from gshtui.context.log import Log
from gshtui.context.ports import Shelf
from gshtui.context.terms import Terms
from gshtui.store.errors import StoreError


class Filing:
    """The filing of one conversation."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._kept: set[str] = set()
        self._looked_at = 0
        self._before: tuple[Iteration, tuple[Block, ...]] | None = None

    async def file(
        self, terms: Terms, assembly: Assembly, number: int, cuts: Sequence[str], history: History
    ) -> Iteration:
        """Keep a request before it is sent. Raises `StoreError`.

        Args:
            number: the iteration within its turn.
            cuts: receipts since the last one.
        """
        iteration = Iteration(
            id=new_id(),
            agent=terms.agent,
            session=terms.session,
            turn=terms.inputs.turn,
            iteration=number,
            at=time.time(),
            provider=terms.provider.name,
            model=terms.model,
            tokens=assembly.tokens,
            window=terms.limits.window,
            sections=tuple((section.name, section.tokens) for section in assembly.sections),  # type: ignore[misc]
            trigger=terms.limits.trigger,
            cuts=(*cuts, *self._truncated(history.log)),
        )
        iteration = msgspec.structs.replace(iteration, broken_by=await self._broken_by(iteration, assembly, history))
        texts = self._new_texts(assembly, history.unfiled)
        await self._shelf.add_iteration(iteration, assembly.blocks, texts)
        self._kept.update(texts)
        history.unfiled = len(history.blocks)
        self._before = iteration, assembly.blocks
        return iteration

    async def _broken_by(self, iteration: Iteration, assembly: Assembly, history: History) -> str:
        """The block that breaks what the same model was sent before, in this process or an earlier one."""
        if self._before is None and not self._kept:
            marks = await self._shelf.iterations(iteration.session, agent=iteration.agent, limit=1)
            try:
                self._before = (marks[0], await self._shelf.blocks(marks[0].id)) if marks else None
            except StoreError:
                self._before = None  # one that is damaged tells nothing
        if self._before is None:
            return ""
        mark, before = self._before
        if (mark.provider, mark.model) != (iteration.provider, iteration.model):
            return ""
        fixed = assembly.fixed
        if self._kept and len(before) == fixed + history.unfiled and before[:fixed] == assembly.blocks[:fixed]:
            return ""  # the history only went on, as it says itself: not looked through
        return broken_by(before, assembly.blocks, iteration.provider)

    def _truncated(self, log: Log) -> list[str]:
        """Blocks that came in shortened since the last request: the receipts of that have their names."""
        entries = log.entries
        first, self._looked_at = min(self._looked_at or len(entries), len(entries)), len(entries)
        return [b.id for e in entries[first:] for b in e.blocks if any(c.kind == "truncated" for c in b.changes)]

    def _new_texts(self, assembly: Assembly, unfiled: int) -> dict[str, str]:
        first = assembly.fixed + (unfiled if self._kept else 0)
        places = (*range(assembly.fixed), *range(first, len(assembly.blocks)))
        return {
            block.hash: assembly.text(place)
            for place in places
            if (block := assembly.blocks[place]).hash not in self._kept
        }

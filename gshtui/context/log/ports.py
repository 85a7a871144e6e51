"""What the context needs from others: a store of overlays, texts and iterations, and contributors of text.

Defines the protocols, and an in-memory store for conversations without a record. `store.contexts` already implements
the protocol.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from gshtui.bus.context_data import Block, Iteration
from gshtui.bus.messages import Usage
from gshtui.context.log.blocks import Passage
from gshtui.store.engine.store_errors import StoreError


class ContextStore(Protocol):
    """Stores a conversation's context. Every call returns once the data is safe. Raises `StoreError`."""

    async def add_overlay(self, session: str, overlay_id: str, kind: str, at: float, data: str) -> int: ...
    async def overlays(self, session: str, after: int = 0) -> list[tuple[int, str]]: ...
    async def home(self, id: str) -> str: ...
    async def text(self, hash: str) -> str: ...
    async def output(self, key: str) -> str: ...
    async def texts_of(self, session: str) -> list[str]: ...
    async def keep_texts(self, session: str, texts: Mapping[str, str]) -> None: ...
    async def recall(self, session: str, agent: str) -> None: ...
    async def add_iteration(
        self, iteration: Iteration, blocks: Sequence[Block], new_texts: Mapping[str, str] | None = None
    ) -> int: ...
    async def update_iteration(
        self, id: str, usage: Usage | None = None, cost: float | None = None, error: str = "", *, sent: str = ""
    ) -> Any: ...
    async def iterations(self, session: str = "", *, agent: str = "", limit: int = 500) -> list[Iteration]: ...
    async def blocks(self, iteration_id: str) -> tuple[Block, ...]: ...


class SideText(msgspec.Struct, frozen=True):
    """A text that accompanies a person's message; it is sent again only if it has changed.

    Of several with one source, the last is sent.
    """

    source: str
    text: str
    once: bool = False
    """Only in the first message of a conversation."""
    told: Callable[[], None] | None = None
    """Called once the text is stored with a message; until then, the source must keep offering it."""


class Contribution(msgspec.Struct, frozen=True):
    """One source's contribution to the next turn."""

    passages: tuple[Passage, ...] = ()
    along: tuple[SideText, ...] = ()


Contribute = Callable[[bool], Awaitable[Contribution]]
"""Called at the start of each turn, and for previews; the argument says whether the conversation is new. Must not
raise, nor assume that its text is then sent.
"""


class _Kept(msgspec.Struct):
    overlays: list[tuple[int, str]] = msgspec.field(default_factory=list[tuple[int, str]])
    iterations: dict[str, tuple[Iteration, tuple[Block, ...]]] = msgspec.field(
        default_factory=dict[str, tuple[Iteration, tuple[Block, ...]]]
    )


_MOST_KEPT = 500


class MemoryContextStore:
    """The context store of conversations without a record; it keeps the last 500 iterations of each."""

    def __init__(self) -> None:
        self._sessions: dict[str, _Kept] = {}
        self._texts: dict[str, str] = {}
        self._homes: dict[str, str] = {}
        self._seq = 0

    async def add_overlay(self, session: str, overlay_id: str, kind: str, at: float, data: str) -> int:
        """Store an overlay; the same id is stored only once."""
        if overlay_id not in self._homes:
            self._homes[overlay_id] = session
            self._seq += 1
            self._of(session).overlays.append((self._seq, data))
        return self._seq

    async def overlays(self, session: str, after: int = 0) -> list[tuple[int, str]]:
        """(position, data) of the overlays after a position."""
        return [(seq, data) for seq, data in self._of(session).overlays if seq > after]

    async def home(self, id: str) -> str:
        return self._homes.get(id, "")

    async def text(self, hash: str) -> str:
        if (text := self._texts.get(hash)) is None:
            raise StoreError("unknown", f"There is no text {hash!r} in memory.")
        return text

    async def output(self, key: str) -> str:
        """Full outputs are not stored without a store."""
        raise StoreError("unknown", "Whole outputs are not saved without a record.")

    async def texts_of(self, session: str) -> list[str]:
        return list(self._texts)

    async def keep_texts(self, session: str, texts: Mapping[str, str]) -> None:
        self._texts |= texts

    async def recall(self, session: str, agent: str) -> None:
        """Everything is at hand."""

    async def add_iteration(
        self, iteration: Iteration, blocks: Sequence[Block], new_texts: Mapping[str, str] | None = None
    ) -> int:
        kept = self._of(iteration.session).iterations
        kept[iteration.id] = (iteration, tuple(blocks))
        self._texts |= new_texts or {}
        while len(kept) > _MOST_KEPT:
            del kept[next(iter(kept))]
        return len(kept)

    async def update_iteration(
        self, id: str, usage: Usage | None = None, cost: float | None = None, error: str = "", *, sent: str = ""
    ) -> Iteration:
        """Add what is known after the answer."""
        for kept in self._sessions.values():
            if id in kept.iterations:
                old, blocks = kept.iterations[id]
                new = msgspec.structs.replace(
                    old,
                    usage=usage or old.usage,
                    cost=old.cost if cost is None else cost,
                    error=error or old.error,
                    sent=sent or old.sent,
                )
                kept.iterations[id] = (new, blocks)
                return new
        raise StoreError("unknown", f"There is no iteration {id!r} in memory.")

    async def iterations(self, session: str = "", *, agent: str = "", limit: int = 500) -> list[Iteration]:
        """The newest marks, oldest first."""
        found = [
            iteration
            for name, kept in self._sessions.items()
            for iteration, _ in kept.iterations.values()
            if session in ("", name) and agent in ("", iteration.agent)
        ]
        return sorted(found, key=lambda iteration: iteration.id)[-limit:]

    async def blocks(self, iteration_id: str) -> tuple[Block, ...]:
        for kept in self._sessions.values():
            if iteration_id in kept.iterations:
                return kept.iterations[iteration_id][1]
        raise StoreError("unknown", f"There is no iteration {iteration_id!r} in memory.")

    def _of(self, session: str) -> _Kept:
        return self._sessions.setdefault(session, _Kept())

"""What agents' models are sent, as the window needs it: reading it, and acting on it, for any agent by name or id.

Owns the protocols alone, and is imported by nothing that a first frame needs.
`gshtui.context.service.ContextService` implements them, and a recorded one in tests.
Each method raises `gshtui.context.views.ContextError`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from gshtui.bus.context_data import CutKind, Difference, Iteration, Receipt
from gshtui.context.views import Carry, ContextView, Forecast, RequestText, WhatIf


class ContextReader(Protocol):
    """Looking at what is sent; changes nothing."""

    async def iterations(self, agent: str, *, limit: int = 500) -> Sequence[Iteration]: ...
    async def view(self, agent: str, iteration: str = "") -> ContextView: ...
    async def text(self, hash: str) -> str: ...
    async def request(self, agent: str, iteration: str = "") -> RequestText: ...
    async def receipts(self, agent: str) -> Sequence[Receipt]: ...
    async def receipt(self, id: str) -> Receipt: ...


class ContextEstimator(Protocol):
    """What something costs, or would cost; changes nothing."""

    async def preview(self, agent: str, kind: CutKind) -> Receipt: ...
    async def forecast(self, agent: str) -> Forecast: ...
    async def what_if(self, agent: str, *, model: str = "", provider: str = "") -> WhatIf: ...
    async def difference(self, a: ContextView, b: ContextView) -> Sequence[Difference]: ...
    async def carry(self, agent: str) -> Sequence[Carry]: ...


class ContextEditor(Protocol):
    """Changing what is sent from the next request on; the log stays as it is."""

    async def cut(self, agent: str, kind: CutKind, *, by: str = "person", focus: str = "") -> Receipt: ...
    async def undo(self, agent: str, cut: str, *, by: str = "person") -> Any: ...
    async def restore(self, agent: str, block: str, *, by: str = "person") -> Any: ...
    async def pin(self, agent: str, block: str, on: bool, *, by: str = "person") -> Any: ...
    async def edit_summary(self, agent: str, cut: str, text: str, *, by: str = "person") -> Any: ...
    async def tune(
        self,
        agent: str,
        *,
        threshold: float | None = None,
        protect: int | None = None,
        strategy: str | None = None,
        by: str = "person",
    ) -> Any: ...


class ContextPort(ContextReader, ContextEstimator, ContextEditor, Protocol):
    """All of it."""

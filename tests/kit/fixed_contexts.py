"""Contexts that are told and not assembled: fixed views behind the service's interface, and a list of what was asked.

For tests of the commands alone, whose words and rights do not depend on where a view comes from.
"""

from dataclasses import dataclass, field
from typing import Any

import msgspec

from gshtui.bus.context_data import Block, CutKind, Item, Iteration, Receipt
from gshtui.bus.messages import Usage
from gshtui.context.assembly.limits import ContextSettings
from gshtui.context.views import Carry, ContextError, ContextView, Forecast, RequestText, WhatIf

TEXTS = {"h0": "You are an agent.", "h1": "12 passed\n1 failed", "h2": "Why does it fail?", "h3": "[output pruned]"}
_BLOCKS = (
    Block("system/0", "system", "system", "gsh-tui", 1_200, "h0"),
    Block("m1/0", "history", "tool_result", "bash npm test", 3_000, "h1", at=1.0, path="", call="c1", role="tool"),
    Block("m2/0", "input", "text", "you", 300, "h2", at=2.0, role="user"),
)
PRUNED = Receipt(
    "prune",
    "main",
    "s1",
    id="cut1",
    by="threshold",
    tokens_before=9_000,
    tokens_after=4_500,
    items=(Item("m0/0", "read old.py", "shortened", 4_600, 10),),
)


@dataclass
class FixedContexts:
    """See the module's text."""

    calls: list[tuple[Any, ...]] = field(default_factory=list[tuple[Any, ...]])
    cuts: list[Receipt] = field(default_factory=lambda: [PRUNED])

    async def iterations(self, agent: str, *, limit: int = 500) -> list[Iteration]:
        self._known(agent)
        marks = [
            Iteration(
                f"i{n}",
                agent,
                "s1",
                f"t{n}",
                1,
                float(n),
                "anthropic",
                "m",
                2_000 * n,
                200_000,
                usage=Usage(n),
                cost=0.01,
                trigger=170_000,
                cuts=("cut1",) if n == 2 else (),
            )
            for n in (1, 2, 3)
        ]
        return marks[-limit:]

    async def view(self, agent: str, iteration: str = "") -> ContextView:
        self._known(agent)
        blocks = _BLOCKS if not iteration else (_BLOCKS[0], msgspec.structs.replace(_BLOCKS[1], hash="h3", tokens=10))
        tokens = sum(block.tokens for block in blocks)
        return ContextView(agent, "s1", None, "m", "anthropic", 200_000, tokens, 170_000, blocks)

    async def text(self, hash: str) -> str:
        return TEXTS[hash]

    async def request(self, agent: str, iteration: str = "") -> RequestText:
        return RequestText('{"model": "m", "messages": []}', True)

    async def receipts(self, agent: str) -> list[Receipt]:
        self._known(agent)
        return self.cuts

    async def receipt(self, id: str) -> Receipt:
        if (found := next((cut for cut in self.cuts if cut.id == id), None)) is None:
            raise ContextError("unknown", f"There is no cut {id!r}.")
        return found

    async def preview(self, agent: str, kind: CutKind) -> Receipt:
        self.calls.append(("preview", agent, kind))
        return Receipt(kind, agent, "s1", tokens_before=4_500, tokens_after=1_500)

    async def cut(self, agent: str, kind: CutKind, *, by: str = "person", focus: str = "") -> Receipt:
        self.calls.append(("cut", agent, kind, by, focus))
        return Receipt(kind, agent, "s1", id="cut2", by=by, tokens_before=4_500, tokens_after=1_500)

    async def undo(self, agent: str, cut: str, *, by: str = "person") -> None:
        self.calls.append(("undo", agent, cut, by))

    async def restore(self, agent: str, block: str, *, by: str = "person") -> None:
        self.calls.append(("restore", agent, block, by))

    async def pin(self, agent: str, block: str, on: bool, *, by: str = "person") -> None:
        self.calls.append(("pin", agent, block, on, by))

    async def edit_summary(self, agent: str, cut: str, text: str, *, by: str = "person") -> None:
        self.calls.append(("edit_summary", agent, cut, text, by))

    async def tune(self, agent: str, *, by: str = "person", **settings: Any) -> None:
        wanted = {name: value for name, value in settings.items() if value is not None}
        self.calls.append(("tune", agent, by, wanted))

    async def settings(self, agent: str) -> ContextSettings:
        return ContextSettings(threshold=0.7)

    async def forecast(self, agent: str) -> Forecast:
        return Forecast(12, 1_300, 170_000)

    async def what_if(self, agent: str, *, model: str = "", provider: str = "", without: Any = ()) -> WhatIf:
        self.calls.append(("what_if", agent, model, provider, tuple(without)))
        return WhatIf(4_000, 4_096, 0.01, True, ("Something would be pruned.",))

    async def carry(self, agent: str, *, by: str = "source") -> list[Carry]:
        return [Carry(f"bash npm test, by {by}", 3_000, 31, 93_000, 0.28)]

    def _known(self, agent: str) -> None:
        if agent not in ("main", "0007", "0008", "0009"):
            raise ContextError("unknown", f"There is no agent {agent!r}.", "`agent ls` lists them.")

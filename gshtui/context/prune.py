"""Prune: which old tool outputs are no longer sent in full. Pure, and cheap for a history of any length.

Owns the rule of the seed (the most recent `protect` tokens of output stay, small outputs stay, calls stay), and when
it acts; refuses to touch what is pinned, restored or spared. Called by the engine.

It acts in steps and not for every output that grows old: each prune changes bytes in the middle of what the provider
has in its cache, so everything behind them is read anew and paid in full. A step of a quarter of the protected tokens
means one such break for each `step` tokens of output, not one a request.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

from gshtui.bus.context import Block
from gshtui.context.history import placeholder
from gshtui.context.plan import Plan
from gshtui.context.tokens import MESSAGE_TOKENS, text_tokens

SMALL = 100
"""Tokens below which an output is never pruned."""


def step_of(protect: int) -> int:
    """Tokens that must have become prunable before anything is pruned."""
    return max(SMALL, protect // 4)


class Outputs:
    """The tool outputs of a rendered history, with running sums. Follows it as it grows."""

    def __init__(self) -> None:
        self._blocks: list[Block] = []
        self._sums = [0]
        """Tokens of the outputs before each one."""
        self._gains = [0]
        """Tokens that pruning all before each one would free."""
        self._at: list[int] = []
        """Place of each among the history's blocks."""

    def follow(self, blocks: Sequence[Block], fresh: int, plan: Plan) -> None:
        """Take over the history's blocks; those before `fresh` are as they were."""
        keep = bisect_left(self._at, fresh)
        del self._blocks[keep:], self._at[keep:], self._sums[keep + 1 :], self._gains[keep + 1 :]
        for place in range(fresh, len(blocks)):
            block = blocks[place]
            if block.kind != "tool_result":
                continue
            self._blocks.append(block)
            self._at.append(place)
            self._sums.append(self._sums[-1] + _size(block))
            self._gains.append(self._gains[-1] + _gain(block, plan))

    def prunable(self, protect: int) -> int:
        """Tokens that pruning would free now."""
        return self._gains[self._boundary(protect)]

    def choose(self, protect: int, plan: Plan, *, spared: bool = False) -> dict[str, int]:
        """Blocks to prune, with the tokens that they take now.

        Args:
            protect: tokens of the most recent outputs to leave alone.
            spared: also those of cuts that were undone.
        """
        end = self._boundary(protect)
        return {b.id: _size(b) for b in self._blocks[:end] if _gain(b, plan, spared=spared) > 0}

    def _boundary(self, protect: int) -> int:
        """How many outputs are too old to be protected. The newest always is, however long."""
        return max(0, min(len(self._blocks) - 1, bisect_left(self._sums, self._sums[-1] - protect)))


def _size(block: Block) -> int:
    """Tokens of the output itself: those of its message are in the first block of it."""
    return block.tokens - (MESSAGE_TOKENS if block.id.endswith("/0") else 0)


def _gain(block: Block, plan: Plan, *, spared: bool = False) -> int:
    if _size(block) < SMALL or (block.id in plan.pruned and block.id not in plan.restored):
        return 0
    if block.id in plan.pinned or block.id in plan.restored or (block.id in plan.spared and not spared):
        return 0
    return max(0, _size(block) - text_tokens(placeholder(_size(block))))

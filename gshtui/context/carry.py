"""What it has cost that a thing is sent again with every request: "read once, paid for 31 times". Pure.

A request's price is shared out among its blocks by their tokens. Called by `service`, in a thread: it goes through
every block of every request that it is given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from gshtui.bus.context import Block, Iteration
from gshtui.context.views import Carry

CarryBy = Literal["source", "file", "tool", "section", "agent"]
"""What is counted as one: what a block comes from, the file in it, its tool, its section, or who wrote it."""


@dataclass(slots=True)
class _Sum:
    tokens: int = 0
    times: int = 0
    paid: int = 0
    cost: float | None = 0.0


def carried(
    sent: Iterable[tuple[Iteration, Sequence[Block]]],
    price: Callable[[Iteration], float | None],
    by: CarryBy = "source",
) -> list[Carry]:
    """What each thing has cost so far, the dearest first.

    Args:
        sent: requests with their blocks, oldest first.
        price: US dollars for what the request put in (not for its answer); `None` where it is not known.
        by: what counts as one thing; blocks that have none (no file, no tool) are left out.

    Returns:
        `tokens` is its size when it was sent last, `times` the requests that had it, `cost` is `None` when the price of
        one of them is not known.
    """
    sums: dict[str, _Sum] = {}
    for iteration, blocks in sent:
        sizes: dict[str, int] = {}
        whole = 0
        for block in blocks:
            whole += block.tokens
            if name := name_of(block, by):
                sizes[name] = sizes.get(name, 0) + block.tokens
        spent = price(iteration)
        for name, tokens in sizes.items():
            found = sums.setdefault(name, _Sum())
            found.tokens = tokens
            found.times += 1
            found.paid += tokens
            if found.cost is not None:
                found.cost = None if spent is None else found.cost + (spent * tokens / whole if whole else 0.0)
    told = [Carry(name, found.tokens, found.times, found.paid, found.cost) for name, found in sums.items()]
    return sorted(told, key=lambda carry: (-carry.tokens_paid, carry.source))


def name_of(block: Block, by: CarryBy) -> str:
    """What a block is counted under; empty: under nothing."""
    match by:
        case "file":
            return block.path
        case "tool":
            if block.kind == "tool":
                return block.id.removeprefix("tool/")
            return block.source.split(" ", 1)[0] if block.kind in ("tool_call", "tool_result") else ""
        case "section":
            return block.section
        case "agent":
            if block.role == "user" and block.kind in ("text", "image", "document"):
                return block.source.split(" ", 1)[0]
            return {"assistant": "its own words", "tool": "tools"}.get(block.role, block.section)
        case _:
            return block.source

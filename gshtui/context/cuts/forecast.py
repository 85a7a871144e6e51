"""Forecasts: the next compaction, the next request with something changed, and the cost of sending things repeatedly.

Pure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Literal

import msgspec

from gshtui.bus.context_data import Block, Iteration
from gshtui.bus.messages import Usage
from gshtui.context.views import Carry, ContextError, ContextView, Forecast, WhatIf
from gshtui.providers.port import Capabilities

CarryBy = Literal["source", "file", "tool", "section", "agent"]
"""How to group blocks: by source, file, tool, section, or author."""


class _CarrySum(msgspec.Struct):
    tokens: int = 0
    times: int = 0
    paid: int = 0
    cost: float | None = 0.0


def carry_costs(
    sent: Iterable[tuple[Iteration, Sequence[Block]]],
    price: Callable[[Iteration], float | None],
    by: CarryBy = "source",
) -> list[Carry]:
    """The cost of each thing so far, most expensive first.

    Args:
        sent: requests with their blocks, oldest first.
        price: US dollars for the request's input (not its answer); `None` if unknown.
        by: how to group blocks; blocks without a group (no file, no tool) are left out.

    Returns:
        `tokens` is its size when last sent, `times` the number of requests with it; `cost` is `None` if the price of
        one of them is unknown.
    """
    sums: dict[str, _CarrySum] = {}
    for iteration, blocks in sent:
        sizes: dict[str, int] = {}
        whole = 0
        for block in blocks:
            whole += block.tokens
            if name := name_of(block, by):
                sizes[name] = sizes.get(name, 0) + block.tokens
        spent = price(iteration)
        for name, tokens in sizes.items():
            found = sums.setdefault(name, _CarrySum())
            found.tokens = tokens
            found.times += 1
            found.paid += tokens
            if found.cost is not None:
                found.cost = None if spent is None else found.cost + (spent * tokens / whole if whole else 0.0)
    told = [Carry(name, found.tokens, found.times, found.paid, found.cost) for name, found in sums.items()]
    return sorted(told, key=lambda carry: (-carry.tokens_paid, carry.source))


def name_of(block: Block, by: CarryBy) -> str:
    """The group in which a block is counted; empty: none."""
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


TURNS = 12
"""How many of the newest turns are examined."""


def forecast(iterations: Sequence[Iteration], tokens: int, trigger: int) -> Forecast:
    """Forecast when the trigger will be reached.

    Args:
        iterations: one agent's iterations, oldest first.
        tokens: the next request's tokens.
        trigger: tokens at which a compaction starts; 0: never.
    """
    per_turn = growth(iterations)
    if trigger <= 0:
        return Forecast(None, per_turn, trigger)
    if tokens >= trigger:
        return Forecast(0, per_turn, trigger)
    turns = math.ceil((trigger - tokens) / per_turn) if per_turn > 0 else None
    return Forecast(turns, per_turn, trigger)


def growth(iterations: Sequence[Iteration]) -> int:
    """Tokens that a turn adds: the mean of the newest ones, without the largest and the smallest of five or more."""
    grown: dict[str, int] = {}
    known: dict[str, bool] = {}
    for before, now in pairwise(iterations):
        turn = now.turn or now.id
        grown.setdefault(turn, 0)
        known.setdefault(turn, False)
        if _comparable(before, now):
            grown[turn] += now.tokens - before.tokens
            known[turn] = True
    recent = sorted([tokens for turn, tokens in grown.items() if known[turn]][-TURNS:])
    if len(recent) >= 5:
        recent = recent[1:-1]
    return max(0, round(sum(recent) / len(recent))) if recent else 0


def _comparable(before: Iteration, now: Iteration) -> bool:
    """Whether the two differ only by growth."""
    same = (before.session, before.provider, before.model) == (now.session, now.provider, now.model)
    return same and not now.cuts and now.tokens >= before.tokens


class WhatIfTarget(msgspec.Struct, frozen=True):
    """The assumed model, and how it is used. `trigger`: tokens at which a compaction starts; 0: none."""

    model: str
    provider: str
    capabilities: Capabilities
    trigger: int = 0
    prunable: int = 0
    """Tokens that pruning would free."""


def suppose(view: ContextView, target: WhatIfTarget, without: Sequence[str] = ()) -> WhatIf:
    """Forecast the next request with changes.

    Args:
        view: the next request.
        target: the model to send it to; may be the current one.
        without: what is left out: a section, a tool or a pattern of tools (`git_*`), a file, or a block's id.

    Raises `ContextError`: `unknown`: the request contains nothing of that name.
    """
    kept = list(view.blocks)
    for name in without:
        fewer = [block for block in kept if not names(block, name)]
        if len(fewer) == len(kept):
            hint = "A section, a tool (`git_*` for several), a file or a block's id."
            raise ContextError("unknown", f"The request contains nothing called {name!r}.", hint)
        kept = fewer
    left_out = sum(block.tokens for block in view.blocks) - sum(block.tokens for block in kept)
    tokens = max(0, (view.expected or view.tokens) - left_out)
    able = target.capabilities
    same = (target.model, target.provider) == (view.model, view.provider)
    steady = _steady(tokens, able)
    return WhatIf(
        tokens=tokens,
        window=able.window,
        price=able.cost(Usage(input=tokens)),
        fits=tokens < able.window,
        cuts=_cuts(tokens, target),
        warm=steady,
        notes=(*_cache(view, kept, able, same=same), *_abilities(kept, able)),
    )


def names(block: Block, name: str) -> bool:
    tool = block.id.removeprefix("tool/") if block.kind == "tool" else ""
    exact = (block.id, block.section, block.source, block.path)
    return name in exact or bool(tool and fnmatchcase(tool, name))


def _steady(tokens: int, able: Capabilities) -> float | None:
    """The price once the provider has everything except the newest part in its cache."""
    return able.cost(Usage(cache_read=tokens)) if able.caching else able.cost(Usage(input=tokens))


def _cuts(tokens: int, target: WhatIfTarget) -> tuple[str, ...]:
    said: list[str] = []
    if target.trigger and tokens >= target.trigger:
        left = tokens - target.prunable
        if target.prunable:
            said.append(f"Pruning would free about {target.prunable:,} tokens.")
        if left >= target.trigger:
            said.append(f"A compaction would start: {left:,} tokens exceed its trigger of {target.trigger:,}.")
    if tokens >= target.capabilities.window:
        said.append(f"It would be refused as it is: {target.model} accepts {target.capabilities.window:,} tokens.")
    return tuple(said)


def _cache(view: ContextView, kept: Sequence[Block], able: Capabilities, *, same: bool) -> tuple[str, ...]:
    if not able.caching:
        return ("Its prompt is not cached: every request pays for all of it.",) if able.known else ()
    if not same:
        return ("None of it is in that model's cache: the first request pays for all of it.",)
    for place, block in enumerate(kept):
        if block.id != view.blocks[place].id:
            lost = sum(later.tokens for later in kept[place:])
            return (
                f"The cache ends at {view.blocks[place].source}: the {lost:,} tokens after it are paid for once more.",
            )
    return ()


def _abilities(kept: Sequence[Block], able: Capabilities) -> tuple[str, ...]:
    kinds = {block.kind for block in kept}
    said: list[str] = []
    if "tool" in kinds and not able.tools:
        said.append("That model does not support tools.")
    if "image" in kinds and not able.images:
        said.append("That model does not support images; they would be left out.")
    if "document" in kinds and not able.documents:
        said.append("That model does not support documents; they would be left out.")
    if not able.known:
        said.append("That model is not in the catalog: its window and capabilities are guesses.")
    return tuple(said)

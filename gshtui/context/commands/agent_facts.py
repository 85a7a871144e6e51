"""Facts that `info` shows about an agent's context: conversation, model, window, tokens, cost, thresholds, next cut.

Reads the record, so it also works for agents in other processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from gshtui.bus.context_data import Block
from gshtui.context.commands import lookup
from gshtui.text import units

if TYPE_CHECKING:
    from gshtui.context.commands.context_router import ContextRouter


_DEFAULT = "the model's default"


class AgentFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Facts about an agent's context; sizes in tokens, cost in US dollars."""

    agent: str
    session: str
    provider: str
    model: str
    window: int
    tokens: int
    expected: int
    """Of the next request, corrected by what the provider has reported."""
    estimate_error: float | None
    trigger: int
    """Tokens at which it is compacted; 0: never."""
    threshold: float | None
    """The trigger as a share of the window."""
    turns_left: int | None
    per_turn: int
    requests: int
    cuts: int
    cost: float | None
    """`None`: a price is not known."""
    sections: dict[str, int]
    note: str
    effort: str | None = None
    """How hard its model is told to think; empty: it is told nothing; `None`: another program decides that."""
    temperature: float | None = None
    """`None`: none is sent, or another program decides that."""


async def read_facts(contexts: ContextRouter, agent: str) -> AgentFacts:
    """Facts about an agent's context. Raises `ExpectedError` if nothing is known of it."""
    reader = await contexts.reader(agent)
    view = await reader.view(agent)
    iterations = await reader.iterations(agent, limit=lookup.ALL)
    forecast = await reader.forecast(agent)
    receipts = await reader.receipts(agent)
    asked = [one for one in iterations if one.usage is not None]
    return AgentFacts(
        agent=view.agent,
        session=view.session,
        provider=view.provider,
        model=view.model,
        window=view.window,
        tokens=view.tokens,
        expected=view.expected or view.tokens,
        estimate_error=view.error,
        trigger=view.trigger,
        threshold=round(view.trigger / view.window, 4) if view.window else None,
        turns_left=forecast.turns,
        per_turn=forecast.per_turn,
        requests=len(iterations),
        cuts=sum(1 for receipt in receipts if not receipt.undone),
        cost=None if any(one.cost is None for one in asked) else round(sum(one.cost or 0.0 for one in asked), 6),
        sections={name: tokens for name, tokens in _sections(view.blocks) if tokens},
        note=view.note,
        effort=view.effort,
        temperature=view.temperature,
    )


def _tuning(effort: str, temperature: float | None) -> list[tuple[str, str]]:
    return [
        ("effort", effort or _DEFAULT),
        ("temperature", _DEFAULT if temperature is None else f"{temperature:g}"),
    ]


def _sections(blocks: Sequence[Block]) -> list[tuple[str, int]]:
    sums: dict[str, int] = {}
    for block in blocks:
        sums[block.section] = sums.get(block.section, 0) + block.tokens
    return list(sums.items())


def rows(of: AgentFacts) -> list[tuple[str, str]]:
    window, size = of.window, of.expected
    share = f" of {units.tokens(window)} ({units.percent(size, window)})" if window else ""
    differs = units.tokens(of.tokens) != units.tokens(size)
    off = f", estimated {units.tokens(of.tokens)}" if differs else ""
    found = [
        ("conversation", str(of.session)),
        ("model", f"{of.model or 'none yet'}" + (f" via {of.provider}" if of.provider else "")),
        *([] if of.effort is None else _tuning(of.effort, of.temperature)),
        ("next request", f"{units.tokens(size)} tokens{share}{off}"),
        ("sections", " · ".join(f"{name} {units.tokens(tokens)}" for name, tokens in of.sections.items())),
    ]
    if of.trigger:
        ahead = units.turns_ahead(of.turns_left)
        found.append(("compaction", f"at {units.tokens(of.trigger)} tokens{f', {ahead}' if ahead else ''}"))
    found += [
        ("requests", f"{of.requests:,}" + (f", {units.counted(of.cuts, 'cut')}" if of.cuts else "")),
        ("cost", units.money(of.cost)),
    ]
    return found

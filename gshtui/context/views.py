"""The results of the context service: plain structs for commands, panes and the command line.

Tokens are our estimate unless a field says otherwise; money is in US dollars. Contains no behaviour.
"""

from __future__ import annotations

import msgspec

from gshtui.bus.context_data import Block, Iteration
from gshtui.system.expected_error import ExpectedError


class ContextError(ExpectedError):
    """The context cannot be read or changed as requested.

    Args:
        kind: `unknown` (no such agent, block, cut, iteration), `invalid`, `full` (does not fit), `busy`, `failed`,
            `timeout`, `record`.
        message: one clear sentence.
        hint: what to do about it.
    """

    def __init__(self, kind: str, message: str, hint: str = "") -> None:
        super().__init__(message, hint)
        self.kind = kind


class ContextView(msgspec.Struct, frozen=True, omit_defaults=True):
    """The contents of one request of an agent: a past one, or the next one as of now."""

    agent: str
    session: str
    iteration: Iteration | None = None
    """`None`: the next request."""
    model: str = ""
    provider: str = ""
    window: int = 0
    tokens: int = 0
    trigger: int = 0
    """Tokens at which a compaction starts, by the provider's count if known."""
    blocks: tuple[Block, ...] = ()
    note: str = ""
    """What a reader must know: `reconstructed from its transcript` …"""
    expected: int = 0
    """`tokens` corrected by the provider's counts in this conversation; the same without counts."""
    error: float | None = None
    """Mean error of the plain estimate so far, as a fraction of the provider's count; `None`: unknown."""
    effort: str | None = None
    """How hard its model is told to think; empty: it is told nothing; `None`: another program decides that."""
    temperature: float | None = None
    """`None`: none is sent, or another program decides that."""


class RequestText(msgspec.Struct, frozen=True):
    """A request in the provider's form, as JSON with keys redacted."""

    text: str
    exact: bool
    """Byte for byte what is sent; else a reconstruction, and `note` says why."""
    note: str = ""


class Forecast(msgspec.Struct, frozen=True):
    """When the next compaction comes if the conversation continues as before."""

    turns: int | None
    """`None`: it does not grow, or there is too little to tell."""
    per_turn: int
    trigger: int


class WhatIf(msgspec.Struct, frozen=True, omit_defaults=True):
    """Show the next request under other circumstances."""

    tokens: int
    window: int
    price: float | None = None
    """Of sending it once, without a cache."""
    fits: bool = True
    cuts: tuple[str, ...] = ()
    """What would have to be cut first, a sentence each."""
    warm: float | None = None
    """Price of sending it once more, with the provider's cache filled."""
    notes: tuple[str, ...] = ()
    """Other changes, such as the cache or missing abilities of the model; a sentence each."""


class Carry(msgspec.Struct, frozen=True):
    """The cost of sending one source again and again."""

    source: str
    tokens: int
    times: int
    tokens_paid: int
    cost: float | None = None

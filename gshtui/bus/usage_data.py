"""The plain data about what model requests used: one row a request, and sums of them.

It owns the structs that store, agents and faces share, and holds no behaviour and no state. Tokens by the provider's
count, money in US dollars (`None`: the price is unknown), times in seconds since the epoch, durations in seconds.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from gshtui.bus.messages import Usage

Purpose = Literal["turn", "compact"]
By = Literal["day", "agent", "model", "session"]


class UsageRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One model request. Two rows that are alike in all but what they count are the same request."""

    session: str
    agent: str
    turn: str
    iteration: int
    at: float
    provider: str
    model: str
    usage: Usage
    purpose: Purpose = "turn"
    estimate: int = 0
    """What was estimated for what it sent; 0: nothing was."""
    cost: float | None = None
    seconds: float = 0.0
    """Of work since the request before it, with the tools in between and without waiting for people."""


class UsageSum(msgspec.Struct, frozen=True):
    """Several requests together. `key` is the day (YYYY-MM-DD), agent, model or conversation that they share."""

    key: str
    requests: int = 0
    usage: Usage = Usage()
    estimate: int = 0
    counted: int = 0
    """Tokens sent by the requests that have an estimate: what it is to be compared with."""
    cost: float = 0.0
    unpriced: int = 0
    """Requests whose price is unknown; `cost` is without them."""
    seconds: float = 0.0
    last: float = 0.0

    @property
    def tokens(self) -> int:
        """Everything sent and everything answered."""
        return self.usage.context

    @property
    def error(self) -> float | None:
        """By which part the estimate was too high (or, below 0, too low); `None` where none was made."""
        return self.estimate / self.counted - 1.0 if self.counted and self.estimate else None

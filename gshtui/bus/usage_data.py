"""Plain data about what model requests used: one row per request, and sums.

Tokens as the provider counted them, money in US dollars (`None`: the price is unknown), times in seconds since the
epoch, durations in seconds.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from gshtui.bus.messages import Usage

Purpose = Literal["turn", "compact"]
By = Literal["day", "agent", "account", "model", "provider", "project", "session"]


class UsageRow(msgspec.Struct, frozen=True, omit_defaults=True):
    """One model request. Rows that differ only in their counts are the same request."""

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
    """Estimated tokens of what it sent; 0: no estimate."""
    cost: float | None = None
    seconds: float = 0.0
    """Seconds of work since the previous request, including tools but not waiting for people."""


class UsageSum(msgspec.Struct, frozen=True):
    """The sum of several requests. `key` is what they share: the day (YYYY-MM-DD), agent, account, model, provider,
    folder or conversation."""

    key: str
    requests: int = 0
    usage: Usage = Usage()
    estimate: int = 0
    counted: int = 0
    """Tokens sent by the requests that have an estimate, to compare it with."""
    cost: float = 0.0
    unpriced: int = 0
    """Requests of unknown price, which `cost` excludes."""
    seconds: float = 0.0
    last: float = 0.0

    @property
    def tokens(self) -> int:
        return self.usage.context

    @property
    def error(self) -> float | None:
        """How far the estimate was too high (below 0: too low), as a fraction; `None` if there was none."""
        return self.estimate / self.counted - 1.0 if self.counted and self.estimate else None

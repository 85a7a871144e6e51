"""How deep agents may start agents, and how fast. A person is not limited, whatever agents do is.

Pure: the roster and the time come in, so the limits hold over all processes that share it. Called by the fleet.
"""

from __future__ import annotations

from collections.abc import Sequence

from gshtui.bus.fleet import ENDED_STATUSES, AgentRow, SpawnRequest
from gshtui.fleet.native.spec import MAX_DEPTH
from gshtui.fleet.ports import FleetError

MAX_ALIVE = 16
"""Agents that one agent may have at work at once."""
RATE, RATE_SECONDS = 8, 60.0
"""Agents that one agent may start within so many seconds."""


def check(request: SpawnRequest, rows: Sequence[AgentRow], now: float) -> None:
    """Refuse what goes too far.

    Raises:
        FleetError: `limit`.
    """
    if request.depth > MAX_DEPTH:
        raise FleetError(
            "limit",
            f"Agents may be nested {MAX_DEPTH} deep, and this one would be at {request.depth}.",
            hint="Do the work yourself, or say in your report that it remains.",
        )
    if not request.parent:
        return
    children = [row for row in rows if row.parent == request.parent]
    alive = sum(1 for row in children if row.status not in ENDED_STATUSES and not row.killed)
    if alive >= MAX_ALIVE:
        hint = "Wait for one of them to end."
        raise FleetError("limit", f"You have {alive} agents at work, which is the most.", hint=hint)
    recent = sorted(row.created for row in children if row.created > now - RATE_SECONDS)
    if len(recent) >= RATE:
        raise FleetError(
            "limit",
            f"You started {len(recent)} agents within {RATE_SECONDS:g} s; {RATE} are the most.",
            hint=f"Wait {recent[-RATE] + RATE_SECONDS - now:.0f} s.",
        )

"""The table `usage`: what model requests used, and sums by day, agent, account, model, provider, folder, conversation.

Runs its SQL inside the caller's transaction.
"""

from __future__ import annotations

import datetime
import math
import sqlite3
from collections.abc import Sequence
from functools import partial
from typing import Any

from gshtui.bus.messages import Usage
from gshtui.bus.usage_data import By, UsageRow, UsageSum
from gshtui.store.engine.encoding import clean_text
from gshtui.store.engine.table import Table

_KEYS: dict[By, str] = {
    "day": "day",
    "agent": "agent",
    "account": "coalesce((SELECT json_extract(data, '$.account') FROM agents WHERE agents.id = usage.agent), '')",
    "model": "model",
    "provider": "provider",
    "session": "session",
    "project": "coalesce((SELECT cwd FROM sessions WHERE sessions.id = usage.session), '')",
}
_TREE = (
    "WITH RECURSIVE tree (id) AS (SELECT ?1 UNION SELECT s.id FROM sessions s JOIN tree ON s.parent = tree.id)"
    " SELECT id FROM tree LIMIT 10000"
)
"""A conversation and those of every agent started from it, recursively."""


def add_usage(connection: sqlite3.Connection, rows: Sequence[UsageRow]) -> None:
    """Keep requests, except known ones. Their conversations record the last model used."""
    connection.executemany(
        "INSERT OR IGNORE INTO usage (session, agent, turn, iteration, at, day, provider, model, purpose, input,"
        " output, cache_read, cache_write, reasoning, estimate, cost, seconds)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [_values(row) for row in rows],
    )
    connection.executemany(
        "UPDATE sessions SET provider = ?, model = ? WHERE id = ?",
        [tuple(map(clean_text, (row.provider, row.model, row.session))) for row in rows if row.purpose == "turn"],
    )


def sums(
    connection: sqlite3.Connection,
    by: By,
    *,
    after: float | None = None,
    day: str = "",
    agent: str = "",
    model: str = "",
    sessions: Sequence[str] = (),
) -> list[UsageSum]:
    """Matching requests, summed by what they share, in that order (of use for agents, models, sessions)."""
    conditions: list[str] = []
    values: list[Any] = []
    for name, value in (("day", day), ("agent", agent), ("model", model)):
        if value:
            conditions.append(f"{name} = ?")
            values.append(clean_text(value))
    if after is not None:
        conditions.append("at >= ?")
        values.append(after)
    if sessions:
        conditions.append(f"session IN ({', '.join('?' * len(sessions))})")
        values += [clean_text(session) for session in sessions]
    key = _KEYS[by]
    order = key if by == "day" else "max(id)"
    found = connection.execute(
        f"SELECT {key}, count(*), sum(input), sum(output), sum(cache_read), sum(cache_write), sum(reasoning),"
        " sum(estimate), sum(CASE WHEN estimate > 0 THEN input + cache_read + cache_write ELSE 0 END),"
        " coalesce(sum(cost), 0.0), sum(cost IS NULL), sum(seconds), max(at)"
        f" FROM usage WHERE {' AND '.join(conditions) or '1'} GROUP BY {key} ORDER BY {order}",
        values,
    )
    return [_sum(row) for row in found.fetchall()]


def turns_of(connection: sqlite3.Connection, agent: str) -> set[str]:
    """The turns of an agent that are recorded; of other programs', each is a request."""
    rows = connection.execute("SELECT DISTINCT turn FROM usage WHERE agent = ?", (clean_text(agent),)).fetchall()
    return {str(row[0]) for row in rows}


def tree_of(connection: sqlite3.Connection, session: str) -> list[str]:
    """Ids of a conversation and of those of every agent started from it, recursively."""
    return [str(row[0]) for row in connection.execute(_TREE, (clean_text(session),)).fetchall()]


def day_of(at: float) -> str:
    """The local date of a time, YYYY-MM-DD."""
    try:
        return datetime.datetime.fromtimestamp(at).strftime("%Y-%m-%d")
    except (OverflowError, OSError, ValueError):
        return "1970-01-01"


def _values(row: UsageRow) -> tuple[Any, ...]:
    usage = row.usage
    cost = row.cost if row.cost is not None and math.isfinite(row.cost) else None
    texts = [clean_text(text) for text in (row.session, row.agent, row.turn)]
    at = row.at if math.isfinite(row.at) else 0.0
    counts = (usage.input, usage.output, usage.cache_read, usage.cache_write, usage.reasoning, row.estimate)
    counted = [min(max(count, 0), 2**53) for count in counts]
    names = [clean_text(name) for name in (row.provider, row.model, row.purpose)]
    return (*texts, row.iteration, at, day_of(at), *names, *counted, cost, max(row.seconds, 0.0))


def _sum(row: tuple[Any, ...]) -> UsageSum:
    key, requests, sent, answered, read, written, reasoning, estimate, counted, cost, unpriced, seconds, last = row
    usage = Usage(int(sent), int(answered), int(read), int(written), int(reasoning))
    return UsageSum(
        str(key),
        int(requests),
        usage,
        int(estimate),
        int(counted),
        float(cost),
        int(unpriced),
        float(seconds),
        float(last),
    )


class UsageTable(Table):
    """`store.usage`: what model requests used."""

    async def add(self, *rows: UsageRow) -> None:
        """Keep what requests used, except known ones."""
        await self._write(lambda connection: add_usage(connection, rows))

    async def sums(
        self,
        by: By,
        *,
        after: float | None = None,
        day: str = "",
        agent: str = "",
        model: str = "",
        sessions: Sequence[str] = (),
    ) -> list[UsageSum]:
        """What requests used, summed by days in their order, or by others in the order of last use. `after`: seconds
        since the epoch. `day`: a local date, YYYY-MM-DD.
        """
        wanted = partial(sums, by=by, after=after, day=day, agent=agent, model=model, sessions=tuple(sessions))
        return await self._read(lambda connection: wanted(connection))

    turns = Table.reads(turns_of)
    tree = Table.reads(tree_of)

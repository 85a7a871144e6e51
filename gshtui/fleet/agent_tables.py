"""Agents in words: the row of the scripting interface, the table, the details, and how to attach.

Pure. Whatever a program chose (a title, a report) is sanitised where it is shown. Called by the fleet's commands.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence

from gshtui.bus.agent_data import AgentRow
from gshtui.text import markdown_table
from gshtui.text.sanitise import one_line


def row_json(row: AgentRow, attach: Sequence[str] = ()) -> dict[str, object]:
    """A row as the scripting interface gives it, and what else is known."""
    return {
        "id": row.id,
        "name": row.name,
        "kind": row.kind,
        "runtime": row.runtime,
        "status": row.status,
        "status_source": row.status_source,
        "status_age_s": status_age(row),
        "doing": one_line(row.doing),
        "session_name": row.tmux_session,
        "pane": row.pane,
        "parent": row.parent,
        "cwd": row.cwd,
        "provider": row.provider,
        "model": row.model,
        "session": row.session,
        "window": row.window,
        "context": row.context,
        "tokens": row.tokens,
        "cost": row.cost,
        "home": row.home,
        "persona": row.persona,
        "profile": row.profile,
        "worktree": row.worktree,
        "depth": row.depth,
        "background": row.background,
        "created": row.created,
        "ended": row.ended,
        "exit_status": row.exit_status,
        "unread": row.unread,
        "needs_you": row.needs_you,
        "killed": row.killed,
        "owner": row.owner,
        "attach": shlex.join(attach),
    }


def status_age(row: AgentRow) -> float:
    """Seconds since the status was first seen."""
    return round(max(0.0, time.time() - row.status_at), 1) if row.status_at else 0.0


def status_words(row: AgentRow) -> str:
    """Status with what it does, its source and its age."""
    doing = f" · {one_line(row.doing, 60)}" if row.doing else ""
    return f"{row.status}{doing} ({row.status_source}, {status_age(row):.0f} s)"


def table_row(row: AgentRow) -> str:
    """One row of the table for people."""
    cost = "unknown" if row.cost is None and row.tokens else f"${row.cost or 0.0:.4f}"
    kind = row.profile or row.persona or row.kind
    mark = "needs you · " if row.needs_you else ""
    return f"| {row.id} | {row.name} | {kind} | {mark}{status_words(row)} | {row.model} | {row.context:,} | {cost} |"


TABLE_HEAD = "| id | name | kind | status | model | context | cost |\n| --- | --- | --- | --- | --- | ---: | ---: |"


def row_details(row: AgentRow, attach: Sequence[str]) -> str:
    """Everything about one agent, as a table for people."""
    rows = [
        (
            "agent",
            f"{row.name} ({row.id}), {row.kind}{f', {row.profile or row.persona}' * bool(row.profile or row.persona)}",
        ),
        ("status", status_words(row)),
        ("program", one_line(shlex.join(row.argv), 120)),
        ("folder", row.cwd),
        ("worktree", row.worktree),
        ("parent", row.parent),
        ("model", " ".join(filter(None, (row.provider, row.model)))),
        ("used", f"{row.tokens:,} tokens, {row.context:,} in context"),
        ("conversation", row.session or row.external_id),
        ("process", f"{row.pid} in pane {row.pane} of {row.tmux_session}" if row.pane else ""),
        ("attach", f"`{shlex.join(attach)}`" if attach else ""),
    ]
    return markdown_table.facts((name, value) for name, value in rows if value)


def family_order(rows: Sequence[AgentRow]) -> list[AgentRow]:
    """Who waits for a person first, then the others by their parents, children behind their parent."""
    ids = {row.id for row in rows}
    below: dict[str, list[AgentRow]] = {}
    for row in rows:
        below.setdefault(row.parent if row.parent in ids else "", []).append(row)
    ordered: list[AgentRow] = []

    def take(parent: str) -> None:
        for row in sorted(below.get(parent, []), key=lambda row: not row.needs_you):
            ordered.append(row)
            take(row.id)

    take("")
    return ordered

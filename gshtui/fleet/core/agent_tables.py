"""Agents rendered as plain data for scripts, as a table, in detail, or in one line.

Pure. Text that a program chose (a title, a report) is sanitised where it is shown.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence

import msgspec

from gshtui.bus.agent_data import AgentRow, OpenQuestion
from gshtui.fleet.core.agent_states import AgentState
from gshtui.text import cells, markdown_table, units
from gshtui.text.sanitise import one_line
from gshtui.text.version_order import oldest

ONE_ROW = 48
"""Cells of a row's words in the conversation of a terminal of 61 columns."""
_ABOUT = "task or last line"
_LONGEST = 200
"""Characters of what an agent is about."""
NEVER = "never"
"""`AgentRow.version_seen` of a program whose screens nobody has seen."""


def row_json(row: AgentRow, attach: Sequence[str] = ()) -> dict[str, object]:
    """A row as the scripting interface prints it, with all further details."""
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
        "cwd": row.place.partition(":")[2] or row.cwd,
        "host": row.machine,
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
        "version": row.version,
        "version_seen": row.version_seen,
        "version_checked": row.version_checked,
        "mode": (row.program_mode.like if row.program_mode is not None else "") or row.held_to,
        "program_mode": row.program_mode.name if row.program_mode is not None else "",
        "held_to": row.held_to,
        "held_by": row.held_by,
        "worktree": row.worktree,
        "account": row.account,
        "group": row.group,
        "depth": row.depth,
        "background": row.background,
        "created": row.created,
        "ended": row.ended,
        "exit_status": row.exit_status,
        "unread": row.unread,
        "needs_you": row.needs_you,
        "question": question_json(row.question) if row.question is not None and row.needs_you else None,
        "held_up": row.held_up,
        "killed": row.killed,
        "owner": row.owner,
        "attach": shlex.join(attach),
    }


def state_json(state: AgentState, attach: Sequence[str] = ()) -> dict[str, object]:
    """An agent as the scripting interface prints it; for one in a window, with its window and conversation title."""
    data = row_json(state.row, attach)
    return data | {"title": state.title, "held_by": state.held_by} if state.is_local else data


def question_json(question: OpenQuestion) -> dict[str, object]:
    return msgspec.to_builtins(question) | {"choices": [msgspec.to_builtins(one) for one in question.choices]}


def status_age(row: AgentRow) -> float:
    """Seconds since the status was first seen."""
    return round(max(0.0, time.time() - row.status_at), 1) if row.status_at else 0.0


def status_words(row: AgentRow) -> str:
    """The status with the agent's activity and age, and who says so, unless the agent does itself."""
    doing = f" · {one_line(row.about, 60)}" if row.about else ""
    source = "" if row.status_source == "event" else f"{row.status_source}, "
    waits = f" · a message waits: {one_line(row.held_up, 100).removesuffix('.')}" if row.held_up else ""
    return f"{row.state}{doing} ({source}{units.age(status_age(row))}){waits}"


def presence_words(row: AgentRow) -> str:
    """What it is doing, as one says it of somebody in a room: `idle 2 min`, `thinking: the parser`."""
    if row.state == "idle":
        age = status_age(row)
        return f"idle {units.age(age)}" if age >= 60 else "idle"
    doing = f": {one_line(row.doing, 60)}" if row.doing else ""
    return f"{row.state}{doing}"


def unseen_words(row: AgentRow) -> str:
    """What is not known of this version of the agent's program; empty where nothing is missing."""
    if row.version_seen in ("", NEVER):
        return "rules never seen" if row.version_seen else ""
    return f"rules seen {'from' if oldest((row.version, row.version_seen)) == row.version else 'to'} {row.version_seen}"


def program_words(row: AgentRow) -> str:
    """The agent's program with its version, such as `claude 2.1.332 (rules seen to 2.1.197)`; empty: it is ours."""
    checked = f"seen here: {row.version_checked}" if row.version_checked else ""
    known = "; ".join(filter(None, (unseen_words(row), checked)))
    return " ".join(filter(None, (row.profile, row.version, f"({known})" if known else "")))


def cost_words(row: AgentRow) -> str:
    return units.money(row.cost if row.tokens or row.cost else 0.0)


def _used(row: AgentRow) -> tuple[str, str]:
    """Its context and its cost; empty for a program that has no model, or tells of none."""
    known = row.kind != "cli" or bool(row.tokens or row.context or row.model)
    return (f"{row.context:,}", cost_words(row)) if known else ("", "")


def agents_table(agents: Sequence[AgentState], room: int = 0) -> str:
    """The agents, a row each: who, how, since when, and what about. How that is known is in the details.

    `room`: cells of a row, without what parts its columns; what it is about has those that are left. 0: no limit.
    """
    names = [markdown_table.cell(one_line(state.row.name, 80)) for state in agents]
    known = [
        (
            (name if names.count(name) == 1 else f"{name} ({state.row.session if state.is_local else state.row.id})")
            + (f" on {state.row.machine}" if state.row.machine else ""),
            markdown_table.cell(state_words(state.row)),
            units.age(status_age(state.row)),
        )
        for name, state in zip(names, agents, strict=True)
    ]
    head = ("name", "state", "since")
    left = room - sum(max(map(cells.width, column)) for column in zip(head, *known, strict=True))
    heading = "task" if room and left < cells.width(_ABOUT) else _ABOUT
    most = max(cells.width(heading), left) if room else _LONGEST
    about = (markdown_table.cell(cells.cut(one_line(_line(state.row), _LONGEST), most)) for state in agents)
    return markdown_table.table((*head, heading), ((*row, said) for row, said in zip(known, about, strict=True)))


def _line(row: AgentRow) -> str:
    return (row.said or row.about) if row.ended else (row.about or row.said)


def state_words(row: AgentRow) -> str:
    """How it is, in a few words."""
    return f"{row.state_words}{f' · {one_line(row.mode_words, 60)}' if row.exceeds else ''}"


def agent_details(state: AgentState, attach: Sequence[str] = (), in_context: Sequence[tuple[str, str]] = ()) -> str:
    """Everything about one agent, as a table for people.

    Args:
        attach: how to see its terminal.
        in_context: what is known of its context, by name.
    """
    row, usage = state.row, state.usage
    made_of = program_words(row) or row.persona
    share = f" ({units.percent(row.context, row.window)} of {row.window:,})" if row.window else ""
    who = row.name if row.name == row.id else f"{row.name} ({row.id})"
    model = f"{state.label or row.model} via {row.provider}" if row.provider else row.model
    used = f"{row.tokens:,} tokens in all" if row.tokens else ""
    if state.requests:
        cached = ((usage.cache_read, "cache read"), (usage.cache_write, "cache write"))
        counts = ((usage.input, "in"), (usage.output, "out"), *(one for one in cached if one[0]))
        used = " · ".join(f"{count:,} {what}" for count, what in counts)
    conversation = f"{row.session or row.external_id} {one_line(state.title, 80)}".strip()
    context, cost = _used(row)
    facts = [
        ("agent", f"{who}, {row.kind}, {row.runtime}{f', {made_of}' if made_of else ''}"),
        ("status", status_words(row)),
        ("program", one_line(shlex.join(row.argv), 120)),
        ("mode", one_line(row.mode_words, 80)),
        ("host", row.machine),
        ("folder", row.place.partition(":")[2] or row.cwd),
        ("worktree", row.worktree),
        ("account", " · group ".join((row.account, row.group)) if row.group else row.account),
        ("parent", row.parent),
        ("model", model or ("none yet" if context else "")),
        ("context", f"{context} tokens{share}" if context else ""),
        ("used", used),
        ("requests", str(state.requests) if state.requests else ""),
        ("cost", cost),
        ("conversation", conversation + ("" if state.writable else " (reading only)")),
        ("open in", one_line(state.held_by, 80)),
        ("process", f"{row.pid} in pane {row.pane} of {row.tmux_session}" if row.pane else ""),
        ("attach", f"`{shlex.join(attach)}`" if attach else ""),
    ]
    told = {name: value if name == "attach" else markdown_table.cell(value) for name, value in facts if value}
    if in_context:  # it has counted what the row has from the last request, or since this process has it
        known = {"context", "requests", *(("cost",) if row.kind == "native" else ())}
        told = {name: value for name, value in told.items() if name not in known}
    told |= {name: value for name, value in in_context if value and name not in told}
    return markdown_table.facts(told.items())


def menu_line(row: AgentRow) -> str:
    """One line for a menu: number, name, status and activity."""
    doing = f" · {one_line(row.doing, 40)}" if row.doing else ""
    return f"{row.id}  {one_line(row.name)}  {row.state}{doing}"


def family_order(rows: Sequence[AgentRow]) -> list[AgentRow]:
    """Agents that wait for a person first, then the others, each followed by its children."""
    ids = {row.id for row in rows}
    below: dict[str, list[AgentRow]] = {}
    for row in rows:
        below.setdefault(row.parent if row.parent in ids else "", []).append(row)
    ordered: list[AgentRow] = []

    def add_children(parent: str) -> None:
        for row in sorted(below.get(parent, []), key=lambda row: not row.needs_you):
            ordered.append(row)
            add_children(row.id)

    add_children("")
    return ordered

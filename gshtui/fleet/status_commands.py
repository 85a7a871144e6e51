"""The commands about agents and their conversations: `agents who status info clear interrupt quit`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import Field

from gshtui.bus.agent_data import AgentRow
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import AgentStatusChanged, InterruptRequested
from gshtui.bus.events.hub_events import QuitRequested
from gshtui.bus.events.session_events import SessionChangeRequested
from gshtui.commands.declaration import (
    Access,
    Command,
    CommandError,
    Effect,
    Invocation,
    Outcome,
    Parameters,
)
from gshtui.commands.registry import AnyCommand
from gshtui.fleet import agent_tables
from gshtui.fleet.agent_states import AgentState, AgentStates, state_json
from gshtui.text import markdown_table, units


class NoParameters(Parameters):
    """Takes nothing."""


class AgentNameParameters(Parameters):
    """Names an agent."""

    agent: str = Field("", description="Which agent; empty: the one in front.")


class StatusParameters(AgentNameParameters):
    """Parameters of `status`."""

    set: str = Field("", description="What you are doing now, in a few words; shown to everyone (agents only).")


Facts = Callable[[str], Awaitable[dict[str, Any] | None]]
"""What is known of an agent's context; `None` where contexts cannot be read."""


async def _no_facts(_agent: str) -> dict[str, Any] | None:
    return None


def commands(
    bus: Bus, ledger: AgentStates, rows: Callable[[], list[AgentRow]] = list, facts: Facts = _no_facts
) -> list[AnyCommand]:
    """The family, about the agents of this ledger.

    `rows`: those of this folder that live in terminals; `facts`: what `info` says of an agent's context.
    """

    def entry_of(invocation: Invocation, name: str) -> AgentState:
        wanted = name or invocation.agent
        named = next((row.id for row in rows() if wanted in (row.name, row.id.lstrip("0"))), wanted)
        if (entry := ledger.get(named)) is None:
            known = ", ".join(_names(local(), rows())) or "none"
            raise CommandError(f"There is no agent {wanted!r}.", hint=f"There are: {known}.")
        return entry

    def local() -> list[AgentState]:
        """The agents that live in this window: what the roster says of the others is more."""
        return [entry for entry in ledger.entries() if entry.runtime == "local"]

    async def agents(_invocation: Invocation, _parameters: NoParameters) -> Outcome:
        found = agent_tables.family_order(rows())
        data = [*(state_json(entry) for entry in local()), *(agent_tables.row_json(row) for row in found)]
        return Outcome(data, _table(local(), found))

    async def who(_invocation: Invocation, _parameters: NoParameters) -> Outcome:
        here = [row for row in rows() if not row.ended]
        lines = ["- **you**", *(f"- **{e.agent}** — {_state(e)}" for e in local())]
        lines += [f"- **{row.name}** ({row.id}) — {agent_tables.status_words(row)}" for row in here]
        return Outcome(["person", *_names(local(), here)], "\n".join(lines))

    async def status(invocation: Invocation, parameters: StatusParameters) -> Outcome:
        if parameters.set:
            if not invocation.caller.is_agent:
                raise CommandError("Only an agent sets its own status.", hint="`status` shows it.")
            event = AgentStatusChanged(
                agent=invocation.caller.name, status="thinking", source="agent", doing=parameters.set[:120]
            )
            bus.publish(event)
            return Outcome({"doing": parameters.set[:120]}, "Noted.")
        entry = entry_of(invocation, parameters.agent)
        return Outcome(state_json(entry), f"**{entry.agent}** — {_state(entry)}")

    async def info(invocation: Invocation, parameters: AgentNameParameters) -> Outcome:
        try:
            entry = entry_of(invocation, parameters.agent)
        except CommandError:
            known = await facts(parameters.agent or invocation.agent)
            if known is None:
                raise
            return Outcome({"context": known}, _facts_table(known))
        try:
            known = await facts(entry.agent)
        except CommandError:
            known = None  # it has said nothing yet
        if known is None:
            return Outcome(state_json(entry), _details(entry))
        return Outcome(state_json(entry) | {"context": known}, f"{_details(entry)}\n\n{_facts_table(known)}")

    async def clear(invocation: Invocation, parameters: AgentNameParameters) -> Outcome:
        entry = entry_of(invocation, parameters.agent)
        bus.publish(SessionChangeRequested(agent=entry.agent, session="new"))
        return Outcome({"agent": entry.agent}, "A new conversation; the one so far is kept (`/session ls`).")

    async def interrupt(invocation: Invocation, parameters: AgentNameParameters) -> Outcome:
        entry = entry_of(invocation, parameters.agent)
        bus.publish(InterruptRequested(agent=entry.agent))
        return Outcome({"agent": entry.agent}, f"{entry.agent} is asked to stop.")

    async def leave(_invocation: Invocation, _parameters: NoParameters) -> Outcome:
        bus.publish(QuitRequested())
        return Outcome(None, "")

    async def names(_invocation: Invocation, parameter: str, prefix: str) -> list[str]:
        return [name for name in _names(local(), rows()) if name.startswith(prefix)] if parameter == "agent" else []

    at = ("agent",)
    return [
        Command(
            "agents", "List the agents with status, model, context and cost", NoParameters, agents, family="agents"
        ),
        Command("who", "Who is here: you and the agents", NoParameters, who, family="agents"),
        Command(
            "status",
            "What an agent is doing, and how that is known",
            StatusParameters,
            status,
            positions=at,
            family="agents",
            complete=names,
        ),
        Command(
            "info",
            "Model, context, tokens and cost of an agent, and its conversation",
            AgentNameParameters,
            info,
            positions=at,
            family="agents",
            complete=names,
        ),
        Command(
            "clear",
            "Start a new conversation; the one so far is kept",
            AgentNameParameters,
            clear,
            access=Access.HUMAN_ONLY,
            effect=Effect.WRITE,
            positions=at,
            aliases=("new",),
            family="conversation",
            complete=names,
        ),
        Command(
            "interrupt",
            "Stop what an agent is doing; what it said so far is kept",
            AgentNameParameters,
            interrupt,
            access=Access.HUMAN_ONLY,
            effect=Effect.WRITE,
            positions=at,
            family="agents",
            complete=names,
        ),
        Command(
            "quit",
            "Leave the workbench; everything is kept",
            NoParameters,
            leave,
            access=Access.HUMAN_ONLY,
            aliases=("exit",),
            family="workbench",
        ),
    ]


def _facts_table(known: dict[str, Any]) -> str:
    from gshtui.context.commands.agent_facts import rows

    return markdown_table.facts(rows(known))


def _state(entry: AgentState) -> str:
    age = state_json(entry)["status_age_s"]
    doing = f" · {entry.doing}" if entry.doing else ""
    return f"{entry.status}{doing} ({entry.status_source}, {age:g} s)"


def _names(entries: list[AgentState], rows: list[AgentRow]) -> list[str]:
    return [*(entry.agent for entry in entries), *(row.name for row in rows)]


def _table(entries: list[AgentState], found: list[AgentRow]) -> str:
    if not entries and not found:
        return "No agents are here."
    rows = [(e.agent, _state(e), e.label or e.model, f"{e.context:,}", units.cost(e.cost)) for e in entries]
    for row in found:
        name, status = f"{row.name} ({row.id})", agent_tables.status_words(row)
        rows.append((name, status, row.model or row.profile, f"{row.context:,}", units.cost(row.cost)))
    return markdown_table.table(("agent", "status", "model", "context", "cost"), rows, right=(3, 4))


def _details(entry: AgentState) -> str:
    share = f" ({entry.context / entry.window:.0%} of {entry.window:,})" if entry.window else ""
    usage = entry.usage
    cached = f"{usage.cache_read:,} cache read · {usage.cache_write:,} cache write"
    rows = [
        ("agent", f"{entry.agent} ({entry.kind}, {entry.runtime})"),
        ("status", _state(entry)),
        ("model", f"{entry.label or entry.model} via {entry.provider}" if entry.provider else "none yet"),
        ("context", f"{entry.context:,} tokens{share}"),
        ("used", f"{usage.input:,} in · {usage.output:,} out · {cached}"),
        ("requests", str(entry.requests)),
        ("cost", units.cost(entry.cost)),
        ("conversation", f"{entry.session} {entry.title}".strip() + ("" if entry.writable else " (reading only)")),
        ("folder", entry.cwd),
    ]  # fmt: skip
    return markdown_table.facts(rows)

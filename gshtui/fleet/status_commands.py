"""The commands about agents and their conversations: `agents who status info clear interrupt quit`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace
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
from gshtui.fleet.agent_states import AgentState, AgentStates
from gshtui.text import markdown_table

if TYPE_CHECKING:
    from gshtui.context.commands.agent_facts import AgentFacts


class NoParameters(Parameters):
    """Takes nothing."""


class AgentNameParameters(Parameters):
    """Names an agent."""

    agent: str = Field("", description="Which agent; empty: the selected one.")


class StatusParameters(AgentNameParameters):
    """Parameters of `status`."""

    set: str = Field("", description="What you are doing now, in a few words; everyone sees it (agents only).")


Facts = Callable[[str], Awaitable["AgentFacts | None"]]
"""What is known of an agent's context; `None` where contexts cannot be read."""


async def _no_facts(_agent: str) -> AgentFacts | None:
    return None


def _no_terminal(_row: AgentRow) -> list[str]:
    return []


def commands(
    bus: Bus,
    states: AgentStates,
    rows: Callable[[], list[AgentRow]] = list,
    facts: Facts = _no_facts,
    attach: agent_tables.AttachWords = _no_terminal,
) -> list[AnyCommand]:
    """The family, about these agents.

    Args:
        rows: those of this folder that live in terminals.
        facts: what `info` says of an agent's context.
        attach: how to see an agent's terminal.
    """

    def known() -> list[AgentState]:
        """Those that live here, and those in terminals, by their rows."""
        return [*states.local(), *map(AgentState, agent_tables.family_order(rows()))]

    def state_of(invocation: Invocation, name: str) -> AgentState:
        wanted = name or invocation.agent
        row = next((row for row in rows() if wanted in (row.id, row.name, row.id.lstrip("0"))), None)
        state = states.get(wanted if row is None else row.id)
        if row is not None:
            return AgentState(row) if state is None else replace(state, row=row)
        if state is None:
            there = ", ".join(one.row.name for one in known()) or "none"
            raise CommandError(f"There is no agent {wanted!r}.", hint=f"The agents: {there}.")
        return state

    async def agents(_invocation: Invocation, _parameters: NoParameters) -> Outcome:
        found = known()
        data = [agent_tables.state_json(state, attach(state.row)) for state in found]
        return Outcome(data, agent_tables.agents_table(found, attach) if found else "There are no agents here.")

    async def who(_invocation: Invocation, _parameters: NoParameters) -> Outcome:
        here = [state.row for state in known() if not state.row.ended]
        lines = ["- **you**", *(f"- {_named(row)} — {agent_tables.status_words(row)}" for row in here)]
        return Outcome(["person", *(row.name for row in here)], "\n".join(lines))

    async def status(invocation: Invocation, parameters: StatusParameters) -> Outcome:
        if parameters.set:
            if not invocation.caller.is_agent:
                raise CommandError("Only an agent can set its status.", hint="`status` shows it.")
            event = AgentStatusChanged(
                agent=invocation.caller.name, status="thinking", source="agent", doing=parameters.set[:120]
            )
            bus.publish(event)
            return Outcome({"doing": parameters.set[:120]}, "Noted.")
        state = state_of(invocation, parameters.agent)
        words = f"{_named(state.row)} — {agent_tables.status_words(state.row)}"
        return Outcome(agent_tables.state_json(state, attach(state.row)), words)

    async def info(invocation: Invocation, parameters: AgentNameParameters) -> Outcome:
        try:
            state = state_of(invocation, parameters.agent)
        except CommandError:
            context = await facts(parameters.agent or invocation.agent)
            if context is None:
                raise
            return Outcome({"context": msgspec.to_builtins(context)}, markdown_table.facts(_fact_rows(context)))
        try:
            context = await facts(state.row.id)
        except CommandError:
            context = None  # it has said nothing yet
        words = attach(state.row)
        data = agent_tables.state_json(state, words)
        if context is None:
            return Outcome(data, agent_tables.agent_details(state, words))
        details = agent_tables.agent_details(state, words, _fact_rows(context))
        return Outcome(data | {"context": msgspec.to_builtins(context)}, details)

    async def clear(invocation: Invocation, parameters: AgentNameParameters) -> Outcome:
        agent = state_of(invocation, parameters.agent).row.id
        bus.publish(SessionChangeRequested(agent=agent, session="new"))
        return Outcome({"agent": agent}, "Started a new conversation; the previous one is kept (`/session ls`).")

    async def interrupt(invocation: Invocation, parameters: AgentNameParameters) -> Outcome:
        agent = state_of(invocation, parameters.agent).row.id
        bus.publish(InterruptRequested(agent=agent))
        return Outcome({"agent": agent}, f"{agent} was asked to stop.")

    async def leave(_invocation: Invocation, _parameters: NoParameters) -> Outcome:
        bus.publish(QuitRequested())
        return Outcome(None, "")

    async def names(_invocation: Invocation, parameter: str, prefix: str) -> list[str]:
        given = [state.row.name for state in known()]
        return [name for name in given if name.startswith(prefix)] if parameter == "agent" else []

    at = ("agent",)
    return [
        Command(
            "agents", "List the agents with status, model, context and cost", NoParameters, agents, family="agents"
        ),
        Command("who", "Who is here: you and the agents", NoParameters, who, family="agents"),
        Command(
            "status",
            "What an agent is doing, and where its status comes from",
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
            "Start a new conversation; the current one is kept",
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
            "Stop what an agent is doing; its answer so far is kept",
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
            "Quit the workbench; everything is kept",
            NoParameters,
            leave,
            access=Access.HUMAN_ONLY,
            aliases=("exit",),
            family="workbench",
        ),
    ]


def _fact_rows(known: AgentFacts) -> list[tuple[str, str]]:
    from gshtui.context.commands.agent_facts import rows

    return rows(known)


def _named(row: AgentRow) -> str:
    return f"**{row.name}**" if row.name == row.id else f"**{row.name}** ({row.id})"

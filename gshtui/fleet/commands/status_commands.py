"""The commands about agents and their conversations: `agents who status info clear interrupt quit`."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace
from pydantic import Field

from gshtui.bus.agent_data import AgentRow
from gshtui.bus.bus import Bus
from gshtui.bus.call_data import LOBBY, CallMember, Presence
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
from gshtui.fleet.core import agent_tables
from gshtui.fleet.core.agent_states import AgentState, AgentStates
from gshtui.store.sessions.session_listing import age
from gshtui.system.expected_error import ExpectedError
from gshtui.text import markdown_table
from gshtui.text.plain_name import known_names
from gshtui.text.sanitise import one_line

if TYPE_CHECKING:
    from gshtui.calls.call_service import CallService
    from gshtui.context.commands.agent_facts import AgentFacts


class NoParameters(Parameters):
    """Takes nothing."""


class AgentNameParameters(Parameters):
    """Names an agent."""

    agent: str = Field("", description="Which agent; empty: the selected one.")


class StatusParameters(AgentNameParameters):
    """Parameters of `status`."""

    set: str | None = Field(
        None, description="What you are doing now, in a few words that everyone sees; empty text: nothing any more."
    )


class WhoParameters(Parameters):
    """Where to look."""

    call: str = Field("", description="Who is in this call; empty: the one you are in.")


class AgentSources(msgspec.Struct, frozen=True):
    """The sources of what is said about agents."""

    rows: Callable[[], list[AgentRow]]
    """The agents of this folder that live in terminals."""
    facts: Callable[[str], Awaitable[AgentFacts | None]]
    """The facts about an agent's context; `None` where contexts cannot be read."""
    attach: Callable[[AgentRow], Sequence[str]]
    """How to see an agent's terminal."""
    look: Callable[[], Awaitable[object]]
    """Brings `rows` up to date where nothing does that all the time."""


def commands(
    bus: Bus, states: AgentStates, sources: AgentSources, calls: Callable[[], CallService | None]
) -> list[AnyCommand]:
    """The family. `calls`: the shared rooms; `None`: there are none here."""
    rows, facts, attach, look = sources.rows, sources.facts, sources.attach, sources.look

    def known() -> list[AgentState]:
        """Those that live here, and those in terminals, by their rows."""
        return [*states.local(), *map(AgentState, agent_tables.family_order(rows()))]

    def state_of(invocation: Invocation, name: str) -> AgentState:
        wanted = name or invocation.addressed
        row = next((row for row in rows() if wanted in (row.id, row.name, row.id.lstrip("0"))), None)
        state = states.get(wanted if row is None else row.id)
        if row is not None:
            return AgentState(row) if state is None else replace(state, row=row)
        if state is None:
            there = known_names("agents", (one.row.name for one in known()))
            raise CommandError(f"There is no agent {wanted!r}.", hint=there)
        return state

    async def agents(invocation: Invocation, _parameters: NoParameters) -> Outcome:
        await look()
        found = known()
        data = [agent_tables.state_json(state, attach(state.row)) for state in found]
        if not found:
            return Outcome(data, "No agents here.")
        whole = agent_tables.agents_table(found)
        text = whole if invocation.caller.is_agent else agent_tables.agents_table(found, agent_tables.ONE_ROW)
        return Outcome(data, text, plain=markdown_table.bare_columns(whole), fits=True)

    async def who(invocation: Invocation, parameters: WhoParameters) -> Outcome:
        await look()
        kept = str if invocation.caller.is_agent else markdown_table.cell
        here = {state.row.id: state.row for state in known() if not state.row.ended}
        service = calls()
        if service is None:
            if parameters.call:
                raise CommandError("No calls here.")
            lines = ["- **you**", *(_member(row, kept) for row in here.values())]
            text = "\n".join(lines)
            names = ["person", *(row.name for row in here.values())]
            return Outcome(names, text, plain=markdown_table.without_marks(text))
        me = await service.principal(invocation.caller)
        call = await service.find(parameters.call, me)
        rows = here if call.name == LOBBY else {}
        seen = await service.presences()
        data: list[dict[str, object]] = []
        lines: list[str] = []
        members = [one for one in call.members if one.member not in rows]
        if call.name == LOBBY and all(one.member != me.id for one in members):
            members.insert(0, CallMember(member=me.id, name=me.name, is_agent=me.is_agent))
        for member in members:
            row = next((state.row for state in known() if state.row.id == member.member), None)
            if row is not None:
                rows = rows | {row.id: row}
                continue
            if call.name == LOBBY and member.is_agent and member.member != me.id:
                continue  # it belongs to another folder
            presence = seen.get(member.member)
            words = _presence_words(presence, call.name)
            you = " (you)" if member.member == me.id else ""
            lines.append(f"- **{kept(one_line(member.name or member.member, 60))}**{you}{kept(words)}")
            data.append(
                {
                    "name": member.name,
                    "id": member.member,
                    "kind": "agent" if member.is_agent else "person",
                    "you": bool(you),
                    "status": presence.doing if presence else "",
                }
            )
        for row in rows.values():
            lines.append(_member(row, kept))
            data.append({"name": row.name, "id": row.id, "kind": "agent", "you": row.id == me.id, "status": row.status})
        text = "\n".join(lines) or "Nobody is in this call."
        return Outcome({"call": call.name, "members": data}, text, plain=markdown_table.without_marks(text))

    async def status(invocation: Invocation, parameters: StatusParameters) -> Outcome:
        await look()
        if parameters.set is not None:
            doing = one_line(parameters.set, 120)
            if invocation.caller.is_agent:
                event = AgentStatusChanged(agent=invocation.caller.name, status="thinking", source="agent", doing=doing)
                bus.publish(event)
            elif (service := calls()) is not None:
                await service.set_doing(await service.principal(invocation.caller), doing)
            else:
                raise CommandError("No calls here, so nobody would see it.")
            return Outcome({"doing": doing}, "Noted.")
        state = state_of(invocation, parameters.agent)
        words = f"{_named(state.row)} — {markdown_table.cell(agent_tables.status_words(state.row))}"
        data = agent_tables.state_json(state, attach(state.row))
        return Outcome(data, words, plain=markdown_table.without_marks(words))

    async def info(invocation: Invocation, parameters: AgentNameParameters) -> Outcome:
        await look()
        try:
            state = state_of(invocation, parameters.agent)
        except CommandError:
            context = await facts(parameters.agent or invocation.addressed)
            if context is None:
                raise
            table = markdown_table.facts(_fact_rows(context))
            data = {"context": msgspec.to_builtins(context)}
            return Outcome(data, table, plain=markdown_table.bare_columns(table))
        try:
            context = await facts(state.row.id)
        except ExpectedError:
            context = None  # it has said nothing yet
        words = attach(state.row)
        data = agent_tables.state_json(state, words)
        if context is None:
            table = agent_tables.agent_details(state, words)
            return Outcome(data, table, plain=markdown_table.bare_columns(table))
        details = agent_tables.agent_details(state, words, _fact_rows(context))
        data |= {"context": msgspec.to_builtins(context)}
        return Outcome(data, details, plain=markdown_table.bare_columns(details))

    async def clear(invocation: Invocation, parameters: AgentNameParameters) -> Outcome:
        await look()
        agent = state_of(invocation, parameters.agent).row.id
        bus.publish(SessionChangeRequested(agent=agent, session="new"))
        return Outcome({"agent": agent}, "Started a new conversation; the previous one is kept (`/session ls`).")

    async def interrupt(invocation: Invocation, parameters: AgentNameParameters) -> Outcome:
        await look()
        agent = state_of(invocation, parameters.agent).row.id
        bus.publish(InterruptRequested(agent=agent))
        return Outcome({"agent": agent}, f"{agent} was asked to stop.")

    async def leave(_invocation: Invocation, _parameters: NoParameters) -> Outcome:
        return Outcome(None, "", intent=QuitRequested())  # of the window that asked, and of no other

    async def names(_invocation: Invocation, parameter: str, prefix: str) -> list[str]:
        given = [state.row.name for state in known()]
        return [name for name in given if name.startswith(prefix)] if parameter == "agent" else []

    async def rooms(_invocation: Invocation, parameter: str, prefix: str) -> list[str]:
        service = calls()
        given = await service.names() if service is not None and parameter == "call" else []
        return [name for name in given if name.startswith(prefix)]

    at = ("agent",)
    return [
        Command(
            "agents",
            "List the agents with status, model, context and cost",
            NoParameters,
            agents,
            family="agents",
            gives_data=True,
        ),
        Command(
            "who",
            "Who is here, or in a call",
            WhoParameters,
            who,
            guests=True,
            positions=("call",),
            description="Who is in a call: people and agents, and what each is doing.",
            family="agents",
            tool=True,
            gives_data=True,
            complete=rooms,
        ),
        Command(
            "status",
            "What an agent is doing, and where its status comes from",
            StatusParameters,
            status,
            guests=True,
            positions=at,
            description="Say what you are doing now, for everyone to see, or look at an agent's status.",
            family="agents",
            tool=True,
            gives_data=True,
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


def _presence_words(presence: Presence | None, call: str) -> str:
    """What is known of somebody who is no agent."""
    if presence is None:
        return ""
    doing = f" — {one_line(presence.doing, 120)}" if presence.doing else ""
    idle = time.time() - presence.at >= 60
    quiet = f", idle {age(presence.at)}" if idle and presence.call == call else ""
    away = f", in {presence.call}" if presence.call != call else ""
    return f"{doing}{away}{quiet}"


def _member(row: AgentRow, kept: Callable[[str], str]) -> str:
    return f"- **{kept(one_line(row.name, 60))}** ({kept(agent_tables.presence_words(row))})"


def _named(row: AgentRow) -> str:
    name = f"**{markdown_table.cell(row.name)}**"
    return name if row.name == row.id else f"{name} ({row.id})"

"""The part for the window's own agent: its conversation, its tools and its handle.

Needs guard and providers, and refuses to start without. Started by the hub.
"""

from __future__ import annotations

import asyncio
import os
from datetime import date
from typing import TYPE_CHECKING

from gshtui.agents.agent import Agent, LocalRoster
from gshtui.agents.agent_factory import AgentCharacter, AgentSurroundings, make_agent
from gshtui.agents.loop import unlimited
from gshtui.agents.sessions import OpenSessions
from gshtui.agents.skills.skill_store import read_skills, skills_section
from gshtui.agents.toolbox import WorkDirs
from gshtui.context.ports import Contribution
from gshtui.context.retrieval.shell_summary import shell_summary
from gshtui.context.system_section import system_sections
from gshtui.providers.port import ProviderError

if TYPE_CHECKING:
    from gshtui.agents.model_pool import ModelPool
    from gshtui.agents.ports import Record
    from gshtui.guard.approval import Gate
    from gshtui.hub.hub import Hub

_WARM_AFTER = 1.0
"""Seconds after the start: the window has the processor for itself until then."""


async def start_agents(hub: Hub) -> None:
    """Open the conversation and let its agent live. Raises `ProviderError`, `StoreError`."""
    gate, models = hub.gate, hub.models
    if gate is None or models is None:
        raise ProviderError("missing", "Agents need the guard and the providers.")
    sessions = OpenSessions(hub.bus, hub.store, hub.options.where or f"process {os.getpid()}")
    if hub.journal is not None:
        hub.journal.sessions = sessions
    skills = await asyncio.to_thread(lambda: skills_section(read_skills(hub.options.cwd)))
    hub.roster = LocalRoster(hub.bus, sessions, str(hub.options.cwd))
    hub.parts.stops_with("agents", hub.roster.stop)

    def make() -> Agent:
        return _make_agent(hub, gate, models, sessions.record, skills)

    agent = await hub.roster.add(hub.options.agent, make, hub.options.session)
    try:
        await agent.think_with(hub.options.provider, hub.options.model)
    except ProviderError as error:
        hub.parts.fail("providers", error.message, error.hint)
    else:
        if agent.model_handle is not None:
            models.warm_soon(agent.model_handle, _WARM_AFTER)


def _make_agent(hub: Hub, gate: Gate, models: ModelPool, record: Record, skills: str) -> Agent:
    name, options = hub.options.agent, hub.options

    async def ran_here(_new: bool) -> Contribution:
        log = hub.shell_log
        limit = hub.settings.context.max_tool_output_bytes
        return Contribution() if log is None else await log.runs.reports_for(hub.session_of(name), limit)

    ran_elsewhere = () if hub.store is None else (shell_summary(hub.store.shells, hub.settings.context),)
    around = AgentSurroundings(
        hub.bus,
        hub.settings,
        hub.registry,
        gate,
        models.choose,
        record,
        None if hub.store is None else hub.store.contexts,
        WorkDirs(options.cwd, hub.project),
    )
    character = AgentCharacter(
        name,
        lambda: system_sections(name, options.cwd, hub.branch.name, date.today(), skills),
        attended=lambda: options.approvals == "ask",
        more=(*ran_elsewhere, ran_here, *options.more),
        max_iterations=options.max_iterations,
        limit=hub.telemetry.limit(name, hub.store, gate, hub.session_of) if hub.telemetry else unlimited,
    )
    return make_agent(around, character)

"""The part for the window's own agent: its conversation, its tools and its model.

Needs guard and providers, and refuses to start without. Started by the hub.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from datetime import date
from functools import partial
from pathlib import Path

from gshtui.agents.agent import Agent, LocalRoster
from gshtui.agents.agent_factory import AgentCharacter, AgentSurroundings, make_agent
from gshtui.agents.checkpoints import Checkpoints, NoticeLevel, is_kept
from gshtui.agents.loop import unlimited
from gshtui.agents.memory.memory_section import MemorySection
from gshtui.agents.sessions import OpenSessions
from gshtui.agents.skills.skill_store import read_skills, skills_section
from gshtui.agents.toolbox import PrepareTools, WorkDirs
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import AgentAdded, PromptBegun, PromptSubmitted
from gshtui.bus.events.hub_events import Noticed
from gshtui.commands.registry import AnyCommand, Registry
from gshtui.context.assembly.system_section import mode_section, system_sections
from gshtui.context.log.ports import Contribute, Contribution
from gshtui.context.retrieval.shell_summary import shell_summary
from gshtui.hub import hub_sources
from gshtui.hub.hub import Hub
from gshtui.hub.named_texts import named_texts
from gshtui.hub.part_lifecycle import MissingPart
from gshtui.hub.parts.hook_part import agent_hooks, watch_hooks
from gshtui.providers.port import ProviderError
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.tables.memory_table import MemoryNote


async def start_agents(hub: Hub) -> None:
    """Open the conversation and start its agent. Raises `ProviderError`, `StoreError`."""
    name = hub.options.agent
    if hub.store is not None:
        hub.registry.get("todo")  # the task lists follow each conversation that is opened
    skills = await read_skills_section(hub)
    roster = open_roster(hub)
    agent = _make_agent(hub, roster, skills)
    hub.bus.publish(AgentAdded(agent=name, name=name, cwd=str(hub.options.cwd)))
    later: StoreError | None = None
    try:
        if hub.options.looks:
            roster.show(agent)
        else:
            await roster.add(agent, await _wanted_session(hub))
    except StoreError as error:
        if agent.open_late is None:
            raise
        later = error
        agent.open_late = partial(_open_late, hub, agent.open_late)
    if hub.store is not None:
        from gshtui.hub.call_contexts import CallContexts

        agent.attend = CallContexts(hub.store, roster, agent, name, str(hub.options.cwd)).attend_beside
    try:
        await agent.think_with(hub.options.provider, hub.options.model)
    except ProviderError as error:
        hub.parts.fail("providers", error.message, error.hint)
    _load_with_first_prompt(hub, agent)
    if later is not None:
        raise later


async def _wanted_session(hub: Hub) -> str:
    """The conversation that the options name, or `new` where that may stand for it."""
    options = hub.options
    if not options.continues or hub.store is None:
        return options.session
    try:
        info = await hub.store.sessions.find(options.session)
    except StoreError:
        return "new"
    if not info.held_by:
        return info.id
    text = f"this shell's conversation is open in {info.held_by}, so this starts a new one."
    hub.bus.publish(Noticed(level="warning", text=text, about=options.agent))
    return "new"


async def _open_late(hub: Hub, open_session: Callable[[], Awaitable[object]]) -> None:
    """Open what could not be opened when the part was started. Raises `StoreError`."""
    await open_session()
    hub.parts.recover("agents")


def _load_with_first_prompt(hub: Hub, agent: Agent) -> None:
    """Load the SDK of the agent's provider once a prompt is being written: it takes as much memory as all the rest.

    The process of many windows loads it at once, for all of them.
    """
    if hub.host is not None and agent.model_handle is not None and hub.models is not None:
        hub.models.load(agent.model_handle)
        return

    def listen(batch: Sequence[Event]) -> None:
        begun = any(isinstance(one, (PromptBegun, PromptSubmitted)) and one.agent == agent.name for one in batch)
        if begun and agent.model_handle is not None and hub.models is not None:
            hub.models.load(agent.model_handle)

    hub.bus.subscribe(listen, PromptBegun, PromptSubmitted, name="provider")


def open_roster(hub: Hub) -> LocalRoster:
    """The agents of this process and their conversations; they end with the hub."""
    where = hub.options.where or f"process {os.getpid()}"
    sessions = OpenSessions(hub.bus, hub.store, where, hub.settings.keeps_sessions)
    if hub.journal is not None:
        hub.journal.sessions = sessions
    roster = hub.roster = LocalRoster(hub.bus, sessions, str(hub.options.cwd))
    hub.parts.ceases_with(roster.cease)
    hub.parts.stops_with("agents", roster.stop)
    if hub.store is not None:
        from gshtui.calls.answer_drafts import DraftWriter

        writer = DraftWriter(hub.bus, hub.store, lambda agent: any(one.name == agent for one in roster))
        hub.parts.stops_with("drafts", writer.close)
        if hub.settings.agent.small_model:
            from gshtui.hub.parts.session_titles import SessionTitles

            titles = SessionTitles(
                hub.bus, hub.store, hub.small_model.ask, lambda agent: any(one.name == agent for one in roster)
            )
            hub.parts.stops_with("titles", titles.close)
    return roster


async def read_skills_section(hub: Hub) -> str:
    """The system section's text about the skills of the hub's folder."""
    return await asyncio.to_thread(lambda: skills_section(read_skills(hub.options.cwd)))


def surroundings(
    hub: Hub, tools: Registry, roster: LocalRoster, permits: Callable[[AnyCommand], bool] = lambda _: True
) -> AgentSurroundings:
    """The surroundings of an agent of this hub. Raises `MissingPart`.

    Args:
        tools: those that it may use.
        permits: whether it may have a tool that is added while it works.
    """
    if hub.gate is None or hub.models is None:
        needed = "guard" if hub.gate is None else "providers"
        raise MissingPart(needed, "Agents need the guard and the providers.")
    native = hub.options.native
    there = None if native is None or native.tools_there is None else native.tools_there.facts
    return AgentSurroundings(
        hub.bus,
        hub.settings,
        tools,
        hub.gate,
        hub.models.choose,
        roster.record,
        None if hub.store is None else hub.store.contexts,
        WorkDirs(hub.options.cwd, hub.project) if there is None else WorkDirs(Path(there.folder), Path(there.project)),
        hub.telemetry.redactor.redact_certain if hub.telemetry and hub.settings.context.redact_secrets else None,
        prepare=server_tools(hub, permits),
        read_mentions=named_texts(hub),
        hooks=agent_hooks(hub),
    )


def checkpoints_of(hub: Hub, agent: str) -> Checkpoints | None:
    """Keeps the project's files at an agent's turns; `None` outside repositories, and where the settings say no."""
    store, project = hub.store, hub.project
    if store is None or not hub.settings.agent.checkpoints or not is_kept(project):
        return None

    def notice(level: NoticeLevel, text: str, hint: str) -> None:
        hub.bus.publish(Noticed(level=level, text=text, hint=hint, about=agent))

    return Checkpoints(project, store.checkpoints, notice)


def server_tools(hub: Hub, permits: Callable[[AnyCommand], bool]) -> PrepareTools:
    """Adds the tools of MCP servers, as far as the agent may have them."""

    async def prepare(registry: Registry, agent: str, learn: bool) -> None:
        if hub.has_mcp_servers:
            await hub.mcp_servers().prepare(registry, agent, permits, learn=learn)

    return prepare


def memory_of(hub: Hub, agent: str) -> tuple[Contribute, ...]:
    """The memory of an agent of this process, for its context; nothing without a record."""
    store = hub.store
    if store is None:
        return ()
    owners = hub.offers.things.get(hub_sources.memory_owners)

    async def notes() -> tuple[str, list[MemoryNote]]:
        owner = await owners.owner(agent)
        return owner, await store.memory.find_all(owner, await owners.project())

    return (MemorySection(notes, lambda: hub.first_prompt(agent), hub.settings.context.memory_tokens),)


def _make_agent(hub: Hub, roster: LocalRoster, skills: str) -> Agent:
    name, options = hub.options.agent, hub.options

    async def ran_here(_new: bool) -> Contribution:
        log = hub.shell_log
        limit = hub.settings.context.max_tool_output_bytes
        return Contribution() if log is None else await log.runs.reports_for(agent.session, limit)

    async def in_call(_new: bool) -> Contribution:
        return await hub.call_section(name)

    around = surroundings(hub, hub.registry, roster)
    watch_hooks(hub, around.hooks)
    ran_elsewhere = (
        () if hub.store is None else (shell_summary(hub.store.shells, hub.settings.context, hub.sync_shells),)
    )
    character = AgentCharacter(
        name,
        lambda: system_sections(
            name, options.cwd, hub.branch.name, date.today(), skills, mode_section(around.gate.modes.mode_of(name))
        ),
        attended=lambda: options.respondent == "person",
        more=(
            in_call,
            *memory_of(hub, name),
            *ran_elsewhere,
            ran_here,
            *options.more,
        ),
        max_iterations=options.max_iterations,
        limit=hub.telemetry.limit(name, hub.store, around.gate, lambda _: agent.session)
        if hub.telemetry
        else unlimited,
        checkpoints=checkpoints_of(hub, name),
    )
    agent = make_agent(around, character)
    return agent

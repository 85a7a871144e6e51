"""The one list of what the rooms offer as commands, for a window's hub and for an agent's own process.
Nothing of a room is loaded before one of its commands is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import ModelChangeRequested
from gshtui.commands.registry import AnyCommand, Registry
from gshtui.settings.loader import Loaded

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from gshtui.agents.model_pool import ModelPool
    from gshtui.bus.agent_data import AgentRow
    from gshtui.context.commands.context_router import ContextRouter
    from gshtui.fleet.agent_states import AgentStates
    from gshtui.fleet.fleet import Fleet
    from gshtui.fleet.mail.mail_service import MailService
    from gshtui.fleet.mail.outbox import MailOutbox
    from gshtui.fleet.terminal_tools.targets import TerminalTargets
    from gshtui.store.store import Store

LEFT_OUT_OF_AGENTS = frozenset({"profiles", "config", "guard", "session", "approvals", "spawn"})
"""First names of the families that an agent's own process does not have: what is a person's, and the fleet's."""

_ROOMS = (
    "gshtui.tools.commands",
    "gshtui.fleet.status_commands",
    "gshtui.fleet.native.commands",
    "gshtui.agents.skills.commands",
    "gshtui.commands.help_command",
    "gshtui.agents.commands",
    "gshtui.providers.model_command",
    "gshtui.context.commands.context_commands",
    "gshtui.fleet.mail.commands",
    "gshtui.fleet.terminal_tools.commands",
)


def load_rooms() -> None:
    """Load what an agent's own process offers. It takes long: call it in a thread before the commands are made."""
    for name in _ROOMS:
        import_module(name)


async def _no_facts(_agent: str) -> dict[str, Any] | None:
    return None


def _no_words(_row: AgentRow) -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class AgentSources:
    """Where the commands about agents look."""

    states: AgentStates
    rows: Callable[[], list[AgentRow]] = field(default=list["AgentRow"])
    """Those of this folder that live in terminals."""
    facts: Callable[[str], Awaitable[dict[str, Any] | None]] = _no_facts
    """What is known of an agent's context; `None` where contexts cannot be read."""
    attach: Callable[[AgentRow], list[str]] = _no_words
    """How to see an agent's terminal."""


@dataclass(frozen=True, slots=True)
class Spawner:
    """Who starts agents by the tool `spawn_agent`."""

    depth: int = 0
    """How deep it stands; the window's own agent at 0."""
    budget_left: Callable[[], float] = lambda: 0.0
    """US dollars that it may still spend; 0: no limit."""
    ask: bool = True
    """It is asked about here; without it, whoever takes the wish does so."""


class CommandOffers:
    """Offers the commands of the rooms to one registry, as soon as what they work on is there."""

    def __init__(
        self, registry: Registry, bus: Bus, loaded: Loaded, cwd: Path, *, without: frozenset[str] = frozenset()
    ) -> None:
        """`without`: the first names of the families that are not offered here."""
        self._registry = registry
        self._bus = bus
        self._loaded = loaded
        self._settings = loaded.settings
        self._cwd = cwd
        self._without = without

    def offer_general(self, agents: AgentSources, spawner: Spawner) -> None:
        """The commands that need no part of the hub."""

        def tools() -> list[AnyCommand]:
            from gshtui.tools.commands import commands
            from gshtui.tools.workspace import ToolConfig

            return commands(ToolConfig.from_settings(self._settings))

        def statuses() -> list[AnyCommand]:
            from gshtui.fleet.status_commands import commands

            return commands(self._bus, agents.states, agents.rows, agents.facts, agents.attach)

        def natives() -> list[AnyCommand]:
            from gshtui.fleet.native.commands import SpawnAuthority, personas_command, spawn_commands

            above = SpawnAuthority(spawner.depth, spawner.budget_left)
            return [*spawn_commands(self._bus, above, ask=spawner.ask), personas_command()]

        def programs() -> list[AnyCommand]:
            from gshtui.programs.commands import commands

            return commands()

        def skills() -> list[AnyCommand]:
            from gshtui.agents.skills.commands import commands

            return commands()

        def help() -> list[AnyCommand]:
            from gshtui.commands.help_command import commands

            return commands(self._registry)

        def config() -> list[AnyCommand]:
            from gshtui.commands.config_commands import commands

            return commands(self._loaded, publish=self._bus.publish)

        def guard() -> list[AnyCommand]:
            from gshtui.guard.commands import commands

            return commands()

        self._offer("read glob grep write edit bash git_worktree", tools)
        self._offer("agents who status info clear new interrupt quit exit", statuses)
        self._offer("spawn_agent personas", natives)
        self._offer("profiles hooks", programs)
        self._offer("skills", skills)
        self._offer("help ?", help)
        self._offer("config", config)
        self._offer("guard", guard)

    def offer_record(self, store: Store, project: Path, session_of: Callable[[str], str]) -> None:
        """The commands on the record alone. `session_of`: the conversation of an agent of this process, or empty."""

        def sessions() -> list[AnyCommand]:
            from gshtui.store.session_commands import commands

            return commands(store)

        def record() -> list[AnyCommand]:
            from gshtui.agents.commands import commands

            return commands(self._bus, store, self._settings, session_of, str(self._cwd))

        def approvals() -> list[AnyCommand]:
            from gshtui.agents.commands import approvals_command

            return [approvals_command(store, str(project), self._settings.agent.auto_approve)]

        self._offer("session resume", sessions)
        self._offer("usage cost search_context search logs output todo", record)
        self._offer("approvals permissions", approvals)

    def offer_models(self, pool: ModelPool, agent: str, states: AgentStates) -> None:
        """`model`, which changes what `agent` thinks with."""

        def change(provider: str, model: str) -> None:
            self._bus.publish(ModelChangeRequested(agent=agent, provider=provider, model=model))

        def models() -> list[AnyCommand]:
            from gshtui.providers.model_command import commands

            return commands(pool.catalog, change, settings=self._settings, environ=os.environ, in_use=states.in_use)

        self._offer("model", models)

    def offer_contexts(self, contexts: ContextRouter, store: Store, names: Callable[[], list[str]] = list) -> None:
        """What shows and changes contexts. `names`: of agents, for completion."""

        def cuts() -> list[AnyCommand]:
            from gshtui.context.commands.context_commands import commands

            return commands(contexts, store.agents.find, names)

        self._offer(
            "context timeline whatif carry compact prune forget clear_context pin unpin restore undo tune", cuts
        )

    def offer_mail(
        self, store: Store, outbox: Callable[[], MailOutbox], service: Callable[[], MailService] | None = None
    ) -> None:
        """Messages between agents. `service`: where a person can see to them; without it there is no `mail`."""

        def messages() -> list[AnyCommand]:
            from gshtui.fleet.mail.commands import commands

            return commands(outbox(), store, None if service is None else service())

        self._offer("say talk report" if service is None else "say talk report mail", messages)

    def offer_terminals(self, targets: Callable[[], TerminalTargets]) -> None:
        """The tools for terminals."""

        def terminals() -> list[AnyCommand]:
            from gshtui.fleet.terminal_tools.commands import commands

            return commands(targets(), self._settings.context.max_tool_output_bytes)

        self._offer("tmux terminal", terminals)

    def offer_fleet(self, fleet: Fleet, store: Store, states: AgentStates) -> None:
        """The commands that start and end agents in terminals."""

        def agents() -> list[AnyCommand]:
            from functools import partial

            from gshtui.fleet.agent_states import window_agents
            from gshtui.fleet.commands import commands

            return commands(fleet, states.local, partial(window_agents, store))

        self._offer("spawn agent", agents)

    def _offer(self, names: str, make: Callable[[], Iterable[AnyCommand]]) -> None:
        """`names`: names and aliases of one family, in the order in which `make` gives them."""
        family = names.split()
        if family[0] not in self._without:
            self._registry.offer(family, make)

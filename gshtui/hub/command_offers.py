"""The one list of the commands that the rooms offer, for a window's hub and for an agent's own process.
A room is loaded only when one of its commands is requested.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gshtui.bus.agent_data import EffortChoice
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import ModelChangeRequested
from gshtui.commands.declaration import CommandError, Invocation
from gshtui.commands.execution import call
from gshtui.commands.registry import AnyCommand, Registry
from gshtui.hub import local_sources
from gshtui.hub.provision import Provision
from gshtui.settings import paths
from gshtui.settings.loader import Loaded

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from gshtui.agents.memory.memory_owner import MemoryOwners
    from gshtui.agents.model_pool import ModelPool
    from gshtui.bus.agent_data import AgentRow
    from gshtui.calls.call_service import CallService
    from gshtui.code.language_servers import LanguageServers
    from gshtui.context.commands.agent_facts import AgentFacts
    from gshtui.context.commands.context_router import ContextRouter
    from gshtui.context.tasks.task_list import TaskStore
    from gshtui.fleet.core.agent_states import AgentStates
    from gshtui.fleet.lifecycle.fleet import Fleet
    from gshtui.fleet.mail.commands import Courier
    from gshtui.fleet.mail.mail_service import MailService
    from gshtui.fleet.mail.outbox import MailOutbox
    from gshtui.fleet.terminal_tools.targets import TerminalTargets
    from gshtui.guard.approval.open_approvals import OpenApprovals
    from gshtui.guard.sandbox.sandboxes import Sandboxes
    from gshtui.guard.secrets.redaction import Redactor
    from gshtui.hosts.host_link import HostLinks
    from gshtui.providers.model_command import ModelChange
    from gshtui.python.interpreters import Interpreters
    from gshtui.store.record.store import Store
    from gshtui.tools.files.file_paths import FilePaths
    from gshtui.tools.git.worktree_setup import Consent
    from gshtui.vfs.file_system import FileSystem


@dataclass(frozen=True, slots=True)
class Room:
    """A module whose function `commands` makes commands."""

    module: str
    names: str
    """Names and aliases of the commands, in their order."""


ROOMS: Mapping[str, tuple[Room, ...]] = {
    "settings": (
        Room("gshtui.tools.git.hunk_commands", "hunk"),
        Room("gshtui.programs.commands", "profiles program_hooks hooks"),
        Room("gshtui.commands.config_commands", "config"),
        Room("gshtui.guard.commands", "guard"),
        Room("gshtui.context.retrieval.log_commands", "logs"),
        Room("gshtui.fleet.commands.host_commands", "host"),
        Room("gshtui.tools.remote.ssh_tool", "ssh"),
        Room("gshtui.fleet.keeper.keeper_commands", "hub"),
        Room("gshtui.mcp_client.commands", "mcp"),
        Room("gshtui.guard.people_commands", "people"),
        Room("gshtui.commands.plugin_commands", "plugins"),
    ),
}
"""By the part of the hub that provides what the rooms need; those of `settings` need no hub."""

LEFT_OUT_OF_AGENTS = frozenset(
    {
        "profiles",
        "config",
        "hub",
        "guard",
        "session",
        "rewind",
        "approvals",
        "queue",
        "mode",
        "plan",
        "spawn",
        "file",
        "init",
        "people",
        "plugins",
        "brief",
        "note",
        "workflow",
        "prompt",
        "mcp",
        "hook",
        "host",
        "hunk",
        "provider",
    }
)
"""First names of the families that an agent's own process does not have: those for people, and the fleet's."""

_ROOMS = (
    "gshtui.tools.commands",
    "gshtui.tools.code.python_commands",
    "gshtui.tools.remote.ssh_tool",
    "gshtui.tools.code.code_commands",
    "gshtui.guard.sandbox.sandboxes",
    "gshtui.fleet.commands.status_commands",
    "gshtui.fleet.native.commands",
    "gshtui.agents.skills.commands",
    "gshtui.agents.memory.commands",
    "gshtui.commands.help_command",
    "gshtui.commands.line_commands",
    "gshtui.commands.tool_search",
    "gshtui.agents.commands.record_commands",
    "gshtui.context.tasks.task_list",
    "gshtui.context.retrieval.log_commands",
    "gshtui.providers.model_command",
    "gshtui.context.commands.context_commands",
    "gshtui.fleet.mail.commands",
    "gshtui.fleet.terminal_tools.commands",
)


def load_rooms() -> None:
    """Load the modules of an agent's own commands. It takes long: call it in a thread before they are created."""
    for name in _ROOMS:
        import_module(name)


async def _no_facts(_agent: str) -> AgentFacts | None:
    return None


def _no_words(_row: AgentRow) -> list[str]:
    return []


async def _nothing_new() -> None:
    """The default: the rows are always up to date."""


@dataclass(frozen=True, slots=True)
class AgentSources:
    """The sources of the commands about agents."""

    states: AgentStates
    rows: Callable[[], list[AgentRow]] = field(default=list["AgentRow"])
    """The agents of this folder that live in terminals."""
    facts: Callable[[str], Awaitable[AgentFacts | None]] = _no_facts
    """The facts about an agent's context; `None` where contexts cannot be read."""
    attach: Callable[[AgentRow], list[str]] = _no_words
    """How to see an agent's terminal."""
    calls: Callable[[], CallService | None] = lambda: None
    """The shared rooms; `None`: there are none."""
    look: Callable[[], Awaitable[object]] = _nothing_new
    """Brings `rows` up to date where nothing does that all the time."""


@dataclass(frozen=True, slots=True)
class Spawner:
    """Who starts agents by the tool `spawn_agent`."""

    depth: int = 0
    """Its depth; the window's own agent has 0."""
    budget_left: Callable[[], float] = lambda: 0.0
    """US dollars that it may still spend; 0: no limit."""
    ask: bool = True
    """A person is asked here; otherwise the process that receives the request asks."""


class CommandOffers:
    """Offers the commands of the rooms to one registry, as soon as the things that they work on exist."""

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
        if not self._settings.hosts:  # without one it could do nothing
            self.leave_out(frozenset({"ssh"}))
        self.things = Provision(registry, bus, loaded, self._settings)
        local_sources.provide_local(self.things)
        self.acting: Callable[[AnyCommand], AnyCommand] | None = None
        """Makes of a command one that acts on another machine, if it is such a one; `None`: all act on this one."""
        self.flush_log: Callable[[], Awaitable[None]] | None = None
        """Writes what happened here until now to the log; `None`: nothing is logged here."""

    async def _flush_log(self) -> None:
        if self.flush_log is not None:
            await self.flush_log()

    def offer_local(self) -> None:
        """The commands that need only the settings."""
        self.offer("settings")

    def offer(self, part: str) -> None:
        """Offer the rooms of a part, once it provides what they need."""
        for room in ROOMS[part]:
            self._offer(room.names, functools.partial(self._make, room))

    def _make(self, room: Room) -> list[AnyCommand]:
        return self.things.call(import_module(room.module).commands)

    @property
    def sandboxes(self) -> Sandboxes:
        """The sandboxes of this hub, proven once."""
        return self.things.get(local_sources.sandboxes)

    @property
    def hosts(self) -> HostLinks:
        """The other machines of the configuration; one connection to each for all of this hub."""
        return self.things.get(local_sources.hosts)

    def _redactor(self) -> Redactor:
        from gshtui.agents.telemetry import redactor

        return redactor(self._settings, self._loaded.environ)

    def offer_general(
        self,
        agents: AgentSources,
        spawner: Spawner,
        files: FileSystem | None = None,
        allowed_paths: Sequence[Sequence[str]] = (),
        language_servers: Callable[[], LanguageServers] | None = None,
    ) -> None:
        """The commands that need no part of the hub.

        Args:
            files: the virtual files, to which parts add theirs.
            allowed_paths: lists of the only paths that an agent's file tools reach here.
            language_servers: gives those of the hub, made when they are first needed; `None`: there are none.
        """

        @functools.cache
        def paths() -> FilePaths:
            from gshtui.tools.files.file_paths import FilePaths
            from gshtui.vfs.file_system import FileSystem

            return FilePaths(files or FileSystem(), self._settings.shared, allowed_paths)

        def tools() -> list[AnyCommand]:
            from gshtui.tools.commands import commands
            from gshtui.tools.files.workspace import ToolConfig

            return commands(
                ToolConfig.from_settings(self._settings, self._loaded.environ, self.sandboxes),
                paths(),
                language_servers,
            )

        def code() -> list[AnyCommand]:
            from gshtui.tools.code.code_commands import commands

            assert language_servers is not None
            return commands(paths(), language_servers)

        def statuses() -> list[AnyCommand]:
            from gshtui.fleet.commands.status_commands import commands

            return commands(
                self._bus, agents.states, agents.rows, agents.facts, agents.attach, agents.calls, agents.look
            )

        def natives() -> list[AnyCommand]:
            from gshtui.fleet.native.commands import SpawnAuthority, personas_command, spawn_commands

            above = SpawnAuthority(spawner.depth, spawner.budget_left)
            return [*spawn_commands(self._bus, above, ask=spawner.ask), personas_command()]

        def skills() -> list[AnyCommand]:
            from gshtui.agents.skills.commands import commands

            return commands()

        def help() -> list[AnyCommand]:
            from gshtui.commands.help_command import commands

            return commands(self._registry)

        def lines() -> list[AnyCommand]:
            from gshtui.commands.line_commands import commands

            return commands(self._registry, lambda invocation, path: paths().real_path(invocation, path))

        def prompts() -> list[AnyCommand]:
            from gshtui.agents.commands.prompt_commands import commands

            return commands()

        def tool_search() -> list[AnyCommand]:
            from gshtui.commands.tool_search import find_tool_command

            return [find_tool_command(self._registry)]

        file_tools = "read glob grep cat head tail ls cd pwd write edit append mkdir rm"
        self._offer(f"{file_tools} bash git_commit git_worktree", tools)
        if language_servers is not None:
            self._offer("code", code)
        self._offer("agents who status info clear new interrupt quit exit", statuses)
        self._offer("spawn_agent personas", natives)
        self._offer("skills", skills)
        self._offer("help ?", help)
        self._offer("echo env diff pipe exec vim", lines)

        def think() -> list[AnyCommand]:
            from gshtui.context.log.scratchpad import commands

            return commands()

        self._offer("find_tool", tool_search)
        self._offer("think", think)
        self._offer("file init review", prompts)
        self.offer_local()

    def offer_brief(self, ask: Callable[[str, str, int], Awaitable[str]]) -> None:
        """`brief`, which shortens output. `ask`: asks the small model."""

        def brief() -> list[AnyCommand]:
            from gshtui.agents.commands.brief_command import commands

            return commands(ask)

        self._offer("brief", brief)

    def offer_provider(self, ask: Callable[[str], Awaitable[str]]) -> None:
        """`provider`, which checks one. `ask`: asks its model for a word."""

        def provider() -> list[AnyCommand]:
            from gshtui.agents.commands.provider_command import commands

            return commands(ask)

        self._offer("provider", provider)

    def offer_python(self, interpreters: Callable[[], Interpreters]) -> None:
        """`python`, unless the settings switch it off. `interpreters`: those of the hub, made when it is first used."""

        def python() -> list[AnyCommand]:
            from gshtui.tools.code.python_commands import commands
            from gshtui.tools.code.python_tool import PythonTool
            from gshtui.tools.files.workspace import ToolConfig

            config = ToolConfig.from_settings(self._settings, self._loaded.environ)
            figures = paths.state_dir(create=False) / "figures"  # made with the first
            return commands(
                PythonTool(interpreters(), self.sandboxes, figures, config.max_output_bytes, config.max_full_bytes)
            )

        if self._settings.python.enabled:
            self._offer("python", python)

    def offer_modes(self, make: Callable[[], list[AnyCommand]]) -> None:
        """`mode`, which shows and changes how much agents may do before they ask."""
        self._offer("mode", make)

    def offer_record(
        self,
        store: Store,
        project: Path,
        session_of: Callable[[str], str],
        sync_shells: Callable[[], Awaitable[None]],
        sync_programs: Callable[[], Awaitable[None]],
        open_now: Callable[[], OpenApprovals],
        owners: Callable[[], MemoryOwners],
        ask: Callable[[str, str, int], Awaitable[str]],
        is_working: Callable[[str], bool],
        settle_agents: Callable[[], Awaitable[None]],
    ) -> None:
        """The commands on the record alone.

        Args:
            session_of: the conversation of an agent of this process, or empty.
            sync_shells: stores what shells have reported until now.
            sync_programs: records what other programs have used until now.
            open_now: the questions asked here now.
            owners: whose memories agents have.
            ask: asks the small model.
            is_working: whether a turn of an agent of this process is in progress.
            settle_agents: waits until the files are kept as the last turns of this process left them.
        """

        def sessions() -> list[AnyCommand]:
            from gshtui.store.sessions.session_commands import commands

            return commands(store, lambda: self._redactor().redact_certain, ask)

        def record() -> list[AnyCommand]:
            from gshtui.agents.commands.record_commands import commands

            return commands(store, self._settings, sync_shells, sync_programs, self._flush_log)

        def notes() -> list[AnyCommand]:
            from gshtui.shell.log.note_command import commands

            return commands(store, self._bus, lambda: self._redactor().redact)

        @functools.cache
        def lists() -> tuple[TaskStore, Callable[[str], Awaitable[str]]]:
            from gshtui.agents.sessions import session_lookup
            from gshtui.context.tasks.task_list import TaskStore

            return TaskStore(self._bus, store.contexts), session_lookup(store, session_of, str(self._cwd))

        def tasks() -> list[AnyCommand]:
            from gshtui.context.tasks.task_list import task_commands

            return task_commands(*lists())

        def plans() -> list[AnyCommand]:
            from gshtui.context.tasks.plan_command import plan_command
            from gshtui.guard.mode_commands import ChangeMode

            async def leave_plan_mode(
                invocation: Invocation, agent: str, mode: Literal["ask", "edit", "auto"] | None
            ) -> None:
                change = ChangeMode(mode=mode or "ask", agent=agent, leaving="" if mode else "plan")
                await call(self._registry, change, invocation)

            return [plan_command(*lists(), leave_plan_mode)]

        def approvals() -> list[AnyCommand]:
            from gshtui.agents.commands.approval_commands import approvals_command

            return [approvals_command(store, project, self._settings.agent.auto_approve, open_now)]

        def memory() -> list[AnyCommand]:
            from gshtui.agents.memory.commands import commands

            clean = self._redactor().redact_certain if self._settings.context.redact_secrets else str
            return commands(store.memory, owners(), clean)

        def rewinds() -> list[AnyCommand]:
            from gshtui.agents.commands.rewind_commands import commands
            from gshtui.tools.git.worktree_fork import fork_worktree

            async def forked(folder: Path, branch: str) -> Path:
                return Path((await fork_worktree(folder, branch)).path)

            return commands(store, is_working, settle_agents, forked)

        def queue() -> list[AnyCommand]:
            from gshtui.agents.commands.queue_command import queue_command

            return [queue_command(self._bus, store, session_of)]

        self._offer("session resume", sessions)
        self._offer("queue", queue)
        self._offer("rewind redo fork", rewinds)
        self._offer("usage cost search_context search output", record)
        self._offer("note", notes)
        self._offer("todo", tasks)
        self._offer("plan", plans)
        self._offer("remember forget memory", memory)
        self._offer("approvals permissions", approvals)

    def offer_models(
        self, pool: ModelPool, agent: str, states: AgentStates, fleet: Callable[[], Fleet | None] = lambda: None
    ) -> None:
        """`model` and `effort`, which change the model of `agent` and how hard it thinks. `fleet`: the agents in
        terminals, of which those over ACP have models of their programs.
        """

        async def of_program(asked: str, model: str) -> ModelChange | None:
            from gshtui.providers.model_command import ModelChange
            from gshtui.system.expected_error import ExpectedError

            state, agents = states.get(asked), fleet()
            if agents is None or state is None or state.row.kind != "acp":
                return None
            try:
                options, _ = await agents.set_option(asked, "model", model)
            except ExpectedError as error:
                raise CommandError(error.message, hint=error.hint) from error
            value = next((one.value for one in options if "model" in (one.id, one.category)), model)
            return ModelChange(state.row.profile, value, f"{state.row.profile} {value}")

        def change(asked: str, provider: str, model: str, effort: EffortChoice | None) -> None:
            self._bus.publish(ModelChangeRequested(agent=asked, provider=provider, model=model, effort=effort))

        def models() -> list[AnyCommand]:
            from gshtui.providers.model_command import commands

            return commands(
                pool.catalog,
                change,
                settings=self._settings,
                environ=self._loaded.environ,
                in_use=states.in_use,
                of_program=of_program,
            )

        self._offer("model effort", models)

    def offer_contexts(self, contexts: ContextRouter, store: Store, names: Callable[[], list[str]] = list) -> None:
        """The commands that show and change contexts. `names`: agents' names, for completion."""

        def cuts() -> list[AnyCommand]:
            from gshtui.context.commands.context_commands import commands

            return commands(contexts, store.agents.find, names)

        self._offer("context timeline whatif carry compact prune clear_context pin unpin restore undo tune", cuts)

    def offer_mail(
        self,
        store: Store,
        outbox: Callable[[], MailOutbox],
        service: Callable[[], MailService] | None = None,
        courier: Courier | None = None,
        calls: Callable[[], CallService] | None = None,
    ) -> None:
        """Messages between agents.

        Args:
            calls: the shared rooms in which they are said.
            service: lets a person manage them; without it there is no `mail`.
            courier: delivers one where no hub does; for an agent's own process.
        """

        def messages() -> list[AnyCommand]:
            from gshtui.fleet.mail.commands import commands

            return commands(outbox(), store, None if service is None else service(), courier, calls)

        names = "say talk wall report"
        self._offer(names if service is None else f"{names} mail", messages)

    def offer_calls(self, calls: Callable[[], CallService]) -> None:
        """The shared rooms."""

        def rooms() -> list[AnyCommand]:
            from gshtui.calls.commands import commands

            return commands(calls)

        self._offer("create join leave calls topic invite history", rooms)

    def offer_hooks(self, make: Callable[[], list[AnyCommand]]) -> None:
        """`hook`: the programs that are asked or told when agents do something."""
        self._offer("hook", make)

    def offer_prompts(self, make: Callable[[], list[AnyCommand]]) -> None:
        """`prompt` and `prompts`: those that people keep as files."""
        self._offer("prompt prompts", make)

    def offer_workflows(self, make: Callable[[], list[AnyCommand]]) -> None:
        """`workflow`, which lists and runs chains of steps."""
        self._offer("workflow workflows", make)

    def offer_terminals(self, targets: Callable[[], TerminalTargets]) -> None:
        """The tools for terminals."""

        def terminals() -> list[AnyCommand]:
            from gshtui.fleet.terminal_tools.commands import commands

            return commands(targets(), self._settings.context.max_tool_output_bytes)

        self._offer("tmux terminal", terminals)

    def offer_fleet(self, fleet: Fleet, store: Store, states: AgentStates, consent: Callable[[], Consent]) -> None:
        """The commands that start and end agents in terminals. `consent`: makes what asks for consent to the tear-down
        command of a worktree.
        """

        def agents() -> list[AnyCommand]:
            from functools import partial

            from gshtui.fleet.commands.agent_commands import commands
            from gshtui.fleet.core.agent_states import window_agents

            def registry() -> str:
                return self._loaded.again().settings.programs.acp_registry

            return commands(fleet, states.local, partial(window_agents, store), registry)

        def worktrees() -> list[AnyCommand]:
            from gshtui.fleet.commands.worktree_commands import TearDown, worktree_command

            output = store.path.parent / "worktrees"
            argv = tuple(self._settings.worktrees.teardown)
            return [worktree_command(fleet, TearDown(argv, consent(), output, self.sandboxes))]

        self._offer("spawn agent", agents)
        self._offer("worktree", worktrees)

    def _offer(self, names: str, make: Callable[[], Iterable[AnyCommand]]) -> None:
        """`names`: names and aliases of one family, in the order in which `make` gives them."""
        family = names.split()
        if family[0] in self._without:
            return
        if (acting := self.acting) is not None:
            self._registry.offer(family, lambda: [acting(command) for command in make()])
        else:
            self._registry.offer(family, make)

    def leave_out(self, families: frozenset[str]) -> None:
        """Offer none of these either, by the first names of the families."""
        self._without |= families

"""The one list of the commands that the rooms offer, for a window's hub and for an agent's own process.
A room is loaded only when one of its commands is requested.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gshtui.bus.agent_data import EffortChoice
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import ModelChangeRequested
from gshtui.bus.events.hub_events import Noticed
from gshtui.commands.declaration import CommandError, Invocation
from gshtui.commands.execution import call
from gshtui.commands.registry import AnyCommand, Registry
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
    from gshtui.mcp_client.server_pool import ServerPool
    from gshtui.providers.model_command import ModelChange
    from gshtui.python.interpreters import Interpreters
    from gshtui.store.record.store import Store
    from gshtui.store.tables.grant_table import Grant
    from gshtui.tmux.server import PaneInfo
    from gshtui.tools.files.file_paths import FilePaths
    from gshtui.tools.git.worktree_setup import Consent
    from gshtui.vfs.file_system import FileSystem

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


def _tell_shells(loaded: Loaded) -> None:
    """Pass changed settings on to the shells' plugins."""
    from gshtui.shell import plugin_files

    with contextlib.suppress(OSError):  # then they keep the previous ones
        plugin_files.write_options(loaded.settings)


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
        self.acting: Callable[[AnyCommand], AnyCommand] | None = None
        """Makes of a command one that acts on another machine, if it is such a one; `None`: all act on this one."""
        self._store: Store | None = None
        self.flush_log: Callable[[], Awaitable[None]] | None = None
        """Writes what happened here until now to the log; `None`: nothing is logged here."""
        self._fleet: Fleet | None = None
        self.mcp_servers: Callable[[], ServerPool] | None = None
        """Gives the MCP servers of the hub; `None`: no hub runs here."""
        self.servers_elsewhere: Callable[[str], Iterable[tuple[str, str]]] = lambda _: ()
        """Server → the agents that have it in processes of their own, with its state there."""

    async def _flush_log(self) -> None:
        if self.flush_log is not None:
            await self.flush_log()

    def offer_local(self) -> None:
        """The commands that need only the settings."""

        def config() -> list[AnyCommand]:
            from gshtui.commands.config_commands import commands

            return commands(self._loaded, publish=self._bus.publish, changed=_tell_shells)

        def guard() -> list[AnyCommand]:
            from gshtui.guard.commands import commands

            return commands(self._settings.general.log_dir, self._old_approvals)

        def logs() -> list[AnyCommand]:
            from gshtui.context.retrieval.log_commands import commands

            return commands(self._settings.general.log_dir, self._sessions_below, self._flush_log)

        def hub() -> list[AnyCommand]:
            from gshtui.fleet.keeper.keeper_commands import commands

            return commands(self._settings)

        def hunks() -> list[AnyCommand]:
            from gshtui.tools.files.workspace import ToolConfig
            from gshtui.tools.git.hunk_commands import commands

            return commands(ToolConfig.from_settings(self._settings, self._loaded.environ).git_timeout_s)

        def programs() -> list[AnyCommand]:
            from gshtui.programs.commands import commands

            keys = self._settings.programs.rule_keys
            return commands(look=self._look, environ=self._loaded.environ, rule_keys=lambda: keys)

        self._offer("hunk", hunks)
        self._offer("profiles program_hooks hooks", programs)
        self._offer("config", config)
        self._offer("guard", guard)
        self._offer("logs", logs)

        def people() -> list[AnyCommand]:
            from gshtui.guard.people_commands import commands

            return commands(self._names_taken)

        def plugins() -> list[AnyCommand]:
            from gshtui.commands.plugin_commands import commands

            return commands()

        def mcp() -> list[AnyCommand]:
            from gshtui.mcp_client.commands import commands

            return commands(self._loaded, self.mcp_servers, self.servers_elsewhere)

        def host() -> list[AnyCommand]:
            from gshtui.fleet.commands.host_commands import commands

            return commands(self.hosts, self._agents_known)

        def ssh() -> list[AnyCommand]:
            from gshtui.tools.files.workspace import ToolConfig
            from gshtui.tools.remote.ssh_tool import ssh_command

            return [ssh_command(self.hosts, ToolConfig.from_settings(self._settings, self._loaded.environ))]

        self._offer("host", host)
        if self._settings.hosts:  # without one it could do nothing
            self._offer("ssh", ssh)
        self._offer("hub", hub)
        self._offer("mcp", mcp)
        self._offer("people", people)
        self._offer("plugins", plugins)

    async def _agents_known(self) -> list[AgentRow]:
        """The agents of the record, as far as it can be read."""
        from gshtui.store.engine.store_errors import StoreError

        if self._store is not None:
            with contextlib.suppress(StoreError):
                return await self._store.agents.find_all()
        return []

    async def _names_taken(self) -> set[str]:
        """The names of who sits here and of agents, as far as the record can be read."""
        from gshtui.calls.call_service import person_name
        from gshtui.store.engine.store_errors import StoreError

        taken = {person_name(self._settings.general.name), *self._settings.agents}
        if self._store is not None:
            with contextlib.suppress(StoreError):
                taken |= {row.name for row in await self._store.agents.find_all() if not row.killed}
        return taken

    @functools.cached_property
    def sandboxes(self) -> Sandboxes:
        """The sandboxes of this hub, proven once."""
        from gshtui.guard.sandbox.sandboxes import Sandboxes  # with the tools, so not before they are wanted

        with contextlib.suppress(paths.FolderError):  # without it, no sandbox can be tried, and none is used
            paths.state_dir()
        ours = (paths.state_dir(create=False), paths.data_dir(create=False), paths.config_dir(create=False))
        own = (ours[0], self._settings.general.session_dir, self._settings.general.log_dir, *ours[1:])
        return Sandboxes(self._settings.sandbox, own, self._notice)

    def _notice(self, text: str) -> None:
        self._bus.publish(Noticed(level="warning", text=text, about="sandbox"))

    @functools.cached_property
    def hosts(self) -> HostLinks:
        """The other machines of the configuration; one connection to each for all of this hub."""
        from gshtui.hosts.host_link import HostLinks
        from gshtui.settings.changed_settings import changed_settings

        return HostLinks(
            self._settings.hosts, paths.runtime_dir, self._loaded.environ, changed=changed_settings(self._loaded)
        )

    def _redactor(self) -> Redactor:
        from gshtui.agents.telemetry import redactor

        return redactor(self._settings, self._loaded.environ)

    async def _sessions_below(self, folder: str) -> frozenset[str]:
        """The conversations that were held there; none without a record."""
        from gshtui.context.retrieval.log_commands import sessions_below

        return frozenset() if self._store is None else await sessions_below(self._store, folder)

    async def _old_approvals(self, project: Path) -> Sequence[Grant]:
        """What was always allowed there before there were rules; nothing without a record."""
        return () if self._store is None else await self._store.grants.find_all(str(project))

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

    async def _look(self, agent: str) -> tuple[AgentRow, PaneInfo, tuple[str, ...]]:
        """An agent's row and its screen. Raises `CommandError`."""
        from gshtui.commands.command_errors import command_error
        from gshtui.fleet.core.ports import FleetError
        from gshtui.tmux.tmux_errors import TmuxError

        if self._fleet is None:
            raise CommandError("There are no agents here.")
        try:
            row = await self._fleet.find(agent)
            return row, *await self._fleet.terminals.server(row.socket).capture_screen(row.pane)
        except (FleetError, TmuxError) as error:
            raise command_error(error) from error

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
        self._store = store

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
            from gshtui.commands.declaration import CommandError
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

        self._fleet = fleet

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

"""Each function makes a thing that commands need, of others that a hub has: `provision.py` calls it."""

from __future__ import annotations

import contextlib
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import ModelChangeRequested
from gshtui.bus.events.hub_events import Noticed
from gshtui.commands.execution import call
from gshtui.settings import paths
from gshtui.settings.loader import Loaded

if TYPE_CHECKING:
    from collections.abc import Callable

    from gshtui.agents.commands.provider_command import AskProvider
    from gshtui.agents.commands.rewind_commands import ForkWorktree
    from gshtui.agents.memory.commands import CleanNote
    from gshtui.agents.model_pool import ModelPool
    from gshtui.agents.sessions import SessionOf
    from gshtui.agents.telemetry import Telemetry
    from gshtui.bus.agent_data import AgentRow, EffortChoice
    from gshtui.commands.config_commands import SettingsChanged
    from gshtui.commands.declaration import Invocation
    from gshtui.commands.line_commands import RealPath
    from gshtui.commands.registry import Registry
    from gshtui.context.commands.context_commands import Names
    from gshtui.context.commands.context_router import FindAgent
    from gshtui.context.retrieval.log_commands import FlushLog
    from gshtui.context.tasks.plan_command import LeavePlanMode
    from gshtui.context.tasks.task_list import SessionLookup, TaskStore
    from gshtui.fleet.commands.agent_commands import AcpRegistry, LocalAgents, WindowAgents
    from gshtui.fleet.core.agent_states import AgentStates
    from gshtui.fleet.lifecycle.fleet import Fleet
    from gshtui.fleet.mail.mail_service import MailService
    from gshtui.fleet.mail.outbox import MailOutbox
    from gshtui.guard.people_commands import NamesTaken
    from gshtui.guard.sandbox.sandboxes import Sandboxes
    from gshtui.guard.secrets.redaction import Redactor
    from gshtui.hosts.host_link import HostLinks
    from gshtui.hub.small_model import SmallModel
    from gshtui.mcp_client.commands import ServersElsewhere
    from gshtui.programs.check.profile_trials import Look
    from gshtui.providers.model_command import ModelChange, ModelPort
    from gshtui.python.interpreters import Interpreters
    from gshtui.store.record.store import Store
    from gshtui.store.sessions.session_html import Redact
    from gshtui.store.sessions.session_listing import LabelModel
    from gshtui.store.sessions.session_summary import AskModel
    from gshtui.tmux.server import PaneInfo
    from gshtui.tools.code.python_tool import PythonTool
    from gshtui.tools.files.file_paths import FilePaths
    from gshtui.tools.files.workspace import ToolConfig


def sandboxes(loaded: Loaded, bus: Bus) -> Sandboxes:
    """The sandboxes of a hub, proven once."""
    from gshtui.guard.sandbox.sandboxes import Sandboxes

    def notice(text: str) -> None:
        bus.publish(Noticed(level="warning", text=text, about="sandbox"))

    with contextlib.suppress(paths.FolderError):  # without it, no sandbox can be tried, and none is used
        paths.state_dir()
    general = loaded.settings.general
    ours = (paths.state_dir(create=False), paths.data_dir(create=False), paths.config_dir(create=False))
    own = (ours[0], general.session_dir, general.log_dir, *ours[1:])
    return Sandboxes(loaded.settings.sandbox, own, notice)


def hosts(loaded: Loaded) -> HostLinks:
    """The other machines of the configuration; one connection to each for all of a hub."""
    from gshtui.hosts.host_link import HostLinks
    from gshtui.settings.loader import changed_settings

    return HostLinks(loaded.settings.hosts, paths.runtime_dir, loaded.environ, changed=changed_settings(loaded))


def redactor(loaded: Loaded) -> Redactor:
    """Takes out secrets."""
    from gshtui.agents import telemetry

    return telemetry.redactor(loaded.settings, loaded.environ)


def tool_config(loaded: Loaded, sandboxes: Sandboxes) -> ToolConfig:
    """The limits of tools."""
    from gshtui.tools.files.workspace import ToolConfig

    return ToolConfig.from_settings(loaded.settings, loaded.environ, sandboxes)


def python_tool(interpreters: Interpreters, sandboxes: Sandboxes, config: ToolConfig) -> PythonTool:
    """The tool `python`."""
    from gshtui.tools.code.python_tool import PythonTool

    figures = paths.state_dir(create=False) / "figures"  # made with the first
    return PythonTool(interpreters, sandboxes, figures, config.max_output_bytes, config.max_full_bytes)


def real_path(files: Callable[[], FilePaths]) -> RealPath:
    """The paths of programs that a line starts."""
    return lambda invocation, path: files().real_path(invocation, path)


def redact(redactor: Redactor) -> Redact:
    """Takes what is certainly a secret out of an export, and out of what is summarised."""
    return redactor.redact_certain


def clean_note(loaded: Loaded, redactor: Callable[[], Redactor]) -> CleanNote:
    """The same, if the settings have requests redacted."""
    return redactor().redact_certain if loaded.settings.context.redact_secrets else str


def servers_elsewhere(states: Callable[[], AgentStates | None]) -> ServersElsewhere:
    """What the agents say of their servers, where any are known."""
    return lambda server: () if (known := states()) is None else known.servers(server)


def ask_model(small: SmallModel) -> AskModel:
    """Asks the small model."""
    return small.ask


def label_model() -> LabelModel:
    """As the catalog calls it."""
    from gshtui.providers.catalog import label_of

    return label_of


def ask_provider(small: SmallModel) -> AskProvider:
    """Asks a provider's model for a word."""
    return small.check


def flush_log(telemetry: Callable[[], Telemetry | None]) -> FlushLog:
    """Nothing is logged where no telemetry is."""

    async def flush() -> None:
        if (kept := telemetry()) is not None:
            await kept.flush_log()

    return flush


def task_store(bus: Bus, store: Store) -> TaskStore:
    """The task lists of all conversations."""
    from gshtui.context.tasks.task_list import TaskStore

    return TaskStore(bus, store.contexts)


def session_lookup(store: Store, here: SessionOf, loaded: Loaded) -> SessionLookup:
    """The conversation of an agent, wherever it lives."""
    from gshtui.agents.sessions import session_lookup

    return session_lookup(store, here, str(loaded.cwd))


def leave_plan_mode(registry: Registry) -> LeavePlanMode:
    """Runs the command `mode`."""

    async def leave(invocation: Invocation, agent: str, mode: Literal["ask", "edit", "auto"] | None) -> None:
        from gshtui.guard.mode_commands import ChangeMode

        await call(registry, ChangeMode(mode=mode or "ask", agent=agent, leaving="" if mode else "plan"), invocation)

    return leave


def fork_worktree() -> ForkWorktree:
    """Forks the worktree of a conversation."""
    from gshtui.tools.git import worktree_fork

    async def forked(folder: Path, branch: str) -> Path:
        return Path((await worktree_fork.fork_worktree(folder, branch)).path)

    return forked


def model_port(
    pool: ModelPool, bus: Bus, loaded: Loaded, states: AgentStates, fleet: Callable[[], Fleet | None]
) -> ModelPort:
    """The models that agents change to."""
    from gshtui.providers.model_command import ModelChange, ModelPort

    async def of_program(asked: str, model: str) -> ModelChange | None:
        """Agents over ACP have models of their programs."""
        state, agents = states.get(asked), fleet()
        if agents is None or state is None or state.row.kind != "acp":
            return None
        options, _ = await agents.set_option(asked, "model", model)
        value = next((one.value for one in options if "model" in (one.id, one.category)), model)
        return ModelChange(state.row.profile, value, f"{state.row.profile} {value}")

    def change(asked: str, provider: str, model: str, effort: EffortChoice | None) -> None:
        bus.publish(ModelChangeRequested(agent=asked, provider=provider, model=model, effort=effort))

    return ModelPort(pool.catalog, change, loaded.settings, loaded.environ, states.in_use, of_program)


def find_agent(store: Store) -> FindAgent:
    """The roster of the record."""
    return store.agents.find


def agent_names(states: AgentStates) -> Names:
    """Agents' names, for completion."""
    return lambda: [state.row.id for state in states.all()]


def local_agents(states: AgentStates) -> LocalAgents:
    """The agents of this process."""
    return states.local


def agents_of_windows(store: Store) -> WindowAgents:
    """The agents of windows, by the record."""
    from gshtui.fleet.core.agent_states import window_agents

    return functools.partial(window_agents, store)


def outbox(mail: MailService) -> MailOutbox:
    """The outbox of the mail."""
    return mail.outbox


def acp_registry(loaded: Loaded) -> AcpRegistry:
    """The address, as the settings have it when it is used."""
    return lambda: loaded.again().settings.programs.acp_registry


def settings_changed() -> SettingsChanged:
    """Passes changed settings on to the shells' plugins."""

    def write(loaded: Loaded) -> None:
        from gshtui.shell import plugin_files

        with contextlib.suppress(OSError):  # then they keep the previous ones
            plugin_files.write_options(loaded.settings)

    return write


def names_taken(loaded: Loaded, store: Callable[[], Store | None]) -> NamesTaken:
    """The names of who sits here and of agents, as far as the record can be read."""

    async def names() -> set[str]:
        from gshtui.calls.call_service import person_name
        from gshtui.store.engine.store_errors import StoreError

        taken, record = {person_name(loaded.settings.general.name), *loaded.settings.agents}, store()
        with contextlib.suppress(StoreError):
            rows = [] if record is None else await record.agents.find_all()
            taken |= {row.name for row in rows if not row.killed}
        return taken

    return names


def agent_screen(fleet: Callable[[], Fleet | None]) -> Look:
    """Finds an agent's row and its screen. Raises `ExpectedError`."""

    async def screen(agent: str) -> tuple[AgentRow, PaneInfo, tuple[str, ...]]:
        from gshtui.commands.declaration import CommandError

        if (agents := fleet()) is None:
            raise CommandError("No agents here.")
        row = await agents.find(agent)
        if not row.pane:
            raise CommandError(f"{row.name} ({row.id}) has no terminal now, so it has no screen.")
        return row, *await agents.terminals.server(row.socket).capture_screen(row.pane)

    return screen

"""Each function makes a thing that commands need, of the hub itself: `provision.py` calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gshtui.hub.hub import Hub
from gshtui.system.expected_error import ExpectedError

if TYPE_CHECKING:
    from gshtui.agents.agent import Agent
    from gshtui.agents.commands.approval_commands import OpenNow
    from gshtui.agents.commands.rewind_commands import IsWorking, Settle
    from gshtui.agents.hooks.commands import ReadHooks
    from gshtui.agents.hooks.hook_set import HookSet
    from gshtui.agents.memory.memory_mount import MemoryOwners
    from gshtui.agents.sessions import SessionOf
    from gshtui.agents.usage.commands import SyncPrograms
    from gshtui.bus.shell_data import ShellRecord
    from gshtui.context.commands.agent_facts import AgentFacts
    from gshtui.context.retrieval.shell_summary import SyncShells
    from gshtui.fleet.commands.status_commands import AgentSources
    from gshtui.fleet.native.commands import SpawnAuthority
    from gshtui.mcp_client.server_pool import ServerPool
    from gshtui.python.interpreters import InterpreterOwner, Interpreters, ToolAnswer
    from gshtui.shell.log.history_commands import KeepRun
    from gshtui.store.record.store import Store
    from gshtui.tools.files.file_paths import FilePaths


def agent_sources(hub: Hub) -> AgentSources:
    """What is said about the agents of a folder."""
    from gshtui.fleet.commands.status_commands import AgentSources

    async def facts(agent: str) -> AgentFacts | None:
        if hub.contexts is None:
            return None
        from gshtui.context.commands.agent_facts import read_facts

        return await read_facts(hub.contexts, agent)

    return AgentSources(
        lambda: hub.rows_elsewhere if hub.fleet is None else hub.fleet.rows(everywhere=False),
        facts,
        lambda row: [] if hub.fleet is None else hub.fleet.attach_words(row),
        hub.look_at_agents,
    )


def spawn_authority(hub: Hub) -> SpawnAuthority:
    """Who starts agents by the tool `spawn_agent`: the window's own agent, or that of this process."""
    from gshtui.fleet.native.commands import SpawnAuthority

    native = hub.options.native
    return SpawnAuthority() if native is None else SpawnAuthority(native.spec.depth, lambda: native.budget.left, False)


def file_paths(hub: Hub) -> FilePaths:
    """What paths mean here, and the only ones that an agent's file tools reach."""
    from gshtui.tools.files.file_paths import FilePaths

    return FilePaths(hub.files, hub.settings.shared, hub.options.paths)


def mcp_servers(hub: Hub) -> ServerPool:
    """The MCP servers."""
    return hub.mcp_servers()


def interpreters(hub: Hub) -> Interpreters:
    """Those of the agents of this process, whose models and tools the code may use."""
    from gshtui.python.interpreters import Interpreters, ToolAnswer

    def agent_of(owner: InterpreterOwner) -> Agent:
        if (agent := hub.local_agent(owner.agent)) is None:
            raise ExpectedError(f"There is no agent {owner.agent!r} here whose model or terminal could be used.")
        return agent

    async def ask(owner: InterpreterOwner, prompt: str) -> str:
        """Ask the model of the agent whose block asks. Raises `ExpectedError`."""
        return (await agent_of(owner).ask(prompt)).text

    async def use_tool(owner: InterpreterOwner, tool: str, arguments: dict[str, object]) -> ToolAnswer:
        """Run a tool for the agent whose block wants it, as a call of that agent. Raises `ExpectedError`."""
        result = await agent_of(owner).use_tool(tool, arguments)
        return ToolAnswer(result.status, result.content)

    settings = hub.settings
    return Interpreters(settings.python, settings.sandbox, hub.environ, hub.bus, ask, use_tool)


def session_of(hub: Hub) -> SessionOf:
    """By the agents of this process."""
    return hub.session_of


def sync_shells(hub: Hub) -> SyncShells:
    """By the hub that stores them."""
    return hub.sync_shells


def keep_run(hub: Hub) -> KeepRun:
    """In the log of the hub that shells report to."""

    async def keep(record: ShellRecord, text: str) -> ShellRecord:
        assert hub.store is not None
        log = (hub.host or hub).shell_log
        kept = await (hub.store.shells.put_record if log is None else log.put_record)(record)
        if not text:
            return kept
        put = hub.store.shells.put_output if log is None else log.put_output
        return await put(record.shell, record.number, text) or kept

    return keep


def sync_programs(hub: Hub) -> SyncPrograms:
    """Where no other hub does that."""
    return hub.sync_programs


def open_now(hub: Hub) -> OpenNow:
    """The questions asked by this hub."""
    return hub.open_approvals


def memory_owners(hub: Hub, store: Store) -> MemoryOwners:
    """Whose memories agents have."""
    from gshtui.agents.memory.memory_mount import MemoryOwners

    return MemoryOwners(store.agents.find, hub.options.agent, hub.project)


def is_working(hub: Hub) -> IsWorking:
    """By the agents of this process."""
    return hub.is_working


def settle(hub: Hub) -> Settle:
    """By the agents of this process."""
    return hub.settle_agents


def read_hooks(hub: Hub) -> ReadHooks:
    """As the agents of this hub ask them; where it has none, as one that starts now would."""
    from gshtui.agents.hooks import hook_set

    def read() -> HookSet:
        if hub.hooks is not None:
            return hub.hooks.read()
        return hook_set.read_hooks(hub.settings.hooks, hub.project, hub.environ)

    return read

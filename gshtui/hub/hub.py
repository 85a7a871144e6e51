"""The hub: everything but the interfaces. Starts its parts in order, stops them in reverse, and runs commands on them.
A part that fails is reported and left out; the others go on. `composition.build_hub` makes one.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import TurnFinished
from gshtui.bus.events.hub_events import BranchChanged, HubStarted, HubStopped, Noticed, PartFailed
from gshtui.bus.loop_faults import LoopFaults
from gshtui.commands import execution
from gshtui.commands.declaration import Caller, Invocation, Outcome, Question, R, Returns
from gshtui.commands.evaluation import Ask, asking, result_of, run_line
from gshtui.commands.language import Parsed, split_line
from gshtui.commands.line_values import Variables
from gshtui.commands.registry import AnyCommand, Registry
from gshtui.fleet.core.agent_states import AgentStates
from gshtui.guard.secrets.report_redaction import redact_report
from gshtui.hub.command_offers import CommandOffers
from gshtui.hub.hub_options import HubOptions
from gshtui.hub.part_lifecycle import PartLifecycle
from gshtui.hub.small_model import SmallModel
from gshtui.settings import trust
from gshtui.settings.git_info import branch
from gshtui.system.tasks import cancel_and_wait, end_all, start_job
from gshtui.text.sanitise import literal, one_line
from gshtui.vfs import FileSystem

if TYPE_CHECKING:
    from gshtui.agents.agent import Agent, LocalRoster
    from gshtui.agents.hooks.agent_hooks import AgentHooks
    from gshtui.agents.model_pool import ModelPool
    from gshtui.agents.telemetry import Journal, Telemetry
    from gshtui.bus.agent_data import AgentRow
    from gshtui.bus.events.agent_events import TurnFinished, TurnStarted
    from gshtui.calls.call_service import CallService
    from gshtui.context.commands.context_router import ContextRouter
    from gshtui.context.log.ports import Contribution
    from gshtui.fleet.lifecycle.agent_buses import HostedAgent
    from gshtui.fleet.lifecycle.fleet import Fleet
    from gshtui.fleet.mail.mail_service import MailService
    from gshtui.fleet.native.relay import Relay, RelayCircle
    from gshtui.fleet.terminal_tools.shared_shell import SharedShell
    from gshtui.guard.approval.gate import Gate
    from gshtui.guard.approval.open_approvals import ApprovalWatch, OpenApprovals
    from gshtui.mcp_client.server_pool import ServerPool
    from gshtui.shell.log.shell_log import ShellLog
    from gshtui.store.record.store import Store
    from gshtui.store.tables.message_table import StoredMessage
    from gshtui.store.tables.prompt_table import PromptTable
    from gshtui.store.tables.shell_tables import ShellTables


StartPart = Callable[["Hub"], Awaitable[None]]
"""Starts one part of a hub. Raises an `ExpectedError` if it cannot."""


async def _nothing() -> None:
    """The default: there are no prompts."""


class Hub:
    """Create it inside a running event loop; `start` and `stop` bracket its life."""

    def __init__(
        self, options: HubOptions, parts: Mapping[str, StartPart], bus: Bus | None = None, host: Hub | None = None
    ) -> None:
        """
        Args:
            parts: how each part is started, by name, in their order.
            bus: an existing one that outlives the hub, and whose faults are already handled; by default the hub's own.
            host: the hub of this process, whose record it works on; `None`: it opens the record itself.
        """
        self.options = options
        self.host = host
        self._starts = parts
        self.settings = options.loaded.settings
        self.environ = options.loaded.environ
        """Of whoever opened the folder."""
        self.owns_bus = bus is None
        self.bus = Bus() if bus is None else bus
        self.bus.faults.clean = redact_report
        self._faults = LoopFaults(self.bus)
        self.registry = Registry()
        self.offers = CommandOffers(self.registry, self.bus, options.loaded, of_agent=options.native is not None)
        self.files = FileSystem()
        """The virtual files; each part that starts adds its mounts."""
        self.parts = PartLifecycle(self.bus)
        self.project = options.loaded.project
        self.store: Store | None = None
        self.agent_states = AgentStates(self.bus)
        self.branch = BranchWatch(self.bus, options.cwd)
        self._variables: dict[str, Variables] = {}
        """Of each conversation, for the command language."""
        self._telling: asyncio.Task[None] | None = None
        self.journal: Journal | None = None
        self.gate: Gate | None = None
        self.approvals: ApprovalWatch | None = None
        self.relay: Relay | None = None
        self.circle: RelayCircle | None = None
        """Of the hubs that have this one as their host, and its own."""
        self.models: ModelPool | None = None
        self.roster: LocalRoster | None = None
        self.telemetry: Telemetry | None = None
        self.fleet: Fleet | None = None
        self.contexts: ContextRouter | None = None
        """The requests to any agent's model, once there are providers and a record."""
        self.shell_log: ShellLog | None = None
        self.rows_elsewhere: list[AgentRow] = []
        """The other agents of this folder, where the hub is that of one agent's process."""
        self._mcp_servers: ServerPool | None = None
        self.make_mcp_servers: Callable[[], ServerPool] | None = None
        """Makes the MCP servers, once one is needed."""
        self.small_model = SmallModel(self, options.agent)
        self.parts.ceases_with(self.small_model.cease)
        self.make_shared_shell: Callable[[], SharedShell] | None = None
        """Gives the shell that people and agents share, once there can be one."""
        self.is_shown: Callable[[str], bool] = lambda home: False
        """Whether a window of this process is open in a folder: it calls the person about the agents there."""
        self.hosted: Callable[[str], HostedAgent | None] = lambda agent: None
        """Our own agents in terminals that run in this process."""
        self.call_person: Callable[[str, str], None] | None = None
        """Calls the person who has no window open, by what is configured: a text, and an agent's name."""
        self.make_mail: Callable[[], MailService] | None = None
        """Gives the mail between agents, once there is a fleet."""
        self.make_calls: Callable[[], CallService] | None = None
        """Gives the calls, once there can be some."""
        self.hooks: AgentHooks | None = None
        """The hooks of its agents, once there are agents and hooks."""
        self.read_prompts: Callable[[], Coroutine[Any, Any, None]] = _nothing
        """Makes commands of the prompts that people keep as files."""

    async def start(self) -> None:
        """Start the parts that the options name, in order. Never raises: failures are in `failed` and on the bus."""
        started = time.monotonic()
        if self.owns_bus:
            self._faults.install()
        await self.parts.attempt("git branch", self.branch.read_branch)
        about = self.options.about or "settings"
        for problem in self.options.loaded.problems:
            self.bus.publish(Noticed(level=problem.level, text=str(problem), about=about))
        await self.parts.attempt("sandbox", self._clean_cut_off_runs)
        await self.parts.attempt("commands", self._offer_commands)
        await self.parts.attempt("plugins", self._add_plugins)
        for part, start in self._starts.items():
            if part not in self.options.parts:
                continue
            await self.parts.start(part, partial(start, self))
            if self.failed and self.options.native is not None:
                return  # an agent needs all of its parts
        self.bus.publish(
            HubStarted(
                cwd=str(self.options.cwd),
                project=str(self.project),
                branch=self.branch.name,
                seconds=time.monotonic() - started,
            )
        )
        options = self.options
        if options.native is None and not (options.visiting or options.keeper):
            self._telling = start_job(self._tell_news(), "what is new here")

    async def _clean_cut_off_runs(self) -> None:
        """Take out of projects what sandboxed commands have left that were killed with their process, and say so."""
        from gshtui.settings import paths

        state = paths.state_dir(create=False)
        if not (state / "open-runs").is_dir():
            return
        from gshtui.guard.sandbox.open_run import clean_cut_off_runs, untold  # few are cut off

        told = [] if self.host is not None else await asyncio.to_thread(clean_cut_off_runs, state)  # it has done so
        if self.options.keeper or self.options.native is not None:  # nobody looks on
            await asyncio.to_thread(untold, state, told)
            return
        for sentence in (*await asyncio.to_thread(untold, state), *told):
            self.bus.publish(Noticed(level="warning", text=sentence, about=self.options.about or "sandbox"))

    async def _add_plugins(self) -> None:
        from gshtui.settings import plugins

        if os.path.exists(plugins.approvals_file()):  # noqa: PTH110 - false for a refused path
            from gshtui.hub.plugin_offers import add_plugins  # few have plugins

            await add_plugins(self.registry, self.bus, self.offers.things)

    async def _tell_news(self) -> None:
        from gshtui.hub.plugin_offers import announce_plugins

        await tell_unseen_programs(self.bus, self.project, self.options.about)
        await announce_plugins(self.bus)

    def cease(self) -> None:
        """Start nothing from now on: no request to a model, no tool. What runs is interrupted, what waits is kept."""
        self.parts.cease()

    async def stop(self) -> None:
        """Stop the parts in reverse. Turns in progress end as interrupted, with everything said so far on disk."""
        self.cease()
        await self.parts.stop()
        self.bus.publish(HubStopped())
        await cancel_and_wait(self._telling)
        ends: list[Callable[[], Awaitable[object] | None]] = [self.agent_states.close]
        if self.owns_bus:
            ends.append(self.bus.close)
        if self.store is not None and self.host is None:
            ends.append(self.store.close)
        await end_all("the end of the hub", *ends)
        if self.owns_bus:
            self._faults.remove()

    def open_approvals(self) -> OpenApprovals:
        """The questions asked here now, and what was allowed for a conversation."""
        from gshtui.guard.approval.open_approvals import OpenApprovals

        return OpenApprovals() if self.approvals is None else self.approvals.state

    @property
    def failed(self) -> dict[str, PartFailed]:
        """The parts that do not work, by name."""
        return self.parts.failed

    async def first_prompt(self, agent: str) -> str:
        """What a person or agent first said in the conversation of an agent of this process. Raises `StoreError`."""
        local = self.local_agent(agent)
        messages = [] if local is None else await local.messages()
        return next((message.text for message in messages if message.role == "user"), "")

    async def run(
        self,
        line: str | Returns[Any],
        caller: Caller | None = None,
        *,
        output: Callable[[str], None] | None = None,
        ask: Ask | None = None,
        front: str = "",
    ) -> Outcome:
        """Run one line of the command language, or a value, and render its outcome.

        Args:
            line: with or without a leading slash.
            caller: on whose behalf; a person's by default.
            output: receives output as it arrives, sanitised.
            ask: asks a person what commands of a line ask before they act; `None`: those that lose something refuse.
            front: the agent of the tab in which it was typed; empty: the hub's own.

        Raises `UsageError`: the line does not use a command correctly; `CommandError`: the command could not do it.
        """
        invocation = self.invocation(caller or Caller(), output, front)
        if not isinstance(line, str):
            outcome = await execution.run_value(self.registry, line, invocation)
            invocation.variables.keep_last(result_of(outcome))
            return outcome
        run_stage = self._run_stage if ask is None else asking(self.registry, ask, self._run_stage)
        return await run_line(self.registry, line, replace(invocation, run_stage=run_stage))

    async def _run_stage(self, command: AnyCommand, parameters: Any, invocation: Invocation) -> Outcome:
        """Run a command of a line; a person's shell commands are kept as those of their shells are."""
        parsed = Parsed(command, parameters)
        if self.shell_log is not None and self.shell_log.by_hand.has_room(parsed, invocation):
            return await self.shell_log.by_hand.run(parsed, invocation)
        return await execution.run_parsed(command, parameters, invocation)

    async def call(self, parameters: Returns[R], caller: Caller | None = None, *, front: str = "") -> R:
        """Run the command of these parameters; return its typed result. `front`, and what it raises: as for `run`."""
        return await execution.call(self.registry, parameters, self.invocation(caller or Caller(), front=front))

    async def question(self, parameters: Returns[Any], *, front: str = "") -> Question | None:
        """The question to a person before these are run; `None`: there is none. Raises as `run` does."""
        return await execution.question(self.registry, parameters, self.invocation(Caller(), front=front))

    def bound(self, line: str) -> Returns[Any] | None:
        """A line as a value to call; `None`: it has none, or is of several commands. Raises `UsageError`."""
        return execution.bound(self.registry, line, self.invocation(Caller()).variables)

    def split_line(self, line: str) -> list[str]:
        """The parts of a line that `;` and new lines separate. Raises `UsageError` if it is not of the language."""
        return split_line(self.registry, line)

    def opens(self, line: str) -> str:
        """The list that a line opens in a window; empty: none."""
        return execution.opened_list(self.registry, line)

    def for_row(self, key: str, row: object) -> Returns[object] | None:
        """The call that a pane's key makes for one of its rows; `None`: none."""
        return self.registry.for_row(key, row)

    def invocation(self, caller: Caller, output: Callable[[str], None] | None = None, front: str = "") -> Invocation:
        """The context of a command that runs here now; `front`: as for `run`."""
        session = self.session_of(self.options.agent)
        return Invocation(
            caller=caller,
            cwd=self.options.cwd,
            project=self.project,
            session=session,
            agent=self.options.agent,
            front=front,
            output=output or (lambda _: None),
            variables=self._variables.setdefault(session, Variables()),
        )

    async def call_section(self, agent: str) -> Contribution:
        """What an agent's requests say of the call that it is in. Raises nothing."""
        from gshtui.context.log.ports import Contribution

        return Contribution() if self.make_calls is None else await self.make_calls().section(agent)

    async def sync_shells(self) -> None:
        """Store what shells have written into their spool until now, so that the record has it. Raises nothing."""
        if self.host is not None:
            await self.host.sync_shells()
        elif self.shell_log is not None:
            await self.shell_log.sync_spool()

    async def sync_programs(self) -> None:
        """Record what other programs have used until now, where no running hub does that. Raises nothing."""
        if self.store is not None and self.host is None:
            from gshtui.fleet.lifecycle.program_usage import record_unfollowed

            await record_unfollowed(self.store)

    @property
    def shell_rows(self) -> ShellTables | None:
        """The rows of the shell log; `None` where there is no record."""
        return self.store.shells if self.store is not None else None

    @property
    def sent_prompts(self) -> PromptTable | None:
        """What was typed into input lines; `None` where there is no record."""
        return self.store.prompts if self.store is not None else None

    @property
    def shared_shell(self) -> SharedShell | None:
        """The shell that people and agents share; `None` where there can be none."""
        return self.make_shared_shell() if self.make_shared_shell is not None else None

    @property
    def socket(self) -> str:
        """Where agents in terminals report to; empty when nothing listens."""
        return self.relay.socket if self.relay is not None else ""

    async def messages(self, session: str, *, before: int | None = None, limit: int = 200) -> list[StoredMessage]:
        """The newest `limit` messages older than `before` (a log position), oldest first. Raises `StoreError`: the
        store cannot read them.
        """
        return [] if self.store is None else await self.store.messages.read(session, before=before, limit=limit)

    async def newer_messages(self, session: str, after: int, limit: int = 1_000) -> list[StoredMessage]:
        """The oldest `limit` messages behind `after` (a log position), in order: what another process has added.
        Raises `StoreError`: the store cannot read them.
        """
        return [] if self.store is None else await self.store.messages.read_after(session, after, limit)

    async def known_prompts(self, prompts: Sequence[str]) -> list[str]:
        """Those of some prompts of this moment that the record has. Raises `StoreError`: it cannot be read."""
        return [] if self.store is None else await self.store.queue.known(prompts)

    async def last_turn(self, session: str) -> TurnStarted | TurnFinished | None:
        """The end of a conversation's last turn, or its beginning if it has no end; `None`: there was none. Raises
        `StoreError`: the store cannot read it.
        """
        return None if self.store is None else await self.store.journal.last_turn(session)

    def carries(self, agent: str) -> bool:
        """Whether the agent lives in another process, which records its events itself."""
        return self.relay is not None and self.relay.carries(agent)

    def connected(self, agent: str) -> bool:
        return self.relay is not None and self.relay.connected(agent)

    def local_agent(self, name: str) -> Agent | None:
        """The agent of this process with that name or id."""
        return self.roster.get(name) if self.roster is not None else None

    def is_working(self, name: str) -> bool:
        """Whether a turn of an agent of this process is in progress."""
        agent = self.local_agent(name)
        return agent is not None and agent.working

    async def keep_prompts(self) -> None:
        """Return once the record has what the agents of this process were sent."""
        for agent in self.roster or ():
            await agent.keep_prompts()
        if self.relay is not None and self.relay.unreached is not None:
            await self.relay.unreached.written()

    async def settle_agents(self) -> None:
        """Return once the files are kept as the last turns of this process's agents have left them."""
        for agent in self.roster or ():
            await agent.settle()

    def session_of(self, name: str) -> str:
        """The own conversation of an agent of this process; empty: there is none."""
        agent = self.local_agent(name)
        return agent.home if agent is not None else ""

    def _offer_commands(self) -> None:
        """The commands that need no part of the hub; the parts offer their own when they start."""
        things = self.offers.things
        things.have(self, self.agent_states, self.files, self.small_model)
        for part in ("hub", "settings", "models"):
            self.offers.offer(part)
        self.parts.stops_with("small model", self.small_model.close)
        self.parts.stops_with("python", partial(things.close, "Interpreters"))
        self.parts.stops_with("mcp", self._close_mcp_servers)

    async def look_at_agents(self) -> None:
        """A command that ends soon, or an agent's own hub, follows no agents, so it looks when it is asked.
        Raises `FleetError`: they cannot be looked at.
        """
        if self.fleet is not None and self.options.visiting:
            await self.fleet.refresh()
        elif self.options.native is not None and self.store is not None:
            from gshtui.store.engine.store_errors import StoreError

            with suppress(StoreError):
                rows = await self.store.agents.find_all()
                own = self.options.agent
                home = next((row.home for row in rows if row.id == own), str(self.options.cwd))
                here = (row for row in rows if row.home == home and row.id != own)
                self.rows_elsewhere = [row for row in here if not (row.archived or row.killed)]

    def mcp_servers(self) -> ServerPool:
        """The MCP servers, made when they are first needed; none of them is started by that."""
        if self._mcp_servers is None:
            assert self.make_mcp_servers is not None
            self._mcp_servers = self.make_mcp_servers()
        return self._mcp_servers

    @property
    def has_mcp_servers(self) -> bool:
        """Whether there are MCP servers, without making anything of them."""
        loaded = self.options.loaded
        if self._mcp_servers is not None or self.settings.mcp.servers or loaded.client.servers:
            return True
        from gshtui.settings import paths, plugins
        from gshtui.settings.server_files import has_server_files

        return has_server_files(paths.home(), self.project) or plugins.has_claude_plugins()

    async def _close_mcp_servers(self) -> None:
        if self._mcp_servers is not None:
            await self._mcp_servers.close()


_NAMED = 3


async def tell_unseen_programs(bus: Bus, project: Path, about: str = "") -> None:
    """Publish a notice if there is anything that they have not seen. Returns within seconds.

    Args:
        bus: where it is published.
        project: the folder; one that nobody trusted has no notice.
        about: the notice's subject.
    """
    names = [one_line(literal(name), 80) for name in await asyncio.to_thread(trust.unseen_programs, project)]
    if not names:
        return
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    text = f"In this folder git runs what has changed since you trusted it: {', '.join(names[:_NAMED])}{more}."
    hint = "`gsh-tui config trust` shows it; until you have read it, start nothing here that uses git."
    bus.publish(Noticed(level="warning", text=text, hint=hint, about=about or "settings"))


class BranchWatch:
    """The branch of one folder; `name` is empty outside a git repository and before `read_branch`."""

    def __init__(self, bus: Bus, cwd: Path) -> None:
        self.name = ""
        self._bus = bus
        self._cwd = cwd
        bus.subscribe(self._reread, TurnFinished, name="branch")

    async def read_branch(self) -> str:
        """Read it now."""
        self.name = await asyncio.to_thread(branch, self._cwd)
        return self.name

    async def _reread(self, _batch: Sequence[Event]) -> None:
        before = self.name
        if await self.read_branch() != before:
            self._bus.publish(BranchChanged(branch=self.name))

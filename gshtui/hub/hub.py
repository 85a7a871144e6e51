"""The hub: composition root of everything but the interfaces. Starts its parts in order and stops them in reverse.
A part that fails is reported and left out; the others go on.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import TurnFinished
from gshtui.bus.events.hub_events import BranchChanged, HubStarted, HubStopped, Noticed, PartFailed
from gshtui.bus.loop_faults import LoopFaults
from gshtui.commands import execution
from gshtui.commands.declaration import Caller, Invocation, Outcome, Question, R, Returns
from gshtui.commands.language import parse
from gshtui.commands.registry import Registry
from gshtui.fleet.agent_states import AgentStates
from gshtui.hub.command_offers import AgentSources, CommandOffers, Spawner
from gshtui.hub.hub_options import HubOptions
from gshtui.hub.part_lifecycle import PartLifecycle
from gshtui.settings.git_info import branch
from gshtui.system.tasks import end_all

if TYPE_CHECKING:
    from gshtui.agents.agent import LocalRoster
    from gshtui.agents.model_pool import ModelPool
    from gshtui.agents.telemetry import Journal, Telemetry
    from gshtui.context.commands.context_router import ContextRouter
    from gshtui.fleet.fleet import Fleet
    from gshtui.fleet.native.relay import Relay
    from gshtui.guard.approval import Gate
    from gshtui.shell.log.shell_log import ShellLog
    from gshtui.store.message_table import StoredMessage
    from gshtui.store.prompt_table import PromptTable
    from gshtui.store.shell_tables import ShellTables
    from gshtui.store.store import Store


class BranchWatch:
    """The branch of one folder; `name` is empty outside of git and before `read_branch`."""

    def __init__(self, bus: Bus, cwd: Path) -> None:
        self.name = ""
        self._bus = bus
        self._cwd = cwd
        bus.subscribe(self._again, TurnFinished, name="branch")

    async def read_branch(self) -> str:
        """Read it now."""
        self.name = await asyncio.to_thread(branch, self._cwd)
        return self.name

    async def _again(self, _batch: Sequence[Event]) -> None:
        before = self.name
        if await self.read_branch() != before:
            self._bus.publish(BranchChanged(branch=self.name))


# What a part needs is imported where it starts: a command of one part loads nothing of the others.


class Hub:
    """Made inside a running event loop; `start` and `stop` bracket its life."""

    def __init__(self, options: HubOptions) -> None:
        self.options = options
        self.settings = options.loaded.settings
        self.bus = Bus()
        self._faults = LoopFaults(self.bus)
        self.registry = Registry()
        self.offers = CommandOffers(self.registry, self.bus, options.loaded, options.cwd)
        self.parts = PartLifecycle(self.bus)
        self.project = options.loaded.project
        self.store: Store | None = None
        self.agent_states = AgentStates(self.bus)
        self.branch = BranchWatch(self.bus, options.cwd)
        self.journal: Journal | None = None
        self.gate: Gate | None = None
        self.relay: Relay | None = None
        self.models: ModelPool | None = None
        self.roster: LocalRoster | None = None
        self.telemetry: Telemetry | None = None
        self.fleet: Fleet | None = None
        self.contexts: ContextRouter | None = None
        """What any agent's model is sent, once there are providers and a record."""
        self.shell_log: ShellLog | None = None
        self.shared_shell: Any = None
        """The shell that people and agents share (`terminal_tools.shared.SharedShell`), once there is one."""

    async def start(self) -> None:
        """Start the parts that the options name, in order. Never raises: what fails is in `failed` and on the bus."""
        started = time.monotonic()
        self._faults.install()
        await self.parts.attempt("git branch", self.branch.read_branch)
        for problem in self.options.loaded.problems:
            self.bus.publish(Noticed(level=problem.level, text=str(problem), about="settings"))
        steps: tuple[tuple[str, Callable[[], Awaitable[None]]], ...] = (
            ("store", self._start_store),
            ("guard", self._start_guard),
            ("socket", self._start_socket),
            ("providers", self._start_providers),
            ("agents", self._start_agents),
            ("fleet", self._start_fleet),
            ("shell", self._start_shell),
        )
        await self.parts.attempt("commands", self._offer_commands)
        for part, start in steps:
            if part in self.options.parts:
                await self.parts.start(part, start)
        self.bus.publish(
            HubStarted(
                cwd=str(self.options.cwd),
                project=str(self.project),
                branch=self.branch.name,
                seconds=time.monotonic() - started,
            )
        )

    async def stop(self) -> None:
        """Stop the parts in reverse. Turns in progress end as interrupted, and what was said is on disk."""
        await self.parts.stop()
        self.bus.publish(HubStopped())
        store = [self.store.close] if self.store is not None else []
        await end_all("the end of the hub", self.agent_states.close, self.bus.close, *store)
        self._faults.remove()

    @property
    def failed(self) -> dict[str, PartFailed]:
        """The parts that do not work, by name."""
        return self.parts.failed

    async def run(
        self, line: str | Returns[Any], caller: Caller | None = None, *, output: Callable[[str], None] | None = None
    ) -> Outcome:
        """Run one line of the command language, or a value, and render what it came to.

        Args:
            line: with or without a leading slash.
            caller: on whose behalf; a person's by default.
            output: takes output as it comes, sanitised.

        Raises:
            UsageError: the line is no valid use of a command.
            CommandError: the command could not do it.
        """
        invocation = self.invocation(caller or Caller(), output)
        if not isinstance(line, str):
            return await execution.run_value(self.registry, line, invocation)
        parsed = parse(self.registry, line)
        if self.shell_log is not None and self.shell_log.by_hand.has_room(parsed, invocation):
            return await self.shell_log.by_hand.run(parsed, invocation)
        return await execution.run_parsed(parsed.command, parsed.parameters, invocation)

    async def call(self, parameters: Returns[R], caller: Caller | None = None) -> R:
        """Run the command that these parameters are for; gives its typed result. Raises as `run` does."""
        return await execution.call(self.registry, parameters, self.invocation(caller or Caller(), None))

    async def question(self, parameters: Returns[Any]) -> Question | None:
        """What a person is asked before these are run; `None`: nothing. Raises as `run` does."""
        return await execution.question(self.registry, parameters, self.invocation(Caller(), None))

    def bound(self, line: str) -> Returns[Any] | None:
        """A line as a value to call; `None`: its command has none. Raises `UsageError`."""
        return execution.bound(self.registry, line)

    def opens(self, line: str) -> str:
        """The list that a line opens in a window; empty: none."""
        return execution.opened_list(self.registry, line)

    def for_row(self, key: str, row: object) -> Returns[object] | None:
        """What a key of a pane calls for one of its rows; `None`: nothing."""
        return self.registry.for_row(key, row)

    def invocation(self, caller: Caller, output: Callable[[str], None] | None = None) -> Invocation:
        """The surroundings of a command that runs here now."""
        agent = self.roster.get(self.options.agent) if self.roster else None
        return Invocation(
            caller=caller,
            cwd=self.options.cwd,
            project=self.project,
            session=agent.session if agent else "",
            agent=self.options.agent,
            output=output or (lambda _: None),
        )

    @property
    def shell_rows(self) -> ShellTables | None:
        """The rows of the shell log; `None` where there is no record."""
        return self.store.shells if self.store is not None else None

    @property
    def sent_prompts(self) -> PromptTable | None:
        """What was typed into input lines; `None` where there is no record."""
        return self.store.prompts if self.store is not None else None

    @property
    def socket(self) -> str:
        """Where agents in terminals report to; empty when nothing listens."""
        return self.relay.socket if self.relay is not None else ""

    async def messages(self, session: str, *, before: int | None = None, limit: int = 200) -> list[StoredMessage]:
        """The newest `limit` messages older than `before` (a log position), oldest first.

        Raises:
            StoreError: the store can't give them.
        """
        return [] if self.store is None else await self.store.messages.read(session, before=before, limit=limit)

    async def _start_store(self) -> None:
        from gshtui.agents.telemetry import Journal, Telemetry
        from gshtui.store.store import Store

        telemetry = self.telemetry = Telemetry(self.bus, self.settings, os.environ, self.carries)
        self.parts.stops_with("log", telemetry.close)
        self.store = await Store.open(
            self.settings.general.session_dir / "gsh.db",
            synchronous=self.settings.store.synchronous,
            on_notice=lambda text, hint: self.bus.publish(
                Noticed(level="warning", text=text, hint=hint, about="store")
            ),
        )
        self.journal = Journal(self.bus, self.store)
        telemetry.keep_usage(self.store)
        self.offers.offer_record(self.store, self.project, self.session_of)

    async def _start_guard(self) -> None:
        from gshtui.guard.approval import Gate, NoGrants, ProjectGrants

        grants = NoGrants() if self.store is None else ProjectGrants(self.store.grants, str(self.project))
        self.gate = Gate(
            self.bus,
            grants,
            mode=self.options.approvals,
            auto_approve=frozenset(self.settings.agent.auto_approve),
        )
        self.parts.stops_with("guard", self.gate.close)

    async def _start_socket(self) -> None:
        from gshtui.fleet.native.relay import open_relay

        answers = self.options.approvals == "ask" and not self.options.visiting
        self.relay = await open_relay(
            self.bus, self.gate, self.journal, self.options.cwd, self.project, answers=answers
        )
        self.parts.stops_with("socket", self.relay.stop)

    async def _start_providers(self) -> None:
        from gshtui.agents.model_pool import ModelPool

        self.models = ModelPool(self.settings, os.environ)
        self.parts.stops_with("providers", self.models.close)
        for problem in self.models.catalog.problems:
            self.bus.publish(Noticed(level="warning", text=problem, about="models"))
        self.offers.offer_models(self.models, self.options.agent, self.agent_states)
        self._make_contexts(self.models)

    def carries(self, agent: str) -> bool:
        """Whether the agent lives in another process, which keeps what it does itself."""
        return self.relay is not None and self.relay.carries(agent)

    def connected(self, name: str) -> bool:
        return self.relay is not None and self.relay.connected(name)

    def session_of(self, name: str) -> str:
        agent = self.roster.get(name) if self.roster is not None else None
        return agent.session if agent is not None else ""

    def _agent_names(self) -> list[str]:
        return [state.row.id for state in self.agent_states.all()]

    def _offer_commands(self) -> None:
        """The commands that need no part of the hub; the parts offer their own when they start."""
        agents = AgentSources(
            self.agent_states,
            lambda: self.fleet.rows(everywhere=False) if self.fleet is not None else [],
            self._context_facts,
            lambda row: self.fleet.attach_words(row) if self.fleet is not None else [],
        )
        self.offers.offer_general(agents, Spawner())

    async def _start_agents(self) -> None:
        from gshtui.hub.agents_part import start_agents

        if self.store is not None:
            self.registry.get("todo")  # the lists of things to do hear of each conversation that is opened
        await start_agents(self)

    async def _start_fleet(self) -> None:
        from gshtui.hub.fleet_part import start_fleet

        await start_fleet(self)

    async def _start_shell(self) -> None:
        from gshtui.hub.shell_part import start_shell

        await start_shell(self)

    def _make_contexts(self, models: ModelPool) -> None:
        if self.store is None or self.telemetry is None:
            return
        from gshtui.agents.context_assembly import make_contexts

        contexts = self.contexts = make_contexts(
            self.bus, self.store, self.settings.context, models,
            lambda name: self.roster.get(name) if self.roster is not None else None,
            str(self.options.cwd), self.telemetry.redactor.redact,
        )  # fmt: skip
        self.offers.offer_contexts(contexts, self.store, self._agent_names)

    async def _context_facts(self, agent: str) -> dict[str, Any] | None:
        if self.contexts is None:
            return None
        from gshtui.context.commands.agent_facts import facts

        return await facts(self.contexts, agent)

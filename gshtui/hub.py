"""The hub: composition root of everything but the faces. Builds the parts in order and stops them.

A part that fails to start is reported as `PartFailed` and the rest runs: without a store conversations live in memory,
without a provider the offline one answers. Faces make one hub each, with the parts that they need.

Longer than 300 lines because it is the one place that knows every part; each start is a few lines.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gshtui.agents import commands as agent_commands
from gshtui.agents.agent import Agent
from gshtui.agents.branch import BranchWatch
from gshtui.agents.cli import commands as cli_commands
from gshtui.agents.engines import engine_for
from gshtui.agents.fleet.ports import FleetError
from gshtui.agents.journal import Journal
from gshtui.agents.ledger import Ledger
from gshtui.agents.loop import unlimited
from gshtui.agents.minds import Minds
from gshtui.agents.native import commands as native_commands
from gshtui.agents.native.relay import Relay, open_relay
from gshtui.agents.roster import Roster
from gshtui.agents.sessions import Sessions
from gshtui.agents.skills import commands as skill_commands
from gshtui.agents.skills.section import section
from gshtui.agents.skills.shelf import read_shelf
from gshtui.agents.toolbox import Ground, Toolbox
from gshtui.agents.tools import commands as tool_commands
from gshtui.agents.tools.workspace import ToolConfig
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent import ModelChangeRequested
from gshtui.bus.events.hub import HubStarted, HubStopped, Noticed, PartFailed, PartStarted
from gshtui.commands import config as config_commands
from gshtui.commands import help as help_commands
from gshtui.commands.declaration import Caller, Invocation, Outcome
from gshtui.commands.execute import run_line
from gshtui.commands.registry import Registry
from gshtui.context.retrieval.ambient import ambient
from gshtui.context.system import system_sections
from gshtui.guard.approval import Gate, Mode
from gshtui.guard.grants import NoGrants, ProjectGrants
from gshtui.providers import commands as model_commands
from gshtui.providers.port import ProviderError
from gshtui.settings.load import Loaded
from gshtui.shell.place import PlaceError
from gshtui.store import commands as session_commands
from gshtui.store.errors import StoreError
from gshtui.store.messages import StoredMessage
from gshtui.store.store import Store

if TYPE_CHECKING:
    from gshtui.agents.context.everywhere import Everywhere
    from gshtui.agents.fleet.fleet import Fleet
    from gshtui.agents.observing import Observing
    from gshtui.agents.shell_log.log import ShellLog
    from gshtui.context.ports import Contribute

ALL_PARTS = frozenset({"store", "guard", "socket", "providers", "agents", "fleet", "shell"})
_START_WITHIN = 20.0
"""Seconds that one part may take to start."""
_STOP_WITHIN = 8.0
_WARM_AFTER = 1.0
"""Seconds after the start: the window has the processor for itself until then."""


@dataclass(frozen=True, slots=True)
class HubOptions:
    """What a face asks of its hub."""

    cwd: Path
    loaded: Loaded
    """Settings with their origins and problems."""
    session: str = "new"
    """`new`, `latest` (of this folder), an id or a unique prefix of one."""
    agent: str = "main"
    provider: str = ""
    model: str = ""
    approvals: Mode = "ask"
    max_iterations: int = 0
    """Model requests a turn; 0: as the settings say."""
    parts: frozenset[str] = ALL_PARTS
    where: str = ""
    """Where this is, for another window that wants the same conversation."""
    more: tuple[Contribute, ...] = ()
    """What the face has to say along with the person's prompts."""


class Hub:
    """Made inside a running event loop; `start` and `stop` bracket its life."""

    def __init__(self, options: HubOptions) -> None:
        self.options = options
        self.settings = options.loaded.settings
        self.bus = Bus()
        self.registry = Registry()
        self.failed: dict[str, PartFailed] = {}
        self.project = options.loaded.project
        self.store: Store | None = None
        self.ledger = Ledger(self.bus)
        self._branch = BranchWatch(self.bus, options.cwd)
        self._journal: Journal | None = None
        self._stops: list[tuple[str, Callable[[], Awaitable[None]]]] = []
        self._gate: Gate | None = None
        self._relay: Relay | None = None
        self._minds: Minds | None = None
        self._sessions: Sessions | None = None
        self._roster: Roster | None = None
        self._skills = ""
        self._observing: Observing | None = None
        self.fleet: Fleet | None = None
        self.contexts: Everywhere | None = None
        """What any agent's model is sent, once there are providers and a record."""
        self.shell_log: ShellLog | None = None
        self.shared_shell: Any = None
        """The shell that people and agents share (`terminal_tools.shared.SharedShell`), once there is one."""

    async def start(self) -> None:
        """Start the parts that the options name, in order. Never raises: what fails is in `failed` and on the bus."""
        started = time.monotonic()
        await self._branch.look()
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
        self._register_commands()
        for part, start in steps:
            if part in self.options.parts:
                await self._start_part(part, start)
        self.bus.publish(
            HubStarted(
                cwd=str(self.options.cwd),
                project=str(self.project),
                branch=self._branch.name,
                seconds=time.monotonic() - started,
            )
        )

    async def stop(self) -> None:
        """Stop the parts in reverse. Turns in progress end as interrupted, and what was said is on disk."""
        for part, stop in reversed(self._stops):
            try:
                async with asyncio.timeout(_STOP_WITHIN):
                    await stop()
            except TimeoutError:
                self._fail(part, "it did not stop in time", "")
            except (StoreError, ProviderError, FleetError, OSError) as error:
                self._fail(part, str(error), "")
        self.bus.publish(HubStopped())
        await self.ledger.close()
        await self.bus.close()
        if self.store is not None:
            await self.store.close()

    async def run(
        self, line: str, caller: Caller | None = None, *, output: Callable[[str], None] | None = None
    ) -> Outcome:
        """Run one line of the command language.

        Args:
            line: with or without a leading slash.
            caller: on whose behalf; a person's by default.
            output: takes output as it comes, sanitised.

        Raises:
            UsageError: the line is no valid use of a command.
            CommandError: the command could not do it.
        """
        return await run_line(self.registry, line, self.invocation(caller or Caller(), output))

    def invocation(self, caller: Caller, output: Callable[[str], None] | None = None) -> Invocation:
        """The surroundings of a command that runs here now."""
        agent = self._roster.get(self.options.agent) if self._roster else None
        return Invocation(
            caller=caller,
            cwd=self.options.cwd,
            project=self.project,
            session=agent.session if agent else "",
            agent=self.options.agent,
            output=output or (lambda _: None),
        )

    @property
    def socket(self) -> str:
        """Where agents in terminals report to; empty when nothing listens."""
        return self._relay.socket if self._relay is not None else ""

    async def messages(self, session: str, *, before: int | None = None, limit: int = 200) -> list[StoredMessage]:
        """The newest `limit` messages older than `before` (a log position), oldest first.

        Raises:
            StoreError: the store can't give them.
        """
        return [] if self.store is None else await self.store.messages(session, before=before, limit=limit)

    async def prompts(self, limit: int = 1_000) -> list[str]:
        """What was typed in this folder, newest first. Raises `StoreError`."""
        return [] if self.store is None else await self.store.prompts(str(self.options.cwd), limit)

    async def remember(self, text: str) -> None:
        """Keep what was typed, for `prompts`. Raises `StoreError`."""
        if self.store is not None:
            await self.store.add_prompt(str(self.options.cwd), text)

    async def _start_part(self, part: str, start: Callable[[], Awaitable[None]]) -> None:
        began = time.monotonic()
        try:
            async with asyncio.timeout(_START_WITHIN):
                await start()
        except TimeoutError:
            self._fail(part, f"it did not start within {_START_WITHIN:g} s", "")
        except (StoreError, ProviderError, FleetError, PlaceError) as error:
            self._fail(part, error.message, error.hint)
        except Exception as error:  # one part's fault must not take the window down
            self._fail(part, f"{type(error).__name__}: {error}", "`gsh-tui doctor` says more.")
        else:
            self.bus.publish(PartStarted(part=part, seconds=time.monotonic() - began))

    def _fail(self, part: str, why: str, hint: str) -> None:
        self.failed[part] = PartFailed(part=part, why=why, hint=hint)
        self.bus.publish(self.failed[part])

    async def _start_store(self) -> None:
        from gshtui.agents.observing import Observing  # what no first screen needs
        from gshtui.agents.record_commands import commands as record_commands

        observing = self._observing = Observing(self.bus, self.settings, os.environ, self._carries)
        self._stops.append(("log", observing.close))
        self.store = await Store.open(
            self.settings.general.session_dir / "gsh.db",
            synchronous=self.settings.store.synchronous,
            on_notice=lambda text, hint: self.bus.publish(
                Noticed(level="warning", text=text, hint=hint, about="store")
            ),
        )
        self._journal = Journal(self.bus, self.store)
        observing.keep_usage(self.store)
        for command in (
            *session_commands.commands(self.store),
            *record_commands(self.bus, self.store, self.settings, self._session_of, str(self.options.cwd)),
        ):
            self.registry.register(command)

    async def _start_guard(self) -> None:
        grants = NoGrants() if self.store is None else ProjectGrants(self.store, str(self.project))
        self._gate = Gate(
            self.bus,
            grants,
            mode=self.options.approvals,
            auto_approve=frozenset(self.settings.agent.auto_approve),
        )
        self._stops.append(("guard", self._gate.close))

    async def _start_socket(self) -> None:
        answers = self.options.approvals == "ask"
        self._relay = await open_relay(
            self.bus, self._gate, self._journal, self.options.cwd, self.project, answers=answers
        )
        self._stops.append(("socket", self._relay.stop))

    async def _start_providers(self) -> None:
        self._minds = Minds(self.settings, os.environ)
        self._stops.append(("providers", self._minds.close))
        for problem in self._minds.catalog.problems:
            self.bus.publish(Noticed(level="warning", text=problem, about="models"))
        for command in model_commands.commands(
            self._minds.catalog,
            self._change_model,
            settings=self.settings,
            environ=os.environ,
            in_use=self.ledger.in_use,
        ):
            self.registry.register(command)
        self._make_contexts(self._minds)

    async def _start_agents(self) -> None:
        if self._gate is None or self._minds is None:
            raise ProviderError("missing", "Agents need the guard and the providers.")
        self._sessions = Sessions(self.bus, self.store, self.options.where or f"process {os.getpid()}")
        if self._journal is not None:
            self._journal.sessions = self._sessions
        self._skills = await asyncio.to_thread(lambda: section(read_shelf(self.options.cwd)))
        self._roster = Roster(self.bus, self._sessions, str(self.options.cwd))
        self._stops.append(("agents", self._roster.stop))
        agent = await self._roster.add(self.options.agent, self._make_agent, self.options.session)
        try:
            await agent.think_with(self.options.provider, self.options.model)
        except ProviderError as error:
            self._fail("providers", error.message, error.hint)
        else:
            if agent.mind is not None:
                self._minds.warm_soon(agent.mind, _WARM_AFTER)

    async def _start_fleet(self) -> None:
        if self.store is None:
            raise FleetError("store", "Agents in terminals need the record.")
        from gshtui.agents.fleet.assembly import make_fleet  # what no first screen needs
        from gshtui.agents.fleet.commands import commands
        from gshtui.agents.mail import commands as mail_commands
        from gshtui.agents.mail.room import MailRoom
        from gshtui.agents.terminal_tools import commands as terminal_commands

        visiting = "agents" not in self.options.parts
        mail = MailRoom(self.bus, self.store, here=self._session_of, connected=self._connected, visiting=visiting)
        self.fleet = make_fleet(
            self.bus,
            self.store,
            self.settings,
            self.options.cwd,
            visiting=visiting,
            approvals=self.options.approvals,
            session_of=self._session_of,
            hub=lambda: self.socket,
            connected=self._connected,
            gate=self._gate,
            mail=mail,
        )
        self._stops += [("fleet", self.fleet.stop), ("mail", mail.stop)]
        reach = terminal_commands.reach_of(self.settings, mail.terminals, self.store.agents)
        self.shared_shell = reach.shared
        for command in (
            *commands(self.fleet, self.ledger.entries),
            *mail_commands.commands(mail.counter, self.store, mail),
            *terminal_commands.commands(reach, self.settings.context.max_tool_output_bytes),
        ):
            self.registry.register(command)
        if self._relay is not None:
            rows = self.fleet
            self._relay.name_of = lambda id: row.name if (row := rows.get(id)) is not None else ""
        await self.fleet.start()
        await mail.start()

    def _carries(self, agent: str) -> bool:
        """Whether the agent lives in another process, which keeps what it does itself."""
        return self._relay is not None and self._relay.carries(agent)

    async def _start_shell(self) -> None:
        if self.store is None:
            raise StoreError("closed", "What runs in shells needs the record.")
        from gshtui.agents.observing import redactor
        from gshtui.agents.shell_log.assembly import make_shell_log

        self.shell_log = make_shell_log(
            self.bus,
            self.store,
            self.settings,
            self.options.cwd,
            visiting=self.options.approvals != "ask",
            redact=redactor(self.settings, os.environ).redact,
        )
        await self.shell_log.start()
        self._stops.append(("shell", self.shell_log.stop))
        if self.settings.shell.watch_files and self.options.approvals == "ask":
            from gshtui.agents.shell_log.files import ProjectFiles

            files = ProjectFiles(self.bus, self.store, self.project)
            files.start()
            self._stops.append(("files", files.stop))

    def _connected(self, name: str) -> bool:
        return self._relay is not None and self._relay.connected(name)

    def _session_of(self, name: str) -> str:
        agent = self._roster.get(name) if self._roster is not None else None
        return agent.session if agent is not None else ""

    def _make_contexts(self, minds: Minds) -> None:
        if self.store is None or self._observing is None:
            return
        from gshtui.agents.context.commands import commands  # what no first screen needs
        from gshtui.agents.context.making import make_contexts

        self.contexts = make_contexts(
            self.bus, self.store, self.settings.context, minds,
            lambda name: self._roster.get(name) if self._roster is not None else None,
            str(self.options.cwd), self._observing.redactor.redact,
        )  # fmt: skip
        for command in commands(self.contexts, self.store.agent, self._agent_names):
            self.registry.register(command)

    async def _context_facts(self, agent: str) -> dict[str, Any] | None:
        if self.contexts is None:
            return None
        from gshtui.agents.context.facts import facts

        return await facts(self.contexts, agent)

    def _agent_names(self) -> list[str]:
        return [entry.agent for entry in self.ledger.entries()]

    def _make_agent(self) -> Agent:
        assert self._gate is not None and self._minds is not None and self._sessions is not None
        name, options = self.options.agent, self.options
        record = self._sessions.record
        toolbox = Toolbox(
            self.bus,
            self.registry,
            self._gate,
            name,
            Ground(options.cwd, self.project),
            record.put_output,
            self.settings.context.max_tool_output_bytes,
        )
        engine = engine_for(
            self.bus,
            name,
            self.store,
            self.settings.context,
            options.cwd,
            lambda: system_sections(name, options.cwd, self._branch.name, date.today(), self._skills),
            attended=lambda: options.approvals == "ask",
            more=options.more if self.store is None else (ambient(self.store, self.settings.context), *options.more),
        )
        return Agent(
            self.bus,
            name,
            toolbox,
            engine,
            self._minds.choose,
            options.max_iterations or self.settings.context.max_iterations,
            self.settings.agent.max_steps,
            self._observing.limit(name, self.store, self._gate, self._session_of) if self._observing else unlimited,
        )

    def _register_commands(self) -> None:
        tools = ToolConfig.of(self.settings)
        for command in (
            *tool_commands.commands(tools),
            *agent_commands.commands(
                self.bus,
                self.ledger,
                lambda: self.fleet.rows(everywhere=False) if self.fleet is not None else [],
                self._context_facts,
            ),
            *native_commands.commands(self.bus),
            *cli_commands.commands(),
            *skill_commands.commands(),
            *help_commands.commands(self.registry),
            *config_commands.commands(self.options.loaded, publish=self.bus.publish),
        ):
            self.registry.register(command)

    def _change_model(self, provider: str, model: str) -> None:
        self.bus.publish(ModelChangeRequested(agent=self.options.agent, provider=provider, model=model))

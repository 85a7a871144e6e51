"""Composition root of a native agent in its own process: record, gate, models, tools, mail and one conversation.
Parts are opened in order and closed in reverse; what the agent may not use is never registered.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Iterator
from datetime import date
from functools import partial
from pathlib import Path

from gshtui.agents.agent import Agent
from gshtui.agents.agent_factory import AgentCharacter, AgentSurroundings, make_agent
from gshtui.agents.context_assembly import make_contexts
from gshtui.agents.model_pool import ModelPool
from gshtui.agents.sessions import OpenSessions
from gshtui.agents.skills.skill_store import read_skills, skills_section
from gshtui.agents.telemetry import Journal, Telemetry
from gshtui.agents.toolbox import WorkDirs
from gshtui.bus.bus import Bus
from gshtui.bus.events.agent_events import UsageReported
from gshtui.bus.events.context_events import ContextCut
from gshtui.bus.events.hub_events import Noticed
from gshtui.commands.declaration import Caller, Invocation
from gshtui.commands.registry import Registry
from gshtui.context.retrieval.shell_summary import shell_summary
from gshtui.context.system_section import system_sections
from gshtui.fleet.agent_states import AgentStates
from gshtui.fleet.agent_terminals import AgentTerminals
from gshtui.fleet.mail.inbox import MailInbox
from gshtui.fleet.mail.outbox import Addresses, MailOutbox
from gshtui.fleet.native.outcome import AgentProcessError
from gshtui.fleet.native.permissions import SpendingBudget, open_gate, permitted_registry, spending_limit, unknown_tools
from gshtui.fleet.native.spec import Spec
from gshtui.fleet.terminal_tools.commands import terminal_targets
from gshtui.guard.approval import Gate
from gshtui.hub.command_offers import LEFT_OUT_OF_AGENTS, AgentSources, CommandOffers, Spawner
from gshtui.providers.port import ProviderError
from gshtui.settings.git_info import branch as current_branch
from gshtui.settings.loader import Loaded, load
from gshtui.settings.model import Settings
from gshtui.store.store import Store
from gshtui.store.store_errors import StoreError
from gshtui.system.tasks import end_all

_TASK = """\
You were started by {who} for one task, and work in a terminal of your own. Nobody watches while you work: your last \
answer is your report, and all that {who} gets. So finish the task, or say plainly how far you got and what \
remains, and put your findings into the report itself, for example “src/login.py:42 compares hashes with ==”, not \
“see above”."""


def system_texts(spec: Spec, cwd: Path, branch: str, skills: str) -> tuple[str, ...]:
    """The texts in their order, the facts of the environment last."""
    character, facts = system_sections(spec.name or spec.agent, cwd, branch, date.today())
    who = "another agent" if spec.request.parent else "a person"
    task = _TASK.format(who=who) if spec.request.background or spec.request.parent else ""
    words = spec.persona.words.strip() if spec.persona else ""
    return (character, *(part for part in (skills, words, task) if part), facts)


class AgentProcess:
    """See the module's text. Made inside a running loop; `open` and `close` bracket its life."""

    def __init__(self, spec: Spec, bus: Bus, linked: Callable[[], bool] = lambda: False) -> None:
        """`linked`: whether a hub is connected now."""
        self.spec = spec
        self._linked = linked
        self._inbox: MailInbox | None = None
        self.bus = bus
        self.registry = Registry()
        self.agent_states = AgentStates(bus)
        self.budget = SpendingBudget(spec.request.budget_usd, spec.agent)
        self.agent: Agent | None = None
        self.resumed = False
        """The first prompt was taken up in an earlier life, and something came of it; it is not sent again."""
        self._cwd = Path(spec.cwd)
        self._loaded: Loaded | None = None
        self._store: Store | None = None
        self._gate: Gate | None = None
        self._models: ModelPool | None = None
        self._sessions: OpenSessions | None = None
        self._branch = ""
        self._skills = ""
        self._outbox: MailOutbox | None = None
        self._telemetry: Telemetry | None = None
        self._terminals = AgentTerminals()

    @property
    def project(self) -> Path:
        """Root of the agent's own ground."""
        return self._loaded.project if self._loaded is not None else self._cwd

    async def open(self) -> None:
        """Build everything, in order. Raises `AgentProcessError`."""
        if not await asyncio.to_thread(self._cwd.is_dir):
            raise AgentProcessError(
                f"The folder {self._cwd} does not exist any more.", hint="Start another agent elsewhere."
            )
        loaded = self._loaded = await asyncio.to_thread(load, self._cwd, flags=self.spec.flags)
        settings = loaded.settings
        for problem in loaded.problems:
            self.bus.publish(Noticed(level=problem.level, text=str(problem), about=self.spec.agent))
        self._branch = await asyncio.to_thread(current_branch, self._cwd)
        self._skills = await asyncio.to_thread(lambda: skills_section(read_skills(self._cwd)))
        try:
            store = self._store = await self._open_record(settings)
            telemetry = self._telemetry = self._keep_record(store, settings)
            self._gate = open_gate(self.spec, self.bus, store, settings, self.project)
            models = self._models = ModelPool(settings, os.environ)
            self._offer_commands(loaded, store, models, telemetry)
            await self._open_agent()
        except StoreError as error:
            raise AgentProcessError(error.message, hint=error.hint) from error
        except ProviderError as error:
            raise AgentProcessError(error.message, hint=error.hint, exit=3) from error

    async def close(self) -> None:
        """Stop the agent, let go of its conversation, write what is queued. Never raises."""
        await end_all("the end of the agent", *self._ends())

    def _ends(self) -> Iterator[Callable[[], Awaitable[object] | None]]:
        if self._inbox is not None:
            yield self._inbox.stop
        if self.agent is not None:
            yield self.agent.stop
        if self._sessions is not None:
            yield partial(self._close_sessions, self._sessions)
        if self._gate is not None:
            yield self._gate.close
        if self._models is not None:
            yield partial(self._close_models, self._models)
        if self._outbox is not None:
            yield self._outbox.close
        yield self._terminals.close
        yield self.bus.drained
        if self._telemetry is not None:
            yield self._telemetry.close
        yield self.agent_states.close
        if self._store is not None:
            yield self._store.close

    async def _close_sessions(self, sessions: OpenSessions) -> None:
        with contextlib.suppress(StoreError):  # the hold of a process that is gone counts for nothing
            await sessions.close_all()

    async def _close_models(self, models: ModelPool) -> None:
        with contextlib.suppress(ProviderError, OSError):  # its connections end with the process
            await models.close()

    def invocation(self, output: Callable[[str], None] | None = None) -> Invocation:
        """The surroundings of a command that a person types in the agent's pane."""
        return Invocation(
            caller=Caller(),
            cwd=self._cwd,
            project=self.project,
            session=self.agent.session if self.agent else "",
            agent=self.spec.agent,
            output=output or (lambda _: None),
        )

    async def _open_record(self, settings: Settings) -> Store:
        return await Store.open(
            Path(self.spec.data) / "gsh.db",
            synchronous=settings.store.synchronous,
            on_notice=lambda text, hint: self.bus.publish(
                Noticed(level="warning", text=text, hint=hint, about=self.spec.agent)
            ),
        )

    def _keep_record(self, store: Store, settings: Settings) -> Telemetry:
        """Write down what happens, and count what it costs."""
        telemetry = Telemetry(self.bus, settings, os.environ)
        telemetry.keep_usage(store)
        Journal(self.bus, store)
        self.bus.subscribe(self.budget.note, UsageReported, ContextCut, name="budget")
        return telemetry

    def _offer_commands(self, loaded: Loaded, store: Store, models: ModelPool, telemetry: Telemetry) -> None:
        settings, spec = loaded.settings, self.spec
        offers = CommandOffers(self.registry, self.bus, loaded, self._cwd, without=LEFT_OUT_OF_AGENTS)
        offers.offer_general(AgentSources(self.agent_states), Spawner(spec.depth, lambda: self.budget.left, ask=False))
        offers.offer_record(store, self.project, self._session_of)
        offers.offer_models(models, spec.agent, self.agent_states)
        contexts = make_contexts(
            self.bus, store, settings.context, models, self._here, spec.cwd, telemetry.redactor.redact
        )
        offers.offer_contexts(contexts, store)
        outbox = self._outbox = MailOutbox(self.bus, store, Addresses(store, lambda name: ""))
        offers.offer_mail(store, lambda: outbox)
        targets = terminal_targets(settings, self._terminals, store.agents.find_all, socket=spec.tmux_socket)
        offers.offer_terminals(lambda: targets)
        for tool in unknown_tools(self.registry, spec.limits):
            text = f"There is no tool {tool!r}, which this agent was to have."
            self.bus.publish(Noticed(level="warning", text=text, about=spec.agent))

    def _here(self, agent: str) -> Agent | None:
        return self.agent if agent in (self.spec.agent, self.spec.name) else None

    async def _open_agent(self) -> None:
        assert self._store is not None and self._gate is not None and self._telemetry is not None
        assert self._models is not None and self._loaded is not None
        spec, settings = self.spec, self._loaded.settings
        self._sessions = OpenSessions(self.bus, self._store, f"agent {spec.name or spec.agent}")
        around = AgentSurroundings(
            self.bus,
            settings,
            permitted_registry(self.registry, spec.limits),
            self._gate,
            self._models.choose,
            self._sessions.record,
            self._store.contexts,
            WorkDirs(self._cwd, self.project),
        )
        budgets = self._telemetry.budgets(spec.agent, self._store, self._gate)
        character = AgentCharacter(
            spec.agent,
            self._system,
            attended=lambda: self._linked() and spec.approvals == "ask",
            more=() if spec.request.parent else (shell_summary(self._store.shells, settings.context),),
            max_iterations=spec.request.max_iterations,
            max_steps=spec.max_steps,
            limit=spending_limit(self.budget, budgets, lambda: self._session_of(spec.agent)),
        )
        agent = make_agent(around, character)
        self.agent = agent
        await agent.think_with(spec.request.provider, spec.request.model)
        await self._converse(agent, self._store, self._sessions)
        agent.start()
        self._inbox = MailInbox(self.bus, self._store, spec.agent, linked=self._linked, working=lambda: agent.working)
        self._inbox.start()

    async def _converse(self, agent: Agent, store: Store, sessions: OpenSessions) -> None:
        spec, handle = self.spec, agent.model_handle
        session = spec.session
        if not session:
            info = await store.sessions.create(
                cwd=spec.cwd, agent=spec.agent, title=spec.name, parent=spec.parent_session or f"agent {spec.agent}"
            )
            session = info.id
        opened = await sessions.open(session, agent=spec.agent, cwd=spec.cwd)
        if opened.conversation is None:
            raise AgentProcessError(
                f"The conversation {session} of this agent is open in {opened.info.held_by or 'another process'}.",
                hint="It runs already; `gsh-tui agent ls` shows where.",
            )
        messages = await opened.conversation.messages()
        self.resumed = any(message.id == spec.prompt for message in messages[:-1])
        if handle is not None:
            self.budget.spent_before(messages, handle)
        agent.converse(opened.conversation)

    def _system(self) -> tuple[str, ...]:
        return system_texts(self.spec, self._cwd, self._branch, self._skills)

    def _session_of(self, agent: str) -> str:
        mine = agent in (self.spec.agent, self.spec.name)
        return self.agent.session if mine and self.agent is not None else ""

"""The part for agents in terminals: the fleet, the mail between agents, the tools for terminals.

The agents that people name in the settings start when a person with all rights first wants them.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.bus.events.hub_events import Noticed
from gshtui.commands.declaration import CommandError
from gshtui.commands.execution import command_errors
from gshtui.fleet.core.accounts import Accounts
from gshtui.fleet.core.agent_programs import Programs
from gshtui.fleet.core.agent_terminals import AgentTerminals
from gshtui.fleet.core.ports import FleetError, FleetOptions, LaunchTerms
from gshtui.fleet.lifecycle.agent_buses import AgentBuses
from gshtui.fleet.lifecycle.agent_command_lines import CommandLines
from gshtui.fleet.lifecycle.fleet import Fleet
from gshtui.hub.hub import Hub
from gshtui.hub.part_lifecycle import MissingPart
from gshtui.hub.virtual_files import mount_calls
from gshtui.providers.port import ProviderError
from gshtui.settings.model import Settings
from gshtui.settings.paths import runtime_dir
from gshtui.shell import plugin_files
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store

if TYPE_CHECKING:
    from gshtui.bus.agent_data import GuardMode
    from gshtui.calls.call_service import CallService
    from gshtui.fleet.commands.worktree_commands import TearDown
    from gshtui.fleet.core.ports import MessageTransport
    from gshtui.fleet.lifecycle.fleet import Fleet
    from gshtui.fleet.mail.mail_service import MailService
    from gshtui.fleet.terminal_tools.targets import TerminalTargets
    from gshtui.store.record.store import Store
    from gshtui.tools.git.worktree_setup import Consent


async def start_fleet(hub: Hub) -> None:
    """Start the fleet. Raises `MissingPart`, `FleetError`, `StoreError`."""
    if hub.store is None:
        raise MissingPart("store", "Agents in terminals need the record.")
    maker = _FleetMaker(hub, hub.store)
    fleet = hub.fleet = maker.make_fleet()
    hub.parts.stops_with("fleet", fleet.stop)
    things = hub.offers.things
    things.have(fleet)
    things.add(maker.mail, maker.calls, maker.targets, maker.tear_down)
    hub.make_mail = lambda: things.get(maker.mail)
    hub.make_calls = lambda: things.get(maker.calls)
    if not maker.visiting:
        hub.make_shared_shell = lambda: things.get(maker.targets).shared
    hub.offers.offer("fleet")
    mount_calls(hub, hub.store)
    if hub.relay is not None:
        hub.relay.name_of = lambda id: row.name if (row := fleet.get(id)) is not None else ""
        hub.relay.sessions_here = lambda: {agent.home for agent in hub.roster or ()}
    await fleet.start()
    if hub.options.keeper:
        from gshtui.hub.parts.keeper_notices import KeeperNotices

        notices = KeeperNotices(hub, fleet)  # before anybody is looked at: what is new since the last keeper, it tells
        hub.call_person = notices.call
        hub.parts.stops_with("notices", notices.stop)
    if not maker.visiting:
        await things.get(maker.mail).start()
        calls = things.get(maker.calls)
        hub.parts.stops_with("calls", calls.stop)
        await calls.start(shown=not (hub.options.visiting or hub.options.keeper))


class _FleetMaker:
    """Creates the fleet and everything that shares its terminals; the mail and the tools only when first used."""

    def __init__(self, hub: Hub, store: Store) -> None:
        self._hub = hub
        self._store = store
        self._get = hub.offers.things.get
        self._programs = Programs(hub.settings.programs.screen_only)
        self._terminals = AgentTerminals(hosts=hub.offers.hosts)
        self.visiting = "agents" not in hub.options.parts and not hub.options.keeper
        """A command that ends soon."""

    def make_fleet(self) -> Fleet:
        """The fleet, not yet started."""
        hub, data = self._hub, self._store.path.parent
        tmux = hub.settings.tmux
        launcher = CommandLines(
            data,
            self._terms(),
            lambda: hub.socket,
            programs=self._programs,
            consent=None if hub.gate is None else self._consent,
            notice=lambda text, about: hub.bus.publish(Noticed(text=text, about=about)),
        )
        return Fleet(
            hub.bus,
            self._store,
            FleetOptions(
                hub.options.cwd,
                data,
                tmux.socket_name,
                tmux.session_prefix,
                everywhere=hub.options.keeper,
                visiting=self.visiting,
                brief=hub.options.visiting,
                hosted=hub.host is not None,
            ),
            launcher,
            transport=self._transport,
            terminals=self._terminals,
            programs=self._programs,
            session_of=hub.session_of,
            buses=self._buses,
            accounts=Accounts(hub.settings.accounts, hub.settings.groups),
            open_approvals=hub.open_approvals if self._answers else None,
            host=None if hub.host is None else hub.host.fleet,
        )

    @functools.cached_property
    def _buses(self) -> AgentBuses:
        """Reach our own agents in terminals."""
        hub = self._hub
        host = hub.host or hub
        return AgentBuses(hub.bus, hub.connected, lambda agent: host.hosted(agent))

    @property
    def _answers(self) -> bool:
        """Whether a person reads the questions of our own agents here."""
        options = self._hub.options
        return options.respondent == "person" and not options.visiting and self._hub.relay is not None

    def mail(self) -> MailService:
        """Accepts the messages to agents, and delivers them."""
        from gshtui.fleet.mail.mail_service import MailService

        hub = self._hub
        mail = MailService(
            hub.bus,
            self._store,
            here=hub.session_of,
            connected=hub.connected,
            terminals=self._terminals,
            programs=self._programs,
            visiting=self.visiting,
            hosted=hub.host is not None,
            follow=self._follow,
            mode_of=self._mode_of,
            answered=lambda letter: self._get(self.calls).post_answer(letter),
        )
        hub.parts.stops_with("mail", mail.stop)
        if hub.fleet is not None and not hub.options.keeper:
            mail.outbox.addresses.start_named = NamedAgents(hub.settings, hub.environ, hub.fleet, self._store).start
        return mail

    def calls(self) -> CallService:
        """The shared rooms, and what is said there."""
        from gshtui.calls.call_service import CallService, person_name
        from gshtui.fleet.mail.call_post import CallMail

        hub = self._hub
        mail = self._get(self.mail)
        post = CallMail(self._store, mail.outbox, self._local_agents, mail)
        calls = CallService(hub.bus, self._store, post, person_name(hub.settings.general.name), hub.small_model.ask)
        calls.named = tuple(hub.settings.agents)
        if hub.telemetry is not None:
            calls.redact = hub.telemetry.redactor.redact_certain
        return calls

    def _local_agents(self) -> list[str]:
        """The agents that live in this process."""
        return [] if self._hub.roster is None else [agent.name for agent in self._hub.roster]

    def targets(self) -> TerminalTargets:
        """The terminals that the tools reach."""
        from gshtui.fleet.terminal_tools.commands import terminal_targets

        return terminal_targets(
            self._hub.settings, self._terminals, self._store.agents.find_all, self._hub.environ, programs=self._programs
        )

    async def _follow(self, agent: str) -> None:
        if self._hub.fleet is not None:
            await self._hub.fleet.follow(agent)

    def _terms(self) -> LaunchTerms:
        """Agents started by a short command ask about their calls; any window may answer."""
        hub, settings = self._hub, self._hub.settings
        return LaunchTerms(
            respondent="policy" if hub.options.respondent == "policy" else "person",
            mode_of=self._mode_of,
            auto_approve=tuple(settings.agent.auto_approve),
            max_steps=settings.agent.max_steps,
            runtime=runtime_dir(create=False),
            worktrees_inside=settings.worktrees.place == "inside",
            setup=tuple(settings.worktrees.setup),
            sandboxes=lambda: hub.offers.sandboxes,
            notice=_notice_file(hub.environ) if self.visiting and settings.shell.notices else "",
        )

    def _mode_of(self, agent: str) -> GuardMode:
        """The mode of an agent that starts another one; of the person, the mode in which agents begin here."""
        hub = self._hub
        if hub.gate is None:
            policy = hub.options.respondent == "policy"
            return "auto" if policy else hub.options.mode or hub.settings.agent.mode
        return hub.gate.modes.mode_of(agent) if agent else hub.gate.modes.start

    def _consent(self, agent: str) -> Consent:
        """Asks whether a new worktree's set-up command may run."""
        from gshtui.tools.git.worktree_setup import consent_by_gate, no_consent

        hub = self._hub
        if hub.gate is None:
            return no_consent
        return consent_by_gate(hub.gate, agent, sandboxes=lambda: hub.offers.sandboxes)

    def tear_down(self) -> TearDown:
        """The tear-down command of a worktree, which is asked about; without a gate it is not run."""
        from gshtui.fleet.commands.worktree_commands import TearDown
        from gshtui.tools.git.worktree_setup import consent_by_gate, no_consent

        hub = self._hub
        what, sandboxes = "tear-down command, in the worktree", hub.offers.sandboxes
        consent = (
            no_consent if hub.gate is None else consent_by_gate(hub.gate, "", what=what, sandboxes=lambda: sandboxes)
        )
        output = self._store.path.parent / "worktrees"
        return TearDown(tuple(hub.settings.worktrees.teardown), consent, output, sandboxes)

    def _transport(self) -> MessageTransport:
        from gshtui.fleet.lifecycle.transport import TerminalTransport

        hub = self._hub
        return self._get(self.mail).post(TerminalTransport(hub.bus, self._terminals, self._programs, self._buses))


def _notice_file(environ: Mapping[str, str]) -> str:
    """The file that the shell running this command reads."""
    try:
        file = plugin_files.notice_file(environ.get("GSH_SHELL_ID", ""))
    except OSError:
        return ""
    return "" if file is None else str(file)


class NamedAgents:
    """Over the fleet of one hub."""

    def __init__(self, settings: Settings, environ: Mapping[str, str], fleet: Fleet, store: Store) -> None:
        self._settings = settings
        self._environ = environ
        self._fleet = fleet
        self._store = store
        self._starting = asyncio.Lock()

    @property
    def names(self) -> list[str]:
        """Their names, as the settings have them."""
        return list(self._settings.agents)

    async def start(self, name: str) -> AgentRow | None:
        """Start the agent of this name, or find it where it was started meanwhile; `None`: the settings name none.
        Raises `CommandError`: its model cannot be used, or it could not be started.
        """
        table = self._settings.agents.get(name)
        if table is None:
            return None
        async with self._starting:
            if (row := await self._known(name)) is not None:
                return await self._recovered(row)
            await self._check_model(name, table.provider, table.model)
            request = SpawnRequest(
                name=name,
                provider=table.provider,
                model=table.model,
                persona=table.persona,
                mode=table.mode,
                paths=tuple(table.allowed_paths),
            )
            with command_errors(FleetError):
                return await self._fleet.spawn(request, by_person=True)

    async def _recovered(self, row: AgentRow) -> AgentRow:
        """The agent, whose terminal is brought back if it is gone. Raises `CommandError`."""
        if row.status != "lost":
            return row
        with command_errors(FleetError):
            return (await self._fleet.recover(row.id)).row

    async def _known(self, name: str) -> AgentRow | None:
        with contextlib.suppress(StoreError):
            row = await self._store.agents.find(name)
            return None if row.killed or row.ended else row
        return None

    async def _check_model(self, name: str, provider: str, model: str) -> None:
        """Say now what the agent could say only in its terminal."""
        from gshtui.providers.selection import choose_model

        try:
            choice = await choose_model(self._settings, self._environ, provider=provider, model=model)
        except ProviderError as error:
            raise CommandError(f"{name} cannot be started: {error.message}.", hint=error.hint) from error
        await choice.provider.close()

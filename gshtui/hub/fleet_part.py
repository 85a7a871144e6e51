"""The part for agents in terminals: the fleet, the mail between agents, the tools for terminals."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from gshtui.bus.bus import Bus
from gshtui.bus.events.hub_events import Noticed
from gshtui.fleet.agent_command_lines import CommandLines, LaunchTerms
from gshtui.fleet.agent_programs import Programs
from gshtui.fleet.agent_terminals import AgentTerminals
from gshtui.fleet.fleet import Fleet
from gshtui.fleet.ports import FleetError, FleetOptions
from gshtui.settings.model import Settings
from gshtui.settings.paths import runtime_dir
from gshtui.shell import plugin_files

if TYPE_CHECKING:
    from gshtui.fleet.mail.mail_service import MailService
    from gshtui.fleet.ports import MessageTransport
    from gshtui.fleet.terminal_tools.targets import TerminalTargets
    from gshtui.guard.approval import Gate, Mode
    from gshtui.hub.hub import Hub
    from gshtui.store.store import Store
    from gshtui.tools.worktree_setup import Consent


def make_fleet(
    bus: Bus,
    store: Store,
    settings: Settings,
    home: Path,
    *,
    visiting: bool,
    approvals: Mode,
    session_of: Callable[[str], str],
    hub: Callable[[], str] = lambda: "",
    connected: Callable[[str], bool] = lambda agent: False,
    gate: Gate | None = None,
    programs: Programs,
    terminals: AgentTerminals,
    mail: Callable[[], MailService],
) -> Fleet:
    """The fleet.

    Args:
        home: the window's folder.
        visiting: a command that looks in and leaves.
        approvals: how questions are answered here; agents started from a visit ask, whoever answers.
        session_of: the conversation that a local agent of this hub is in.
        hub: the socket that agents report to; empty when there is none.
        connected: whether an agent's own process listens to this hub's bus.
        gate: asks a person before a new worktree's set-up command is run; without one it is not run.
        programs, terminals: shared with the mail.
        mail: takes the messages to agents.
    """
    data = store.path.parent
    terms = LaunchTerms(
        approvals=approvals if approvals == "policy" else "ask",
        auto_approve=tuple(settings.agent.auto_approve),
        max_steps=settings.agent.max_steps,
        runtime=runtime_dir(create=False),
        worktrees_inside=settings.worktrees.place == "inside",
        setup=tuple(settings.worktrees.setup),
        notice=_notice() if visiting and settings.shell.notices else "",
    )

    def consent(agent: str) -> Consent:
        from gshtui.tools.worktree_setup import consent_by_gate, no_consent

        return no_consent if gate is None else consent_by_gate(gate, agent)

    def notice(text: str, about: str) -> None:
        bus.publish(Noticed(text=text, about=about))

    options = FleetOptions(home, data, settings.tmux.socket_name, settings.tmux.session_prefix, visiting)

    def transport() -> MessageTransport:
        from gshtui.fleet.transport import TerminalTransport

        return mail().post(TerminalTransport(bus, terminals, programs, connected))

    return Fleet(
        bus,
        store,
        options,
        CommandLines(data, terms, hub, programs=programs, consent=consent, notice=notice),
        transport=transport,
        terminals=terminals,
        programs=programs,
        session_of=session_of,
        connected=connected,
    )


def _notice() -> str:
    """The file in which the shell looks that runs this command."""
    try:
        file = plugin_files.notice_file(os.environ.get("GSH_SHELL_ID", ""))
    except OSError:
        return ""
    return "" if file is None else str(file)


async def start_fleet(hub: Hub) -> None:
    """Bring the fleet up. Raises `FleetError`, `StoreError`."""
    if hub.store is None:
        raise FleetError("store", "Agents in terminals need the record.")
    from gshtui.fleet.agent_programs import Programs
    from gshtui.fleet.agent_terminals import AgentTerminals
    # not needed for the first screen

    store = hub.store
    visiting = "agents" not in hub.options.parts
    programs, terminals = Programs(), AgentTerminals()

    @functools.cache
    def mail() -> MailService:
        from gshtui.fleet.mail.mail_service import MailService

        made = MailService(
            hub.bus,
            store,
            here=hub.session_of,
            connected=hub.connected,
            terminals=terminals,
            programs=programs,
            visiting=visiting,
        )
        hub.parts.stops_with("mail", made.stop)
        return made

    fleet = hub.fleet = make_fleet(
        hub.bus,
        hub.store,
        hub.settings,
        hub.options.cwd,
        visiting=visiting,
        approvals=hub.options.approvals,
        session_of=hub.session_of,
        hub=lambda: hub.socket,
        connected=hub.connected,
        gate=hub.gate,
        programs=programs,
        terminals=terminals,
        mail=mail,
    )
    hub.parts.stops_with("fleet", hub.fleet.stop)

    @functools.cache
    def targets() -> TerminalTargets:
        from gshtui.fleet.terminal_tools.commands import terminal_targets

        return terminal_targets(hub.settings, terminals, store.agents.find_all, programs=programs)

    if not visiting:
        hub.shared_shell = targets().shared
    hub.offers.offer_fleet(fleet, store, hub.agent_states)
    hub.offers.offer_mail(store, lambda: mail().outbox, mail)
    hub.offers.offer_terminals(targets)
    if hub.relay is not None:
        rows = hub.fleet
        hub.relay.name_of = lambda id: row.name if (row := rows.get(id)) is not None else ""
    await hub.fleet.start()
    if not visiting:
        await mail().start()

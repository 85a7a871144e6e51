"""The part for agents in terminals: the fleet, the mail between agents, the tools for terminals.

Needs the record, and refuses to start without. Started by the hub.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gshtui.agents.fleet.ports import FleetError

if TYPE_CHECKING:
    from gshtui.hub.hub import Hub


async def start_fleet(hub: Hub) -> None:
    """Bring the fleet up. Raises `FleetError`, `StoreError`."""
    if hub.store is None:
        raise FleetError("store", "Agents in terminals need the record.")
    from gshtui.agents.fleet.assembly import make_fleet  # what no first screen needs
    from gshtui.agents.fleet.commands import commands
    from gshtui.agents.mail import commands as mail_commands
    from gshtui.agents.mail.room import MailRoom
    from gshtui.agents.terminal_tools import commands as terminal_commands

    visiting = "agents" not in hub.options.parts
    mail = MailRoom(hub.bus, hub.store, here=hub.session_of, connected=hub.connected, visiting=visiting)
    hub.fleet = make_fleet(
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
        mail=mail,
    )
    hub.parts.stops_with("fleet", hub.fleet.stop)
    hub.parts.stops_with("mail", mail.stop)
    reach = terminal_commands.reach_of(hub.settings, mail.terminals, hub.store.agents)
    hub.shared_shell = reach.shared
    for command in (
        *commands(hub.fleet, hub.ledger.entries),
        *mail_commands.commands(mail.counter, hub.store, mail),
        *terminal_commands.commands(reach, hub.settings.context.max_tool_output_bytes),
    ):
        hub.registry.register(command)
    if hub.relay is not None:
        rows = hub.fleet
        hub.relay.name_of = lambda id: row.name if (row := rows.get(id)) is not None else ""
    await hub.fleet.start()
    await mail.start()

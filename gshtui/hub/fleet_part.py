"""The part for agents in terminals: the fleet, the mail between agents, the tools for terminals.

Needs the record, and refuses to start without. Started by the hub.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from gshtui.fleet.ports import FleetError

if TYPE_CHECKING:
    from gshtui.commands.registry import AnyCommand
    from gshtui.fleet.mail.room import MailRoom
    from gshtui.fleet.terminal_tools.reach import Reach
    from gshtui.hub.hub import Hub


async def start_fleet(hub: Hub) -> None:
    """Bring the fleet up. Raises `FleetError`, `StoreError`."""
    if hub.store is None:
        raise FleetError("store", "Agents in terminals need the record.")
    from gshtui.fleet.programs import Programs
    from gshtui.fleet.terminals import Terminals
    from gshtui.hub.fleet_assembly import make_fleet  # what no first screen needs

    store = hub.store
    visiting = "agents" not in hub.options.parts
    programs, terminals = Programs(), Terminals()

    @functools.cache
    def mail() -> MailRoom:
        from gshtui.fleet.mail.room import MailRoom

        made = MailRoom(
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
    def reach() -> Reach:
        from gshtui.fleet.terminal_tools.commands import reach_of

        return reach_of(hub.settings, terminals, store.agents, programs=programs)

    def agents() -> list[AnyCommand]:
        from gshtui.fleet.commands import commands

        return commands(fleet, hub.ledger.entries)

    def letters() -> list[AnyCommand]:
        from gshtui.fleet.mail.commands import commands

        return commands(mail().counter, store, mail())

    def typing() -> list[AnyCommand]:
        from gshtui.fleet.terminal_tools.commands import commands

        return commands(reach(), hub.settings.context.max_tool_output_bytes)

    if not visiting:
        hub.shared_shell = reach().shared
    hub.registry.offer(("spawn", "agent"), agents)
    hub.registry.offer(("say", "talk", "report", "mail"), letters)
    hub.registry.offer(("tmux", "terminal"), typing)
    if hub.relay is not None:
        rows = hub.fleet
        hub.relay.name_of = lambda id: row.name if (row := rows.get(id)) is not None else ""
    await hub.fleet.start()
    if not visiting:
        await mail().start()

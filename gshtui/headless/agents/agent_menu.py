"""The prompt's menu of agents: one line for each agent that can be attached or interrupted."""

from __future__ import annotations

from gshtui.headless import exits, streams
from gshtui.headless.commands.command_hub import load_settings, running_hub, working_folder
from gshtui.headless.runner import run_command, until_stopped


def print_menu(*, busy: bool, as_json: bool) -> int:
    """Print the agents that can be attached or, with `busy`, interrupted; returns the exit code."""
    return run_command(lambda stop: until_stopped(_menu(busy, as_json), stop))


async def _menu(busy: bool, as_json: bool) -> int:
    from gshtui.bus.agent_data import AT_WORK, ENDED_STATUSES
    from gshtui.fleet.core.agent_calls import FLEET_PARTS, ListAgents
    from gshtui.fleet.core.agent_tables import menu_line
    from gshtui.hub.hub_options import HubOptions

    options = HubOptions(cwd=working_folder(), loaded=load_settings(), parts=FLEET_PARTS, where="gsh-tui shell")
    async with running_hub(options) as hub:
        await hub.start()
        if hub.failed:
            return exits.ERROR
        found = (await hub.call(ListAgents(windows=False))).rows
    rows = [
        row for row in found if row.status not in ENDED_STATUSES and (not busy or row.status in ("starting", *AT_WORK))
    ]
    if as_json:
        streams.result_json([{"id": row.id, "shown": menu_line(row)} for row in rows])
        return exits.DONE
    streams.result("\n".join(f"{row.id}\t{menu_line(row)}" for row in rows))
    return exits.DONE

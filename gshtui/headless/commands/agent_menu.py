"""The prompt's menu of agents: one line for each agent that can be attached or interrupted."""

from __future__ import annotations

from gshtui.headless import exits, streams
from gshtui.headless.commands.keeper_call import value_from_hub


def print_menu(*, busy: bool, as_json: bool) -> int:
    """Print the agents that can be attached or, with `busy`, interrupted; returns the exit code."""
    from gshtui.bus.agent_data import AT_WORK, ENDED_STATUSES
    from gshtui.fleet.core.agent_calls import AgentList, ListAgents
    from gshtui.fleet.core.agent_tables import menu_line

    found = value_from_hub(ListAgents(windows=False), AgentList)
    if isinstance(found, int):
        return found
    shown = [row for row in found.rows if row.status not in ENDED_STATUSES]
    rows = [row for row in shown if not busy or row.status in ("starting", *AT_WORK)]
    if as_json:
        streams.result_json([{"id": row.id, "shown": menu_line(row)} for row in rows])
        return exits.DONE
    streams.result("\n".join(f"{row.id}\t{menu_line(row)}" for row in rows))
    return exits.DONE

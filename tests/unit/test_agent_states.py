"""Who is listed: agents, and for as long as they are there. The hub's list and the window's say the same."""

import pytest

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import AgentAdded, AgentStatusChanged
from gshtui.bus.events.approval_events import ApprovalRequested, ApprovalSettled
from gshtui.bus.events.fleet_events import AgentRemoved
from gshtui.fleet.core.agent_states import AgentStates
from gshtui.ui.agents.agents_state import AgentsState, reduce

ADDED = AgentAdded(agent="one", name="one")
ASKS = ApprovalRequested(
    approval="a", agent="one", session="s", call="c", tool="bash", effect="execute", subject="make"
)
SETTLED = ApprovalSettled(approval="a", agent="one", call="c", decision="deny", by="nobody")
WORKS = AgentStatusChanged(agent="one", status="thinking")
GONE = AgentRemoved(agent="one")


@pytest.mark.parametrize(
    ("events", "listed"),
    [
        ((ADDED, WORKS), ["one"]),
        ((ASKS,), ["one"]),
        ((ASKS, SETTLED, GONE), []),
        ((ASKS, GONE, SETTLED), []),
        ((SETTLED,), []),
        ((ADDED, ASKS, SETTLED), ["one"]),
        ((ADDED, GONE, ADDED), ["one"]),
        ((ADDED, WORKS, GONE, SETTLED, GONE), []),
    ],
)
async def test_a_list_has_who_is_there(events: tuple[Event, ...], listed: list[str]) -> None:
    bus = Bus()
    states = AgentStates(bus)
    window = AgentsState()
    for event in events:
        bus.publish(event)
        window = reduce(window, event)
    await bus.drained()
    assert [state.row.id for state in states.all()] == listed
    assert list(window.agents) == listed
    await states.close()
    await bus.close()

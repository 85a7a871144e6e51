"""What the header knows: project, branch, the agent in front, its model, context and cost, and how the hub is.

A pure reducer over events; refuses widgets. Called by the header.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from gshtui.bus.context import Iteration
from gshtui.bus.event import Event
from gshtui.bus.events.hub import BranchChanged, HubStarted, HubStopped, PartFailed
from gshtui.ui.agents import agents_state

CONSUMED: tuple[type[Event], ...] = (*agents_state.CONSUMED, BranchChanged, HubStarted, HubStopped, PartFailed)
HubState = Literal["starting", "ready", "partial", "failed", "stopping", "stopped"]


class HeaderState(msgspec.Struct, frozen=True):
    """The line at the top."""

    project: str
    branch: str = ""
    front: str = "main"
    hub: HubState = "starting"
    failed: tuple[str, ...] = ()
    """Parts of the hub that did not start."""
    agents: agents_state.AgentsState = msgspec.field(default_factory=agents_state.AgentsState)

    @property
    def agent(self) -> agents_state.AgentView | None:
        return self.agents.agents.get(self.front)


def reduce(state: HeaderState, event: Event) -> HeaderState:
    """The state after an event."""
    match event:
        case HubStarted():
            return replace(
                state,
                project=event.project.rstrip("/").rpartition("/")[2] or state.project,
                branch=event.branch or state.branch,
                hub="partial" if state.failed else "ready",
            )
        case BranchChanged():
            return replace(state, branch=event.branch)
        case PartFailed():
            failed = (*state.failed, event.part) if event.part not in state.failed else state.failed
            return replace(state, failed=failed, hub="partial" if state.hub == "ready" else state.hub)
        case HubStopped():
            return replace(state, hub="stopped")
        case _:
            agents = agents_state.reduce(state.agents, event)
            return state if agents is state.agents else replace(state, agents=agents)


def restored(state: HeaderState, iterations: Sequence[Iteration]) -> HeaderState:
    """With what the record holds of the front agent, unless something was sent meanwhile."""
    agents = agents_state.restored(state.agents, state.front, iterations)
    return state if agents is state.agents else replace(state, agents=agents)

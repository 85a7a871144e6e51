"""What the agents pane knows: each agent's status with its source and time, what it does, its model, tokens and cost.

A pure reducer over events; refuses clocks (the time is given) and widgets. Called by the agents pane and the header.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from gshtui.bus.event import Event
from gshtui.bus.events.agent import (
    AgentAdded,
    AgentStatusChanged,
    ContextAssembled,
    ModelChanged,
    PromptQueued,
    PromptWithdrawn,
    ProviderRetried,
    Status,
    TurnFinished,
    TurnStarted,
    UsageReported,
)
from gshtui.bus.events.session import SessionOpened


class AgentView(msgspec.Struct, frozen=True):
    """One agent as a person sees it."""

    id: str
    name: str
    runtime: str = "local"
    kind: str = "native"
    status: Status = "starting"
    source: str = "event"
    since: float = 0.0
    """When the status became what it is, seconds since the epoch."""
    doing: str = ""
    model: str = ""
    window: int = 0
    context: int = 0
    exact: bool = False
    """`context` is the provider's count, not an estimate."""
    spent: int = 0
    """Tokens of all requests so far."""
    cost: float = 0.0
    cost_known: bool = True
    queued: int = 0
    turn: str = ""
    """Id of the turn in progress."""
    parent: str = ""
    session: str = ""

    @property
    def busy(self) -> bool:
        return bool(self.turn) or self.status in ("thinking", "tool", "waiting", "starting")


class AgentsState(msgspec.Struct, frozen=True):
    """All agents, in the order in which they came."""

    agents: dict[str, AgentView] = msgspec.field(default_factory=dict[str, AgentView])


Consumed = (
    AgentAdded
    | AgentStatusChanged
    | ContextAssembled
    | ModelChanged
    | PromptQueued
    | PromptWithdrawn
    | ProviderRetried
    | SessionOpened
    | TurnFinished
    | TurnStarted
    | UsageReported
)
CONSUMED: tuple[type[Event], ...] = (
    AgentAdded,
    AgentStatusChanged,
    ContextAssembled,
    ModelChanged,
    PromptQueued,
    PromptWithdrawn,
    ProviderRetried,
    SessionOpened,
    TurnFinished,
    TurnStarted,
    UsageReported,
)


def reduce(state: AgentsState, event: Event) -> AgentsState:
    """The state after an event; an agent that was not heard of before is added."""
    if not isinstance(event, CONSUMED):
        return state
    assert isinstance(event, Consumed)
    before = state.agents.get(event.agent) or AgentView(event.agent, event.agent, since=event.at)
    after = _after(before, event)
    return state if after is before else AgentsState({**state.agents, event.agent: after})


def _after(agent: AgentView, event: Consumed) -> AgentView:
    match event:
        case AgentAdded():
            return replace(
                agent, name=event.name, runtime=event.runtime, kind=event.kind, parent=event.parent, since=event.at
            )
        case AgentStatusChanged():
            same = agent.status == event.status
            since = agent.since if same and agent.since else event.at
            return replace(agent, status=event.status, source=event.source, doing=event.doing, since=since)
        case ModelChanged():
            return replace(agent, model=event.label or event.model, window=event.window or agent.window)
        case ContextAssembled():
            window = event.window or agent.window
            return replace(agent, context=event.tokens, exact=False, window=window)
        case UsageReported():
            cost = agent.cost + (event.cost or 0.0)
            return replace(
                agent,
                context=event.usage.context,
                exact=True,
                spent=agent.spent + event.usage.context,
                cost=cost,
                cost_known=agent.cost_known and event.cost is not None,
            )
        case ProviderRetried():
            return replace(agent, doing=f"retry {event.attempt} in {event.wait:.0f} s: {event.why}")
        case PromptQueued():
            return replace(agent, queued=agent.queued + 1)
        case PromptWithdrawn():
            return replace(agent, queued=max(0, agent.queued - 1))
        case TurnStarted():
            return replace(agent, turn=event.turn, queued=max(0, agent.queued - 1))
        case TurnFinished():
            return replace(agent, turn="")
        case SessionOpened():
            if event.session == agent.session:
                return agent
            return replace(agent, session=event.session, context=0, exact=False, spent=0, cost=0.0, cost_known=True)

"""What the agents pane knows: each agent's status with its source and time, what it does, its model, tokens and cost.

A pure reducer over events; refuses clocks (the time is given) and widgets. An agent in a terminal is what its row of
the roster says, and nothing else. Called by the agents pane and the header.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast, get_args

import msgspec
from msgspec.structs import replace

from gshtui.bus.agent_data import ENDED_STATUSES, AgentRow
from gshtui.bus.context_data import Iteration
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
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
from gshtui.bus.events.context_events import ContextCut, CutUndone
from gshtui.bus.events.fleet_events import (
    AgentChanged,
    AgentKilled,
    AgentRemoved,
    AgentRestored,
    AgentSpawned,
    MessageActed,
    MessageDropped,
    MessageHeld,
    MessageQueued,
    MessageSubmitted,
    MessageTyped,
)
from gshtui.bus.events.hub_events import HubStarted
from gshtui.bus.events.session_events import SessionOpened

STATUSES: tuple[str, ...] = get_args(Status)


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
    trigger: int = 0
    """Tokens at which its context is compacted; 0: not known."""
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
    made_of: str = ""
    """Persona or profile."""
    home: str = ""
    """Folder of the window that it belongs to; empty: this one."""
    cwd: str = ""
    worktree: str = ""
    terminal: bool = False
    """It has a terminal of its own, and all that is said of it comes from its row."""
    pane: str = ""
    """Of its tmux server; empty: there is none now."""
    unread: int = 0
    needs_you: bool = False
    killed_until: float = 0.0
    """Until then a kill can be undone, seconds since the epoch; 0: it is not killed."""
    messages: frozenset[str] = frozenset()
    """Ids of messages that wait for it."""

    @property
    def ended(self) -> bool:
        """Whether nothing of it runs any more."""
        return self.terminal and self.status in ENDED_STATUSES

    @property
    def waits_for_you(self) -> bool:
        return self.needs_you or self.status == "waiting"

    @property
    def busy(self) -> bool:
        """Whether what is said of it changes with time."""
        return bool(self.turn or self.killed_until) or self.status in ("thinking", "tool", "waiting", "starting")


class AgentsState(msgspec.Struct, frozen=True):
    """All agents, in the order in which they came."""

    agents: dict[str, AgentView] = msgspec.field(default_factory=dict[str, AgentView])
    home: str = ""
    """Folder of this window."""


AgentStateEvent = (
    AgentAdded
    | AgentStatusChanged
    | ContextAssembled
    | ContextCut
    | CutUndone
    | ModelChanged
    | PromptQueued
    | PromptWithdrawn
    | ProviderRetried
    | SessionOpened
    | TurnFinished
    | TurnStarted
    | UsageReported
)
AgentRowEvent = AgentChanged | AgentSpawned | AgentKilled | AgentRestored
MessageWaits = MessageQueued | MessageHeld
MessageLeaves = MessageTyped | MessageSubmitted | MessageActed | MessageDropped
CONSUMED: tuple[type[Event], ...] = (
    AgentAdded,
    AgentChanged,
    AgentKilled,
    AgentRemoved,
    AgentRestored,
    AgentSpawned,
    HubStarted,
    MessageActed,
    MessageDropped,
    MessageHeld,
    MessageQueued,
    MessageSubmitted,
    MessageTyped,
    AgentStatusChanged,
    ContextAssembled,
    ContextCut,
    CutUndone,
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
    if isinstance(event, HubStarted):
        return replace(state, home=event.cwd)
    if isinstance(event, AgentRemoved):
        left = {id: agent for id, agent in state.agents.items() if id != event.agent}
        return replace(state, agents=left) if len(left) < len(state.agents) else state
    agent = getattr(event, "agent", None)
    if not isinstance(event, CONSUMED) or not isinstance(agent, str):
        return state
    before = state.agents.get(agent) or AgentView(agent, agent, since=event.at)
    if isinstance(event, AgentRowEvent):
        after = _of_fleet(before, event)
    elif isinstance(event, MessageWaits):
        after = replace(before, messages=before.messages | {event.message})
    elif isinstance(event, MessageLeaves):
        known = event.message in before.messages
        after = replace(before, messages=before.messages - {event.message}) if known else before
    else:
        assert isinstance(event, AgentStateEvent)
        after = before if before.terminal else _after(before, event)
    return state if after is before else replace(state, agents={**state.agents, agent: after})


def restored(state: AgentsState, front: str, iterations: Sequence[Iteration]) -> AgentsState:
    """With what the record holds of an agent's requests, unless it sent something meanwhile."""
    agent = state.agents.get(front)
    mine = [one for one in iterations if agent is not None and one.session == (agent.session or one.session)]
    if agent is None or agent.spent or not mine:
        return state
    last = mine[-1]
    window = agent.window or last.window
    known = replace(
        agent,
        context=agent.context or (last.usage.context if last.usage is not None else last.tokens),
        exact=agent.exact or (not agent.context and last.usage is not None),
        window=window,
        trigger=agent.trigger or (last.trigger if window == last.window else 0),
        spent=sum(one.usage.context for one in mine if one.usage is not None),
        cost=sum(one.cost or 0.0 for one in mine),
        cost_known=all(one.cost is not None for one in mine if one.usage is not None),
    )
    return replace(state, agents={**state.agents, front: known})


def _of_fleet(agent: AgentView, event: AgentRowEvent) -> AgentView:
    match event:
        case AgentChanged() | AgentSpawned():
            return _of_row(agent, event.row)
        case AgentKilled():
            return replace(agent, killed_until=event.until)
        case AgentRestored():
            return replace(agent, killed_until=0.0)


def _of_row(agent: AgentView, row: AgentRow) -> AgentView:
    """The agent as its row has it; of the view stays what no row says."""
    status = row.status if row.status in STATUSES else "lost"
    return AgentView(
        row.id,
        row.name,
        runtime=row.runtime,
        kind=row.kind,
        status=cast("Status", status),
        source=row.status_source,
        since=row.status_at or row.created,
        doing=row.doing,
        model=row.model,
        window=row.window,
        context=row.context,
        exact=row.tokens > 0,
        spent=row.tokens,
        cost=row.cost or 0.0,
        cost_known=row.cost is not None or not row.tokens,
        parent=row.parent,
        session=row.session,
        made_of=_made_of(row),
        home=row.home,
        cwd=row.cwd,
        worktree=row.worktree,
        terminal=True,
        pane="" if row.status == "lost" else row.pane,
        unread=row.unread,
        needs_you=row.needs_you,
        killed_until=agent.killed_until if row.killed and not row.ended else 0.0,
        messages=agent.messages,
    )


def _after(agent: AgentView, event: AgentStateEvent) -> AgentView:
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
            window = event.window or agent.window
            trigger = agent.trigger if window == agent.window else 0
            return replace(agent, model=event.label or event.model, window=window, trigger=trigger)
        case ContextAssembled():
            window = event.window or agent.window
            trigger = event.trigger or agent.trigger
            return replace(agent, context=event.tokens, exact=False, window=window, trigger=trigger)
        case ContextCut():
            return replace(agent, context=event.receipt.tokens_after, exact=False)
        case CutUndone():
            return replace(agent, context=event.tokens, exact=False) if event.tokens else agent
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


def _made_of(row: AgentRow) -> str:
    """Persona, or profile; of a program that has none of its own, the program."""
    if row.kind == "cli" and row.profile in ("", "repl") and row.argv:
        return row.argv[0].rpartition("/")[2]
    return row.profile or row.persona

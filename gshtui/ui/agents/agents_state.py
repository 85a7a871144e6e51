"""The state of the agents pane: each agent's row, and what concerns this window alone.

Pure; refuses clocks (the time is given) and widgets. An agent in a terminal takes its whole row from the roster; the
other rows follow from events. Called by the agents pane and the header.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast, get_args

import msgspec
from msgspec.structs import replace

from gshtui.bus.agent_data import ENDED_STATUSES, AgentRow, GuardMode
from gshtui.bus.agent_reducer import ROW_EVENTS, apply_event, local_row
from gshtui.bus.context_data import Iteration
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    ContextAssembled,
    ModelChanged,
    PromptQueued,
    PromptWithdrawn,
    Status,
    TurnFinished,
    TurnStarted,
    UsageReported,
)
from gshtui.bus.events.approval_events import AgentModeChanged, ApprovalSettled
from gshtui.bus.events.context_events import ContextCut, ContextTuned, CutUndone
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

    row: AgentRow
    label: str = ""
    """The model's name for people; empty: its id."""
    effort: str = ""
    """How hard its model is told to think; empty: its provider decides."""
    trigger: int = 0
    """Tokens at which its context is compacted; 0: unknown."""
    exact: bool = False
    """`row.context` is the provider's count, not an estimate."""
    known_cost: float = 0.0
    """US dollars for the requests with a known price; if all are known, equal to `row.cost`."""
    prompts: frozenset[str] = frozenset()
    """Ids of prompts that wait for it."""
    turn: str = ""
    """Id of the turn in progress."""
    killed_until: float = 0.0
    """When its kill becomes final, seconds since the epoch; 0: it is not killed."""
    messages: frozenset[str] = frozenset()
    """Ids of messages that wait for it."""
    mode: GuardMode | None = None
    """How much it may do before it asks; `None`: it asks, and nobody has changed that."""

    @property
    def queued(self) -> int:
        """Prompts that wait for it."""
        return len(self.prompts)

    @property
    def id(self) -> str:
        return self.row.id

    @property
    def status(self) -> Status:
        """Its status, or a fallback for a word that this version does not know."""
        return cast("Status", self.row.status if self.row.status in STATUSES else "lost")

    @property
    def state(self) -> str:
        """What people read for its status."""
        return self.row.state if self.row.status == self.status else self.status

    @property
    def state_words(self) -> str:
        """That, and what else the list says of how it is."""
        return self.row.state_words if self.row.status == self.status else self.status

    @property
    def terminal(self) -> bool:
        """It has its own terminal, and all its data comes from the roster."""
        return self.row.runtime == "tmux"

    @property
    def pane(self) -> str:
        """Its tmux pane; empty: none now."""
        return "" if self.status == "lost" else self.row.pane

    @property
    def since(self) -> float:
        """When the status last changed, seconds since the epoch."""
        return self.row.status_at or self.row.created

    @property
    def model(self) -> str:
        """Its model's name for people; the id of one that the catalog does not know."""
        if self.label or not self.row.model:
            return self.label
        from gshtui.providers.catalog import label_of  # not before the first frame

        return label_of(self.row.model)

    @property
    def thinks(self) -> str:
        """The model, and how hard it is told to think if it is told."""
        return f"{self.model} · {self.effort} effort" if self.effort else self.model

    @property
    def has_model(self) -> bool:
        """Whether it has a model, or had one that cost something; without, tokens and cost mean nothing."""
        return self.row.provider != "offline" or self.known_cost > 0

    @property
    def made_of(self) -> str:
        """The persona, profile or program, and the machine if it is another one."""
        row = self.row
        made = f"{row.profile} {row.version}".strip() or row.persona
        if row.kind == "cli" and row.profile in ("", "repl") and row.argv:
            made = row.argv[0].rpartition("/")[2]
        return f"{made} on {row.machine}" if row.machine else made

    @property
    def cost_known(self) -> bool:
        """Whether the price of every request is known."""
        return self.row.cost is not None or not self.row.tokens

    @property
    def ended(self) -> bool:
        """Whether it has stopped running."""
        return self.terminal and self.status in ENDED_STATUSES

    @property
    def worktree(self) -> str:
        """Folder of its own git worktree; empty: none."""
        return self.row.worktree

    @property
    def archived(self) -> bool:
        return bool(self.row.archived)

    @property
    def finished(self) -> bool:
        """It rests, and nobody has read what it came to."""
        return self.row.finished and not self.killed_until

    @property
    def waits_for_you(self) -> bool:
        return self.row.needs_you or self.status == "waiting"

    @property
    def waits_now(self) -> bool:
        """It waits for the person, and has neither ended nor been killed."""
        return self.waits_for_you and not self.ended and not self.killed_until

    @property
    def busy(self) -> bool:
        """It has not come to rest."""
        return bool(self.turn or self.killed_until) or self.status in ("thinking", "tool", "waiting", "starting")


class AgentsState(msgspec.Struct, frozen=True):
    """All agents, in order of arrival."""

    agents: dict[str, AgentView] = msgspec.field(default_factory=dict[str, AgentView])
    home: str = ""
    """This window's folder."""


AgentRowEvent = AgentChanged | AgentSpawned | AgentKilled | AgentRestored
MessageWaits = MessageQueued | MessageHeld
MessageLeaves = MessageTyped | MessageSubmitted | MessageActed | MessageDropped
CONSUMED: tuple[type[Event], ...] = (
    *ROW_EVENTS,
    AgentChanged,
    AgentModeChanged,
    AgentKilled,
    AgentRemoved,
    AgentRestored,
    AgentSpawned,
    ContextTuned,
    HubStarted,
    MessageActed,
    MessageDropped,
    MessageHeld,
    MessageQueued,
    MessageSubmitted,
    MessageTyped,
    PromptQueued,
    PromptWithdrawn,
    TurnStarted,
)


def reduce(state: AgentsState, event: Event) -> AgentsState:
    """The state after an event; an unknown agent is added."""
    if isinstance(event, HubStarted):
        return replace(state, home=event.cwd)
    if isinstance(event, AgentRemoved):
        left = {id: agent for id, agent in state.agents.items() if id != event.agent}
        return replace(state, agents=left) if len(left) < len(state.agents) else state
    agent = getattr(event, "agent", None)
    if not isinstance(event, CONSUMED) or not isinstance(agent, str):
        return state
    if isinstance(event, ApprovalSettled) and agent not in state.agents:
        return state  # the end of a question that was withdrawn with who asked it
    before = state.agents.get(agent) or AgentView(local_row(agent, event.at))
    if isinstance(event, AgentModeChanged):
        after = before if before.mode == event.mode else replace(before, mode=event.mode)
    elif isinstance(event, AgentRowEvent):
        after = _from_roster(before, event)
    elif isinstance(event, MessageWaits):
        after = replace(before, messages=before.messages | {event.message})
    elif isinstance(event, MessageLeaves):
        known = event.message in before.messages
        after = replace(before, messages=before.messages - {event.message}) if known else before
    else:
        after = before if before.terminal else _after(before, event)
    return state if after is before else replace(state, agents={**state.agents, agent: after})


def restored(state: AgentsState, front: str, iterations: Sequence[Iteration]) -> AgentsState:
    """With an agent's requests from the record, unless it has sent one meanwhile."""
    agent = state.agents.get(front)
    mine = [one for one in iterations if agent is not None and one.session == (agent.row.session or one.session)]
    if agent is None or agent.row.tokens or not mine:
        return state
    row, last = agent.row, mine[-1]
    window = row.window or last.window
    known_cost = sum(one.cost or 0.0 for one in mine)
    unknown = any(one.cost is None for one in mine if one.usage is not None)
    known = replace(
        agent,
        row=replace(
            row,
            context=row.context or (last.usage.context if last.usage is not None else last.tokens),
            window=window,
            tokens=sum(one.usage.context for one in mine if one.usage is not None),
            cost=None if unknown else known_cost,
        ),
        known_cost=known_cost,
        exact=agent.exact or (not row.context and last.usage is not None),
        trigger=agent.trigger or (last.trigger if window == last.window else 0),
    )
    return replace(state, agents={**state.agents, front: known})


def _from_roster(agent: AgentView, event: AgentRowEvent) -> AgentView:
    match event:
        case AgentChanged(row=row) | AgentSpawned(row=row):
            until = agent.killed_until if row.killed and not row.ended else 0.0
            return AgentView(
                row,
                exact=row.tokens > 0,
                known_cost=row.cost or 0.0,
                killed_until=until,
                messages=agent.messages,
                mode=agent.mode,
            )
        case AgentKilled():
            return replace(agent, killed_until=event.until)
        case AgentRestored():
            return replace(agent, killed_until=0.0)


def _after(agent: AgentView, event: Event) -> AgentView:
    """The view after an event about an agent without a terminal."""
    row = apply_event(agent.row, event)
    match event:
        case ModelChanged():
            trigger = agent.trigger if row.window == agent.row.window else 0
            return replace(agent, row=row, label=event.label, trigger=trigger, effort=event.effort)
        case ContextAssembled():
            return replace(agent, row=row, exact=False, trigger=event.trigger or agent.trigger)
        case ContextCut():
            return replace(agent, row=row, exact=False)
        case ContextTuned():
            return replace(agent, row=row, trigger=event.trigger or agent.trigger)
        case CutUndone() if event.tokens:
            return replace(agent, row=row, exact=False)
        case UsageReported():
            exact = agent.exact or event.iteration > 0
            return replace(agent, row=row, exact=exact, known_cost=agent.known_cost + (event.cost or 0.0))
        case SessionOpened() if event.session != agent.row.session:
            return replace(agent, row=row, exact=False, known_cost=0.0, prompts=frozenset())
        case PromptQueued():
            return replace(agent, prompts=agent.prompts | {event.prompt})
        case PromptWithdrawn():
            return replace(agent, prompts=agent.prompts - {event.prompt})
        case TurnStarted():
            return replace(agent, turn=event.turn, prompts=agent.prompts - {event.prompt})
        case TurnFinished():
            row = replace(row, report=event.text[-2_000:]) if event.text else row
            return replace(agent, row=row, turn="")
        case _:
            return agent if row is agent.row else replace(agent, row=row)

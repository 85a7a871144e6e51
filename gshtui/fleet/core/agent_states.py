"""The state of every known agent: its row, and the details that only its events contain. Kept from the bus, or read
from the journals of conversations that other windows have open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from gshtui.bus.agent_data import ENDED_STATUSES, AgentRow, EffortChoice
from gshtui.bus.agent_reducer import ROW_EVENTS, apply_event, local_row
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import ModelChanged, UsageReported
from gshtui.bus.events.approval_events import ApprovalSettled
from gshtui.bus.events.fleet_events import AgentRemoved
from gshtui.bus.events.server_events import ToolServerChanged
from gshtui.bus.events.session_events import SessionOpened, SessionTitled
from gshtui.bus.messages import Usage

if TYPE_CHECKING:
    from gshtui.providers.model_command import ModelInUse
    from gshtui.store.record.store import Store
    from gshtui.store.tables.session_table import SessionInfo

_PAGE = 2_000
"""Events that are read at once."""
_LOOKED_AT = 10_000
"""How many conversations are searched for open ones."""


class AgentState(msgspec.Struct, frozen=True):
    """An agent's row with the details of its model and conversation that no row keeps."""

    row: AgentRow
    label: str = ""
    """The model's name for people; empty: its id."""
    effort: EffortChoice = ""
    title: str = ""
    """Of its conversation."""
    usage: Usage = Usage()
    """Tokens of this conversation by kind; `row.tokens` is their sum."""
    requests: int = 0
    writable: bool = True
    """Its conversation is open for writing here."""
    held_by: str = ""
    """The window that it lives in, when that is another one."""
    servers: Mapping[str, str] = {}
    """The MCP servers that its own hub has needed, with their states."""

    @property
    def is_local(self) -> bool:
        """Whether it lives in a window or a command, not in its own terminal."""
        return self.row.runtime == "local"


def state_after(state: AgentState, event: Event) -> AgentState:
    """The state after one event about its agent."""
    row = apply_event(state.row, event)
    match event:
        case ModelChanged():
            return replace(state, row=row, label=event.label, effort=event.effort)
        case UsageReported():
            return replace(state, row=row, usage=state.usage + event.usage, requests=state.requests + 1)
        case SessionOpened():
            if event.session != state.row.session:
                state = replace(state, usage=Usage(), requests=0)
            return replace(state, row=row, title=event.title, writable=event.writable)
        case ToolServerChanged():
            return replace(state, row=row, servers={**state.servers, event.server: event.state or "off"})
        case _:
            return replace(state, row=row)


class AgentStates:
    """The agents of one hub, kept from its bus."""

    def __init__(self, bus: Bus) -> None:
        self._states: dict[str, AgentState] = {}
        self._subscription = bus.subscribe(
            self._apply, *ROW_EVENTS, AgentRemoved, SessionTitled, ToolServerChanged, name="agent states"
        )

    def all(self) -> list[AgentState]:
        """Every agent, in the order in which they appeared."""
        return list(self._states.values())

    def local(self) -> list[AgentState]:
        """Those of this hub; what the roster says of agents in terminals is more."""
        return [state for state in self._states.values() if state.is_local]

    def get(self, agent: str) -> AgentState | None:
        return self._states.get(agent)

    def in_use(self, agent: str) -> ModelInUse | None:
        """The agent's model, as the `model` command shows it; `None` while unknown."""
        state = self._states.get(agent)
        if state is None or not state.row.model:
            return None
        from gshtui.providers.model_command import ModelInUse  # a short call asks for no model

        row = state.row
        return ModelInUse(row.provider, row.model, state.label, row.window, state.effort, row.name)

    def servers(self, server: str) -> list[tuple[str, str]]:
        """The agents that have an MCP server in processes of their own, by name, with its state there."""
        found = [state for state in self._states.values() if server in state.servers]
        living = [state for state in found if not (state.row.ended and state.row.status in ENDED_STATUSES)]
        return [(state.row.name, state.servers[server]) for state in living]

    async def close(self) -> None:
        self._subscription.unsubscribe()

    def _apply(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if isinstance(event, SessionTitled):
                for agent, state in self._states.items():
                    if state.row.session == event.session:
                        self._states[agent] = replace(state, title=event.title)
                continue
            agent: str = getattr(event, "agent", "")
            if isinstance(event, AgentRemoved):
                self._states.pop(agent, None)
                continue
            if isinstance(event, ToolServerChanged) and not agent:
                continue
            if isinstance(event, ApprovalSettled) and agent not in self._states:
                continue  # the end of a question that was withdrawn with who asked it
            known = self._states.get(agent) or AgentState(local_row(agent, event.at))
            self._states[agent] = state_after(known, event)


async def window_agents(store: Store, cwd: str | None) -> list[AgentState]:
    """Every agent whose conversation a living window or command holds, reconstructed from the journals.

    `cwd`: only agents of this folder; `None`: all. Raises `StoreError`.
    """
    infos = await store.sessions.find_all(cwd=cwd, limit=_LOOKED_AT, empty=True)
    return [await _from_journal(store, info) for info in infos if info.held_by]


async def _from_journal(store: Store, info: SessionInfo) -> AgentState:
    row = replace(local_row(info.agent, info.created), cwd=info.cwd, session=info.id)
    state = AgentState(row, title=info.title)
    after = 0
    while page := await store.journal.read(info.id, after=after, limit=_PAGE):
        for after, event in page:  # noqa: B007  # the last one is where the next page begins
            state = state_after(state, event)
    row = replace(state.row, status_source="journal", session=info.id)
    return replace(state, row=row, title=info.title, held_by=info.held_by)

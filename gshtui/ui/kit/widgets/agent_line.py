"""The line above an agent's tab: who it is and what it is doing; at the right, how to attach to it.

`TabAgent` is a pure reducer over events. Titles and names are untrusted text and never markup.
"""

from __future__ import annotations

import platform

import msgspec
from msgspec.structs import replace
from textual.content import Content

from gshtui.bus.agent_data import ENDED_STATUSES, AgentRow, state_word
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import AgentStatusChanged
from gshtui.bus.events.fleet_events import AgentChanged, AgentEnded, AgentKilled, AgentRestored, AgentSpawned
from gshtui.text.sanitise import one_line
from gshtui.ui.kit.drawing import figures
from gshtui.ui.kit.drawing.themes import STATUS_SIGNS

_TabEvent = AgentChanged | AgentEnded | AgentKilled | AgentRestored | AgentSpawned | AgentStatusChanged
AGENT_EVENTS: tuple[type[Event], ...] = (
    AgentChanged,
    AgentEnded,
    AgentKilled,
    AgentRestored,
    AgentSpawned,
    AgentStatusChanged,
)
_MUTED = "$foreground-muted"
_HOST = platform.node()
"""tmux's title for a terminal whose program set none."""


class TabAgent(msgspec.Struct, frozen=True):
    """One agent as shown above its tab."""

    row: AgentRow
    status: str
    since: float
    """Seconds since the epoch."""
    doing: str = ""
    killed: bool = False


def tab_agent(row: AgentRow) -> TabAgent:
    """The agent from the roster."""
    return TabAgent(row, row.status, row.status_at, row.doing, row.killed)


def after_event(agent: TabAgent, event: Event) -> TabAgent:
    """The agent after an event; other agents' events change nothing."""
    if not isinstance(event, AGENT_EVENTS):
        return agent
    assert isinstance(event, _TabEvent)
    if event.agent != agent.row.id:
        return agent
    match event:
        case AgentChanged() | AgentSpawned():
            return tab_agent(event.row)
        case AgentStatusChanged():
            since = agent.since if agent.status == event.status and agent.since else event.at
            return replace(agent, status=event.status, doing=event.doing, since=since)
        case AgentEnded():
            return replace(agent, status=event.status, since=event.at, doing="")
        case AgentKilled():
            return replace(agent, killed=True)
        case AgentRestored():
            return replace(agent, killed=False)


def title_line(agent: TabAgent, title: str, command: str, width: int, now: float, *, focused: bool = False) -> Content:
    """The agent with its status and age; at the right, the command that attaches to it.

    Args:
        title: what its terminal is called, unless it is known what it is doing.
        now: seconds since the epoch.
    """
    sign, colour = STATUS_SIGNS.get(agent.status, ("○", _MUTED))
    age = figures.age_in(agent.status, agent.since, now)
    since = f" · {age}" if age else ""
    parts: list[Content | str | tuple[str, str]] = [("▌", "$primary") if focused else " "]
    if agent.status:
        parts += [(f"{sign} {state_word(agent.status)}", colour), (f"{since}  ", _MUTED)]
    parts.append((one_line(agent.row.name, 40), "bold"))
    if (mode := one_line(agent.row.mode_words, 60)) and not agent.row.ended:
        parts.append((f" · {mode}", "$warning" if agent.row.exceeds else _MUTED))
    if agent.killed:
        parts.append((" · killed" if agent.status in ENDED_STATUSES else " · killed, can be undone", "$warning"))
    doing = one_line(agent.doing or title, 80)
    if doing and doing not in (agent.row.name, _HOST, "killed" if agent.killed else ""):
        parts.append((f" · {doing}", _MUTED))
    return both_ends(Content.assemble(*parts), Content.styled(command, _MUTED), width)


def both_ends(left: Content, right: Content, width: int) -> Content:
    """Text at both ends of a line; without room, the right part is dropped."""
    room = width - left.cell_length - right.cell_length - 2
    if room < 0:
        return left.truncate(max(0, width - 1), ellipsis=True)
    return Content.assemble(left, " " * (room + 1), right, " ")


def tab_title(row: AgentRow) -> str:
    """The agent's name in the line of tabs."""
    return one_line(row.name or row.id, 24)

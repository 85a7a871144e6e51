"""In which order agents are listed: whoever waits for the person on top, children behind their parent, the ended last.

Pure; refuses to draw. Called by the agents pane.
"""

from __future__ import annotations

import msgspec

from gshtui.ui.agents.agents_state import AgentsState, AgentView

ENDED_SHOWN = 4
"""Agents that have ended, with nothing new to read, which are listed all the same."""


class Placed(msgspec.Struct, frozen=True):
    """An agent in the list. `depth`: how many listed agents are above it. `last`: of its parent's."""

    agent: AgentView
    depth: int = 0
    last: bool = True


class Listing(msgspec.Struct, frozen=True):
    """What is listed, in order, and how many are not: those that have ended, and those of other folders."""

    placed: tuple[Placed, ...] = ()
    ended: int = 0
    elsewhere: int = 0


def listing(state: AgentsState, *, everything: bool = False) -> Listing:
    """The agents in order. `everything`: also those of other folders, and all that have ended."""
    here = [agent for agent in state.agents.values() if everything or agent.home in ("", state.home)]
    old = [agent for agent in here if agent.ended and not agent.unread and not agent.waits_for_you]
    hidden = set[str]() if everything else {agent.id for agent in sorted(old, key=_since)[ENDED_SHOWN:]}
    shown = [agent for agent in here if agent.id not in hidden]
    return Listing(_tree(shown), len(hidden), len(state.agents) - len(here))


def _since(agent: AgentView) -> float:
    return -agent.since


def _tree(agents: list[AgentView]) -> tuple[Placed, ...]:
    ids = {agent.id for agent in agents}
    below: dict[str, list[AgentView]] = {}
    for agent in agents:
        parent = agent.parent if agent.parent in ids and agent.parent != agent.id else ""
        below.setdefault(parent, []).append(agent)
    urgent: dict[str, int] = {}

    def urgency(agent: AgentView) -> int:
        if agent.id not in urgent:
            urgent[agent.id] = 2 if agent.ended else 1  # against a circle of parents
            own = 0 if agent.waits_for_you else urgent[agent.id]
            urgent[agent.id] = min([own, *(urgency(child) for child in below.get(agent.id, ()))])
        return urgent[agent.id]

    placed: list[Placed] = []
    seen: set[str] = set()

    def take(parent: str, depth: int) -> None:
        children = sorted(below.get(parent, ()), key=urgency)
        for number, agent in enumerate(children, 1):
            if agent.id not in seen:
                seen.add(agent.id)
                placed.append(Placed(agent, depth, number == len(children)))
                take(agent.id, depth + 1)

    take("", 0)
    for agent in agents:  # who has only each other for parents
        if agent.id not in seen:
            seen.add(agent.id)
            placed.append(Placed(agent))
            take(agent.id, 1)
    return tuple(placed)

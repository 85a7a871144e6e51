"""Modes: how much an agent may do before a person is asked, and the mode of each agent of this process.

A mode never allows what a rule denies or what is always refused. Nothing that arrives from another process changes one:
the hub's socket accepts no request for it. Used by the gate; changed by the command `mode`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from gshtui.bus.agent_data import GuardMode
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.approval_events import AgentModeChanged, ModeChangeRequested

MODES: tuple[GuardMode, ...] = get_args(GuardMode)
"""Strictest first."""
CYCLE = MODES[:-1]
"""Those that a key goes through; `yolo` only by name."""
ABOUT: dict[GuardMode, str] = {
    "plan": "reads run, everything else is refused",
    "ask": "reads in the project run, everything else asks",
    "edit": "edits in the project run too, the rest asks",
    "auto": "what fits in the sandbox runs there, the rest asks",
    "yolo": "everything runs unasked and unsandboxed, except what a rule denies or what is always refused",
}


def strictest(*modes: GuardMode) -> GuardMode:
    return min(modes, key=MODES.index)


def next_mode(mode: GuardMode) -> GuardMode:
    """The mode that the key changes to; from `yolo`, back to `ask`."""
    return CYCLE[(CYCLE.index(mode) + 1) % len(CYCLE)] if mode in CYCLE else "ask"


def inherited(mode: GuardMode) -> GuardMode:
    """The widest mode of an agent that an agent in this mode starts: `yolo` is given by a person, to one agent."""
    return strictest(mode, "auto")


def mode_named(word: str) -> GuardMode | None:
    return next((mode for mode in MODES if mode == word), None)


class AgentModes:
    """The mode of each agent that a gate judges. It publishes changes of its own agent; others publish theirs."""

    def __init__(self, bus: Bus, agent: str, start: GuardMode = "ask") -> None:
        """`agent`: the one of this process; `start`: the mode in which every agent begins."""
        self._bus = bus
        self._agent = agent
        self.start: GuardMode = start
        self._changed: dict[str, GuardMode] = {}
        self._limits: dict[str, GuardMode] = {}
        self._subscription = bus.subscribe(self._listen, ModeChangeRequested, name="modes")
        if agent:  # a hub without an agent of its own has nothing to say
            bus.publish(AgentModeChanged(agent=agent, mode=start))

    def close(self) -> None:
        self._subscription.unsubscribe()

    def mode_of(self, agent: str) -> GuardMode:
        """The agent's mode; while it works for another agent, no wider than that one's."""
        mode = self._changed.get(agent, self.start)
        return strictest(mode, self._limits[agent]) if agent in self._limits else mode

    def limit(self, agent: str, mode: GuardMode | Literal[""]) -> bool:
        """Hold an agent to a mode for the turn that another agent asked for; empty: no longer.

        A person who changes its mode meanwhile ends that. Returns whether its mode is another now.
        """
        before = self.mode_of(agent)
        if mode:
            self._limits[agent] = mode
        else:
            self._limits.pop(agent, None)
        if (now := self.mode_of(agent)) == before:
            return False
        self._bus.publish(AgentModeChanged(agent=agent, mode=now))
        return True

    def note(self, agent: str, mode: GuardMode) -> None:
        """Record the mode in which an agent of another process was started, unless a person has changed it."""
        self._changed.setdefault(agent, mode)

    def change(self, agent: str, mode: GuardMode) -> None:
        self._changed[agent] = mode
        self._limits.pop(agent, None)
        if agent == self._agent:
            self._bus.publish(AgentModeChanged(agent=agent, mode=mode))

    def _listen(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if isinstance(event, ModeChangeRequested):
                self.change(event.agent, event.mode)

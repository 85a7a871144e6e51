"""The agents pane: who is there, what each one does, how that is known and since when, its model, tokens and cost.

Owns the drawing; the state is `agents_state`'s. Fed by the bridge; the ages are renewed while somebody is at work.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.content import Content
from textual.timer import Timer

from gshtui.bus.event import Event
from gshtui.ui import figures
from gshtui.ui.panes.agents_state import CONSUMED, AgentsState, AgentView, reduce
from gshtui.ui.widgets.pane import Pane

SIGNS: dict[str, tuple[str, str]] = {
    "starting": ("◌", "$foreground-muted"),
    "thinking": ("●", "$primary"),
    "tool": ("●", "$secondary"),
    "waiting": ("◆", "$warning"),
    "idle": ("○", "$foreground-muted"),
    "done": ("✓", "$success"),
    "failed": ("✗", "$error"),
    "lost": ("?", "$error"),
}
"""Status → its sign and colour. The word always stands beside it: colour is never the only sign."""

EMPTY = (
    "No agent yet.\n\nThe agent of this window appears here as soon as it has started, with what it is doing, "
    "its model, its tokens and their cost."
)


class AgentsPane(Pane):
    """The agents of this window."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = CONSUMED

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        super().__init__("agents", "Agents", 2, EMPTY)
        self.state = AgentsState()
        self._clock = clock
        self._ages: Timer | None = None

    def on_mount(self) -> None:
        self._ages = self.set_interval(1.0, self._draw, pause=True)

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        before = self.state
        for event in events:
            self.state = reduce(self.state, event)
        if self.state is not before:
            self._draw()
            if self._ages is not None:
                busy = any(agent.busy for agent in self.state.agents.values())
                (self._ages.resume if busy else self._ages.pause)()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        if not self.display or not self.is_mounted:
            return
        agents = list(self.state.agents.values())
        self.label(str(len(agents)) if len(agents) > 1 else "")
        if not agents:
            self.show(None)
            return
        width, now = self.columns, self._clock()
        self.show(Content("\n\n").join([draw_agent(agent, width, now) for agent in agents]))


def draw_agent(agent: AgentView, width: int, now: float) -> Content:
    """One agent in a few lines of at most `width` cells."""
    sign, colour = SIGNS[agent.status]
    since = figures.age(max(0.0, now - agent.since)) if agent.since else ""
    name = figures.short(agent.name, max(4, width - 3 - len(since)))
    gap = " " * max(1, width - 2 - len(name) - len(since))
    lines = [
        Content.assemble((f"{sign} ", colour), (name, "bold"), gap, (since, "$foreground-muted")),
        Content.assemble("  ", (agent.status, colour), (f" · by {agent.source}", "$foreground-muted")),
    ]
    if agent.doing:
        lines.append(Content("  " + figures.short(" ".join(agent.doing.split()), width - 2)))
    if agent.queued:
        waits = "1 prompt waits" if agent.queued == 1 else f"{agent.queued} prompts wait"
        lines.append(Content.styled(f"  {waits}", "$warning"))
    if agent.model:
        lines.append(Content.styled("  " + figures.short(agent.model, width - 2), "$foreground-muted"))
    lines.append(Content.styled("  " + figures.short(spending(agent), width - 2), "$foreground-muted"))
    return Content("\n").join(lines)


def spending(agent: AgentView) -> str:
    """Tokens in the window and money spent, in words."""
    estimate = "" if agent.exact or not agent.context else "~"
    window = f"/{figures.tokens(agent.window)}" if agent.window else ""
    cost = figures.dollars(agent.cost, known=agent.cost_known)
    return f"{estimate}{figures.tokens(agent.context)}{window} · {cost}"

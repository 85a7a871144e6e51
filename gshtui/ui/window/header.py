"""The line at the top: project, branch, mode, model, context meter, cost, and the hub's state.

`HeaderState` is a pure reducer over events; the bar draws it in one line and drops the least important first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

import msgspec
from msgspec.structs import replace
from textual import events
from textual.app import RenderResult
from textual.content import Content
from textual.widget import Widget

from gshtui.bus.agent_data import GuardMode
from gshtui.bus.context_data import Iteration
from gshtui.bus.event import Event
from gshtui.bus.events.hub_events import BranchChanged, HubStarted, HubStopped, PartFailed, PartStarted
from gshtui.guard.approval import open_approvals
from gshtui.text import units
from gshtui.ui.agents import agents_state
from gshtui.ui.agents.agents_state import AgentView
from gshtui.ui.kit.drawing import figures
from gshtui.ui.kit.drawing import figures as context_meter
from gshtui.ui.kit.widget_messages import ForContext, ShowQuestion
from gshtui.ui.window.main_area import FRAMED

CONSUMED: tuple[type[Event], ...] = (
    *agents_state.CONSUMED,
    *open_approvals.APPROVAL_EVENTS,
    BranchChanged,
    HubStarted,
    HubStopped,
    PartFailed,
    PartStarted,
)
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
    open: open_approvals.OpenApprovals = open_approvals.OpenApprovals()

    @property
    def agent(self) -> agents_state.AgentView | None:
        return self.agents.agents.get(self.front)

    @property
    def others(self) -> list[AgentView]:
        """The other agents of this folder that live, or that ended and nobody has seen it."""
        return [
            one
            for one in self.agents.agents.values()
            if one.id != self.front
            and one.row.home in ("", self.agents.home)
            and not one.archived
            and (not one.ended or one.row.unread)
        ]

    @property
    def waiting(self) -> int:
        """How many questions wait for the person, and agents that wait without one that can be read."""
        asking = {request.agent for request in self.open.waiting}
        silent = [one for one in self.agents.agents.values() if one.waits_now and one.id not in asking]
        return len(self.open.waiting) + len(silent)


def reduce(state: HeaderState, event: Event) -> HeaderState:
    """The state after an event."""
    match event:
        case HubStarted():
            return replace(
                state,
                project=event.project.rstrip("/").rpartition("/")[2] or state.project,
                branch=event.branch or state.branch,
                hub="partial" if state.failed else "ready",
                agents=agents_state.reduce(state.agents, event),
            )
        case BranchChanged():
            return replace(state, branch=event.branch)
        case PartFailed():
            failed = (*state.failed, event.part) if event.part not in state.failed else state.failed
            return replace(state, failed=failed, hub="partial" if state.hub == "ready" else state.hub)
        case PartStarted() if event.part in state.failed:
            failed = tuple(part for part in state.failed if part != event.part)
            return replace(state, failed=failed, hub="ready" if state.hub == "partial" and not failed else state.hub)
        case HubStopped():
            return replace(state, hub="stopped")
        case _:
            agents, asked = agents_state.reduce(state.agents, event), open_approvals.apply_event(state.open, event)
            same = agents is state.agents and asked is state.open
            return state if same else replace(state, agents=agents, open=asked)


def restored(state: HeaderState, iterations: Sequence[Iteration]) -> HeaderState:
    """With the front agent's data from the record, unless something was sent meanwhile."""
    agents = agents_state.restored(state.agents, state.front, iterations)
    return state if agents is state.agents else replace(state, agents=agents)


METER = 8
"""Cells of the context meter."""
_HUB: dict[HubState, tuple[str, str]] = {
    "starting": ("starting…", "$foreground-muted"),
    "ready": ("", ""),
    "partial": ("partly running", "$warning"),
    "failed": ("not running", "$error"),
    "stopping": ("stopping…", "$foreground-muted"),
    "stopped": ("stopped", "$foreground-muted"),
}
_MODES: dict[GuardMode, str] = {
    "plan": "bold reverse $primary",
    "ask": "bold",
    "edit": "bold $success",
    "auto": "bold reverse $success",
    "yolo": "bold reverse $error",
}


class HeaderBar(Widget):
    """One line that shows where you are and what it costs."""

    DEFAULT_CSS = "HeaderBar { height: 1; }"
    CONSUMES: ClassVar[tuple[type[Event], ...]] = CONSUMED

    def __init__(self, project: str, branch: str = "", front: str = "main") -> None:
        super().__init__(id="header")
        self.state = HeaderState(project, branch, front)
        self.changed: Callable[[], None] | None = None
        """Called after each change of the state."""
        self._told = front, False
        """The agent whose figures these are, and whether it is named here: the input's frame names somebody else."""
        self._waits = (0, 0)
        """The columns of the badge."""
        self._counts = False

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        before = self.state
        for event in events:
            self.state = reduce(self.state, event)
        if self.state is not before:
            self._show()

    def _show(self) -> None:
        self.refresh()
        if self.changed is not None:
            self.changed()

    def show_agent(self, agent: str, *, named: bool) -> None:
        """Show the figures of this agent. `named`: with its name."""
        if self._told != (agent, named):
            self._told = agent, named
            self.refresh()

    def count_agents(self, counts: bool) -> None:
        """Show how many agents there are, where no list of them is shown."""
        if self._counts != counts:
            self._counts = counts
            self.refresh()

    def restore(self, iterations: Sequence[Iteration]) -> None:
        """Show the front agent's data from the record, unless something was sent meanwhile."""
        self.state = restored(self.state, iterations)
        self._show()

    def on_click(self, event: events.Click) -> None:
        """A click on who waits goes to the question; one on the figures at the right opens what they are about."""
        if self.state.waiting and self._waits[0] <= event.x < self._waits[1]:
            self.post_message(ShowQuestion("", answer=True))
            return
        if self._told[0] in self.state.agents.agents and event.x > self.size.width // 2:
            self.post_message(ForContext("inspect", self._told[0]))

    def failed(self) -> None:
        """The hub did not start."""
        self.state = replace(self.state, hub="failed")
        self.refresh()

    def stopping(self) -> None:
        """The window is closing."""
        self.state = replace(self.state, hub="stopping")
        self.refresh()

    def render(self) -> RenderResult:
        low = self.screen.size.height < FRAMED
        agent, named = self._told
        state = replace(self.state, front=agent)
        drawn = draw_header(state, self.size.width, model=low and not named, named=named, counts=self._counts)
        start = drawn.plain.find("◆") - 1
        self._waits = (start, start + 13) if self.state.waiting else (0, 0)
        return drawn


def draw_header(state: HeaderState, width: int, *, model: bool, named: bool = False, counts: bool = False) -> Content:
    """The line, exactly `width` cells.

    Args:
        model: it names the model, since the input's frame does not.
        named: it names the agent whose figures these are, since the input's frame names another one.
        counts: it says how many agents there are.
    """
    left = [Content.styled(" gsh ", "bold reverse $primary"), Content.assemble(" ", (state.project, "bold"))]
    if state.branch:
        left.append(Content.styled(f" ({state.branch})", "$foreground-muted"))  # no agent's name
    right = _right(state)
    if not model:
        right.pop("model", None)
    if not named:
        right.pop("agent", None)
    if not counts:
        right.pop("agents", None)
    # Without room a cost below a cent and the model without its effort are said shorter; then are dropped, in this
    # order: model, branch, cost, meter, agent, agents, hub, mode; who waits and the project stay.
    for name in ("", "shorter", "model", "branch", "cost", "meter", "agent", "agents", "hub", "mode", "waits"):
        if name == "shorter":
            right |= _shorter(state.agent)
        right.pop(name, None)
        if name == "branch" and len(left) > 2:
            left.pop()
        shown = Content("  ").join(list(right.values()))
        room = width - shown.cell_length - (1 if right else 0)
        line = Content("").join(left)
        if line.cell_length + 1 <= room:
            return Content.assemble(line, " " * (room - line.cell_length), shown, " " if right else "")
    return Content("").join(left).truncate(width, ellipsis=True)


def _right(state: HeaderState) -> dict[str, Content]:
    agent = state.agent
    parts: dict[str, Content] = {}
    if state.waiting:
        words = f" ◆ {state.waiting} need{'s' * (state.waiting == 1)} you "
        parts["waits"] = Content.styled(words, "bold reverse $warning")
    if state.others:
        done = sum(one.finished or (one.ended and one.row.unread > 0) for one in state.others)
        words = f"{len(state.others) + 1} agents"
        parts["agents"] = Content.assemble(
            (words, "$foreground-muted"), (f" · {done} done" if done else "", "$success")
        )
    if agent is not None:
        parts["agent"] = Content.styled(f"{state.front}:", "$foreground-muted")
        if agent.mode not in (None, "ask"):  # the input's frame says the usual one, too
            parts["mode"] = Content.styled(f" {agent.mode} ", _MODES[agent.mode])
        if agent.model and agent.has_model:
            effort = f" {agent.effort}" if agent.effort else ""
            parts["model"] = Content.styled(figures.short(agent.model, 36) + effort, "$foreground-muted")
        if not agent.has_model:
            parts["meter"] = Content.styled("no model", "$foreground-muted")
        elif agent.row.window:
            parts["meter"] = meter(agent)
        if agent.has_model and (cost := figures.money(agent.known_cost, known=agent.cost_known)):
            parts["cost"] = Content(cost)
    word, colour = _HUB[state.hub]
    if word:
        parts["hub"] = Content.styled(word, colour)
    return parts


def _shorter(agent: AgentView | None) -> dict[str, Content]:
    """Those of its parts that have a shorter form."""
    parts: dict[str, Content] = {}
    if agent is not None and agent.model and agent.effort:
        parts["model"] = Content.styled(figures.short(agent.model, 36), "$foreground-muted")
    if agent is not None and 0 < agent.known_cost < 0.01:
        parts["cost"] = Content("<$0.01" if agent.cost_known else "<$0.01+")
    return parts


def meter(agent: AgentView) -> Content:
    """How full the model's window is: a bar with a mark at the trigger, and a percentage; colour and a sign warn."""
    bar = context_meter.context_meter(agent.row.context, agent.row.window, agent.trigger, METER)
    warning = context_meter.meter_sign(agent.row.context, agent.row.window, agent.trigger)
    return Content.assemble(bar, f" {units.percent(agent.row.context, agent.row.window)}{warning}")

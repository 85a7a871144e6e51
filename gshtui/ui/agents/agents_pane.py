"""The agents pane: every agent, what it is doing and since when, and the cursor.

Owns the cursor and the keys; `agents_state` owns the state, `agents_list` the drawing, `agents_feature` the actions.
Below the agents are the calls, each with what is unread and who does what there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import BindingType
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget

from gshtui.bus.call_data import LOBBY, TYPES_FOR, TYPING, CallInfo
from gshtui.bus.context_data import Iteration
from gshtui.bus.event import Event
from gshtui.bus.events.call_events import CallChanged, CallRemoved
from gshtui.bus.letter import PERSON
from gshtui.ui.agents.agents_list import AgentListing, age_of, draw_agents, list_agents
from gshtui.ui.agents.agents_state import CONSUMED, AgentsState, AgentView, reduce, restored
from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.row_actions import row_bindings
from gshtui.ui.kit.widget_messages import FeatureMessage, JoinTheCall
from gshtui.ui.kit.widgets.side_pane import Pane

if TYPE_CHECKING:
    from gshtui.ui.kit.widgets.search_line import SearchLine


CALL_EVENTS: tuple[type[Event], ...] = (CallChanged, CallRemoved)
PREFIX = "call:"
"""Before a call's name as the owner of its line."""
_MUTED = "$foreground-muted"
_DETAILED = 4
"""Most calls of which the members and documents are listed, too."""
_IDLE = 60.0
"""Seconds after which somebody is shown as idle."""


def calls_after(calls: Mapping[str, CallInfo], event: Event) -> Mapping[str, CallInfo]:
    """The calls after an event."""
    match event:
        case CallChanged():
            return {**calls, event.call: event.data}
        case CallRemoved():
            return {name: call for name, call in calls.items() if name != event.call}
        case _:
            return calls


def say_nothing(calls: Iterable[CallInfo]) -> bool:
    """Whether nobody has anything to say to another."""
    return all(call.name == LOBBY and len(call.members) <= 2 and not call.messages for call in calls)


def draw_calls(calls: Iterable[CallInfo], width: int, now: float) -> tuple[list[Content], list[str]]:
    """The lines of the calls that the person can see into, and the owner of each line; none while they say nothing.
    `now`: seconds since the epoch.
    """
    shown = sorted(calls, key=lambda call: (call.name != LOBBY, call.name))
    if say_nothing(shown):
        return [], []
    lines = [Content(), Content.styled(" Calls", f"bold {_MUTED}")]
    owners = ["", ""]
    detailed = len(shown) <= _DETAILED
    for call in shown:
        drawn = [_line(call, width), *(_details(call, width, now) if detailed else ())]
        lines += drawn
        owners += [f"{PREFIX}{call.name}"] * len(drawn)
    return lines, owners


def _details(call: CallInfo, width: int, now: float) -> list[Content]:
    """Which people do something there or were there a while ago, and what is pinned; agents have rows of their own."""
    from gshtui.text.sanitise import one_line  # not before the first frame
    from gshtui.ui.kit.drawing.figures import age

    lines: list[Content] = []
    for member in call.members:
        if member.member == PERSON or member.is_agent:
            continue
        typed = member.doing == TYPING and now - member.at > TYPES_FOR
        doing = "" if typed else one_line(member.doing, 40)
        if not doing and member.at and now - member.at >= _IDLE:
            doing = f"idle {age(now - member.at)}"
        if doing:
            lines.append(Content.assemble(f"   {one_line(member.name or member.member, 16)}", (f" {doing}", _MUTED)))
    if call.pinned:
        lines.append(Content.styled(f"   pinned: {', '.join(one_line(name, 24) for name in call.pinned)}", _MUTED))
    return [line.truncate(width, ellipsis=True) for line in lines]


def _line(call: CallInfo, width: int) -> Content:
    from gshtui.text.sanitise import one_line  # not before the first frame

    mine = next((one for one in call.members if one.member == PERSON), None)
    unread = 0 if mine is None else max(0, call.messages - 1 - mine.seen)
    name = one_line(call.name, 24)
    new = (f"  {unread} new", "bold $primary") if unread else ""
    others = ", ".join(one_line(one.name or one.member, 16) for one in call.members if one.member != PERSON)
    line = Content.assemble((f" # {name}", "bold" if unread else ""), new, (f"  {others}" if others else "", _MUTED))
    return line.truncate(width, ellipsis=True)


EMPTY = "Agents appear here: {agents.spawn} to start one."
AT_ONCE = 12
"""Up to this many agents, every change is shown at once."""
SLOWLY = 0.25
"""Seconds between redraws of a longer list."""
_ROOMY = 26
"""Columns from which on the title says how many wait for the person, or of how many what was found is."""
_WIDE = 34
"""Columns from which on it says all of both."""


class AgentsPane(Pane):
    """The agents of this window's folder; other folders on request."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = (*CONSUMED, *CALL_EVENTS)
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("agents.up", "choose(-1)"),
        bind("agents.down", "choose(1)"),
        bind("agents.home", "edge(False)"),
        bind("agents.end", "edge(True)"),
        bind("agents.menu", "want('agents.menu')"),
        bind("agents.filter", "filter"),
        bind("transcript.search_end", "end_filter"),
        bind("agents.group", "group"),
        bind("agents.all", "everything"),
        *row_bindings("agents"),
    ]

    class Wanted(FeatureMessage):
        """Requests an action on an agent: the one in this row of the key table."""

        def __init__(self, key: str, agent: AgentView) -> None:
            super().__init__()
            self.key = key
            self.agent = agent

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        super().__init__("agents", "Agents", 2, EMPTY)
        self.state = AgentsState()
        self.listing = AgentListing()
        self._calls: Mapping[str, CallInfo] = {}
        self._chosen = ""
        self._everything = False
        self._words = ""
        """What listed agents have."""
        self._grouped = False
        self.line: SearchLine | None = None
        """Where words to filter by are typed; `None`: they never were."""
        self._needs: int | None = None
        self._owners: list[str] = []
        self._clock = clock
        self._ages: tuple[str, ...] = ()
        self._due: Timer | None = None
        self._arranged = 0.0

    @property
    def chosen(self) -> AgentView | None:
        """The agent under the cursor; initially the first one."""
        for placed in self.listing.placed:
            if placed.agent.id == self._chosen:
                return placed.agent
        return self.listing.placed[0].agent if self.listing.placed else None

    @property
    def is_empty(self) -> bool:
        """Whether it has nothing to list but one agent, of which the header tells."""
        return len(self.listing.placed) < 2 and not self._words and say_nothing(self._calls.values())

    def next_waiting(self, after: str) -> AgentView | None:
        """The agent that waits for the person and comes after this one, by number; after the last, the first again."""
        waiting = sorted((one for one in self.state.agents.values() if one.waits_now), key=lambda one: one.id)
        known = any(one.id == after for one in waiting) or after.isdecimal()
        return next((one for one in waiting if known and one.id > after), waiting[0] if waiting else None)

    def on_mount(self) -> None:
        self.set_interval(1.0, self.tick)
        self.watch(self.screen, "focused", self._end_filter_outside)

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        before, calls = self.state, self._calls
        for event in events:
            self.state = reduce(self.state, event)
            self._calls = calls_after(self._calls, event)
        if self.state is not before or self._calls is not calls:
            self._arrange_soon()

    def tell_needs(self, needs: int) -> None:
        """How many questions wait in all folders, as the header says."""
        if needs != self._needs:
            self._needs = needs
            self._draw()

    def tick(self) -> None:
        """Once a second: redraw agents whose text depends on the time."""
        if any(agent.killed_until for agent in self.state.agents.values()) or self._ages != self._ages_now():
            self._draw()

    def _ages_now(self) -> tuple[str, ...]:
        now = self._clock()
        return tuple(age_of(placed.agent, now) for placed in self.listing.placed)

    def restore(self, agent: str, iterations: Sequence[Iteration]) -> None:
        """Show what the record holds of an agent's requests, unless it sent something meanwhile."""
        self.state = restored(self.state, agent, iterations)
        self._arrange_soon()

    def on_resize(self) -> None:
        self._draw()

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self._draw()

    def _arrange_soon(self) -> None:
        """Show a short list at once; a long one, which takes some milliseconds, only a few times a second."""
        wait = self._arranged + SLOWLY - time.monotonic()
        if len(self.state.agents) <= AT_ONCE or wait <= 0:
            self._arrange()
        elif self._due is None:
            self._due = self.set_timer(wait, self._arrange)

    def _arrange(self) -> None:
        if self._due is not None:
            self._due.stop()
            self._due = None
        self._arranged = time.monotonic()
        self.listing = list_agents(self.state, everything=self._everything, words=self._words, grouped=self._grouped)
        self._tell()
        self._draw()

    def _draw(self) -> None:
        if not self.display or not self.size:  # its first size comes by itself: lines for a guess would be painted
            return
        self._label()
        self._ages = self._ages_now()
        below, rooms = draw_calls(self._calls.values(), self.columns, self._clock())
        if self._words:
            below, rooms = [], []
        if not self.listing.placed and not below:
            self._owners = []
            if self._words:
                self.show_lines([Content.styled(f"No agent has “{self._words}”", "$foreground-muted")])
            else:
                self.show(None)
            return
        chosen = self.chosen.id if self.chosen is not None and self.has_focus else ""
        lines, owners = draw_agents(self.listing, self.columns, self._clock(), chosen, self.rows)
        self._owners = [*owners, *rooms]
        covered = [Content()] if self.line is not None and self.line.display else []
        self.show_lines([*lines, *below, *covered])

    def _label(self) -> None:
        agents = [placed.agent for placed in self.listing.placed]
        listed = sum(agent.waits_now for agent in agents)
        waiting = listed if self._needs is None else self._needs
        if self._words:
            of = f" of {len(self.state.agents)}{' agents' if self.columns >= _WIDE else ''}"
            self.label(f"{len(agents)}{of if self.columns >= _ROOMY else ''}")
        elif waiting and len(agents) > 1 and self.columns >= _ROOMY:
            of = f" of {len(agents)}" if self.columns >= _WIDE and waiting == listed else ""
            self.label(f"{waiting}{of} {'needs' if waiting == 1 else 'need'} you")
        else:
            self.label(str(len(agents)) if len(agents) > 1 else "")

    # Keys and mouse

    def action_choose(self, step: int) -> None:
        """Move the cursor; it stops at either end."""
        ids = [placed.agent.id for placed in self.listing.placed]
        if ids and self.chosen is not None:
            at = ids.index(self.chosen.id)
            self._choose(ids[max(0, min(len(ids) - 1, at + step))])

    def action_edge(self, last: bool) -> None:
        """Move the cursor to the first agent, or the last one."""
        if self.listing.placed:
            self._choose(self.listing.placed[-1 if last else 0].agent.id)

    def _choose(self, agent: str) -> None:
        self._chosen = agent
        self._draw()
        rows = [number for number, owner in enumerate(self._owners) if owner == agent]
        if rows:
            top = self.scroll_offset.y
            if rows[0] < top:
                self.scroll_to(y=rows[0], animate=False)
            elif rows[-1] >= top + self.rows:
                self.scroll_to(y=rows[-1] - self.rows + 1, animate=False)

    def action_want(self, key: str) -> None:
        """Request an action on the agent under the cursor."""
        if self.chosen is not None:
            self._chosen = self.chosen.id  # the first one is under the cursor only until one was meant
            self.post_message(self.Wanted(key, self.chosen))

    async def action_filter(self) -> None:
        """Type words that listed agents have."""
        if self.line is None:
            from gshtui.ui.kit.widgets.search_line import SearchLine  # not before the first frame

            self.line = SearchLine("name, state, program, task, folder")
            await self.mount(self.line)
        self.line.open()
        self._draw()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return bool(self._words) if action == "end_filter" else super().check_action(action, parameters)

    def action_end_filter(self) -> None:
        """List all agents again."""
        if self.line is not None:
            self.line.action_close()

    def _end_filter_outside(self, focused: Widget | None) -> None:
        """Who looks elsewhere misses nobody who waits."""
        if self.line is not None and focused is not None and self not in focused.ancestors_with_self:
            self.line.clear()

    def on_search_line_changed(self, message: SearchLine.Changed) -> None:
        message.stop()
        self._words = " ".join(message.words.split())
        self._arrange()

    def on_search_line_stepped(self, message: SearchLine.Stepped) -> None:
        message.stop()
        self.action_choose(message.step)

    def on_search_line_taken(self, message: SearchLine.Taken) -> None:
        message.stop()
        self.focus()

    def on_search_line_closed(self, message: SearchLine.Closed) -> None:
        message.stop()
        self._words = ""
        self._arrange()
        self.focus()

    def action_group(self) -> None:
        """Toggle grouping by folder."""
        self._grouped = not self._grouped
        self._arrange()

    def action_everything(self) -> None:
        """Toggle listing other folders' agents and all ended ones."""
        self._everything = not self._everything
        self._arrange()

    def on_click(self, event: events.Click) -> None:
        """A click selects, a double click opens, the right button shows the menu."""
        row = int(event.screen_y) - self.scrollable_content_region.y + self.scroll_offset.y
        inside = int(event.screen_y) >= self.scrollable_content_region.y
        if not inside:
            return
        event.prevent_default()  # the first row of the body is not the title
        agent = self._owners[row] if 0 <= row < len(self._owners) else ""
        if not agent:
            return
        if agent.startswith(PREFIX):
            self.post_message(JoinTheCall(agent.removeprefix(PREFIX)))
            return
        self._choose(agent)
        if event.button == 3:
            self.action_want("agents.menu")
        elif event.chain == 2:
            self.action_want("agents.open")

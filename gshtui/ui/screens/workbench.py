"""The main screen: header, side panes, the tabs with the chat, the input line, the line of keys.

Owns where panes stand and which has the focus; refuses to know what they show. Made by the app, which hands in the
remembered layout and the widgets of the centre.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget

from gshtui.ui.bindings import bind
from gshtui.ui.layout import CHAT, PANES, RIGHT, Layout, arrange
from gshtui.ui.panes.agents import AgentsPane
from gshtui.ui.panes.context import ContextPane
from gshtui.ui.panes.shell import ShellPane
from gshtui.ui.panes.timeline import TimelinePane
from gshtui.ui.parts import Centre
from gshtui.ui.surroundings import app_of
from gshtui.ui.widgets.banner import Banner
from gshtui.ui.widgets.drag import Dragged
from gshtui.ui.widgets.header import HeaderBar
from gshtui.ui.widgets.header_state import HeaderState
from gshtui.ui.widgets.keybar import KeyBar
from gshtui.ui.widgets.offer import Offer
from gshtui.ui.widgets.pane import Pane
from gshtui.ui.widgets.splitter import Splitter
from gshtui.ui.widgets.tabs import Deck, TabBar


class WorkbenchScreen(Screen[None]):
    """The frame of the workbench."""

    BINDINGS = [
        bind("app.help_here", "app.keys"),
        bind("app.back", "back"),
        bind("panes.next", "cycle(1)"),
        bind("panes.previous", "cycle(-1)"),
        bind("panes.chat", "pane('chat')"),
        bind("panes.agents", "pane('agents')"),
        bind("panes.shell", "pane('shell')"),
        bind("panes.context", "pane('context')"),
        bind("panes.timeline", "pane('timeline')"),
        bind("panes.sides", "sides"),
        bind("panes.left", "go('left')"),
        bind("panes.right", "go('right')"),
        bind("panes.up", "go('up')"),
        bind("panes.down", "go('down')"),
        bind("panes.zoom", "zoom"),
        bind("panes.narrower", "edge(-2)"),
        bind("panes.wider", "edge(2)"),
        bind("panes.reset", "reset"),
        bind("tabs.next", "tab(1)"),
        bind("tabs.previous", "tab(-1)"),
        bind("approval.focus", "below('review')"),
        bind("queue.focus", "below('queue')"),
    ]

    class LayoutChanged(Message):
        """A person changed the layout."""

        def __init__(self, layout: Layout) -> None:
            super().__init__()
            self.layout = layout

    class Ready(Message):
        """The input is there and has the focus."""

    class Backed(Message):
        """Escape was pressed where there is nothing left to back out of."""

    def __init__(
        self, layout: Layout, project: str, branch: str, front: str, centre: Centre, clock: Callable[[], float]
    ) -> None:
        super().__init__(id="workbench")
        self.layout_now = layout
        self.header = HeaderBar(project, branch, front)
        self.banner = Banner()
        self.deck = Deck(CHAT, "Chat", [centre.chat])
        self.centre = centre
        self.input = centre.input
        self.panes: dict[str, Pane] = {
            "agents": AgentsPane(clock),
            "shell": ShellPane(),
            "context": ContextPane(front),
            "timeline": TimelinePane(front),
        }
        self._edges = {"left": Splitter("left"), "right": Splitter("right")}
        self._middle = Vertical(self.deck, Offer(), *centre.below, id="centre")
        self._right = Vertical(*(self.panes[name] for name in RIGHT), id="right")
        self._keybar = KeyBar()

    def compose(self) -> ComposeResult:
        yield self.header
        yield self.banner
        with Horizontal(id="body"):
            yield self.panes["agents"]
            yield self._edges["left"]
            yield self._middle
            yield self._edges["right"]
            yield self._right
        yield self._keybar

    def on_mount(self) -> None:
        self._arrange()
        self.set_focus(self.input)
        self.post_message(self.Ready())

    def on_resize(self, event: events.Resize) -> None:
        self._arrange()

    async def action_below(self, action: str) -> None:
        """Have what stands below the chat act, wherever the focus is."""
        for widget in self.centre.below:
            await widget.run_action(action)

    # What is shown, and how large

    def _arrange(self) -> None:
        width, height = app_of(self).size
        found = arrange(self.layout_now, width, height)
        agents = self.panes["agents"]
        agents.display, agents.styles.width = bool(found.left), found.left or 1
        self._right.display, self._right.styles.width = bool(found.right), found.right or 1
        self._edges["left"].display = bool(found.left) and found.centre
        self._edges["right"].display = bool(found.right) and found.centre
        self._middle.display = found.centre
        for name in RIGHT:
            self.panes[name].display = name in found.right_panes
        for name, weight in zip(found.right_panes, found.weights, strict=True):
            self.panes[name].styles.height = f"{weight}fr"
        self.header.display, self._keybar.display = found.header, found.footer
        self.deck.bar.display = found.tabs
        self.set_class(found.compact, "-compact")
        focused = self.focused
        if focused is None or not all(node.display for node in focused.ancestors_with_self if isinstance(node, Widget)):
            self._focus_front()

    def _focus_front(self) -> None:
        zoomed = self.panes.get(self.layout_now.zoomed)
        (zoomed or self.input).focus()

    @property
    def is_plain(self) -> bool:
        """Whether the window stands as it will at its next start: nothing typed, nothing above the panes."""
        unusual = self.layout_now.zoomed or self.banner.display or self.query_one(Offer).display
        return app_of(self).screen is self and not unusual and not self.centre.typed()

    @contextmanager
    def as_at_first(self) -> Generator[None]:
        """For the block, the lines that tell of the conversation say what they say before there is one."""
        header, note = self.header.state, self.deck.bar.note
        self.header.state = HeaderState(header.project, header.branch, header.front)
        self.deck.bar.set_reactive(TabBar.note, "")
        for line in (self.header, self.deck.bar):
            line.refresh()
        try:
            yield
        finally:
            self.header.state = header
            self.deck.bar.set_reactive(TabBar.note, note)
            for line in (self.header, self.deck.bar):
                line.refresh()

    def set_layout(self, layout: Layout) -> None:
        """Show this layout, and say that it changed."""
        if layout != self.layout_now:
            self.layout_now = layout
            self._arrange()
            self.post_message(self.LayoutChanged(layout))

    @on(Dragged)
    def _dragged(self, message: Dragged) -> None:
        message.stop()
        if message.name == "split-left":
            self.set_layout(self.layout_now.widened("left", message.columns, app_of(self).size.width))
        elif message.name == "split-right":
            self.set_layout(self.layout_now.widened("right", -message.columns, app_of(self).size.width))
        elif message.name in RIGHT and message.rows:
            self._heighten_above(message.name, message.rows)

    def _heighten_above(self, pane: str, rows: int) -> None:
        heights = self._heights()
        shown = [name for name in RIGHT if heights.get(name)]
        at = shown.index(pane) if pane in shown else 0
        if at:
            self.set_layout(self.layout_now.heightened(shown[at - 1], rows, heights))

    def _heights(self) -> dict[str, int]:
        return {name: self.panes[name].outer_size.height for name in RIGHT if self.panes[name].display}

    @on(Pane.Resized)
    def _resized(self, message: Pane.Resized) -> None:
        layout, width = self.layout_now, app_of(self).size.width
        if message.columns:
            side = "right" if message.pane in RIGHT else "left"
            self.set_layout(layout.widened(side, message.columns, width))
        elif message.pane in RIGHT:
            self.set_layout(layout.heightened(message.pane, message.rows, self._heights()))

    @on(Pane.Zoomed)
    def _zoomed(self, message: Pane.Zoomed) -> None:
        self.set_layout(self.layout_now.with_zoom(message.pane))
        self.panes[message.pane].focus()

    @on(Pane.Hidden)
    def _hidden(self, message: Pane.Hidden) -> None:
        self.set_layout(self.layout_now.toggled(message.pane))

    # Where the focus is

    def front_pane(self) -> str:
        """The pane that has the focus, by its place in the layout; the chat when none has."""
        focused = self.focused
        for name, pane in self.panes.items():
            if focused is not None and pane in focused.ancestors_with_self:
                return name
        return CHAT

    def _places(self) -> list[Widget]:
        """Where the focus can go, in the order of the keys."""
        shown: list[Widget] = [self.input] if self._middle.display else []
        return shown + [pane for name in PANES if (pane := self.panes.get(name)) and self.on_screen(pane)]

    def on_screen(self, pane: Pane) -> bool:
        return bool(pane.display and (pane.pane not in RIGHT or self._right.display))

    def action_cycle(self, step: int) -> None:
        places = self._places()
        here = self.panes.get(self.front_pane(), self.input)
        at = places.index(here) if here in places else 0
        places[(at + step) % len(places)].focus()

    def action_pane(self, name: str) -> None:
        """Show a pane and go there; where it is already in front, hide it. With too little room it gets all of it."""
        if name == CHAT:
            self.set_layout(self.layout_now.with_zoom(""))
            self.input.focus()
            return
        if self.front_pane() == name:
            zoomed = self.layout_now.zoomed == name
            self.set_layout(self.layout_now.with_zoom("") if zoomed else self.layout_now.toggled(name))
            self.input.focus()
            return
        zoomed = self.layout_now.with_zoom("") if self.layout_now.zoomed else self.layout_now
        self.set_layout(zoomed.with_pane(name))
        if not self.on_screen(self.panes[name]):
            self.set_layout(self.layout_now.with_zoom(name))
        self.panes[name].focus()

    def action_go(self, direction: str) -> None:
        """Move to the nearest pane in a direction."""
        here = self.panes.get(self.front_pane())
        region = (here or self._middle).region
        best: tuple[int, Widget] | None = None
        for place in self._places():
            there = place.region if place is not self.input else self._middle.region
            if place is here or (here is None and place is self.input):
                continue
            gap = {
                "left": region.x - there.right,
                "right": there.x - region.right,
                "up": region.y - there.bottom,
                "down": there.y - region.bottom,
            }[direction]
            if gap >= 0 and (best is None or gap < best[0]):
                best = (gap, place)
        if best is not None:
            best[1].focus()

    def action_back(self) -> None:
        """End the zoom, else go back to the input, else tell the app that there is nothing to back out of."""
        if self.banner.dismiss():
            return
        if self.layout_now.zoomed:
            self.set_layout(self.layout_now.with_zoom(""))
            self.input.focus()
        elif self.focused is not self.input:
            self.input.focus()
        else:
            self.post_message(self.Backed())

    def action_zoom(self) -> None:
        self.set_layout(self.layout_now.with_zoom(self.layout_now.zoomed or self.front_pane()))

    def action_sides(self) -> None:
        self.set_layout(self.layout_now.without_sides())

    def action_reset(self) -> None:
        self.set_layout(Layout())

    def action_edge(self, columns: int) -> None:
        """Move the edge between the pane in front and the centre; from the chat, the right one (or the left one)."""
        side = "left" if self.front_pane() == "agents" or not self._right.display else "right"
        by = columns if side == "left" else -columns
        self.set_layout(self.layout_now.widened(side, by, app_of(self).size.width))

    def action_tab(self, step: int) -> None:
        self.deck.turn(step)

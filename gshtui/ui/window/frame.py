"""The frame of the main screen: what it is composed of, and where each part stands, by the layout and the terminal.

Owns places and sizes, also when the mouse drags an edge; refuses keys and to know what panes show. `WorkbenchScreen` is
built on it.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from gshtui.ui.agents.agents import AgentsPane
from gshtui.ui.context.context import ContextPane
from gshtui.ui.context.timeline import TimelinePane
from gshtui.ui.kit.banner import Banner
from gshtui.ui.kit.drag import Dragged
from gshtui.ui.kit.keybar import KeyBar
from gshtui.ui.kit.layout import CHAT, LEFT, RIGHT, Layout, arrange
from gshtui.ui.kit.pane import Pane
from gshtui.ui.kit.splitter import Splitter
from gshtui.ui.kit.surroundings import app_of
from gshtui.ui.kit.tabs import Deck, TabBar
from gshtui.ui.kit.textual.compositor import PieceCompositor
from gshtui.ui.shell.shell import ShellPane
from gshtui.ui.window.header import HeaderBar
from gshtui.ui.window.header_state import HeaderState
from gshtui.ui.window.offer import Offer
from gshtui.ui.window.parts import Centre

ECHO = 1 / 60
"""Seconds from one showing of what is typed to the next, at least."""


class FrameScreen(Screen[None]):
    """The parts of the main screen, in their places."""

    class LayoutChanged(Message):
        """A person changed the layout."""

        def __init__(self, layout: Layout) -> None:
            super().__init__()
            self.layout = layout

    class Ready(Message):
        """The input is there and has the focus."""

    def __init__(
        self, layout: Layout, project: str, branch: str, front: str, centre: Centre, clock: Callable[[], float]
    ) -> None:
        super().__init__(id="workbench")
        self._pieces = self._compositor = PieceCompositor()
        self._came_up = False
        self._echoed = 0.0
        self._cramped = ""
        """The pane that has all of the window only because there was no room beside the chat."""
        self.layout_now = layout
        self.header = HeaderBar(project, branch, front)
        self.banner = Banner()
        self.deck = Deck(CHAT, "Chat")
        self.centre = centre
        self.input = centre.input
        self.panes: dict[str, Pane] = {
            "agents": AgentsPane(clock),
            "shell": ShellPane(clock),
            "context": ContextPane(front),
            "timeline": TimelinePane(front),
        }
        self._edges = {"left": Splitter("left"), "right": Splitter("right")}
        self.middle = Vertical(self.deck, Offer(front), *centre.below, id="centre")
        self.right = Vertical(*(self.panes[name] for name in RIGHT), id="right")
        self._keybar = KeyBar()

    def compose(self) -> ComposeResult:
        self._place()  # before anything is laid out: each later change would lay all of it out again
        yield self.header
        yield self.banner
        with Horizontal(id="body"):
            yield self.panes["agents"]
            yield self._edges["left"]
            yield self.middle
            yield self._edges["right"]
            yield self.right
        yield self._keybar

    def on_mount(self) -> None:
        self.set_focus(self.input)
        self.post_message(self.Ready())

    def update_node_styles(self, animate: bool = True) -> None:
        # Textual styles every widget again when the screen comes up, right after it has styled each as it was mounted.
        if self._came_up:
            super().update_node_styles(animate)
        self._came_up = True

    async def _on_idle(self, event: events.Idle) -> None:
        # What is typed is shown at once; all else waits for Textual's next frame.
        batching = app_of(self)._batch_count  # pyright: ignore[reportPrivateUsage]
        typed = self.focused in self._dirty_widgets and self.is_current and not batching
        if typed and event.time - self._echoed > ECHO:
            self._echoed = event.time
            event.prevent_default()
            self._on_timer_update()

    def on_resize(self, event: events.Resize) -> None:
        beside = self.layout_now.with_zoom("")
        if self._cramped and self.layout_now.zoomed == self._cramped and self._fits(beside, self._cramped):
            self.set_layout(beside)
        else:
            self._arrange()

    # What is shown, and how large

    def _arrange(self) -> None:
        """Fit the layout to the terminal, with the focus on something that is there."""
        self._place()
        focused = self.focused
        if focused is None or not all(node.display for node in focused.ancestors_with_self if isinstance(node, Widget)):
            self._focus_front()

    def _fits(self, layout: Layout, pane: str) -> bool:
        """Whether the terminal has room for a pane in this layout."""
        found = arrange(layout, *app_of(self).size)
        return bool(found.left) if pane in LEFT else pane in found.right_panes

    def _place(self) -> None:
        width, height = app_of(self).size
        found = arrange(self.layout_now, width, height)
        agents = self.panes["agents"]
        agents.display, agents.styles.width = bool(found.left), found.left or 1
        self.right.display, self.right.styles.width = bool(found.right), found.right or 1
        self._edges["left"].display = bool(found.left) and found.centre
        self._edges["right"].display = bool(found.right) and found.centre
        self.middle.display = found.centre
        for name in RIGHT:
            self.panes[name].display = name in found.right_panes
        for name, weight in zip(found.right_panes, found.weights, strict=True):
            self.panes[name].styles.height = f"{weight}fr"
        self.header.display, self._keybar.display = found.header, found.footer
        self.deck.bar.display = found.tabs
        self.set_class(found.compact, "-compact")

    def _focus_front(self) -> None:
        zoomed = self.panes.get(self.layout_now.zoomed)
        (zoomed or self.input).focus()

    async def open_chat(self) -> None:
        """Put the conversation into its tab."""
        chat = self.centre.chat()
        await self.deck.fill(chat)
        self.call_after_refresh(self._tell_sizes, chat)

    def _tell_sizes(self, chat: Widget) -> None:
        """Tell new widgets how large they are. Textual fails to, where someone asks for a region before the layout."""
        for widget in chat.walk_children(Widget, with_self=True):
            if widget.size:
                widget.post_message(events.Resize(widget.size, widget.virtual_size, widget.container_size))

    @property
    def is_plain(self) -> bool:
        """Whether the window stands as it will at its next start: nothing typed, nothing above the panes."""
        unusual = self.layout_now.zoomed or self.banner.display or self.query_one(Offer).display
        return app_of(self).screen is self and not unusual and not self.centre.typed()

    def drawn(self) -> list[Strip]:
        """The rows of the screen as they stand now."""
        return self._pieces.drawn()

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
            if not layout.zoomed:
                self._cramped = ""
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

    def on_screen(self, pane: Pane) -> bool:
        return bool(pane.display and (pane.pane not in RIGHT or self.right.display))

"""The main screen: the window's parts, its keys, and where the focus goes.

Owns the current layout; `PaneFrame` owns places and sizes. Knows nothing about the panes' contents.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
from textual import events, on
from textual.app import ComposeResult
from textual.containers import Center, Vertical
from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Static

from gshtui.client.pane_names import CHAT, PANES, RIGHT
from gshtui.text.markdown_table import unmarked
from gshtui.ui.agents.agents_pane import AgentsPane
from gshtui.ui.context.context_pane import ContextPane
from gshtui.ui.context.timeline_pane import TimelinePane
from gshtui.ui.kit.keys.key_bar import KeyBar
from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.textual.app_base import BRIEF
from gshtui.ui.kit.textual.compositor import piece_compositor
from gshtui.ui.kit.textual.painting import focused_waits, paint_now
from gshtui.ui.kit.textual.typed_app import app_of, pressed_at, takes_every_key
from gshtui.ui.kit.widgets.draggable_edges import Dragged
from gshtui.ui.kit.widgets.front_scroll import FrontScroll, PromptWalker
from gshtui.ui.kit.widgets.side_pane import Pane
from gshtui.ui.kit.widgets.tabs import Deck
from gshtui.ui.prompt.prompt_routing import Addressee
from gshtui.ui.shell.shell_pane import ShellPane
from gshtui.ui.window.header import HeaderBar
from gshtui.ui.window.main_area import MainArea, SessionOffer
from gshtui.ui.window.pane_frame import PaneFrame, PaneStrip
from gshtui.ui.window.pane_layout import PaneLayout

if TYPE_CHECKING:
    from gshtui.ui.conversation.conversation_pane import ConversationPane

ECHO = 1 / 60
"""Minimum seconds between two repaints of typed text."""


class WorkbenchScreen(Screen[None]):
    """See the module."""

    BINDINGS = [
        bind("app.help_here", "app.keys"),
        bind("app.back", "back"),
        bind("mode.next", "app.press('mode.next')"),
        bind("panes.next", "cycle(1)"),
        bind("panes.previous", "cycle(-1)"),
        *(bind(f"panes.{name}", f"pane('{name}')") for name in PANES),
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
        bind("approval.allow", "below('allow')"),
        bind("approval.refuse", "below('refuse')"),
        bind("queue.focus", "below('queue')"),
    ]

    class Backed(Message):
        """Escape was pressed with nothing left to back out of."""

    class LayoutChanged(Message):
        """The person changed the layout."""

        def __init__(self, layout: PaneLayout) -> None:
            super().__init__()
            self.layout = layout

    class Ready(Message):
        """The input exists and has the focus."""

    def __init__(
        self, layout: PaneLayout, project: str, branch: str, front: str, centre: MainArea, clock: Callable[[], float]
    ) -> None:
        super().__init__(id="workbench")
        self._pieces = piece_compositor(self)
        self._came_up = False
        self._echoed = 0.0
        self._edge = Region()
        """Where the input is."""
        self._left: Widget | None = None
        """What had the focus before a side pane."""
        self._cramped = ""
        """The pane that fills the window only because there was no room beside the chat."""
        self._displaced: tuple[Widget, float | None] | None = None
        """What had the focus before there was no room for it, and the last key until then."""
        self.layout_now = layout.at_start()
        self.header = HeaderBar(project, branch, front)
        self.banner = Banner()
        self.deck = Deck(CHAT, "Chat", centre.coming)
        self.centre = centre
        self.input = centre.below.input
        self.addressee = Addressee(front)
        """Who gets what is typed."""
        self.front_scroll = FrontScroll(self.deck)
        centre.below.scrolls(self.front_scroll)
        self._agents = AgentsPane(clock)
        self.panes: dict[str, Pane] = {
            "agents": self._agents,
            "shell": ShellPane(clock),
            "context": ContextPane(front),
            "timeline": TimelinePane(front),
        }
        self.strip = PaneStrip([self.panes[name] for name in RIGHT], self.action_pane)
        self.offer = SessionOffer(front)
        self._offered = Center(self.offer)
        self._free = 0
        """Columns that text and input leave right of them, for panes to come."""
        self.middle = Vertical(self.deck, self._offered, self.strip, centre.below, id="centre")
        self._frame = PaneFrame(self.panes, self.middle)
        self._keybar = KeyBar(self.input, centre.below)
        self.header.changed = self.address
        for pane in self.panes.values():
            pane.changed = self._pane_changed

    def compose(self) -> ComposeResult:
        self._place()  # before anything is laid out: each later change would lay all of it out again
        yield self.header
        yield self.banner
        yield self._frame.body
        yield self._keybar

    def on_mount(self) -> None:
        self.set_focus(self.input)
        self.input.look_up = self._look_up
        self.screen_layout_refresh_signal.subscribe(self, self._laid_out, immediate=True)  # pyright: ignore[reportUnknownMemberType]
        self.watch(self, "focused", self._place_notices)
        self.post_message(self.Ready())

    def update_node_styles(self, animate: bool = True) -> None:
        # Textual styles every widget again when the screen comes up, right after it has styled each as it was mounted.
        if self._came_up:
            super().update_node_styles(animate)
        self._came_up = True

    def on_screen_suspend(self) -> None:
        self.refresh_bindings()  # none of them works under a dialog
        self._lie_below(True)

    def on_screen_resume(self) -> None:
        self.refresh_bindings()
        self._lie_below(False)

    def _lie_below(self, covered: bool) -> None:
        """Under a dialog there is no cursor, and no notice: the dialog shows those."""
        self.input.set_class(covered, "-covered")
        for rack in self.query_children("#textual-toastrack"):
            rack.set_class(covered, "-covered")

    def on_idle(self, event: events.Idle) -> None:
        # Typed text is shown at once; everything else waits for Textual's next frame.
        if focused_waits(self) and event.time - self._echoed > ECHO:
            self._echoed = event.time
            event.prevent_default()
            paint_now(self)

    def on_resize(self, event: events.Resize) -> None:
        focused = self.focused
        beside = self.layout_now.with_zoom("")
        zoomed = self.layout_now.zoomed == self._cramped
        if self._cramped and zoomed and self._frame.fits(beside, self._cramped, app_of(self).size):
            self.set_layout(beside)
        else:
            self._arrange()
        if focused is not None and not _is_shown(focused):
            self._displaced = focused, pressed_at(self)
        elif self._displaced is not None and (focused, pressed_at(self)) != (self.input, self._displaced[1]):
            self._displaced = None  # keys are for where they went since
        elif self._displaced is not None and _is_shown(self._displaced[0]):
            self._displaced[0].focus()
            self._displaced = None

    def _laid_out(self, _: Screen[Any]) -> None:
        self._leave_free()  # a tab may show its agent in another way
        self._edge = self.input.region  # asked for before a layout, it would keep widgets from being told their sizes
        self._keybar.stand_below(self._edge.x)
        self._place_notices()

    def _place_notices(self) -> None:
        """In the key bar while the input has the keys, else on its lower edge, or a zoomed pane's upper one."""
        edge = self.size.region
        if self.focused is not self.input and self._keybar.display:
            edge = self._edge if self.middle.display else Region(0, 0, edge.width, 1 + self.header.display)
        for rack in self.query_children("#textual-toastrack"):
            rack.styles.width, rack.styles.offset = edge.width, (edge.x, edge.bottom - self.size.height)

    # What is shown, and how large

    def _arrange(self) -> None:
        """Fit the layout to the terminal, with the focus on something visible."""
        self._place()
        focused = self.focused
        if focused is None or not _is_shown(focused):
            self._focus_front()

    def _place(self) -> None:
        found = self._frame.place(self.layout_now, app_of(self).size)
        self.header.display, self._keybar.display = found.header, found.footer
        self.header.count_agents(not found.left)
        self.deck.bar.display = found.tabs
        self.set_class(found.compact, "-compact")
        self.strip.offer(found.strip)
        self._free = found.free
        self._leave_free()

    def _leave_free(self) -> None:
        """What is no text has all the columns until then."""
        text = self.deck.front == CHAT or isinstance(self.deck.front_widget, PromptWalker)
        for widget in (self.deck.body, self._offered, self.centre.below):
            widget.styles.padding = (0, self._free, 0, 0) if text or widget is not self.deck.body else 0

    def _pane_changed(self) -> None:
        empty = frozenset(name for name, pane in self.panes.items() if pane.is_empty)
        if empty == self.layout_now.empty:
            self.strip.draw()
            return
        self.layout_now = self.layout_now.with_empty(empty, self.front_pane())
        self._arrange()

    def _focus_front(self) -> None:
        zoomed = self.panes.get(self.layout_now.zoomed)
        (zoomed or self.input).focus()

    async def open_chat(self) -> None:
        """Mount the conversation in its tab."""
        chat = self.centre.chat()
        await self.deck.fill(chat)
        self.call_after_refresh(self._tell_sizes, chat)

    def address(self) -> None:
        """Prompts go to the agent of the tab in front; without one, to the window's own."""
        front = self.header.state.front
        pane = self.deck.panes.get(self.deck.front)
        agent = (pane.agent if pane is not None else "") or front
        self.addressee = self._addressee(agent, pane.call if pane is not None else "")
        self.centre.below.approvals.needs = self.header.state.waiting
        self._agents.tell_needs(self.header.state.waiting)
        self.centre.below.address(self.addressee)
        elsewhere = self.addressee.mail or bool(self.addressee.call)
        self.offer.stand_by(elsewhere)
        self.header.show_agent(front if self.addressee.call else agent, named=bool(self.addressee.call))

    def _addressee(self, agent: str, call: str) -> Addressee:
        view = self.header.state.agents.agents.get(agent)
        return Addressee(
            agent,
            view.row.name if view is not None else "",
            view.thinks if view is not None else "",
            view.row.mode_words or view.mode or "" if view is not None else "",
            mail=agent != self.header.state.front,
            program=view is not None and not view.row.speaks_events,
            ended=view is not None and view.ended,
            call=call,
            commands=view.row.commands if view is not None else (),
        )

    def _look_up(self, addressee: Addressee) -> Addressee:
        """How it is now: one of whom nothing is known any more has ended."""
        now = self._addressee(addressee.agent, addressee.call)
        gone = now.mail and addressee.agent not in self.header.state.agents.agents
        return msgspec.structs.replace(addressee, ended=True) if gone else now

    @on(Deck.Turned)
    def _turned(self) -> None:
        self._leave_free()
        self.address()
        self.refresh_bindings()
        self.call_after_refresh(self.centre.below.approvals.look_again)

    def on_transcript_moved(self) -> None:
        self.centre.below.approvals.look_again()

    def show_newest(self) -> None:
        """Go to where what was just sent appears: the end of the addressee's conversation."""
        if not (self.addressee.mail or self.addressee.call):
            self.deck.show(CHAT)
        chat = self.deck.front_widget
        if isinstance(chat, PromptWalker):
            chat.action_end()

    @property
    def conversation(self) -> ConversationPane | None:
        """What the chat shows; `None`: it is not open yet."""
        from gshtui.ui.conversation.conversation_pane import ConversationPane

        return next(iter(self.query(ConversationPane).results()), None)

    def show_outcome(self, line: str, text: str, *, failed: bool) -> bool:
        """Show what a command has answered in the tab in front, or else in the chat; False: that is not open yet."""
        front = self.deck.panes.get(self.deck.front)
        if front is not None and front.show_outcome(line, text, failed=failed):
            return True
        if (chat := self.conversation) is None:
            return False
        if self.deck.front != CHAT and self.input.drafts.in_use:
            self.notify(f"{line} has answered in Chat.", markup=False)
        else:
            self.deck.show(CHAT)
        chat.show_outcome(line, text, failed=failed)
        return True

    def _tell_sizes(self, chat: Widget) -> None:
        """Tell new widgets their size. Textual does not if a region is requested before the layout."""
        for widget in chat.walk_children(Widget, with_self=True):
            if widget.size:
                widget.post_message(events.Resize(widget.size, widget.virtual_size, widget.container_size))

    def drawn(self) -> list[Strip]:
        """The rows of the screen as drawn now."""
        return self._pieces.drawn()

    def set_layout(self, layout: PaneLayout) -> None:
        """Show this layout, and report the change."""
        if layout != self.layout_now:
            if not layout.zoomed:
                self._cramped = ""
            self.layout_now = layout
            self._arrange()
            self.post_message(self.LayoutChanged(layout))

    @on(Dragged)
    def _dragged(self, message: Dragged) -> None:
        message.stop()
        self.set_layout(self._frame.dragged(self.layout_now, message, app_of(self).size))

    @on(Pane.Resized)
    def _resized(self, message: Pane.Resized) -> None:
        self.set_layout(self._frame.resized(self.layout_now, message, app_of(self).size))

    @on(Pane.Zoomed)
    def _zoomed(self, message: Pane.Zoomed) -> None:
        self.set_layout(self.layout_now.with_zoom(message.pane))
        self.panes[message.pane].focus()

    @on(Pane.Hidden)
    def _hidden(self, message: Pane.Hidden) -> None:
        self.set_layout(self.layout_now.toggled(message.pane, app_of(self).size.width))

    def on_screen(self, pane: Pane) -> bool:
        """Whether the pane is shown."""
        return self._frame.shows(pane)

    # Keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return False if takes_every_key(self.focused) else super().check_action(action, parameters)

    # Where the focus is

    def front_pane(self) -> str:
        """The focused pane, by its place in the layout; the chat if none is focused."""
        focused = self.focused
        for name, pane in self.panes.items():
            if focused is not None and pane in focused.ancestors_with_self:
                return name
        return CHAT

    def _places(self) -> list[Widget]:
        """The widgets that can take the focus, in the order of the keys."""
        shown: list[Widget] = [self.input] if self.middle.display else []
        if shown and (front := self.deck.front_widget) is not None:
            shown.append(front)
        return shown + [pane for name in PANES if (pane := self.panes.get(name)) and self.on_screen(pane)]

    def action_cycle(self, step: int) -> None:
        places = self._places()
        within = self.focused.ancestors_with_self if self.focused is not None else ()
        at = next((at for at, place in enumerate(places) if place in within), 0)
        self.set_focus(places[(at + step) % len(places)])  # at once: what waits may be gone by then

    def action_pane(self, name: str) -> None:
        """Show a pane and go there; from within it, go back to where the person was. With too little room it fills the
        window until then.
        """
        if name == CHAT:
            self.set_layout(self.layout_now.with_zoom(""))
            self.deck.show(CHAT)
            self.input.focus()
            return
        if self.front_pane() == name:
            self.set_layout(self.layout_now.with_zoom(""))
            left = self._left
            (left if left is not None and left.is_attached and left.focusable else self.input).focus()
            return
        if self.front_pane() == CHAT:
            self._left = self.focused
        zoomed = self.layout_now.with_zoom("") if self.layout_now.zoomed else self.layout_now
        self.set_layout(zoomed.with_pane(name))
        if not self.on_screen(self.panes[name]):
            self.set_layout(self.layout_now.with_zoom(name))
            self._cramped = name
        self.panes[name].focus()

    def action_go(self, direction: str) -> None:
        """Move to the nearest pane in a direction; in the middle, between the input and what is above it."""
        here = self.panes.get(self.front_pane())
        if here is None and direction in ("up", "down") and (direction == "up") is (self.focused is self.input):
            self.set_focus(self.input if direction == "down" else self.deck.front_widget or self.input)
            return
        region = (here or self.middle).region
        best: tuple[int, Widget] | None = None
        for place in self._places():
            there = place.region if place is not self.input else self.middle.region
            if place is here or place is self.deck.front_widget or (here is None and place is self.input):
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
        """End the zoom, else go back to the input, else report that there is nothing to back out of."""
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
        self._cramped = ""  # the person's choice stays, whatever room there is
        self.set_layout(self.layout_now.with_zoom(self.layout_now.zoomed or self.front_pane()))

    def action_sides(self) -> None:
        """Hide the side panes, or show them again; where there are none to be seen, nothing is hidden for later."""
        were_shown = self._shows_sides()
        self.set_layout(self.layout_now.with_sides(shown=not were_shown))
        if not were_shown and not self._shows_sides():
            self.notify("There is no side pane to show here.", timeout=BRIEF)

    def _shows_sides(self) -> bool:
        return self.strip.display or any(map(self.on_screen, self.panes.values()))

    def action_reset(self) -> None:
        self.set_layout(PaneLayout(empty=self.layout_now.empty))

    def action_edge(self, columns: int) -> None:
        """Move the edge between the focused pane and the centre; from the chat, the right (or left) edge."""
        side = "left" if self.front_pane() == "agents" or not self._frame.has_right else "right"
        by = columns if side == "left" else -columns
        self.set_layout(self.layout_now.widened(side, by, app_of(self).size.width))

    def action_tab(self, step: int) -> None:
        self.deck.turn(step)

    async def action_below(self, action: str) -> None:
        """Run an action of the area below the chat, wherever the focus is."""
        await self.centre.below.run_action(action)


def _is_shown(widget: Widget) -> bool:
    return widget.is_attached and all(node.display for node in widget.ancestors_with_self if isinstance(node, Widget))


class Banner(Static):
    """Hidden while empty; several notices are listed, newest last."""

    MOST = 3

    def __init__(self) -> None:
        super().__init__(id="banner", markup=False)
        self._lines: list[Content] = []
        self.display = False

    def add_notice(self, text: str, hint: str = "") -> None:
        """Add a notice: one sentence, and what to do."""
        behind = f" {unmarked(hint)}" if hint else ""
        if hint and not text.endswith((".", "!", "?", "…")):
            text += "."
        line = Content.assemble((" ✗ ", "bold $error"), unmarked(text), (behind, "$foreground-muted"))
        if line not in self._lines:
            self._lines = [*self._lines, line][-self.MOST :]
        self.update(Content("\n").join(self._lines))
        self.display = True

    def remove_notice(self, text: str) -> None:
        """Remove the notices that begin with this text."""
        self._lines = [line for line in self._lines if not line.plain.startswith(f" ✗ {unmarked(text)}")]
        self.update(Content("\n").join(self._lines))
        self.display = bool(self._lines)

    def dismiss(self) -> bool:
        """Dismiss it. False: it was not shown."""
        if not self.display:
            return False
        self._lines = []
        self.display = False
        return True

    def on_click(self) -> None:
        self.dismiss()

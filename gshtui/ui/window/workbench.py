"""The main screen: its keys, and where the focus goes.

Owns moving about in the frame; refuses to know what panes show. Made by the app, which hands in the remembered layout
and the widgets of the centre.
"""

from __future__ import annotations

from textual.message import Message
from textual.widget import Widget

from gshtui.ui.kit.bindings import bind
from gshtui.ui.kit.layout import CHAT, PANES, Layout
from gshtui.ui.kit.surroundings import app_of, takes_every_key
from gshtui.ui.window.frame import FrameScreen


class WorkbenchScreen(FrameScreen):
    """The frame with its keys."""

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

    class Backed(Message):
        """Escape was pressed where there is nothing left to back out of."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return False if takes_every_key(self.focused) else super().check_action(action, parameters)

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
        shown: list[Widget] = [self.input] if self.middle.display else []
        return shown + [pane for name in PANES if (pane := self.panes.get(name)) and self.on_screen(pane)]

    def action_cycle(self, step: int) -> None:
        places = self._places()
        here = self.panes.get(self.front_pane(), self.input)
        at = places.index(here) if here in places else 0
        places[(at + step) % len(places)].focus()

    def action_pane(self, name: str) -> None:
        """Show a pane and go there; where it is already in front, hide it. With too little room it gets all of it."""
        if name == CHAT:
            self.set_layout(self.layout_now.with_zoom(""))
            self.deck.show(CHAT)
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
            self._cramped = name
        self.panes[name].focus()

    def action_go(self, direction: str) -> None:
        """Move to the nearest pane in a direction."""
        here = self.panes.get(self.front_pane())
        region = (here or self.middle).region
        best: tuple[int, Widget] | None = None
        for place in self._places():
            there = place.region if place is not self.input else self.middle.region
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
        self._cramped = ""  # what a person chose stays, whatever room there is
        self.set_layout(self.layout_now.with_zoom(self.layout_now.zoomed or self.front_pane()))

    def action_sides(self) -> None:
        self.set_layout(self.layout_now.without_sides())

    def action_reset(self) -> None:
        self.set_layout(Layout())

    def action_edge(self, columns: int) -> None:
        """Move the edge between the pane in front and the centre; from the chat, the right one (or the left one)."""
        side = "left" if self.front_pane() == "agents" or not self.right.display else "right"
        by = columns if side == "left" else -columns
        self.set_layout(self.layout_now.widened(side, by, app_of(self).size.width))

    def action_tab(self, step: int) -> None:
        self.deck.turn(step)

    async def action_below(self, action: str) -> None:
        """Have what stands below the chat act, wherever the focus is."""
        for widget in self.centre.below:
            await widget.run_action(action)

"""The tabs of the centre: a line of names, and below it the tab in front.

Owns the list of tabs and which one is in front; knows nothing about their contents. The chat is the first and always
stays. Features open theirs with `PaneTabs`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar, Generic, TypeVar

from textual import events
from textual.app import ComposeResult, RenderResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.walk import walk_depth_first
from textual.widget import Widget
from textual.widgets import ContentSwitcher, Static


class TabBar(Widget):
    """The names of the tabs; a bar and bold letters mark the one in front, not colour alone.

    It is the upper edge of what is in front; while the focus is inside, the edge is heavy and the name filled.
    """

    DEFAULT_CSS = "TabBar { height: 1; }"

    front: reactive[str] = reactive("")
    note: reactive[str] = reactive("")
    """Text at the right end, such as the conversation's title."""

    class Chosen(Message):
        """A tab was clicked."""

        def __init__(self, tab: str) -> None:
            super().__init__()
            self.tab = tab

    def __init__(self) -> None:
        super().__init__(id="tabbar")
        self.titles: dict[str, str] = {}
        self._focused = False
        self._places: list[tuple[int, int, str]] = []

    def show_focus(self, focused: bool) -> None:
        """Whether the focus is in what is in front."""
        if focused != self._focused:
            self._focused = focused
            self.refresh()

    def render(self) -> RenderResult:
        self._places = []
        edge, rule = ("$primary", "━") if self._focused else ("$border-blurred", "─")
        parts: list[Content] = []
        at = 0
        for tab, title in self.titles.items():
            front = tab == self.front
            style = ("bold reverse $primary" if self._focused else "bold") if front else "$foreground-muted"
            name = Content.styled(f"{'▌' if front else ' '}{title} ", style)
            parts.append(name)
            self._places.append((at, at + name.cell_length, tab))
            at += name.cell_length + 1
        line = Content.styled(rule, edge).join(parts)
        room = self.size.width - line.cell_length - 4
        note = Content("")
        if self.note and room > 8:
            note = Content.styled(f" {self.note} ", "$foreground-muted").truncate(room, ellipsis=True)
        rest = max(0, self.size.width - line.cell_length - note.cell_length)
        return Content.assemble(line, (rule * rest, edge), note)

    def on_click(self, event: events.Click) -> None:
        for start, end, tab in self._places:
            if start <= event.x < end:
                self.post_message(self.Chosen(tab))


class TabPane(Vertical):
    """The content of a tab other than the first. `front`: the part that takes the focus."""

    front: Widget
    TAKES_KEYS: ClassVar[bool] = True
    """Whether it gets the focus when it comes to the front; otherwise the input has it, as beside the chat."""
    at_input = False
    """The person is to write to its agent, so that the input has the focus until they go to the tab itself."""

    def on_descendant_focus(self) -> None:
        self.at_input = False

    @property
    def agent(self) -> str:
        """The agent whose tab it is; empty: it belongs to none."""
        return ""

    @property
    def call(self) -> str:
        """The call whose tab it is; empty: it belongs to none."""
        return ""

    @property
    def has_other_view(self) -> bool:
        """Whether the same agent can be shown in another way: by its terminal, or by its conversation."""
        return False

    def show_other_view(self) -> bool:
        """Show it in the other way; False: there is none."""
        return False

    def show_outcome(self, line: str, text: str, *, failed: bool = False) -> bool:
        """Show what a command that was typed in front of it has answered, as Markdown; False: the chat shows it."""
        return False

    class Closed(Message):
        """Requests to close the tab."""

        def __init__(self, pane: TabPane) -> None:
            super().__init__()
            self.pane = pane

    def action_close(self) -> None:
        self.post_message(self.Closed(self))


class Deck(Vertical):
    """The tabs and their contents.

    Args:
        coming: what the first tab says until it is filled.
    """

    def __init__(self, first: str, title: str, coming: str = "") -> None:
        super().__init__(id="deck")
        self.bar = TabBar()
        self.bar.titles[first] = title
        self.bar.front = first
        self._first = first
        self._coming = Static(coming, id=first, markup=False)
        self._coming.can_focus = True
        self.panes: dict[str, TabPane] = {}
        """The contents of the tabs that can be closed."""
        self.body = ContentSwitcher(initial=first)

    def compose(self) -> ComposeResult:
        yield self.bar
        with self.body:
            yield self._coming

    def on_mount(self) -> None:
        self.watch(self.screen, "focused", self._show_focus)

    def _show_focus(self, focused: Widget | None) -> None:
        # Not by events of the descendants: a widget that loses the focus may tell so after the one that got it.
        self.bar.show_focus(focused is not None and self in focused.ancestors)

    async def fill(self, widget: Widget) -> None:
        """Fill the first tab, whose content takes over the focus: its key may have come before it."""
        await self._coming.mount(widget)
        self._coming.can_focus = False
        if self.screen.focused is self._coming:
            self.screen.set_focus(self._focusable(self._first))

    @property
    def front(self) -> str:
        return self.bar.front

    class Turned(Message):
        """Another tab came to the front."""

        def __init__(self, tab: str) -> None:
            super().__init__()
            self.tab = tab

    def show(self, tab: str) -> None:
        """Bring a tab to the front. Unknown ones change nothing."""
        if tab in self.bar.titles and tab != self.front:
            self.body.current = tab
            self.bar.front = tab
            self.post_message(self.Turned(tab))

    def turn(self, step: int) -> None:
        """Bring the next (or, with -1, the previous) tab to the front."""
        tabs = list(self.bar.titles)
        self.show(tabs[(tabs.index(self.front) + step) % len(tabs)])

    async def open(self, tab: str, title: str, widget: Widget) -> None:
        """Add a tab with this widget, if it is not open yet, and bring it to the front."""
        if tab not in self.bar.titles:
            if isinstance(widget, TabPane):
                self.panes[tab] = widget
            await self.body.add_content(Vertical(widget, id=tab))
            self.bar.titles[tab] = title
        self.show(tab)
        self.bar.refresh()

    @property
    def front_widget(self) -> Widget | None:
        """The part of the tab in front that takes the focus; `None`: it is still empty."""
        pane = self.panes.get(self.front)
        return pane.front if pane is not None else self._focusable(self.front)

    def _focusable(self, tab: str) -> Widget | None:
        content = self.body.get_child_by_id(tab)  # asked at every key
        return next((widget for widget in walk_depth_first(content, Widget) if widget.can_focus), None)

    def focus_front(self) -> bool:
        """Focus the content of the tab in front; False: the keys belong to the input."""
        pane = self.panes.get(self.front)
        if pane is None or not pane.TAKES_KEYS or pane.at_input:
            return False
        pane.front.focus()
        return True

    async def close(self, tab: str) -> None:
        """Remove a tab, but never the first."""
        if tab == self._first or tab not in self.bar.titles:
            return
        if self.front == tab:
            self.show(self._first)
        del self.bar.titles[tab]
        self.panes.pop(tab, None)
        await self.query_one(f"#{tab}").remove()
        self.bar.refresh()

    def on_tab_bar_chosen(self, message: TabBar.Chosen) -> None:
        message.stop()
        self.show(message.tab)

    async def on_tab_pane_closed(self, message: TabPane.Closed) -> None:
        message.stop()
        for tab in [tab for tab, pane in self.panes.items() if pane is message.pane]:
            await self.close(tab)


P = TypeVar("P", bound=TabPane)


class PaneTabs(Generic[P]):
    """The tabs of one kind: one per subject, such as an agent.

    Args:
        kind: the prefix of their ids.
    """

    def __init__(self, deck: Deck, kind: str) -> None:
        self._deck = deck
        self._kind = kind
        self._panes: dict[str, P] = {}

    def find_tab(self, name: str) -> P | None:
        """The content for this subject; `None`: it has no tab."""
        tab = self._tab(name)
        pane = self._panes.get(tab)
        return pane if pane is not None and self._deck.panes.get(tab) is pane else None

    async def open(self, name: str, title: str, make: Callable[[], P]) -> P:
        """Bring the subject's tab to the front, creating it if needed."""
        pane = self.find_tab(name)
        if pane is None:
            pane = self._panes[self._tab(name)] = make()
            await self._deck.open(self._tab(name), title, pane)
        self._deck.show(self._tab(name))
        self._deck.focus_front()
        return pane

    async def close(self, name: str) -> None:
        """Remove the tab, if there is one."""
        await self._deck.close(self._tab(name))

    def _tab(self, name: str) -> str:
        """The tab's id, which is also a widget id."""
        return f"{self._kind}-{re.sub(r'[^a-zA-Z0-9_-]', lambda match: f'_{ord(match.group()):x}', name)}"

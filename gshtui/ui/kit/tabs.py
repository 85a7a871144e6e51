"""The tabs of the centre: one line of names, and below it the one that is in front.

Owns which tab is in front; refuses to know what a tab shows. The chat is the first and stays. Called by the
workbench's screen and by commands that open something to look at.
"""

from __future__ import annotations

from textual import events
from textual.app import ComposeResult, RenderResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget
from textual.widgets import ContentSwitcher


class TabBar(Widget):
    """The names of the tabs; the front one is marked by a bar and bold letters, not by colour alone."""

    DEFAULT_CSS = "TabBar { height: 1; }"

    front: reactive[str] = reactive("")
    note: reactive[str] = reactive("")
    """Words at the right end, such as the conversation's title."""

    class Chosen(Message):
        """A tab was clicked."""

        def __init__(self, tab: str) -> None:
            super().__init__()
            self.tab = tab

    def __init__(self) -> None:
        super().__init__(id="tabbar")
        self.titles: dict[str, str] = {}
        self._places: list[tuple[int, int, str]] = []

    def render(self) -> RenderResult:
        self._places = []
        parts: list[Content] = []
        at = 0
        for tab, title in self.titles.items():
            shown = f"▌{title} " if tab == self.front else f" {title} "
            style = "bold $primary" if tab == self.front else "$foreground-muted"
            parts.append(Content.styled(shown, style))
            self._places.append((at, at + len(shown), tab))
            at += len(shown) + 1
        line = Content(" ").join(parts)
        room = self.size.width - line.cell_length - 3
        if self.note and room > 8:
            note = Content.styled(self.note, "$foreground-muted").truncate(room, ellipsis=True)
            line = Content.assemble(line, " " * (self.size.width - line.cell_length - note.cell_length - 1), note)
        return line

    def on_click(self, event: events.Click) -> None:
        for start, end, tab in self._places:
            if start <= event.x < end:
                self.post_message(self.Chosen(tab))


class Deck(Vertical):
    """Tabs with their contents."""

    def __init__(self, first: str, title: str) -> None:
        super().__init__(id="deck")
        self.bar = TabBar()
        self.bar.titles[first] = title
        self.bar.front = first
        self._first = first
        self.body = ContentSwitcher(initial=first)

    def compose(self) -> ComposeResult:
        yield self.bar
        with self.body:
            yield Vertical(id=self._first)

    async def fill(self, widget: Widget) -> None:
        """Put this into the first tab."""
        await self.query_one(f"#{self._first}").mount(widget)

    @property
    def front(self) -> str:
        return self.bar.front

    class Turned(Message):
        """Another tab is in front."""

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
        """Add a tab with this widget and bring it to the front; one that is open already is brought to the front."""
        if tab not in self.bar.titles:
            await self.body.add_content(Vertical(widget, id=tab))
            self.bar.titles[tab] = title
        self.show(tab)
        self.bar.refresh()

    async def close(self, tab: str) -> None:
        """Take a tab away. The first one stays."""
        if tab == self._first or tab not in self.bar.titles:
            return
        if self.front == tab:
            self.show(self._first)
        del self.bar.titles[tab]
        await self.query_one(f"#{tab}").remove()
        self.bar.refresh()

    def on_tab_bar_chosen(self, message: TabBar.Chosen) -> None:
        message.stop()
        self.show(message.tab)

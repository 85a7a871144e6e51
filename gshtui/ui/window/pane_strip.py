"""The row above the input that stands for the panes of the right side where these are not on the screen.

Each pane says the one thing of it that counts (`Pane.summary`); a click opens it. Knows nothing about their contents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.content import Content
from textual.widgets import Static

from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.kit.widgets.side_pane import Pane

_BETWEEN = " │ "
_LEAST = 16
"""Cells that the longest of the parts keeps."""


class PaneStrip(Static):
    """See the module. Hidden while there is nothing to stand for.

    Args:
        opens: shows a pane, by its name in the layout.
    """

    def __init__(self, panes: Sequence[Pane], opens: Callable[[str], None]) -> None:
        super().__init__(id="strip", markup=False)
        self._panes = panes
        self._opens = opens
        self._names: tuple[str, ...] = ()
        self._ends: list[tuple[int, str]] = []
        """Where each pane's part ends, by its name."""
        self.display = False

    def offer(self, names: tuple[str, ...]) -> None:
        """Stand for these panes."""
        self._names = names
        self.draw()

    def on_resize(self) -> None:
        self.draw()

    def draw(self) -> None:
        """Show what the panes say now."""
        if not self.is_mounted:
            return
        width = (self.size.width or app_of(self).size.width) - 2
        found = {pane: pane.summary(width) for pane in self._panes if pane.pane in self._names}
        parts = {pane: part for pane, part in found.items() if part}
        self.display = bool(parts)
        over = sum(part.cell_length + len(_BETWEEN) for part in parts.values()) - len(_BETWEEN) - width
        if over > 0:
            longest = max(parts, key=lambda pane: parts[pane].cell_length)
            room = max(_LEAST, parts[longest].cell_length - over)
            parts[longest] = longest.summary(room).truncate(room, ellipsis=True)
        self._ends, used = [], 1
        for pane, part in parts.items():
            used += part.cell_length + len(_BETWEEN)
            self._ends.append((used, pane.pane))
        shown = Content.styled(_BETWEEN, "$foreground-muted").join(parts.values())
        if not (isinstance(self.content, Content) and shown.is_same(self.content)):
            self.update(shown)

    def on_click(self, event: events.Click) -> None:
        name = next((name for end, name in self._ends if event.x < end), "")
        if name:
            self._opens(name)

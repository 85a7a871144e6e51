"""The panes beside the chat, in their places: a layout applied to widgets, and what dragging an edge makes of it.

Owns the columns and the edges between them; refuses keys, and to keep the layout. Held by the workbench's screen,
which shows a row in their place where there is no room for them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from textual import events
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.geometry import Size
from textual.widget import Widget
from textual.widgets import Static

from gshtui.client.pane_names import LEFT, RIGHT
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.kit.widgets.draggable_edges import Dragged, Splitter
from gshtui.ui.kit.widgets.side_pane import Pane
from gshtui.ui.window.pane_layout import Arrangement, PaneLayout, arrange


class PaneFrame:
    """The agents at the left, `middle`, and the other panes below each other at the right.

    Args:
        panes: by their names in the layout.
        middle: the chat's column.
    """

    def __init__(self, panes: Mapping[str, Pane], middle: Widget) -> None:
        self._panes = panes
        self._middle = middle
        self._right = Vertical(*(panes[name] for name in RIGHT), id="right")
        self._edges = {"left": Splitter("left"), "right": Splitter("right")}
        left, right = self._edges["left"], self._edges["right"]
        self.body = Horizontal(panes["agents"], left, middle, right, self._right, id="body")
        """The widget that holds all of them."""

    def place(self, layout: PaneLayout, size: Size) -> Arrangement:
        """Show the panes of a layout, as large as fits a terminal of this size; gives what else has room there."""
        found = arrange(layout, *size)
        agents = self._panes["agents"]
        agents.display, agents.styles.width = bool(found.left), found.left or 1
        self._right.display, self._right.styles.width = bool(found.right), found.right or 1
        self._edges["left"].display = bool(found.left) and found.centre
        self._edges["right"].display = bool(found.right) and found.centre
        self._middle.display = found.centre
        for name in RIGHT:
            self._panes[name].display = name in found.right_panes
        for name, weight in zip(found.right_panes, found.weights, strict=True):
            self._panes[name].styles.height = f"{weight}fr"
        return found

    def shows(self, pane: Pane) -> bool:
        """Whether the pane is on the screen."""
        return bool(pane.display and (pane.pane not in RIGHT or self._right.display))

    @property
    def has_right(self) -> bool:
        """Whether the right column is on the screen."""
        return self._right.display

    def fits(self, layout: PaneLayout, pane: str, size: Size) -> bool:
        """Whether a terminal of this size has room for the pane in this layout."""
        found = arrange(layout, *size)
        return bool(found.left) if pane in LEFT else pane in found.right_panes

    def dragged(self, layout: PaneLayout, drag: Dragged, size: Size) -> PaneLayout:
        """The layout after an edge was dragged by the mouse."""
        if drag.name == "split-left":
            return layout.widened("left", drag.columns, size.width)
        if drag.name == "split-right":
            return layout.widened("right", -drag.columns, size.width)
        if drag.name in RIGHT and drag.rows:
            return self._heightened_above(layout, drag.name, drag.rows)
        return layout

    def resized(self, layout: PaneLayout, change: Pane.Resized, size: Size) -> PaneLayout:
        """The layout after a pane has asked for another size."""
        if change.columns:
            return layout.widened("right" if change.pane in RIGHT else "left", change.columns, size.width)
        if change.pane in RIGHT:
            return layout.heightened(change.pane, change.rows, self._heights())
        return layout

    def _heightened_above(self, layout: PaneLayout, pane: str, rows: int) -> PaneLayout:
        heights = self._heights()
        shown = [name for name in RIGHT if heights.get(name)]
        at = shown.index(pane) if pane in shown else 0
        return layout.heightened(shown[at - 1], rows, heights) if at else layout

    def _heights(self) -> dict[str, int]:
        return {name: self._panes[name].outer_size.height for name in RIGHT if self._panes[name].display}


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

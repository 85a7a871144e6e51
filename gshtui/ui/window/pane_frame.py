"""The panes beside the chat, in their places: a layout applied to widgets, and what dragging an edge makes of it.

Owns the columns and the edges between them; refuses keys, and to keep the layout. Held by the workbench's screen.
"""

from __future__ import annotations

from collections.abc import Mapping

from textual.containers import Horizontal, Vertical
from textual.geometry import Size
from textual.widget import Widget

from gshtui.client.pane_names import LEFT, RIGHT
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

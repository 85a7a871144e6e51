"""The line between two columns, which the mouse can drag.

Owns one column of the screen; refuses to resize anything itself. The workbench's screen takes its `Dragged` messages.
"""

from __future__ import annotations

from textual import events
from textual.app import RenderResult
from textual.widget import Widget

from gshtui.ui.kit.drag import Drag


class Splitter(Widget):
    """A vertical line that reports by how many columns it was dragged."""

    DEFAULT_CSS = "Splitter { width: 1; height: 100%; }"

    def __init__(self, edge: str) -> None:
        super().__init__(id=f"split-{edge}")
        self._drag = Drag(self, f"split-{edge}")

    def render(self) -> RenderResult:
        return "\n".join("│" * max(1, self.size.height))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._drag.press(event)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        self._drag.move(event)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self._drag.release(event)

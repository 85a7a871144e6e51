"""Edges that the mouse can drag: the drag, its message, and the line between two columns.

Captures the mouse while it is held down on an edge; resizes nothing itself.
"""

from __future__ import annotations

from textual import events
from textual.app import RenderResult
from textual.message import Message
from textual.widget import Widget


class Dragged(Message):
    """An edge was dragged by some cells. `name`: which edge."""

    def __init__(self, name: str, columns: int, rows: int) -> None:
        super().__init__()
        self.name = name
        self.columns = columns
        self.rows = rows


class Drag:
    """The state of one drag of `widget`'s edge called `name`."""

    def __init__(self, widget: Widget, name: str) -> None:
        self._widget = widget
        self._name = name
        self._at: tuple[int, int] | None = None

    @property
    def active(self) -> bool:
        return self._at is not None

    def press(self, event: events.MouseDown) -> None:
        """Capture the mouse."""
        self._at = (event.screen_x, event.screen_y)
        self._widget.capture_mouse()
        self._widget.add_class("-dragging")
        event.stop()

    def move(self, event: events.MouseMove) -> None:
        """Report how far the mouse moved since the last report."""
        if self._at is None:
            return
        x, y = self._at
        self._at = (event.screen_x, event.screen_y)
        if self._at != (x, y):
            self._widget.post_message(Dragged(self._name, event.screen_x - x, event.screen_y - y))
        event.stop()

    def release(self, event: events.MouseUp) -> None:
        """Release the mouse."""
        if self._at is not None:
            self._at = None
            self._widget.release_mouse()
            self._widget.remove_class("-dragging")
            event.stop()


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

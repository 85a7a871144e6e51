"""The text of one question, scrollable, painted line by line so that a diff of any length costs what is seen of it.

It holds no state of its own but what it was given. Used by `ApprovalsPane`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from rich.segment import Segment
from textual.geometry import Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from gshtui.ui.approvals.approvals_lines import Line, wrapped

KINDS = ("subject", "warning", "label", "detail", "add", "remove", "hunk", "context", "pattern")


class QuestionView(ScrollView, can_focus=False):
    """Lines of a question. `rows` is how many it would like to show."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"question--{kind}" for kind in KINDS}

    def __init__(self, scrolled: Callable[[], None] = lambda: None) -> None:
        super().__init__(id="question")
        self._scrolled = scrolled
        self._lines: Sequence[Line] = ()
        self._wrapped: list[Line] = []
        self._width = 0

    def ask(self, lines: Sequence[Line]) -> None:
        """Show another question, from its beginning."""
        self._lines = lines
        self._width = 0
        self.scroll_to(0, 0, animate=False)

    def fit(self, width: int, most: int) -> int:
        """Break the lines to the width; rows to show of them, at most `most`."""
        if width != self._width and width > 0:
            self._width = width
            self._wrapped = wrapped(self._lines, width - 1)  # a column for the scroll bar
            self.virtual_size = Size(width - 1, len(self._wrapped))
            self.refresh()
        rows = max(1, min(len(self._wrapped), most))
        if self.styles.height is None or self.styles.height.value != rows:
            self.styles.height = rows
        return rows

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Tell whoever says how much is still below."""
        super().watch_scroll_y(old_value, new_value)
        self._scrolled()

    @property
    def hidden(self) -> int:
        """Rows that lie below what is seen."""
        height = self.styles.height
        rows = int(height.value) if height is not None else self.size.height
        return max(0, len(self._wrapped) - rows - self.scroll_offset.y)

    def render_line(self, y: int) -> Strip:
        """One row."""
        at = y + self.scroll_offset.y
        if at >= len(self._wrapped):
            return Strip.blank(self.size.width, self.rich_style)
        kind, text = self._wrapped[at]
        style = self.get_component_rich_style(f"question--{kind}")
        return Strip([Segment(text, style)]).adjust_cell_length(self.size.width, style)

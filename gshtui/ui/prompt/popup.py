"""The list of completions above the input line. It shows and is clicked; it never has the focus.

It paints lines itself, so a change costs those lines and no layout of the screen beneath: it lies over it. Driven by
`PromptInput`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from gshtui.ui.kit.cells import fit, fit_left
from gshtui.ui.prompt.completion import Candidate

ROWS = 8


class CompletionPopup(Widget, can_focus=False):
    """Candidates, the chosen one marked. Hidden while there are none."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {
        "completion--plain",
        "completion--match",
        "completion--detail",
        "completion--chosen",
        "completion--chosen-match",
        "completion--chosen-detail",
    }

    class Chosen(Message):
        """A candidate was clicked."""

        def __init__(self, candidate: Candidate) -> None:
            super().__init__()
            self.candidate = candidate

    def __init__(self) -> None:
        super().__init__(id="completions")
        self.candidates: Sequence[Candidate] = ()
        self.index = 0
        self.moved = False
        """Whether the person chose by key, rather than taking the first."""
        self._top = 0
        self.display = False

    @property
    def is_open(self) -> bool:
        """Whether candidates are shown."""
        return bool(self.candidates)

    @property
    def chosen(self) -> Candidate | None:
        """The marked candidate."""
        return self.candidates[self.index] if self.candidates else None

    def show(self, candidates: Sequence[Candidate]) -> None:
        """Show these from the first on; none hides the list."""
        self.candidates = candidates
        self.index = self._top = 0
        self.moved = False
        rows = min(ROWS, len(candidates), max(1, self.screen.size.height - 4))
        self.display = bool(candidates)
        if candidates:
            widest = max(len(c.shown) + 2 + len(c.detail) for c in candidates) + 3
            width = max(12, min(widest, self.screen.size.width - 2, 96))
            if (self.styles.width, self.styles.height) != (width, rows):
                self.styles.width, self.styles.height = width, rows
                self.styles.offset = (1, -rows)
            self.refresh()

    def close(self) -> None:
        """Hide the list."""
        if self.candidates:
            self.show(())

    def move(self, by: int) -> None:
        """Mark another candidate, round the ends."""
        self.index = (self.index + by) % len(self.candidates)
        rows = max(1, self.size.height)
        self._top = max(self.index - rows + 1, min(self._top, self.index))
        self.moved = True
        self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Rows shown."""
        return min(ROWS, len(self.candidates))

    def render_line(self, y: int) -> Strip:
        """One candidate: label with its matched letters, detail, and a mark on the chosen one."""
        at = self._top + y
        style = self.get_component_rich_style
        if at >= len(self.candidates):
            return Strip.blank(self.size.width, style("completion--plain"))
        candidate, chosen = self.candidates[at], at == self.index
        base = style("completion--chosen" if chosen else "completion--plain")
        marked = style("completion--chosen-match" if chosen else "completion--match")
        quiet = style("completion--chosen-detail" if chosen else "completion--detail")
        width = self.size.width - 3
        paths = candidate.kind == "file"
        label, cut = fit_left(candidate.shown, width) if paths else (fit(candidate.shown, width), 0)
        detail = fit(candidate.detail, width - len(label) - 2) if width - len(label) > 8 else ""
        segments = [Segment("▸ " if chosen else "  ", base)]
        segments += _marked(label, {position - cut for position in candidate.marked}, base, marked)
        segments.append(Segment(f"  {detail}" if detail else "", quiet))
        return Strip(segments).adjust_cell_length(self.size.width, base)

    def on_click(self, event: events.Click) -> None:
        """Take the candidate that was clicked."""
        event.stop()
        at = self._top + event.y
        if at < len(self.candidates):
            self.post_message(self.Chosen(self.candidates[at]))

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Mark the next one."""
        event.stop()
        self.move(1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Mark the one before."""
        event.stop()
        self.move(-1)


def _marked(label: str, places: set[int], base: Style, marked: Style) -> list[Segment]:
    """The label in runs of plain and matched letters."""
    runs: list[Segment] = []
    start = 0
    for at in range(1, len(label) + 1):
        if at == len(label) or (at in places) != (start in places):
            runs.append(Segment(label[start:at], marked if start in places else base))
            start = at
    return runs

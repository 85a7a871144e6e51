"""The tasks strip above the input line: what the agent in front works on, and how far its list is.

One line, hidden when nothing is left to do; a click (or `open`) shows the list. It takes no focus and changes nothing:
`todo` does. Fed by the bridge; the state is `tasks_state`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from textual import events
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from gshtui.bus.context import Task
from gshtui.bus.event import Event
from gshtui.ui.kit.cells import fit
from gshtui.ui.prompt.tasks_state import CONSUMED, TasksState, reduce

ROWS = 8
"""Tasks of the opened list that are shown at most."""
MARKS = {"open": "☐", "active": "▶", "done": "☑", "dropped": "☒"}


class TasksStrip(Widget):
    """See the module's text."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = CONSUMED
    COMPONENT_CLASSES: ClassVar[set[str]] = {"tasks--count", "tasks--current", "tasks--rest", "tasks--done"}

    def __init__(self, agent: str) -> None:
        super().__init__(id="tasks")
        self.state = TasksState(agent)
        self.opened = False
        self.display = False

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        before = self.state
        for event in events:
            self.state = reduce(self.state, event)
        if self.state is not before:
            self.draw()

    def draw(self) -> None:
        """One line, or the list; nothing where nothing is left to do or the window is tiny."""
        height = self.screen.size.height
        self.display = self.state.unfinished and height >= 10
        self.opened = self.opened and self.display
        rows = 1 + (min(ROWS, len(self.state.tasks), max(1, height // 4)) if self.opened else 0)
        if self.styles.height is None or self.styles.height.value != rows:
            self.styles.height = rows
        self.refresh()

    def on_resize(self) -> None:
        self.draw()

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.opened = not self.opened
        self.draw()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Rows shown."""
        return 1

    def render_line(self, y: int) -> Strip:
        """The head, or one task of the opened list."""
        width = self.size.width
        if y == 0:
            return self._head(width)
        shown = self._shown(self.size.height - 1)
        if y > len(shown):
            return Strip.blank(width, self.get_component_rich_style("tasks--rest"))
        task = shown[y - 1]
        part = {"active": "current", "open": "rest"}.get(task.state, "done")
        style = self.get_component_rich_style(f"tasks--{part}")
        text = fit(f"  {MARKS[task.state]} {task.id}. {task.text}", width)
        return Strip([Segment(text, style)]).adjust_cell_length(width, style)

    def _head(self, width: int) -> Strip:
        state, style = self.state, self.get_component_rich_style
        current = state.current
        count = f"{'▾' if self.opened else '▸'} tasks {state.done}/{len(state.counted)}  "
        said = "" if current is None else f"{MARKS[current.state]} {current.text}"
        left = len(state.counted) - state.done - 1
        more = f"  +{left}" if left > 0 and not self.opened else ""
        text = fit(said, max(0, width - len(count) - len(more)))
        segments = [Segment(count, style("tasks--count")), Segment(text, style("tasks--current"))]
        return Strip([*segments, Segment(more, style("tasks--rest"))]).adjust_cell_length(width, style("tasks--rest"))

    def _shown(self, rows: int) -> Sequence[Task]:
        """As much of the list as there is room for, around what is worked on."""
        tasks = self.state.tasks
        at = next((place for place, task in enumerate(tasks) if task == self.state.current), 0)
        start = max(0, min(at - rows // 2, len(tasks) - rows))
        return tasks[start : start + rows]

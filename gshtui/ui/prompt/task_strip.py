"""The task strip above the input: what the agent in front is working on, and its progress through the list.

A pure reducer and the line that shows it, hidden when nothing is left to do. It takes no focus and changes nothing:
the `todo` command does that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import msgspec
from msgspec.structs import replace
from rich.segment import Segment
from textual import events
from textual.geometry import Size
from textual.strip import Strip
from textual.widget import Widget

from gshtui.bus.context_data import Task
from gshtui.bus.event import Event
from gshtui.bus.events.context_events import TasksChanged
from gshtui.bus.events.session_events import SessionOpened
from gshtui.ui.kit.widgets.fitted_text import fit

TASK_EVENTS: tuple[type[Event], ...] = (TasksChanged, SessionOpened)


class TasksState(msgspec.Struct, frozen=True):
    """One agent's list; other agents' lists are ignored."""

    agent: str
    session: str = ""
    tasks: tuple[Task, ...] = ()

    @property
    def counted(self) -> tuple[Task, ...]:
        """The open and done tasks; dropped ones do not count."""
        return tuple(task for task in self.tasks if task.state != "dropped")

    @property
    def done(self) -> int:
        return sum(task.state == "done" for task in self.tasks)

    @property
    def current(self) -> Task | None:
        """The active task; else the next one."""
        active = next((task for task in self.tasks if task.state == "active"), None)
        return active or next((task for task in self.tasks if task.state == "open"), None)

    @property
    def unfinished(self) -> bool:
        """Whether anything is left to show."""
        return self.current is not None


def reduce_tasks(state: TasksState, event: Event) -> TasksState:
    """The state after the event; the same object when nothing changed."""
    match event:
        case TasksChanged() if event.agent == state.agent:
            if (event.session, event.tasks) == (state.session, state.tasks):
                return state
            return replace(state, session=event.session, tasks=event.tasks)
        case SessionOpened() if event.agent == state.agent and event.session != state.session:
            return replace(state, session=event.session, tasks=())
        case _:
            return state


ROWS = 8
"""Maximum number of tasks shown in the opened list."""
MARKS = {"open": "☐", "active": "▶", "done": "☑", "dropped": "☒"}


class TasksStrip(Widget):
    """See the module's text."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = TASK_EVENTS
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
            self.state = reduce_tasks(self.state, event)
        if self.state is not before:
            self.draw()

    def draw(self) -> None:
        """One line, or the list; nothing if all is done or the window is tiny."""
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
        """As much of the list as fits, around the active task."""
        tasks = self.state.tasks
        at = next((place for place, task in enumerate(tasks) if task == self.state.current), 0)
        start = max(0, min(at - rows // 2, len(tasks) - rows))
        return tasks[start : start + rows]

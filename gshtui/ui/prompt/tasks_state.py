"""What the tasks strip shows: the list of the agent in front, what is worked on, and how far it is.

Pure: `(state, event) → state`. Fed by `TasksStrip`, and tested without a terminal.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from gshtui.bus.context import Task
from gshtui.bus.event import Event
from gshtui.bus.events.context import TasksChanged
from gshtui.bus.events.session import SessionOpened

CONSUMED: tuple[type[Event], ...] = (TasksChanged, SessionOpened)


class TasksState(msgspec.Struct, frozen=True):
    """One agent's list; those of other agents pass by."""

    agent: str
    session: str = ""
    tasks: tuple[Task, ...] = ()

    @property
    def counted(self) -> tuple[Task, ...]:
        """Those that are to be done or were done; what was dropped counts for nothing."""
        return tuple(task for task in self.tasks if task.state != "dropped")

    @property
    def done(self) -> int:
        return sum(task.state == "done" for task in self.tasks)

    @property
    def current(self) -> Task | None:
        """What is worked on; else what comes next."""
        active = next((task for task in self.tasks if task.state == "active"), None)
        return active or next((task for task in self.tasks if task.state == "open"), None)

    @property
    def unfinished(self) -> bool:
        """Whether there is anything left that is worth a line on the screen."""
        return self.current is not None


def reduce(state: TasksState, event: Event) -> TasksState:
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

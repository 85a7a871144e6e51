"""An agent's task list: its operations, its storage, and the command `todo`.

The list is one of the conversation's overlays, reread before every change; its length is limited.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Annotated, Literal, Protocol

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from gshtui.bus.bus import Bus
from gshtui.bus.context_data import Task
from gshtui.bus.event import Event
from gshtui.bus.events.context_events import TasksChanged
from gshtui.bus.events.session_events import SessionOpened
from gshtui.commands.declaration import (
    Assessment,
    Command,
    CommandError,
    Effect,
    Invocation,
    Mark,
    Outcome,
    Parameters,
    UsageError,
)
from gshtui.commands.registry import AnyCommand
from gshtui.commands.schema import PLAIN, RARE
from gshtui.context.log import overlays
from gshtui.store.engine.store_errors import StoreError
from gshtui.system.expected_error import ExpectedError
from gshtui.text.sanitise import one_line

State = Literal["open", "active", "done", "dropped"]
MOST = 100
LONGEST = 500
"""Characters of one task."""


class TaskError(ExpectedError):
    """The list cannot be changed this way; the text is one clear sentence."""


def added(tasks: Sequence[Task], text: str) -> tuple[Task, ...]:
    return _bounded((*tasks, Task(_next(tasks), _words(text))))


def marked(tasks: Sequence[Task], id: str, state: State) -> tuple[Task, ...]:
    """The list with a task in another state. Only one is active at a time: starting one puts the other back."""
    wanted = find_task(tasks, id)

    def now(task: Task) -> Task:
        if task.id == wanted.id:
            return msgspec.structs.replace(task, state=state)
        if state == "active" and task.state == "active":
            return msgspec.structs.replace(task, state="open")
        return task

    return tuple(now(task) for task in tasks)


def reworded(tasks: Sequence[Task], id: str, text: str) -> tuple[Task, ...]:
    wanted = find_task(tasks, id)
    return tuple(msgspec.structs.replace(task, text=_words(text)) if task.id == wanted.id else task for task in tasks)


def removed(tasks: Sequence[Task], id: str) -> tuple[Task, ...]:
    wanted = find_task(tasks, id)
    return tuple(task for task in tasks if task.id != wanted.id)


def written(tasks: Sequence[Task], items: Iterable[tuple[str, str, State]]) -> tuple[Task, ...]:
    """A whole new list of (id, text, state); a task without id keeps that of the old one with the same words."""
    known = {task.text: task.id for task in tasks}
    used: set[str] = set()
    found: list[Task] = []
    last = max((_number(task.id) for task in tasks), default=0)
    for id, text, state in items:
        words = _words(text)
        name = id.strip() or known.get(words, "")
        if not name or name in used:
            last += 1
            name = str(last)
        last = max(last, _number(name))
        used.add(name)
        found.append(Task(name, words, state))
    return _bounded(tuple(found))


def find_task(tasks: Sequence[Task], id: str) -> Task:
    """The task with this id, or the only one whose text begins with this."""
    said = id.strip().removeprefix("#")
    for task in tasks:
        if task.id == said:
            return task
    begun = [task for task in tasks if said and task.text.lower().startswith(said.lower())]
    if len(begun) == 1:
        return begun[0]
    there = ", ".join(task.id for task in tasks) or "none"
    raise TaskError(f"There is no task {said[:60]!r}; the tasks: {there}.")


def _next(tasks: Sequence[Task]) -> str:
    return str(max((_number(task.id) for task in tasks), default=0) + 1)


def _number(id: str) -> int:
    return int(id) if id.isascii() and id.isdigit() and len(id) < 10 else 0


def _words(text: str) -> str:
    words = " ".join(text.split())
    if not words:
        raise TaskError("A task needs a text.")
    return words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"


def _bounded(tasks: tuple[Task, ...]) -> tuple[Task, ...]:
    if len(tasks) > MOST:
        raise TaskError(f"A list can have at most {MOST} tasks; remove finished ones.")
    return tasks


class OverlayStore(Protocol):
    """The part of the record that this needs. Raises `StoreError`."""

    async def add_overlay(self, session: str, overlay_id: str, kind: str, at: float, data: str) -> int: ...
    async def overlays(self, session: str, after: int = 0) -> list[tuple[int, str]]: ...


class TaskStore:
    """Lists by conversation. When a conversation is opened, its list is published again."""

    def __init__(self, bus: Bus, kept: OverlayStore) -> None:
        self._bus = bus
        self._kept = kept
        self._lock = asyncio.Lock()
        self._read: dict[str, tuple[int, tuple[Task, ...]]] = {}
        bus.subscribe(self._opened, SessionOpened, name="tasks")

    async def tasks(self, session: str) -> tuple[Task, ...]:
        """A conversation's list as it is now. Raises `StoreError`."""
        last, tasks = self._read.get(session, (0, ()))
        for place, data in await self._kept.overlays(session, last):
            last = place
            if '"tasks"' in data and isinstance(overlay := overlays.decode(data), overlays.Tasks):
                tasks = overlay.tasks
        self._read[session] = (last, tasks)
        return tasks

    async def change(
        self, agent: str, session: str, by: str, new: Callable[[tuple[Task, ...]], tuple[Task, ...]]
    ) -> tuple[Task, ...]:
        """Apply `new` to the list, store and publish the result. Raises `StoreError`, and what `new` raises."""
        async with self._lock:
            before = await self.tasks(session)
            after = new(before)
            if after == before:
                return before
            overlay = overlays.Tasks(tasks=after, by=by, at=time.time())
            data = overlays.encode(overlay)
            await self._kept.add_overlay(session, overlay.id, overlays.kind_of(overlay), overlay.at, data)
            self._bus.publish(TasksChanged(agent=agent, session=session, tasks=after))
            return after

    async def _opened(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if not isinstance(event, SessionOpened):
                continue
            try:
                tasks = await self.tasks(event.session)
            except StoreError:
                continue  # the record reports its own faults
            self._bus.publish(TasksChanged(agent=event.agent, session=event.session, tasks=tasks))


Action = Literal["list", "add", "start", "done", "drop", "reopen", "reword", "remove", "clear", "write"]
_STATES: dict[Action, State] = {"start": "active", "done": "done", "drop": "dropped", "reopen": "open"}
_MARKS = {"open": "☐", "active": "▶", "done": "☑", "dropped": "☒"}


class TodoItem(BaseModel):
    """One task of a whole list."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, json_schema_extra=PLAIN)

    text: str = Field(description="In a few words", json_schema_extra=PLAIN)
    state: State = Field(default="open", description="At most one is active", json_schema_extra=PLAIN)
    id: str = Field(
        default="", description="Id of a task on the list; empty: matched by its text", json_schema_extra=RARE
    )


class TodoParameters(Parameters):
    """What to do to the list."""

    action: Action = Field(
        default="list", description="`write` sets the whole list to `tasks`", json_schema_extra=PLAIN
    )
    task: Annotated[str, Mark.VERBATIM] = Field(default="", description="add: its text; else its id or first words")
    text: str = Field(default="", description="reword: the new text", json_schema_extra=RARE)
    tasks: list[TodoItem] = Field(default=[], description="write: the whole list", json_schema_extra=PLAIN)
    agent: str = Field(
        default="", description="Whose list; empty: your own, or the selected agent's", json_schema_extra=RARE
    )


SessionLookup = Callable[[str], Awaitable[str]]
"""The current conversation of an agent, by name or id. Raises `StoreError`."""


def commands(context_store: TaskStore, session_of: SessionLookup) -> list[AnyCommand]:

    async def run(invocation: Invocation, parameters: TodoParameters) -> Outcome:
        agent = parameters.agent or invocation.addressed
        own = agent == invocation.agent
        session = (invocation.session if own else "") or await session_of(agent)
        if not session:
            raise CommandError(f"There is no agent {agent!r} with a conversation.", hint="`agents` lists them.")
        if invocation.caller.is_agent and not own and parameters.action != "list":
            raise UsageError("An agent can change only its own list.", hint="Send the other agent a message.")
        if parameters.action == "list":
            tasks = await context_store.tasks(session)
        else:
            tasks = await context_store.change(agent, session, invocation.caller.name, partial(_changed, parameters))
        data = {"agent": agent, "tasks": [{"state": "open", **msgspec.to_builtins(task)} for task in tasks]}
        return Outcome(data, tasks_text(tasks))

    async def assess(_invocation: Invocation, parameters: TodoParameters) -> Assessment:
        # It writes nothing but the list, which everyone sees, so it asks no question.
        return Assessment(Effect.READ, f"{parameters.action} {parameters.task}".strip()[:120])

    return [
        Command(
            "todo",
            "An agent's to-do list: show, add, start, done, drop, write",
            TodoParameters,
            run,
            effect=Effect.WRITE,
            positions=("action", "task"),
            description=(
                "Your list of tasks: the person sees it, and no cut removes it. For work of several steps `write` the"
                " whole list, `start` each task, and mark it `done` at once."
            ),
            family="agents",
            tool=True,
            does="plan",
            always_offered=True,
            assess=assess,
        )
    ]


def tasks_text(tasks: Sequence[Task]) -> str:
    """The list, a line each, as people and models read it."""
    if not tasks:
        return "The list is empty."
    return "\n".join(f"- {_MARKS[task.state]} {task.id}. {one_line(task.text, LONGEST)}" for task in tasks)


def _changed(parameters: TodoParameters, tasks: tuple[Task, ...]) -> tuple[Task, ...]:
    match parameters.action:
        case "add":
            return added(tasks, " ".join(part for part in (parameters.task, parameters.text) if part))
        case "start" | "done" | "drop" | "reopen":
            return marked(tasks, parameters.task, _STATES[parameters.action])
        case "reword":
            return reworded(tasks, parameters.task, parameters.text)
        case "remove":
            return removed(tasks, parameters.task)
        case "write":
            return written(tasks, [(item.id, item.text, item.state) for item in parameters.tasks])
        case "clear":
            return ()
        case "list":
            return tasks

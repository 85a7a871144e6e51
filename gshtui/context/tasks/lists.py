"""A list of things to do, and what can be done to it. Pure: every function gives a new list.

Owns ids (small numbers, never used twice in a list) and bounds; refuses what cannot be with a `TaskError` in one
sentence. Called by `TaskShelf` and the command `todo`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from gshtui.bus.context import Task

State = Literal["open", "active", "done", "dropped"]
MOST = 100
LONGEST = 500
"""Characters of one task."""


class TaskError(Exception):
    """It cannot be done to this list; the text is one clear sentence."""


def added(tasks: Sequence[Task], text: str) -> tuple[Task, ...]:
    """The list with one more at its end."""
    return _bounded((*tasks, Task(_next(tasks), _words(text))))


def marked(tasks: Sequence[Task], id: str, state: State) -> tuple[Task, ...]:
    """The list with a task in another state. One is worked on at a time: who starts one lays down the other."""
    wanted = find(tasks, id)

    def now(task: Task) -> Task:
        if task.id == wanted.id:
            return msgspec.structs.replace(task, state=state)
        if state == "active" and task.state == "active":
            return msgspec.structs.replace(task, state="open")
        return task

    return tuple(now(task) for task in tasks)


def reworded(tasks: Sequence[Task], id: str, text: str) -> tuple[Task, ...]:
    """The list with a task in other words."""
    wanted = find(tasks, id)
    return tuple(msgspec.structs.replace(task, text=_words(text)) if task.id == wanted.id else task for task in tasks)


def removed(tasks: Sequence[Task], id: str) -> tuple[Task, ...]:
    """The list without a task."""
    wanted = find(tasks, id)
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


def find(tasks: Sequence[Task], id: str) -> Task:
    """The task of this id, or the only one whose words begin with this."""
    said = id.strip().removeprefix("#")
    for task in tasks:
        if task.id == said:
            return task
    begun = [task for task in tasks if said and task.text.lower().startswith(said.lower())]
    if len(begun) == 1:
        return begun[0]
    there = ", ".join(task.id for task in tasks) or "none"
    raise TaskError(f"There is no task {said[:60]!r}; there are: {there}.")


def _next(tasks: Sequence[Task]) -> str:
    return str(max((_number(task.id) for task in tasks), default=0) + 1)


def _number(id: str) -> int:
    return int(id) if id.isascii() and id.isdigit() and len(id) < 10 else 0


def _words(text: str) -> str:
    words = " ".join(text.split())
    if not words:
        raise TaskError("A task needs words.")
    return words if len(words) <= LONGEST else words[: LONGEST - 1] + "…"


def _bounded(tasks: tuple[Task, ...]) -> tuple[Task, ...]:
    if len(tasks) > MOST:
        raise TaskError(f"A list holds {MOST} tasks at most; remove what is done.")
    return tasks

"""The command `todo`, for people and agents: an agent's list of things to do.

Owns its parameters and words; people see the list of the agent in front unless they name another. Declared for the hub
and for an agent in its own process.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Literal

import msgspec
from pydantic import BaseModel, ConfigDict, Field

from gshtui.bus.context import Task
from gshtui.commands.declaration import (
    Assessment,
    Command,
    CommandError,
    Effect,
    Invocation,
    Outcome,
    Parameters,
    UsageError,
)
from gshtui.commands.registry import AnyCommand
from gshtui.context.tasks import lists
from gshtui.context.tasks.lists import State, TaskError
from gshtui.context.tasks.shelf import TaskShelf
from gshtui.guard.sanitise import one_line
from gshtui.store.errors import StoreError

Action = Literal["list", "add", "start", "done", "drop", "reopen", "reword", "remove", "clear", "write"]
_STATES: dict[Action, State] = {"start": "active", "done": "done", "drop": "dropped", "reopen": "open"}
_MARKS = {"open": "☐", "active": "▶", "done": "☑", "dropped": "☒"}


class Item(BaseModel):
    """One task of a whole list."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    text: str = Field(description="In a few words")
    state: State = Field(default="open", description="At most one is active")
    id: str = Field(default="", description="Of a task on the list; empty: found by its words")


class TodoParameters(Parameters):
    """What to do to the list."""

    action: Action = Field(default="list", description="`write` sets the whole list to `tasks`")
    task: str = Field(default="", description="Words of a new one (add), else its id or first words")
    text: str = Field(default="", description="New words (reword)")
    tasks: list[Item] = Field(default=[], description="The whole list (write)")
    agent: str = Field(default="", description="Whose; empty: your own, or that of the agent in front")


def commands(shelf: TaskShelf, session_of: Callable[[str], Awaitable[str]]) -> list[AnyCommand]:
    """The command, on these lists. `session_of(agent)`: the conversation that an agent has in hand, by name or id."""

    async def run(invocation: Invocation, parameters: TodoParameters) -> Outcome:
        agent = parameters.agent or invocation.agent
        own = agent == invocation.agent
        try:
            session = (invocation.session if own else "") or await session_of(agent)
        except StoreError as error:
            raise CommandError(error.message, hint=error.hint) from error
        if not session:
            raise CommandError(f"There is no agent {agent!r} with a conversation.", hint="`agents` lists them.")
        if invocation.caller.is_agent and not own and parameters.action != "list":
            raise UsageError("An agent changes its own list only.", hint="Send the other one a message.")
        try:
            if parameters.action == "list":
                tasks = await shelf.tasks(session)
            else:
                tasks = await shelf.change(agent, session, invocation.caller.name, partial(_changed, parameters))
        except TaskError as error:
            raise CommandError(str(error)) from error
        except StoreError as error:
            raise CommandError(error.message, hint=error.hint, data={"kind": error.kind}) from error
        data = {"agent": agent, "tasks": [{"state": "open", **msgspec.to_builtins(task)} for task in tasks]}
        return Outcome(data, told(tasks))

    async def assess(_invocation: Invocation, parameters: TodoParameters) -> Assessment:
        # It writes nothing but the list that everybody sees: no question is worth asking.
        return Assessment(Effect.READ, f"{parameters.action} {parameters.task}".strip()[:120])

    return [
        Command(
            "todo",
            "An agent's list of things to do: show, add, start, done, drop, write",
            TodoParameters,
            run,
            effect=Effect.WRITE,
            positions=("action", "task"),
            description=(
                "Your list of things to do; the person sees it, and it outlives every cut of the context. Use it for"
                " work of several steps: `write` the whole list first, `start` a task before you work on it, mark it"
                " `done` at once when it is."
            ),
            family="agents",
            tool=True,
            assess=assess,
        )
    ]


def told(tasks: Sequence[Task]) -> str:
    """The list, a line each, as people and models read it."""
    if not tasks:
        return "Nothing is on the list."
    return "\n".join(f"- {_MARKS[task.state]} {task.id}. {one_line(task.text, lists.LONGEST)}" for task in tasks)


def _changed(parameters: TodoParameters, tasks: tuple[Task, ...]) -> tuple[Task, ...]:
    match parameters.action:
        case "add":
            return lists.added(tasks, " ".join(part for part in (parameters.task, parameters.text) if part))
        case "start" | "done" | "drop" | "reopen":
            return lists.marked(tasks, parameters.task, _STATES[parameters.action])
        case "reword":
            return lists.reworded(tasks, parameters.task, parameters.text)
        case "remove":
            return lists.removed(tasks, parameters.task)
        case "write":
            return lists.written(tasks, [(item.id, item.text, item.state) for item in parameters.tasks])
        case "clear":
            return ()
        case "list":
            return tasks

"""The command `plan`: an agent's task list as its plan, which a person reads, edits as text, and has worked through.

The plan is the list that `todo` writes and the record keeps, so no cut and no restart loses it. Agents write theirs by
`todo`; this command is for people only, since starting the work ends the mode `plan`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, ClassVar, Literal

import msgspec
from pydantic import Field

from gshtui.bus.context_data import Task
from gshtui.bus.events.agent_events import PromptSubmitted
from gshtui.bus.events.context_events import PlanEditRequested
from gshtui.commands.declaration import (
    Access,
    Action,
    CommandError,
    Effect,
    Invocation,
    Outcome,
    Parameters,
    Returns,
    ToastView,
)
from gshtui.commands.group import group
from gshtui.commands.registry import AnyCommand
from gshtui.context.tasks.task_list import SessionLookup, State, TaskError, TaskStore, tasks_text, written
from gshtui.system.ids import new_id
from gshtui.text.sanitise import one_line

_MARKS: dict[State, str] = {"open": " ", "active": ">", "done": "x", "dropped": "-"}
_STATES: dict[str, State] = {"X": "done", **{mark: state for state, mark in _MARKS.items()}}
_HEAD = """\
# The plan of {agent}: a step a line, in the order of the work. Add, remove, reword and move steps as you like.
# [ ] is to do, [>] is being worked on, [x] is done, [-] is dropped. Lines that begin with # are left out.

"""
_WORK = """\
Work through the plan on your task list (`todo`), step by step. Begin with the first step that is not done: start it, \
do it, check that it holds, mark it done, then go on to the next. If a step turns out to be wrong, reword or drop it \
and say why. Stop and ask if the rest of the plan no longer fits."""


class Plan(msgspec.Struct, frozen=True):
    """An agent's plan."""

    agent: str
    tasks: tuple[Task, ...]

    @property
    def left(self) -> int:
        """Steps that are neither done nor dropped."""
        return sum(task.state in ("open", "active") for task in self.tasks)


_AGENT = Field(default="", description="Whose plan; empty: the selected agent's")


class ShowPlan(Parameters, Returns[Plan]):
    """Show the plan of an agent."""

    COMMAND: ClassVar[str] = "plan"
    WORD: ClassVar[str] = "show"
    agent: str = _AGENT


class EditPlan(Parameters, Returns[Plan]):
    """Have a window open the plan in the person's editor."""

    COMMAND: ClassVar[str] = "plan"
    WORD: ClassVar[str] = "edit"
    agent: str = _AGENT


class RewritePlan(Parameters, Returns[Plan]):
    """Replace the plan by what the person left in the editor."""

    COMMAND: ClassVar[str] = "plan"
    agent: str = _AGENT
    text: str


class StartPlan(Parameters, Returns[Plan]):
    """Have the agent work through its plan."""

    COMMAND: ClassVar[str] = "plan"
    WORD: ClassVar[str] = "go"
    agent: str = _AGENT
    mode: Literal["", "ask", "edit", "auto"] = Field(
        default="", description="The mode to work in; empty: `ask` if it is in `plan`, else as it is"
    )


LeavePlanMode = Callable[[Invocation, str, Literal["ask", "edit", "auto"] | None], Awaitable[None]]
"""Gives an agent this mode; `None`: `ask` if it only plans. Raises `ExpectedError`."""


def commands(lists: TaskStore, session_of: SessionLookup, leave_plan_mode: LeavePlanMode) -> list[AnyCommand]:

    async def find(invocation: Invocation, agent: str) -> tuple[str, str]:
        agent = agent or invocation.addressed
        session = (invocation.session if agent == invocation.agent else "") or await session_of(agent)
        if not session:
            raise CommandError(f"There is no agent {one_line(agent, 40)!r} with a conversation.")
        return agent, session

    async def read(invocation: Invocation, agent: str) -> Plan:
        agent, session = await find(invocation, agent)
        return Plan(agent, await lists.tasks(session))

    async def show(invocation: Invocation, wanted: ShowPlan | EditPlan) -> Plan:
        return await read(invocation, wanted.agent)

    async def write(invocation: Invocation, wanted: RewritePlan) -> Plan:
        agent, session = await find(invocation, wanted.agent)
        try:
            tasks = await lists.change(agent, session, invocation.caller.name, partial(_rewritten, wanted.text))
        except TaskError as error:
            raise CommandError(str(error), hint="The plan is as it was.") from error
        return Plan(agent, tasks)

    async def go(invocation: Invocation, wanted: StartPlan) -> Plan:
        plan = await read(invocation, wanted.agent)
        if not plan.left:
            why = "Every step of the plan is done." if plan.tasks else "There is no plan yet."
            raise CommandError(why, hint="In plan mode (`/mode plan`) the agent writes one; `/plan edit` changes it.")
        await leave_plan_mode(invocation, plan.agent, wanted.mode or None)
        return plan

    return [
        group(
            "plan",
            "Show an agent's plan, edit it, or have it worked through",
            Action(ShowPlan, show, _render),
            Action(EditPlan, show, _render_edit),
            Action(RewritePlan, write, _render, shows=_said, effect=Effect.WRITE),
            Action(StartPlan, go, _render_go, effect=Effect.WRITE, positions=("mode",)),
            family="agents",
            bare="show",
            access=Access.HUMAN_ONLY,
            description="The plan is the agent's task list: in plan mode it ends with one, and it ticks off each step.",
        )
    ]


def plan_text(plan: Plan) -> str:
    lines = [f"- [{_MARKS[task.state]}] {task.id}. {task.text}\n" for task in plan.tasks]
    return _HEAD.format(agent=one_line(plan.agent, 40)) + "".join(lines)


def read_plan(text: str, before: Iterable[Task] = ()) -> list[tuple[str, str, State]]:
    """The steps (id, text, state) of edited lines; a line without a box is one to do. `before`: the steps as they were:
    a line may begin with the id of one of them, or with any number. Raises `TaskError`: a line has no text.
    """
    known = {task.id for task in before}
    steps: list[tuple[str, str, State]] = []
    for line in text.splitlines():
        if (line := line.strip()) and not line.startswith("#"):
            state: State = "open"
            words = line[1:].lstrip() if line[:2] in ("- ", "* ", "+ ") else line
            if words[:1] == "[" and words[2:3] == "]" and words[1] in _STATES and not words[3:4].strip():
                state, words = _STATES[words[1]], words[3:].strip()
            number, _, rest = words.partition(" ")
            if rest and number[-1] in ".)" and (number[:-1] in known or number[:-1].isdecimal()):
                id, words = number[:-1] if number[:-1] in known else "", rest.strip()
            else:
                id = ""
            if not words or line in ("-", "*", "+"):
                raise TaskError(f"This line of the plan has no step: {one_line(line, 80)}")
            steps.append((id, words, state))
    return steps


def _rewritten(text: str, before: tuple[Task, ...]) -> tuple[Task, ...]:
    """The new list; of several steps that are said to be worked on, the first is. Raises `TaskError`."""
    steps = read_plan(text, before)
    active = next((place for place, step in enumerate(steps) if step[2] == "active"), -1)
    only: list[tuple[str, str, State]] = []
    for place, (id, text, state) in enumerate(steps):
        only.append((id, text, "open" if state == "active" and place != active else state))
    return written(before, only)


def _data(plan: Plan) -> dict[str, Any]:
    return {"agent": plan.agent, "tasks": [{"state": "open", **msgspec.to_builtins(task)} for task in plan.tasks]}


def _render(_invocation: Invocation, plan: Plan) -> Outcome:
    text = (
        tasks_text(plan.tasks)
        if plan.tasks
        else "There is no plan yet. In plan mode (`/mode plan`) the agent writes one."
    )
    return Outcome(_data(plan), text, plain=text if plan.tasks else "")


async def _said(_invocation: Invocation, plan: Plan) -> ToastView:
    if not plan.left:
        return ToastView("The plan is saved. No step of it is left to do.")
    return ToastView(f"The plan is saved: {plan.left} step{'s' if plan.left > 1 else ''} to do. `/plan go` starts it.")


def _render_edit(_invocation: Invocation, plan: Plan) -> Outcome:
    intent = PlanEditRequested(agent=plan.agent, text=plan_text(plan))
    return Outcome(_data(plan), f"{tasks_text(plan.tasks)}\n\nA window opens it in your editor.", intent=intent)


def _render_go(_invocation: Invocation, plan: Plan) -> Outcome:
    return Outcome({"prompt": _WORK}, _WORK, intent=PromptSubmitted(prompt=new_id(), agent=plan.agent, text=_WORK))

"""Lists of tasks in the record: they outlive the process, and are told wherever they change."""

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gshtui.bus.bus import Bus
from gshtui.bus.context_data import Task
from gshtui.bus.events.agent_events import PromptSubmitted
from gshtui.bus.events.context_events import PlanEditRequested, TasksChanged
from gshtui.bus.events.session_events import SessionOpened
from gshtui.commands.declaration import Caller, CommandError, Invocation, Outcome, ToastView, UsageError
from gshtui.commands.language import validate
from gshtui.context.tasks import task_list
from gshtui.context.tasks.plan_command import EditPlan, RewritePlan, StartPlan
from gshtui.context.tasks.plan_command import commands as plan_commands
from gshtui.context.tasks.task_list import TaskError, TaskStore, commands
from gshtui.store.record.store import Store
from tests.kit.record import open_record


class TaskTools:
    """A record, a bus and the command, with what was told."""

    def __init__(self, store: Store, session: str) -> None:
        self.bus, self.session = Bus(), session
        self.task_store = TaskStore(self.bus, store.contexts)
        self.told: list[TasksChanged] = []
        self.bus.subscribe(self.told.extend, TasksChanged, name="test")  # type: ignore[arg-type]

    async def todo(self, caller: str = "main", **given: Any) -> Outcome:
        async def session_of(agent: str) -> str:
            return {"main": self.session}.get(agent, "")

        [command] = commands(self.task_store, session_of)
        who = Caller() if caller == "person" else Caller(caller, is_agent=True)
        front = "main" if caller == "person" else caller
        invocation = Invocation(who, Path("/p"), Path("/p"), agent=front)
        return await command.handler(invocation, validate(command, given))


async def test_a_list_outlives_the_process_and_is_told_when_its_conversation_is_opened(tmp_path: Path) -> None:
    async with open_record(tmp_path / "gsh.db") as store:
        session = (await store.sessions.create(cwd="/p", agent="main")).id
        tools = TaskTools(store, session)
        items = [{"text": "read"}, {"text": "write", "state": "active"}, {"text": "test"}]
        await tools.todo(action="write", tasks=items)
        outcome = await tools.todo(action="done", task="write")
        assert outcome.text == "- ☐ 1. read\n- ☑ 2. write\n- ☐ 3. test"
        await tools.bus.drained()
        assert [event.tasks[1].state for event in tools.told] == ["active", "done"]
    async with open_record(tmp_path / "gsh.db") as store:
        tools = TaskTools(store, session)
        tools.bus.publish(SessionOpened(session=session, agent="main", resumed=True))
        await tools.bus.drained()
        await tools.bus.drained()
        assert [event.tasks for event in tools.told] == [
            (Task("1", "read"), Task("2", "write", "done"), Task("3", "test"))
        ]
        assert (await tools.todo("person")).data["tasks"][1]["state"] == "done"


async def test_two_processes_change_one_list(tmp_path: Path) -> None:
    async with open_record(tmp_path / "gsh.db") as store, open_record(tmp_path / "gsh.db") as other:
        session = (await store.sessions.create(cwd="/p", agent="main")).id
        here, there = TaskTools(store, session), TaskTools(other, session)
        await here.todo(action="add", task="one")
        await there.todo("person", action="add", task="two", agent="main")
        await here.todo(action="start", task="2")
        assert [task.state for task in await there.task_store.tasks(session)] == ["open", "active"]


async def test_many_changes_at_once_lose_nothing(tmp_path: Path) -> None:
    async with open_record(tmp_path / "gsh.db") as store:
        session = (await store.sessions.create(cwd="/p", agent="main")).id
        task_store = TaskStore(Bus(), store.contexts)
        await asyncio.gather(
            *(task_store.change("main", session, "main", partial(task_list.added, text=f"task {n}")) for n in range(30))
        )
        tasks = await task_store.tasks(session)
        assert len(tasks) == 30 and [task.id for task in tasks] == [str(n) for n in range(1, 31)]


async def test_what_cannot_be_is_said(tmp_path: Path) -> None:
    async with open_record(tmp_path / "gsh.db") as store:
        tools = TaskTools(store, (await store.sessions.create(cwd="/p", agent="main")).id)
        with pytest.raises(TaskError, match="no task '7'"):
            await tools.todo(action="done", task="7")
        with pytest.raises(CommandError, match="no agent 'nobody'"):
            await tools.todo("person", agent="nobody")
        with pytest.raises(UsageError, match="only its own list"):
            await tools.todo("0001", action="add", task="x", agent="main")
        assert (await tools.todo("0001", agent="main")).text == "The list is empty."
        await tools.todo(action="clear")
        await tools.bus.drained()
        assert tools.told == []


async def test_a_plan_is_edited_and_started(tmp_path: Path) -> None:
    async with open_record(tmp_path / "gsh.db") as store:
        tools = TaskTools(store, (await store.sessions.create(cwd="/p", agent="main")).id)
        left: list[tuple[str, str | None]] = []

        async def session_of(agent: str) -> str:
            return {"main": tools.session}.get(agent, "")

        async def leave(_invocation: Invocation, agent: str, mode: str | None) -> None:
            left.append((agent, mode))

        (plan,) = plan_commands(tools.task_store, session_of, leave)

        async def run(value: Any) -> Outcome:
            action = next(one for one in plan.actions if one.parameters is type(value))
            return await action.handle(Invocation(Caller(), Path("/p"), Path("/p"), agent="main"), value)

        with pytest.raises(CommandError, match="no plan yet"):
            await run(StartPlan())
        await tools.todo(action="write", tasks=[{"text": "read"}, {"text": "write", "state": "active"}])
        wanted = (await run(EditPlan())).intent
        assert isinstance(wanted, PlanEditRequested) and "- [>] 2. write" in wanted.text
        edited = wanted.text.replace("[ ] 1. read", "[x] 1. read all") + "test\n"
        saved = (await run(RewritePlan(agent="main", text=edited))).view
        assert saved == ToastView("The plan is saved: 2 steps to do. `/plan go` starts it.")
        assert (await tools.todo()).text == "- ☑ 1. read all\n- ▶ 2. write\n- ☐ 3. test"
        with pytest.raises(CommandError, match="no step"):
            await run(RewritePlan(agent="main", text="- [x]"))
        started = (await run(StartPlan(mode="edit"))).intent
        assert isinstance(started, PromptSubmitted) and left == [("main", "edit")]

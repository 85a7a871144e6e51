"""Lists of tasks: every operation gives a sound list, whatever came before."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.bus.context_data import Task
from gshtui.context.tasks import task_list
from gshtui.context.tasks.plan_command import Plan, plan_text, read_plan
from gshtui.context.tasks.task_list import TaskError

STATES = st.sampled_from(["open", "active", "done", "dropped"])
IDS = st.sampled_from(["1", "2", "3", "#2", "7", "", "x", "²", "99999999999999999999"])
WORDS = st.text(max_size=12)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), WORDS),
        st.tuples(st.just("mark"), IDS, STATES),
        st.tuples(st.just("reword"), IDS, WORDS),
        st.tuples(st.just("remove"), IDS),
        st.tuples(st.just("write"), st.lists(st.tuples(IDS, WORDS, STATES), max_size=4)),
    ),
    max_size=30,
)


def applied(tasks: tuple[Task, ...], step: Any) -> tuple[Task, ...]:
    name, *rest = step
    does: dict[str, Any] = {"add": task_list.added, "mark": task_list.marked, "reword": task_list.reworded}
    does |= {"remove": task_list.removed, "write": task_list.written}
    return does[name](tasks, *rest)


@given(STEPS)
def test_a_list_stays_sound_over_any_operations(steps: list[Any]) -> None:
    tasks: tuple[Task, ...] = ()
    for step in steps:
        before = tasks
        try:
            tasks = applied(tasks, step)
        except TaskError as error:
            assert str(error).endswith(".") and tasks is before
        ids = [task.id for task in tasks]
        assert len(set(ids)) == len(ids) and all(ids)
        assert all(task.text == " ".join(task.text.split()) != "" for task in tasks)
        if step[0] in ("add", "mark", "reword"):
            assert {task.id for task in before} <= set(ids), "nothing is lost by it"


def test_one_is_worked_on_at_a_time() -> None:
    tasks = task_list.added(task_list.added((), "one"), "two")
    tasks = task_list.marked(task_list.marked(tasks, "1", "active"), "2", "active")
    assert [task.state for task in tasks] == ["open", "active"]


def test_a_task_is_found_by_its_number_or_its_first_words() -> None:
    tasks = task_list.added(task_list.added((), "write the parser"), "write the tests")
    assert task_list.find_task(tasks, "#2").text == "write the tests"
    assert task_list.find_task(tasks, "Write the P").id == "1"
    with pytest.raises(TaskError, match=r"no task 'write'; the tasks: 1, 2\."):
        task_list.find_task(tasks, "write")


def test_a_new_list_keeps_the_numbers_of_the_same_words() -> None:
    tasks = task_list.added(task_list.added((), "one"), "two")
    tasks = task_list.written(tasks, [("", "zero", "done"), ("", "two", "active")])
    assert [(task.id, task.text) for task in tasks] == [("3", "zero"), ("2", "two")]


def test_bounds() -> None:
    with pytest.raises(TaskError, match="needs a text"):
        task_list.added((), " \n ")
    assert len(task_list.added((), "x" * 9_000)[0].text) == task_list.LONGEST
    with pytest.raises(TaskError, match="at most 100 tasks"):
        task_list.written((), [("", f"task {n}", "open") for n in range(101)])


@given(STEPS)
def test_a_plan_that_is_saved_unchanged_is_the_same_plan(steps: list[Any]) -> None:
    tasks: tuple[Task, ...] = ()
    for step in steps:
        with contextlib.suppress(TaskError):
            tasks = applied(tasks, step)
    text = plan_text(Plan("main", tasks))
    assert task_list.written(tasks, read_plan(text, tasks)) == tasks


def test_a_plan_is_read_as_people_write_it() -> None:
    text = "# head\n\n- [X] 2. done\n2) [x] looks like a box\n* new\n   plain text\n- [>] go on\n"
    assert read_plan(text, (Task("2", "done"),)) == [
        ("2", "done", "done"),
        ("2", "[x] looks like a box", "open"),
        ("", "new", "open"),
        ("", "plain text", "open"),
        ("", "go on", "active"),
    ]

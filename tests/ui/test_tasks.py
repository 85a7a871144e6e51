"""The tasks strip: hidden when nothing is left to do, one line else, the list on a click."""

from gshtui.bus.context_data import Task
from gshtui.bus.events.context_events import TasksChanged
from gshtui.bus.events.session_events import SessionOpened
from gshtui.ui.prompt.task_strip import TasksState, reduce_tasks
from tests.kit.prompt_host import PromptHost
from tests.kit.snapshots import Snap, screens, snap

__all__ = ["snap"]

TASKS = (
    Task("1", "read the parser and its tests", "done"),
    Task("2", "split lines with csv", "active"),
    Task("3", "rewrite it in Rust", "dropped"),
    Task("4", "add a test for quoted commas"),
    Task("5", "update the changelog"),
)


def changed(*tasks: Task, agent: str = "main", session: str = "s") -> TasksChanged:
    return TasksChanged(agent=agent, session=session, tasks=tasks)


def line(app: PromptHost, y: int) -> str:
    return app.area.tasks.render_line(y).text.rstrip()


async def test_it_is_there_while_something_is_left_to_do() -> None:
    app = PromptHost(keep_drafts=False)
    async with app.run_test() as pilot:
        assert not app.area.tasks.display
        app.feed(changed(*TASKS))
        await pilot.pause()
        assert app.area.tasks.display
        assert line(app, 0) == "▸ tasks 1/4  ▶ split lines with csv  +2"
        app.feed(changed(*(Task(task.id, task.text, "done") for task in TASKS)))
        await pilot.pause()
        assert not app.area.tasks.display


async def test_a_click_shows_the_list_and_another_one_hides_it() -> None:
    app = PromptHost(keep_drafts=False)
    async with app.run_test() as pilot:
        app.feed(changed(*TASKS))
        await pilot.pause()
        await pilot.click("#tasks")
        await pilot.pause()
        assert app.area.tasks.size.height == 6
        assert line(app, 0).startswith("▾ tasks 1/4")
        assert line(app, 3) == "  ☒ 3. rewrite it in Rust"
        await pilot.click("#tasks")
        await pilot.pause()
        assert app.area.tasks.size.height == 1
        assert app.focused is app.area.input


async def test_hostile_words_are_harmless_and_fit() -> None:
    app = PromptHost(keep_drafts=False)
    async with app.run_test(size=(40, 24)) as pilot:
        app.feed(changed(Task("1", "[bold]x[/] \x1b[31mred\n" + "漢" * 60)))
        await pilot.pause()
        strip = app.area.tasks.render_line(0)
        assert strip.cell_length == app.area.tasks.size.width
        assert "\x1b" not in strip.text and "[bold]x[/]" in strip.text


async def test_a_tiny_window_keeps_its_lines_for_more_important_things() -> None:
    app = PromptHost(keep_drafts=False)
    async with app.run_test(size=(80, 8)) as pilot:
        app.feed(changed(*TASKS))
        await pilot.pause()
        assert not app.area.tasks.display
        await pilot.resize_terminal(100, 24)
        await pilot.pause()
        assert app.area.tasks.display


def test_other_agents_lists_and_the_same_list_change_nothing() -> None:
    state = reduce_tasks(TasksState("main"), changed(*TASKS))
    assert reduce_tasks(state, changed(Task("9", "x"), agent="0001")) is state
    assert reduce_tasks(state, changed(*TASKS)) is state


def test_another_conversation_has_its_own_list() -> None:
    state = reduce_tasks(TasksState("main"), changed(*TASKS))
    state = reduce_tasks(state, SessionOpened(session="other", agent="main"))
    assert not state.unfinished and state.current is None
    assert reduce_tasks(state, changed(Task("1", "x"), session="other")).current == Task("1", "x")


@screens()
async def test_the_list_in_pictures(snap: Snap, theme: str, size: tuple[int, int]) -> None:
    app = PromptHost(theme, keep_drafts=False, clock=lambda: 0.0, now=lambda: 1_000.0)
    async with app.run_test(size=size) as pilot:
        app.feed(changed(*TASKS))
        await pilot.pause()
        await pilot.click("#tasks")
        await pilot.pause()
        snap(app)

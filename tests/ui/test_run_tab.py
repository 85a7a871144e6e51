"""The tab of a workflow's run: steps as they go, what each prints, cancel and resume; a run of another process too."""

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot

from gshtui.bus.events.workflow_events import (
    WorkflowFinished,
    WorkflowStarted,
    WorkflowStepFinished,
    WorkflowStepOutput,
    WorkflowStepStarted,
)
from gshtui.bus.workflow_data import StepHead, StepResult, WorkflowRunRow
from gshtui.features.workflows import workflow_calls as calls
from gshtui.features.workflows.commands import commands
from gshtui.features.workflows.window.run_state import RunView, loaded, reduce_run
from gshtui.features.workflows.window.run_tab import RunTab
from gshtui.features.workflows.workflow_library import WorkflowLibrary
from gshtui.ui.kit.widgets.dialogs import Picker
from tests.kit.fake_hub import FakeHub
from tests.kit.snapshots import Snap, screens, snap
from tests.kit.terminal_agents import wait_until
from tests.kit.window import NOW, Window

__all__ = ["snap"]
HEADS = (
    StepHead(1, "Obtain diff of changes", "shell", "git-changes"),
    StepHead(2, "Generate commit message", "llm"),
    StepHead(3, "Commit and push", "shell"),
)
ROW = WorkflowRunRow(
    id="run1abcd99", workflow="create-git-commit", file="f", cwd="/src/aurora", steps=HEADS, started=NOW - 60
)
DIFF = StepResult(
    state="done", stdout="+hello\n\x1b[31m-bye\n", started_at=NOW - 60, ended_at=NOW - 58.8, sandboxed=True
)
ASKED = StepResult(state="running", started_at=NOW - 40)
FAILED = StepResult(state="failed", stderr="no remote\n", exit_code=3, started_at=NOW - 9, ended_at=NOW - 8)


@pytest.fixture(autouse=True)
def with_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """The keys that the command `workflow` declares."""
    nothing: object = None
    declared = commands(lambda: nothing)[0]  # type: ignore[arg-type,return-value]
    of = {place.key: place.of for action in declared.actions for place in action.where}
    monkeypatch.setattr(FakeHub, "for_row", lambda _hub, key, row: of[key](row) if key in of else None)


def shown(row: WorkflowRunRow, **steps: StepResult) -> calls.ShownWorkflow:
    return calls.ShownWorkflow(None, row, tuple((int(number[1:]), result) for number, result in steps.items()))


def window(found: calls.ShownWorkflow, **options: object) -> tuple[Window, dict[object, object]]:
    results: dict[object, object] = {
        calls.ListRuns(): calls.WorkflowRuns((ROW,)),
        calls.ListWorkflows(): WorkflowLibrary(),
        calls.ShowWorkflow(name=ROW.id): found,
    }
    return Window(results=results, **options), results  # type: ignore[arg-type]


async def opened(app: Window, pilot: Pilot[int]) -> RunTab:
    await wait_until(pilot, lambda: app.hub is not None)
    await pilot.press("alt+x")
    await wait_until(pilot, lambda: isinstance(app.screen, Picker) and app.screen.chosen is not None)
    await pilot.press("enter")
    await wait_until(pilot, lambda: any(tab.rows for tab in app.bench.query(RunTab)))
    await pilot.pause()
    return app.bench.query_one(RunTab)


def details(tab: RunTab) -> str:
    return str(tab.details.query("Static").first().render())  # type: ignore[attr-defined]


def heading(tab: RunTab) -> str:
    return str(tab.query_one(".tab-title").render())  # type: ignore[attr-defined]


def test_events_make_what_the_record_holds() -> None:
    """A run that was followed from its beginning ends as the same run read from the record."""
    view = RunView(replace(ROW, steps=()))
    done = DIFF
    for event in (
        WorkflowStarted(run=ROW.id, workflow=ROW.workflow, steps=HEADS),
        WorkflowStepStarted(run="another", step=1, name="", kind="shell"),
        WorkflowStepStarted(run=ROW.id, step=1, name="Obtain", kind="shell"),
        WorkflowStepOutput(run=ROW.id, step=1, text="+hel"),
        WorkflowStepOutput(run=ROW.id, step=1, text="lo"),
    ):
        view = reduce_run(view, event)
    assert [(step.state, step.output) for step in view.steps] == [
        ("running", "+hello"),
        ("waiting", ""),
        ("waiting", ""),
    ]
    for event in (
        WorkflowStepFinished(run=ROW.id, step=1, name="Obtain", result=done),
        WorkflowStepFinished(run=ROW.id, step=2, name="Generate", result=FAILED),
        WorkflowFinished(run=ROW.id, workflow=ROW.workflow, state="failed", exit_code=3, error="Step 2"),
    ):
        view = reduce_run(view, event)
    read = loaded(replace(ROW, state="failed", exit_code=3, error="Step 2"), {1: done, 2: FAILED})
    assert [(one.state, one.printed) for one in view.steps] == [(one.state, one.printed) for one in read.steps]
    assert (view.row, view.at, view.ended) == (read.row, 1, 2)
    assert loaded(ROW, {}, here=True).here and not read.here


async def test_a_run_is_followed_live_cancelled_and_resumed() -> None:
    app, results = window(shown(ROW, _1=DIFF, _2=ASKED))
    async with app.run_test(size=(150, 36)) as pilot:
        tab = await opened(app, pilot)
        assert app.hub is not None
        assert tab.chosen is not None and tab.chosen.head.number == 2  # the one that runs
        assert "running" in heading(tab) and "1 of 3 steps" in heading(tab)
        await pilot.press("up")
        assert "+hello" in details(tab) and "in the sandbox" in details(tab) and "\x1b" not in details(tab)
        await pilot.press("down")
        app.feed(WorkflowStepStarted(run=ROW.id, step=2, name="Generate", kind="llm"))
        app.feed(WorkflowStepOutput(run=ROW.id, step=2, text="Say hello to"))
        await pilot.pause()
        assert "Say hello to" in details(tab)
        await pilot.press("r")  # it runs: there is nothing to resume
        assert not [one for one in app.hub.ran if isinstance(one, calls.ResumeRun)]
        await pilot.press("c")
        await wait_until(pilot, lambda: calls.CancelRun(run=ROW.id) in app.hub.ran)  # type: ignore[union-attr]
        app.feed(WorkflowStepFinished(run=ROW.id, step=2, name="Generate", result=DIFF))
        app.feed(WorkflowStepStarted(run=ROW.id, step=3, name="Commit", kind="shell"))
        await pilot.pause()
        assert tab.chosen.head.number == 3  # the cursor follows what runs
        app.feed(WorkflowStepFinished(run=ROW.id, step=3, name="Commit", result=FAILED))
        app.feed(WorkflowFinished(run=ROW.id, workflow=ROW.workflow, state="failed", exit_code=3, error="Step 3"))
        await pilot.pause()
        assert "failed" in heading(tab) and "exit code 3" in heading(tab) and "no remote" in details(tab)
        await pilot.press("r")
        await wait_until(pilot, lambda: calls.ResumeRun(run=ROW.id) in app.hub.ran)  # type: ignore[union-attr]
        assert results


async def test_all_steps_share_their_columns_while_one_of_them_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    heads = tuple(replace(head, name="a long name " * 20) for head in HEADS)
    app, _ = window(shown(replace(ROW, steps=heads), _1=replace(DIFF, ended_at=NOW - 60), _2=ASKED))
    async with app.run_test(size=(150, 36)) as pilot:
        tab = await opened(app, pilot)
        tab.view = replace(tab.view, here=True)
        before = tab.lines()
        monkeypatch.setattr(tab, "_clock", lambda: NOW + 60)
        assert tab.lines()[0] != before[0]
        tab.tick()
        assert [option.prompt for option in tab.listed.options] == tab.lines()


async def test_a_run_of_another_process_is_read_from_the_record_while_it_goes_on() -> None:
    app, results = window(shown(ROW, _1=DIFF, _2=ASKED))
    async with app.run_test(size=(150, 36)) as pilot:
        tab = await opened(app, pilot)
        assert "Another process" in details(tab)
        results[calls.ShowWorkflow(name=ROW.id)] = shown(
            replace(ROW, state="cancelled", exit_code=130), _1=DIFF, _2=replace(FAILED, state="cancelled")
        )
        tab.tick()
        await wait_until(pilot, lambda: "cancelled" in heading(tab))
        assert "no remote" in details(tab)
        asked = len(results)
        tab.tick()  # it has ended: nothing is asked any more
        assert asked == len(results)


@screens(light=True)
async def test_how_it_looks(snap: Snap, theme: str, size: tuple[int, int]) -> None:
    failed = replace(ROW, state="failed", exit_code=3, error="Step 3 (Commit and push): no remote")
    said = replace(DIFF, stdout="Greet the world\n", sandboxed=False, agent="committer", ended_at=NOW - 40)
    app, _ = window(shown(failed, _1=DIFF, _2=said, _3=FAILED), theme=theme)
    async with app.run_test(size=size) as pilot:
        await opened(app, pilot)
        snap(app)

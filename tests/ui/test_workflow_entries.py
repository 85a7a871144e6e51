"""The steps of a workflow in the conversation: a row each, of the runs that were started from it alone."""

from pathlib import Path

from gshtui.bus.events.workflow_events import (
    WorkflowFinished,
    WorkflowStarted,
    WorkflowStepFinished,
    WorkflowStepOutput,
    WorkflowStepStarted,
)
from gshtui.bus.workflow_data import StepHead, StepResult
from gshtui.commands.declaration import Caller, Invocation
from gshtui.features.workflows.commands import end_text
from gshtui.features.workflows.workflow_run import RunEnd
from gshtui.ui.conversation.conversation_state import ConversationState
from gshtui.ui.kit.transcript.entries import NoticeEntry, Put, ToolEntry

HEADS = (StepHead(1, "Look", "shell"), StepHead(2, "Say", "llm"))


def entries(state: ConversationState, *events: object) -> list[object]:
    return [one.entry for event in events for one in state.apply_event(event) if isinstance(one, Put)]  # type: ignore[arg-type]


def test_each_step_is_a_row_with_its_output() -> None:
    state = ConversationState("main", "s")
    found = entries(
        state,
        WorkflowStarted(run="r1", workflow="made", agent="main", steps=HEADS),
        WorkflowStepStarted(run="r1", step=1, name="Look", kind="shell", attempt=2),
        WorkflowStepOutput(run="r1", step=1, text="half "),
        WorkflowStepOutput(run="r1", step=1, text="whole"),
        WorkflowStepFinished(
            run="r1",
            step=1,
            name="Look",
            result=StepResult(state="failed", stdout="whole\n", error="why", continued=True),
        ),
        WorkflowStepFinished(run="r1", step=2, name="Say", result=StepResult(state="skipped")),
        WorkflowFinished(run="r1", workflow="made", state="done"),
    )
    rows = [one for one in found if isinstance(one, ToolEntry)]
    assert [(row.id, row.status, row.output, row.word) for row in rows] == [
        ("r1 step 1", "running", "", ""),
        ("r1 step 1", "running", "half ", ""),
        ("r1 step 1", "running", "half whole", ""),
        ("r1 step 1", "error", "whole\nwhy", "failed, went on"),
        ("r1 step 2", "ok", "", "skipped"),
    ]
    assert rows[0].subject == "1/2 Look (attempt 2)"
    assert state.workflows.names == {}
    assert state.workflows.steps == {}


def test_how_a_run_failed_is_left_to_the_answer_of_its_command() -> None:
    state = ConversationState("main", "s")
    begins, *more = entries(
        state,
        WorkflowStarted(run="r1", workflow="made", agent="main", steps=HEADS),
        WorkflowFinished(run="r1", workflow="made", state="failed", exit_code=3, error="Step 1 (Look): no"),
    )
    assert (isinstance(begins, NoticeEntry), more, state.workflows.names) == (True, [], {})
    invocation = Invocation(Caller(), Path("/"), Path("/"))
    answer = end_text(invocation, RunEnd("r1abcdefgh", "failed", 3, "Step 1 (Look): no"))
    assert (answer.is_error, answer.text) == (True, "Step 1 (Look): no. `workflow resume r1abcdef` goes on from there.")


def test_runs_of_others_are_left_out() -> None:
    state = ConversationState("main", "s")
    assert (
        entries(
            state,
            WorkflowStarted(run="r2", workflow="made", agent="other", steps=HEADS),
            WorkflowStepStarted(run="r2", step=1, name="Look", kind="shell"),
            WorkflowStepOutput(run="r2", step=1, text="x"),
            WorkflowStepFinished(run="r2", step=1, name="Look", result=StepResult(state="done")),
            WorkflowFinished(run="r2", workflow="made", state="failed"),
        )
        == []
    )

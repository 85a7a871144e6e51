"""A run of a workflow as its tab shows it: the record's row, what became of each step, and what running steps print.

Pure: `reduce_run` takes an event, `loaded` what the record holds.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from gshtui.bus.event import Event
from gshtui.bus.events.workflow_events import (
    WorkflowFinished,
    WorkflowStarted,
    WorkflowStepFinished,
    WorkflowStepOutput,
    WorkflowStepStarted,
)
from gshtui.bus.workflow_data import StepHead, StepResult, StepState, WorkflowRunRow

RUN_EVENTS: tuple[type[Event], ...] = (
    WorkflowStarted,
    WorkflowStepStarted,
    WorkflowStepOutput,
    WorkflowStepFinished,
    WorkflowFinished,
)
KEPT = 64_000
"""Characters of a running step's output that are kept: its end."""


class RunStep(msgspec.Struct, frozen=True):
    """One step. `output`: what it has printed so far, while it runs here."""

    head: StepHead
    result: StepResult | None = None
    output: str = ""
    attempt: int = 1
    running: bool = False
    since: float = 0.0
    """When it began, seconds since the epoch, while it runs; 0: not known."""

    @property
    def state(self) -> StepState:
        """What became of it so far."""
        return "running" if self.running else self.result.state if self.result is not None else "waiting"

    @property
    def printed(self) -> str:
        """All that it printed, and why it failed."""
        if self.running or self.result is None:
            return self.output
        parts = (self.result.stdout, self.result.stderr, self.result.error)
        return "\n".join(part.rstrip("\n") for part in parts if part.strip())


class RunView(msgspec.Struct, frozen=True):
    """One run."""

    row: WorkflowRunRow
    steps: tuple[RunStep, ...] = ()
    here: bool = False
    """Its events arrive here: it is a run of this window."""

    @property
    def at(self) -> int:
        """The index of the step to look at: the one that runs, or where it stopped, or the last."""
        for wanted in (("running",), ("failed", "timeout", "denied", "unreachable", "interrupted", "cancelled")):
            for index, step in enumerate(self.steps):
                if step.state in wanted and not (step.result is not None and step.result.continued):
                    return index
        return max(0, len(self.steps) - 1)

    @property
    def ended(self) -> int:
        """How many steps are over."""
        return sum(step.state not in ("waiting", "running") for step in self.steps)


def loaded(
    row: WorkflowRunRow, results: Mapping[int, StepResult], before: RunView | None = None, *, here: bool = False
) -> RunView:
    """The run as the record has it; what running steps have printed so far is kept. `here`: this process runs it."""
    live = {step.head.number: step for step in before.steps} if before is not None else {}
    here = here or (before is not None and before.here)
    steps: list[RunStep] = []
    for head in row.steps:
        result, known = results.get(head.number), live.get(head.number)
        running = result is not None and result.state == "running" and row.state == "running"
        if here and known is not None and known.running and row.state == "running":
            steps.append(known)
        elif running and result is not None:
            steps.append(RunStep(head, running=True, since=result.started_at or row.started))
        else:
            steps.append(RunStep(head, result))
    return RunView(row, tuple(steps), here)


def reduce_run(view: RunView, event: Event) -> RunView:
    """The run after an event; those of other runs change nothing."""
    if getattr(event, "run", "") != view.row.id:
        return view
    match event:
        case WorkflowStarted():
            row = replace(view.row, state="running", steps=event.steps or view.row.steps, error="", exit_code=0)
            known = {step.head.number: step for step in view.steps}
            steps = tuple(known.get(head.number, RunStep(head)) for head in row.steps)
            return replace(view, row=row, steps=steps, here=True)
        case WorkflowStepStarted():
            return _with(view, event.step, running=True, since=event.at, output="", attempt=event.attempt, result=None)
        case WorkflowStepOutput():
            step = _step(view, event.step)
            return view if step is None else _with(view, event.step, output=(step.output + event.text)[-KEPT:])
        case WorkflowStepFinished():
            return _with(
                view,
                event.step,
                running=False,
                since=0.0,
                output="",
                attempt=event.result.attempts,
                result=event.result,
            )
        case WorkflowFinished():
            row = replace(view.row, state=event.state, exit_code=event.exit_code, error=event.error)
            steps = tuple(replace(step, running=False, since=0.0) if step.running else step for step in view.steps)
            return replace(view, row=row, steps=steps, here=True)
        case _:
            return view


def _step(view: RunView, number: int) -> RunStep | None:
    return next((step for step in view.steps if step.head.number == number), None)


def _with(view: RunView, number: int, **changes: object) -> RunView:
    steps = tuple(replace(step, **changes) if step.head.number == number else step for step in view.steps)
    return replace(view, steps=steps, here=True)

"""Workflows: a run begins, its steps begin, print and end, it ends."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal

from gshtui.bus.event import Event
from gshtui.bus.workflow_data import RunState, StepHead, StepResult


class WorkflowStarted(Event, frozen=True, kw_only=True):
    """A run of a workflow began, or goes on."""

    run: str
    workflow: str
    agent: str = ""
    """The agent in front of which it was started."""
    description: str = ""
    cwd: str = ""
    steps: tuple[StepHead, ...] = ()
    resumed: bool = False


class WorkflowStepStarted(Event, frozen=True, kw_only=True):
    """A step of a run began; it may still need approval."""

    run: str
    step: int
    name: str
    kind: str
    attempt: int = 1


class WorkflowStepOutput(Event, frozen=True, kw_only=True):
    """More output of a running step, sanitised."""

    run: str
    step: int
    text: str
    stream: Literal["stdout", "stderr"] = "stdout"

    def merge_key(self) -> Hashable | None:
        return ("WorkflowStepOutput", self.run, self.step, self.stream)

    def merged_with(self, newer: Event) -> Event:
        assert isinstance(newer, WorkflowStepOutput)
        return WorkflowStepOutput(
            at=self.at, run=self.run, step=self.step, text=self.text + newer.text, stream=self.stream
        )


class WorkflowStepFinished(Event, frozen=True, kw_only=True):
    """A step ended, or was skipped."""

    run: str
    step: int
    name: str
    result: StepResult


class WorkflowFinished(Event, frozen=True, kw_only=True):
    """A run ended."""

    run: str
    workflow: str
    state: RunState
    exit_code: int = 0
    error: str = ""

"""Plain data of a workflow's run: what became of it, and of each of its steps."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

StepState = Literal[
    "waiting", "running", "done", "failed", "skipped", "denied", "timeout", "cancelled", "unreachable", "interrupted"
]
"""interrupted: it had begun when its process died, so nobody knows how far it got."""
RunState = Literal["running", "done", "failed", "cancelled", "interrupted"]
WorkflowSource = Literal["built in", "yours", "the project's"]
STEP_ENDED: frozenset[StepState] = frozenset(("done", "skipped"))
"""Of a step that is not run again when its workflow goes on."""


class StepResult(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """What became of a step, as templates see it."""

    state: StepState
    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    started_at: float = 0.0
    """Seconds since the epoch, as `ended_at`."""
    ended_at: float = 0.0
    artifacts: tuple[str, ...] = ()
    """Paths of files that it made or changed, as far as its patterns name them."""
    error: str = ""
    """Why it failed, where its output does not say so; one sentence."""
    attempts: int = 1
    sandboxed: bool = False
    agent: str = ""
    """The agent that did it, for an llm step."""
    continued: bool = False
    """It failed, and the workflow went on all the same."""

    @property
    def duration_ms(self) -> int:
        return max(0, round((self.ended_at - self.started_at) * 1000))

    @property
    def is_over(self) -> bool:
        """Whether the steps behind it may begin."""
        return self.state in STEP_ENDED or self.continued

    def as_values(self) -> dict[str, object]:
        return {
            "stdout": self.stdout,
            "stderr": self.stderr,
            "exit_code": self.exit_code,
            "started_at": self.started_at,
            "ended_at": self.ended_at,
            "duration_ms": self.duration_ms,
            "artifacts": list(self.artifacts),
            "state": self.state,
            "skipped": self.state == "skipped",
        }


class StepHead(msgspec.Struct, frozen=True, omit_defaults=True):
    """A step before it runs, for people."""

    number: int
    name: str
    kind: str
    id: str = ""


class WorkflowRunRow(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """A run as the record keeps it."""

    id: str
    workflow: str
    file: str
    text: str = ""
    """The file as it was when the run began: it goes on with this."""
    cwd: str
    values: dict[str, Any] = {}
    steps: tuple[StepHead, ...] = ()
    state: RunState = "running"
    exit_code: int = 0
    started: float = 0.0
    ended: float = 0.0
    error: str = ""
    machine: str = ""
    pid: int = 0
    process_started: str = ""
    """Identify the process that runs it."""
    source: WorkflowSource = "yours"
    cancel_asked: bool = False
    """A person asked from another process that it ends."""

"""The steps of a workflow's run as entries of the conversation: one foldable row each, with its output as it comes.

Pure. A pane shows the runs that were started from it; of others it hears nothing but their steps, which it leaves out.
"""

from __future__ import annotations

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
from gshtui.bus.workflow_data import StepResult, StepState
from gshtui.ui.kit.transcript.entries import NoticeEntry, Operation, Put, ToolEntry, ToolStatus

WORKFLOW_EVENTS: tuple[type[Event], ...] = (
    WorkflowStarted,
    WorkflowStepStarted,
    WorkflowStepOutput,
    WorkflowStepFinished,
    WorkflowFinished,
)
_TAIL = 8_000
"""Characters of a running step's output that are kept."""
_STATUS: dict[StepState, ToolStatus] = {
    "done": "ok",
    "skipped": "ok",
    "failed": "error",
    "unreachable": "error",
    "denied": "denied",
    "timeout": "timeout",
    "cancelled": "cancelled",
    "interrupted": "lost",
}


class ShownWorkflows(msgspec.Struct):
    """The runs that a pane shows, and their steps that have not ended."""

    names: dict[str, tuple[str, int]] = msgspec.field(default_factory=dict[str, tuple[str, int]])
    """Run → its workflow, and how many steps that has."""
    steps: dict[tuple[str, int], ToolEntry] = msgspec.field(default_factory=dict[tuple[str, int], ToolEntry])

    def apply_event(self, event: Event) -> list[Operation]:
        """The operations for an event of a workflow."""
        if isinstance(event, WorkflowStarted):
            self.names[event.run] = (event.workflow, len(event.steps))
            how = "goes on" if event.resumed else "begins"
            text = f"Workflow {event.workflow} {how}: {event.description or event.run}"
            hint = f"`alt+x` to show it in a tab · `workflow cancel {event.run[:8]}` to end it"
            return [Put(NoticeEntry(f"workflow {event.run} {event.resumed}", "quiet", text, hint))]
        run: str = getattr(event, "run", "")
        if run not in self.names:
            return []
        match event:
            case WorkflowStepStarted():
                return self._put(run, event.step, self._entry(run, event))
            case WorkflowStepOutput():
                if (entry := self.steps.get((run, event.step))) is None:
                    return []
                return self._put(run, event.step, replace(entry, output=(entry.output + event.text)[-_TAIL:]))
            case WorkflowStepFinished():
                known = self.steps.pop((run, event.step), None)
                return [Put(self._ended(run, event.step, event.name, event.result, known))]
            case WorkflowFinished():
                del self.names[run]  # how it ended is what its command answers
                return []
            case _:
                return []

    def _put(self, run: str, step: int, entry: ToolEntry) -> list[Operation]:
        self.steps[run, step] = entry
        return [Put(entry)]

    def _entry(self, run: str, event: WorkflowStepStarted) -> ToolEntry:
        _, count = self.names[run]
        again = f" (attempt {event.attempt})" if event.attempt > 1 else ""
        subject = f"{event.step}/{count} {event.name}{again}"
        return ToolEntry(f"{run} step {event.step}", event.kind, subject, by_person=True)

    def _ended(self, run: str, step: int, name: str, result: StepResult, known: ToolEntry | None) -> ToolEntry:
        _, count = self.names[run]
        output = "\n".join(part.rstrip("\n") for part in (result.stdout, result.stderr, result.error) if part.strip())
        entry = known or ToolEntry(f"{run} step {step}", "step", f"{step}/{count} {name}", by_person=True)
        word = "skipped" if result.state == "skipped" else "failed, went on" if result.continued else ""
        return replace(
            entry,
            status=_STATUS.get(result.state, "error"),
            output=output[-_TAIL:],
            duration=result.duration_ms / 1000,
            bytes=len(output.encode(errors="replace")),
            cut=len(output) > _TAIL,
            word=word,
            sandboxed=result.sandboxed,
        )

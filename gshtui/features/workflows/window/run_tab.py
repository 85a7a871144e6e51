"""The tab of a workflow's run: its steps as they go, each with what it prints.

Follows the events of a run of this window. A run of another process is read from the record while it goes on.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.content import Content

from gshtui.bus.event import Event
from gshtui.bus.workflow_data import StepResult, StepState, WorkflowRunRow
from gshtui.features.workflows.window.run_state import RUN_EVENTS, RunStep, RunView, loaded, reduce_run
from gshtui.system.processes.process_identity import this_process
from gshtui.text import units
from gshtui.text.sanitise import one_line, plain
from gshtui.ui.kit.drawing import figures
from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.row_actions import row_bindings
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.kit.widgets.list_rows import ListRow
from gshtui.ui.kit.widgets.list_tab import ListTab

if TYPE_CHECKING:
    from gshtui.features.workflows.workflow_calls import ShownWorkflow

_SIGNS: dict[StepState, tuple[str, str]] = {
    "waiting": ("·", "$foreground-muted"),
    "running": ("▸", "$primary"),
    "done": ("✓", "$success"),
    "skipped": ("–", "$foreground-muted"),
    "interrupted": ("?", "$warning"),
}
_STATES = {"running": "$primary", "done": "$success", "cancelled": "$warning", "interrupted": "$warning"}
_MUTED = "$foreground-muted"
_SHOWN = 20_000
"""Characters of a step's output that are shown: its end."""
_EVERY = 1.0
"""Seconds between looks at the record."""
ReadRun = Callable[[], Awaitable["ShownWorkflow | None"]]


class RunTab(ListTab[RunStep]):
    """See the module.

    Args:
        perform: runs an action of the key table on the run.
        clock: seconds since the epoch.
    """

    CONSUMES: ClassVar[tuple[type[Event], ...]] = RUN_EVENTS
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("run.menu", "want('run.menu')"),
        *row_bindings("run"),
        bind("run.details", "details"),
        bind("run.copy", "copy"),
        bind("run.close", "close"),
    ]

    def __init__(
        self, run: str, read: ReadRun, perform: Callable[[str, WorkflowRunRow], None], clock: Callable[[], float]
    ) -> None:
        super().__init__("This run has no steps yet.")
        self.view = RunView(WorkflowRunRow(id=run, workflow="", file="", cwd=""))
        self._read = read
        self._perform = perform
        self._clock = clock
        self._followed = -1
        """The step that the cursor was put on because it began; -1: none so far."""

    def on_mount(self) -> None:
        self.set_interval(_EVERY, self.tick)

    def tick(self) -> None:
        """Once a second: show how long a step has taken, or look at what another process has recorded."""
        if self.view.row.state != "running":
            return
        if self.view.here:
            self.draw()
        else:
            self.reload()

    async def load(self) -> Sequence[RunStep] | None:
        found = await self._read()
        if found is None or found.run is None:
            return None
        own = this_process()
        here = (found.run.machine, found.run.pid) == (own.machine, own.pid)
        self._become(loaded(found.run, dict(found.results), self.view, here=here))
        return None

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        view = self.view
        for event in events:
            view = reduce_run(view, event)
        if view is not self.view:
            self._become(view)

    def _become(self, view: RunView) -> None:
        here = self.listed.highlighted
        follows = self._followed < 0 or here == self._followed
        self.view = view
        self.put_rows(view.steps)
        if follows and view.steps and view.at != self.listed.highlighted:
            self.listed.highlighted = view.at
        if follows:
            self._followed = view.at
        self.draw()

    def first_row(self) -> int:
        return self.view.at

    def name_of(self, row: RunStep) -> str:
        return str(row.head.number)

    def row_of(self, row: RunStep) -> ListRow:
        sign, colour = _SIGNS.get(row.state, ("✗", "$error"))
        return ListRow(f"{row.head.number} {_line(row.head.name)}", "", self._time(row), mark=f"{sign} ", colour=colour)

    def _time(self, row: RunStep) -> str:
        if row.since:
            return figures.age(max(0.0, self._clock() - row.since))
        seconds = row.result.duration_ms / 1000 if row.result is not None else 0.0
        return units.duration(seconds) if seconds >= 0.05 else ""

    def heading(self) -> Content:
        row = self.view.row
        steps = f" · {self.view.ended} of {len(self.view.steps)} steps"
        code = f" · exit code {row.exit_code}" if row.exit_code else ""
        return Content.assemble(
            (f" {_line(row.workflow) or 'Workflow'} ", "bold"),
            (row.id[:8], _MUTED),
            " · ",
            (row.state, f"bold {_STATES.get(row.state, '$error')}"),
            (steps + code, _MUTED),
            (f" · {_line(row.error)}" if row.error else "", "$error"),
        )

    def details_of(self, row: RunStep) -> Content:
        _, colour = _SIGNS.get(row.state, ("✗", "$error"))
        head = Content.assemble((row.state, f"bold {colour}"), (f" · {' · '.join(step_facts(row))}", _MUTED))
        text = plain(row.printed)
        cut = f"… {len(text) - _SHOWN:,} characters before\n" if len(text) > _SHOWN else ""
        if not text:
            waits = row.running and not self.view.here
            text = "Another process runs it: its output appears when it ends." if waits else ""
            return Content.assemble(head, "\n\n", (text, _MUTED))
        return Content.assemble(head, "\n\n", (cut, _MUTED), text[-_SHOWN:])

    def draw(self) -> None:
        for at, line in enumerate(self.lines()[: self.listed.option_count]):
            if line != self.listed.get_option_at_index(at).prompt:  # of all, since they share their columns
                self.listed.replace_option_prompt_at_index(at, line)
        super().draw()

    # Actions

    def action_want(self, key: str) -> None:
        """Request an action on the run."""
        self._perform(key, self.view.row)

    def action_copy(self) -> None:
        """Copy what is selected, or what the step printed."""
        text = self.screen.get_selected_text() or (plain(self.chosen.printed) if self.chosen is not None else "")
        if text:
            app_of(self).copy_to_clipboard(text)
            self.notify("Copied.", markup=False, timeout=2)


def step_facts(step: RunStep) -> list[str]:
    """What is to say of a step beside its state."""
    result = step.result or StepResult(state=step.state)
    facts = [f"{step.head.kind} step"]
    facts += [f"exit code {result.exit_code}"] if result.exit_code else []
    facts += [f"attempt {step.attempt}"] if step.attempt > 1 else []
    facts += ["continued anyway"] if result.continued else []
    facts += ["in the sandbox"] if result.sandboxed else []
    facts += [f"by {_line(result.agent)}"] if result.agent else []
    facts += [f"made {', '.join(map(_line, result.artifacts[:5]))}"] if result.artifacts else []
    return facts


def _line(text: str) -> str:
    return one_line(plain(text), 300)

"""The window's actions on workflows: choose a run or a workflow, and the tab of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gshtui.bus.workflow_data import WorkflowRunRow
from gshtui.ui.kit.feature import Feature
from gshtui.ui.kit.row_actions import RowActions
from gshtui.ui.kit.widgets.tabs import PaneTabs
from gshtui.ui.kit.workbench_port import WorkbenchPort

if TYPE_CHECKING:
    from gshtui.features.workflows.window.run_tab import RunTab
    from gshtui.features.workflows.workflow_calls import ShownWorkflow, WorkflowRuns
    from gshtui.features.workflows.workflow_library import WorkflowLibrary
    from gshtui.ui.kit.widgets.dialogs import PickerChoice

_RUN, _START = "run ", "start "
_RUNS = 30


class WorkflowsFeature(Feature):
    """Chains of steps."""

    KEYS = ("app.workflows",)
    OPENS = {"workflows": "app.workflows"}

    def __init__(self, window: WorkbenchPort) -> None:
        super().__init__(window)
        self._tabs: PaneTabs[RunTab] = PaneTabs(window.deck, "run")
        self.rows: RowActions[WorkflowRunRow] = RowActions(window, ("run",), ())

    def press(self, key: str) -> None:
        self.window.bring(self._pick(), group="pick", exclusive=True)

    async def _pick(self) -> None:
        from gshtui.features.workflows.workflow_calls import ListRuns, ListWorkflows
        from gshtui.ui.kit.widgets.dialogs import Picker

        runs = await self.window.result_of(ListRuns())
        library = await self.window.result_of(ListWorkflows())
        picker = Picker(
            "Workflows",
            choices_of(runs, library, self.window.clock()),
            empty="No workflows yet." if library is not None else "The workflows cannot be listed now.",
            hint="{list.choose} to open a run, or insert the command to start one · {list.close} to close",
        )
        self.window.push_screen(picker, self._chosen)

    def _chosen(self, choice: str | None) -> None:
        if choice is None:
            return
        if choice.startswith(_START):
            self.window.write(f"/workflow {choice.removeprefix(_START)} ")
        else:
            self.window.bring(self._open(choice.removeprefix(_RUN)), group="workflows")

    async def _open(self, run: str) -> None:
        from gshtui.features.workflows.window.run_tab import RunTab

        async def read() -> ShownWorkflow | None:
            from gshtui.features.workflows.workflow_calls import ShowWorkflow

            return await self.window.result_of(ShowWorkflow(name=run))

        self.window.show_centre()
        await self._tabs.open(run, f"▸ {run[:8]}", lambda: RunTab(run, read, self._perform, self.window.clock))

    def _perform(self, key: str, run: WorkflowRunRow) -> None:
        if key == "run.menu":
            self.rows.show_menu(f"The run {run.id[:8]} of {run.workflow}", run)
        else:
            verb = "cancelled" if key == "run.cancel" else "resumed"
            words = f"This run cannot be {verb}: it is {run.state}."
            self.rows.perform(key, run, lambda: self.window.notify(words, markup=False, timeout=4))


def choices_of(runs: WorkflowRuns | None, library: WorkflowLibrary | None, now: float) -> Sequence[PickerChoice]:
    """The newest runs, those that go on first, and then the workflows to start."""
    from gshtui.text.sanitise import one_line
    from gshtui.ui.kit.drawing.figures import age
    from gshtui.ui.kit.widgets.dialogs import PickerChoice

    found: list[PickerChoice] = []
    rows = sorted(runs.rows if runs is not None else (), key=lambda row: row.state != "running")
    for row in rows[:_RUNS]:
        begun = age(max(0.0, now - row.started))
        about = f"begun {begun if begun == 'now' else f'{begun} ago'} · {row.id[:8]} {row.error}"
        run = PickerChoice(_RUN + row.id, row.workflow, one_line(about, 200), state=row.state, group="Runs")
        found.append(run)
    workflows = library.found if library is not None else {}
    for name in sorted(workflows):
        about = one_line(workflows[name].description, 200)
        found.append(PickerChoice(_START + name, name, about, group="Start"))
    return found

"""The runs of one hub: begins them, goes on with those that stopped, ends them, and knows those of other processes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from gshtui.bus.workflow_data import StepResult, WorkflowRunRow
from gshtui.features.workflows.definition import RunEnd, Value, WorkflowError, stopped_sentence, unknown_steps
from gshtui.features.workflows.parameters import given_words, values_of
from gshtui.features.workflows.step_process import LendTerminal, step_mark
from gshtui.features.workflows.workflow_library import WorkflowLibrary, read_library
from gshtui.features.workflows.workflow_parser import read_workflows
from gshtui.features.workflows.workflow_run import RunParts, WorkflowRun
from gshtui.hub.hub import Hub
from gshtui.system.ids import new_id
from gshtui.system.processes.process_identity import Process, is_alive
from gshtui.system.processes.processes import end_call_processes
from gshtui.system.tasks import cancel_and_wait

if TYPE_CHECKING:
    from gshtui.store.record.store import Store
    from gshtui.store.tables.workflow_table import WorkflowTable


_ENDS_WITHIN = 5.0
"""Seconds."""
MakeParts = Callable[[str, Path, LendTerminal | None], RunParts]
"""(run, folder, the terminal to lend) → what the run works with."""


class WorkflowService:
    """Made by the hub when it is first needed."""

    def __init__(self, table: WorkflowTable, cwd: Path, make_parts: MakeParts) -> None:
        self._table = table
        self._cwd = cwd
        self._make_parts = make_parts
        self._running: dict[str, tuple[WorkflowRun, asyncio.Task[RunEnd]]] = {}
        self._ceased = False

    def cease(self) -> None:
        """Have no further step begin: every run ends as cancelled, and can be resumed."""
        self._ceased = True
        for run, _ in self._running.values():
            run.cancel()

    async def stop(self) -> None:
        """End every run, with what it started. Each has a moment to record that it ends as cancelled."""
        self.cease()
        tasks = [task for _, task in self._running.values()]
        if tasks:
            await asyncio.wait(tasks, timeout=_ENDS_WITHIN)
        await cancel_and_wait(*tasks)

    async def library(self) -> WorkflowLibrary:
        return await asyncio.to_thread(read_library, self._cwd)

    async def start(
        self, name: str, given: Mapping[str, Value] | Sequence[str], lend: LendTerminal | None = None
    ) -> tuple[WorkflowRun, asyncio.Task[RunEnd]]:
        """Check a workflow and its values, and begin a run. Raises `WorkflowError`: it cannot be begun; its `code` is
        the exit code.
        """
        workflow = (await self.library()).get(name)
        words = given if isinstance(given, Mapping) else given_words(workflow, given)
        values = values_of(workflow, words)
        parts = self._make_parts(new_id(), self._cwd, lend)
        run = WorkflowRun(parts, workflow, values)
        await run.check()
        return run, self._begin(run)

    async def runs(self, *, everywhere: bool = False, limit: int = 50) -> list[WorkflowRunRow]:
        """The newest runs; those whose process is gone are interrupted. Raises `StoreError`."""
        rows = await self._table.find_all(None if everywhere else str(self._cwd), limit)
        return [_as_it_is(row) for row in rows]

    async def find(self, word: str) -> tuple[WorkflowRunRow, dict[int, StepResult]]:
        """A run, and what became of its steps; one that a dead process was running is interrupted.

        Raises `StoreError`.
        """
        row = _as_it_is(await self._table.find(word))
        steps = await self._table.steps(row.id)
        if row.state != "running":
            steps = {number: _as_left(result) for number, result in steps.items()}
        return row, steps

    async def resume(
        self, word: str, *, again: bool, lend: LendTerminal | None = None
    ) -> tuple[WorkflowRun, asyncio.Task[RunEnd]]:
        """Go on with a run where it stopped; no finished step runs again.

        `again`: a step that had begun when its process died may run again. Raises `WorkflowError`: it is done, is still
        running, or has such a step (exit code 4) and `again` is false; `StoreError`: there is no such run.
        """
        recorded = await self._table.find(word)
        row, steps = await self.find(row_id := recorded.id)
        if row.state == "running":
            raise WorkflowError(f"The run {row.id} is still going on, in process {row.pid}.", code=1)
        if row.state == "done":
            raise WorkflowError(f"The run {row.id} is done; there is nothing to go on with.", code=1)
        if not again and (begun := unknown_steps(row, steps)):
            raise WorkflowError(stopped_sentence(row, steps), f"`--yes` runs {begun[0]} again.", code=4)
        try:
            workflow = read_workflows(Path(row.file), row.text.encode(), row.source)[row.workflow]
        except KeyError:
            raise WorkflowError(f"The run {row.id} has no workflow {row.workflow} any more.", code=1) from None
        for number, result in steps.items():
            if result.state == "interrupted":  # what its dead process has left running must not run beside it
                await asyncio.to_thread(end_call_processes, None, step_mark(row.id, number))
        cwd = Path(row.cwd)
        if not cwd.is_dir():
            raise WorkflowError(f"The folder {cwd} of this run does not exist any more.", code=1)
        run = WorkflowRun(self._make_parts(row_id, cwd, lend), workflow, values_of(workflow, row.values), before=steps)
        await run.check()
        if not await self._table.claim(run.row, recorded):
            raise WorkflowError(f"Another process goes on with the run {row.id}.", code=1)
        return run, self._begin(run)

    async def cancel(self, word: str) -> str:
        """End a run: one of this process at once, another process's by asking for it in the record.

        Returns its id. Raises `WorkflowError`, `StoreError`.
        """
        own = [run for run in self._running if run.startswith(word)] if word else list(self._running)
        if len(own) == 1:
            self._running[own[0]][0].cancel()
            return own[0]
        if own or not word:
            going = own or [row.id for row in await self.runs() if row.state == "running"]
            if len(going) != 1:
                said = f"{len(going)} runs are" if going else "no run is"
                hint = "Name one of them." if going else "`workflow runs` lists those that ended."
                raise WorkflowError(f"{said[:1].upper()}{said[1:]} going on here.", hint, code=1)
            word = going[0]
        row = await self._table.find(word)
        if (now := _as_it_is(row)).state != "running":
            raise WorkflowError(f"The run {row.id} is not going on: it is {now.state}.", code=1)
        if not row.cancel_asked and not await self._table.claim(msgspec.structs.replace(row, cancel_asked=True), row):
            raise WorkflowError(f"The run {row.id} has just ended.", code=1)
        return row.id

    def _begin(self, run: WorkflowRun) -> asyncio.Task[RunEnd]:
        if self._ceased:
            run.cancel()
        task = asyncio.create_task(run.run(), name=f"workflow {run.id}")
        self._running[run.id] = (run, task)
        task.add_done_callback(lambda _: self._running.pop(run.id, None))
        return task


def _as_it_is(row: WorkflowRunRow) -> WorkflowRunRow:
    process = Process(row.machine, row.pid, row.process_started)
    if row.state == "running" and not is_alive(process):
        return msgspec.structs.replace(row, state="interrupted")
    return row


def _as_left(result: StepResult) -> StepResult:
    return msgspec.structs.replace(result, state="interrupted") if result.state == "running" else result


def workflow_service(hub: Hub, store: Store) -> WorkflowService:
    """The runs of this hub, which end with it."""

    made = WorkflowService(store.workflows, hub.options.cwd, lambda run, cwd, lend: _parts(hub, store, run, cwd, lend))
    hub.parts.ceases_with(made.cease)
    hub.parts.stops_with("workflows", made.stop)
    return made


def _parts(hub: Hub, store: Store, run: str, cwd: Path, lend: LendTerminal | None) -> RunParts:
    from gshtui.agents.toolbox import Toolbox, WorkDirs
    from gshtui.features.workflows.step_agents import HubAgents
    from gshtui.features.workflows.step_process import KEPT, StepPlace, StepSandbox
    from gshtui.features.workflows.tool_step import StepTools
    from gshtui.features.workflows.workflow_run import RunParts
    from gshtui.settings.paths import project_root

    gate, settings = hub.gate, hub.settings
    assert gate is not None  # nothing is offered without it
    agent = f"workflow-{run[:6]}"
    own = gate.modes.mode_of(hub.options.agent)
    if own != gate.modes.start:
        from gshtui.guard.modes import inherited

        gate.modes.change(agent, inherited(own))
    project = hub.project if cwd == hub.options.cwd else project_root(cwd)
    redact = hub.telemetry.redactor.redact_certain if hub.telemetry and settings.context.redact_secrets else str
    toolbox = Toolbox(
        hub.bus,
        hub.registry,
        gate,
        agent,
        WorkDirs(cwd, project),
        _keep_nothing,
        KEPT,
        redact,
    )
    toolbox.says_key = False

    async def load() -> None:
        if hub.has_mcp_servers:
            await hub.mcp_servers().prepare(hub.registry, agent, lambda _: True)

    place = StepPlace(
        gate,
        StepSandbox(hub.offers.sandboxes, project, run),
        agent,
        run,
        cwd,
        project,
        settings.python,
        dict(hub.environ),
        lend,
    )
    return RunParts(
        hub.bus,
        store.workflows,
        place,
        StepTools(hub.registry, toolbox, run, load),
        HubAgents(hub, run, cwd),
        hub.options.agent,
        redact,
    )


async def _keep_nothing(_session: str, _call: str, _text: str) -> str:
    """The whole of a step's output is in its result, as far as that keeps it."""
    return ""

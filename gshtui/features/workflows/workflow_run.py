"""One run of a workflow: its steps in their order, side by side where they do not wait for each other.

Each step is recorded before it begins and when it has ended; the end of one and the beginning of those that waited for
it are written at once. A run that goes on after a crash runs no finished step
again. Every wait has a limit, and a cancelled run ends what it started.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from gshtui.bus.bus import Bus
from gshtui.bus.events.fleet_events import AgentRemoved
from gshtui.bus.events.workflow_events import (
    WorkflowFinished,
    WorkflowStarted,
    WorkflowStepFinished,
    WorkflowStepOutput,
    WorkflowStepStarted,
)
from gshtui.bus.workflow_data import RunState, StepHead, StepResult, WorkflowRunRow
from gshtui.commands.declaration import Assessment, Effect
from gshtui.features.workflows import templates
from gshtui.features.workflows.definition import (
    LlmAction,
    PythonAction,
    RunEnd,
    ShellAction,
    ToolAction,
    Value,
    Workflow,
    WorkflowError,
    WorkflowStep,
    templates_in,
)
from gshtui.features.workflows.step_agents import AgentRequest, StepAgents, Stream
from gshtui.features.workflows.step_process import (
    StepCall,
    StepPlace,
    answered,
    run_python,
    run_shell,
    step_seconds,
)
from gshtui.features.workflows.templates import TemplateError
from gshtui.features.workflows.tool_step import StepTools
from gshtui.guard.approval.gate import Call
from gshtui.guard.secrets.child_environment import is_secret_variable
from gshtui.store.engine.store_errors import StoreError
from gshtui.system.expected_error import ExpectedError
from gshtui.system.ids import new_id
from gshtui.system.processes.process_identity import this_process
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait
from gshtui.text.glob_pattern import compile_glob
from gshtui.text.sanitise import one_line

if TYPE_CHECKING:
    from gshtui.store.tables.workflow_table import WorkflowTable

_AT_ONCE = 8
"""Steps that run side by side at most."""
_ARTIFACTS = 200
_CANCEL_POLL = 1.0
"""Seconds between looks at whether another process wants the run to end."""
_LOOKED_AT = 20_000
"""Files that are looked at for artifacts."""


class RunParts(msgspec.Struct, frozen=True):
    """What a run works with."""

    bus: Bus
    record: WorkflowTable
    place: StepPlace
    tools: StepTools
    agents: StepAgents
    front: str = ""
    """The agent in front of which it runs."""
    redact: Callable[[str], str] = str
    """Takes secrets out of what steps print."""


class WorkflowRun:
    """One run, from its beginning or from where an earlier process left it."""

    def __init__(
        self,
        parts: RunParts,
        workflow: Workflow,
        values: Mapping[str, Value],
        *,
        before: Mapping[int, StepResult] | None = None,
    ) -> None:
        """`before`: what an earlier process recorded of the steps; those that are over are not run again."""
        self.id = parts.place.run
        self.bus = parts.bus
        self._parts = parts
        self._workflow = workflow
        self._values = dict(values)
        self._results = {number: result for number, result in (before or {}).items() if result.is_over}
        self._resumed = before is not None
        self._cancelled = asyncio.Event()
        environ = parts.place.environ.items()
        self._environ = {name: value for name, value in environ if not is_secret_variable(name, value)}
        self.row = self._new_row()

    def cancel(self) -> None:
        """End it: steps that are running end with everything they started."""
        self._cancelled.set()

    async def check(self) -> None:
        """Raise `WorkflowError` where a variable, a tool, a server or an agent that it needs is not there."""
        for step in self._workflow.steps:
            self._check_variables(step)
        if any(isinstance(step.action, ToolAction) and step.action.server for step in self._workflow.steps):
            await self._parts.tools.load()
        for step in self._workflow.steps:
            if isinstance(step.action, ToolAction):
                self._parts.tools.check(step, step.action)
            elif isinstance(step.action, LlmAction):
                self._parts.agents.check(_request(self._workflow, step, step.action, "", "", ""))

    def _check_variables(self, step: WorkflowStep) -> None:
        values = self._context(step)
        try:
            if step.when is not None:
                after_steps = any(used.parts[0] == "step" for used in templates.references(step.when, condition=True))
                if after_steps or not templates.holds(step.when, values):
                    return  # it may be left out
            for template in templates_in({name: getattr(step.action, name) for name in step.action.__struct_fields__}):
                templates.check_known(template, values)
        except TemplateError as error:
            where = f"{self._workflow.file.name}, line {error.line or step.line}"
            raise WorkflowError(f"{where}: the step {step.name!r} cannot run: {error}.") from None

    async def run(self) -> RunEnd:
        """Run it to its end. Raises `StoreError`; cancelling it cancels the run."""
        bus = self.bus
        await self._parts.record.put_run(self.row)
        bus.publish(
            WorkflowStarted(
                run=self.id,
                workflow=self._workflow.name,
                agent=self._parts.front,
                description=self._workflow.description,
                cwd=self.row.cwd,
                steps=self.row.steps,
                resumed=self._resumed,
            )
        )
        heeding = asyncio.create_task(self._heed_others())
        try:
            end = await self._steps()
        except asyncio.CancelledError:
            self.cancel()
            await asyncio.shield(self._finish(self._ended("cancelled", 130)))
            raise
        except Exception as error:  # a fault of ours, or the record's: it is over, and its caller is told
            said = f"It failed inside gsh-tui: {one_line(str(error), 300)}"
            await self._finish(self._ended("failed", 1, said))
            raise
        finally:
            await cancel_and_wait(heeding)
        await self._finish(end)
        return end

    async def _heed_others(self) -> None:
        """End the run when another process asks for that in the record."""
        while True:
            await asyncio.sleep(_CANCEL_POLL)
            with contextlib.suppress(StoreError):  # the next look may succeed; the run itself reports a lost record
                if await self._parts.record.is_cancel_asked(self.id):
                    self.cancel()
                    return

    async def _finish(self, end: RunEnd) -> None:
        row = msgspec.structs.replace(
            self.row, state=end.state, exit_code=end.exit_code, ended=time.time(), error=end.error
        )
        await self._parts.record.put_run(row)
        self.bus.publish(AgentRemoved(agent=self._parts.place.agent))  # lists showed it while it asked
        self.bus.publish(
            WorkflowFinished(
                run=self.id, workflow=row.workflow, state=end.state, exit_code=end.exit_code, error=end.error
            )
        )

    def _ended(self, state: RunState, code: int, error: str = "", step: WorkflowStep | None = None) -> RunEnd:
        return RunEnd(self.id, state, code, error, step, dict(self._results))

    async def _steps(self) -> RunEnd:
        waiting = [step for step in self._workflow.steps if step.number not in self._results]
        going: dict[asyncio.Task[StepResult], WorkflowStep] = {}
        ended: list[WorkflowStep] = []
        stopped = asyncio.ensure_future(self._cancelled.wait())
        try:
            while waiting or going or ended:
                begun: list[WorkflowStep] = []
                for step in [step for step in waiting if step.needs <= self._results.keys()]:
                    if (result := self._without_running(step)) is not None:
                        self._results[step.number] = result
                        ended.append(step)
                    elif len(going) + len(begun) < _AT_ONCE:
                        begun.append(step)
                failed = next((step for step in ended if not self._results[step.number].is_over), None)
                await self._record(ended, begun if failed is None else ())
                if failed is not None:
                    return await self._stopped_by(failed, going)
                waiting = [step for step in waiting if step not in begun and step not in ended]
                ended = []
                going |= {asyncio.create_task(self._step(step), name=f"step {step.number}"): step for step in begun}
                if not going:
                    continue
                await asyncio.wait({*going, stopped}, return_when=asyncio.FIRST_COMPLETED)
                for task in [task for task in going if task.done()]:
                    ended.append(step := going.pop(task))
                    self._results[step.number] = task.result()
                if self._cancelled.is_set():
                    await self._end_others(going, ended)
                    return self._ended("cancelled", 130)
            return self._ended("done", 0)
        finally:
            stopped.cancel()
            await cancel_and_wait(*going)

    async def _stopped_by(self, step: WorkflowStep, going: dict[asyncio.Task[StepResult], WorkflowStep]) -> RunEnd:
        self._cancelled.set()  # those beside it end, too
        await self._end_others(going, [])
        result = self._results[step.number]
        said = result.error or f"it ended with exit code {result.exit_code}"
        return self._ended("failed", result.exit_code or 1, f"Step {step.number} ({step.name}): {said}", step)

    async def _end_others(
        self, going: dict[asyncio.Task[StepResult], WorkflowStep], ended: Sequence[WorkflowStep]
    ) -> None:
        """Wait for those that are going on, and record them and others that have ended."""
        if going:
            await asyncio.wait(going)
        done = {step.number: task.result() for task, step in going.items() if not task.cancelled()}
        self._results |= done
        others = [step for step in going.values() if step.number in done]
        going.clear()
        await self._record([*ended, *others], [])

    async def _record(self, ended: Sequence[WorkflowStep], begun: Sequence[WorkflowStep]) -> None:
        """Write which steps have ended and which begin, then publish it. Raises `StoreError`."""
        results = {step.number: self._results[step.number] for step in ended}
        beginning = StepResult(state="running", started_at=time.time())
        if changed := results | {step.number: beginning for step in begun}:
            await self._parts.record.put_steps(self.id, changed)
        for step in ended:
            result = results[step.number]
            self.bus.publish(WorkflowStepFinished(run=self.id, step=step.number, name=step.name, result=result))
        for step in begun:
            self._publish_start(step, 1)

    def _publish_start(self, step: WorkflowStep, attempt: int) -> None:
        self.bus.publish(
            WorkflowStepStarted(run=self.id, step=step.number, name=step.name, kind=step.kind, attempt=attempt)
        )

    def _without_running(self, step: WorkflowStep) -> StepResult | None:
        """The result of a step that its `when` leaves out, or that cannot be told; `None`: it is to run."""
        try:
            if step.when is None or templates.holds(step.when, self._context(step)):
                return None
        except TemplateError as error:
            return _failed(f"its `when`: {error}")
        now = time.time()
        return StepResult(state="skipped", started_at=now, ended_at=now)

    async def _step(self, step: WorkflowStep) -> StepResult:
        """Run one step, which is recorded as begun, with its retries."""
        attempt = 0
        while True:
            if self._cancelled.is_set():
                now = time.time()
                return StepResult(state="cancelled", exit_code=130, started_at=now, ended_at=now, attempts=attempt)
            attempt += 1
            if attempt > 1:
                self._publish_start(step, attempt)
            result = msgspec.structs.replace(await self._attempt(step), attempts=attempt)
            if result.state in ("done", "denied", "cancelled") or self._cancelled.is_set():
                return result
            if step.on_failure == "retry" and attempt <= step.retry.max:
                await self._pause(step, attempt)
                continue
            if step.on_failure == "continue" or (step.on_failure == "ask" and await self._goes_on(step, result)):
                result = msgspec.structs.replace(result, continued=True)
            return result

    async def _pause(self, step: WorkflowStep, attempt: int) -> None:
        """Wait before the next attempt, unless the run is cancelled."""
        retry = step.retry
        milliseconds = retry.base_ms * retry.factor ** (attempt - 1) + random.uniform(0, retry.jitter_ms)
        try:
            async with time_limit(min(milliseconds / 1000, 3_600)):
                await self._cancelled.wait()
        except TimeoutError:
            pass

    async def _goes_on(self, step: WorkflowStep, result: StepResult) -> bool:
        """Ask a person whether the workflow goes on after a failed step; nobody there: it does not."""
        place = self._parts.place
        said = result.error or f"it ended with exit code {result.exit_code}"
        assessment = Assessment(
            Effect.EXECUTE,
            f"continue after {step.name!r}",
            inside=False,
            detail=f"Step {step.number} ({step.name}) failed: {said}\n{result.stderr[-2_000:]}",
            why="a step failed and the workflow asks whether to go on",
            only_person=True,
        )
        call = Call(place.agent, place.run, new_id(), "workflow_continue", {"step": step.number})
        verdict = await answered(place.gate.review(call, assessment), self._cancelled)
        return verdict is not None and verdict.allowed

    async def _attempt(self, step: WorkflowStep) -> StepResult:
        started = time.time()
        try:
            values = self._context(step)
            seconds = step_seconds(step.timeout_seconds, values)
            result = await self._limited(step, values, seconds)
        except TemplateError as error:
            result = _failed(f"its template, line {error.line}: {error}", started)
        except ExpectedError as error:  # of a command, a tool that is gone, the record of an agent
            result = _failed(f"{error.message} {error.hint}".strip(), started)
        except OSError as error:
            result = _failed(error.strerror or str(error), started)
        redact = self._parts.redact
        result = msgspec.structs.replace(
            result,
            stdout=redact(result.stdout) if result.stdout else "",
            stderr=redact(result.stderr) if result.stderr else "",
        )
        if step.artifacts and result.state in ("done", "failed"):
            found = await asyncio.to_thread(_artifacts, self._parts.place.project, step.artifacts, started)
            result = msgspec.structs.replace(result, artifacts=found)
        return result

    async def _limited(self, step: WorkflowStep, values: dict[str, object], seconds: float) -> StepResult:
        def output(text: str, stream: Stream) -> None:
            shown = self._parts.redact(text)
            self.bus.publish(WorkflowStepOutput(run=self.id, step=step.number, text=shown, stream=stream))

        call = StepCall(step, values, self._values, seconds, output, self._cancelled)
        match step.action:
            case ShellAction():
                return await run_shell(self._parts.place, call, step.action)
            case PythonAction():
                return await run_python(self._parts.place, call, step.action)
            case ToolAction():
                result = await self._until_cancelled(self._parts.tools.call(step.action, values), seconds)
                if said := result.stdout or result.stderr:
                    output(f"{said.rstrip()}\n", "stdout" if result.stdout else "stderr")
                return result
            case LlmAction():
                return await self._until_cancelled(self._asked(call, step.action), seconds)

    async def _asked(self, call: StepCall, action: LlmAction) -> StepResult:
        began = time.time()
        user = templates.render(action.user, call.values)
        system = templates.render(action.system, call.values) if action.system is not None else ""
        branch = templates.render(action.worktree, call.values).strip() if action.worktree is not None else ""
        request = _request(self._workflow, call.step, action, user, system, branch)
        answer = await self._parts.agents.ask(replace(request, output=call.output))
        return StepResult(
            state=answer.state,
            stdout=answer.text,
            exit_code=answer.exit_code,
            started_at=began,
            ended_at=time.time(),
            error=answer.error,
            agent=answer.agent,
        )

    async def _until_cancelled(self, work: Coroutine[Any, Any, StepResult], seconds: float) -> StepResult:
        """The result of a step that is no process; ended by its limit or with the run."""
        began = time.time()
        task = asyncio.create_task(work)
        stopped = asyncio.ensure_future(self._cancelled.wait())
        try:
            await asyncio.wait({task, stopped}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            cancelled = stopped.done()
            await cancel_and_wait(task)
        finally:
            stopped.cancel()
            if not task.done():
                await cancel_and_wait(task)
        if cancelled:
            return StepResult(state="cancelled", exit_code=130, started_at=began, ended_at=time.time())
        said = f"it took longer than {seconds:g} s and was ended"
        return StepResult(state="timeout", exit_code=124, started_at=began, ended_at=time.time(), error=said)

    def _context(self, step: WorkflowStep) -> dict[str, object]:
        place = self._parts.place
        steps: dict[object, object] = {}
        done = [each for each in self._workflow.steps if each.number in step.needs and each.number in self._results]
        for each in done:
            values = self._results[each.number].as_values()
            steps |= {each.number - 1: values, each.number - step.number: values}
            steps |= {each.id: values} if each.id else {}
        context: dict[str, object] = {
            "params": self._values,
            "step": steps,
            "env": self._environ,
            "workspace": str(place.project),
            "now": datetime.now(UTC).isoformat(timespec="seconds"),
            "terminal": place.lend_terminal is not None,
        }
        if isinstance(step.action, LlmAction):
            context["agent"] = step.action.agent or place.agent
        return context

    def _new_row(self) -> WorkflowRunRow:
        process, workflow = this_process(), self._workflow
        return WorkflowRunRow(
            id=self.id,
            workflow=workflow.name,
            file=str(workflow.file),
            text=workflow.text,
            cwd=str(self._parts.place.cwd),
            values=self._values,
            steps=tuple(StepHead(step.number, step.name, step.kind, step.id) for step in workflow.steps),
            started=time.time(),
            machine=process.machine,
            pid=process.pid,
            process_started=process.started,
            source=workflow.source,
        )


def _request(
    workflow: Workflow, step: WorkflowStep, action: LlmAction, user: str, system: str, branch: str
) -> AgentRequest:
    return AgentRequest(
        name=f"{workflow.name}-{step.id or step.number}",
        prompt=user,
        system=system,
        persona=action.agent,
        provider=action.provider,
        model=action.model,
        tools=action.tools,
        terminal=action.terminal,
        worktree=branch,
    )


def _failed(said: str, started: float = 0.0) -> StepResult:
    now = time.time()
    return StepResult(
        state="failed", exit_code=1, started_at=started or now, ended_at=now, error=one_line(said, 600).rstrip(".")
    )


def _artifacts(project: Path, patterns: tuple[str, ...], since: float) -> tuple[str, ...]:
    """Paths of files that match and were written since then, relative to the project. Blocks for a moment."""
    wanted = [compile_glob(pattern, anywhere=True) for pattern in patterns]
    found: list[str] = []
    looked = 0
    for folder, folders, names in os.walk(project):
        folders[:] = sorted(name for name in folders if name not in (".git", "node_modules", ".venv"))
        for name in sorted(names):
            looked += 1
            if looked > _LOOKED_AT or len(found) >= _ARTIFACTS:
                return tuple(found)
            path = Path(folder, name)
            relative = str(path.relative_to(project))
            if any(one.match(relative) for one in wanted) and _written_since(path, since):
                found.append(relative)
    return tuple(found)


def _written_since(path: Path, since: float) -> bool:
    try:
        return path.lstat().st_mtime >= since - 0.01
    except OSError:
        return False

"""The command `workflow`: list, show, run, resume and cancel chains of steps.

Registered by the hub. What a run does passes the guard step by step; the command itself is for people.
"""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from gshtui.bus.event import Event
from gshtui.bus.events.workflow_events import WorkflowStepFinished, WorkflowStepOutput, WorkflowStepStarted
from gshtui.bus.workflow_data import StepResult, WorkflowRunRow
from gshtui.commands.declaration import (
    Access,
    Action,
    CommandError,
    Effect,
    Invocation,
    Outcome,
    Question,
    Unconfirmed,
    UsageError,
    Where,
)
from gshtui.commands.group import group
from gshtui.commands.registry import AnyCommand
from gshtui.features.workflows.definition import (
    Parameter,
    RunEnd,
    Workflow,
    WorkflowError,
    stopped_sentence,
    unknown_steps,
)
from gshtui.features.workflows.parameters import option
from gshtui.features.workflows.workflow_calls import (
    GROUP,
    CancelRun,
    ListRuns,
    ListWorkflows,
    ResumeRun,
    RunWorkflow,
    ShownWorkflow,
    ShowWorkflow,
    WorkflowRuns,
)
from gshtui.features.workflows.workflow_library import WorkflowLibrary
from gshtui.store.engine.store_errors import StoreError
from gshtui.text import markdown_table
from gshtui.text.sanitise import one_line, plain

if TYPE_CHECKING:
    from gshtui.features.workflows.workflow_run import WorkflowRun
    from gshtui.features.workflows.workflow_service import WorkflowService

_SIGNS = {"done": "✓", "skipped": "–", "running": "▸", "waiting": "·"}


def commands(service: Callable[[], WorkflowService]) -> list[AnyCommand]:
    """The family, on the runs of this hub."""

    async def ls(_: Invocation, _wanted: ListWorkflows) -> WorkflowLibrary:
        return await service().library()

    async def show(_: Invocation, wanted: ShowWorkflow) -> ShownWorkflow:
        library = await service().library()
        if wanted.name in library.found:
            return ShownWorkflow(library.found[wanted.name])
        try:
            row, results = await service().find(wanted.name)
        except StoreError as error:
            try:
                library.get(wanted.name)
            except WorkflowError as unknown:
                raise _usage(unknown) from error
            raise
        return ShownWorkflow(None, row, tuple(sorted(results.items())))

    async def run(invocation: Invocation, wanted: RunWorkflow) -> RunEnd:
        try:
            words = shlex.split(wanted.args)
        except ValueError as error:
            raise UsageError(f"The parameters are not a line of words: {error}.", hint="Close every quote.") from error
        try:
            started = await service().start(wanted.name, words)
        except WorkflowError as error:
            raise _usage(error) from error
        return await _watched(invocation, *started)

    async def runs(_: Invocation, wanted: ListRuns) -> WorkflowRuns:
        return WorkflowRuns(tuple(await service().runs(everywhere=wanted.everywhere)))

    async def resume(invocation: Invocation, wanted: ResumeRun) -> RunEnd:
        try:
            started = await service().resume(wanted.run, again=wanted.yes)
        except WorkflowError as error:
            if error.code == 4:
                raise Unconfirmed(error.message) from error
            raise _usage(error) from error
        return await _watched(invocation, *started)

    async def asks_resume(_: Invocation, wanted: ResumeRun) -> Question | None:
        row, steps = await service().find(wanted.run)
        begun = unknown_steps(row, steps)
        if wanted.yes or not begun:
            return None
        return Question(
            ResumeRun(run=wanted.run, yes=True),
            f"Run {' and '.join(begun)} again?",
            stopped_sentence(row, steps),
            "Run again",
            losses=("What the step has done already may be done twice.",),
        )

    async def cancel(_: Invocation, wanted: CancelRun) -> str:
        try:
            return await service().cancel(wanted.run)
        except WorkflowError as error:
            raise _usage(error) from error

    async def complete(invocation: Invocation, parameter: str, prefix: str) -> list[str]:
        library = await service().library()
        found: list[str] = []
        if parameter == "args":
            name = invocation.given.get("name", "")
            chosen = [library.found[name]] if name in library.found else library.found.values()
            found = list(dict.fromkeys(f"--{option(one)}" for each in chosen for one in each.parameters))
        elif parameter == "name":
            found = sorted(library.found)
        if parameter == "run":
            found = [row.id[:8] for row in await service().runs(limit=10)]
        return [word for word in found if word.startswith(prefix)]

    return [
        group(
            "workflow",
            "List and run workflows",
            Action(ListWorkflows, ls, _library_text),
            Action(ShowWorkflow, show, _shown_text),
            Action(RunWorkflow, run, end_text, effect=Effect.EXECUTE, positions=("name", "args")),
            Action(ListRuns, runs, _runs_text),
            Action(
                ResumeRun,
                resume,
                end_text,
                asks=asks_resume,
                effect=Effect.EXECUTE,
                where=(Where("run.resume", _resumption),),
            ),
            Action(
                CancelRun,
                cancel,
                lambda _, run: Outcome({"run": run}, f"The run {run} is ending."),
                effect=Effect.WRITE,
                where=(Where("run.cancel", _cancellation),),
            ),
            otherwise="run",
            shell=GROUP,
            access=Access.HUMAN_ONLY,
            aliases=("workflows",),
            description="`workflow NAME --PARAM …` runs one; each of its steps passes the guard.",
            family="run",
            complete=complete,
            opens="workflows",
        )
    ]


def _resumption(run: WorkflowRunRow) -> ResumeRun | None:
    return ResumeRun(run=run.id) if run.state in ("failed", "cancelled", "interrupted") else None


def _cancellation(run: WorkflowRunRow) -> CancelRun | None:
    return CancelRun(run=run.id) if run.state == "running" else None


def _usage(error: WorkflowError) -> CommandError:
    kind = UsageError if error.code == 2 else CommandError
    return kind(error.message, hint=error.hint, data={"exit_code": error.code})


async def _watched(invocation: Invocation, run: WorkflowRun, task: asyncio.Task[RunEnd]) -> RunEnd:
    """Pass on what the run prints, and end it with the command."""
    subscription = run.bus.subscribe(
        lambda batch: _pass_on(invocation, run.id, batch),
        WorkflowStepStarted,
        WorkflowStepOutput,
        WorkflowStepFinished,
        name=f"workflow {run.id}",
    )
    stopped = asyncio.ensure_future(invocation.cancelled.wait())
    try:
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            run.cancel()
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        run.cancel()
        raise
    finally:
        stopped.cancel()
        subscription.unsubscribe()


def _pass_on(invocation: Invocation, run: str, batch: Sequence[Event]) -> None:
    for event in batch:
        if getattr(event, "run", "") != run:
            continue
        if isinstance(event, WorkflowStepStarted):
            again = f", attempt {event.attempt}" if event.attempt > 1 else ""
            invocation.output(f"▸ {event.step} {event.name}{again}\n")
        elif isinstance(event, WorkflowStepOutput):
            invocation.output(event.text)
        elif isinstance(event, WorkflowStepFinished):
            invocation.output(f"{step_line(event.step, event.name, event.result)}\n")


def step_line(number: int, name: str, result: StepResult) -> str:
    sign = _SIGNS.get(result.state, "✗")
    facts = [
        result.state if result.state != "done" else "",
        f"exit code {result.exit_code}" if result.exit_code else "",
    ]
    facts += [f"{result.duration_ms / 1000:.1f} s" if result.duration_ms >= 100 else ""]
    facts += [
        f"{result.attempts} attempts" if result.attempts > 1 else "",
        "in the sandbox" if result.sandboxed else "",
    ]
    facts += ["went on" if result.continued else "", one_line(result.error, 300)]
    said = " · ".join(fact for fact in facts if fact)
    return f"{sign} {number} {name}{f' · {said}' if said else ''}"


def _parameter_text(parameter: Parameter) -> str:
    words = [parameter.type if parameter.type != "enum" else " | ".join(parameter.choices)]
    words += ["required"] if parameter.required else [f"default {_value(parameter.default)}"]
    return f"--{option(parameter.name)} ({', '.join(words)}){': ' + plain(parameter.help) if parameter.help else ''}"


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else "empty" if value is None else one_line(str(value), 60)


def workflow_json(workflow: Workflow) -> dict[str, Any]:
    return {
        "name": workflow.name,
        "description": workflow.description,
        "source": workflow.source,
        "file": str(workflow.file),
        "line": workflow.line,
        "parameters": [
            {
                "name": each.name,
                "type": each.type,
                "required": each.required,
                "default": each.default,
                "choices": list(each.choices),
                "help": each.help,
            }
            for each in workflow.parameters.values()
        ],
        "steps": [
            {"number": step.number, "id": step.id, "name": step.name, "kind": step.kind, "needs": sorted(step.needs)}
            for step in workflow.steps
        ],
    }


def _library_text(_: Invocation, library: WorkflowLibrary) -> Outcome:
    data = {
        "workflows": [workflow_json(library.found[name]) for name in sorted(library.found)],
        "problems": library.problems,
    }
    lines: list[str] = []
    for name in sorted(library.found):
        workflow = library.found[name]
        lines.append(f"- **{name}** ({workflow.source}) — {plain(workflow.description)}")
        lines += [f"  - `{_parameter_text(each)}`" for each in workflow.parameters.values()]
    lines += [f"\n{plain(problem)}" for problem in library.problems]
    said = [f"{name}  {plain(library.found[name].description)}" for name in sorted(library.found)]
    named: list[str] = []
    for line, name in zip(said, sorted(library.found), strict=True):
        named += [line, *(f"    {_parameter_text(each)}" for each in library.found[name].parameters.values())]
    return Outcome(data, "\n".join(lines), plain="\n".join(named), aside="\n".join(library.problems))


def _shown_text(_: Invocation, shown: ShownWorkflow) -> Outcome:
    if shown.workflow is not None:
        workflow = shown.workflow
        lines = [f"{workflow.name} ({workflow.source}, `{workflow.file}`) — {plain(workflow.description)}", ""]
        lines += [f"- `{_parameter_text(each)}`" for each in workflow.parameters.values()]
        lines += [
            "",
            *(
                f"{step.number}. {plain(step.name)} ({step.kind}{_after(workflow, step.number)})"
                for step in workflow.steps
            ),
        ]
        return Outcome(workflow_json(workflow), "\n".join(lines))
    assert shown.run is not None
    row, results = shown.run, dict(shown.results)
    data = {
        **msgspec.to_builtins(row),
        "steps": [
            {
                **msgspec.to_builtins(head),
                "result": msgspec.to_builtins(results[head.number]) if head.number in results else None,
            }
            for head in row.steps
        ],
    }
    data.pop("text", None)
    lines = [f"{row.workflow} {row.id} — {row.state}, exit code {row.exit_code}", plain(row.error), ""]
    for head in row.steps:
        result = results.get(head.number, StepResult(state="waiting"))
        lines.append(step_line(head.number, plain(head.name), result))
        lines += [f"\n```\n{plain(text.rstrip())[-4_000:]}\n```\n" for text in (result.stdout, result.stderr) if text]
    lines += ["", stopped_sentence(row, results)]
    return Outcome(data, "\n".join(lines).strip())


def _after(workflow: Workflow, number: int) -> str:
    needs = workflow.steps[number - 1].needs
    if needs == frozenset(range(1, number)):
        return ""
    return f", after {', '.join(map(str, sorted(needs)))}" if needs else ", at once"


def _runs_text(_: Invocation, runs: WorkflowRuns) -> Outcome:
    data = [{name: value for name, value in msgspec.to_builtins(row).items() if name != "text"} for row in runs.rows]
    if not runs.rows:
        return Outcome(data, "No workflow has run here.")
    rows = [
        (
            row.id,
            row.workflow,
            row.state,
            str(row.exit_code),
            _ago(row),
            one_line(plain(row.error), 80).replace("|", "/"),
        )
        for row in runs.rows
    ]
    table = markdown_table.table(("run", "workflow", "state", "exit", "begun", "why"), rows)
    return Outcome(data, table, plain=markdown_table.bare_columns(table))


def _ago(row: WorkflowRunRow) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(row.started))


def end_data(end: RunEnd) -> dict[str, Any]:
    return {
        "run": end.run,
        "state": end.state,
        "exit_code": end.exit_code,
        "error": end.error,
        "steps": {str(number): msgspec.to_builtins(result) for number, result in sorted(end.results.items())},
    }


def end_text(_: Invocation, end: RunEnd) -> Outcome:
    """How a run ended, for a person; one that failed or was cancelled says how it goes on."""
    last = end.results[max(end.results)] if end.results else None
    if end.state == "done":
        said = last.stdout.rstrip() if last is not None and last.stdout.strip() else "Done."
        return Outcome(end_data(end), said, shown=False)
    hint = f"`workflow resume {end.run[:8]}` goes on from there." if end.state in ("failed", "cancelled") else ""
    text = f"{end.error or f'The run was {end.state}'}. {hint}".replace("..", ".")
    return Outcome(
        end_data(end),
        text.strip(),
        is_error=True,
        timed_out=end.exit_code == 124,
        is_denied=any(result.state == "denied" for result in end.results.values()),
    )

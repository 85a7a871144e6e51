"""The steps that are processes: shell and python. Judged by the guard, run in the sandbox where that is the verdict.

Values reach a script only as variables of its environment. A step ends with everything that it started. Output beyond
a limit loses its middle.
"""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from gshtui.bus.workflow_data import StepResult, StepState
from gshtui.commands.declaration import Assessment, Caller, CommandError, Effect, Invocation
from gshtui.features.workflows import templates
from gshtui.features.workflows.definition import PythonAction, ShellAction, Template, Value, WorkflowStep
from gshtui.features.workflows.parameters import environment_of
from gshtui.features.workflows.step_agents import Stream
from gshtui.guard.approval.gate import Call, Gate, Verdict
from gshtui.guard.secrets.child_environment import command_environment
from gshtui.settings.settings_tables import Python as PythonSettings
from gshtui.system.ids import new_id
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait
from gshtui.text.sanitise import literal, one_line, visible
from gshtui.text.truncation import shorten
from gshtui.tools.files.path_location import Location, locate
from gshtui.tools.shell.command_output import Capture, Spool, output_text
from gshtui.tools.shell.shell_assessment import assess_line, leads_to
from gshtui.tools.shell.shell_process import End, Run, Start, run_in_sandbox, run_supervised

if TYPE_CHECKING:
    from gshtui.guard.sandbox.sandbox import ProjectSandbox
    from gshtui.guard.sandbox.sandboxes import Sandboxes

KEPT = 1024 * 1024
"""Bytes of each stream of a step that its result keeps."""
_SMALL = 16 * 1024
"""Bytes of output that are made readable at once, without a thread."""
_SHOWN_VALUE = 300
_LONGEST_VALUE = 130_000
_HARMLESS = "abcdefghijklmnopqrstuvwxyz0123456789_"
_STEERING = ("proxy", "npm_config_", "gcc_", "cargo_", "rustc")
"""In names that are small letters alone, and all the same change what programs do."""
_QUIET = ("PAGER", "GIT_PAGER", "MANPAGER", "SYSTEMD_PAGER", "TERM", "NO_COLOR", "GIT_TERMINAL_PROMPT", "GIT_EDITOR")
"""Variables for commands without a terminal."""
LendTerminal = Callable[["Start"], Awaitable[int]]
"""Runs a program on the person's own terminal; its exit code. Cancelling it ends the program."""


class StepSandbox(msgspec.Struct):
    """The sandbox of a run's steps. Whether there is one is found out once; it itself is made anew for each step."""

    sandboxes: Sandboxes | None
    project: Path
    run: str
    _absent: str | None = None

    async def absent(self) -> str:
        """Why there is none, as the end of a sentence; empty: there is one."""
        if self._absent is None:
            sandbox = await self.now()
            self._absent = sandbox if isinstance(sandbox, str) else ""
        return self._absent

    async def now(self) -> ProjectSandbox | str:
        """The sandbox of the project as it is now, or why there is none, as the end of a sentence."""
        if self.sandboxes is None:
            return "there is none here"
        return await self.sandboxes.sandbox(Path(os.path.realpath(self.project)), self.run)

    def grant(self, hosts: tuple[str, ...]) -> None:
        """Let the run's steps reach these hosts from now on."""
        if self.sandboxes is not None:
            for host in hosts:
                self.sandboxes.grant_host(self.run, host)


class StepPlace(msgspec.Struct, frozen=True):
    """Where the steps of a run work, and who judges them."""

    gate: Gate
    sandbox: StepSandbox
    agent: str
    """The name under which the guard knows the run."""
    run: str
    cwd: Path
    project: Path
    python: PythonSettings
    environ: Mapping[str, str]
    lend_terminal: LendTerminal | None = None
    """`None`: there is no terminal to lend."""

    def invocation(self, call: str, cancelled: asyncio.Event) -> Invocation:
        """The surroundings of one step's call."""
        return Invocation(
            Caller(self.agent, is_agent=True),
            self.cwd,
            self.project,
            session=self.run,
            agent=self.agent,
            call=call,
            cancelled=cancelled,
        )


class StepCall(msgspec.Struct, frozen=True):
    """One attempt of a step.

    Args:
        values: what templates know.
        parameters: the workflow's.
        seconds: its time limit.
        output: receives what it prints, sanitised.
        cancelled: once set, it ends.
    """

    step: WorkflowStep
    values: Mapping[str, object]
    parameters: Mapping[str, Value]
    seconds: float
    output: Callable[[str, Stream], None]
    cancelled: asyncio.Event


class _Program(msgspec.Struct, frozen=True):
    """What is to run, as the guard judges it."""

    start: Start
    assessment: Assessment
    tool: str
    arguments: dict[str, object]
    terminal: bool = False
    check: Callable[[], str] = lambda: ""
    """What has changed since it was judged, as a sentence; empty: nothing."""


async def run_shell(place: StepPlace, call: StepCall, action: ShellAction) -> StepResult:
    """Run a shell step. Raises `CommandError`, `TemplateError`."""
    script, spliced = templates.shell_script(action.command, call.values)
    named = {name: templates.render(each, call.values) for name, each in action.env.items()}
    variables = {**environment_of(call.parameters), **named, **spliced}
    invocation = place.invocation(new_id(), call.cancelled)
    wanted = templates.render(action.cwd, call.values) if action.cwd is not None else "."
    terminal = action.terminal and place.lend_terminal is not None
    stdin = templates.render(action.stdin, call.values).encode("utf-8", "replace") if action.stdin else b""

    def prepare() -> tuple[Location, Assessment]:
        folder = locate(invocation, wanted)
        if not folder.real.is_dir():
            raise CommandError(f"The folder {folder.shown} does not exist, so the step cannot run there.")
        assessed = assess_line(script, folder, place.project, own_shell=action.shell == "zsh")
        used = {name: value for name, value in variables.items() if value and name in script}
        told = (assessed, *(assess_line(value, folder, place.project) for value in used.values()))
        warnings = dict.fromkeys(warning for each in told for warning in each.warnings)
        return folder, _with_variables(replace(assessed, warnings=tuple(warnings)), variables, used)

    folder, assessment = await asyncio.to_thread(prepare)
    environ = _environment(place, variables, terminal=terminal)
    argv = _shell_words(action.shell, script)

    def changed() -> str:
        again = locate(invocation, wanted)
        ends = leads_to(script, folder.real, place.project)
        fresh = [end for end in ends if end not in assessment.warnings]
        if again.real != folder.real:
            return f"{folder.shown} leads elsewhere now"
        return fresh[0] if fresh else ""

    program = _Program(
        Start(argv, folder.real, environ, stdin, step_mark(place.run, call.step.number)),
        assessment,
        "bash",
        {"command": script},
        terminal,
        changed,
    )
    return await _run(place, call, invocation, program)


async def run_python(place: StepPlace, call: StepCall, action: PythonAction) -> StepResult:
    """Run a python step. Raises `CommandError`, `TemplateError`."""
    from gshtui.python.interpreter import InterpreterError
    from gshtui.python.python_environment import choose_python

    named = {name: templates.render(each, call.values) for name, each in action.env.items()}
    stdin = templates.render(action.stdin, call.values) if action.stdin is not None else ""
    try:
        choice = await asyncio.to_thread(choose_python, place.python, place.environ)
    except InterpreterError as error:
        raise CommandError(error.message, hint=error.hint) from error
    context = {name: value for name, value in call.values.items() if name != "agent"}
    given = {"values": context, "stdin": stdin, "code": action.code, "module": action.module, "name": call.step.name}
    source = _PRELUDE.format(repr(json.dumps(given, default=str)))
    shown = action.code or f"python -m {action.module}"
    first = next((line for line in shown.splitlines() if line.strip()), "")
    assessment = Assessment(
        Effect.EXECUTE,
        one_line(literal(first), 200),
        inside=False,
        detail=f"in {place.cwd}\n{visible(shown)}",
        key=f"{place.cwd}\0{shown}",
        why="Python code can do whatever you can (rule python)",
        sandbox=True,
    )
    environ = _environment(place, {**environment_of(call.parameters), **named}, terminal=False)
    start = Start(
        (choice.program, "-"),
        Path(os.path.realpath(place.cwd)),
        environ,
        source.encode(),
        step_mark(place.run, call.step.number),
    )
    program = _Program(start, _with_variables(assessment, named), "python", {"code": shown})
    return await _run(place, call, place.invocation(new_id(), call.cancelled), program)


_PRELUDE = """\
import io as _io, json as _json, sys as _sys
_given = _json.loads({})
_names = dict(_given["values"], __name__="__main__")
_sys.stdin = _io.StringIO(_given["stdin"])
if _given["module"]:
    import runpy as _runpy
    _sys.argv = [_given["module"]]
    _runpy.run_module(_given["module"], init_globals=_given["values"], run_name="__main__", alter_sys=True)
else:
    import linecache as _linecache
    _file = "<" + _given["name"] + ">"
    _linecache.cache[_file] = (len(_given["code"]), None, _given["code"].splitlines(True), _file)
    exec(compile(_given["code"], _file, "exec"), _names)
"""


def _shell_words(shell: str, script: str) -> tuple[str, ...]:
    if shell == "bash":
        return ("bash", "--norc", "--noprofile", "-c", script)
    return ("zsh", "-f", "-c", script) if shell == "zsh" else ("sh", "-c", script)


def _environment(place: StepPlace, variables: Mapping[str, str], *, terminal: bool) -> dict[str, str]:
    environ = command_environment(place.environ)
    if terminal:
        environ = {name: value for name, value in environ.items() if name not in _QUIET}
        environ |= {name: place.environ[name] for name in _QUIET if name in place.environ}
    for name, value in variables.items():
        if len(value.encode("utf-8", "replace")) > _LONGEST_VALUE:
            raise CommandError(
                f"The variable {one_line(name, 60)} has {len(value):,} characters; a process takes at most 128 KB.",
                hint="Give a long text to the step as `stdin`.",
            )
    return environ | {name: value.replace("\0", "") for name, value in variables.items()}


def _with_variables(
    assessment: Assessment, variables: Mapping[str, str], used: Mapping[str, str] | None = None
) -> Assessment:
    """The assessment with what the step's variables add: their values, and what some of them change. `used`: those that
    the line names. What runs is in them, so they come first, and whole.
    """
    used = used or {}
    steering = [
        name for name in variables if set(name) - set(_HARMLESS) or name.startswith(_STEERING) or "proxy" in name
    ]
    where, _, line = assessment.detail.partition("\n")
    first = [f"{name}={shlex.quote(value)};" for name, value in used.items()]
    others = [
        f"  {name}={one_line(literal(value), _SHOWN_VALUE)}"
        for name, value in variables.items()
        if name not in used and (value or name in steering)
    ]
    told = (where, *(visible(each, counted=False) for each in first), line, "with" if others else "", *others)
    assessment = replace(
        assessment,
        subject=one_line(literal(" ".join((*first, assessment.subject))), 300) if first else assessment.subject,
        detail="\n".join(filter(None, told)),
        reads=False,  # such a line runs unasked elsewhere because nothing in its surroundings is the workflow's
        key=f"{assessment.key}\0{json.dumps(dict(variables))}",
    )
    if not steering:
        return assessment
    why = f"it sets {', '.join(steering[:3])}, which changes what programs do (rule variables)"
    return replace(assessment, inside=False, pattern="", why=assessment.why or why)


async def _run(place: StepPlace, call: StepCall, invocation: Invocation, program: _Program) -> StepResult:
    assessment = program.assessment
    if assessment.sandbox and program.terminal:
        assessment = replace(assessment, sandbox=False)
    elif assessment.sandbox and (absent := await place.sandbox.absent()):
        why = f"{assessment.why}; there is no sandbox: {absent}" if assessment.why else ""
        assessment = replace(assessment, sandbox=False, why=why)
    asked = Call(place.agent, place.run, invocation.call, program.tool, dict(program.arguments))
    verdict = await answered(place.gate.review(asked, assessment), call.cancelled)
    if verdict is None:
        return _cancelled()
    if not verdict.allowed:
        return _refused(verdict)
    # What was decided at once is run at once; a person took their time.
    if not verdict.by and (why := await asyncio.to_thread(program.check)):
        raise CommandError(f"What the step names has changed since it was allowed: {why}.", hint="Nothing was run.")
    if program.terminal and place.lend_terminal is not None:
        return await _on_terminal(place.lend_terminal, call, program.start)
    result, run = await _captured(place, call, invocation, program, verdict)
    use = run.sandbox_use
    if verdict.sandboxed and use is not None and use.refused and result.state == "failed":
        wider = await answered(place.gate.review_wider(asked, assessment, use), call.cancelled)
        if wider is not None and wider.allowed:
            place.sandbox.grant(use.hosts)
            result, _ = await _captured(place, call, invocation, program, wider)
    return result


async def answered(question: Coroutine[Any, Any, Verdict], cancelled: asyncio.Event) -> Verdict | None:
    """What was decided; `None`: the run was cancelled before that, and the question is withdrawn."""
    deciding = asyncio.ensure_future(question)
    stopped = asyncio.ensure_future(cancelled.wait())
    try:
        await asyncio.wait({deciding, stopped}, return_when=asyncio.FIRST_COMPLETED)
        return deciding.result() if deciding.done() else None
    finally:
        stopped.cancel()
        if not deciding.done():
            await cancel_and_wait(deciding)


def _cancelled() -> StepResult:
    now = time.time()
    return StepResult(state="cancelled", exit_code=130, started_at=now, ended_at=now)


def _refused(verdict: Verdict) -> StepResult:
    now = time.time()
    return StepResult(state="denied", exit_code=4, error=verdict.reason, started_at=now, ended_at=now)


async def _on_terminal(lend: LendTerminal, call: StepCall, start: Start) -> StepResult:
    began = time.time()
    state: StepState = "done"
    try:
        async with time_limit(call.seconds):
            code = await lend(start)
    except TimeoutError:
        state, code = "timeout", 124
    if state == "done" and code:
        state = "failed"
    return StepResult(state=state, exit_code=code, started_at=began, ended_at=time.time())


async def _captured(
    place: StepPlace, call: StepCall, invocation: Invocation, program: _Program, verdict: Verdict
) -> tuple[StepResult, Run]:
    out, err = Spool(2 * KEPT), Spool(2 * KEPT)
    began = time.time()
    try:
        capture = Capture(out, lambda text: call.output(text, "stdout"))
        errors = Capture(err, lambda text: call.output(text, "stderr"))
        try:
            if verdict.sandboxed:
                sandbox = await place.sandbox.now()
                if isinstance(sandbox, str):
                    raise CommandError(f"The step may run in the sandbox only, and cannot run there: {sandbox}.")
                run = await run_in_sandbox(sandbox, program.start, call.seconds, invocation.cancelled, capture, errors)
            else:
                run = await run_supervised(program.start, call.seconds, invocation.cancelled, capture, errors)
        finally:
            capture.close()
            errors.close()
        small = out.size + err.size <= _SMALL
        stdout, stderr = _texts(out, err) if small else await asyncio.to_thread(_texts, out, err)
    finally:
        out.close()
        err.close()
    run = await asyncio.to_thread(run.with_refusals_in, f"{stdout}\n{stderr}")
    code = run.shell_code
    notes = [f"the sandbox: {each.sentence}" for each in run.refused[:3]]
    if not code and run.refused_writes:
        code = 1  # it ended with 0, but what it was to do is not done
    state: StepState = "failed" if code else "done"
    if run.end is End.TIMEOUT:
        state, code = "timeout", 124
        others = f", with {', '.join(run.ended[:3])}" if run.ended else ""
        notes.insert(0, f"it took longer than {call.seconds:g} s and was ended{others}")
    elif run.end is End.CANCELLED:
        state, code = "cancelled", 130
    notes += [f"{moved} (other programs would obey it)" for moved in run.moved]
    error = one_line("; ".join(notes), 600)
    return (
        StepResult(
            state=state,
            stdout=stdout,
            stderr=stderr,
            exit_code=code,
            started_at=began,
            ended_at=time.time(),
            error=error,
            sandboxed=bool(run.sandboxed),
        ),
        run,
    )


def _texts(out: Spool, err: Spool) -> tuple[str, str]:
    return shorten(output_text(out)[0], KEPT), shorten(output_text(err)[0], KEPT)


def step_mark(run: str, step: int) -> str:
    """What the processes of a step carry in their environment."""
    return f"{run}-{step}"


def step_seconds(limit: Template | None, values: Mapping[str, object]) -> float:
    """A step's time limit in seconds. Raises `TemplateError`."""
    return LONGEST_STEP if limit is None else templates.number(limit, values)


LONGEST_STEP = 3_600.0
"""Seconds that a step without a limit of its own may take."""

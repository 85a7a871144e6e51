"""The `python` command: for models the tool that runs a block, for people also the variables, a restart, an interrupt.

Registers nothing by itself; the hub calls `commands` and registers what it returns.
"""

from __future__ import annotations

import asyncio
from typing import Annotated, ClassVar

import msgspec
from pydantic import Field

from gshtui.commands.declaration import (
    Access,
    Action,
    Assessment,
    Effect,
    Invocation,
    Mark,
    Outcome,
    Parameters,
    Question,
    Returns,
    ToastView,
    UsageError,
    View,
)
from gshtui.commands.group import group
from gshtui.commands.registry import AnyCommand
from gshtui.commands.shell_form import ShellForm, ShellGroup, ShellOption
from gshtui.python.interpreters import TOOL, lost_text
from gshtui.python.protocol import Variable
from gshtui.python.python_environment import InstallPlan, install, install_plan
from gshtui.text import markdown_table
from gshtui.text.sanitise import literal, one_line
from gshtui.tools.code.python_tool import PythonTool, owner_of

DESCRIPTION = """\
Run Python in an interpreter of your own that keeps variables and imports for this conversation, also when it goes \
on later (but no open files, sockets, values over 8 MB): for data, files in bulk, calculations, several steps at \
once. Prints come back in order, and the value of the last expression. os, sys, json, subprocess, pathlib and typing \
need no import; also there: run_cmd(cmd, timeout) → {stdout, stderr, returncode, success}, read_file, write_file, \
append_file, list_files(pattern), http_get(url), http_post(url, data), llm_call(prompt) for a side question to your \
model, output(data), CliSession(command) to talk to a program in the shared shell (start, send, read_response, \
interrupt, exit). Between calls it stands still, threads and all."""


class RunPython(Parameters, Returns[Outcome]):
    """Run CODE in the agent's interpreter, with its variables."""

    COMMAND: ClassVar[str] = TOOL
    WORD: ClassVar[str] = "run"
    code: Annotated[str, Mark.VERBATIM] = Field(default="", description="Python source")
    timeout: float = Field(default=0, ge=0, description="Seconds; 0: 120; at most an hour")
    restart: bool = Field(default=False, description="Start with a new interpreter: all variables are lost")


class PythonState(msgspec.Struct, frozen=True):
    """An agent's interpreter, as far as there is one.

    Args:
        alive: whether there is one.
        busy: whether a block is running.
        version: of Python.
        sandboxed: whether it is in the sandbox.
        variables: what blocks have defined.
        kept: the names that the next one has from before, while there is none.
    """

    alive: bool = False
    busy: bool = False
    version: str = ""
    program: str = ""
    sandboxed: bool = False
    variables: tuple[Variable, ...] = ()
    kept: tuple[str, ...] = ()


class ShowPython(Parameters, Returns[PythonState]):
    """Show the variables of the agent's interpreter."""

    COMMAND: ClassVar[str] = TOOL
    WORD: ClassVar[str] = "show"


class PythonRestarted(msgspec.Struct, frozen=True):
    """`gone`: the variables that went; `None`: there was no interpreter."""

    gone: tuple[str, ...] | None


class RestartPython(Parameters, Returns[PythonRestarted]):
    """End the agent's interpreter; the next block starts a new one."""

    COMMAND: ClassVar[str] = TOOL
    WORD: ClassVar[str] = "restart"


class PythonInterrupted(msgspec.Struct, frozen=True):
    """Whether a block was running."""

    was_running: bool


class InterruptPython(Parameters, Returns[PythonInterrupted]):
    """Interrupt the block that is running."""

    COMMAND: ClassVar[str] = TOOL
    WORD: ClassVar[str] = "interrupt"


class PythonInstalled(msgspec.Struct, frozen=True):
    """What was run to install the packages, and the environment that now has them."""

    plan: InstallPlan


class InstallPackages(Parameters, Returns[PythonInstalled]):
    """Install PACKAGES into the virtual environment of agents' Python, which is made first if it is not there.

    Without PACKAGES, those of `[python] pre_install`. It uses uv where that is installed, else pip, and shows first
    what it runs: with the network, and outside the sandbox.
    """

    COMMAND: ClassVar[str] = TOOL
    WORD: ClassVar[str] = "install"
    SHELL = ShellForm(
        ("packages",),
        summary="Install packages for the Python of agents.",
        examples=("gsh-tui python install", "gsh-tui python install pandas matplotlib"),
        waiting="Installing",
        needs_answer=True,
        own_hub=True,
    )
    packages: Annotated[str, ShellOption(words=-1)] = Field(default="", description="Packages, separated by blanks")


def commands(tool: PythonTool) -> list[AnyCommand]:
    interpreters = tool.interpreters

    async def run(invocation: Invocation, wanted: RunPython) -> Outcome:
        if not wanted.code.strip() and not wanted.restart:
            raise UsageError("There is no code to run.", hint="For example: python run 1 + 1")
        return await tool.run(invocation, wanted.code, wanted.timeout, restart=wanted.restart)

    async def show(invocation: Invocation, _: ShowPython) -> PythonState:
        found = interpreters.find(owner_of(invocation))
        if found is None:
            return PythonState(kept=tuple(await interpreters.kept_names(owner_of(invocation))))
        sandboxed = found.options.sandbox is not None
        if found.busy:
            known = tuple(Variable(name, "") for name in found.names)
            return PythonState(True, True, found.version, found.options.program, sandboxed, known)
        variables = tuple(await found.variables())
        return PythonState(True, False, found.version, found.options.program, sandboxed, variables)

    async def restart(invocation: Invocation, _: RestartPython) -> PythonRestarted:
        gone = await interpreters.restart(owner_of(invocation))
        return PythonRestarted(None if gone is None else tuple(gone))

    async def interrupt(invocation: Invocation, _: InterruptPython) -> PythonInterrupted:
        return PythonInterrupted(interpreters.interrupt(owner_of(invocation)))

    async def plan(wanted: InstallPackages) -> InstallPlan:
        words = wanted.packages.split()
        return await asyncio.to_thread(install_plan, interpreters.settings, words, interpreters.environ)

    async def asks_install(_: Invocation, wanted: InstallPackages) -> Question | None:
        planned = await plan(wanted)
        if not planned.commands:
            return None
        what = ", ".join(planned.packages) or "nothing but the environment"
        return Question(
            wanted,
            "Install packages for the Python of agents?",
            f"{what}, into {planned.folder}. It runs, with the network and outside the sandbox:",
            "Install",
            quoted="\n".join(planned.lines),
            doing="Installing …",
        )

    async def install_packages(invocation: Invocation, wanted: InstallPackages) -> PythonInstalled:
        planned = await plan(wanted)
        await install(planned, interpreters.environ, invocation.output)
        return PythonInstalled(planned)

    async def assess(invocation: Invocation, wanted: Returns[object]) -> Assessment:
        if isinstance(wanted, RunPython) and wanted.code.strip():
            return await tool.assess(invocation, wanted.code)
        return Assessment(Effect.READ, "restart" if isinstance(wanted, RunPython) else wanted.WORD)

    return [
        group(
            TOOL,
            "Run Python that keeps its variables, and see them",
            Action(RunPython, run, lambda _, outcome: outcome, effect=Effect.EXECUTE, positions=("code",)),
            Action(ShowPython, show, _state_text),
            Action(RestartPython, restart, _restarted_text, shows=_restarted_toast),
            Action(InterruptPython, interrupt, _interrupted_text, shows=_interrupted_toast),
            Action(
                InstallPackages,
                install_packages,
                _installed_text,
                asks=asks_install,
                access=Access.HUMAN_ONLY,
                effect=Effect.NETWORK,
            ),
            family="run",
            bare="show",
            otherwise="run",
            shell=ShellGroup("The Python of agents.", "The Python that agents run their blocks with."),
            access=Access.AGENT_PRIMARY,
            assess=assess,
            description=DESCRIPTION,
            tool=True,
            does="run",
            acts=True,
        )
    ]


def _state_text(_: Invocation, state: PythonState) -> Outcome:
    if not state.alive:
        said = "There is no interpreter yet: the first block starts one"
        if state.kept:
            names = ", ".join(one_line(literal(name), 60) for name in state.kept)
            said = f"{said}, with what is kept from before: {one_line(names, 2_000)}"
        return Outcome({"alive": False, "variables": [], "kept": list(state.kept)}, f"{said}.")
    data = {
        "alive": True,
        "busy": state.busy,
        "version": state.version,
        "program": state.program,
        "sandboxed": state.sandboxed,
        "variables": [
            {"name": one.name, "type": one.type, "size": one.size, "preview": one.preview} for one in state.variables
        ],
    }
    where = "in the sandbox" if state.sandboxed else "outside any sandbox"
    said = f"Python {one_line(state.version, 20)} {where} ({one_line(state.program, 200)})"
    if state.busy:
        said += ". A block is running; these are the variables before it"
    rows = [
        tuple(one_line(literal(text), 120).replace("|", "¦") for text in (one.name, one.type, one.size, one.preview))
        for one in state.variables
    ]
    if not rows:
        return Outcome(data, f"{said}.\n\nIt has no variables.")
    return Outcome(data, f"{said}.\n\n{markdown_table.table(('name', 'type', 'size', 'value'), rows, right={2})}")


def _restarted_text(_: Invocation, done: PythonRestarted) -> Outcome:
    data = {"restarted": done.gone is not None, "variables": list(done.gone or ())}
    return Outcome(data, _restarted(done))


def _restarted(done: PythonRestarted) -> str:
    if done.gone is None:
        return "There was no interpreter: the next block starts one."
    return lost_text("Python starts anew with the next block", done.gone)


async def _restarted_toast(_: Invocation, done: PythonRestarted) -> View | None:
    return ToastView(_restarted(done))


def _installed_text(_: Invocation, done: PythonInstalled) -> Outcome:
    plan = done.plan
    data = {"folder": str(plan.folder), "packages": list(plan.packages), "commands": [list(c) for c in plan.commands]}
    if not plan.commands:
        return Outcome(data, f"There is nothing to do: {plan.folder} is there.")
    said = f"Installed into {plan.folder}: {', '.join(plan.packages)}." if plan.packages else f"Made {plan.folder}."
    return Outcome(data, f"{said} Interpreters that run already need `python restart`.")


def _interrupted_text(_: Invocation, done: PythonInterrupted) -> Outcome:
    return Outcome({"interrupted": done.was_running}, _interrupted(done))


def _interrupted(done: PythonInterrupted) -> str:
    return "The block was told to stop." if done.was_running else "No block is running."


async def _interrupted_toast(_: Invocation, done: PythonInterrupted) -> View | None:
    return ToastView(_interrupted(done))

"""The commands of the command language itself: echo, env, diff, pipe; and exec and vim, which need a terminal."""

from __future__ import annotations

import asyncio
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from msgspec.structs import replace
from pydantic import Field

from gshtui.commands.declaration import (
    Access,
    Assessment,
    Command,
    CommandError,
    Effect,
    Invocation,
    Mark,
    Outcome,
    Parameters,
    ProgramView,
    UsageError,
    Word,
)
from gshtui.commands.evaluation import result_of, run_line
from gshtui.commands.execution import run_parsed
from gshtui.commands.language import validate
from gshtui.commands.line_values import LANGUAGE, LineValue, selected
from gshtui.commands.registry import AnyCommand, Registry
from gshtui.commands.schema import ToolParameters
from gshtui.text.sanitise import literal, one_line
from gshtui.text.unified_diff import count_changes, make_diff

_NOTHING = LineValue("", "")
RealPath = Callable[[Invocation, str], Path]
"""The real file that a path means for a caller. Raises `ExpectedError`."""
_SHOWN = 72
"""Characters of a variable in the list."""
PIPE = (
    "Run a line of commands: `a x=1 | b y=2` gives b the result of a, `c x=$(a)` gives a parameter the result, "
    "`env name=n value=$(a)` keeps it for `$n` and `${n.field[0]}`, `;` separates. Each command is one of your tools, "
    "and is allowed or asked about as if you had called it."
)


class EchoParameters(Parameters):
    """Parameters of `echo`."""

    message: Annotated[LineValue, Mark.PIPED] = Field(default=_NOTHING, description="What to print.")


class EnvParameters(Parameters):
    """Parameters of `env`."""

    name: Word = Field(default=Word(), description="The variable; empty lists all.")
    value: Annotated[LineValue | None, Mark.PIPED] = Field(
        default=None, description="Its new value: text, or what `$(…)` or a pipe gives; omitted: show it."
    )
    remove: bool = Field(default=False, description="Remove it.")


class DiffParameters(ToolParameters):
    """Parameters of `diff`."""

    a: LineValue = Field(description="A path, or `<(…)`, `$(…)` or a variable for their text")
    b: LineValue = Field(description="What to compare it with")


class PipeParameters(ToolParameters):
    """Parameters of `pipe`."""

    line: Annotated[str, Mark.VERBATIM] = Field(description="The line", min_length=1)
    data: bool = Field(default=False, description="Answer with the JSON data of the last command, not its text")


class ExecParameters(Parameters):
    """Parameters of `exec`."""

    cmd: Annotated[str, Mark.VERBATIM] = Field(description="A shell line.", min_length=1)
    dir: str = Field(default="", description="Folder to run it in; empty: the working folder.")


class VimParameters(Parameters):
    """Parameters of `vim`."""

    path: str = Field(description="The file.", min_length=1)


async def _echo(_invocation: Invocation, given: EchoParameters) -> Outcome:
    return Outcome(given.message.data, given.message.text, is_value=True)


async def _env(invocation: Invocation, given: EnvParameters) -> Outcome:
    variables = invocation.variables
    if given.remove:
        variables.remove(given.name)
        return Outcome({"removed": given.name}, f"${given.name} is removed.")
    if given.value is not None:
        variables.set(given.name, given.value)
        return Outcome(given.value.data, given.value.text, is_value=True)
    if given.name:
        if given.name not in variables:
            raise UsageError(f"There is no variable {given.name!r}.", hint=f"`env name={given.name} value=…` sets it.")
        return Outcome(variables[given.name].data, variables[given.name].text, is_value=True)
    lines = [f"${name} = {one_line(variables[name].text, _SHOWN)}" for name in variables]
    data = {name: variables[name].data for name in variables}
    if not lines:
        return Outcome(data, "No variables yet. `env name=greeting value=hello` sets one.")
    return Outcome(data, "\n".join(lines), is_value=True)


async def _complete_variables(invocation: Invocation, parameter: str, typed: str) -> list[str]:
    return [name for name in invocation.variables if name.startswith(typed)] if parameter == "name" else []


class _Lines:
    """The commands that run others, over their registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def diff(self, invocation: Invocation, given: DiffParameters) -> Outcome:
        """Compare two texts; a path is read by `cat` or `read`, which is allowed or asked about by itself."""
        before, after = [_ended(await self._text(invocation, value)) for value in (given.a, given.b)]
        name = one_line(literal(given.b.text if given.b.origin == "written" else "result"))
        made = make_diff(before, after, name)
        data = {"same": before == after, "diff": made}
        if not made:
            return Outcome(data, "Both are the same.")
        return Outcome(data, f"{count_changes(made)}\n\n```diff\n{made}```", diff=made, full=made)

    async def _text(self, invocation: Invocation, value: LineValue) -> str:
        if value.origin != "written":
            return value.text
        if invocation.caller.is_agent and invocation.run_stage is None:
            raise CommandError("Nothing here can judge reading a file, so it was not read.")
        command = self._registry.get("cat" if "cat" in self._registry else "read")
        run = invocation.run_stage or run_parsed
        found = result_of(await run(command, validate(command, {"path": value.text}), invocation))
        return selected(found, ("text",)).text

    async def pipe(self, invocation: Invocation, given: PipeParameters) -> Outcome:
        """Run a line for an agent, each command past the doors of a call of its own."""
        if invocation.caller.is_agent and invocation.run_stage is None:
            raise CommandError("Nothing here can judge the commands of a line, so it was not run.")
        run = invocation.run_stage or run_parsed

        async def run_stage(command: AnyCommand, parameters: Any, inside: Invocation) -> Outcome:
            if command.name == "pipe":
                raise UsageError("A line of pipe cannot use pipe itself.", hint="`a | b` and `$(a)` do the same.")
            return await run(command, parameters, inside)

        outcome = await run_line(self._registry, given.line, replace(invocation, run_stage=run_stage))
        if isinstance(outcome.view, ProgramView):
            raise CommandError("A line of `pipe` cannot use a terminal.", hint="`bash` gives what a program printed.")
        return Outcome(outcome.data, is_error=outcome.is_error) if given.data else outcome


def _ended(text: str) -> str:
    """The text with a line break at its end, which a rendering may lack."""
    return f"{text}\n" if text and not text.endswith("\n") else text


async def _assess_pipe(_invocation: Invocation, given: PipeParameters) -> Assessment:
    """The line does nothing itself; each of its commands is judged when its turn comes."""
    return Assessment(Effect.READ, one_line(given.line), detail=given.line)


async def _assess_diff(_invocation: Invocation, given: DiffParameters) -> Assessment:
    """Comparing needs no answer; the command that reads each file is judged by itself."""
    return Assessment(Effect.READ, one_line(f"{given.a.text} {given.b.text}"))


class _Programs:
    """The commands that run a program where the person can type."""

    def __init__(self, real_path: RealPath) -> None:
        self._real_path = real_path

    async def exec(self, invocation: Invocation, given: ExecParameters) -> Outcome:
        """Run a shell line."""
        folder = self._real_path(invocation, given.dir or ".")
        if not folder.is_dir():
            raise CommandError(f"There is no folder {one_line(given.dir)}.", hint="`dir=` takes an existing folder.")
        line = given.cmd if folder == invocation.cwd else f"(cd {shlex.quote(str(folder))} || exit; {given.cmd})"
        return _in_terminal(line, {"cmd": given.cmd, "dir": str(folder)})

    async def vim(self, invocation: Invocation, given: VimParameters) -> Outcome:
        if await asyncio.to_thread(shutil.which, "vim") is None:
            raise CommandError("There is no vim here.", hint='Install it, or `exec cmd="nano FILE"` opens another.')
        file = self._real_path(invocation, given.path)
        if file.is_dir() or not file.parent.is_dir():
            raise CommandError(f"{one_line(given.path)} cannot be edited.", hint="Name a file in an existing folder.")
        return _in_terminal(f"vim -- {shlex.quote(str(file))}", {"path": str(file)}, needs_screen=True)


def path_on_disk(invocation: Invocation, path: str) -> Path:
    """The file or folder on disk; without virtual files, each path is a real one. Raises `ExpectedError`."""
    try:
        return (invocation.cwd / Path(path).expanduser()).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise CommandError(f"{one_line(path)} is no path of a file: {error}.") from error


def _in_terminal(line: str, data: dict[str, str], *, needs_screen: bool = False) -> Outcome:
    return Outcome(data, f"In a terminal: {line}", view=ProgramView(line, needs_screen))


def commands(registry: Registry, real_path: RealPath = path_on_disk) -> list[AnyCommand]:
    """The family, for lines of this registry. `real_path`: the real file that a path means."""
    lines = _Lines(registry)
    programs = _Programs(real_path)
    return [
        Command("echo", "Print a message", EchoParameters, _echo, guests=True, positions=("message",), family=LANGUAGE),
        Command(
            "env",
            "Show or set the variables of this conversation",
            EnvParameters,
            _env,
            guests=True,
            positions=("name", "value"),
            family=LANGUAGE,
            complete=_complete_variables,
        ),
        Command(
            "diff",
            "Compare two files or results",
            DiffParameters,
            lines.diff,
            positions=("a", "b"),
            family=LANGUAGE,
            tool=True,
            assess=_assess_diff,
            description="Compare two files, or texts of results in a line of `pipe`.",
        ),
        Command(
            "pipe",
            "Run a line of commands, each with the result of the one before",
            PipeParameters,
            lines.pipe,
            positions=("line",),
            family=LANGUAGE,
            access=Access.AGENT_PRIMARY,
            effect=Effect.EXECUTE,
            tool=True,
            assess=_assess_pipe,
            description=PIPE,
        ),
        Command(
            "exec",
            "Run a shell line in a terminal",
            ExecParameters,
            programs.exec,
            positions=("cmd",),
            family=LANGUAGE,
            access=Access.HUMAN_ONLY,
            effect=Effect.EXECUTE,
        ),
        Command(
            "vim",
            "Edit a file in vim",
            VimParameters,
            programs.vim,
            positions=("path",),
            family=LANGUAGE,
            access=Access.HUMAN_ONLY,
            effect=Effect.EXECUTE,
        ),
    ]

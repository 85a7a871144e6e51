"""The `terminal` tool: one command in the shared shell, visible to the person, with its output and exit code.

Never types while something runs, or over a person's half-typed line: zsh puts that aside and restores it; in other
shells the tool waits, then reports it.
"""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from collections.abc import Callable, Sequence
from typing import Annotated, Literal

import msgspec
from pydantic import Field

from gshtui.commands.declaration import Assessment, CommandError, Invocation, Mark, Outcome
from gshtui.commands.schema import FOR_PEOPLE, ToolParameters
from gshtui.fleet.terminal_tools import sentinel, shared_shell
from gshtui.fleet.terminal_tools.shared_shell import shared_shell_lock
from gshtui.fleet.terminal_tools.targets import (
    ApprovedState,
    TerminalTarget,
    TerminalTargets,
    from_typing_error,
)
from gshtui.guard.policy import shell_policy
from gshtui.programs.pane.pane_view import SessionError
from gshtui.programs.pane.pane_writer import PaneWriter, Sent, State
from gshtui.text.sanitise import one_line, plain
from gshtui.text.truncation import original_size
from gshtui.tmux.marker import Marker, text_since
from gshtui.tmux.panes import PaneInfo
from gshtui.tmux.readiness import wait_ready
from gshtui.tools.files import path_location
from gshtui.tools.shell.command_output import show_output
from gshtui.tools.shell.shell_assessment import assess_line

DESCRIPTION = """\
Run one command in the shared shell, a terminal that the person also sees and uses, with their own configuration. \
Use it for what the person should see, and for what depends on their shell (an activated environment, an ssh agent, \
their folder). Folder and variables persist between calls. Returns the output and the exit code. A command still \
running after timeout_s keeps running, and the result says so; then use `tmux` to read and control it. In zsh `#` \
does not start a comment there. Not for programs that ask or draw (REPLs, editors, other agents): start those with \
`tmux`. For everything else prefer `bash`: it is private, clean and asks less."""
STILL = 3.0
"""Seconds without change at the prompt after which a command without an exit code counts as ended."""
_LINES = 5_000
"""Lines of output to search backwards."""
_LONGEST = 60_000
_APART = 0.1
"""Seconds between attempts while the prompt has half-typed text."""


class TerminalParameters(ToolParameters):
    """The command for the shared shell."""

    command: Annotated[str, Mark.VERBATIM] = Field(description="For the person's own shell (usually zsh)")
    timeout_s: float = Field(default=120, gt=0, le=3600, description="Seconds to wait")
    wait: bool = Field(
        default=True,
        description="false: type it for this folder, and return at once",
        json_schema_extra=FOR_PEOPLE,
    )
    enter: bool = Field(
        default=True, description="false: with wait=false, leave it typed but not entered", json_schema_extra=FOR_PEOPLE
    )


class _Ended(msgspec.Struct, frozen=True):
    """How the wait ended, and the screen's lines since the command was typed."""

    how: Literal["exit", "running", "stopped", "dead"]
    code: int | None
    text: str
    whole: bool = True


async def assess(
    reach: TerminalTargets, told: ApprovedState, invocation: Invocation, parameters: TerminalParameters
) -> Assessment:
    """Judge the line for the shell's current folder. `always` is never offered: the shell decides what really runs."""
    info = await reach.shared.find()
    folder = invocation.cwd if info is None else await reach.shared.folder(info, invocation.cwd)
    told.note(invocation, folder, f"the shared shell was in {folder}")
    place = await asyncio.to_thread(path_location.locate, invocation, str(folder))
    found = await asyncio.to_thread(assess_line, parameters.command, place, invocation.project, own_shell=True)
    return Assessment(
        effect=found.effect,
        subject=found.subject,
        inside=found.inside,
        detail=f"in the shared shell {reach.shared.session}, with your configuration and keys, {found.detail}",
        key=found.key,
        warnings=found.warnings,
        why=found.why,
    )


async def run(
    reach: TerminalTargets, told: ApprovedState, limit: int, invocation: Invocation, parameters: TerminalParameters
) -> Outcome:
    """Run it. `limit`: bytes of output to return if the caller sets no limit."""
    command = _checked(invocation, parameters.command)
    who = "the person" if not invocation.caller.is_agent else f"agent {invocation.caller.name}"
    async with shared_shell_lock(reach.socket, f"{who}: {one_line(command, 120)}", reach.patience):
        info = await reach.shared.open(invocation.cwd)
        info = await reach.shared.at_prompt(info.pane, reach.patience)
        folder = await reach.shared.folder(info, invocation.cwd)
        told.confirm(invocation, folder, f"it is in {folder}")
        writer = await reach.writer(TerminalTarget(reach.shared.server, info))
        if not parameters.wait:
            there = "" if folder == invocation.cwd else f"cd {shlex.quote(str(invocation.cwd))} && "
            await _write(reach, writer, info, f"({there}{command})" if there else command, enter=parameters.enter)
            how = "typed and entered" if parameters.enter else "typed, not entered"
            return Outcome({"running": parameters.enter}, f"{how} in {reach.shared.session}")
        token, shell = sentinel.token(), info.command.removeprefix("-")
        begun = asyncio.Event()
        try:
            before = await _type(reach, writer, info, command, token, begun)
            prompted = sentinel.prompted(sentinel.line(command, token, shell), shell)
            ended = await _wait(reach, before, token, prompted, parameters.timeout_s, invocation.cancelled)
        except asyncio.CancelledError:
            if not begun.is_set():
                raise
            with contextlib.suppress(SessionError):
                await asyncio.shield(writer.press(("C-c",)))
            raise
    return _outcome(ended, reach.shared.session, parameters.timeout_s, invocation.limit(limit))


def _checked(invocation: Invocation, command: str) -> str:
    if not command.strip():
        raise CommandError("The command is empty.")
    if "\0" in command or len(command) > _LONGEST:
        raise CommandError(f"The command contains a NUL or is longer than {_LONGEST:,} characters.")
    if invocation.caller.is_agent and (why := shell_policy.refused(command)):
        raise CommandError(f"This command is always refused: {why}.")
    return command.strip("\n")


async def _type(
    reach: TerminalTargets, writer: PaneWriter, info: PaneInfo, command: str, token: str, begun: asyncio.Event
) -> Marker:
    """Type the line with what tells its end, and enter it; return the state before. `begun`: set once the line is
    typed.
    """
    line = sentinel.line(command, token, info.command.removeprefix("-"))
    return (await _write(reach, writer, info, line, told=lambda _: begun.set())).marker


async def _write(
    reach: TerminalTargets,
    writer: PaneWriter,
    info: PaneInfo,
    line: str,
    *,
    enter: bool = True,
    told: Callable[[State], None] | None = None,
) -> Sent:
    """Type a line; put a half-typed one aside before that, or wait for the person to finish it."""
    aside = shared_shell.ASIDE.encode() if await reach.shared.puts_aside(info) else b""
    until = asyncio.get_running_loop().time() + reach.patience
    while True:
        try:
            return await writer.write(line, enter=enter, aside=aside, told=told)
        except SessionError as error:
            # Meanwhile the person may enter the half-typed line, or their command may end.
            if error.kind not in ("draft", "busy") or asyncio.get_running_loop().time() >= until:
                if error.kind == "draft":
                    error.hint = "It was not overwritten. Ask the person to submit or clear it, or use `bash`."
                raise from_typing_error(error) from error
        await asyncio.sleep(_APART)


async def _wait(
    reach: TerminalTargets,
    before: Marker,
    token: str,
    prompted: Sequence[str],
    timeout: float,
    cancelled: asyncio.Event,
) -> _Ended:
    """Wait for the sentinel, or for the prompt to return, or for the time-out."""
    server, pane = reach.shared.server, before.info.pane
    until = asyncio.get_running_loop().time() + timeout
    while True:
        left = until - asyncio.get_running_loop().time()
        ready = await wait_ready(
            server,
            pane,
            pattern=sentinel.pattern(token),
            idle_seconds=min(STILL, max(left, 0.0)),
            timeout=max(left, 0.0),
            since=before,
        )
        if ready.reason == "dead":
            return _Ended("dead", None, ready.text)
        # Check first whether the shell is back, then the screen: a command that ends in between is on it.
        info = await server.pane(pane)
        back = (await reach.shared.front(info)).prompt
        lines = await server.capture(pane, start=-_LINES, styled=False, join=True)
        if found := sentinel.found([line.rstrip() for line in lines], token, prompted):
            return _Ended("exit", found.code, "\n".join(found.lines), found.whole)
        if back and ready.reason == "idle":
            return _Ended("stopped", None, await text_since(server, before))
        if cancelled.is_set() or asyncio.get_running_loop().time() >= until:
            return _Ended("running", None, await text_since(server, before))


def _outcome(ended: _Ended, session: str, timeout: float, limit: int) -> Outcome:
    full = plain(ended.text)
    notes: list[str] = []
    match ended.how:
        case "exit" if ended.code:
            notes.append(f"[exit code: {ended.code}]")
        case "running":
            notes.append(
                f"[still running in {session} after {timeout:g} s; `tmux action=wait_ready` waits for it, "
                "`tmux action=read` shows it, `tmux action=keys keys=C-c` stops it]"
            )
        case "stopped":
            notes.append(
                "[the shell is back at its prompt without an exit code: the command was interrupted or did not run]"
            )
        case "dead":
            notes.append("[the command ended the shared shell; the next command starts a new one]")
        case _:
            pass
    if not ended.whole:
        notes.append("[the beginning of the output has scrolled away]")
    said = "\n".join(notes)
    seen = show_output(full, limit, said, "(no output)")
    return Outcome(
        data={
            "exit_code": ended.code,
            "running": ended.how == "running",
            "ended": ended.how in ("exit", "stopped", "dead"),
            "output": seen.output,
        },
        text=seen.text,
        is_error=ended.how in ("stopped", "dead") or bool(ended.code),
        full=full,
        notes=said,
        cut=seen.cut,
        bytes=original_size(full),
        timed_out=ended.how == "running",
    )

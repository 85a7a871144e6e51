"""The `terminal` tool: one command in the shared shell, visible to the person, with its output and exit code.

Owns the course of one run. Refuses to type where something runs, and over what a person has half typed: zsh puts that
aside and gives it back, in other shells the run waits and then says so. Run by the registry.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pydantic import Field

from gshtui.agents.terminal_tools import sentinel, zsh
from gshtui.agents.terminal_tools.front import typed
from gshtui.agents.terminal_tools.lock import alone, typing
from gshtui.agents.terminal_tools.reach import Reach, of_tmux
from gshtui.agents.terminal_tools.told import Told
from gshtui.agents.tools import paths
from gshtui.agents.tools.bash_line import assessed
from gshtui.agents.tools.output import condensed
from gshtui.agents.tools.parameters import ToolParameters
from gshtui.commands.declaration import Assessment, CommandError, Invocation, Outcome
from gshtui.guard.catastrophe import catastrophe
from gshtui.guard.sanitise import one_line, plain
from gshtui.tmux.errors import TmuxError
from gshtui.tmux.marker import Marker, look, marker, since
from gshtui.tmux.panes import PaneInfo
from gshtui.tmux.readiness import wait_ready

DESCRIPTION = """\
Run one command in the shared shell, a terminal that the person sees and uses too, with their own configuration: for \
what they should see happen, and for what depends on their shell (an activated environment, an ssh agent, a folder \
they are in). Folder and variables last from call to call. Gives the output and the exit code. When the command still \
runs after timeout_s it goes on, and you are told; `tmux` reads and steers it then. In zsh `#` begins no comment \
there. Not for programs that ask or draw (REPLs, editors, other agents): start those with `tmux`. For everything else \
`bash` is better: it is private, clean and asks less."""
STILL = 3.0
"""Seconds without any change at the prompt after which a command that said no exit code is taken for ended."""
_LINES = 5_000
"""Lines of output that are looked back over."""
_LONGEST = 60_000
_SYNTAX_WITHIN = 5.0


class TerminalParameters(ToolParameters):
    """What to run in the shared shell."""

    command: str = Field(description="In the person's own shell (zsh mostly)")
    timeout_s: float = Field(default=120, gt=0, le=3600, description="Seconds to wait")


@dataclass(frozen=True, slots=True)
class _Ended:
    """How the wait ended, and what was on the screen since the command was typed."""

    how: Literal["exit", "running", "stopped", "dead"]
    code: int | None
    text: str
    whole: bool = True


async def assess(reach: Reach, told: Told, invocation: Invocation, parameters: TerminalParameters) -> Assessment:
    """What the line seems to do, where the shell is now. Never offered for good: what runs is up to that shell."""
    try:
        info = await reach.shared.find()
    except TmuxError as error:
        raise of_tmux(error) from error
    folder = invocation.cwd if info is None else await reach.shared.folder(info, invocation.cwd)
    told.note(invocation, folder, f"the shared shell was in {folder}")
    place = await asyncio.to_thread(paths.locate, invocation, str(folder))
    found = await asyncio.to_thread(assessed, parameters.command, place, invocation.project)
    return Assessment(
        effect=found.effect,
        subject=found.subject,
        inside=found.inside,
        detail=f"in the shared shell {reach.shared.session}, with your configuration and keys, {found.detail}",
        key=found.key,
        warnings=found.warnings,
    )


async def run(reach: Reach, told: Told, limit: int, invocation: Invocation, parameters: TerminalParameters) -> Outcome:
    """Run it. `limit`: bytes of output to give."""
    command = _checked(invocation, parameters.command)
    who = "the person" if not invocation.caller.is_agent else f"agent {invocation.caller.name}"
    try:
        async with alone(reach.socket, f"{who}: {one_line(command, 120)}", reach.patience):
            info = await reach.shared.open(invocation.cwd)
            info = await reach.shared.at_prompt(info.pane, reach.patience)
            folder = await reach.shared.folder(info, invocation.cwd)
            told.confirm(invocation, folder, f"it is in {folder}")
            await _check_syntax(command, info)
            token, shell = sentinel.token(), info.command.removeprefix("-")
            async with typing(reach.socket, info.pane):
                before = await _type(reach, info, command, token)
            try:
                prompted = sentinel.prompted(sentinel.line(command, token, shell), shell)
                ended = await _wait(reach, before, token, prompted, parameters.timeout_s, invocation.cancelled)
            except asyncio.CancelledError:
                with contextlib.suppress(TmuxError):
                    await asyncio.shield(reach.shared.server.send_keys(info.pane, "C-c"))
                raise
    except TmuxError as error:
        raise of_tmux(error) from error
    return _outcome(ended, reach.shared.session, parameters.timeout_s, limit)


def _checked(invocation: Invocation, command: str) -> str:
    if not command.strip():
        raise CommandError("The command is empty.")
    if "\0" in command or len(command) > _LONGEST:
        raise CommandError(f"The command holds a NUL or is longer than {_LONGEST:,} characters.")
    if invocation.caller.is_agent and (why := catastrophe(command)):
        raise CommandError(f"This command is refused, whoever asks: {why}.")
    return command.strip("\n")


async def _check_syntax(command: str, info: PaneInfo) -> None:
    """Refuse a line that the shell would not take, before it stands there waiting for the rest of it."""
    shell = shutil.which(info.command.removeprefix("-"))
    if shell is None:
        return
    bare = {"zsh": ("-f",), "bash": ("--norc",), "fish": ("--no-config",)}.get(shell.rpartition("/")[2], ())
    process = await asyncio.create_subprocess_exec(
        *(shell, *bare, "-n", "-c", command if shell.endswith("fish") else f"{{ {command}\n}}"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(_SYNTAX_WITHIN):
            _, errors = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return
    if process.returncode:
        why = one_line(plain(errors.decode("utf-8", "replace")), 300)
        raise CommandError(f"{info.command} does not understand that line: {why}", hint="Nothing was run.")


async def _type(reach: Reach, info: PaneInfo, command: str, token: str) -> Marker:
    """Type the line and enter it; what was there before. A half-typed line is put aside, or waited for."""
    server = reach.shared.server
    shell = info.command.removeprefix("-")
    if await reach.shared.puts_aside(info):
        await server.type_literal(info.pane, zsh.ASIDE)
    else:
        await _nothing_typed(reach, info)
    before = await marker(server, info.pane)
    await server.send_text(info.pane, sentinel.line(command, token, shell), enter=True)
    return before


async def _nothing_typed(reach: Reach, info: PaneInfo) -> None:
    """Wait until nothing half-typed stands there. Raises `CommandError` when something does for too long."""
    until = asyncio.get_running_loop().time() + reach.patience
    while words := typed(await look(reach.shared.server, info)):
        if asyncio.get_running_loop().time() >= until:
            raise CommandError(
                f"Something is typed in the shared shell and not entered: {one_line(words, 120)!r}.",
                hint="It is not overwritten. Ask the person to enter or clear it, or use `bash`.",
            )
        await asyncio.sleep(0.1)


async def _wait(
    reach: Reach, before: Marker, token: str, prompted: Sequence[str], timeout: float, cancelled: asyncio.Event
) -> _Ended:
    """Wait for the sentinel; without one, for the prompt to be back or the time to be over."""
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
        # First whether the shell is back, then the screen: what ended in between is on it.
        info = await server.pane(pane)
        back = (await reach.shared.front(info)).prompt
        lines = await server.capture(pane, start=-_LINES, styled=False, join=True)
        if found := sentinel.found([line.rstrip() for line in lines], token, prompted):
            return _Ended("exit", found.code, "\n".join(found.lines), found.whole)
        if back and ready.reason == "idle":
            return _Ended("stopped", None, await since(server, before))
        if cancelled.is_set() or asyncio.get_running_loop().time() >= until:
            return _Ended("running", None, await since(server, before))


def _outcome(ended: _Ended, session: str, timeout: float, limit: int) -> Outcome:
    full = plain(ended.text)
    text = condensed(full, limit)
    notes: list[str] = []
    match ended.how:
        case "exit" if ended.code:
            notes.append(f"[exit code: {ended.code}]")
        case "running":
            notes.append(
                f"[still running in {session} after {timeout:g} s, and goes on; `tmux action=wait_ready` waits for it, "
                "`tmux action=read` shows it, `tmux action=keys keys=C-c` stops it]"
            )
        case "stopped":
            notes.append("[the shell is back at its prompt without an exit code: it was interrupted, or not taken]")
        case "dead":
            notes.append("[the shared shell ended with it; the next command starts a new one]")
        case _:
            pass
    if not ended.whole:
        notes.append("[the beginning of the output has scrolled out of reach]")
    return Outcome(
        data={
            "exit_code": ended.code,
            "running": ended.how == "running",
            "ended": ended.how in ("exit", "stopped", "dead"),
            "output": text,
        },
        text="\n".join((text.rstrip() or "(no output)", *notes)),
        is_error=ended.how in ("stopped", "dead") or bool(ended.code),
        full=full if full != text else "",
        bytes=len(full.encode("utf-8", "replace")),
        timed_out=ended.how == "running",
    )

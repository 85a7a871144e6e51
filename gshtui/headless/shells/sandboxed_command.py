"""`gsh-tui sandbox -- COMMAND`: one command in the project's sandbox, with this process's input and output.

What hooks, workflow steps and servers of tools put before their command to have the same walls as an agent's. It fails
closed: no sandbox, no command.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from gshtui.headless import exits
from gshtui.headless.called_here import working_folder
from gshtui.headless.runner import run_command, until_stopped
from gshtui.headless.streams import STDERR, complain, result_json

if TYPE_CHECKING:
    from gshtui.guard.sandbox.sandbox import ProjectSandbox
    from gshtui.guard.sandbox.sandbox_refusal import SandboxRefusal
    from gshtui.settings.loader import Loaded

_SIGNALLED = 128


class SandboxedLine(msgspec.Struct, frozen=True):
    """What to run.

    Args:
        command: the program and its arguments.
        hosts: what it may reach besides `[sandbox] hosts`.
        variables: what it gets besides the usual ones and `[sandbox] environment`.
        json: its output goes to standard error, and a report to standard output.
        flags: settings of this call.
    """

    command: tuple[str, ...]
    hosts: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    json: bool = False
    flags: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])


def run_sandboxed(line: SandboxedLine) -> int:
    """Run it; returns its exit code."""
    return run_command(lambda stop: until_stopped(_run(line), stop))


async def _run(line: SandboxedLine) -> int:
    from gshtui.settings.loader import load

    folder = working_folder()
    loaded = await asyncio.to_thread(load, folder, flags=dict(line.flags))
    sandbox = await _sandbox(loaded)
    if isinstance(sandbox, str):
        complain(f"There is no sandbox, so nothing was run: {sandbox}.", "gsh-tui doctor")
        return exits.UNREACHABLE
    try:
        from gshtui.text.host_rules import HostRules

        sandbox = replace(sandbox, hosts=sandbox.hosts | HostRules.parse(line.hosts))
    except ValueError as error:
        complain(f"--host: {error}.")
        return exits.USAGE
    sandbox = await asyncio.to_thread(sandbox.with_programs, line.command)
    try:
        absent = await asyncio.to_thread(sandbox.absent)
    except OSError as error:
        return _not_set_up(error)
    try:
        code, refused = await _run_in(sandbox, line, folder, loaded)
    except OSError as error:
        return _not_set_up(error)
    finally:
        moved = await asyncio.to_thread(sandbox.take_out, absent)
        for path in moved:
            complain(f"{path.name} is not left in the project, since other programs would obey it: it is {path}.")
    for each in refused:
        complain(f"The sandbox: {each.sentence}.")
    if line.json:
        refusals = [{"kind": each.kind, "subject": each.subject, "allow": each.allow} for each in refused]
        result_json({"exit_code": code, "refused": refusals, "moved": [str(path) for path in moved]})
    return code


def _not_set_up(error: OSError) -> int:
    complain(f"The sandbox could not be set up, so nothing was run: {error.strerror or error}.", "gsh-tui doctor")
    return exits.UNREACHABLE


async def _sandbox(loaded: Loaded) -> ProjectSandbox | str:
    from gshtui.guard.sandbox.sandboxes import Sandboxes
    from gshtui.settings import paths

    table, general = loaded.settings.sandbox, loaded.settings.general
    own = (paths.state_dir(), general.session_dir, general.log_dir, paths.data_dir(), paths.config_dir())
    project = Path(os.path.realpath(paths.project_root(loaded.cwd)))
    return await Sandboxes(table, own, complain).sandbox(project)


async def _run_in(
    sandbox: ProjectSandbox, line: SandboxedLine, folder: Path, loaded: Loaded
) -> tuple[int, list[SandboxRefusal]]:
    """Its exit code, as a shell says it, and what it was refused."""
    from gshtui.guard.sandbox.sandbox_run import SandboxRun
    from gshtui.guard.secrets.child_environment import agent_environment
    from gshtui.system.processes import processes

    environ = agent_environment(os.environ, (*loaded.settings.sandbox.environment, *line.variables))
    if sys.stdout.isatty() and not line.json:  # a person looks at it
        environ |= {name: value for name in ("TERM", "COLORTERM") if (value := os.environ.get(name))}
        environ.pop("NO_COLOR", None)
    async with SandboxRun(sandbox, line.command, Path(os.path.realpath(folder)), environ) as run:
        child = await processes.start_child(
            *run.argv, env={}, pass_fds=run.descriptors, cwd=folder, stdout=STDERR if line.json else None
        )
        run.started(child.pid)
        try:
            code = await child.wait()
        finally:
            await processes.kill_child(child)
    return (code if code >= 0 else _SIGNALLED - code), run.refusals  # all of them are known once it is closed

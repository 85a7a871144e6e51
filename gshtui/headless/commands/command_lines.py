"""`gsh-tui run 'LINE'`: a line of the command language, or lines from standard input, as the person or with an
agent's rights.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from gshtui.headless import exits
from gshtui.headless.commands.keeper_call import KeeperCall, run_by_keeper
from gshtui.headless.streams import complain


class LineOptions(NamedTuple):
    """The options of the call. `agent`: whose rights apply; empty: the person's."""

    line: str | None
    """`None`: each line of standard input."""
    agent: str = ""
    yes: bool = False
    json: bool = False
    timeout: float = 0.0
    flags: Mapping[str, Any] = {}


def run_lines(options: LineOptions) -> int:
    """Run them; returns the exit code."""
    lines = [options.line] if options.line is not None else _piped_lines()
    if isinstance(lines, int):
        return lines
    if len(lines) == 1 and not options.agent and lines[0].lstrip("/ ").startswith("hub "):
        return _run_on_settings(lines[0], options)
    asked = {"lines": lines, "agent": options.agent, "yes": options.yes}
    code = run_by_keeper(
        KeeperCall("run", json=options.json, yes=options.yes, flags=options.flags, lines=asked, timeout=options.timeout)
    )
    return exits.ERROR if code is None else code


def _piped_lines() -> list[str] | int:
    """The lines of standard input, or the exit code, once it was said what is wrong with it."""
    import asyncio
    import shutil

    from gshtui.headless.streams import piped_input

    piped = asyncio.run(piped_input())
    if piped.file:
        shutil.rmtree(os.path.dirname(piped.file), ignore_errors=True)  # noqa: PTH120 - pathlib is not loaded
        complain("standard input is no text.", "Lines of commands are read from it.")
        return exits.USAGE
    lines = [line for line in piped.text.splitlines() if line.strip()]
    if piped.cut or not lines:
        complain("standard input is too long." if piped.cut else "there is no LINE to run.", "gsh-tui run 'help'")
        return exits.USAGE
    return lines


def _run_on_settings(line: str, options: LineOptions) -> int:
    """Run a line about the hub itself, which cannot do it; returns the exit code."""
    from gshtui.commands.declaration import Caller
    from gshtui.commands.evaluation import run_line
    from gshtui.commands.printed_outcome import line_printed
    from gshtui.headless.commands.command_hub import on_settings
    from gshtui.headless.outcomes import print_outcome
    from gshtui.headless.runner import run_command, until_stopped
    from gshtui.headless.streams import STDOUT, is_terminal
    from gshtui.hub.faces.local_commands import LocalCommands

    async def run(host: LocalCommands) -> int:
        outcome = await run_line(host.registry, line.lstrip("/ "), host.invocation(Caller()))
        return print_outcome(line_printed(outcome, as_json=options.json, plain=is_terminal(STDOUT)))

    return run_command(lambda stop: until_stopped(on_settings(run, flags=options.flags), stop))

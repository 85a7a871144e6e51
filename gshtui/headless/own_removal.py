"""Takes away what the program has set up outside its folder, after one question; never conversations or settings."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

from gshtui.fleet import keeper_unit
from gshtui.headless import exits, streams
from gshtui.headless.own_update import removal
from gshtui.settings import paths
from gshtui.shell import plugin, startup_file
from gshtui.shell.startup_file import StartupError


def uninstall(run: Callable[[list[str]], int], *, yes: bool, as_json: bool) -> int:
    """Show what goes, ask, and remove it; returns the exit code. `run`: runs a command line of ours."""
    lines: dict[str, Path] = {}
    for shell in plugin.SHELLS:
        with contextlib.suppress(StartupError, paths.FolderError):
            if startup_file.has_line(file := startup_file.file_of(shell, os.environ)):
                lines[shell] = file
    unit = keeper_unit.planned((sys.executable,), sys.platform)
    has_unit = keeper_unit.is_there(unit)
    plan = [f"the line in {file}" for file in lines.values()]
    plan += [f"the keeper's unit {unit.file}"] if has_unit else []
    if not yes and not (streams.is_terminal(0) and streams.is_terminal(2)):
        streams.show_question("\n  ".join(["This would be removed, and the keeper stopped:", *plan]))
        streams.complain("nobody is there to ask.", streams.ANYWAY)
        return exits.DENIED
    said = "".join(f"  {one}\n" for one in plan) or "  nothing in your files\n"
    if not yes and not streams.ask_yes_no(f"Remove this, and stop the keeper?\n{said}"):
        return exits.DENIED
    code = exits.DONE
    for file in lines.values():
        try:
            startup_file.take_out(file)
        except StartupError as error:
            streams.complain(str(error))
            code = exits.ERROR
    if has_unit:
        code = run(["hub", "install", "--remove", "--yes"]) or code
    code = run(["hub", "stop"]) or code
    kept = [str(paths.data_dir(create=False)), str(paths.state_dir(create=False)), str(paths.config_dir())]
    if as_json:
        streams.result_json({"removed": plan, "kept": kept, "program": removal()})
        return code
    streams.result(
        f"Your conversations, logs and configuration stay in {', '.join(kept)}. Agents that run go on; `agent ls` lists"
        f" them.\nThe program itself: {removal()}"
    )
    return code

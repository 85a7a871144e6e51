"""Takes away what the program has set up outside its folder, after one question; its data only where that is wanted."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from gshtui.fleet.keeper import keeper_unit
from gshtui.headless import exits, streams
from gshtui.headless.program.own_update import removal
from gshtui.settings import paths
from gshtui.shell import plugin, startup_file
from gshtui.shell.startup_file import StartupError
from gshtui.system.installation import own_command
from gshtui.system.struct_types import learned


def uninstall(run: Callable[[list[str]], int], *, data: bool, yes: bool, as_json: bool) -> int:
    """Show what goes, ask, and remove it; returns the exit code.

    Args:
        run: runs a command line of ours.
        data: conversations, logs and configuration go, too. Refused while agents run, whose record they are.
        yes: it was asked for already.
        as_json: the result as JSON.
    """
    folders = list(dict.fromkeys((paths.data_dir(create=False), paths.state_dir(create=False), paths.config_dir())))
    folders = [folder for folder in folders if folder.is_dir()]
    if data and (running := _running()):
        streams.complain(f"{running}; their conversations are in what would be removed.", "End them: `agent kill ID`.")
        return exits.ERROR
    lines: dict[str, Path] = {}
    for shell in plugin.SHELLS:
        with contextlib.suppress(StartupError, paths.FolderError):
            if startup_file.has_line(file := startup_file.file_of(shell, os.environ)):
                lines[shell] = file
    unit = keeper_unit.planned((sys.executable,), sys.platform)
    has_unit = keeper_unit.is_there(unit)
    plan = [f"the line in {file}" for file in lines.values()]
    plan += [f"the hub's unit {unit.file}"] if has_unit else []
    links = _links()
    plan += [f"the link {link}" for link in links]
    plan += [f"all that is in {folder}" for folder in folders] if data else []
    if not yes and not (streams.is_terminal(0) and streams.is_terminal(2)):
        streams.decline("\n  ".join(["This would be removed, and the hub stopped:", *plan]))
        return exits.DENIED
    said = "".join(f"  {one}\n" for one in plan) or "  nothing in your files\n"
    if not yes and not streams.ask_yes_no(f"Remove this, and stop the hub?\n{said}"):
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
    code = run(["hub", "stop", "--yes"]) or code
    for link in links:
        code = _removed(link.unlink) or code
    for folder in folders if data else ():
        code = _removed(lambda folder=folder: shutil.rmtree(folder)) or code
    kept = [] if data else [str(folder) for folder in folders]
    if as_json:
        streams.result_json({"removed": plan, "kept": kept, "program": removal()})
        return code
    stays = (
        f"Your conversations, logs and configuration stay in {', '.join(kept)} (`--data` removes them, too). "
        if kept
        else ""
    )
    on = "" if data else "Agents that run go on; `agent ls` lists them."
    streams.result(f"{stays}{on}\nThe program itself: {removal()}".strip())
    return code


def _running() -> str:
    """Which agents of this data folder run, as a clause; empty: none does."""
    listed = subprocess.run(
        own_command("agent", "ls", "--json"),
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    try:
        rows: list[dict[str, object]] = msgspec.json.decode(listed.stdout, type=learned(list[dict[str, object]]))
    except msgspec.DecodeError:
        return "it cannot be told whether agents run"
    names = [str(row.get("name")) for row in rows if row.get("status") not in ("done", "failed", "lost")]
    return f"agents run ({', '.join(names[:5])})" if names else ""


def _links() -> list[Path]:
    """The names in ~/.local/bin that lead to this very program, as setting up a clone makes them."""
    programs = Path(sys.prefix) / "bin"
    places = [Path.home() / ".local/bin" / name for name in ("gsh-tui", "gsh")]
    return [one for one in places if one.is_symlink() and one.readlink().parent == programs]


def _removed(remove: Callable[[], None]) -> int:
    try:
        remove()
    except OSError as error:
        streams.complain(f"{error.filename}: {error.strerror}.")
        return exits.ERROR
    return exits.DONE

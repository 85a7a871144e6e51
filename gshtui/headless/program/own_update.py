"""How this program was installed, the command that brings a newer version the same way, and removal of what it has set
up.

Removal is outside its folder, after one question; its data goes only where that is wanted.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from gshtui import __version__
from gshtui.fleet.keeper import keeper_unit
from gshtui.headless import exits, streams
from gshtui.settings import paths
from gshtui.shell import plugin, startup_file
from gshtui.shell.startup_file import StartupError
from gshtui.system.installation import own_command
from gshtui.system.json_types import is_object
from gshtui.system.struct_types import learned

_NAME = "gsh-tui"


class Installation(msgspec.Struct, frozen=True):
    """How it came here. `commands` are empty where nothing can be said but to do it again."""

    source: str
    commands: tuple[tuple[str, ...], ...] = ()
    again: str = ""
    """What to do where there is no command."""


def installation() -> Installation:
    """How this very program was installed."""
    try:
        found = metadata.distribution(_NAME)
    except metadata.PackageNotFoundError:
        return Installation("files that no installer knows", again="Install it anew.")
    try:
        origin: object = json.loads(found.read_text("direct_url.json") or "null")
    except ValueError:
        origin = None
    return described(origin, sys.prefix, sys.executable)


def described(origin: object, prefix: str, python: str) -> Installation:
    """What the installer's note about its origin (PEP 610; `None`: an index) means in this environment."""
    url = str(origin.get("url", "")) if is_object(origin) else ""
    place = Path(prefix)
    by_uv, by_pipx = "uv/tools" in place.as_posix(), "pipx/venvs" in place.as_posix()
    if not url:
        again = (
            ("uv", "tool", "upgrade", _NAME)
            if by_uv
            else ("pipx", "upgrade", _NAME)
            if by_pipx
            else (python, "-P", "-m", "pip", "install", "--upgrade", _NAME)
        )
        return Installation("a package index", (again,))
    if not url.startswith("file:"):
        again = (
            ("uv", "tool", "upgrade", _NAME)
            if by_uv
            else ("pipx", "install", "--force", url)
            if by_pipx
            else (python, "-P", "-m", "pip", "install", "--upgrade", "--force-reinstall", "--no-deps", url)
        )
        return Installation(url, (again,) if not url.endswith(".whl") else (), "Install the newer wheel the same way.")
    folder = Path(unquote(urlsplit(url).path))
    if (folder / ".git").exists() and (folder / ".ci" / "setup").is_file():
        return Installation(
            f"the clone in {folder}",
            (("git", "-C", str(folder), "pull", "--ff-only"), (str(folder / ".ci" / "setup"),)),
        )
    return Installation(str(folder), again="Install the newer one the same way.")


def update(*, yes: bool, as_json: bool) -> int:
    """Say how, ask, and do it; returns the exit code."""
    here = installation()
    lines = [shlex.join(command) for command in here.commands]
    data: dict[str, Any] = {"version": __version__, "source": here.source, "commands": lines}
    if not here.commands:
        if as_json:
            streams.result_json(data)
        else:
            streams.result(f"gsh-tui {__version__} was installed from {here.source}. {here.again}")
        return exits.DONE
    text = f"gsh-tui {__version__} was installed from {here.source}. It is updated by:\n" + "".join(
        f"  {line}\n" for line in lines
    )
    if not yes:
        if not (streams.is_terminal(0) and streams.is_terminal(2)) or as_json:
            if as_json:
                streams.result_json(data)
            else:
                streams.decline(text.rstrip("\n"))
            return exits.DENIED
        if not streams.ask_yes_no(f"{text}Run it?"):
            return exits.DENIED
    return _run(here.commands, data, as_json=as_json)


def _run(commands: tuple[tuple[str, ...], ...], data: dict[str, Any], *, as_json: bool) -> int:
    import subprocess

    for command in commands:
        try:
            # What it says is progress, which scripts do not read.
            code = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=2, check=False).returncode
        except OSError as error:
            streams.complain(f"cannot run {command[0]}: {error.strerror}.")
            return exits.ERROR
        if code:
            streams.complain(f"`{shlex.join(command)}` ended with exit code {code}; what ran before it stays.")
            return exits.ERROR
    if as_json:
        streams.result_json(data)
    return exits.DONE


def removal() -> str:
    """How the program itself is removed, as a sentence."""
    place, here = Path(sys.prefix).as_posix(), installation()
    if here.commands[:1] and here.commands[0][:2] == ("git", "-C"):
        return f"remove the folder {here.commands[0][2]}."
    command = (
        ("uv", "tool", "uninstall", _NAME)
        if "uv/tools" in place
        else ("pipx", "uninstall", _NAME)
        if "pipx/venvs" in place
        else (sys.executable, "-P", "-m", "pip", "uninstall", _NAME)
    )
    return f"`{shlex.join(command)}`."


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

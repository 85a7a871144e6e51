"""How this program was installed, and the command that brings a newer version the same way."""

from __future__ import annotations

import json
import shlex
import sys
from importlib import metadata
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import msgspec

from gshtui import __version__
from gshtui.headless import exits, streams
from gshtui.system.json_types import is_object

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

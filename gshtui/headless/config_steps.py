"""`gsh-tui config …`: the `config` command without a hub, and the two steps of it that need a person's terminal.

Works while a window is open and without any other part. Called by `cli`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gshtui.headless import exits, streams
from gshtui.headless.command_hub import working_folder

if TYPE_CHECKING:
    from pathlib import Path

    from gshtui.commands.declaration import Outcome
    from gshtui.settings.loader import Loaded

_SHOWN = 64 * 1024
"""Bytes of a file that a person is shown before they trust it."""


def config(action: str, key: str = "", value: str = "", *, flags: Mapping[str, Any], as_json: bool) -> int:
    """Run the command with these parameters; gives the exit code."""
    from gshtui.settings.loader import load

    loaded = load(working_folder(), flags=flags)
    if action != "show":  # which says them itself
        _say_problems(loaded)
    return _command(loaded, {"action": action, "key": key, "value": value}, as_json=as_json)


def edit(*, as_json: bool) -> int:
    """Open the user's file in an editor, then say what is wrong with it."""
    from gshtui.settings.loader import load
    from gshtui.settings.user_config import EditError, make_ready

    if not (os.isatty(0) and os.isatty(1)):
        streams.complain("`config edit` opens an editor and needs a terminal; `config set KEY VALUE` does not.")
        return exits.USAGE
    try:
        file = make_ready()
        words = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or _some_editor())
    except (EditError, ValueError) as error:
        streams.complain(str(error))
        return exits.ERROR
    if not words or shutil.which(words[0]) is None:
        streams.complain(f"there is no editor{f' {words[0]!r}' if words else ''} here; set EDITOR, or edit {file}.")
        return exits.UNREACHABLE
    code = subprocess.run([*words, str(file)], check=False).returncode
    after = load(working_folder())
    _say_problems(after)
    _tell_shells()
    if as_json:
        from gshtui.commands.config_commands import problem_data

        streams.result_json({"file": str(file), "problems": [problem_data(problem) for problem in after.problems]})
    return exits.ERROR if code else exits.DONE


def trust(*, revoke: bool, yes: bool, as_json: bool) -> int:
    """Trust the project's configuration, exactly as the person has seen it."""
    from gshtui.commands.config_commands import project_bytes, trusting
    from gshtui.commands.declaration import CommandError
    from gshtui.settings import paths
    from gshtui.settings.loader import load
    from gshtui.settings.trust import brought, differences

    loaded = load(working_folder())
    if revoke:
        return _command(loaded, {"action": "untrust"}, as_json=as_json)
    try:
        raw, files = project_bytes(loaded), brought(loaded.project)
        if not yes:
            if not (os.isatty(0) and os.isatty(2)):
                streams.complain("trusting a folder is a person's decision, and nobody is here to ask; or give --yes.")
                return exits.DENIED
            file = paths.project_config_file(loaded.project)
            said = f"There is no {file}." if raw is None else f"{file} says:\n\n{raw.decode('utf-8', 'replace')}"
            changes = "".join(_shown_change(loaded.project, *found) for found in differences(loaded.project, files))
            if not streams.ask_yes_no(f"{said}\n{changes}Trust {loaded.project}?"):
                streams.complain("it is not trusted.")
                return exits.DENIED
        return _written(trusting(loaded, raw, files), as_json=as_json)
    except CommandError as error:
        streams.complain(str(error))
        return exits.ERROR


def _shown_change(project: Path, name: str, how: str) -> str:
    """A file that the folder brings otherwise than it was trusted, as it is now."""
    if how == "removed":
        return f"\n{name} is gone.\n"
    try:
        with (project / name).open("rb") as file:
            text = file.read(_SHOWN).decode("utf-8", "replace")
            more = "\n[more of it is not shown]" if file.read(1) else ""
    except OSError as error:
        text, more = f"it cannot be read: {error.strerror or error}", ""
    return f"\n{name} ({how}) says:\n\n{text.rstrip()}{more}\n"


def _command(loaded: Loaded, arguments: dict[str, Any], *, as_json: bool) -> int:
    from gshtui.commands.config_commands import commands
    from gshtui.commands.declaration import Caller, CommandError, Invocation, UsageError
    from gshtui.commands.execution import run_call

    invocation = Invocation(Caller(), loaded.cwd, loaded.project)
    try:
        outcome = asyncio.run(run_call(commands(loaded)[0], arguments, invocation))
    except CommandError as error:
        streams.complain(str(error))
        return exits.USAGE if isinstance(error, UsageError) else exits.ERROR
    if arguments["action"] == "set":
        _tell_shells()
    return _written(outcome, as_json=as_json)


def _tell_shells() -> None:
    """Have the shells' plugins know what was changed."""
    from gshtui.settings.loader import load
    from gshtui.shell import plugin_files

    with contextlib.suppress(OSError):  # then they keep what they know
        plugin_files.write_options(load(working_folder()).settings)


def _written(outcome: Outcome, *, as_json: bool) -> int:
    if as_json:
        streams.result_json(outcome.data)
    else:
        streams.result(outcome.text)
    return exits.DONE


def _say_problems(loaded: Loaded) -> None:
    for problem in loaded.problems:
        if problem.level == "warning":
            streams.complain(str(problem))


def _some_editor() -> str:
    return next((name for name in ("vi", "nano") if shutil.which(name)), "vi")

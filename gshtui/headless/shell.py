"""`gsh-tui shell install|uninstall|pause|resume`: the plugin's line in a start-up file, and whether it records.

Changes nothing that it has not shown. Called by `cli`.
"""

from __future__ import annotations

import os
from typing import Any

from gshtui.headless import exits, streams
from gshtui.headless.surroundings import loaded_here
from gshtui.settings.paths import FolderError
from gshtui.shell import options, plugin, startup_file
from gshtui.shell.startup_file import Change, StartupError


def install(shell: str, *, yes: bool, as_json: bool) -> int:
    """Add the line, after a question; gives the exit code."""
    try:
        file = startup_file.file_of(shell, os.environ)
        there = startup_file.has_line(file)
        if there == plugin.line(shell):
            tell_plugins()
            return _done(Change(file, changed=False), f"{file} has the line already.", shell, as_json)
        if not yes:
            if not (os.isatty(0) and os.isatty(2)):
                streams.complain(
                    "changing your start-up file needs your word, and nobody is here to ask; or give --yes."
                )
                return exits.DENIED
            kept = "A copy of the file is kept beside it." if file.exists() else "The file is new."
            said = f"{'Replaces' if there else 'Adds'} this line in {file}:\n\n  {plugin.line(shell)}\n\n{kept}"
            if not streams.asked(f"{said} Do it?"):
                streams.complain("nothing was changed.")
                return exits.DENIED
        change = startup_file.add(shell, file)
    except (StartupError, FolderError) as error:
        streams.complain(str(error), f"For this shell alone: source {plugin.quoted(plugin.path(shell))}")
        return exits.ERROR
    tell_plugins()
    text = f"{file} has the line now; new shells report. For this one: source {plugin.quoted(plugin.path(shell))}"
    return _done(change, text, shell, as_json)


def uninstall(shell: str, *, as_json: bool) -> int:
    """Take the line out; gives the exit code."""
    try:
        change = startup_file.take_out(startup_file.file_of(shell, os.environ))
    except (StartupError, FolderError) as error:
        streams.complain(str(error))
        return exits.ERROR
    text = f"{change.file} has the line no more." if change.changed else f"{change.file} has no such line."
    return _done(change, text, shell, as_json)


def pause(on: bool, *, as_json: bool) -> int:
    """Record nothing, or record again; gives the exit code."""
    try:
        options.pause() if on else options.resume()
    except OSError as error:
        streams.complain(f"that cannot be noted in {options.folder()}: {error.strerror or error}.")
        return exits.ERROR
    if not on:
        tell_plugins()
    text = "Nothing is recorded now; `gsh-tui shell resume` goes on." if on else "Your shells report again."
    return _say({"paused": on}, text, as_json)


def tell_plugins() -> None:
    """Have the plugins know the settings; a folder that cannot be written is said and stops nothing."""
    try:
        options.write(loaded_here().settings)
    except OSError as error:
        streams.complain(
            f"the plugin keeps its defaults, for its options cannot be written: {error.strerror or error}."
        )


def _done(change: Change, text: str, shell: str, as_json: bool) -> int:
    if change.backup is not None:
        text += f"\nThe file as it was: {change.backup}"
    data = {
        "shell": shell,
        "file": str(change.file),
        "changed": change.changed,
        "line": plugin.line(shell),
        "backup": str(change.backup or ""),
    }
    return _say(data, text, as_json)


def _say(data: dict[str, Any], text: str, as_json: bool) -> int:
    if as_json:
        streams.result_json(data)
    else:
        streams.result(text)
    return exits.DONE

"""`gsh-tui config edit`: opens the user's file in their editor, then reports its problems.

Not a declared command: it gives the terminal to another program, and judges the file as that leaves it. Works while a
window is open. Called by `cli`.
"""

from __future__ import annotations

import contextlib
import os

from gshtui.headless import exits, streams
from gshtui.headless.called_here import working_folder
from gshtui.headless.text_editor import edit_file
from gshtui.system.editor_command import EditorError, NoEditorError


def edit(*, as_json: bool) -> int:
    """Open the user's file in an editor, then report its problems; returns the exit code."""
    from gshtui.settings.loader import load
    from gshtui.settings.user_config import EditError, make_ready
    from gshtui.shell import plugin_files

    if not (os.isatty(0) and os.isatty(1)):
        streams.complain("`config edit` opens an editor and needs a terminal; `config set KEY VALUE` does not.")
        return exits.USAGE
    try:
        file = make_ready()
    except EditError as error:
        streams.complain(str(error))
        return exits.ERROR
    code = exits.DONE
    try:
        edit_file(file)
    except EditorError as error:
        streams.complain(f"{error} The file is {file}.")
        code = exits.UNREACHABLE if isinstance(error, NoEditorError) else exits.ERROR
    after = load(working_folder())
    for problem in after.problems:
        if problem.level == "warning":
            streams.complain(str(problem))
    with contextlib.suppress(OSError):  # then the shells' plugins keep what they know
        plugin_files.write_options(after.settings)
    if as_json:
        from gshtui.commands.config_commands import problem_data

        streams.result_json({"file": str(file), "problems": [problem_data(problem) for problem in after.problems]})
    return code

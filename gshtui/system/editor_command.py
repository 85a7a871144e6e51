"""The person's editor: which program it is, and what to say when it left no new text. Starts nothing."""

from __future__ import annotations

import shlex
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path

from gshtui.system.expected_error import ExpectedError

_VARIABLES = ("VISUAL", "EDITOR")
_FALLBACKS = ("editor", "nano", "vim", "vi")
"""`editor` is Debian's name for the one that the machine's owner has chosen."""
_SET_ONE = "Set $VISUAL or $EDITOR to the one you use."


class EditorError(ExpectedError):
    """No new text; one sentence that says why, and what to do."""


class NoEditorError(EditorError):
    """There is none that could be started."""


def editor_argv(environ: Mapping[str, str]) -> list[str]:
    """The person's editor: `$VISUAL`, `$EDITOR`, else the first installed one of the usual ones.
    Raises `NoEditorError`: there is none, or the variable cannot be read as a command.
    """
    path = environ.get("PATH")
    for name in _VARIABLES:
        if not (value := environ.get(name, "").strip()):
            continue
        try:
            argv = shlex.split(value)
        except ValueError as error:
            raise NoEditorError(f"${name} is not a command ({error}): {value}") from error
        if not argv or shutil.which(argv[0], path=path) is None:
            raise NoEditorError(f"${name} names {value!r}, which is not installed or not on the PATH.")
        return argv
    # `sensible-editor` opens a menu for those who have never chosen, which leaves no text.
    chosen = Path(environ.get("HOME", "/nonexistent"), ".selected_editor").is_file()
    for name in ("sensible-editor", *_FALLBACKS) if chosen else _FALLBACKS:
        if shutil.which(name, path=path):
            return [name]
    raise NoEditorError("No editor found.", _SET_ONE)


def editor_failure(argv: list[str], code: int, environ: Mapping[str, str]) -> EditorError:
    """What to say of an editor that ended with this code, below 0: by that signal."""
    name = Path(argv[0]).name
    try:
        ended = f"exited with code {code}" if code > 0 else f"was ended by {signal.Signals(-code).name}"
    except ValueError:
        ended = f"was ended by signal {-code}"
    ours = not any(environ.get(variable, "").strip() for variable in _VARIABLES)
    return EditorError(f"{name} {ended}; nothing was changed.", _SET_ONE if ours else "")

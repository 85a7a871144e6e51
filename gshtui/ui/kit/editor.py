"""A text written in the person's own editor: which one, the file between, and what can go wrong.

The event loop goes on while the editor has the terminal, so agents work on. The text comes back, or `EditorError` says
why not; it is never lost here. Called by `PromptInput`.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported

from gshtui.ui.kit.handoff import handoff

FALLBACKS = ("sensible-editor", "nano", "vim", "vi")


class EditorError(Exception):
    """No new text; one sentence that says why and what to do."""


def editor_argv(environ: Mapping[str, str]) -> list[str]:
    """The person's editor: `$VISUAL`, `$EDITOR`, else the first of the usual ones that is installed.

    Raises:
        EditorError: there is none, or the variable cannot be read as a command.
    """
    for name in ("VISUAL", "EDITOR"):
        if not (value := environ.get(name, "").strip()):
            continue
        try:
            argv = shlex.split(value)
        except ValueError as error:
            raise EditorError(f"${name} is not a command ({error}): {value}") from error
        if shutil.which(argv[0], path=environ.get("PATH")) is None:
            raise EditorError(f"${name} names {argv[0]!r}, which is not installed or not on the PATH.")
        return argv
    for name in FALLBACKS:
        if shutil.which(name, path=environ.get("PATH")):
            return [name]
    raise EditorError("No editor was found. Set $VISUAL or $EDITOR to the one you use.")


async def edited(app: App[Any], text: str) -> str:
    """The text as the person leaves it in their editor.

    Raises:
        EditorError: no editor, it failed, or what it left cannot be read.
    """
    argv = editor_argv(os.environ)
    name = Path(argv[0]).name
    with tempfile.TemporaryDirectory(prefix="gsh-") as folder:  # 0700
        file = Path(folder) / "prompt.md"
        file.write_bytes(text.encode(errors="surrogateescape"))
        code = await _run(app, [*argv, str(file)])
        if code:
            raise EditorError(f"{name} ended with {code}; what was written before is kept.")
        try:
            left = file.read_bytes().decode()
        except FileNotFoundError:
            raise EditorError(f"{name} removed its file; what was written before is kept.") from None
        except UnicodeDecodeError:
            raise EditorError(f"{name} left no UTF-8 text; what was written before is kept.") from None
    # An editor ends its last line with a newline that nobody typed.
    return left if text.endswith("\n") else left.removesuffix("\n")


async def _run(app: App[Any], argv: list[str]) -> int:
    try:
        with handoff(app):
            process = await asyncio.create_subprocess_exec(*argv)
            try:
                return await process.wait()
            except asyncio.CancelledError:
                process.terminate()
                raise
    except SuspendNotSupported:
        raise EditorError("An editor cannot be opened here: this terminal is not ours to give away.") from None
    except OSError as error:
        raise EditorError(f"{Path(argv[0]).name} did not start: {error.strerror or error}.") from error

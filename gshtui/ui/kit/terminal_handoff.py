"""Giving the terminal away for a while: to the person's editor, to `tmux attach`, to the shell that started us.

Nothing is repainted meanwhile, the event loop goes on, and the window comes back whatever happens. A text that was
written in an editor comes back, or `EditorError` says why not.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported


@contextmanager
def handoff(app: App[Any]) -> Generator[None]:
    """The terminal is the block's own. Blocking in it, or awaiting, are both fine; an exception comes out afterwards.

    Raises:
        textual.app.SuspendNotSupported: the window is not on a terminal.
    """
    error: BaseException | None = None
    # Repaints while suspended would fill the writer's queue and stop the loop for good, so there are none; and an
    # exception that left `suspend` would leave the terminal without its window.
    with app.batch_update(), app.suspend():
        try:
            yield
        except BaseException as raised:
            error = raised
    app.refresh(layout=True)
    if error is not None:
        raise error


def has_job_control() -> bool:
    """Whether a shell started us that can bring us back: without one, a stopped window would be stopped for ever."""
    try:
        return os.getsid(0) != os.getpgrp()
    except OSError:
        return False


def sleep_until_continued(app: App[Any]) -> None:
    """Stop this process as ctrl+z does; the shell's `fg` continues it. Only where `has_job_control`."""
    with app.batch_update():
        os.kill(os.getpid(), signal.SIGTSTP)
    app.refresh(layout=True)


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


async def edit_text(app: App[Any], text: str) -> str:
    """The text as the person leaves it in their editor.

    Raises:
        EditorError: no editor, it failed, or what it left cannot be read.
    """
    argv = editor_argv(os.environ)
    name = Path(argv[0]).name
    with tempfile.TemporaryDirectory(prefix="gsh-") as folder:  # 0700
        file = Path(folder) / "prompt.md"
        file.write_bytes(text.encode(errors="surrogateescape"))
        code = await _run_editor(app, [*argv, str(file)])
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


async def _run_editor(app: App[Any], argv: list[str]) -> int:
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

"""Hands the terminal over for a while: to the person's editor, to `tmux attach`, to the parent shell.

Meanwhile nothing is repainted, the event loop keeps running, and the window comes back whatever happens. An edited
text comes back, or `EditorError` says why not.
"""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from textual.app import App, SuspendNotSupported

from gshtui.system.editor_command import EditorError, editor_argv, editor_failure
from gshtui.system.processes.processes import start_child


@contextmanager
def handoff(app: App[Any]) -> Generator[None]:
    """The block owns the terminal. It may block or await; an exception propagates afterwards. Raises
    `SuspendNotSupported`: the window is not on a terminal.
    """
    error: BaseException | None = None
    # Repaints while suspended would fill the writer's queue and stop the loop for good, so there are none; and an
    # exception that left `suspend` would leave the terminal without its window.
    with app.batch_update(), _keys_spare_us(), app.suspend():
        try:
            yield
        except BaseException as raised:
            error = raised
    app.refresh(layout=True)
    if error is not None:
        raise error


@contextmanager
def _keys_spare_us() -> Generator[None]:
    """What ctrl+c and ctrl+\\ send reaches our process too, and is for the other program only (as `system(3)` has it).

    A handler that does nothing, not "ignore": what is ignored stays ignored in the program that is started.
    """

    def spare(_number: int, _frame: object) -> None:
        pass

    before = {number: signal.signal(number, spare) for number in (signal.SIGINT, signal.SIGQUIT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def has_job_control() -> bool:
    """Whether a parent shell can resume us: without one, a stopped window would stay stopped forever."""
    try:
        return os.getsid(0) != os.getpgrp()
    except OSError:
        return False


def sleep_until_continued(app: App[Any]) -> None:
    """Stop this process as ctrl+z does; the shell's `fg` continues it. Only where `has_job_control`."""
    with app.batch_update():
        os.kill(os.getpid(), signal.SIGTSTP)
    app.refresh(layout=True)


async def edit_text(app: App[Any], text: str) -> str:
    """The text as the person leaves it in their editor. Raises `EditorError`: there is no editor, it failed, or its
    text cannot be read.
    """
    argv = editor_argv(os.environ)
    name = Path(argv[0]).name
    with tempfile.TemporaryDirectory(prefix="gsh-") as folder:  # 0700
        file = Path(folder) / "prompt.md"
        file.write_bytes(text.encode(errors="surrogateescape"))
        code = await _run_editor(app, [*argv, str(file)])
        if code:
            raise editor_failure(argv, code, os.environ)
        try:
            left = file.read_bytes().decode()
        except FileNotFoundError:
            raise EditorError(f"{name} removed its file; your text is as it was.") from None
        except UnicodeDecodeError:
            raise EditorError(f"{name} saved text that is not UTF-8; your text is as it was.") from None
    # An editor ends its last line with a newline that nobody typed.
    return left if text.endswith("\n") else left.removesuffix("\n")


async def edit_file(app: App[Any], file: Path, environ: Mapping[str, str]) -> None:
    """Let the person change a file in their editor. Raises `EditorError`: there is no editor, or it failed."""
    argv = editor_argv(environ)
    if code := await _run_editor(app, [*argv, str(file)]):
        raise editor_failure(argv, code, environ)


async def run_program(app: App[Any], argv: list[str], cwd: Path | None = None) -> int:
    """Run a program on the terminal in place of the window; returns its exit code.

    Raises:
        textual.app.SuspendNotSupported: the window is not on a terminal.
        OSError: it did not start.
    """
    with handoff(app):
        process = await start_child(*argv, cwd=cwd)
        try:
            return await process.wait()
        except asyncio.CancelledError:
            process.terminate()
            raise


async def _run_editor(app: App[Any], argv: list[str]) -> int:
    try:
        return await run_program(app, argv)
    except SuspendNotSupported:
        raise EditorError("Can't open an editor here: it needs a terminal of its own.") from None
    except OSError as error:
        raise EditorError(f"{Path(argv[0]).name} did not start: {error.strerror or error}.") from error

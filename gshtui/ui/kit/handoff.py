"""Giving the terminal away for a while: to an editor, to `tmux attach`, to the shell that started us.

Owns the one safe way: nothing is repainted meanwhile, and the window comes back whatever happens. Refuses to start
programs itself. Called by the input line, by panes that attach, and by the app.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from textual.app import App


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

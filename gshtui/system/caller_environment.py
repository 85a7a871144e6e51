"""The environment of whoever the running work is for: that of the face which asked for it, else this process's own.

One hub works for several folders and terminals, each with variables of its own. They travel with the task, and with
the threads that it waits for (`contextvars`); whoever begins work for a face says whose it is.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

_CALLER: ContextVar[Mapping[str, str] | None] = ContextVar("caller's environment", default=None)


def caller_environ() -> Mapping[str, str]:
    """The variables of whoever this runs for."""
    given = _CALLER.get()
    return os.environ if given is None else given


@contextmanager
def working_for(environ: Mapping[str, str]) -> Generator[None]:
    """What begins in this block, tasks included, runs for whoever has these variables."""
    token = _CALLER.set(environ)
    try:
        yield
    finally:
        _CALLER.reset(token)

"""A limit on the processor time of a piece of code that cannot be asked to stop, such as somebody else's expressions.

Python's `re` holds the interpreter while it backtracks, but it looks for signals; so a timer of the process can end it.
Only the main thread gets signals, so only there it can be used; refuses to be nested.
"""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

_AGAIN = 0.05
"""Seconds until the timer rings again, where the code has swallowed the exception."""


class DeadlinePassed(Exception):
    """The code took more processor time than it was given."""


@contextmanager
def deadline(seconds: float) -> Generator[None]:
    """End what is inside with `DeadlinePassed` after so many seconds of the process's own time.

    Raises:
        RuntimeError: not in the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("only the main thread can be interrupted")
    armed = True

    def end(number: int, frame: FrameType | None) -> None:
        if armed:  # a signal may be on its way when the code is done
            raise DeadlinePassed

    before = signal.signal(signal.SIGVTALRM, end)
    # What is raised in a callback of the garbage collector is lost; so it waits, and the timer rings again.
    collects = gc.isenabled()
    gc.disable()
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, _AGAIN)
    try:
        yield
    finally:
        armed = False
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        if collects:
            gc.enable()

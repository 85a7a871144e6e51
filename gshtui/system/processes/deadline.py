"""A limit on the processor time of code that cannot be asked to stop, such as other people's regular expressions.

Python's `re` holds the interpreter while it backtracks, but checks for signals, so a process timer can end it. Only
the main thread receives signals, so it works only there; it cannot be nested.
"""

from __future__ import annotations

import gc
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

_AGAIN = 0.05
"""Seconds until the timer fires again if the code swallowed the exception."""


class DeadlinePassed(Exception):
    """The code took more processor time than allowed."""


@contextmanager
def deadline(seconds: float) -> Generator[None]:
    """End the block with `DeadlinePassed` after so many seconds of the process's own time. Raises `RuntimeError`: not
    in the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        raise RuntimeError("only the main thread can be interrupted")
    armed = True

    def end(number: int, frame: FrameType | None) -> None:
        if armed:  # a signal may be pending when the code is done
            raise DeadlinePassed

    before = signal.signal(signal.SIGVTALRM, end)
    # An exception in a callback of the garbage collector is lost, so wait for the timer to fire again.
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

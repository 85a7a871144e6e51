"""The signals that end a window. At the first it leaves as its person would: what was accepted and said is on disk, and
the terminal is put back. A second one, or a window that has not left in time, ends the process at once, with the
commands that its agents run.

Its terminal that hangs up is such a signal, too, whether the system sends one or not.
"""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from functools import partial

from gshtui.system.processes.processes import kill_calls

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
_LEAVES_WITHIN = 10.0
"""Seconds."""


class EndSignals:
    """See the module.

    Args:
        leave: have the window leave; called once, in its loop.
        abandon: put the terminal back, whatever else waits to be written to it.
    """

    def __init__(self, leave: Callable[[], None], abandon: Callable[[], None]) -> None:
        self._leave = leave
        self._abandon = abandon
        self.told = 0
        """The signal that came; 0: none."""

    def listen(self) -> None:
        """Take the signals, until this loop is closed."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, partial(self._take, number))

    def _take(self, number: int) -> None:
        if self.told:
            if number != signal.SIGHUP:  # of a terminal that hangs up is heard twice
                self._end_at_once()
        else:
            self.told = number
            asyncio.get_running_loop().call_later(_LEAVES_WITHIN, self._end_at_once)
            self._leave()

    def _end_at_once(self) -> None:
        self._abandon()
        kill_calls()
        self.end()

    def end(self) -> None:
        """End the process by the signal that came, so that whoever started it sees that; nothing if none came."""
        if self.told:
            signal.signal(self.told, signal.SIG_DFL)
            os.kill(os.getpid(), self.told)

"""The terminal's echo while a window starts: off before anything else is loaded, so that what is typed is shown once.

Owns the terminal's attributes until the first frame takes them over. What is typed meanwhile waits in the terminal.
Imports next to nothing. Called by the command line.
"""

import os
import signal
import termios

TYPE_CHECKING = False  # `typing` takes longer to import than this
if TYPE_CHECKING:
    from typing import Any


class TerminalEcho:
    """Either `handed_over` or `on` ends it; a signal that ends or stops the process turns the echo on again."""

    __slots__ = ("_before",)

    def __init__(self) -> None:
        self._before: list[Any] | None = None

    def off(self) -> None:
        """Stop the echo, where this is a terminal and ours."""
        try:
            if not os.isatty(0) or os.tcgetpgrp(0) != os.getpgrp():
                return
            before = termios.tcgetattr(0)
            quiet = [*before[:3], before[3] & ~termios.ECHO, *before[4:]]
            termios.tcsetattr(0, termios.TCSANOW, quiet)
        except (OSError, termios.error):
            return
        self._before = before
        self._pass_signals(signal.SIG_DFL, self._signalled)

    def on(self) -> None:
        """Put the terminal back. Harmless after the first time, and after the hand-over."""
        try:
            if self._before is not None:
                termios.tcsetattr(0, termios.TCSANOW, self.handed_over())
        except (OSError, termios.error):
            pass  # the terminal is gone

    def handed_over(self) -> "list[Any]":
        """The terminal's attributes as they were; who asks puts them back."""
        before, self._before = self._before, None
        self._pass_signals(self._signalled, signal.SIG_DFL)
        return before if before is not None else termios.tcgetattr(0)

    def _pass_signals(self, old: "Any", new: "Any") -> None:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGTSTP):
            if signal.getsignal(number) == old:
                signal.signal(number, new)

    def _signalled(self, number: int, _: object) -> None:
        self.on()
        os.kill(os.getpid(), number)
        self.off()  # it was stopped, and goes on


ECHO = TerminalEcho()
"""Of the one terminal that a process has."""

"""The keys of this process's terminal, as they are pressed, while a question is asked there.

Owns the terminal's modes, and puts them back; what was typed before is thrown away. Refuses to say what a key means.
Blocks: for a thread, or for a command that does nothing else meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import select
import termios
import time
import tty
from codecs import getincrementaldecoder
from collections.abc import Callable
from types import TracebackType
from typing import Any

from gshtui.guard.answer_keys import PAUSE, READ

_LOOK_EVERY = 0.1
"""Seconds between two looks at whether there is still something to wait for."""


class TerminalKeys:
    """Keys without echo, ctrl+c still an interrupt. To be entered; raises `OSError` where there is no terminal."""

    def __init__(self) -> None:
        self._terminal = -1
        self._before: list[Any] = []
        self._came = False
        self._decode = getincrementaldecoder("utf-8")("replace").decode

    def __enter__(self) -> TerminalKeys:
        self._terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            self._before = termios.tcgetattr(self._terminal)
            tty.setcbreak(self._terminal, termios.TCSAFLUSH)
        except termios.error as error:
            os.close(self._terminal)
            raise OSError(str(error)) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(self._terminal, termios.TCSADRAIN, self._before)
        os.close(self._terminal)

    def wait_for_quiet(self, over: Callable[[], bool] = lambda: False) -> None:
        """Return once what is on the terminal now has been there for a moment, and typing has paused.

        All that is typed until then is thrown away. `over`: there is nothing to wait for any more.
        """
        with contextlib.suppress(termios.error):
            termios.tcdrain(self._terminal)
        quiet_at = time.monotonic() + READ
        while not over() and (left := quiet_at - time.monotonic()) > 0:
            if self.read(min(left, _LOOK_EVERY)) == "":
                return
            if self._came:
                quiet_at = max(quiet_at, time.monotonic() + PAUSE)

    def forget(self) -> None:
        """Throw away what was typed and not read."""
        with contextlib.suppress(termios.error):
            termios.tcflush(self._terminal, termios.TCIFLUSH)

    def write(self, text: str) -> None:
        """Show a text of our own on the terminal. Raises `OSError`."""
        data = text.encode()
        while data:
            data = data[os.write(self._terminal, data) :]

    def read(self, timeout: float = _LOOK_EVERY) -> str | None:
        """What came in one piece; `None`: nothing did in that time, empty: nobody is at the terminal any more."""
        self._came = bool(select.select([self._terminal], [], [], timeout)[0])
        if not self._came:
            return None
        typed = os.read(self._terminal, 4_096)
        return self._decode(typed) or None if typed else ""

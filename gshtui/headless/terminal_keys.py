"""Reads keys from this process's terminal as they are pressed, while a question is open there.

Owns the terminal's modes and restores them; discards what was typed before. Does not interpret keys, but gives no part
of a sequence: its letters could be an answer. Blocks: for use in a thread, or in a command that does nothing else
meanwhile.
"""

from __future__ import annotations

import contextlib
import os
import select
import termios
import time
import tty
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, TypeVar

from gshtui.guard.approval.answer_keys import PAUSE, READ
from gshtui.system.face_mark import mark_face
from gshtui.text.terminal_sequences import (
    PASTE_BEGINS,
    PASTE_ENDS,
    TerminalReader,
    TerminalToken,
    terminal_decoder,
)

_R = TypeVar("_R")
_LOOK_EVERY = 0.1
"""Seconds between checks whether there is still something to wait for."""


class TerminalKeys:
    """Keys without echo; ctrl+c still interrupts. A context manager; entering raises `OSError` without a terminal."""

    def __init__(self, path: str = "/dev/tty") -> None:
        """`path`: the terminal; by default the one this process was started in."""
        self._path = path
        self._terminal = -1
        self._before: list[Any] = []
        self._came = False
        self._decode = terminal_decoder()
        self._reader = TerminalReader()

    def __enter__(self) -> TerminalKeys:
        mark_face()
        # Not blocking: ctrl+c empties the terminal's input, also between a look at it and the read.
        self._terminal = os.open(self._path, os.O_RDWR | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
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

    def lend(self, work: Callable[[], _R]) -> _R:
        """Do what needs the terminal as it was before, such as an editor; then read keys again."""
        with contextlib.suppress(termios.error):
            termios.tcsetattr(self._terminal, termios.TCSADRAIN, self._before)
        try:
            return work()
        finally:
            with contextlib.suppress(termios.error):
                tty.setcbreak(self._terminal, termios.TCSAFLUSH)

    def wait_for_quiet(self, over: Callable[[], bool] = lambda: False) -> None:
        """Return once the terminal's current content has been visible for a moment and typing has paused.

        Discards everything typed until then. `over`: returns true if there is nothing left to wait for.
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
        """Discard what was typed but not yet read."""
        self._reader = TerminalReader()
        with contextlib.suppress(termios.error):
            termios.tcflush(self._terminal, termios.TCIFLUSH)

    def write(self, text: str) -> None:
        """Write text of ours to the terminal. Raises `OSError`."""
        data = text.encode()
        while data:
            try:
                data = data[os.write(self._terminal, data) :]
            except BlockingIOError:
                select.select([], [self._terminal], [], _LOOK_EVERY)

    def read(self, timeout: float = _LOOK_EVERY) -> str | None:
        """One piece of input; `None` if none arrived in time, empty if the terminal is gone."""
        self._came = bool(select.select([self._terminal], [], [], timeout)[0])
        now = time.monotonic()
        if not self._came:
            return _as_sent(self._reader.tick(now)) or None
        try:
            typed = os.read(self._terminal, 4_096)
        except BlockingIOError:
            self._came = False
            return None
        return _as_sent(self._reader.feed(self._decode(typed), now)) or None if typed else ""


def _as_sent(tokens: Sequence[TerminalToken]) -> str:
    """What was sent, but for what the terminal says of itself."""
    sent = ""
    for token in tokens:
        match token.kind:
            case "alt":
                sent += f"\x1b{token.text}"
            case "paste":
                sent += f"{PASTE_BEGINS}{token.text}{PASTE_ENDS}"
            case "answer":
                pass
            case _:
                sent += token.text
    return sent

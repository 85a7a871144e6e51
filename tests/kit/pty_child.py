"""A program in a pty of its own: what it prints, what it is given, and the terminal that it leaves behind."""

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tests.kit.warm_program import WINDOW, WarmCommand, shared

ROOT = Path(__file__).parent.parent.parent
_LOOK = 0.05


class PtyChild:
    """See the module. `output` holds all that was printed so far."""

    def __init__(self, argv: list[str], cwd: Path, columns: int = 100, rows: int = 30) -> None:
        self.output = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:  # the child: nothing here may come back
            try:
                os.chdir(cwd)
                os.environ["PYTHONPATH"] = str(ROOT)
                # As in a terminal of its own, whatever the tests were started from has open or ignores (nohup, a job).
                os.closerange(3, 4096)
                for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT, signal.SIGTSTP):
                    signal.signal(number, signal.SIG_DFL)
                # The test gives the terminal its size and its first keys before the program can look.
                os.read(0, 1)
                # Not the C library's environment: pytest's readline has put a size of its own into that.
                os.execve(argv[0], argv, dict(os.environ))
            finally:
                os._exit(127)
        self.resize(columns, rows)
        self.before = termios.tcgetattr(self.fd)

    def go(self, keys: bytes = b"") -> None:
        """Let the program start, with these keys waiting for it."""
        os.write(self.fd, b"\n" + keys)

    def write(self, keys: bytes) -> None:
        os.write(self.fd, keys)

    def resize(self, columns: int, rows: int, cell: tuple[int, int] = (0, 0)) -> None:
        """Give the terminal another size; the program is told by its signal.

        Args:
            cell: the pixels of a cell.
        """
        size = struct.pack("HHHH", rows, columns, columns * cell[0], rows * cell[1])
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, size)

    def read_until(self, there: Callable[[], bool], seconds: float = 90.0) -> None:
        """Read what it prints until something holds. Fails the test after `seconds`."""
        end = time.monotonic() + seconds
        while not there():
            assert time.monotonic() < end, self.output[-2_000:]
            self._read(0.05)

    def wait(self, seconds: float = 90.0) -> int:
        """Read until it ends; its exit code (negative: the signal that ended it)."""
        end = time.monotonic() + seconds
        while True:
            self._read(0.05)
            code = self._exit_code()
            if code is not None:
                self.read_rest()
                self.pid = 0
                return code
            assert time.monotonic() < end, self.output[-2_000:]

    def attributes(self) -> list[Any]:
        """The terminal's attributes now."""
        return termios.tcgetattr(self.fd)

    def close(self) -> None:
        """End it if it has not ended."""
        if self.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)
            self._ended()
        os.close(self.fd)

    def hang_up(self) -> int:
        """Close its terminal under it; its exit code."""
        os.close(self.fd)
        self.fd = os.open(os.devnull, os.O_RDONLY)
        code, self.pid = self._ended(), 0
        return code

    def read_rest(self) -> None:
        """Read to the end: the kernel hands over what was printed last a moment after the program is gone."""
        while select.select([self.fd], [], [], 1.0)[0]:
            try:
                data = os.read(self.fd, 65_536)
            except OSError:
                return
            if not data:
                return
            self.output += data

    def _exit_code(self) -> int | None:
        """Once it has ended."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if pid else None

    def _ended(self) -> int:
        """Its exit code, when it ends."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def _wait_for_end(self, seconds: float) -> None:
        """Wait so long for the end of its process, if it is still there."""
        if sys.platform != "linux":
            select.select([], [], [], seconds)
            return
        with contextlib.suppress(OSError), os.fdopen(os.pidfd_open(self.pid), "rb") as ended:
            select.select([ended], [], [], seconds)

    def _read(self, seconds: float) -> None:
        while select.select([self.fd], [], [], seconds)[0]:
            try:
                data = os.read(self.fd, 65_536)
            except OSError:
                data = b""
            if not data:  # the other end is closed, and select waits for nothing any more
                self._wait_for_end(_LOOK)
                return
            self.output += data
            seconds = 0


class WarmPtyChild(PtyChild):
    """`gsh-tui` in a pty, forked from a process that has loaded the window: for what is not about its start."""

    def __init__(self, words: Sequence[str], cwd: Path, columns: int = 100, rows: int = 30) -> None:
        self.output, self.pid = b"", 0
        self.fd, self._terminal = pty.openpty()
        self._words, self._cwd = words, cwd
        self._fork: WarmCommand | None = None
        self.resize(columns, rows)
        self.before = termios.tcgetattr(self.fd)

    def go(self, keys: bytes = b"") -> None:
        os.write(self.fd, keys)
        self._fork = shared(*WINDOW).start(*self._words, terminal=self._terminal, cwd=self._cwd)
        self.pid = self._fork.pid
        os.close(self._terminal)

    def _exit_code(self) -> int | None:
        assert self._fork is not None
        return self._ended() if self._fork.ends_within(0) else None

    def _ended(self) -> int:
        assert self._fork is not None
        return self._fork.wait()


def frame_child(cwd: Path, *arguments: str, columns: int = 100, rows: int = 30) -> PtyChild:
    """`tests/kit/frame_child.py` with these arguments."""
    argv = [sys.executable, "-m", "tests.kit.frame_child", *arguments]
    return PtyChild(argv, cwd, columns, rows)


def window_of(folder: Path, *arguments: str) -> WarmPtyChild:
    child = WarmPtyChild(arguments, folder, columns=110, rows=40)
    child.go()
    return child

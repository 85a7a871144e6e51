"""A program in a pseudo-terminal, watched from outside: when it paints, when it takes keys, what that costs.

Times are those of bytes at the terminal's end, so they hold for any program. No screen is emulated: what is looked for
is text that occurs nowhere else. Used by the benchmarks alone.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import psutil

MARK = "¤"
"""A character that no program shows by itself."""
LETTERS = [chr(code) for code in (*range(0x0410, 0x0450), *range(0x0391, 0x03A2), *range(0x03B1, 0x03CA))]
"""A hundred characters of one cell that tell one key press from the next."""
_ESCAPES = re.compile(
    rb"\x1b(?:\[[0-9;?<>=!$]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|P[^\x1b]*\x1b\\|[()][A-Z0-9]|.)"
)
_VISIBLE = 10
"""Characters on the screen that make a frame of it."""


class Late(Exception):
    """What was waited for did not come in time; the text ends with the last that the program wrote."""


class Probe:
    """One run of a program. Use as a context manager: at the end the program is ended."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        columns: int = 200,
        rows: int = 50,
        environ: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> None:
        self._master, slave = os.openpty()
        self._set_size(columns, rows)
        self.output = bytearray()
        self.last_output = 0.0
        """When the program last wrote something, seconds since it was started."""
        self._asked = 0
        self.began = time.perf_counter()
        self._process = subprocess.Popen(
            argv,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=dict(environ or os.environ),
            cwd=cwd,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self._seen = psutil.Process(self._process.pid)

    def __enter__(self) -> Probe:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
        deadline = time.perf_counter() + 5
        while self._process.poll() is None and time.perf_counter() < deadline:
            self.read(0.05)
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        os.close(self._master)

    def kill(self) -> None:
        """End the program at once, as the machine might."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def now(self) -> float:
        """Seconds since the program was started."""
        return time.perf_counter() - self.began

    def read(self, timeout: float) -> bytes:
        """What the program writes next, within `timeout` seconds; empty when it wrote nothing or has ended."""
        ready, _, _ = select.select([self._master], [], [], max(0.0, timeout))
        if not ready:
            return b""
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:
            return b""
        self.last_output = self.now()
        self.output += data
        self._answer()
        return data

    def write(self, text: str | bytes) -> float:
        """Type; gives the time of it."""
        data = text.encode() if isinstance(text, str) else text
        at = self.now()
        while data:
            data = data[os.write(self._master, data) :]
        return at

    def wait_for(self, text: str | bytes, *, after: int = 0, timeout: float = 20.0) -> float:
        """The time at which this text is in the output behind offset `after`."""
        wanted = text.encode() if isinstance(text, str) else text
        start = after
        while (at := self.output.find(wanted, start)) < 0:
            start = max(after, len(self.output) - len(wanted))
            self._read_or_fail(timeout, f"{text!r} did not appear")
        return self.last_output if at >= 0 else 0.0

    def first_frame(self, *, timeout: float = 20.0) -> float:
        """The time at which there is something to see."""
        while len(_ESCAPES.sub(b"", bytes(self.output)).split()) == 0 or self._visible() < _VISIBLE:
            self._read_or_fail(timeout, "nothing was painted")
        return self.last_output

    def settle(self, quiet: float = 0.4, *, timeout: float = 30.0) -> float:
        """Wait until the program has written nothing for `quiet` seconds; gives the time of its last output.

        Less than half a second: a cursor that blinks writes that often.
        """
        began = self.now()
        while self.now() - max(self.last_output, began) < quiet:
            self.read(0.02)
            if self._process.poll() is not None or self.now() - began > timeout:
                raise Late(f"the program did not come to rest within {timeout} s; {self.last_words()}")
        return self.last_output

    def rest(self, seconds: float) -> None:
        """Only read for so long: until what goes on behind the first frame has surely ended."""
        until = self.now() + seconds
        while (left := until - self.now()) > 0:
            self.read(left)

    def resize(self, columns: int, rows: int) -> float:
        """Change the terminal's size; gives the time of it."""
        at = self.now()
        self._set_size(columns, rows)
        os.killpg(self._process.pid, signal.SIGWINCH)
        return at

    def accepts(self, *, every: float = 0.02) -> tuple[float, int]:
        """Type a letter every so often from now on: when the first of them is shown, and how many are lost for good."""
        after, typed = len(self.output), 0
        shown: list[str] = []
        while not shown:
            if typed == len(LETTERS):
                raise Late(f"none of {typed} letters was shown; {self.last_words()}")
            self.write(LETTERS[typed])
            typed += 1
            self.rest(every)
            text = self.output[after:].decode("utf-8", "replace")
            shown = [letter for letter in LETTERS[:typed] if letter in text]
        at = self.last_output
        self.rest(0.5)
        text = self.output[after:].decode("utf-8", "replace")
        return at, sum(letter not in text for letter in LETTERS[:typed])

    def echoes(self, count: int, *, gap: float = 0.03, timeout: float = 10.0) -> list[float]:
        """Seconds from each of `count` key presses to its echo; `gap` seconds of reading lie between them."""
        found: list[float] = []
        for number in range(count):
            letter = LETTERS[number % len(LETTERS)]
            self.rest(gap)
            after = len(self.output)
            typed = self.write(letter)
            found.append(self.wait_for(letter, after=after, timeout=timeout) - typed)
        return found

    def cpu(self) -> float:
        """Seconds of processor time that the program and its children have used."""
        total = 0.0
        for process in self._family():
            with contextlib.suppress(psutil.Error):
                times = process.cpu_times()
                total += times.user + times.system
        return total

    def memory(self) -> float:
        """Resident memory of the program and its children, MB."""
        total = 0
        for process in self._family():
            with contextlib.suppress(psutil.Error):
                total += process.memory_info().rss
        return total / 1e6

    def idle_cpu(self, seconds: float = 4.0) -> float:
        """Per cent of one processor while nothing happens."""
        began, used = self.now(), self.cpu()
        self.rest(seconds)
        return 100 * (self.cpu() - used) / (self.now() - began)

    def _family(self) -> list[psutil.Process]:
        with contextlib.suppress(psutil.Error):
            return [self._seen, *self._seen.children(recursive=True)]
        return []

    def _visible(self) -> int:
        return sum(len(word) for word in _ESCAPES.sub(b"", bytes(self.output)).split())

    def _read_or_fail(self, timeout: float, what: str) -> None:
        if not self.read(0.5) and (self._process.poll() is not None or self.now() - max(self.last_output, 0) > timeout):
            raise Late(f"{what} within {timeout} s; {self.last_words()}")

    def last_words(self) -> str:
        tail = _ESCAPES.sub(b" ", bytes(self.output[-3000:])).decode("utf-8", "replace")
        state = "it still runs" if self._process.poll() is None else f"it ended with {self._process.returncode}"
        return f"{state}, and last wrote: {' '.join(tail.split())[-400:]}"

    def _answer(self) -> None:
        """Answer what a terminal is asked at the start: its kind, and synchronised output (mode 2026)."""
        for question, answer in (
            (b"\x1b[?2026$p", b"\x1b[?2026;2$y"),
            (b"\x1b[c", b"\x1b[?62;c"),
            (b"\x1b[6n", b"\x1b[1;1R"),
        ):
            if self.output.find(question, max(0, self._asked - len(question))) >= self._asked:
                self.write(answer)
        self._asked = len(self.output)

    def _set_size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

"""A program in a pseudo-terminal of its own, for a face whose screen is elsewhere.

Gives what the program prints as bytes, and takes keys and sizes. It is ended with its whole session; it never outlives
`close`. Raises `OSError` where the program cannot be started.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import struct
import sys
import termios
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from gshtui.system.processes.processes import start_child
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, start_job

_CHUNK = 64 * 1024
_ENDS_WITHIN = 2.0
"""Seconds that a program has to end after the hang-up."""
_LARGEST = 1_000
"""Most columns and rows."""
_BECOME = "import os, sys; os.login_tty(0); os.execv(sys.argv[1], sys.argv[1:])"
"""Makes the pseudo-terminal the controlling one, in a process of its own: this one has threads, so it must not fork."""

Print = Callable[[bytes], Awaitable[None]]
"""Receives what the program prints; the program waits while it is busy. Raises `OSError` when nobody reads."""


class PtyProcess:
    """One program, from `start` to `close`."""

    def __init__(self, process: asyncio.subprocess.Process, terminal: int, print_output: Print) -> None:
        self._process = process
        self._terminal = terminal
        self._print = print_output
        self._output = start_job(self._pass_output(), "output of a program in a terminal")

    @classmethod
    async def start(
        cls,
        words: Sequence[str],
        print_output: Print,
        *,
        cwd: Path,
        env: Mapping[str, str],
        size: tuple[int, int],
    ) -> PtyProcess:
        """Start a program, named by its absolute path, on a terminal of this many columns and rows. Raises `OSError`:
        it cannot be started.
        """
        ours, theirs = os.openpty()
        try:
            os.set_blocking(ours, False)
            _set_size(ours, size)
            process = await start_child(
                sys.executable,
                "-I",
                "-S",
                "-c",
                _BECOME,
                *words,
                stdin=theirs,
                stdout=theirs,
                stderr=theirs,
                cwd=cwd,
                env=dict(env),
            )
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        return cls(process, ours, print_output)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def write(self, keys: bytes) -> None:
        """Type; waits while the program does not read. Raises nothing: what an ended program does not read is lost."""
        rest = memoryview(keys)
        while rest and self._terminal >= 0:
            try:
                rest = rest[os.write(self._terminal, rest) :]
            except BlockingIOError:
                await self._ready(asyncio.get_running_loop().add_writer, asyncio.get_running_loop().remove_writer)
            except OSError:
                return

    def resize(self, size: tuple[int, int]) -> None:
        """Its terminal has this many columns and rows now."""
        if self._terminal >= 0:
            with contextlib.suppress(OSError):
                _set_size(self._terminal, size)

    async def wait(self) -> int:
        """Wait until it has ended and its output is passed on; returns its exit status, as a shell says it."""
        status = await self._process.wait()
        with contextlib.suppress(TimeoutError):  # something that it left behind holds the terminal
            async with time_limit(0.5):
                await asyncio.wait({self._output})
        return status if status >= 0 else 128 - status

    async def close(self) -> None:
        """End it: hang up as a closed terminal does, and kill what does not end by that."""
        self._signal(signal.SIGHUP)
        self._signal(signal.SIGCONT)
        await cancel_and_wait(self._output)
        if self._terminal >= 0:
            os.close(self._terminal)
            self._terminal = -1
        try:
            async with time_limit(_ENDS_WITHIN):
                await self._process.wait()
        except TimeoutError:
            self._signal(signal.SIGKILL)
            await self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        """Signal the program and its process group, while its pid is still its own."""
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    async def _pass_output(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                data = os.read(self._terminal, _CHUNK)
            except BlockingIOError:
                await self._ready(loop.add_reader, loop.remove_reader)
                continue
            except OSError:  # the last one that had it open has ended
                return
            if not data:
                return
            try:
                await self._print(data)
            except OSError:
                return
            await asyncio.sleep(0)  # a program that never stops printing leaves time for everybody else

    async def _ready(self, add: Callable[..., None], remove: Callable[[int], bool]) -> None:
        ready = asyncio.get_running_loop().create_future()
        terminal = self._terminal
        add(terminal, lambda: None if ready.done() else ready.set_result(None))
        try:
            await ready
        finally:
            remove(terminal)


def _set_size(terminal: int, size: tuple[int, int]) -> None:
    columns, rows = (max(1, min(_LARGEST, one)) for one in size)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

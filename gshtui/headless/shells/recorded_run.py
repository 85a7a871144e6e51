"""`gsh run -- COMMAND`: runs it in a new terminal that is copied to ours, and records its output."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import select
import shlex
import shutil
import signal
import socket
import termios
import time
import tty
from collections import deque
from types import FrameType

from gshtui.headless import exits, streams
from gshtui.headless.called_here import working_folder

HEAD, TAIL = 256 * 1024, 768 * 1024
"""Bytes kept of the output's beginning and of its end."""
_FULL_SCREEN = (b"\x1b[?1049h", b"\x1b[?1047h", b"\x1b[?47h")
_PIECE = 65_536


class Printed:
    """A command's output: its beginning, its end, and the number of bytes in between."""

    def __init__(self) -> None:
        self.full_screen = False
        """The command took the whole screen, so none of its output is text worth keeping."""
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._left_out = 0

    def add(self, data: bytes) -> None:
        """Add the next piece of output."""
        self.full_screen = self.full_screen or any(mark in data for mark in _FULL_SCREEN)
        room = HEAD - len(self._head)
        self._head += data[:room]
        if rest := data[max(0, room) :]:
            self._tail.append(rest)
            self._tail_size += len(rest)
            while self._tail_size - len(self._tail[0]) >= TAIL:
                gone = len(self._tail.popleft())
                self._tail_size -= gone
                self._left_out += gone

    def text(self) -> str:
        """The output without terminal control sequences; empty for a full-screen program."""
        if self.full_screen:
            return ""
        from gshtui.text.sanitise import plain
        from gshtui.text.truncation import marker

        between = marker(self._left_out).encode() if self._left_out else b""
        raw = bytes(self._head) + between + b"".join(self._tail)
        return plain(raw.replace(b"\r\n", b"\n").decode("utf-8", "replace"))


def execute(argv: list[str]) -> tuple[int, Printed]:
    """Run a program to its end; returns its exit code and its output. Raises `FileNotFoundError`: there is no such
    program; `OSError`: it cannot be run.
    """
    printed = Printed()
    if not os.isatty(1):
        return _piped(argv, printed), printed
    return _Terminal(argv, printed).run(), printed


def _piped(argv: list[str], printed: Printed) -> int:
    """Standard output is redirected: pass it on byte by byte, and leave standard error alone."""
    import subprocess

    with subprocess.Popen(argv, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends the signal to the program itself
        try:
            while data := os.read(process.stdout.fileno(), _PIECE):
                printed.add(data)
                _write(1, data)
        except BrokenPipeError:
            process.stdout.close()
        finally:
            signal.signal(signal.SIGINT, before)
    return _code(process.returncode)


class _Terminal:
    """One run in a pseudo-terminal."""

    def __init__(self, argv: list[str], printed: Printed) -> None:
        self._argv = argv
        self._printed = printed
        self._has_keys = os.isatty(0)
        self._before = termios.tcgetattr(0) if self._has_keys else None

    def run(self) -> int:
        """Run to the end; returns the exit code."""
        master, slave = os.openpty()
        if self._before is not None:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(slave, termios.TCSANOW, self._before)
        self._size(master)
        told, tell = os.pipe()
        pid = os.fork()
        if pid == 0:
            self._become(slave, tell)
        os.close(slave)
        os.close(tell)
        failed = os.read(told, 16)
        os.close(told)
        if failed:
            os.waitpid(pid, 0)
            os.close(master)
            number = int(failed)
            raise OSError(number, os.strerror(number))
        resized, notice = os.pipe()
        os.set_blocking(notice, False)

        def on_size(_number: int, _frame: FrameType | None) -> None:
            with contextlib.suppress(OSError):
                os.write(notice, b"s")

        before = {number: signal.signal(number, on_size) for number in (signal.SIGWINCH, signal.SIGCHLD)}
        try:
            self._raw()
            return self._copy(pid, master, resized)
        finally:
            self._cooked()
            for number, handler in before.items():
                signal.signal(number, handler)
            for descriptor in (master, resized, notice):
                os.close(descriptor)

    def _become(self, slave: int, tell: int) -> None:
        """In the child: run the program on the new terminal; never returns."""
        try:
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
            for number in (0, 1, 2) if self._has_keys else (1, 2):
                if number != 2 or os.isatty(2):
                    os.dup2(slave, number)
            for number in (signal.SIGINT, signal.SIGPIPE, signal.SIGTSTP, signal.SIGQUIT):
                signal.signal(number, signal.SIG_DFL)
            os.execvp(self._argv[0], self._argv)
        except OSError as error:
            os.write(tell, str(error.errno or errno.ENOEXEC).encode())
        finally:
            os._exit(127)

    def _copy(self, pid: int, master: int, notices: int) -> int:
        sources = [master, notices, *([0] if self._has_keys else [])]
        status: int | None = None
        while True:
            ready, _, _ = select.select(sources, [], [], 0.2 if status is not None else None)
            if notices in ready:
                os.read(notices, 64)
                self._size(master)
            if 0 in ready:
                keys = os.read(0, 4096)
                if keys:
                    _write(master, keys)
                else:
                    sources.remove(0)
            if master in ready and not self._pass_on(master):
                break
            if status is None:
                status = self._waited(pid)
            elif master not in ready:
                break  # it has ended; do not wait for others that still hold its terminal
        if status is None:
            _, status = os.waitpid(pid, 0)
        return _code(os.waitstatus_to_exitcode(status))

    def _pass_on(self, master: int) -> bool:
        try:
            data = os.read(master, _PIECE)
        except OSError:  # Linux raises this once the last program has closed the terminal
            return False
        self._printed.add(data)
        with contextlib.suppress(BrokenPipeError):
            _write(1, data)
        return bool(data)

    def _waited(self, pid: int) -> int | None:
        """Its exit status, if it has ended. If it was stopped, stop with it, and continue together."""
        found, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
        if not found:
            return None
        if not os.WIFSTOPPED(status):
            return status
        self._cooked()
        os.kill(0, signal.SIGSTOP)
        self._raw()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGCONT)
        return None

    def _raw(self) -> None:
        if self._has_keys:
            tty.setraw(0, termios.TCSADRAIN)

    def _cooked(self) -> None:
        if self._before is not None:
            with contextlib.suppress(termios.error):
                termios.tcsetattr(0, termios.TCSADRAIN, self._before)

    def _size(self, master: int) -> None:
        with contextlib.suppress(OSError):
            fcntl.ioctl(master, termios.TIOCSWINSZ, fcntl.ioctl(1, termios.TIOCGWINSZ, b"\0" * 8))


def _write(number: int, data: bytes) -> None:
    streams.pass_on(number, data)


def _code(ended: int) -> int:
    return ended if ended >= 0 else 128 - ended


def run_recorded(words: list[str], *, as_json: bool) -> int:
    """Run it; returns its exit code: 128 + the number of the signal that ended it, 127 if there is no such command."""
    if not words:
        streams.complain("no command given. For example: gsh run -- make test")
        return exits.USAGE
    argv = words
    if len(words) == 1 and len(words[0].split()) > 1 and shutil.which(words[0]) is None:  # a line in quotes
        argv = [os.environ.get("SHELL") or "/bin/sh", "-c", words[0]]
    began, clock = time.time(), time.monotonic()
    try:
        code, printed = execute(argv)
    except FileNotFoundError:
        streams.complain(f"command not found: {words[0]!r}. Write out aliases and functions.")
        return 127
    except OSError as error:
        streams.complain(f"cannot run {words[0]}: {error.strerror or error}.")
        return 126
    took = time.monotonic() - clock
    command = words[0] if len(words) == 1 else shlex.join(words)
    _record_run(command, code, began, took, printed, as_json)
    return code


def _record_run(command: str, code: int, began: float, took: float, printed: Printed, as_json: bool) -> None:
    """Keep the run in the record; a failure is printed and does not change the command's exit code."""
    import msgspec

    from gshtui.bus.shell_data import ShellRecord
    from gshtui.client.hub_greeting import HubUnavailable
    from gshtui.guard.secrets.redaction import Redactor
    from gshtui.headless.commands.keeper_call import value_from_hub
    from gshtui.shell.log.history_commands import AddRun
    from gshtui.system.ids import new_id

    redact = Redactor(os.environ).redact
    record = ShellRecord(
        shell=f"run-{new_id()}",
        number=1,
        command=redact(command),
        cwd=str(working_folder()),
        host=socket.gethostname(),
        tty=_tty(),
        pane=os.environ.get("TMUX_PANE", "") if os.environ.get("TMUX") else "",
        program="gsh run",
        at=began,
        duration=took,
        exit=code,
        state="done",
        source="run",
    )
    try:
        asked = AddRun(record=msgspec.to_builtins(record), output=redact(printed.text()))
        kept = value_from_hub(asked, ShellRecord, "Recording the run")
    except HubUnavailable as error:
        streams.complain(f"this run was not recorded: {error.message}", error.hint)
        return
    if isinstance(kept, int):
        streams.complain("this run was not recorded.")
    elif as_json:
        streams.result_json({"id": kept.id, "exit": code, "duration": took, "output_lines": kept.output_lines})


def _tty() -> str:
    try:
        return os.ttyname(2)
    except OSError:
        return ""

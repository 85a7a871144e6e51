"""Unexpected faults: each gets a private file with its traceback, is announced once, and counted after that.

Decides what is a fault of ours, what counts as the same one, and when to pause something that keeps failing. What a
program, a disk or a network that is not as it should be does is none: it has no file, and keeps its own words.
Announcing is up to the caller. Never raises.
"""

from __future__ import annotations

import errno
import os
import resource
import sys
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Literal, cast

import msgspec

from gshtui import __version__
from gshtui.system.expected_error import ExpectedError
from gshtui.system.files import private_files

FILES = 40
"""Most files one process writes; later faults are added to the last one."""
_LONGEST = 1_000_000
"""Largest size of a file, in bytes, to which faults are added."""
_KNOWN = 1_000
"""Faults remembered; the one not seen for the longest time is dropped first."""
_WHY = 300


class Fault(msgspec.Struct, frozen=True):
    """A recorded fault."""

    part: str
    """What failed, in a person's words."""
    doing: str
    """What it was doing, as in `while handling …`; may be empty."""
    why: str
    """The error in one line."""
    file: str
    """Path of the traceback; empty if it could not be written."""
    trouble: str = ""
    """Why the traceback could not be written."""
    count: int = 1
    """How often this process has seen the fault."""
    expected: bool = False
    """It is no fault of ours: `why` is its own sentence, without the full stop."""
    hint: str = ""
    """What to do, of an expected failure."""

    @property
    def message(self) -> bool:
        """Whether to tell a person: the first time, then the tenth, the hundredth, and so on."""
        return str(self.count).strip("0") == "1"

    @property
    def details(self) -> str:
        """A sentence that says where the traceback is; of an expected failure, what to do."""
        if self.expected:
            return self.hint
        if self.file:
            return f"The details are in {self.file}."
        return f"The details could not be written: {self.trouble or 'unknown reason'}."

    @property
    def kind(self) -> Literal["bug", "missing"]:
        """Of which kind a turn's error is that it ended."""
        return "missing" if self.expected else "bug"

    def failure(self, what: str) -> str:
        """A sentence that says that this failed, and why."""
        return f"{what} failed{'' if self.expected else ' inside gsh-tui'}: {self.why}."


class FaultLog:
    """The faults of one process, or of one window."""

    def __init__(self, folder: Callable[[], Path], clean: Callable[[str], str] = str) -> None:
        """Args:
        folder: returns the folder of the files, creating it; may raise `OSError`.
        clean: takes out of a text what no file may have.
        """
        self.clean = clean
        self._folder = folder
        self._known: OrderedDict[Hashable, tuple[int, str, str]] = OrderedDict()
        self._files: list[str] = []

    def record(self, part: str, error: BaseException, doing: str = "") -> Fault:
        """Write the fault down, or count it if it is known."""
        outside = outside_failure(error)
        key = (part, type(error), place_of(error))
        count, file, trouble = self._known.pop(key, (0, "", ""))
        if not count and outside is None:
            file, trouble = self._write(part, error, doing)
        self._known[key] = (count + 1, file, trouble)
        while len(self._known) > _KNOWN:
            self._known.popitem(last=False)
        if outside is not None:
            return Fault(part, doing, outside[0], "", "", count + 1, expected=True, hint=outside[1])
        return Fault(part, doing, in_one_line(error), file, trouble, count + 1)

    def _write(self, part: str, error: BaseException, doing: str) -> tuple[str, str]:
        head = f"{part} failed {doing}".rstrip() + "\n"
        try:
            if len(self._files) >= FILES:
                file = Path(self._files[-1])
                if file.stat().st_size < _LONGEST:
                    text = self.clean(f"\n\n{head}{_traceback(error)}")
                    _put(private_files.open_file(file, os.O_WRONLY | os.O_APPEND), text)
                return str(file), ""
            file = write_report(self._folder(), error, head, self.clean)
        except OSError as failure:
            return "", failure.strerror or str(failure)
        self._files.append(str(file))
        return str(file), ""


def write_report(folder: Path, error: BaseException, head: str = "", clean: Callable[[str], str] = str) -> Path:
    """Write one error with its traceback to a new file. Raises `OSError`."""
    # The process's arguments may contain a prompt, so they are not written.
    told = f"gsh-tui {__version__}, Python {sys.version.split()[0]}, {sys.platform}\n{head}\n"
    stamp = f"{time.strftime('%Y%m%dT%H%M%S')}-{time.monotonic_ns() // 1_000 % 1_000_000:06}"
    text = clean(told + _traceback(error))
    for number in range(100):  # two faults within a microsecond
        file = folder / f"crash-{stamp}-{os.getpid()}{f'-{number}' if number else ''}.log"
        try:
            _put(private_files.make_file(file), text)
        except FileExistsError:
            continue
        return file
    raise FileExistsError(f"{folder} already has too many reports from this second")


def expected(error: BaseException) -> bool:
    """Whether it was raised on purpose: an error of ours, of the system, or a deadline."""
    return isinstance(error, OSError) or type(error).__module__.startswith("gshtui.")


_OUTSIDE = frozenset(
    (
        *(errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO, errno.ESTALE),
        *(errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE, errno.ENOMEM),
    )
)
"""What the system refuses whoever asks: a full or broken disk, missing rights, a limit."""
_NO_MEMORY = ("There is not enough memory", "Close other programs, or raise the limit (`ulimit -v`).")
_NO_PROCESS = (
    "No more processes or threads can be started",
    "Close other programs, or raise the limit (`ulimit -u`).",
)


def outside_failure(error: BaseException) -> tuple[str, str] | None:
    """What failed outside of this program, without a full stop, and what to do; `None`: it is a fault of ours."""
    if isinstance(error, BaseExceptionGroup):
        group = cast("BaseExceptionGroup[BaseException]", error)
        found = {outside_failure(inner) for inner in group.exceptions}
        return found.pop() if len(found) == 1 else None
    if isinstance(error, ExpectedError):
        return _line(error.message).rstrip(".") or type(error).__name__, _line(error.hint)
    if isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM):
        return _NO_MEMORY
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return _NO_PROCESS
    if isinstance(error, ImportError) and str(error).endswith(os.strerror(errno.EMFILE)):  # of a shared library
        error = OSError(errno.EMFILE, str(error))
    if not isinstance(error, OSError):
        return None
    if error.errno is None and type(error).__module__.startswith("gshtui."):
        return (_line(str(error)).rstrip("."), "") if str(error) else None  # raised on purpose, as a sentence
    if error.errno == errno.EAGAIN and "subprocess" in place_of(error):
        return _NO_PROCESS
    if error.errno == errno.EMFILE:
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return f"Too many files are open: the limit is {most}", "Raise it with `ulimit -n 1024`."
    if error.errno in _OUTSIDE:
        named = f" ({error.filename})" if isinstance(error.filename, str) else ""
        return _line(f"{error.strerror}{named}"), ""
    return None


def in_one_line(error: BaseException) -> str:
    """The error's type and text, printable and short."""
    try:
        text = f"{type(error).__name__}: {error}"
    except Exception:
        text = f"{type(error).__name__} (its text cannot be shown)"
    return _line(text).rstrip(":.")


def _line(text: str) -> str:
    shown = "".join(char if char.isprintable() else "?" for char in " ".join(text.split()))
    return shown if len(shown) <= _WHY else shown[: _WHY - 1] + "…"


def place_of(error: BaseException) -> str:
    """Where it was raised, as `file:line`; the error's text if it was never raised."""
    last = error.__traceback__
    if last is None:
        return in_one_line(error)
    while last.tb_next is not None:
        last = last.tb_next
    return f"{last.tb_frame.f_code.co_filename}:{last.tb_lineno}"


def _traceback(error: BaseException) -> str:
    try:
        return "".join(traceback.format_exception(error))
    except Exception:  # an error whose own text raises
        return "".join(traceback.format_tb(error.__traceback__)) + in_one_line(error) + "\n"


def _put(descriptor: int, text: str) -> None:
    with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as out:
        out.write(text)


class Breaker:
    """Pauses what has failed repeatedly without a success in between, then lets it try once more."""

    def __init__(
        self,
        limit: int = 25,
        within: float = 10.0,
        rest: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """After `limit` failures `within` seconds, pause for `rest` seconds."""
        self.rest = rest
        self._limit = limit
        self._within = within
        self._clock = clock
        self._failures: dict[str, tuple[int, float]] = {}
        """Failures in a row, and when the first of them was."""
        self._until: dict[str, float] = {}

    def paused(self, what: str) -> bool:
        until = self._until.get(what)
        if until is None:
            return False
        if self._clock() < until:
            return True
        del self._until[what]
        self._failures[what] = (self._limit - 1, self._clock())  # one attempt
        return False

    def succeeded(self, what: str) -> None:
        if self._failures:
            self._failures.pop(what, None)

    def failed(self, what: str) -> bool:
        """Record a failure; return whether it is now paused."""
        now = self._clock()
        count, since = self._failures.get(what, (0, now))
        if now - since > self._within:
            count, since = 0, now
        self._failures[what] = (count + 1, since)
        if count + 1 < self._limit:
            return False
        del self._failures[what]
        self._until[what] = now + self.rest
        return True

    def resume(self) -> bool:
        """Unpause everything; return whether anything was paused."""
        was = bool(self._until)
        self._until.clear()
        self._failures.clear()
        return was

"""The first frame: the window as last seen, on the terminal before Textual is even imported.

Owns the terminal from there until Textual's driver takes over: raw, so that keys typed meanwhile wait in its queue, and
restored if nothing takes over. Imports next to nothing and never fails: at worst there is no frame. Called by the
command line, first of all.
"""

# Importing pathlib takes longer than running all of this.
# ruff: noqa: PTH111, PTH118

import atexit
import os
import sys
import termios
import zlib

TYPE_CHECKING = False  # `typing` takes longer to import than the frame takes to paint
if TYPE_CHECKING:
    from typing import Any

FORMAT = b"gsh-frame 1 "
MOST = 1024 * 1024
"""Maximum bytes of a snapshot; a larger file is not ours."""
_ENTER = b"\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[H"
_LEAVE = b"\x1b[?7h\x1b[0m\x1b[?1049l\x1b[?25h"


class FirstFrame:
    """A painted frame. Either `handed_over` or `abandon` ends it; the end of the process abandons it too."""

    __slots__ = ("_open", "attributes", "fd", "size")

    def __init__(self, fd: int, attributes: "list[Any]", size: "tuple[int, int]") -> None:
        self.fd = fd
        self.attributes = attributes
        """The terminal's original attributes (`termios.tcgetattr`)."""
        self.size = size
        self._open = True
        atexit.register(self.abandon)

    def handed_over(self) -> None:
        """Textual's driver has the terminal now, and will restore it."""
        self._open = False
        atexit.unregister(self.abandon)

    def abandon(self) -> None:
        """Restore the terminal. Harmless after the first time, and after the hand-over."""
        if not self._open:
            return
        self.handed_over()
        try:
            _write(self.fd, _LEAVE)
            termios.tcsetattr(0, termios.TCSANOW, self.attributes)
        except (OSError, termios.error):
            pass  # the terminal is gone, and nobody sees it


def paint(cwd: str) -> "FirstFrame | None":
    """Paint the window's frame for this folder; `None`: no terminal can show it."""
    if os.environ.get("TERM", "dumb") == "dumb" or "TEXTUAL_DRIVER" in os.environ:
        return None
    try:
        if not (os.isatty(0) and os.isatty(2)):
            return None
        attributes = termios.tcgetattr(0)
        columns, rows = terminal_size()
        # A process in the background that sets the terminal is stopped by it; Textual deals with that.
        if os.tcgetpgrp(0) != os.getpgrp():
            return None
        frame = FirstFrame(2, attributes, (columns, rows))
    except (OSError, termios.error):
        return None
    try:
        termios.tcsetattr(0, termios.TCSANOW, _quiet(attributes))
        _write(2, _ENTER + (snapshot(cwd, columns, rows) or _simple(cwd, columns, rows)))
    except Exception:
        frame.abandon()
        return None
    _put_back_when_killed(frame)
    return frame


def terminal_size() -> "tuple[int, int]":
    """Columns and rows, determined as Textual does."""
    found = [0, 0]
    for at, name in enumerate(("COLUMNS", "LINES")):
        value = os.environ.get(name, "")
        found[at] = int(value) if value.isdigit() else 0
    if not all(found):
        for fd in (1, 2, 0):
            try:
                size = os.get_terminal_size(fd)
            except OSError:
                continue
            found = [found[0] or size.columns, found[1] or size.lines]
            break
    return found[0] or 80, found[1] or 24


def state_folder() -> str:
    """`gshtui.settings.paths.state_dir`, without the imports that it needs."""
    base = os.environ.get("XDG_STATE_HOME", "")
    if not base.startswith("/"):
        base = os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "gsh")


def snapshot_name(cwd: str, columns: int, rows: int) -> str:
    """Name of the snapshot for a folder's window in a terminal of this size with these capabilities."""
    abilities = [os.environ.get(name, "") for name in ("TERM", "COLORTERM", "NO_COLOR", "TEXTUAL_COLOR_SYSTEM")]
    key = zlib.crc32("\0".join([cwd, *abilities]).encode("utf-8", "surrogateescape"))
    return f"{columns}x{rows}-{key:08x}.frame"


def snapshot(cwd: str, columns: int, rows: int) -> bytes:
    """The bytes of the remembered frame for this folder and size; empty: none."""
    path = os.path.join(state_folder(), "frames", snapshot_name(cwd, columns, rows))
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        if os.fstat(fd).st_uid != os.getuid():
            return b""
        data = os.read(fd, MOST)
    finally:
        os.close(fd)
    first, _, frame = data.partition(b"\n")
    return frame if first == FORMAT + f"{columns}x{rows}".encode() else b""


def _quiet(attributes: "list[Any]") -> "list[Any]":
    """The attributes without echo and line editing, as Textual's driver sets them; ctrl+c still interrupts."""
    quiet = list(attributes)
    iflag, lflag, cc = quiet[0], quiet[3], quiet[6]
    quiet[0] = iflag & ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
    quiet[3] = lflag & ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
    quiet[6] = list(cc)
    quiet[6][termios.VMIN] = 1
    return quiet


def _simple(cwd: str, columns: int, rows: int) -> bytes:
    """A frame made from the remembered sizes alone: header, edges, input line, key bar."""
    from gshtui.ui.window.simple_frame import draw

    return draw(cwd, columns, rows, state_folder())


def _put_back_when_killed(frame: FirstFrame) -> None:
    """Leave the alternate screen even if a signal ends the process before Textual's driver starts."""
    import signal

    def end(number: int, _: object) -> None:
        frame.abandon()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, end)


def _write(fd: int, data: bytes) -> None:
    sys.stderr.flush()
    while data:
        data = data[os.write(fd, data) :]

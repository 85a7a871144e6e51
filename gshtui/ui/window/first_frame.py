"""The first frame: the window as last seen in a terminal of this size, before Textual is even imported.

Owns the terminal from there until Textual's driver takes over: raw, and restored if nothing takes over. What is typed
meanwhile is shown in its input line (`early_echo.py`) and kept for the driver. Imports next to nothing and never fails:
at worst there is no frame. Called by the command line, first of all.
"""

# Importing pathlib takes longer than running all of this.
# ruff: noqa: PTH111, PTH118

import atexit
import os
import sys
import termios
import zlib

from gshtui.ui.window.early_echo import EarlyEcho, InputPlace
from gshtui.ui.window.terminal_echo import ECHO

TYPE_CHECKING = False  # `typing` takes longer to import than the frame takes to paint
if TYPE_CHECKING:
    from typing import Any

    from gshtui.ui.window.early_echo import TypedLine

LOADING = "Loading the conversation…"
FORMAT = b"gsh-frame 2 "
MOST = 1024 * 1024
"""Maximum bytes of a snapshot; a larger file is not ours."""
_ENTER = b"\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[?2004h\x1b[H"
_LEAVE = b"\x1b[?2004l\x1b[?7h\x1b[0m\x1b[?1049l\x1b[?25h"


class FirstFrame:
    """A painted frame. Either `handed_over` or `abandon` ends it; the end of the process abandons it too."""

    __slots__ = ("_echo", "_open", "attributes", "fd", "size")

    def __init__(self, fd: int, attributes: "list[Any]", size: "tuple[int, int]") -> None:
        self.fd = fd
        self.attributes = attributes
        """The terminal's original attributes (`termios.tcgetattr`)."""
        self.size = size
        self._echo: EarlyEcho | None = None
        self._open = True
        atexit.register(self.abandon)

    def echo(self, place: InputPlace) -> None:
        """From now on, show what is typed in the input line at this place."""
        self._echo = EarlyEcho(self.fd, place)

    def take_typed(self) -> "tuple[list[bytes], TypedLine | None]":
        """Stop reading the terminal. Returns what was typed (see `EarlyEcho.pieces`), and the line that shows it."""
        echo, self._echo = self._echo, None
        return (echo.stop(), echo.line) if echo is not None else ([], None)

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
            self.take_typed()
            _write(self.fd, _LEAVE)
            termios.tcsetattr(0, termios.TCSANOW, self.attributes)
        except (OSError, termios.error):
            pass  # the terminal is gone, and nobody sees it


def paint(cwd: str, words: str = "") -> "FirstFrame | None":
    """Paint the window's frame for this folder, with these words in the chat; `None`: no terminal can show it."""
    frame = _painted(cwd, words)
    ECHO.on()  # unless the frame has the terminal now
    return frame


def _painted(cwd: str, words: str) -> "FirstFrame | None":
    if os.environ.get("TERM", "dumb") == "dumb" or "TEXTUAL_DRIVER" in os.environ:
        return None
    try:
        if not (os.isatty(0) and os.isatty(2)):
            return None
        columns, rows = terminal_size()
        # A process in the background that sets the terminal is stopped by it; Textual deals with that.
        if os.tcgetpgrp(0) != os.getpgrp():
            return None
        attributes = ECHO.handed_over()
        frame = FirstFrame(2, attributes, (columns, rows))
    except (OSError, termios.error):
        return None
    try:
        termios.tcsetattr(0, termios.TCSANOW, _quiet(attributes))
        painted, place = snapshot(cwd, columns, rows)
        if not painted:  # an input line alone, for what is typed meanwhile
            place = InputPlace(max(0, rows - 3), min(2, columns - 1), max(2, columns - 4), "", "\x1b[7m")
        elif words and place is not None and len(words) < place.width:
            at = place.column + (place.width - len(words)) // 2
            painted += f"\x1b[{place.row // 2};{at + 1}H{place.text}{words}\x1b[0m".encode()
        _write(2, _ENTER + painted)
        if place is not None:
            frame.echo(place)
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


def snapshot(cwd: str, columns: int, rows: int) -> "tuple[bytes, InputPlace | None]":
    """The bytes of the remembered frame for this folder and size (empty: none), and where its input line is."""
    path = os.path.join(state_folder(), "frames", snapshot_name(cwd, columns, rows))
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return b"", None
    try:
        if os.fstat(fd).st_uid != os.getuid():
            return b"", None
        data = os.read(fd, MOST)
    finally:
        os.close(fd)
    first, _, frame = data.partition(b"\n")
    size, _, place = first.removeprefix(FORMAT).partition(b" ")
    if not first.startswith(FORMAT) or size != f"{columns}x{rows}".encode():
        return b"", None
    return frame, _place(place.decode("ascii", "replace").split(" "))


def _place(fields: "list[str]") -> "InputPlace | None":
    """The place as `frame_snapshots.place_fields` writes it; `None`: there is none, or it is no such place."""
    try:
        row, column, width = (int(field) for field in fields[:3])
        text, cursor = (f"\x1b[{field}m" if field != "-" else "" for field in fields[3:])
    except ValueError:
        return None
    looks = all(field.replace(";", "").replace("-", "").isdecimal() or field == "-" for field in fields[3:])
    return InputPlace(row, column, width, text, cursor) if looks and width > 1 else None


def _quiet(attributes: "list[Any]") -> "list[Any]":
    """The attributes without echo and line editing, as Textual's driver sets them; ctrl+c still interrupts.

    ctrl+\\ and ctrl+z are keys: they would leave the frame on the terminal.
    """
    quiet = list(attributes)
    iflag, lflag, cc = quiet[0], quiet[3], quiet[6]
    quiet[0] = iflag & ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
    quiet[3] = lflag & ~(termios.ECHO | termios.ICANON | termios.IEXTEN)
    quiet[6] = list(cc)
    quiet[6][termios.VMIN] = 1
    quiet[6][termios.VQUIT] = quiet[6][termios.VSUSP] = bytes([os.fpathconf(0, "PC_VDISABLE")])
    return quiet


def _put_back_when_killed(frame: FirstFrame) -> None:
    """Leave the alternate screen even if a signal ends the process before Textual's driver starts."""
    import signal

    def end(number: int, _: object) -> None:
        frame.abandon()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, end)


def _write(fd: int, data: bytes) -> None:
    sys.stderr.flush()
    while data:
        data = data[os.write(fd, data) :]

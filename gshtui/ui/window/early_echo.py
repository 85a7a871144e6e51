"""What is typed before the window can take it, shown in the painted input line at once.

A thread reads the terminal while Textual is imported and draws letters, a backspace and a paste of one line. With
anything else it stops drawing and only keeps what comes. Textual's driver gets every byte, in order, and goes on
drawing until the real input shows the text. Imports next to nothing. Started by `first_frame`, ended by the driver.
"""

import _thread
import os
import select
import signal
import sys

TYPE_CHECKING = False  # `typing` takes longer to import than the frame takes to paint
if TYPE_CHECKING:
    from codecs import IncrementalDecoder

_PASTE, _PASTED = "\x1b[200~", "\x1b[201~"
_READ = 1 << 16
_TURN = 0.001
"""Seconds that an import may go on while a key waits to be drawn."""
_ESCAPE_WAITS = 0.05
"""`gshtui.text.terminal_sequences.ESCAPE_WAITS`, without the imports that it needs."""
_JOINERS = "\u200d\ufe0e\ufe0f"
"""What makes one sign of several: how wide that is, only the real input knows."""


class InputPlace:
    """Where the painted frame has its input line.

    Args:
        row, column: of its first letter, from 0.
        width: in cells.
        text, cursor: sequences that set the look of its text and of its cursor.
    """

    __slots__ = ("column", "cursor", "row", "text", "width")

    def __init__(self, row: int, column: int, width: int, text: str, cursor: str) -> None:
        self.row = row
        self.column = column
        self.width = width
        self.text = text
        self.cursor = cursor


class TypedLine:
    """The text of the painted input line."""

    def __init__(self, place: InputPlace) -> None:
        self.frozen = False
        """Something was typed that cannot be shown here; nothing is drawn any more."""
        self.shown = False
        """There is something to draw."""
        self._place = place
        self._letters: list[tuple[str, int]] = []
        self._cells = 0
        self._pending = ""

    def type(self, text: str) -> bool:
        """Take what was typed; returns whether the line has changed."""
        text, self._pending = self._pending + text, ""
        before = len(self._letters), self._cells
        at = 0
        while at < len(text) and not self.frozen:
            letter = text[at]
            if letter == "\x1b":
                rest = text[at : at + len(_PASTE)]
                if rest in (_PASTE, _PASTED):
                    at += len(rest)
                    continue
                if _PASTE.startswith(rest) or _PASTED.startswith(rest):
                    self._pending = rest
                    break
                self.frozen = True
            elif letter in "\x7f\x08":
                if self._letters:
                    self._cells -= self._letters.pop()[1]
            else:
                self._add(letter)
            at += 1
        changed = before != (len(self._letters), self._cells)
        self.shown = self.shown or changed
        return changed

    def _add(self, letter: str) -> None:
        cells = _cells(letter)
        if cells < 0 or self._cells + cells >= self._place.width:
            self.frozen = True
        else:
            self._letters.append((letter, cells))
            self._cells += cells

    @property
    def text(self) -> str:
        """The text that is drawn."""
        return "".join(letter for letter, _ in self._letters)

    def drawn(self) -> str:
        """The sequences that draw the whole line; the terminal's own cursor stays where it is."""
        place = self._place
        rest = " " * max(0, place.width - self._cells - 1)
        line = f"{place.text}{self.text}\x1b[0m{place.cursor} \x1b[0m{place.text}{rest}\x1b[0m"
        return f"\x1b7\x1b[{place.row + 1};{place.column + 1}H{line}\x1b8"


def _cells(letter: str) -> int:
    """How wide it is; -1: it cannot be shown here."""
    if " " <= letter <= "~":
        return 1
    if letter in _JOINERS or not letter.isprintable():
        return -1
    from unicodedata import combining, east_asian_width

    return 0 if combining(letter) else 2 if east_asian_width(letter) in "WF" else 1


class EarlyEcho:
    """Reads the terminal in a thread until it is stopped."""

    def __init__(self, fd: int, place: InputPlace, keys: int = 0) -> None:
        """`fd`: where to draw. `keys`: where to read."""
        self.line = TypedLine(place)
        self.pieces = [b""]
        """What was typed so far.

        Where an escape, or the beginning of a sequence, was followed by nothing for as long as tells that this is what
        was typed, another piece begins: escape and then a letter is not that letter with alt.
        """
        self._fd = fd
        self._keys = keys
        self._ended = _thread.allocate_lock()
        self._ends, self._end = os.pipe()
        self._interval = sys.getswitchinterval()
        sys.setswitchinterval(_TURN)
        self._ended.acquire()
        # Signals are for the main thread: one that the other takes would not wake it.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        try:
            _thread.start_new_thread(self._run, ())
        except RuntimeError:  # no thread to be had: what is typed waits in the terminal
            self._ended.release()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def stop(self) -> "list[bytes]":
        """Stop reading; returns everything that was typed so far, in pieces. To be called once."""
        sys.setswitchinterval(self._interval)
        os.close(self._end)
        self._ended.acquire()
        os.close(self._ends)
        return self.pieces

    def _run(self) -> None:
        try:
            self._follow(_decoder())
        except OSError:
            pass  # the terminal is gone
        finally:
            self._ended.release()

    def _follow(self, decoder: "IncrementalDecoder") -> None:
        waits = None
        while self._ends not in (ready := select.select([self._keys, self._ends], [], [], waits)[0]):
            if not ready:
                self.pieces.append(b"")
                waits = None
                continue
            data = os.read(self._keys, _READ)
            if not data:
                return
            self.pieces[-1] += data
            waits = _ESCAPE_WAITS if b"\x1b" in data else None
            if self.line.type(decoder.decode(data)):
                os.write(self._fd, self.line.drawn().encode())


def _decoder() -> "IncrementalDecoder":
    from codecs import getincrementaldecoder

    return getincrementaldecoder("utf-8")("replace")

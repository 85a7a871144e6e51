"""Reads what a control-mode client says: which lines answer which command, and which are notifications.

Pure. Between `%begin` and its end every line is data, whatever it looks like: a program in a pane can print `%end` with
any numbers. So behind each command goes a seal, a line that nobody in a pane can know; what stands before it counts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

Answer = Callable[[bool, list[bytes], bytes], None]
"""(succeeded, lines, what stands behind the seal)"""


class Blocks:
    """Feeds on bytes; calls `Answer`s in the order of `expect`, and `note` with every other line.

    Args:
        note: takes a notification, without its newline.
    """

    def __init__(self, note: Callable[[bytes], None]) -> None:
        self._note = note
        self._rest = b""
        self._waiting: deque[tuple[bytes, Answer]] = deque()
        self._open = b""
        """The numbers of the block that we are in; empty outside."""
        self._foreign = False
        self._held: list[bytes] = []
        self._closing = b""
        """The line that ends the seal's own block, once the seal was seen."""
        self._tail = b""

    def expect(self, seal: bytes, answer: Answer) -> None:
        """A command has been sent, and a second one that prints the seal (and maybe more, in the same line)."""
        self._waiting.append((seal, answer))

    def feed(self, data: bytes) -> None:
        """Take more of what the client said."""
        lines = (self._rest + data).split(b"\n")
        self._rest = lines.pop()
        for line in lines:
            self._take(line)

    def _take(self, line: bytes) -> None:
        if self._open:
            self._inside(line)
        elif line.startswith(b"%begin "):
            self._open = line[len(b"%begin ") :]
            # The last number says whether the block answers us; others are of hooks and of the client's start.
            self._foreign = not self._waiting or not self._open.endswith(b" 1")
            self._held = []
        else:
            self._note(line)

    def _inside(self, line: bytes) -> None:
        if self._foreign:
            if line in self._ends():
                self._open = b""
            return
        held = self._held
        if self._closing:
            if line == self._closing:
                self._settle()
                return
            self._closing = b""  # no seal after all
        elif line.startswith(self._waiting[0][0]) and held and held[-1].startswith(b"%begin "):
            self._closing = b"%end " + held[-1][len(b"%begin ") :]
            self._tail = line[len(self._waiting[0][0]) :]
            return
        held.append(line)

    def _ends(self) -> tuple[bytes, bytes]:
        return b"%end " + self._open, b"%error " + self._open

    def _settle(self) -> None:
        """The seal has come whole: the last end before it is the real one, and what follows that are notifications."""
        held, ends = self._held, self._ends()
        del held[-1]  # the seal's %begin
        at = len(held) - 1
        while at >= 0 and held[at] not in ends:
            at -= 1
        _, answer = self._waiting.popleft()
        succeeded, lines, notes = at >= 0 and held[at] == ends[0], held[: max(at, 0)], held[at + 1 :]
        self._open, self._closing, self._held = b"", b"", []
        answer(succeeded, lines, self._tail)
        for note in notes:
            self._note(note)

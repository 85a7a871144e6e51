"""Parses the output of a control-mode client: which lines answer which command, and which are notifications.

Pure. Between `%begin` and its end every line is data, whatever it looks like: a program in a pane can print `%end` with
any numbers. Therefore each command is followed by a seal, a line that no program in a pane can know; only what precedes
the seal counts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

Answer = Callable[[bool, list[bytes], bytes], None]
"""(succeeded, lines, text after the seal)"""


class ControlParser:
    """Feeds on bytes; calls `Answer`s in the order of `expect`, and `note` with every other line. `note`: takes a
    notification, without its newline.
    """

    def __init__(self, note: Callable[[bytes], None]) -> None:
        self._note = note
        self._said = bytearray()
        """Input not parsed yet."""
        self._waiting: deque[tuple[bytes, Answer]] = deque()
        self._open = b""
        """The numbers of the block that we are in; empty outside."""
        self._foreign = False
        self._searched: int = 0
        """How far the block has been searched for its seal."""

    def expect(self, seal: bytes, answer: Answer) -> None:
        """A command has been sent, and a second one that prints the seal (and maybe more, in the same line)."""
        self._waiting.append((seal, answer))

    def feed(self, data: bytes) -> None:
        """Take more of what the client said."""
        self._said += data
        while self._inside() if self._open and not self._foreign else self._line():
            pass

    def _line(self) -> bool:
        """Parse a line outside of answers. Returns whether there was one."""
        end = self._said.find(b"\n")
        if end < 0:
            return False
        line = bytes(self._said[:end])
        del self._said[: end + 1]
        if self._open:  # a block that answers nobody
            if line in (b"%end " + self._open, b"%error " + self._open):
                self._open = b""
        elif line.startswith(b"%begin "):
            self._open = line[len(b"%begin ") :]
            # The last number says whether the block answers us; others are of hooks and of the client's start.
            self._foreign = not self._waiting or not self._open.endswith(b" 1")
            self._searched = 0
        else:
            self._note(line)
        return True

    def _inside(self) -> bool:
        """Parse a complete answer, up to the end of the block with its seal. Returns whether it is complete."""
        said, (seal, answer) = self._said, self._waiting[0]
        at = said.find(b"\n" + seal, self._searched)
        if at < 0:
            self._searched = max(0, len(said) - len(seal))
            return False
        behind = said.find(b"\n", at + 1)
        last = said.find(b"\n", behind + 1) if behind >= 0 else -1
        if last < 0:
            self._searched = at
            return False
        lines = bytes(said[:at]).split(b"\n")
        tail, closing = bytes(said[at + 1 + len(seal) : behind]), bytes(said[behind + 1 : last])
        begin = lines.pop()
        if not begin.startswith(b"%begin ") or closing != b"%end " + begin[len(b"%begin ") :]:
            self._searched = at + 1  # no seal after all
            return True
        # The last end before the seal is the real one; what stands between the two are notifications.
        ends = b"%end " + self._open, b"%error " + self._open
        end = len(lines) - 1
        while end >= 0 and lines[end] not in ends:
            end -= 1
        del said[: last + 1]
        self._waiting.popleft()
        self._open = b""
        answer(end >= 0 and lines[end] == ends[0], lines[: max(end, 0)], tail)
        for line in lines[end + 1 :]:
            self._note(line)
        return True

"""A person's way into one terminal: what was typed, pasted or clicked goes there in order, and is shown soon.

Owns the order and one task; what waits together goes together. Never sends anything twice: what failed is said, and
what waited behind it is dropped. Used by the terminal view.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Literal

from gshtui.system.tasks import keep_on
from gshtui.tmux.errors import TmuxError
from gshtui.ui.terminal.terminals import Terminal

_Kind = Literal["text", "key", "data", "motion", "paste"]
_MOST = 2_000
"""Presses that wait; a terminal that takes none for so long is not listening."""


class Keyboard:
    """Types into a terminal.

    Args:
        sends: called before each piece is sent, since its echo may be there before it is known to have arrived; and
            after a paste, which takes its time.
        sent: called after each piece that arrived.
        failed: called with a sentence when one did not.
    """

    def __init__(
        self,
        terminal: Terminal,
        sends: Callable[[], None],
        sent: Callable[[], None],
        failed: Callable[[str], None],
    ) -> None:
        self._sends = sends
        self._terminal = terminal
        self._sent = sent
        self._failed = failed
        self._waiting: deque[tuple[_Kind, str | bytes]] = deque()
        self._task: asyncio.Task[None] | None = None

    def text(self, text: str) -> None:
        """Letters, as they are typed."""
        self._put("text", text)

    def key(self, name: str) -> None:
        """A key by tmux's name."""
        self._put("key", name)

    def paste(self, text: str) -> None:
        """Text from the clipboard, bracketed where the program asked for that."""
        self._put("paste", text)

    def mouse(self, data: bytes, *, motion: bool = False) -> None:
        """What the mouse did. Of movements that wait only the last counts."""
        if motion and self._waiting and self._waiting[-1][0] == "motion":
            self._waiting.pop()
        self._put("motion" if motion else "data", data)

    async def close(self) -> None:
        """Nobody types any more."""
        self._waiting.clear()
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _put(self, kind: _Kind, what: str | bytes) -> None:
        if len(self._waiting) >= _MOST:
            self._fail("The terminal takes no keys; what was typed is dropped.")
            return
        self._waiting.append((kind, what))
        if self._task is None or self._task.done():
            self._task = keep_on(self._run, "the keyboard of a terminal")

    async def _run(self) -> None:
        while self._waiting:
            kind, pieces = self._next()
            self._sends()
            try:
                await self._send(kind, pieces)
            except TmuxError as error:
                self._fail(str(error))
                return
            self._sent()
            if kind == "paste":
                self._sends()

    def _next(self) -> tuple[_Kind, list[str | bytes]]:
        """What goes next: all of one kind that waits, but a paste alone."""
        kind, first = self._waiting.popleft()
        pieces = [first]
        while kind != "paste" and self._waiting and self._waiting[0][0] == kind:
            pieces.append(self._waiting.popleft()[1])
        return kind, pieces

    async def _send(self, kind: _Kind, pieces: list[str | bytes]) -> None:
        texts = [piece for piece in pieces if isinstance(piece, str)]
        if kind == "text":
            await self._terminal.type("".join(texts).encode("utf-8", "replace"))
        elif kind == "key":
            await self._terminal.press(*texts)
        elif kind == "paste":
            await self._terminal.paste("".join(texts))
        else:
            await self._terminal.type(b"".join(piece for piece in pieces if isinstance(piece, bytes)))

    def _fail(self, why: str) -> None:
        self._waiting.clear()
        self._failed(why)

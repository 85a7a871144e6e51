"""One window on a pseudo-terminal, shown in browsers: one of them types, the others only see.

The window outlives a browser that vanishes for a while, and is drawn anew for the next one. Who reads too slowly is
let go.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from gshtui.system.processes.pty_process import PtyProcess
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, start_job

MOST_VIEWERS = 20
KEPT = 600.0
"""Seconds that the window stays open without the browser that types."""
_MOST_UNREAD = 8 * 1024 * 1024
"""Bytes that may wait for a browser."""
_BEHIND = 1024 * 1024
"""Bytes that wait for the browser that types before the window waits for it."""
_LARGEST = 1_000
"""Most columns and rows."""
_DRAWN_AFTER = 0.2
"""Seconds between the two sizes by which the window draws all of itself: at once, it would see only the second."""
_SCREEN = b"\x1b[?1049h\x1b[?25l\x1b[2J"
_KEYS = b"\x1b[?1000h\x1b[?1003h\x1b[?1015h\x1b[?1006h\x1b[?1004h\x1b[?2004h"
"""What makes a terminal report the mouse, the focus and pastes; only the one that types gets it."""


class Socket(Protocol):
    """A websocket. Its methods raise `ConnectionError`, `RuntimeError` when the browser is gone."""

    async def send_bytes(self, data: bytes) -> None: ...

    async def send_str(self, data: str) -> None: ...

    async def close(self) -> object: ...


class Browser:
    """One browser that sees the window; what it is sent waits for it, and for nobody else."""

    def __init__(self, socket: Socket) -> None:
        self._socket = socket
        self._waiting: deque[bytes | str] = deque()
        self._size = 0
        self._came, self._sent = asyncio.Event(), asyncio.Event()
        self.gone = asyncio.Event()
        """It is to be closed."""
        self._sender = start_job(self._send(), "a browser that shows the window")

    def put(self, data: bytes | str) -> None:
        """Send this next; a browser that has not read for too long is closed instead."""
        self._waiting.append(data)
        self._size += len(data)
        self._came.set()
        if self._size > _MOST_UNREAD:
            self.let_go()

    async def catch_up(self) -> None:
        """Wait until it has read most of what was sent, or is gone."""
        while self._size > _BEHIND and not self.gone.is_set():
            self._sent.clear()
            await self._sent.wait()

    def let_go(self) -> None:
        self.gone.set()
        self._sent.set()

    async def close(self) -> None:
        """Send no more, and close the connection."""
        self.let_go()
        await cancel_and_wait(self._sender)
        with contextlib.suppress(ConnectionError, RuntimeError, TimeoutError):
            async with time_limit(2.0):
                await self._socket.close()

    async def _send(self) -> None:
        try:
            while True:
                while self._waiting:
                    data = self._waiting.popleft()
                    self._size -= len(data)
                    await (self._socket.send_bytes(data) if isinstance(data, bytes) else self._socket.send_str(data))
                    self._sent.set()
                self._came.clear()
                await self._came.wait()
        except (ConnectionError, RuntimeError):
            self.let_go()


class WebWindow:
    """The window, from the first browser that types to its end."""

    def __init__(
        self, words: Sequence[str], env: Mapping[str, str], cwd: Path, size_text: Callable[[int, int], str]
    ) -> None:
        """
        Args:
            words: the program that is the window.
            size_text: the text that tells viewers of a new size.
        """
        self._words = words
        self._env = {**env, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
        self._cwd = cwd
        self._size_text = size_text
        self._program: PtyProcess | None = None
        self._life: asyncio.Task[None] | None = None
        self._owner: Browser | None = None
        self._viewers: set[Browser] = set()
        self._forgetting: asyncio.Task[None] | None = None
        self._drawing: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()
        self.size = (80, 24)

    async def open_to(self, browser: Browser, size: tuple[int, int]) -> None:
        """Let this browser type; another one that did is let go. Starts the window where there is none.
        Raises `OSError`: it cannot be started.
        """
        async with self._lock:
            await cancel_and_wait(self._forgetting)
            before, self._owner = self._owner, browser
            if before is not None:
                before.let_go()
            self._set_size(size)
            if self._program is not None:
                browser.put(_SCREEN + _KEYS)
                self._draw_anew()
                return
            program = await PtyProcess.start(self._words, self._show, cwd=self._cwd, env=self._env, size=self.size)
            self._program = program
            self._life = start_job(self._follow(program), "the window in a browser")

    async def leave(self, browser: Browser) -> None:
        """A browser is gone: the window waits for another one."""
        self._viewers.discard(browser)
        if browser is self._owner:
            self._owner = None
            await cancel_and_wait(self._forgetting)
            self._forgetting = start_job(self._forget(), "a window without a browser")

    def watch(self, browser: Browser) -> bool:
        """Show it to one more browser; returns whether there is room for it."""
        if len(self._viewers) >= MOST_VIEWERS:
            return False
        self._viewers.add(browser)
        browser.put(self._size_text(*self.size))
        browser.put(_SCREEN)
        self._draw_anew()
        return True

    async def type(self, browser: Browser, keys: str) -> None:
        if browser is self._owner and self._program is not None:
            await self._program.write(keys.encode(errors="replace"))

    def resize(self, browser: Browser, size: tuple[int, int]) -> None:
        """The browser that types has another size."""
        if browser is self._owner:
            self._set_size(size)
            if self._program is not None:
                self._program.resize(self.size)

    async def close(self) -> None:
        """End the window, and let every browser go."""
        await cancel_and_wait(self._forgetting)
        await self._end()
        self._let_go()

    def _set_size(self, size: tuple[int, int]) -> None:
        columns, rows = (max(1, min(_LARGEST, one)) for one in size)
        self.size = (columns, rows)
        for viewer in self._viewers:
            viewer.put(self._size_text(*self.size))

    def _draw_anew(self) -> None:
        if self._drawing is None or self._drawing.done():
            self._drawing = start_job(self._draw(), "the window for another browser")

    async def _draw(self) -> None:
        """Have the window send all of its screen: it does so for a size that is new to it."""
        columns, rows = self.size
        for size in ((columns, max(1, rows - 1)), self.size):
            if self._program is not None:
                self._program.resize(size)
            await asyncio.sleep(_DRAWN_AFTER)
        if self._program is not None:
            self._program.resize(self.size)  # it may have changed meanwhile

    async def _show(self, data: bytes) -> None:
        for browser in self._browsers():
            browser.put(data)
        if self._owner is not None:
            await self._owner.catch_up()

    async def _follow(self, program: PtyProcess) -> None:
        """Wait until the person leaves the window."""
        await program.wait()
        await program.close()
        if self._program is program:
            self._program = None
        self._let_go()

    async def _forget(self) -> None:
        await asyncio.sleep(KEPT)
        async with self._lock:
            await self._end()

    async def _end(self) -> None:
        program, self._program = self._program, None
        await cancel_and_wait(self._drawing, self._life)
        if program is not None:
            await program.close()

    def _let_go(self) -> None:
        for browser in self._browsers():
            browser.let_go()

    def _browsers(self) -> tuple[Browser, ...]:
        return (*self._viewers, *([self._owner] if self._owner is not None else []))

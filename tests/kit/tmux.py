"""A private tmux server for a test: own socket in a short folder, ended before the folder goes, reaped after a crash.

A test asks for the fixture `tmux` (import it) or enters `private_server()`. Waits are for conditions, with a deadline.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from pathlib import Path
from typing import TypeVar

import psutil
import pytest

from gshtui.tmux.errors import TmuxError
from gshtui.tmux.server import TmuxServer

PREFIX = "gsht"
DEADLINE = 8.0
"""Seconds that a test waits for anything."""
T = TypeVar("T")


@contextlib.asynccontextmanager
async def private_server() -> AsyncGenerator[TmuxServer]:
    """A server on a socket of its own. Whatever happens, nothing of it is left."""
    with short_folder() as folder:
        server = TmuxServer(socket_path=folder / "s")
        try:
            yield server
        finally:
            await server.close()
            await asyncio.to_thread(end_server, folder / "s")


@pytest.fixture
async def tmux() -> AsyncGenerator[TmuxServer]:
    """A private server; nothing runs on it yet."""
    async with private_server() as server:
        yield server


@contextlib.contextmanager
def short_folder() -> Generator[Path]:
    """A folder with a name short enough for sockets (104 bytes on macOS), that says whose it is."""
    reap()
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir="/tmp" if Path("/tmp").is_dir() else None))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def reap() -> None:
    """End servers whose test process is gone, by the folder that their socket is in."""
    for folder in Path("/tmp").glob(f"{PREFIX}[0-9]*-*"):
        owner = folder.name[len(PREFIX) :].partition("-")[0]
        if owner.isdigit() and not psutil.pid_exists(int(owner)):
            end_server(folder / "s")
            shutil.rmtree(folder, ignore_errors=True)


def end_server(socket: Path) -> None:
    """End everything that belongs to the socket: the server, its clients, and what its panes started."""
    found = [process for process in psutil.process_iter() if process.pid != os.getpid() and _of(process, socket)]
    for process in found:
        with contextlib.suppress(psutil.Error):
            process.send_signal(signal.SIGKILL)
    psutil.wait_procs(found, timeout=3)


def _of(process: psutil.Process, socket: Path) -> bool:
    """A tmux of this socket by its arguments (whole words), or a program of it by the mark in its environment."""
    try:
        words = process.cmdline()
        if words and Path(words[0]).name.startswith("tmux") and (str(socket) in words or f"-S{socket}" in words):
            return True
        return process.environ().get("TMUX", "").startswith(f"{socket},")
    except (psutil.Error, OSError):
        return False


async def eventually(
    look: Callable[[], Awaitable[T]], *, until: Callable[[T], object] = bool, within: float = DEADLINE
) -> T:
    """Look again and again until what is seen is right; gives it. Fails with the last that was seen."""
    seen: list[T] = []
    try:
        async with asyncio.timeout(within):
            while True:
                seen[:] = [await look()]
                if until(seen[0]):
                    return seen[0]
                await asyncio.sleep(0)
    except TimeoutError:
        pytest.fail(f"not within {within} s; last seen: {seen[0] if seen else 'nothing'!r}")


async def screen(server: TmuxServer, pane: str) -> str:
    """What the pane shows, as plain text without the blanks below."""
    return "\n".join(await server.capture(pane, styled=False)).rstrip()


async def shows(server: TmuxServer, pane: str, text: str) -> str:
    """Wait until the pane shows this; gives the whole screen."""
    return await eventually(lambda: screen(server, pane), until=lambda seen: text in seen)


async def no_pane(server: TmuxServer, pane: str) -> bool:
    """Whether the pane is gone."""
    try:
        await server.pane(pane)
    except TmuxError as error:
        return error.kind in ("no_such_pane", "gone")
    return False

"""A private tmux server for a test: own socket in a short folder, ended before the folder goes, reaped after a crash.

A test asks for the fixture `tmux` (import it) or enters `private_server()`. Waits are for conditions, with a deadline.
"""

import asyncio
import contextlib
import fcntl
import os
import pty
import re
import shutil
import signal
import struct
import tempfile
import termios
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from pathlib import Path
from typing import TypeVar

import psutil
import pytest

from gshtui.system.processes.processes import running_processes
from gshtui.tmux.mirror import Frame
from gshtui.tmux.server import TmuxServer
from gshtui.tmux.tmux_errors import TmuxError

PREFIX = "gsht"
DEADLINE = 60.0
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


@pytest.fixture
def named_servers(monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """For a test whose hubs and commands start the server by its name (`-L gsh`): where its socket is put. It ends."""
    with short_folder() as folder:
        monkeypatch.setenv("TMUX_TMPDIR", str(folder))
        try:
            yield folder
        finally:
            end_server(folder / f"tmux-{os.getuid()}" / "gsh")


@contextlib.contextmanager
def short_folder() -> Generator[Path]:
    """A folder with a name short enough for sockets (104 bytes on macOS), that says whose it is."""
    reap()
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-", dir="/tmp" if Path("/tmp").is_dir() else None))
    try:
        yield folder
    finally:
        end_folder(folder)
        shutil.rmtree(folder, ignore_errors=True)


def reap() -> None:
    """End servers whose test process is gone, by the folder that their socket is in."""
    for folder in Path("/tmp").glob(f"{PREFIX}[0-9]*-*"):
        owner = folder.name[len(PREFIX) :].partition("-")[0]
        if owner.isdigit() and not psutil.pid_exists(int(owner)):
            end_server(folder / "s")
            end_folder(folder)  # those that were started by name, whose socket is further down
            shutil.rmtree(folder, ignore_errors=True)


async def kill_server(server: TmuxServer) -> None:
    """End the server and everything on it by its own `kill-server`."""
    address = ("-S", str(server.socket_path)) if server.socket_path else ("-L", server.socket_name)
    killer = await asyncio.create_subprocess_exec(
        "tmux", *address, "kill-server", stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    await killer.wait()


def end_server(socket: Path) -> None:
    """End everything that belongs to the socket: the server, its clients, and what its panes started."""
    _end(lambda process: _of(process, socket))


def end_folder(folder: Path) -> None:
    """End every server whose sockets are in the folder as `$TMUX_TMPDIR`, with its clients and programs."""
    _end(lambda process: _in(process, folder))


def _end(theirs: Callable[[psutil.Process], bool]) -> None:
    found = [process for process in psutil.process_iter() if process.pid != os.getpid() and theirs(process)]
    for process in found:
        with contextlib.suppress(psutil.Error):
            process.send_signal(signal.SIGKILL)
    until = time.monotonic() + 3
    while running_processes(found) and time.monotonic() < until:  # where nobody reaps, a zombie is as good as gone
        psutil.wait_procs(found, timeout=0.02)


def _of(process: psutil.Process, socket: Path) -> bool:
    """A tmux of this socket by its arguments (whole words), or a program of it by the mark in its environment."""
    try:
        words = process.cmdline()
        if words and Path(words[0]).name.startswith("tmux") and (str(socket) in words or f"-S{socket}" in words):
            return True
        return process.environ().get("TMUX", "").startswith(f"{socket},")
    except (psutil.Error, OSError):
        return False


def _in(process: psutil.Process, folder: Path) -> bool:
    """A tmux that was told to keep its sockets here, or a program in one of its panes."""
    try:
        environ = process.environ()
        named = process.name().startswith("tmux") and environ.get("TMUX_TMPDIR") == str(folder)
        return named or environ.get("TMUX", "").startswith(f"{folder}/")
    except (psutil.Error, OSError):
        return False


def block_loop(seconds: float) -> None:
    """Keep the event loop standing still, as a hub does that is stopped or overloaded: a fault, not a wait."""
    threading.Event().wait(seconds)


_AT_ONCE, _PAUSE, _PART, _LONGEST = 20, 0.005, 0.1, 0.1
"""Looks without a pause; then the first pause, what part of the time so far it may grow to, and its end."""


async def eventually(
    look: Callable[[], Awaitable[T]], *, until: Callable[[T], object] = bool, within: float = DEADLINE
) -> T:
    """Look again and again until what is seen is right; gives it. Fails with the last that was seen.

    It lets others run in between: Linux can hold up the programs of other sessions (those in tmux) for ten seconds
    while one never sleeps. Looks grow rarer, since each takes from the machine that it waits for.
    """
    seen: list[T] = []
    looks, began = 0, time.monotonic()
    try:
        async with asyncio.timeout(within):
            while True:
                seen[:] = [await look()]
                if until(seen[0]):
                    return seen[0]
                looks += 1
                pause = min(_LONGEST, max(_PAUSE, (time.monotonic() - began) * _PART))
                await asyncio.sleep(0 if looks < _AT_ONCE else pause)
    except TimeoutError:
        pytest.fail(f"not within {within} s; last seen: {seen[0] if seen else 'nothing'!r}")


async def screen_text(server: TmuxServer, pane: str) -> str:
    """What the pane shows, as plain text without the blanks below."""
    return "\n".join(await server.capture(pane, styled=False)).rstrip()


async def wait_for_text(server: TmuxServer, pane: str, text: str) -> str:
    """Wait until the pane shows this; gives the whole screen."""
    return await eventually(lambda: screen_text(server, pane), until=lambda seen: text in seen)


async def pane_is_gone(server: TmuxServer, pane: str) -> bool:
    try:
        await server.pane(pane)
    except TmuxError as error:
        return error.kind in ("no_such_pane", "gone")
    return False


class Frames:
    """Takes what a mirror shows."""

    def __init__(self) -> None:
        self.all: list[Frame] = []
        self._came = asyncio.Event()

    def __call__(self, frame: Frame) -> None:
        self.all.append(frame)
        self._came.set()

    @property
    def text(self) -> str:
        """The last frame without styles."""
        return plain_text(self.all[-1]) if self.all else ""

    async def wait_for(self, right: Callable[[Frame], object], within: float = DEADLINE) -> Frame:
        try:
            async with asyncio.timeout(within):
                while not (self.all and right(self.all[-1])):
                    self._came.clear()
                    await self._came.wait()
        except TimeoutError:
            pytest.fail(f"no such frame within {within} s; the last of {len(self.all)}:\n{self.text}")
        return self.all[-1]

    async def wait_for_text(self, text: str) -> Frame:
        """Wait until this text is shown."""
        return await self.wait_for(lambda frame: text in plain_text(frame))


def plain_text(frame: Frame) -> str:
    """The frame's text without its styles."""
    return re.sub(r"\x1b\[[0-9;:]*m", "", "\n".join(frame.lines))


@contextlib.asynccontextmanager
async def attached_person(
    server: TmuxServer, session: str, *, columns: int = 100, rows: int = 30
) -> AsyncGenerator[int]:
    """A person who attaches in a terminal of this size; gives its other end, to type into."""
    leader, follower = pty.openpty()
    fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    process = await asyncio.create_subprocess_exec(
        *server.attach_command(session), stdin=follower, stdout=follower, stderr=follower, start_new_session=True
    )
    os.close(follower)
    os.set_blocking(leader, False)
    loop = asyncio.get_running_loop()

    def drain() -> None:
        try:
            while os.read(leader, 65536):
                pass
        except BlockingIOError:
            pass
        except OSError:
            loop.remove_reader(leader)

    loop.add_reader(leader, drain)
    try:
        await eventually(lambda: has_client(server, session))
        yield leader
    finally:
        loop.remove_reader(leader)
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()
        os.close(leader)


def clients(server: TmuxServer) -> list[tuple[psutil.Process, list[str]]]:
    """Children of ours that talk to the server, with their arguments."""
    found: list[tuple[psutil.Process, list[str]]] = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.Error):  # it has just ended
            found.append((child, child.cmdline()))
    return [(child, words) for child, words in found if str(server.socket_path) in words]


async def has_client(server: TmuxServer, session: str) -> bool:
    """Whether somebody is attached to the session."""
    return any(info.session == session and info.attached for info in await server.panes())

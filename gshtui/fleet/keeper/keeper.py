"""The keeper: the hub of windows, which looks after agents, shells and mail while none is open; one for a data folder.

A lock of the kernel in that folder says who it is. Whoever starts it takes the lock and has the new process inherit it,
so of many that need it at once one starts it, and it is held from before that process exists until it ends, however it
ends. The process has a session of its own and no terminal; it is `headless/servers/keeper_process.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from gshtui import __version__
from gshtui.client.hub_greeting import ANEW
from gshtui.guard.secrets.child_environment import is_secret_variable
from gshtui.settings import paths
from gshtui.system.caller_environment import without_terminal
from gshtui.system.files import private_files
from gshtui.system.files.file_lock import try_lock
from gshtui.system.files.private_files import open_reader
from gshtui.system.installation import INSTALLED_AT, own_command
from gshtui.system.processes.process_identity import Process, is_alive, is_here, process_of, this_process
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.struct_types import learned

_STATE = paths.KEEPER_STATE
LOCK = "keeper.lock"
"""File in the folder of the record, whose lock says who is the keeper."""
_STATE_LIMIT = 64 * 1024
_STOP_WITHIN = 10.0
"""Seconds for a keeper to stop; its hub's parts have deadlines of their own."""
_KILLED_WITHIN = 2.0
_DRAIN_WITHIN, _WAY_WITHIN = 5.0, 3.0
"""Seconds for one with nothing to finish, and how many of them a word of the shell waits."""
_START_WITHIN = 10.0
_SETTLES_WITHIN = 1.0
"""Seconds for a process with the lock to end, or to say who has it."""
_LOOK_EVERY = 0.05
BRIEF = 5.0
"""Seconds until a keeper that was started for the next command ends, if there is nothing to look after."""
DRAIN = signal.SIGUSR1
"""Asks a keeper to take nothing new, and to end as soon as nothing that it does for others would be cut."""
OTHER_VERSION = ("The hub is of another version or installation.", ANEW)
IN_CONTAINER = ("The hub runs in another container.", "Stop it there.")
LOGGED_OUT = "The hub was ended when you logged out, and what its agents did since then was not followed."
LINGER = "`loginctl enable-linger` lets your programs go on after you log out."


class KeeperState(msgspec.Struct, frozen=True):
    """What the keeper says about itself."""

    process: Process
    version: str
    since: float
    """When it started, in seconds since the epoch."""
    installed: int = 0
    """When its program was installed, in seconds since the epoch."""
    ready: bool = True
    """It has started, and listens if it can."""
    logged_out: bool = False
    """It was ended by a logout."""
    drains: bool = False
    """It ends between turns when `DRAIN` asks it to."""
    socket: str = ""
    """Where it listens, for who looks elsewhere, as a job of cron does."""
    brief: bool = False
    """All who have wanted it until now were commands, which it need not wait for long."""


def running_keeper(data: Path) -> KeeperState | None:
    """The keeper of this record, if it runs or starts. Blocks for a moment. `data`: folder of the record."""
    for file in (_STATE, LOCK):  # the second is written by who starts it
        state = _last_state(data / file)
        if state is None or not is_alive(state.process):
            continue
        if is_here(state.process) or _is_locked(data / LOCK):
            return state
    return None


def _is_locked(lock: Path) -> bool:
    """Whether some process has it, of another container perhaps, which nothing else tells."""
    try:
        descriptor = try_lock(lock)
    except OSError:
        return True
    if descriptor is not None:
        os.close(descriptor)
    return descriptor is None


def _last_state(written: Path) -> KeeperState | None:
    try:
        descriptor = private_files.open_existing(written)
        with open_reader(descriptor) as file:
            if os.fstat(file.fileno()).st_uid != os.geteuid():
                return None  # root may read it, and is not asked
            return msgspec.json.decode(file.read(_STATE_LIMIT), type=learned(KeeperState))
    except (OSError, msgspec.DecodeError):
        return None


class KeeperClaim:
    """This process's right to be the keeper of a record. The kernel ends it with the process.

    Attributes:
        folder: the folder of the record.
        after_logout: the last keeper was ended by a logout.
    """

    def __init__(self, data: Path, inherited: int | None = None) -> None:
        """
        Args:
            inherited: the descriptor with the lock, from the process that started this one.
        """
        self.folder = data
        self.after_logout = False
        self._inherited = inherited
        self._descriptor: int | None = None
        self._state = KeeperState(this_process(), __version__, time.time(), INSTALLED_AT, ready=False, drains=True)

    def acquire(self) -> bool:
        """Become the keeper; false if another process is. Raises `OSError`."""
        private_files.make_folder(self.folder)
        _check_owner(self.folder)
        self._descriptor = try_lock(self.folder / LOCK) if self._inherited is None else self._adopted(self._inherited)
        if self._descriptor is None:
            return False
        last = _last_state(self.folder / _STATE)
        self.after_logout = last is not None and last.logged_out
        self._write()
        return True

    def is_in_place(self) -> bool:
        """Whether others would find the lock that this process has: somebody may have removed the folder."""
        try:
            return self._descriptor is not None and os.path.samestat(
                os.fstat(self._descriptor), (self.folder / LOCK).lstat()
            )
        except OSError:
            return False

    def say_ready(self, socket: Path | None) -> None:
        """Tell those that wait for it where it listens; `None`: not yet, or not now. Raises `OSError`."""
        self._state = msgspec.structs.replace(self._state, ready=socket is not None, socket=str(socket or ""))
        self._write()

    def is_wanted_longer(self) -> bool:
        """Whether somebody wants it who does not want it briefly. Blocks for a moment."""
        wanted = _last_state(self.folder / LOCK)
        return wanted is not None and wanted.process == self._state.process and not wanted.brief

    def pass_on(self) -> list[str]:
        """Have the program that this process executes next keep the right; its arguments for that."""
        assert self._descriptor is not None
        with contextlib.suppress(OSError):
            self.say_ready(None)
        os.set_inheritable(self._descriptor, True)
        return ["--lock", str(self._descriptor)]

    def release(self, *, logged_out: bool = False) -> None:
        """Let another process be it. `logged_out`: a logout ends this one, which the next start says."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                if self.is_in_place() and logged_out:
                    self._state = msgspec.structs.replace(self._state, logged_out=True)
                    self._write()
                elif self.is_in_place():
                    (self.folder / _STATE).unlink()
            os.close(self._descriptor)
            self._descriptor = None

    def _write(self) -> None:
        private_files.write_whole(self.folder / _STATE, msgspec.json.encode(self._state))

    def _adopted(self, descriptor: int) -> int | None:
        """The descriptor, if it holds the lock of this folder."""
        try:
            if not os.path.samestat(os.fstat(descriptor), (self.folder / LOCK).lstat()):
                return None
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.set_inheritable(descriptor, False)
        except OSError:
            return None
        return descriptor


class KeeperStart(msgspec.Struct, frozen=True):
    """What came of a start."""

    started: bool
    """By this call; otherwise one runs, or another process starts it."""
    logged_out: bool = False
    """The last one was ended by a logout."""
    serves: bool = True
    """It is of this program, or whatever process starts it."""


def start_keeper(data: Path, environ: Mapping[str, str], *, briefly: bool = False) -> KeeperStart:
    """Start the keeper unless one runs or starts. Blocks for a moment. Raises `OSError`.

    Args:
        data: folder of the record.
        environ: the environment to start it in; keys and tokens are left out, for the keeper needs none.
        briefly: it ends soon unless there is something to look after.
    """
    private_files.make_folder(data)
    _check_owner(data)
    until = time.monotonic() + _SETTLES_WITHIN
    while (lock := try_lock(data / LOCK)) is None:
        if (running := running_keeper(data)) is not None or time.monotonic() > until:
            if running is not None and not briefly:
                _want_longer(data)
            return KeeperStart(False)
        time.sleep(_LOOK_EVERY)
    try:
        last = _last_state(data / _STATE)
        more = ["--at-first", f"{BRIEF:g}"] if briefly else []
        process = _start(["--lock", str(lock), *more], data, environ, lock)
        starting = KeeperState(
            process_of(process.pid), __version__, time.time(), INSTALLED_AT, ready=False, brief=briefly
        )
        with contextlib.suppress(OSError):  # it says so itself soon, unless a signal stops it before
            os.ftruncate(lock, 0)
            os.pwrite(lock, msgspec.json.encode(starting), 0)
    finally:
        os.close(lock)
    return KeeperStart(True, last is not None and last.logged_out)


def call_keeper(environ: Mapping[str, str]) -> Callable[[], bool]:
    """Have the keeper that windows want come up, unless one listens. Blocks for a moment.

    That process itself looks whether the settings want it, and whether it is the first.

    Returns:
        Whether it may still come.
    """
    with contextlib.suppress(OSError):
        if not any(path.exists() for path in paths.keeper_sockets()):
            process = _start(["--for-window", "--at-first", f"{BRIEF:g}"], Path("/"), environ)
            return lambda: process.poll() is None
    return lambda: False


def _start(arguments: list[str], cwd: Path, environ: Mapping[str, str], *passed: int) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [*keeper_command(), *arguments],
        cwd=cwd,
        env=keeper_environment(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        pass_fds=passed,
    )
    threading.Thread(target=process.wait, name="the hub's end", daemon=True).start()
    return process


def _want_longer(data: Path) -> None:
    """Have it stay as long as usual. This is longer than what its starter has written, and is written in one piece."""
    with contextlib.suppress(OSError):
        wanted = _last_state(data / LOCK)
        if wanted is not None and wanted.brief:
            descriptor = private_files.open_existing(data / LOCK, os.O_WRONLY)
            try:
                os.pwrite(descriptor, msgspec.json.encode(msgspec.structs.replace(wanted, brief=False)), 0)
            finally:
                os.close(descriptor)


async def ensure_keeper(data: Path, environ: Mapping[str, str], *, briefly: bool = False) -> KeeperStart:
    """Start the keeper unless it runs, as `start_keeper` does. Raises `OSError`.

    One of an older program makes way, but not in mid-turn: then the next call starts the new one.
    """
    running = await asyncio.to_thread(running_keeper, data)
    if running is not None:
        if is_current(running):
            if not briefly:
                await asyncio.to_thread(_want_longer, data)
            return KeeperStart(False, serves=serves(running))
        if not (running.drains and running.ready):
            await stop_keeper(data, running)
        elif not await ends(running.process, _WAY_WITHIN if briefly else _DRAIN_WITHIN, DRAIN, signal.SIGCONT):
            return KeeperStart(False, serves=False)
    return await asyncio.to_thread(start_keeper, data, environ, briefly=briefly)


def serves(running: KeeperState) -> bool:
    """Whether it is of this program."""
    return (running.version, running.installed) == (__version__, INSTALLED_AT)


def is_current(running: KeeperState) -> bool:
    """Whether it is of this program, or of a newer one."""
    return (_numbers(running.version), running.installed) >= (_numbers(__version__), INSTALLED_AT)


async def stop_keeper(data: Path, running: KeeperState | None = None) -> bool:
    """Stop the keeper, if it runs, and wait until it has ended. Returns whether it did.

    One that does not end by itself is killed: what it accepted is in the record. `running`: the one to stop, if it
    runs; by default whichever does.
    """
    running = running or await asyncio.to_thread(running_keeper, data)
    if running is None:
        return True
    process = running.process
    # One that was stopped by a signal gets the other only when it continues.
    return await ends(process, _STOP_WITHIN, signal.SIGTERM, signal.SIGCONT) or await ends(
        process, _KILLED_WITHIN, signal.SIGKILL
    )


async def ends(process: Process, within: float, *signals: signal.Signals) -> bool:
    """Send it these signals; returns whether it has ended within so many seconds. Never signals another process."""
    if not is_here(process):
        return not is_alive(process)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        for number in signals:
            os.kill(process.pid, number)
    until = time.monotonic() + within
    while is_alive(process):
        if time.monotonic() > until:
            return False
        await asyncio.sleep(_LOOK_EVERY)
    return True


def keeper_command() -> list[str]:
    return own_command("hub", "run")


def keeper_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that the keeper gets: no keys, and nothing about a terminal but where tmux has its sockets."""
    return {name: value for name, value in without_terminal(environ).items() if _is_keepers(name, value)}


def _is_keepers(name: str, value: str) -> bool:
    """Settings are; what tells a shell, an agent or a call of one is not: it would end with that call."""
    return not is_secret_variable(name, value) and (not name.startswith("GSH_") or "__" in name)


async def wait_for_keeper(data: Path) -> KeeperState | None:
    """The keeper that was just started, once it is ready; `None` if it is not in time, or has ended."""
    with contextlib.suppress(TimeoutError):
        async with time_limit(_START_WITHIN):
            while True:
                state = await asyncio.to_thread(running_keeper, data)
                if state is not None and state.ready:
                    return state
                if state is None and await asyncio.to_thread(_is_free, data):
                    return None
                await asyncio.sleep(_LOOK_EVERY)  # it is another process
    return None


def _is_free(data: Path) -> bool:
    """Whether nobody is the keeper, nor about to be."""
    try:
        lock = try_lock(data / LOCK)
    except OSError:
        return True
    if lock is not None:
        os.close(lock)
    return lock is not None


def _check_owner(folder: Path) -> None:
    if folder.stat().st_uid not in (os.geteuid(), 0):
        raise PermissionError(errno.EPERM, "it belongs to another user", str(folder))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())

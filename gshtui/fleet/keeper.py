"""The keeper: the hub that looks after agents, shells and mail while no window is open.

Says whether one runs, makes sure that only one does, and starts it in a hidden session of our tmux server, which
survives logouts as the agents do. Its process is `headless/keeper_process.py`.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from gshtui import __version__
from gshtui.guard.child_environment import is_secret_variable
from gshtui.system import private_files
from gshtui.system.environment import program_environment
from gshtui.system.file_lock import try_lock
from gshtui.system.installation import INSTALLED_AT
from gshtui.system.open_descriptor import open_reader
from gshtui.system.process_identity import Process, is_alive, this_process
from gshtui.system.struct_types import learned
from gshtui.system.time_limit import time_limit
from gshtui.tmux.panes import KEEPER
from gshtui.tmux.server import TmuxServer
from gshtui.tmux.tmux_errors import TmuxError

_STATE, _LOCK = "keeper.json", "keeper.lock"
_STATE_LIMIT = 64 * 1024
_STOP_WITHIN = 10.0
"""Seconds for a keeper to stop; its hub's parts have deadlines of their own."""
_KILLED_WITHIN = 2.0
_START_WITHIN = 30.0
_LOOK_EVERY = 0.05


class KeeperState(msgspec.Struct, frozen=True):
    """What the keeper says about itself."""

    process: Process
    version: str
    since: float
    """When it started, in seconds since the epoch."""
    installed: int = 0
    """When its program was installed, in seconds since the epoch."""


def running_keeper(data: Path) -> KeeperState | None:
    """The keeper of this record, if it runs. Blocks for a moment.

    Args:
        data: folder of the record.
    """
    try:
        descriptor = private_files.open_existing(data / _STATE)
        with open_reader(descriptor) as file:
            if os.fstat(file.fileno()).st_uid != os.geteuid():
                return None  # root may read it, and is not asked
            state = msgspec.json.decode(file.read(_STATE_LIMIT), type=learned(KeeperState))
    except (OSError, msgspec.DecodeError):
        return None
    return state if is_alive(state.process) else None


class KeeperClaim:
    """This process's right to be the keeper of a record. The kernel ends it with the process.

    Attributes:
        folder: the folder of the record.
    """

    def __init__(self, data: Path) -> None:
        self.folder = data
        self._descriptor: int | None = None

    def acquire(self) -> bool:
        """Become the keeper; false if another process is. Raises `OSError`."""
        private_files.make_folder(self.folder)
        if self.folder.stat().st_uid not in (os.geteuid(), 0):
            raise PermissionError(errno.EPERM, "it belongs to another user", str(self.folder))
        self._descriptor = try_lock(self.folder / _LOCK)
        if self._descriptor is None:
            return False
        state = KeeperState(this_process(), __version__, time.time(), INSTALLED_AT)
        private_files.write_whole(self.folder / _STATE, msgspec.json.encode(state))
        return True

    def release(self) -> None:
        """Let another process be it."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                (self.folder / _STATE).unlink()
            os.close(self._descriptor)
            self._descriptor = None


async def ensure_keeper(data: Path, server: TmuxServer, environ: Mapping[str, str]) -> bool:
    """Start the keeper unless it runs; one of an older program makes way. Returns whether this call started it.

    Args:
        data: folder of the record.
        server: the tmux server of the agents.
        environ: the environment to start it in; keys and tokens are left out, for the keeper needs none.

    Raises:
        TmuxError: tmux is missing or refuses.
        OSError: the record's folder cannot be used.
    """
    running = await asyncio.to_thread(running_keeper, data)
    if running is not None:
        if (_numbers(running.version), running.installed) >= (_numbers(__version__), INSTALLED_AT):
            return False
        await stop_keeper(data)
    await asyncio.to_thread(private_files.make_folder, data)
    program, environment = keeper_command(), keeper_environment(environ)
    until = time.monotonic() + _START_WITHIN
    while True:
        try:
            await server.spawn(KEEPER, program, cwd=data, env=environment, width=80, height=24, stays=False)
            return True
        except TmuxError as error:
            # Another process starts it at this moment, or the last one's session is about to end.
            if error.kind != "name_taken" or time.monotonic() > until:
                raise
        if await asyncio.to_thread(running_keeper, data) is not None:
            return False
        await asyncio.sleep(_LOOK_EVERY)


async def stop_keeper(data: Path) -> bool:
    """Stop the keeper, if it runs, and wait until it has ended. Returns whether it did.

    One that does not end by itself is killed: what it accepted is in the record.
    """
    running = await asyncio.to_thread(running_keeper, data)
    if running is None:
        return True
    process = running.process
    # One that was stopped by a signal gets the other only when it continues.
    return await _ends(process, _STOP_WITHIN, signal.SIGTERM, signal.SIGCONT) or await _ends(
        process, _KILLED_WITHIN, signal.SIGKILL
    )


async def _ends(process: Process, within: float, *signals: signal.Signals) -> bool:
    """Send it these signals; returns whether it has ended within so many seconds."""
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
    """The program and arguments of the keeper's process."""
    return [sys.executable, "-m", "gshtui", "hub", "run"]


def keeper_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables that the keeper gets: no keys, and nothing about a terminal."""
    passed = program_environment(environ, agent="")
    del passed["GSH_AGENT"]
    return {name: value for name, value in passed.items() if not is_secret_variable(name, value)}


async def wait_for_keeper(data: Path) -> KeeperState | None:
    """The keeper that was just started, once it runs; `None` if it does not."""
    state = None
    with contextlib.suppress(TimeoutError):
        async with time_limit(_START_WITHIN):
            while (state := await asyncio.to_thread(running_keeper, data)) is None:  # noqa: ASYNC110  # another process
                await asyncio.sleep(_LOOK_EVERY)
    return state


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdecimal())

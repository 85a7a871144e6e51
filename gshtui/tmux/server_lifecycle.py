"""Starts the tmux server in its own systemd scope, checks it and ends it, with libtmux in threads.

The only user of libtmux; never blocks the event loop.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import libtmux
from libtmux import exc
from libtmux.common import tmux_cmd

from gshtui.settings.paths import session_runtime_dir
from gshtui.system.caller_environment import caller_inherited
from gshtui.system.processes import processes
from gshtui.system.processes.process_limits import limited
from gshtui.system.processes.time_limit import time_limit
from gshtui.tmux import tmux_program
from gshtui.tmux.tmux_errors import TmuxError, from_reply, program_missing, timed_out

_SCOPE_WITHIN = 2.0


async def scope_prefix() -> list[str]:
    """The words before the command that starts the server; empty if this user has no systemd."""
    run, control = await asyncio.to_thread(_systemd)
    if not run or not control:
        return []
    try:
        process = await processes.start_child(
            control,
            "--user",
            "show-environment",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return []
    try:
        async with time_limit(_SCOPE_WITHIN):
            answered = await process.wait() == 0
    except TimeoutError:
        return []
    finally:
        await processes.kill_child(process)
    return [run, "--user", "--scope", "--quiet", "--collect", "--description=gsh-tui agents"] if answered else []


def _systemd() -> tuple[str | None, str | None]:
    """systemd's programs, where this user has one that runs."""
    folder = session_runtime_dir()
    if folder is None or not (folder / "systemd" / "private").exists():
        return None, None
    return shutil.which("systemd-run"), shutil.which("systemctl")


CONF = Path(__file__).with_name("gsh.conf")
DEADLINE = 5.0
"""Seconds for a call; starting a server takes some 20 ms."""

T = TypeVar("T")


class ServerLifecycle:
    """One tmux server as a whole.

    Args:
        socket_name, socket_path: one of the two names the socket.
    """

    def __init__(self, *, socket_name: str = "", socket_path: Path | None = None) -> None:
        self._server = _Bounded(
            socket_name=None if socket_path else socket_name,
            socket_path=socket_path,
            config_file=str(CONF),
        )

    async def running(self) -> bool:
        """Whether a server answers. Raises `TmuxError` (missing, timeout)."""
        result = await _in_thread(lambda: self._server.cmd("list-sessions"))
        return result.returncode == 0 or from_reply(" ".join(result.stderr)).kind != "gone"

    async def start(self) -> None:
        """Start a server that stays while it has no session yet. Raises `TmuxError`."""
        prefix = await scope_prefix()
        # `-f` counts only for the call that starts the server; the option keeps it up until the first session is made.
        await _in_thread(lambda: self._server.start_within(prefix))

    async def release(self) -> None:
        """Let the server end by itself once its last session has. Raises `TmuxError`."""
        await _in_thread(lambda: self._server.cmd("set-option", "-s", "exit-empty", "on"))

    async def has_session(self, name: str) -> bool:
        """Whether a session has exactly this name. Raises `TmuxError`."""
        return await _in_thread(lambda: self._server.has_session(name))

    async def kill_session(self, name: str) -> None:
        """End a session; windows that it shares with another live on there. Raises `TmuxError`."""
        await _in_thread(lambda: self._server.kill_session(f"={name}"))


class _Bounded(libtmux.Server):
    """libtmux's server, each call of which ends within the deadline and with a clean environment."""

    def cmd(self, cmd: str, *args: Any, target: str | int | None = None) -> tmux_cmd:
        """As libtmux's own, with a deadline."""
        return self._run([], cmd, *(("-t", str(target)) if target is not None else ()), *map(str, args))

    def start_within(self, prefix: list[str]) -> None:
        """Start the server with these words in front."""
        result = self._run(prefix, "start-server", ";", "set-option", "-s", "exit-empty", "off")
        if result.returncode and prefix:
            result = self._run([], "start-server", ";", "set-option", "-s", "exit-empty", "off")
        if result.returncode:
            raise from_reply(" ".join(result.stderr))

    def _run(self, prefix: list[str], *arguments: str) -> tmux_cmd:
        address = [f"-S{self.socket_path}"] if self.socket_path else [f"-L{self.socket_name}"]
        argv = [*prefix, tmux_program.find(), "-u", *address, f"-f{self.config_file}", *arguments]
        starting = arguments[:1] == ("start-server",)
        environ = tmux_program.server_environment() if starting else tmux_program.client_environment()
        with subprocess.Popen(
            limited(argv) if starting else argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environ,
            cwd="/" if starting else None,
            start_new_session=True,
            umask=caller_inherited().umask,
        ) as process:
            try:
                output, errors = process.communicate(timeout=DEADLINE)
            except subprocess.TimeoutExpired as error:
                os.killpg(process.pid, signal.SIGKILL)
                raise timed_out(DEADLINE) from error
        result = tmux_cmd.__new__(tmux_cmd)
        result.cmd, result.returncode = argv, process.returncode
        result.stdout = output.decode("utf-8", "replace").splitlines()
        result.stderr = [line for line in errors.decode("utf-8", "replace").splitlines() if line]
        return result


async def _in_thread(call: Callable[[], T]) -> T:
    try:
        return await asyncio.to_thread(call)
    except exc.TmuxCommandNotFound as error:
        raise program_missing() from error
    except exc.LibTmuxException as error:
        raise from_reply(str(error)) from error
    except OSError as error:
        raise TmuxError("refused", f"Cannot start tmux: {error.strerror}.") from error

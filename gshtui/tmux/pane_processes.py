"""All processes that a pane started, and ending a pane together with them.

Finds a pane's process family; reports an end only after verifying it.
"""

from __future__ import annotations

import asyncio
import os
import signal

import psutil

from gshtui.system.processes.processes import running_processes, send_signal, terminate, wait_for_end
from gshtui.tmux.panes import PaneInfo
from gshtui.tmux.quoting import command
from gshtui.tmux.tmux_connection import TmuxConnection
from gshtui.tmux.tmux_errors import TmuxError


def process_family(leader: int, pane: str, mark: str) -> list[psutil.Process]:
    """The living processes of a pane.

    Args:
        leader: pid of its first program; it may have ended.
        pane: the pane's id.
        mark: how `TMUX` begins in the environment of the server's programs: socket and server's pid.
    """
    found: dict[int, psutil.Process] = {}
    try:
        first = psutil.Process(leader)
        found |= {process.pid: process for process in (first, *first.children(recursive=True))}
    except psutil.Error:
        pass  # it has ended; what it left behind is found below
    own = os.getpid()
    for process in psutil.process_iter():
        if process.pid not in found and process.pid != own and _belongs(process, leader, pane, mark):
            found[process.pid] = process
            for child in _children(process):
                found.setdefault(child.pid, child)
    return running_processes(found.values())


def end_processes(processes: list[psutil.Process], grace: float) -> list[psutil.Process]:
    """Wait for processes that were hung up on; then SIGTERM, then SIGKILL, each after a part of `grace` seconds.

    Returns those that nothing ended (another user's, or stuck in the kernel).
    """
    left = wait_for_end(processes, grace / 3)
    terminate(left)
    left = wait_for_end(left, grace * 2 / 3)
    send_signal(left, signal.SIGKILL)
    return wait_for_end(left, 1.0)


def _name(process: psutil.Process) -> str:
    """What to call a process: its name and pid."""
    try:
        return f"{process.name()} (pid {process.pid})"
    except psutil.Error:
        return f"pid {process.pid}"


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.Error:
        return []


def _belongs(process: psutil.Process, leader: int, pane: str, mark: str) -> bool:
    try:
        if leader > 1 and os.getsid(process.pid) == leader:
            return True
        environ = process.environ()
    except (psutil.Error, OSError):
        return False
    return environ.get("TMUX_PANE") == pane and environ.get("TMUX", "").startswith(mark)


async def end_pane(connection: TmuxConnection, info: PaneInfo, grace: float) -> None:
    """End a pane and all that it started, within `grace` seconds and a little. Raises `TmuxError`."""
    (told,) = await connection.ask([command("display-message", "-p", "#{socket_path},#{pid},")])
    mark = told.text()[0]
    family = await asyncio.to_thread(process_family, info.pid, info.pane, mark)
    async with connection.server_lock():
        (reply,) = await connection.ask([command("kill-pane", "-t", info.pane)])
    reply.text()
    left = await asyncio.to_thread(end_processes, family, grace)
    # What was started between the look and the hang-up.
    late = await asyncio.to_thread(process_family, info.pid, info.pane, mark)
    left += await asyncio.to_thread(end_processes, late, 0.0)
    if left := running_processes(left):
        names = ", ".join(_name(process) for process in left[:5])
        raise TmuxError("refused", f"The terminal was closed, but these processes are still running: {names}.")

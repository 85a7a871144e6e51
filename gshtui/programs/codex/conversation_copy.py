"""A copy of a Codex conversation in another folder, made by an app-server that lives for this alone.

Its command line makes a copy as well, but with a server it takes no folder that its person has not trusted, and no
permissions. A copy that was made before goes on as every conversation does.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Mapping, Sequence
from pathlib import Path

from gshtui.programs.codex.app_server_connection import AppServerConnection, AppServerError
from gshtui.programs.codex.app_server_launch import server_socket
from gshtui.system.json_types import obj, string
from gshtui.system.processes import processes
from gshtui.system.processes.time_limit import time_limit

_WITHIN, _PAUSE = 20.0, 0.1
"""Seconds for all of it, and between two attempts to reach the server."""


async def copy_conversation(
    program: Sequence[str], origin: str, cwd: str, data: Path, agent: str, environ: Mapping[str, str]
) -> str:
    """The id of a new conversation that goes on in this folder from a copy of `origin`; empty: it cannot be made so.

    Args:
        program: the command line up to the program itself.
        agent: whose conversation it will be.
    """
    try:
        socket = await asyncio.to_thread(server_socket, data, f"{agent}, before its start")
        if socket is None:
            return ""
        server = await processes.start_child(
            *program,
            *("app-server", "--listen", f"unix://{socket}"),
            cwd=cwd,
            env=dict(environ),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError):
        return ""
    try:
        async with time_limit(_WITHIN):
            return await _copied(await _reached(socket, server), origin, cwd)
    except (AppServerError, TimeoutError):
        return ""
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):  # on macOS of one that has ended
            os.killpg(server.pid, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            async with time_limit(_PAUSE * 20):
                await server.wait()
        await processes.kill_child(server)
        await asyncio.to_thread(socket.unlink, missing_ok=True)


async def _reached(socket: Path, server: asyncio.subprocess.Process) -> AppServerConnection:
    """The connection to the server, once it listens. Raises `AppServerError`: it has ended."""
    while True:
        try:
            return await AppServerConnection.open(socket, lambda _: None)
        except AppServerError:
            if server.returncode is not None:
                raise
            await asyncio.sleep(_PAUSE)


async def _copied(connection: AppServerConnection, origin: str, cwd: str) -> str:
    try:
        us = {"name": "gsh-tui", "title": "gsh-tui", "version": "1"}
        await connection.call("initialize", clientInfo=us, capabilities={"experimentalApi": True})
        await connection.notify("initialized")
        made = await connection.call("thread/fork", threadId=origin, cwd=cwd)
        return string(obj(made.get("thread")).get("id"))
    finally:
        await connection.close()

"""A person looks at a session full-screen: attached from this terminal, or switched to where they sit in tmux already.

Owns how a person's own client is found and moved; refuses to touch clients of other servers. The process that attaches
has the terminal until the person detaches. Called by the window and by `agent attach`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping

from gshtui.tmux import program
from gshtui.tmux.errors import TmuxError, missing, said
from gshtui.tmux.quoting import command
from gshtui.tmux.server import TmuxServer

_CLIENTS = "#{client_control_mode}|#{client_activity}|#{session_id}|#{client_name}"
_WELCOME = "ctrl+b d goes back to gsh-tui"
_SHOWN_MS = 4_000
_QUIT_WITHIN = 2.0


async def client_here(server: TmuxServer, environ: Mapping[str, str]) -> str:
    """The name of the client through which a person sees this process; empty unless it runs inside this very server.

    Raises:
        TmuxError: the server did not answer.
    """
    here = environ.get("TMUX", "")
    if here.count(",") < 2 or not await server.running():
        return ""
    (told,) = await server.ladder.ask([command("display-message", "-p", "#{socket_path},#{pid},")])
    if not told.lines or not here.startswith(told.lines[0]):
        return ""
    (listed,) = await server.ladder.ask([command("list-clients", "-F", _CLIENTS)])
    session = f"${here.rpartition(',')[2]}"
    people: list[tuple[bool, int, str]] = []
    for line in listed.lines:
        control, activity, seen, name = [*line.split("|", 3), "", "", ""][:4]
        if control == "0" and name:
            people.append((seen == session, int(activity) if activity.isdigit() else 0, name))
    return max(people)[2] if people else ""


async def switch(server: TmuxServer, client: str, session: str) -> None:
    """Show a session in a person's client. Raises `TmuxError`."""
    (reply,) = await server.ladder.ask([command("switch-client", "-c", client, "-t", f"={session}:")])
    reply.text()


async def attach(server: TmuxServer, session: str) -> None:
    """Give this process's terminal to a session until the person detaches.

    Raises:
        TmuxError: it could not be attached (there is no such session, no tmux, no terminal).
    """
    modern = await server.version() >= (3, 2)
    lasting = ["-d", str(_SHOWN_MS)] if modern else []
    argv = [program.find(), "-u", *server.attach_command(session)[1:], ";", "display-message", *lasting, _WELCOME]
    try:
        process = await asyncio.create_subprocess_exec(
            *argv, stderr=asyncio.subprocess.PIPE, env=program.client_environment()
        )
    except FileNotFoundError as error:
        raise missing() from error
    except OSError as error:
        raise TmuxError("refused", f"tmux could not be started: {error.strerror}.") from error
    try:
        _, errors = await process.communicate()
    except asyncio.CancelledError:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()  # it detaches, and puts the terminal back
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_QUIT_WITHIN):
                await process.wait()
        raise
    if process.returncode:
        raise said(errors.decode("utf-8", "replace"))

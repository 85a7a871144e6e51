"""Shows a session in a person's terminal: attaches it, or switches a terminal that already shows that server.

Makes the plain tmux command line, and runs its client.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from gshtui.hosts.host_errors import HostError
from gshtui.system.processes.processes import kill_child, start_child
from gshtui.system.processes.time_limit import time_limit
from gshtui.tmux import tmux_program
from gshtui.tmux.quoting import command
from gshtui.tmux.server import TmuxServer
from gshtui.tmux.tmux_errors import TmuxError, from_host, from_reply, program_missing

_USUAL = "xterm-256color"
_KNOWN = re.compile(r"(?:xterm|screen|tmux|rxvt(?:-unicode)?|linux|vt\d+)(?:-(?:16|256)?color)?")


def known_widely(environ: Mapping[str, str]) -> bool:
    """Whether other machines are likely to know this kind of terminal."""
    return _KNOWN.fullmatch(environ.get("TERM", "")) is not None


def words_for(attach: Sequence[str], environ: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """The command to run, and its environment.

    Args:
        attach: from `TmuxServer.attach_command`.
        environ: the terminal's environment.

    Returns:
        On another machine, `attach` itself. Else `switch-client` if this terminal shows a client of the same server;
        else `attach`, which inside another tmux appears in that one's pane.
    """
    outside = {name: value for name, value in environ.items() if name not in ("TMUX", "TMUX_PANE")}
    if attach[0] == "ssh":
        # Few machines know the newest terminals by name, and tmux refuses one that it does not know.
        return list(attach), outside | {"TERM": environ.get("TERM", "") if known_widely(environ) else _USUAL}
    current = environ.get("TMUX", "").partition(",")[0]
    if not current or "attach" not in attach or not _same(Path(current), _socket(attach, environ)):
        return list(attach), outside
    at = list(attach).index("attach")
    # Inside, tmux knows its client by these variables.
    return [*attach[:at], "switch-client", *attach[at + 1 :]], dict(environ)


def _socket(attach: Sequence[str], environ: Mapping[str, str]) -> Path:
    """The socket that the command line names."""
    words = list(attach)
    if "-S" in words:
        return Path(words[words.index("-S") + 1])
    name = words[words.index("-L") + 1] if "-L" in words else "default"
    folder = environ.get("TMUX_TMPDIR") or "/tmp"
    return Path(folder) / f"tmux-{os.getuid()}" / name


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return one == other


_CLIENTS = "#{client_control_mode}|#{client_activity}|#{session_id}|#{client_name}"
_WELCOME = "ctrl+b d returns to gsh-tui"
_SHOWN_MS = 4_000
_QUIT_WITHIN = 2.0


async def client_here(server: TmuxServer, environ: Mapping[str, str]) -> str:
    """The name of the client through which a person sees this process; empty unless it runs inside this very server.
    Raises `TmuxError`: the server did not answer.
    """
    here = environ.get("TMUX", "")
    if here.count(",") < 2 or not await server.running():
        return ""
    (told,) = await server.connection.ask([command("display-message", "-p", "#{socket_path},#{pid},")])
    if not told.lines or not here.startswith(told.lines[0]):
        return ""
    (listed,) = await server.connection.ask([command("list-clients", "-F", _CLIENTS)])
    session = f"${here.rpartition(',')[2]}"
    people: list[tuple[bool, int, str]] = []
    for line in listed.lines:
        control, activity, seen, name = [*line.split("|", 3), "", "", ""][:4]
        if control == "0" and name:
            people.append((seen == session, int(activity) if activity.isdigit() else 0, name))
    return max(people)[2] if people else ""


async def switch(server: TmuxServer, client: str, session: str) -> None:
    """Show a session in a person's client. Raises `TmuxError`."""
    (reply,) = await server.connection.ask([command("switch-client", "-c", client, "-t", f"={session}:")])
    reply.text()


async def attach(server: TmuxServer, session: str) -> None:
    """Show a session in this process's terminal until the person detaches. Raises `TmuxError`: it could not attach (no
    such session, no tmux, no terminal).
    """
    modern = await server.version() >= (3, 2)
    lasting = ["-d", str(_SHOWN_MS)] if modern else []
    words = ["attach", "-t", f"={session}", ";", "display-message", *lasting, _WELCOME]
    if server.link is None:
        program = await asyncio.to_thread(tmux_program.find)
        argv, environment = [program, "-u", *server.address, *words], tmux_program.client_environment()
    else:
        try:
            script = tmux_program.remote_client(server.link.settings)
            argv, environment = await server.link.prepare_terminal(script, *server.address, *words)
            if not known_widely(environment):
                environment["TERM"] = _USUAL
        except HostError as error:
            raise from_host(error) from error
    try:
        process = await start_child(*argv, stderr=asyncio.subprocess.PIPE, env=environment)
    except FileNotFoundError as error:
        raise program_missing() from error
    except OSError as error:
        raise TmuxError("refused", f"Cannot start tmux: {error.strerror}.") from error
    try:
        _, errors = await process.communicate()
    except asyncio.CancelledError:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()  # it detaches, and puts the terminal back
        with contextlib.suppress(TimeoutError):
            async with time_limit(_QUIT_WITHIN):
                await process.wait()
        raise
    finally:
        await kill_child(process)
    if process.returncode:
        raise from_reply(errors.decode("utf-8", "replace"))

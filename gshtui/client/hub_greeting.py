"""The first lines between a face and the hubs that listen here: which of them are this user's and of this program.

Loads little: every word of `gsh-tui` begins with it. Blocks, each time for no longer than it is told.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from typing import Any

from gshtui import __version__
from gshtui.settings import paths
from gshtui.system.installation import INSTALLED_AT
from gshtui.system.json_types import is_object
from gshtui.system.network.peer import peer_of
from gshtui.system.processes import process_limits

_LONGEST = 64 * 1024
"""Bytes of a line before the hub takes the face."""


class HubSilent(TimeoutError):
    """A hub listens and does not answer. `pid`: its process."""

    def __init__(self, pid: int) -> None:
        super().__init__(pid)
        self.pid = pid


def greeted(kind: str, within: float, *, of_any_version: bool = False) -> Iterator[socket.socket]:
    """A connection to each hub that serves this program's faces. Who takes one closes it.

    Args:
        kind: of face, see `gshtui.shell.event_table`.
        within: seconds for each answer, on these connections from now on.
        of_any_version: another program's hub will do, too.

    Raises `HubSilent`: one does not answer.
    """
    for path in paths.keeper_sockets():
        connected = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | getattr(socket, "SOCK_CLOEXEC", 0))
        connected.settimeout(within)
        pid = 0
        try:
            connected.connect(os.fspath(path))
            peer = peer_of(connected)
            pid = peer.pid
            if peer.is_us and (_is_of_this_program(connected, kind) or of_any_version):
                yield connected
                continue
        except TimeoutError:
            connected.close()
            raise HubSilent(pid) from None
        except (OSError, ValueError):
            pass
        connected.close()


def _is_of_this_program(connected: socket.socket, kind: str) -> bool:
    """Say hello. Raises `OSError`, `ValueError`."""
    connected.sendall(json.dumps({"hello": kind, "pid": os.getpid()}).encode() + b"\n")
    welcome = line_from(connected)
    return (welcome.get("serves"), welcome.get("installed")) == (__version__, INSTALLED_AT)


def refusal(connected: socket.socket, opening: bytes) -> str:
    """Why the hub does not take the face that opens with this; empty: it does. If not, the connection is closed. Raises
    `TimeoutError`: it does not answer.
    """
    why = "it has hung up"
    try:
        connected.sendall(opening + b"\n")
        answer = line_from(connected)
        if answer.get("begins") is True:
            return ""
        why = str(answer.get("declined", why))
    except TimeoutError:
        connected.close()
        raise
    except (OSError, ValueError):
        pass
    connected.close()
    return why


def surroundings(cwd: str) -> dict[str, Any]:
    """What a face passes on to what is done for it. Call it where no other thread makes files, see
    `process_limits.umask`.
    """
    return {
        "cwd": cwd,
        "environ": dict(os.environ),
        "umask": process_limits.umask(),
        "limits": process_limits.limits(),
    }


def line_from(connected: socket.socket) -> dict[str, Any]:
    """One line; what comes behind it stays to be read. Raises `OSError`, `ValueError`."""
    line = b""
    while not line.endswith(b"\n"):
        seen = connected.recv(_LONGEST, socket.MSG_PEEK)
        line += connected.recv(seen.find(b"\n") + 1 or len(seen))
        if not seen or len(line) > _LONGEST:
            raise ValueError("no line")
    message: object = json.loads(line)
    if not is_object(message):
        raise ValueError("no object")
    return message

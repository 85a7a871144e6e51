"""Where the server of a running OpenCode is, and its secret: by what the program was started with, and nothing else.

Nothing is kept: the port is in its command line, the secret in its environment. An address is only given of a port on
which this very program listens, so the secret is never told to another one that came to listen there.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence

import msgspec

from gshtui.programs.opencode.server_launch import PASSWORD, PORT, USER

_HOST = "127.0.0.1"


class ServerAddress(msgspec.Struct, frozen=True):
    """A server, and how to log in to it."""

    host: str
    port: int
    user: str
    password: str

    @property
    def authorization(self) -> str:
        """What a request says to be let in."""
        return "Basic " + base64.b64encode(f"{self.user}:{self.password}".encode()).decode("ascii")

    def __repr__(self) -> str:
        return f"ServerAddress({self.host!r}, {self.port})"  # a secret is not for reports


def port_of(argv: Sequence[str]) -> int:
    """The port in a command line; 0: it names none."""
    words = list(argv)
    at = words.index(PORT) + 1 if PORT in words else len(words)
    return int(words[at]) if at < len(words) and words[at].isdecimal() else 0


def find_server(pid: int, port: int) -> ServerAddress | None:
    """The server at this port of the process in a terminal, or of one below it; `None`: it does not listen there (yet).

    Blocks for milliseconds.
    """
    import psutil  # few agents have such a server

    try:
        processes = [root := psutil.Process(pid), *root.children(recursive=True)]
    except psutil.Error:
        return None
    for process in processes:
        try:
            listens = any(
                each.status == psutil.CONN_LISTEN and each.laddr and each.laddr[0] == _HOST and each.laddr[1] == port
                for each in process.net_connections("inet4")
            )
            if not listens:
                continue
            env = process.environ()
        except (psutil.Error, OSError):
            continue
        if password := env.get(PASSWORD):
            return ServerAddress(_HOST, port, env.get(USER) or "opencode", password)
    return None

"""How OpenCode is started with its HTTP server, for this user alone: on this machine, at a random port, with a secret.

The secret is in the environment of the program, nowhere else: whoever may read that may also type into its terminal.
What the program runs does not inherit it (`hide_secret.js`). A command line that chooses a server, or something else
than the program's screen, is left as it is. Changes nothing; `with_server` looks for a free port.

Nor is the address of a running one kept: its port is in its command line. An address is only given of a port on which
this very program listens, so the secret is never told to another one that came to listen there.
"""

from __future__ import annotations

import base64
import contextlib
import json
import random
import secrets
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from gshtui.system.json_types import is_array, is_object, parse_foreign_json
from gshtui.text.version_order import order

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


PASSWORD, USER = "OPENCODE_SERVER_PASSWORD", "OPENCODE_SERVER_USERNAME"
CONFIGURATION = "OPENCODE_CONFIG_CONTENT"
PORT = "--port"
_PURE = "OPENCODE_PURE"
_NEEDS, _BELOW = (1, 2), (2,)
"""The versions whose server asks for a password, and takes these arguments: from the one to below the other."""
_OWN = frozenset(
    (
        *("--port", "--hostname", "--mdns", "--no-mdns", "--mdns-domain", "--cors", "--mini", "--pure"),
        *("--help", "-h", "--version", "-v", "--"),
    )
)
"""Arguments of a command line that is left as it is: it chooses a server, has none, or runs without our plugin."""
_WITH_VALUE = frozenset(("-m", "--model", "-s", "--session", "--prompt", "--agent", "--log-level"))
_LOWEST, _HIGHEST, _TRIES = 20_000, 32_000, 20
"""Ports below those that the system hands out by itself, so that nobody gets one by chance."""


def with_server(
    argv: Sequence[str], program: int, env: Mapping[str, str], version: str
) -> tuple[tuple[str, ...], dict[str, str]] | None:
    """The command line and the variables that start it with its server; `None` where it is to start as it is.

    Args:
        program: the place of the program in the command line.
        env: the whole environment that it would get.
        version: of the program; one that is not known has no server that is known to be safe.
    """
    arguments = argv[program + 1 :]
    if not has_safe_server(version) or not _shows_its_screen(arguments) or env.get(_PURE):
        return None
    configuration = _configured(env.get(CONFIGURATION, ""))
    port = _free_port()
    if configuration is None or not port:
        return None
    added = (PORT, str(port), "--hostname", "127.0.0.1", "--no-mdns")
    return (*argv, *added), {PASSWORD: secrets.token_urlsafe(32), CONFIGURATION: configuration}


def has_safe_server(version: str) -> bool:
    """Whether the server of this version of OpenCode lets in only who knows the secret."""
    key = order(version)
    return key is not None and _NEEDS <= key[0] < _BELOW


def _shows_its_screen(arguments: Sequence[str]) -> bool:
    """Whether the program is told no more than how to show its screen."""
    words = iter(arguments)
    for word in words:
        if word.split("=", 1)[0] in _OWN:
            return False
        if word in _WITH_VALUE:
            next(words, None)
        elif not word.startswith("-") and not (word.startswith(("/", ".", "~")) or Path(word).is_dir()):
            return False  # a command of its own, such as `run`
    return True


def _configured(given: str) -> str | None:
    """The configuration in its environment with our plugin; `None` where it cannot be changed safely."""
    try:
        value: object = parse_foreign_json(given) if given.strip() else {}
    except ValueError:
        return None
    if not is_object(value):
        return None
    plugins = value.get("plugin", [])
    if not is_array(plugins):
        return None
    mine = Path(__file__).with_name("hide_secret.js").as_uri()
    return json.dumps({**value, "plugin": [mine, *plugins]})


def _free_port() -> int:
    """A random port that nothing listens on; 0: none was found."""
    for _ in range(_TRIES):
        port = random.SystemRandom().randrange(_LOWEST, _HIGHEST)
        with contextlib.suppress(OSError), socket.socket() as tried:
            tried.bind(("127.0.0.1", port))
            return port
    return 0

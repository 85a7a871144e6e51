"""The command lines of Codex with an app-server of its own: the server behind, and its screen connected to that.

One shell starts both and becomes the screen, so the server ends with its terminal. Where the server does not come up,
the shell becomes Codex without one; where it is killed, it is started again, and the screen connects again. A command
line that is not known to do the same with a server stays as it is.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Sequence
from pathlib import Path

from gshtui.settings import paths

_LONGEST = 100
"""Bytes of a socket's path: a system takes 104 or 108, with the byte behind it."""
_FOLDER = "codex"
_FLAGS = frozenset(
    (
        "--search",
        "--no-alt-screen",
        "--strict-config",
        "--approve-for-me",
        "--dangerously-bypass-hook-trust",
        "--dangerously-bypass-approvals-and-sandbox",
        "--yolo",
    )
)
"""Options that do the same with a server."""
_VALUED = frozenset(
    ("-c", "--config", "-m", "--model", "-s", "--sandbox", "-a", "--ask-for-approval", "--enable", "--disable")
)
"""The same, with a value. A folder is none: a screen with a server asks whether to trust each one that is named."""
_FOR_SERVER = frozenset(("-c", "--config", "--enable", "--disable"))
"""Those among them that the server has to know, too."""
_CONVERSATIONS = ("resume", "fork")
_PERMISSIONS = frozenset(
    (
        "-s",
        "--sandbox",
        "-a",
        "--ask-for-approval",
        "--approve-for-me",
        "--dangerously-bypass-approvals-and-sandbox",
        "--yolo",
    )
)
"""Options that Codex refuses with a server where a conversation goes on (0.169 to 0.171)."""
REMOTE, _UNIX = "--remote", "unix://"

_SCRIPT = """\
rm -f {socket}
serve() {{
  trap 'kill "$server"; exit' TERM
  while :; do
    {server} </dev/null >/dev/null 2>&1 & server=$!
    wait "$server"
    [ -e {socket} ] || exit
    sleep 0.3
  done
}}
serve 2>/dev/null &
tries=0
until [ -S {socket} ]; do
  tries=$((tries + 1))
  if [ "$tries" -gt 600 ] || ! kill -0 "$!" 2>/dev/null; then
    kill "$!" 2>/dev/null
    exec {plain}
  fi
  sleep 0.05
done
exec {screen}
"""


def server_socket(data: Path, agent: str) -> Path | None:
    """Where an agent's server listens: in a private folder; `None` where that has too long a path. Blocks for a moment.

    Raises:
        OSError: the folder cannot be made.
    """
    folder = paths.runtime_dir() / _FOLDER
    path = folder / hashlib.sha256(f"{data}\0{agent}".encode()).hexdigest()[:12]
    if len(str(path).encode()) > _LONGEST:
        return None
    folder.mkdir(mode=0o700, exist_ok=True)
    return path


def socket_of(argv: Sequence[str]) -> Path | None:
    """The socket of the server that a command line made here connects to; `None`: it is none of ours."""
    if len(argv) < 2 or argv[-2] != REMOTE or not argv[-1].startswith(_UNIX):
        return None
    path = Path(argv[-1].removeprefix(_UNIX))
    return path if path.parent == paths.runtime_dir(create=False) / _FOLDER else None


def screen_line(argv: Sequence[str], socket: Path) -> tuple[str, ...]:
    """The command line of Codex's screen, connected to the server there."""
    return (*argv, REMOTE, f"{_UNIX}{socket}")


def with_server(argv: Sequence[str], at: int, plain: Sequence[str], socket: Path) -> tuple[str, ...] | None:
    """What the terminal runs; `None` where this command line does not do the same with a server.

    Args:
        argv: Codex's command line.
        at: the place of the program in it; what is in front starts it.
        plain: its command line without a server.
    """
    options = _server_options(argv[at + 1 :])
    if options is None:
        return None
    server = (*argv[: at + 1], "app-server", "--listen", f"{_UNIX}{socket}", *options)
    script = _SCRIPT.format(
        socket=shlex.quote(str(socket)),
        server=shlex.join(server),
        plain=shlex.join(plain),
        screen=shlex.join(screen_line(argv, socket)),
    )
    return "/bin/sh", "-c", script


def _server_options(words: Sequence[str]) -> list[str] | None:
    """The options among these that the server gets, too; `None`: there are some that only Codex alone understands."""
    found: list[str] = []
    rest = list(words)
    if rest and rest[0] in _CONVERSATIONS:
        if len(rest) < 2 or rest[1].startswith("-"):
            return None
        rest = rest[2:]
        if any(word.partition("=")[0] in _PERMISSIONS for word in rest):
            return None
    while rest:
        word = rest.pop(0)
        name, equals, _ = word.partition("=")
        if word in _FLAGS:
            continue
        if name not in _VALUED or (not equals and not rest):
            return None
        given = [word] if equals else [word, rest.pop(0)]
        found += given if name in _FOR_SERVER else []
    return found

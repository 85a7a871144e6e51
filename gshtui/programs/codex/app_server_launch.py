"""The command lines of Codex with an app-server of its own: the server behind, and its screen connected to that.

One shell starts both and becomes the screen, so the server ends with its terminal. Where the server does not come up,
the shell becomes Codex without one; where it is killed, it is started again, and the screen connects again. A command
line that is not known to do the same with a server stays as it is.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from gshtui.settings import paths

_LONGEST = 100
"""Bytes of a socket's path: a system takes 104 or 108, with the byte behind it."""
_FOLDER = "codex"
_ALLOWING = frozenset(("--approve-for-me", "--dangerously-bypass-approvals-and-sandbox", "--yolo"))
_FLAGS = _ALLOWING | {"--search", "--no-alt-screen", "--strict-config", "--dangerously-bypass-hook-trust"}
"""Options that do the same with a server."""
_LIMITING = frozenset(("-s", "--sandbox", "-a", "--ask-for-approval"))
_FOR_SERVER = frozenset(("-c", "--config", "--enable", "--disable"))
"""Options with a value that the server has to know, too."""
_VALUED = _LIMITING | _FOR_SERVER | {"-m", "--model"}
"""Options with a value that do the same. A folder is none: a screen with a server asks whether to trust each one
that is named."""
_CONVERSATIONS = ("resume", "fork")
_PERMISSIONS = re.compile(r"(?:approval_policy|approvals_reviewer|sandbox_mode|default_permissions) *=")
"""A setting that Codex refuses with a server where a conversation goes on, as it does options of this kind (0.169 to
0.171): the conversation keeps its own."""
_LOST = re.compile(r"workspace-write|default_permissions|permission_profile")
"""What a conversation that goes on does not keep: Codex takes the sandbox of its settings instead, a wider one too
(0.171). It keeps that it only reads, and when it asks."""
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
    Raises `OSError`: the folder cannot be made.
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


def goes_on(argv: Sequence[str]) -> bool:
    """Whether a command line goes on with a conversation, or with a copy of one."""
    return any(word in argv for word in _CONVERSATIONS)


def keeps_permissions(words: Sequence[str]) -> bool:
    """Whether a conversation that was begun with these words is no wider when it goes on without them."""
    return not any(_LOST.search(word) for word in words)


def with_server(
    argv: Sequence[str], at: int, plain: Sequence[str], socket: Path, *, keeps: bool = False
) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """The command line of its screen, and what the terminal runs; `None` where it does not do the same with a server.

    Args:
        argv: Codex's command line.
        at: the place of the program in it; what is in front starts it.
        plain: its command line without a server.
        keeps: the conversation that goes on was begun with the same permissions, and keeps them.
    """
    options = _options(argv[at + 1 :], keeps)
    if options is None:
        return None
    server = (*argv[: at + 1], "app-server", "--listen", f"{_UNIX}{socket}", *options.server)
    screen = (*argv[: at + 1], *options.screen, REMOTE, f"{_UNIX}{socket}")
    script = _SCRIPT.format(
        socket=shlex.quote(str(socket)),
        server=shlex.join(server),
        plain=shlex.join(plain),
        screen=shlex.join(screen),
    )
    return screen, ("/bin/sh", "-c", script)


class _Options(NamedTuple):
    screen: list[str]
    server: list[str]


def _options(words: Sequence[str], keeps: bool) -> _Options | None:
    """The options for both; `None`: there are some that only Codex alone understands, or that nothing stands for."""
    made, rest = _Options([], []), list(words)
    resumes = bool(rest) and rest[0] in _CONVERSATIONS
    if resumes:
        if len(rest) < 2 or rest[1].startswith("-"):
            return None
        made.screen.extend(rest[:2])
        rest = rest[2:]
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if word not in _FLAGS and (name not in _VALUED or (not equals and not rest)):
            return None
        given = [word] if equals or word in _FLAGS else [word, value := rest.pop(0)]
        permits = name in _ALLOWING | _LIMITING or (name in _FOR_SERVER and _PERMISSIONS.match(value) is not None)
        if resumes and permits:
            if not keeps:
                return None
            continue
        made.screen.extend(given)
        made.server.extend(given if name in _FOR_SERVER else [])
    return made

"""The tmux program: its path, its version, what that version can do, and the environment of its clients.

Refuses a program from a relative folder in the PATH, and versions before 3.0. Called by everything that starts tmux.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

import msgspec

from gshtui.hosts.remote_shell import path_line
from gshtui.settings.settings_tables import HostSettings
from gshtui.tmux.tmux_errors import TmuxError, program_missing

LEAST = (3, 0)
LEAST_REMOTE = (3, 2)
"""On other machines: scripts come in on standard input, and the control mode is always used."""
_MODERN = (3, 2)
_NEWEST = (99, 0)

_SERVER_KEEPS = re.compile(
    r"^(?:HOME|PATH|SHELL|USER|LOGNAME|LANG|LANGUAGE|LC_.*|TZ|TERMINFO|TERMINFO_DIRS|TMPDIR|XDG_.*|DBUS_SESSION_BUS_ADDRESS"
    r"|SSL_CERT_FILE|SSL_CERT_DIR)$"
)


class Abilities(msgspec.Struct, frozen=True):
    """What a version can do beyond 3.0."""

    control: bool
    """Flags on attach, gating of output and subscriptions: control mode."""
    environment: bool
    """`new-session -e`, and scripts on standard input."""


def find() -> str:
    """The absolute path of tmux. Blocks for a moment. Raises `TmuxError` (missing)."""
    found = shutil.which("tmux")
    if found is None or not Path(found).is_absolute():
        raise program_missing()
    return found


def missing_on(host: str, program: str) -> TmuxError:
    """The error for a machine without tmux."""
    hint = "Install tmux there, or name its full path as `tmux` of that host in the configuration."
    return TmuxError("missing", f"There is no `{program}` on {host}.", hint)


def parsed(answer: str, host: str = "") -> tuple[int, int]:
    """The version in what `tmux -V` says: `tmux 3.3a`, `tmux next-3.5`, `tmux master`. Raises `TmuxError`. `host`: the
    other machine that said so; empty: this one.
    """
    if re.search(r"\b(?:master|openbsd)", answer):
        return _NEWEST
    match = re.search(r"(?<!\d)(\d++)\.(\d+)", answer)
    if match is None:
        shown = " ".join(answer.split())[:80]
        raise TmuxError("old", f"Cannot tell the version of tmux; it printed {shown!r}.", "Install tmux 3.0 or newer.")
    version = int(match[1]), int(match[2])
    shown = f"{version[0]}.{version[1]}"
    if host and version < LEAST_REMOTE:
        hint = f"Install tmux {LEAST_REMOTE[0]}.{LEAST_REMOTE[1]} or newer there."
        raise TmuxError("old", f"tmux {shown} on {host} is too old for agents.", hint)
    if version < LEAST:
        raise TmuxError("old", f"tmux {shown} is too old for agents in terminals.", "Install tmux 3.0 or newer.")
    return version


def abilities(version: tuple[int, int]) -> Abilities:
    """What this version can do."""
    modern = version >= _MODERN
    return Abilities(control=modern, environment=modern)


def remote_client(settings: HostSettings) -> str:
    """The script that becomes a tmux client on another machine, with the script's arguments."""
    return f'{path_line(settings.path)}unset TMUX TMUX_PANE\nexec {shlex.quote(settings.tmux)} -u "$@"\n'


def client_environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of our tmux clients: the person's own, in UTF-8, without a surrounding tmux."""
    environ = os.environ if environ is None else environ
    return {name: value for name, value in environ.items() if not name.startswith("TMUX") or name == "TMUX_TMPDIR"}


def server_environment(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of the server, which outlives its starter: only what every program needs, without keys."""
    return {name: value for name, value in client_environment(environ).items() if _SERVER_KEEPS.match(name)} | (
        {"TMUX_TMPDIR": os.environ["TMUX_TMPDIR"]} if "TMUX_TMPDIR" in os.environ else {}
    )

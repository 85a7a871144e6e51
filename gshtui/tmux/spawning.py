"""The commands that make a session with a program in it: exact arguments, exact environment, no shell string.

Pure. All of it is one command list, so that a program which ends at once can still be read. Called by `server`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from gshtui.tmux.errors import TmuxError
from gshtui.tmux.quoting import SESSION, command, unexpanded

MOST = 1000
"""Columns or rows that a terminal of ours may have."""

# A single argument would be run by a shell; behind this, it never is. A program that is missing is named, and the
# moment after is for tmux, which may miss the last words of what ends in the same instant.
_EXACTLY = (
    "/bin/sh",
    "-c",
    'command -v "$0" >/dev/null || { echo "$0: there is no such program."; sleep 0.2; exit 127; }; exec "$0" "$@"',
)


def script(
    session: str,
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    width: int,
    height: int,
    with_environment: bool,
    mark: str = "",
) -> str:
    """The command line for tmux. Raises `TmuxError` (refused) for what cannot be started."""
    _check(session, argv, cwd, env, width, height)
    place = ("-x", str(width), "-y", str(height), "-c", unexpanded(str(cwd)))
    program = (*_EXACTLY, *argv)
    # For a server that is not our own, where our configuration does not hold.
    settings = (
        command("set-option", "-w", "-t", f"={session}:", "remain-on-exit", "on"),
        command("set-option", "-t", f"={session}:", "status", "off"),
        command("set-option", "-w", "-t", f"={session}:", "allow-rename", "off"),
        command("set-option", "-w", "-t", f"={session}:", "automatic-rename", "off"),
        *((command("set-option", "-t", f"={session}:", "@gsh-agent", mark),) if mark else ()),
    )
    new = ("new-session", "-d", "-E", "-s", session, "-n", session, *place)
    if with_environment:
        variables = [part for name, value in env.items() for part in ("-e", f"{name}={value}")]
        return " ; ".join((command(*new, *variables, "--", *program), *settings))
    variables = [command("set-environment", "-t", f"={session}", "--", name, value) for name, value in env.items()]
    started = command("respawn-pane", "-k", "-t", f"={session}:", "-c", unexpanded(str(cwd)), "--", *program)
    return " ; ".join((command(*new, "--", "cat"), *settings, *variables, started))


def _check(session: str, argv: Sequence[str], cwd: Path, env: Mapping[str, str], width: int, height: int) -> None:
    if not SESSION.match(session):
        raise TmuxError("refused", f"{session!r} is no name for a session.", "Use a-z, 0-9 and -.")
    if not argv or not argv[0]:
        raise TmuxError("refused", "There is no program to start.")
    if any("\0" in text for text in (*argv, *env, *env.values(), str(cwd))):
        raise TmuxError("refused", "An argument, a variable or the folder holds a NUL character.")
    if bad := next((name for name in env if not name or "=" in name), None):
        raise TmuxError("refused", f"{bad!r} is no name of an environment variable.")
    if not cwd.is_dir():
        raise TmuxError("refused", f"The folder {cwd} does not exist.", "Choose another folder to start in.")
    if not (1 < width <= MOST and 1 < height <= MOST):
        raise TmuxError("refused", f"A terminal cannot be {width}x{height}.", f"Use 2 to {MOST} columns and rows.")

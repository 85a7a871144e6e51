"""The environment of whoever the running work is for: that of the face which asked for it, else this process's own.

One hub works for several folders and terminals, each with variables of its own. They travel with the task, and with
the threads that it waits for (`contextvars`); whoever begins work for a face says whose it is.

The environment of programs in agents' terminals, and the mark of every process of one call.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

MARK = "GSH_CALL"
"""Variable carried by every process of one call, so that each can be found wherever it went."""

AGENT = "GSH_AGENT"
"""Variable of the programs in an agent's terminal: its id."""

_WINDOW = frozenset({"TERM", "COLUMNS", "LINES", "SHLVL", "PWD", "OLDPWD", "_", "STY", "WINDOWID", "VTE_VERSION"})
"""Facts about the terminal or shell that started us, which the agent's terminal does not share."""
_PREFIXES = ("TMUX", "TERM_PROGRAM", "KITTY_", "WEZTERM_", "ALACRITTY_", "ITERM_", "GHOSTTY_", "TEXTUAL")


def program_environment(environ: Mapping[str, str], agent: str, **more: str) -> dict[str, str]:
    """The variables for the agent with this id, without undecodable ones."""
    return without_terminal(environ) | {AGENT: agent} | more


def without_terminal(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables for a program on another terminal than ours, without undecodable ones."""
    left_out = {name for name in environ if name in _WINDOW or name.startswith(_PREFIXES)} - {"TMUX_TMPDIR"}
    return {
        name: value for name, value in environ.items() if name not in left_out and _is_text(name) and _is_text(value)
    }


def _is_text(value: str) -> bool:
    try:
        return "\0" not in value and bool(value.encode() or True)
    except UnicodeEncodeError:
        return False


_CALLER: ContextVar[Mapping[str, str] | None] = ContextVar("caller's environment", default=None)


def caller_environ() -> Mapping[str, str]:
    """The variables of whoever this runs for."""
    given = _CALLER.get()
    return os.environ if given is None else given


_PROCESS: ContextVar[int] = ContextVar("caller's process", default=0)


def caller_pid() -> int:
    """The process that asked for what runs here."""
    return _PROCESS.get() or os.getpid()


class Inherited(NamedTuple):
    """What else a face passes on to what is started and made for it (`process_limits`)."""

    umask: int = -1
    """-1: as this process's."""
    limits: tuple[tuple[int, int], ...] = ()
    """Empty: as this process's."""


_OWN = Inherited()
_INHERITED: ContextVar[Inherited] = ContextVar("caller's umask and limits", default=_OWN)


def caller_inherited() -> Inherited:
    """The umask and limits of whoever this runs for."""
    return _INHERITED.get()


@contextmanager
def working_for(environ: Mapping[str, str], pid: int = 0, inherited: Inherited | None = None) -> Generator[None]:
    """What begins in this block, tasks included, runs for whoever has these variables.

    Args:
        pid: the process that asks for it; 0: as around this block.
        inherited: its umask and limits; `None`: as around this block.
    """
    token, process = _CALLER.set(environ), _PROCESS.set(pid or _PROCESS.get())
    given = _INHERITED.set(_INHERITED.get() if inherited is None else inherited)
    try:
        yield
    finally:
        _CALLER.reset(token)
        _PROCESS.reset(process)
        _INHERITED.reset(given)

"""Agents' processes by pid and start time: whether one is running, its descendants, stopping and continuing them.

Never signals a process whose start time is not the recorded one, and never searches by name. Functions block for
milliseconds; for many processes, call them in a thread.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from gshtui.system.caller_environment import AGENT, MARK
from gshtui.system.processes.process_identity import start_of

SHELLS = frozenset(("zsh", "bash", "sh", "dash", "ash", "ksh", "mksh", "fish"))
Identity = tuple[int, float]
"""(pid, start time) of one process, unambiguous while the machine runs."""


def start_time(pid: int) -> float:
    """Start time of a process in a unit of the system, 0 if there is no such process."""
    text = start_of(pid) if pid > 0 else None
    return float(text) if text else 0.0


def runs(pid: int, start: float) -> bool:
    """Whether exactly this process is running."""
    return bool(start) and start_time(pid) == start


_of_people: set[int] = set()
"""Children of this process that are people's."""


@contextmanager
def of_person(pid: int) -> Generator[None]:
    """A child of this process, and all below it, is a person's, not an agent's."""
    _of_people.add(pid)
    try:
        yield
    finally:
        _of_people.discard(pid)


def above(pid: int) -> list[Identity]:
    """The process and those that it descends from, innermost first."""
    import psutil

    found: list[Identity] = []
    with suppress(psutil.Error):
        one = psutil.Process(pid)
        found = [(each.pid, begun) for each in (one, *one.parents()) if (begun := start_time(each.pid))]
    return found


def is_of_agent(pid: int, itself: str = "") -> bool:
    """Whether a process is an agent's, or a command's of one, or below this process and no person's (`of_person`); true
    where that cannot be told.

    A process that has left its parents and its variables behind is not recognised. `itself`: an agent in whose own
    terminal the process may be.
    """
    import psutil

    try:
        one = psutil.Process(pid)
        if _has_mark(one.environ(), itself):
            return True
        above = one.parents()
    except psutil.Error:
        return True
    for inner, each in zip((one, *above), above, strict=False):
        if each.pid == os.getpid():
            return inner.pid not in _of_people
        with suppress(psutil.Error):  # another user's, such as the terminal's
            if _has_mark(each.environ(), itself):
                return True
    return False


def _has_mark(environ: Mapping[str, str], itself: str) -> bool:
    return environ.get(AGENT, itself) != itself or MARK in environ


def tree(pid: int, start: float) -> list[Identity]:
    """The process and its descendants, parents first; empty if it is no longer running."""
    import psutil

    if not runs(pid, start):
        return []
    with suppress(psutil.Error):
        below = psutil.Process(pid).children(recursive=True)
        return [(pid, start), *((child.pid, begun) for child in below if (begun := start_time(child.pid)))]
    return []


def below(pid: int, start: float, server: str = "") -> list[str]:
    """What a process has running beside itself, as short command lines, innermost last.

    The program behind a launcher is the process itself, and so is its server. `server`: what its command lines contain.
    """
    import psutil

    lines: list[str] = []
    own: dict[int, list[str]] = {}
    for each, begun in tree(pid, start):
        with suppress(psutil.Error):
            process = psutil.Process(each)
            words, launcher = process.cmdline(), own.get(process.ppid())
            if not words or not runs(each, begun):
                continue
            serves = bool(server) and any(server in word for word in words)
            if each == pid or serves or (launcher is not None and _launches(launcher, words)):
                own[each] = words
            else:
                lines.append(" ".join([Path(words[0]).name, *words[1:]]))
    return lines


def _launches(launcher: Sequence[str], words: Sequence[str]) -> bool:
    """Whether a script's child is the program that it stands for: with its arguments, and of its name, or by its
    interpreter from its folder."""
    if words == launcher:
        return True
    if len(launcher) < 2 or (at := len(words) - len(launcher) + 2) < 1 or list(words[at:]) != list(launcher[2:]):
        return False
    script, first, last = Path(launcher[1]), Path(words[0]), Path(words[at - 1])
    if at == 1:
        return first.name.removeprefix(".") == script.name
    is_beside = last.is_absolute() and last.resolve().parent == script.resolve().parent
    return is_beside and first.name == Path(launcher[0]).name


def send(identities: Iterable[Identity], number: signal.Signals) -> int:
    """Signal those that still have the same identity. Return how many."""
    told = 0
    for pid, start in identities:
        if runs(pid, start):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
                told += 1
    return told


def stop_below(pid: int, start: float) -> list[Identity]:
    """Stop everything a process has started, except itself: tmux at once continues a stopped program of its own.

    Returns the stopped processes; `continue_below` lets them run again.
    """
    stopped: dict[Identity, None] = {}
    while fresh := [one for one in tree(pid, start)[1:] if one not in stopped]:
        # Stop parents first, then look again: a stopped parent forks no more.
        send(fresh, signal.SIGSTOP)
        stopped.update(dict.fromkeys(fresh))
    return list(stopped)


def continue_below(pid: int, start: float) -> int:
    """Continue the stopped descendants of a process, children first, so that no parent sees them stopped."""
    return send(reversed(tree(pid, start)[1:]), signal.SIGCONT)


def end(pid: int, start: float, grace: float) -> bool:
    """End the whole tree: ask first, kill after `grace` seconds. Return whether all of it is gone."""
    everyone = tree(pid, start)
    send(everyone, signal.SIGTERM)
    send(everyone, signal.SIGCONT)
    left = _wait(everyone, grace)
    send(left, signal.SIGKILL)
    return not _wait(left, 1.0)


def _wait(identities: Iterable[Identity], seconds: float) -> list[Identity]:
    """Those still running after so many seconds. An unreaped process (a container's init may not reap) has ended."""
    until = time.monotonic() + seconds
    left = [one for one in identities if runs(*one)]
    while left and time.monotonic() < until:
        time.sleep(0.01)
        left = [one for one in left if runs(*one)]
    return left

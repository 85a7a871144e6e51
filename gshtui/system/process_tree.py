"""Processes of agents by pid and start time: whether one still runs, all below it, stopping and continuing them.

It refuses to signal a process whose start time is not the recorded one, and never looks for one by name. Every
function blocks for milliseconds at most; call it in a thread where many are asked about. Called by the fleet.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from gshtui.system.process_identity import start_of

Identity = tuple[int, float]
"""(pid, start) of one process, unmistakably while the machine runs."""


def start_time(pid: int) -> float:
    """The start of a process in the system's own unit, 0 when there is no such process."""
    text = start_of(pid) if pid > 0 else None
    return float(text) if text else 0.0


def runs(pid: int, start: float) -> bool:
    """Whether exactly this process runs."""
    return bool(start) and start_time(pid) == start


def tree(pid: int, start: float) -> list[Identity]:
    """The process and all below it, parents first; empty when it does not run any more."""
    import psutil

    if not runs(pid, start):
        return []
    with suppress(psutil.Error):
        below = psutil.Process(pid).children(recursive=True)
        return [(pid, start), *((child.pid, begun) for child in below if (begun := start_time(child.pid)))]
    return []


def below(pid: int, start: float) -> list[str]:
    """What runs under a process, as short command lines, innermost last."""
    import psutil

    lines: list[str] = []
    for child, begun in tree(pid, start)[1:]:
        with suppress(psutil.Error):
            words = psutil.Process(child).cmdline()
            if words and runs(child, begun):
                lines.append(" ".join([Path(words[0]).name, *words[1:]])[:120])
    return lines


def send(identities: Iterable[Identity], number: signal.Signals) -> int:
    """Send a signal to those that still are who they were. Returns how many got it."""
    told = 0
    for pid, start in identities:
        if runs(pid, start):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, number)
                told += 1
    return told


def stop_below(pid: int, start: float) -> list[Identity]:
    """Stop everything that a process has started, not itself: tmux lets a stopped program of its own go on at once.

    Returns what stands now; `continue_below` lets it run again.
    """
    stopped: dict[Identity, None] = {}
    while fresh := [one for one in tree(pid, start)[1:] if one not in stopped]:
        # Parents come first, and all is looked at once more: a stopped parent forks no more.
        send(fresh, signal.SIGSTOP)
        stopped.update(dict.fromkeys(fresh))
    return list(stopped)


def continue_below(pid: int, start: float) -> int:
    """Let what stands below a process go on, children first, so that no parent sees them standing."""
    return send(reversed(tree(pid, start)[1:]), signal.SIGCONT)


def end(pid: int, start: float, grace: float) -> bool:
    """End the whole tree: asked first, killed after `grace` seconds. Returns whether all of it is gone."""
    everyone = tree(pid, start)
    send(everyone, signal.SIGTERM)
    send(everyone, signal.SIGCONT)
    left = _wait(everyone, grace)
    send(left, signal.SIGKILL)
    return not _wait(left, 1.0)


def _wait(identities: Iterable[Identity], seconds: float) -> list[Identity]:
    """Those that still run after so many seconds. What nobody reaps (a container's first process may not) has ended."""
    until = time.monotonic() + seconds
    left = [one for one in identities if runs(*one)]
    while left and time.monotonic() < until:
        time.sleep(0.01)
        left = [one for one in left if runs(*one)]
    return left

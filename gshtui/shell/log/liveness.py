"""Which shells still live: by their process, told apart from a later one with the same number.

It refuses to guess: a shell of which no process is known counts as alive. Called by the shell log.
"""

from __future__ import annotations

from collections.abc import Iterable

from gshtui.shell.pairing import ShellInfo
from gshtui.system.process_identity import Process, is_alive, start_of, this_process


def process_name(pid: int) -> str:
    """A name for the process of this number that no later one has; empty when there is none."""
    started = start_of(pid) if pid > 0 else None
    return "" if started is None else f"{this_process().machine} {pid} {started}"


def gone_shells(shells: Iterable[ShellInfo]) -> list[str]:
    """Ids of those whose process is no more."""
    return [info.shell for info in shells if not is_shell_alive(info)]


def is_shell_alive(info: ShellInfo) -> bool:
    """Whether its process may still be there."""
    parts = info.process.rsplit(" ", 2)
    if len(parts) == 3 and parts[1].isdigit():
        return is_alive(Process(parts[0], int(parts[1]), parts[2]))
    return info.pid <= 0 or start_of(info.pid) is not None

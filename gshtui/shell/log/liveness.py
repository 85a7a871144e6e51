"""Which shells are still alive, judged by their process, even if its number was reused.

Does not guess: a shell without a known process counts as alive. Called by the shell log.
"""

from __future__ import annotations

from collections.abc import Iterable

from gshtui.shell.pairing import ShellInfo
from gshtui.system.processes.process_identity import Process, is_alive, start_of, this_process


def process_name(pid: int) -> str:
    """A name for the process with this pid that no later process shares; empty if there is none."""
    started = start_of(pid) if pid > 0 else None
    return "" if started is None else f"{this_process().machine} {pid} {started}"


def shell_process(info: ShellInfo) -> int:
    """The number of its process; 0: not known."""
    parts = info.process.rsplit(" ", 2)
    return int(parts[1]) if len(parts) == 3 and parts[1].isdigit() else max(info.pid, 0)


def gone_shells(shells: Iterable[ShellInfo]) -> list[str]:
    """The ids of the shells whose process no longer exists."""
    return [info.shell for info in shells if not is_shell_alive(info)]


def is_shell_alive(info: ShellInfo) -> bool:
    """Whether its process may still be there."""
    parts = info.process.rsplit(" ", 2)
    if len(parts) == 3 and parts[1].isdigit():
        return is_alive(Process(parts[0], int(parts[1]), parts[2]))
    return info.pid <= 0 or start_of(info.pid) is not None

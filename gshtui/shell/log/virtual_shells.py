"""Virtual shells, which are input lines and agents that run commands: which hub has each, and which are abandoned.

Keeps their entries among the known shells, so that commands of a hub that died do not count as running forever. Used by
`user_commands` and `tool_command_log`, and by the hub that handles all shells.

Which shells are still alive, judged by their process, even if its number was reused.

Does not guess: a shell without a known process counts as alive. Called by the shell log.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Iterable, Sequence

import msgspec

from gshtui.bus.shell_data import ShellRecord
from gshtui.shell.pairing import ShellInfo
from gshtui.store.record.store import Store
from gshtui.store.tables.command_history import HistoryQuery
from gshtui.system.processes.process_identity import Process, is_alive, start_of, this_process
from gshtui.system.struct_types import learned


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


PROGRAM = "hub"
_SOURCES = ("run", "agent")


def shell_of(session: str) -> str:
    """Id of the shell that a conversation's runs belong to, whichever process has it in hand."""
    return f"window-{session}"


class VirtualShells:
    """Every coroutine raises `StoreError`."""

    def __init__(self, store: Store, tell: Callable[[Sequence[ShellRecord]], None]) -> None:
        """`tell` publishes the records that were stored."""
        self._store = store
        self._tell = tell
        self._taken: set[str] = set()

    async def claim_shell(self, shell: str) -> int:
        """This process has it from now on; what an earlier one left running is lost. The last number that was used."""
        if shell not in self._taken:
            self._taken.add(shell)
            await self._claim_shell(shell)
        found = await self._store.shells.find_all(HistoryQuery(shell=shell), limit=1)
        return found[0].number if found else 0

    async def _claim_shell(self, shell: str) -> None:
        self._tell(await self._store.shells.close_lost({shell}))
        pid = os.getpid()
        process = await asyncio.to_thread(process_name, pid)
        info = ShellInfo(shell, pid, process, PROGRAM, began=time.time())
        await self._store.shells.put_shell(shell, msgspec.json.encode(info).decode(), time.time())

    async def release_shells(self) -> None:
        """Remove this process's virtual shells; nothing runs in them any more."""
        taken, self._taken = self._taken, set()
        if taken:
            self._tell(await self._store.shells.close_lost(taken))

    async def find_dead(self) -> set[str]:
        """Those whose process died without leaving them, and those with a running command that nobody has."""
        own: list[ShellInfo] = []
        running = await self._store.shells.running()  # first: whoever has one is known before it runs
        known = await self._store.shells.known_shells()
        left = {one.shell for one in running if one.source in _SOURCES} - known.keys()
        for data in known.values():
            with contextlib.suppress(msgspec.DecodeError):
                own.append(msgspec.json.decode(data, type=learned(ShellInfo)))
        return left | set(await asyncio.to_thread(gone_shells, [info for info in own if info.program == PROGRAM]))

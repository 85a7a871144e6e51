"""Faults of a record's disk, put in where the system makes them: at the files, the process's limits and SQLite's own.

Nothing of ours is replaced. A fault can begin, end, or kill the process, just before the n-th statement from now on.
"""

import contextlib
import os
import resource
import signal
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store

DiskFault = Literal["limit", "io", "pages", "readonly", "busy"]
AT_ONCE: tuple[DiskFault, ...] = ("limit", "io")
"""Those that can begin between two statements of one transaction."""
_PRAGMAS = {"pages": "PRAGMA max_page_count = 1", "readonly": "PRAGMA query_only = ON"}
"""SQLite's own limits: SQLITE_FULL, SQLITE_READONLY."""
FAULTS: tuple[DiskFault, ...] = ("limit", "io", "pages", "readonly", "busy")


class RecordFaults:
    """The faults of one open record, in the process that has it open. `lift` ends all of them."""

    def __init__(self, store: Store) -> None:
        self._database = store._database
        self._path = store.path
        self._due: dict[int, Callable[[], None]] = {}
        self._statements = 0
        self._log: tuple[int, int] | None = None
        self._other: sqlite3.Connection | None = None

    async def watch(self) -> None:
        """Count statements from now on."""
        await self._database.run(lambda connection: connection.set_trace_callback(self._count))

    def after(self, statements: int, then: Callable[[], None]) -> None:
        """Do this just before a later statement."""
        self._due[self._statements + statements] = then

    def _count(self, _: str) -> None:
        self._statements += 1
        if (then := self._due.pop(self._statements, None)) is not None:
            then()

    def kill(self) -> None:
        """End this process as a power cut would."""
        os.kill(os.getpid(), signal.SIGKILL)

    def begin_at_once(self, fault: DiskFault) -> None:
        if fault == "limit":  # nothing can be added to any file: EFBIG
            resource.setrlimit(resource.RLIMIT_FSIZE, (64, resource.RLIM_INFINITY))
        elif self._log is None and (log := _descriptor(self._path.with_name(f"{self._path.name}-wal"))) >= 0:
            folder = os.open(self._path.parent, os.O_RDONLY)  # neither read nor written as a file is: EISDIR, EBADF
            self._log = log, os.dup(log)
            os.dup2(folder, log)
            os.close(folder)

    async def begin(self, fault: DiskFault) -> None:
        """Begin a fault between two transactions."""
        if fault in AT_ONCE:
            self.begin_at_once(fault)
        elif fault in _PRAGMAS:
            with contextlib.suppress(StoreError):  # another fault came first
                await self._database.run(lambda connection: connection.execute(_PRAGMAS[fault]))
        elif self._other is None:
            other = sqlite3.connect(self._path, isolation_level=None)
            try:
                other.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:  # the writer is at work
                other.close()
            else:
                self._other = other

    def lift_at_once(self) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        if self._log is not None:
            log, kept = self._log
            os.dup2(kept, log)
            os.close(kept)
            self._log = None

    async def lift(self) -> None:
        """End every fault, and what was to come."""
        self._due.clear()
        self.lift_at_once()
        if self._other is not None:
            self._other.close()
            self._other = None
        await self._database.run(lambda connection: connection.execute("PRAGMA max_page_count = 1073741823"))
        await self._database.run(lambda connection: connection.execute("PRAGMA query_only = OFF"))


def _descriptor(path: Path) -> int:
    """This process's descriptor of an open file; -1: it has none."""
    for entry in Path("/proc/self/fd").iterdir():
        try:
            if entry.readlink() == path:
                return int(entry.name)
        except OSError:
            continue
    return -1

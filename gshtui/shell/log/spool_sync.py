"""Brings the record up to date with the spool, before somebody reads it.

The hub that shells report to is asked to take in what is there. While there is none, this process takes it in itself,
under the hub's lock. If the hub does not answer, its lines are stored but left in the spool: nothing is lost, and
storing a line twice changes nothing. Raises nothing; what cannot be stored in time stays where it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import time
from collections.abc import Callable
from pathlib import Path

from gshtui.bus import wire
from gshtui.settings import paths
from gshtui.settings.model import Settings
from gshtui.shell import spool
from gshtui.shell.event_table import READER
from gshtui.shell.hub_registry import HubRegistryError, shells_socket_path
from gshtui.shell.line_stream import BadLine, LineStream, of_line, to_line
from gshtui.shell.log.shell_intake import IntakeRules, ShellIntake
from gshtui.shell.pairing import ignore_filter
from gshtui.shell.socket_lease import SocketLease
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from gshtui.system.network.peer import peer_of
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, keep_on, start_job

OWNER_WITHIN = 0.5
"""Seconds for the hub that shells report to."""
STALLED = 2.0
"""Seconds without a stored line after which the record is taken to be stuck. A spool of months may take longer."""
_TRY_EVERY = 0.01
"""Seconds between two attempts, while a hub or another reader comes or goes."""


class SpoolSync:
    """`sync` before each read."""

    def __init__(self, socket_path: Path, spool_folder: Path, make_intake: Callable[[], ShellIntake]) -> None:
        """`make_intake`: creates what takes the shells' lines in, for once."""
        self._socket = socket_path
        self._folder = spool_folder
        self._make_intake = make_intake

    async def sync(self) -> None:
        """Store what shells have written into the spool until now."""
        if not await asyncio.to_thread(spool.files, self._folder):
            return None
        until = time.monotonic() + OWNER_WITHIN
        while time.monotonic() < until:
            lease = SocketLease(self._socket)
            try:
                if await asyncio.to_thread(lease.try_lock):
                    return await self._take_in()
            except HubRegistryError:
                break  # no hub can have it either
            finally:
                lease.release()
            with contextlib.suppress(TimeoutError, OSError):
                async with time_limit(max(until - time.monotonic(), _TRY_EVERY)):
                    stored = await _ask_owner(self._socket)
                    if stored:
                        return None
                    if stored is None:
                        break
            await asyncio.sleep(_TRY_EVERY)
        return await self._take_in(empty=False)

    async def _take_in(self, *, empty: bool = True) -> None:
        intake = self._make_intake()
        storing = keep_on(intake.lines.run, "the intake of shells")
        reading = start_job(_read(intake, empty=empty), "the reading of the spool")
        before = -1
        try:
            while not reading.done() and intake.lines.stored > before:
                before = intake.lines.stored
                await asyncio.wait({reading}, timeout=STALLED)
        finally:  # what was not stored stays in the spool
            await cancel_and_wait(reading, storing)


def make_spool_sync(store: Store, settings: Settings, redact: Callable[[str], str]) -> SpoolSync:
    """Create it for a process without a shell log. `redact` removes secrets from text."""
    folder, rules = (
        spool.folder(paths.data_dir(create=False)),
        IntakeRules(redact, ignore_filter(settings.shell.ignore)),
    )
    socket_path = shells_socket_path(settings.general.socket_path)
    return SpoolSync(socket_path, folder, lambda: ShellIntake(store, folder, rules))


async def _read(intake: ShellIntake, *, empty: bool) -> None:
    with contextlib.suppress(StoreError):  # a record that cannot be read or written reports it by itself
        await intake.restore_shells()
        if not empty:
            await intake.spools.copy_spools()
            return
        await intake.read_now()
        if dead := await intake.dead_shells():
            await intake.close_shells(dead)


async def _ask_owner(path: Path) -> bool | None:
    """Whether the hub at this socket has stored all that was in the spool; `None` if it is one that does not do that.
    Raises `OSError`: it cannot be asked.
    """
    reader, writer = await asyncio.open_unix_connection(str(path))
    try:
        connected: socket.socket = writer.get_extra_info("socket")
        if not peer_of(connected).is_us:
            return False
        writer.write(to_line({"hello": READER, "pid": os.getpid()}))
        lines = LineStream(reader, wire.MAX_LINE, OWNER_WITHIN)
        while await lines.more():
            for line in lines.whole():
                with contextlib.suppress(BadLine):
                    answer = {} if isinstance(line, BadLine) else of_line(line)
                    if "synced" in answer:
                        return answer["synced"] is True
                    if "error" in answer:
                        return None
        return False
    finally:
        writer.transport.abort()

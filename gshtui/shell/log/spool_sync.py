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

import msgspec

from gshtui.bus import wire
from gshtui.bus.event import Event
from gshtui.bus.shell_data import ShellRecord
from gshtui.settings import paths
from gshtui.settings.model import Settings
from gshtui.shell import spool
from gshtui.shell.event_table import READER
from gshtui.shell.hub_registry import HubRegistryError, shells_socket_path
from gshtui.shell.line_stream import BadLine, LineStream, of_line, to_line
from gshtui.shell.log.intake import BranchCache, LineIntake, SpoolIntake
from gshtui.shell.log.virtual_shells import PROGRAM, gone_shells, shell_process
from gshtui.shell.pairing import Pairing, PairingRules, ShellInfo, ignore_filter
from gshtui.shell.socket_lease import SocketLease
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from gshtui.system.network.peer import peer_of
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.struct_types import learned
from gshtui.system.tasks import cancel_and_wait, keep_on, start_job


class IntakeRules(msgspec.Struct, frozen=True):
    """What may be stored of a shell's lines."""

    redact: Callable[[str], str]
    """Removes secrets from text."""
    ignored: Callable[[str], bool]
    """Whether a command is never recorded."""


class ShellIntake:
    """`lines.run` has to run while anything is taken in."""

    def __init__(
        self,
        store: Store,
        spool: Path,
        rules: IntakeRules,
        publish: Callable[[Event], None] = lambda _: None,
        kept: Callable[[ShellRecord, ShellInfo | None], None] = lambda _, __: None,
    ) -> None:
        """
        Args:
            spool: its folder.
            publish: receives what happened, once it is stored.
            kept: receives each stored record before it is published, with what is known of its shell.
        """
        branches = BranchCache()
        self.pairing = Pairing(PairingRules(rules.redact, rules.ignored, branches.branch_of))
        self.lines = LineIntake(
            store, self.pairing, branches, publish, lambda record: kept(record, self.pairing.shells.get(record.shell))
        )
        self.spools = SpoolIntake(spool, self.lines)
        self._store = store

    async def restore_shells(self) -> None:
        """Load what an earlier process knew of shells that still run. Raises `StoreError`."""
        known = await self._store.shells.known_shells()
        shells: list[ShellInfo] = []
        for data in known.values():
            with contextlib.suppress(msgspec.DecodeError):
                info = msgspec.json.decode(data, type=learned(ShellInfo))
                shells += [info] if info.program != PROGRAM else []  # windows are looked for by themselves
        running = [row for row in await self._store.shells.running() if row.source == "shell"]
        self.pairing.restore_shells(shells, running)

    async def read_now(self) -> bool:
        """Store what is in the spool and what was received; returns whether all of it could be stored."""
        read = await self.spools.read_all()
        try:
            await self.lines.wait_until_stored()
        except StoreError:
            return False
        return read

    def processes(self) -> set[int]:
        """The processes of the shells that are known to run."""
        return {pid for info in self.pairing.shells.values() if (pid := shell_process(info)) > 0}

    async def dead_shells(self) -> set[str]:
        """The shells whose process is gone, and those of running commands of which no process is known."""
        dead = set(await asyncio.to_thread(gone_shells, tuple(self.pairing.shells.values())))
        return dead | {record.shell for record in self.pairing.running if record.shell not in self.pairing.shells}

    async def close_shells(self, dead: set[str]) -> None:
        """Close the commands of shells that died without a report, and remove their files."""
        await self.spools.read_spools()  # their last words may be there
        self.pairing.close_shells(dead)
        with contextlib.suppress(StoreError):
            self.lines.publish_stored(await self._store.shells.close_lost(dead))
            await self.spools.remove_spools(dead)


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

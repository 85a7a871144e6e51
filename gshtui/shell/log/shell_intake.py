"""Takes in what shells report: pairs their lines to commands, stores them, and closes what a dead shell has left."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path

import msgspec

from gshtui.bus.event import Event
from gshtui.bus.shell_data import ShellRecord
from gshtui.shell.log.intake import BranchCache, LineIntake, SpoolIntake
from gshtui.shell.log.virtual_shells import PROGRAM, gone_shells, shell_process
from gshtui.shell.pairing import Pairing, PairingRules, ShellInfo
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from gshtui.system.struct_types import learned


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

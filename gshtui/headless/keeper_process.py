"""The keeper's process: a hub without a face, until nothing goes on for a while or somebody stops it.

It looks after the agents of every folder that no window looks after, the shells, and the mail. `fleet/keeper.py` starts
it; `gsh-tui hub` shows and stops it. Whenever any setting changes, the process starts its program anew, with the same
id in the same terminal: so it learns all of them in one way, and none can be forgotten.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gshtui.fleet.fleet_context import is_over
from gshtui.fleet.keeper import KeeperClaim, keeper_command
from gshtui.headless import exits
from gshtui.headless.command_hub import load_settings, running_hub
from gshtui.headless.runner import Stop, run_command
from gshtui.headless.streams import complain
from gshtui.hub.asked_commands import AskedCommands
from gshtui.hub.asked_turns import AskedTurns
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import KEEPER_PARTS, HubOptions
from gshtui.settings import paths
from gshtui.settings.loader import Loaded
from gshtui.shell import hub_registry
from gshtui.shell.event_table import COMMAND, TURN
from gshtui.shell.hub_listener import HubListener
from gshtui.shell.hub_registry import HubRegistryError, SocketInUse
from gshtui.store.store_errors import StoreError
from gshtui.system.calm_look import until_calm_look
from gshtui.system.folder_watch import FolderWatch
from gshtui.system.tasks import cancel_and_wait, keep_on
from gshtui.system.time_limit import time_limit

IDLE_FOR = 600.0
"""Seconds without anything to look after until it ends."""
_SETTLED = 1.0
"""Seconds without a change of the settings until it starts anew: who writes them may write them again."""
_ANEW = -1
"""In the place of an exit code: start anew."""


def run_keeper(idle: float = IDLE_FOR) -> int:
    """Be the keeper; returns the exit code at once if another process is.

    Args:
        idle: seconds without anything to look after until it ends; 0: it stays.
    """
    code = run_command(lambda stop: _run(stop, idle))
    if code == _ANEW:
        os.execv(sys.executable, [*keeper_command(), "--idle", f"{idle:g}"])
    return code


async def _run(stop: Stop, idle: float) -> int:
    loaded = load_settings(quiet=True)
    claim = KeeperClaim(loaded.settings.general.session_dir)
    try:
        if not claim.acquire():
            return exits.DONE
    except OSError as error:
        complain(
            f"cannot be the keeper of {claim.folder}: {error.strerror or error}.", "Check its owner and free space."
        )
        return exits.ERROR
    options = HubOptions(
        cwd=Path.home(), loaded=loaded, respondent="nobody", parts=KEEPER_PARTS, where="the keeper", keeper=True
    )
    try:
        async with running_hub(options) as hub:
            await hub.start()
            if hub.store is None or hub.fleet is None:
                return exits.ERROR
            async with _listening(hub) as asked, _following_settings(loaded, asked, stop) as settings:
                await _until_idle(hub, asked, stop, idle)
    finally:
        claim.release()
    return _ANEW if settings.changed and not stop.signalled else exits.DONE


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is done for other processes."""

    commands: AskedCommands
    turns: AskedTurns


@asynccontextmanager
async def _listening(hub: Hub) -> AsyncGenerator[_Asked]:
    """Run commands and take turns for those that ask; without a socket they do it themselves."""
    asked = _Asked(AskedCommands(hub), AskedTurns(hub))
    listener = HubListener({COMMAND: asked.commands, TURN: asked.turns}, _at_once)
    try:
        if (claimed := await asyncio.to_thread(_claimed)) is not None:
            await listener.listen(*claimed)
    except (HubRegistryError, OSError) as error:
        complain(f"commands cannot ask the keeper: {error}")
    try:
        yield asked
    finally:
        await asked.turns.close()
        await listener.stop()
        await asked.commands.close()


def _claimed() -> tuple[socket.socket, Path] | None:
    """The first socket that no other keeper has. Raises `HubRegistryError`."""
    hub_registry.folder()
    for path in paths.keeper_sockets():
        with contextlib.suppress(SocketInUse):
            return hub_registry.claim(path), path
    return None


async def _at_once() -> None:
    """Commands come one by one, so there is nothing to slow down."""


def after_change(before: Loaded, now: Loaded) -> Literal["go on", "stop", "anew"]:
    """What a keeper that has started with the one does where there is the other now.

    One that somebody started although `hub.keep` was `never` does not stop for it. The keeper of another record is
    another process. A file that cannot be read, as while it is edited, changes nothing.
    """
    if now.unreadable or now.settings.general.session_dir != before.settings.general.session_dir:
        return "go on"
    if now.settings.hub.keep == "never" != before.settings.hub.keep:
        return "stop"
    return "go on" if now.settings == before.settings else "anew"


class _Settings:
    """Follows the settings with which a keeper has started. `stop` ends it.

    Attributes:
        changed: they hold no more, and it has to start anew.
    """

    def __init__(self, loaded: Loaded, asked: _Asked, stop: Stop) -> None:
        self.changed = False
        self._loaded = loaded
        self._asked = asked
        self._keeper = stop
        self._told = asyncio.Event()
        self._watches: dict[tuple[Path, str], FolderWatch] = {}
        self._following = keep_on(self._follow, "the settings")

    async def stop(self) -> None:
        """Follow no longer."""
        await cancel_and_wait(self._following)
        for watch in self._watches.values():
            watch.close()

    async def _follow(self) -> None:
        """Ask the keeper to stop when they have changed, and nothing is done for another process any more."""
        while True:
            self._told.clear()
            self._watch()
            what = after_change(self._loaded, await asyncio.to_thread(self._loaded.again))
            if what == "anew":
                if await self._comes(_SETTLED):
                    continue
                await self._asked.commands.finish_acting()
                await self._asked.turns.finish()
                self.changed = True
            if what != "go on":
                self._keeper.asked.set()
            await self._comes(until_calm_look())

    async def _comes(self, within: float) -> bool:
        """Whether there is a change within so many seconds."""
        with contextlib.suppress(TimeoutError):
            async with time_limit(within):
                return await self._told.wait()
        return False

    def _watch(self) -> None:
        """Have changes of the file told, and of what a link leads to; of a folder that is not there, that it comes."""
        file = paths.config_file()
        wanted = {_nearest(each) for each in (file, file.resolve())}
        for place in self._watches.keys() - wanted:
            self._watches.pop(place).close()
        for folder, name in wanted - self._watches.keys():
            watch = self._watches[folder, name] = FolderWatch(folder, {name}.__contains__)
            watch.on_change(self._told.set)


def _nearest(file: Path) -> tuple[Path, str]:
    """The first folder above it that exists, and the name in that folder that leads to it."""
    while not file.parent.is_dir() and file.parent != file:
        file = file.parent
    return file.parent, file.name


@asynccontextmanager
async def _following_settings(loaded: Loaded, asked: _Asked, stop: Stop) -> AsyncGenerator[_Settings]:
    settings = _Settings(loaded, asked, stop)
    try:
        yield settings
    finally:
        await settings.stop()


async def _until_idle(hub: Hub, asked: _Asked, stop: Stop, idle: float) -> None:
    """Until it is asked to stop, or nothing has been going on for so many seconds."""
    busy_at = time.monotonic()
    while not stop.asked.is_set():
        with contextlib.suppress(TimeoutError):
            async with time_limit(min(until_calm_look(), idle / 4) if idle else None):
                await stop.asked.wait()
        if asked.turns.busy or await _goes_on(hub):
            busy_at = time.monotonic()
        elif idle and time.monotonic() - busy_at >= idle:
            return


async def _goes_on(hub: Hub) -> bool:
    """Whether there are agents, shells that report, or messages that wait."""
    assert hub.fleet is not None
    assert hub.store is not None
    if any(not is_over(row) for row in hub.fleet.rows()):
        return True
    if hub.shell_log is not None and hub.shell_log.connected:
        return True
    try:
        return bool(await hub.store.mail.find_all(("queued",), limit=1))
    except StoreError:
        return True  # the record says by itself that it cannot be read

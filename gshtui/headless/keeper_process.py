"""The keeper's process: a hub without a face, until nothing goes on for a while or somebody stops it.

It looks after the agents of every folder that no window looks after, the shells, and the mail. `fleet/keeper.py` starts
it; `gsh-tui hub` shows and stops it.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from gshtui.fleet.fleet_context import is_over
from gshtui.fleet.keeper import KeeperClaim
from gshtui.headless import exits
from gshtui.headless.command_hub import load_settings, running_hub
from gshtui.headless.runner import Stop, run_command
from gshtui.headless.streams import complain
from gshtui.hub.asked_commands import AskedCommands
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import KEEPER_PARTS, HubOptions
from gshtui.settings import paths
from gshtui.settings.loader import Loaded
from gshtui.shell import hub_registry
from gshtui.shell.event_table import COMMAND
from gshtui.shell.hub_listener import HubListener
from gshtui.shell.hub_registry import HubRegistryError, SocketInUse
from gshtui.store.store_errors import StoreError
from gshtui.system.calm_look import until_calm_look
from gshtui.system.folder_watch import FolderWatch
from gshtui.system.tasks import cancel_and_wait, keep_on
from gshtui.system.time_limit import time_limit

IDLE_FOR = 600.0
"""Seconds without anything to look after until it ends."""


def run_keeper(idle: float = IDLE_FOR) -> int:
    """Be the keeper; returns the exit code at once if another process is.

    Args:
        idle: seconds without anything to look after until it ends; 0: it stays.
    """
    return run_command(lambda stop: _run(stop, idle))


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
            async with _listening(hub), _ends_with_the_setting(loaded, stop):
                await _until_idle(hub, stop, idle)
    finally:
        claim.release()
    return exits.DONE


@asynccontextmanager
async def _listening(hub: Hub) -> AsyncGenerator[None]:
    """Run commands for those that ask; without a socket they do it themselves."""
    listener = HubListener({COMMAND: AskedCommands(hub)}, _at_once)
    try:
        if (claimed := await asyncio.to_thread(_claimed)) is not None:
            await listener.listen(*claimed)
    except (HubRegistryError, OSError) as error:
        complain(f"commands cannot ask the keeper: {error}")
    try:
        yield
    finally:
        await listener.stop()


def _claimed() -> tuple[socket.socket, Path] | None:
    """The first socket that no other keeper has. Raises `HubRegistryError`."""
    hub_registry.folder()
    for path in paths.keeper_sockets():
        with contextlib.suppress(SocketInUse):
            return hub_registry.claim(path), path
    return None


async def _at_once() -> None:
    """Commands come one by one, so there is nothing to slow down."""


@asynccontextmanager
async def _ends_with_the_setting(loaded: Loaded, stop: Stop) -> AsyncGenerator[None]:
    """Stop when `hub.keep` becomes `never`. One that somebody started although it was `never` stays."""
    if loaded.settings.hub.keep == "never":
        yield
        return

    async def look() -> None:
        while True:
            changed.clear()
            if (await asyncio.to_thread(loaded.again)).settings.hub.keep == "never":
                stop.asked.set()
            with contextlib.suppress(TimeoutError):
                async with time_limit(until_calm_look()):
                    await changed.wait()

    file, changed = paths.config_file(), asyncio.Event()
    # What a link leads to is changed elsewhere.
    watches = [FolderWatch(each.parent, {each.name}.__contains__) for each in {file, file.resolve()}]
    for watch in watches:
        watch.on_change(changed.set)
    looking = keep_on(look, "the setting hub.keep")
    try:
        yield
    finally:
        await cancel_and_wait(looking)
        for watch in watches:
            watch.close()


async def _until_idle(hub: Hub, stop: Stop, idle: float) -> None:
    """Until it is asked to stop, or nothing has been going on for so many seconds."""
    busy_at = time.monotonic()
    while not stop.asked.is_set():
        with contextlib.suppress(TimeoutError):
            async with time_limit(min(until_calm_look(), idle / 4) if idle else None):
                await stop.asked.wait()
        if await _goes_on(hub):
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

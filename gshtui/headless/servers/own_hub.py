"""The hub in a window's own process (`gsh-tui --alone`): behind the same lock and socket, until the window ends."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

from gshtui.fleet.keeper.keeper import KeeperClaim
from gshtui.headless.commands.command_hub import load_settings
from gshtui.headless.servers.keeper_process import listening
from gshtui.hub.hub_options import KEEPER_PARTS, HubOptions


class OwnHub:
    """See the module's text. Blocks for a moment while it is made."""

    def __init__(self) -> None:
        self._loaded = load_settings(quiet=True)
        self._claim = KeeperClaim(self._loaded.settings.general.session_dir)
        self._parts = AsyncExitStack()

    def acquire(self) -> bool:
        """Take the lock; false: another process is the hub. Raises `OSError`: there can be no record."""
        return self._claim.acquire()

    async def start(self) -> None:
        """Begin, and listen to the window and to everybody else."""
        from gshtui.hub.composition import build_hub

        hub = build_hub(
            HubOptions(Path.home(), self._loaded, respondent="nobody", parts=KEEPER_PARTS, where="the hub", keeper=True)
        )
        self._parts.push_async_callback(hub.stop)
        await hub.start()
        await self._parts.enter_async_context(listening(hub, after_logout=self._claim.after_logout))
        self._claim.say_ready()

    async def stop(self) -> None:
        """End all that it does, and let another process be it."""
        await self._parts.aclose()
        self._claim.release()

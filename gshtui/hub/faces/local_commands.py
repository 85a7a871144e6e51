"""The commands that need only the settings and no hub, so that their command lines start at once."""

from __future__ import annotations

from collections.abc import Callable

from gshtui.bus.bus import Bus
from gshtui.commands.declaration import Caller, Invocation
from gshtui.commands.registry import Registry
from gshtui.hub.command_offers import CommandOffers
from gshtui.settings.loader import Loaded


class LocalCommands:
    """Made inside a running event loop. It has no parts: there is nothing to start or stop."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self.registry = Registry()
        CommandOffers(self.registry, Bus(), loaded).offer("settings")

    def invocation(self, caller: Caller, output: Callable[[str], None] | None = None) -> Invocation:
        """The context of a command that runs here now."""
        return Invocation(caller, self._loaded.cwd, self._loaded.project, output=output or (lambda _: None))

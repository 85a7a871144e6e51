"""What the hosts of all kinds of faces share: the version, how an opening is read, and why it is declined."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from gshtui import __version__
from gshtui.client.hub_greeting import OTHER_RECORD
from gshtui.client.window_protocol import Surroundings
from gshtui.hub.hub import Hub
from gshtui.settings import paths
from gshtui.settings.loader import Loaded
from gshtui.shell.hub_listener import HubConnection, NoHost
from gshtui.shell.line_stream import BadLine
from gshtui.system.caller_environment import Inherited
from gshtui.system.installation import INSTALLED_AT
from gshtui.system.network.peer import sees_the_same
from gshtui.system.processes import process_limits
from gshtui.system.processes.process_tree import is_of_agent
from gshtui.system.struct_types import learned

T = TypeVar("T", bound=msgspec.Struct)
ELSEWHERE = "it runs outside of this container or sandbox"
HIGHER_LIMITS = "the limits here (`ulimit`) are higher than its own"


class FaceHost(NoHost):
    """Handles the connections of some kinds of faces, for `host`."""

    def __init__(self, host: Hub) -> None:
        self.host = host
        self._umask = process_limits.umask()

    def admit(self, connection: HubConnection) -> dict[str, Any]:
        """Say which version this is."""
        return {"serves": __version__, "installed": INSTALLED_AT}

    def opening(self, kind: type[T], fields: dict[str, Any]) -> T:
        """What a face asks for first. Raises `BadLine`."""
        try:
            return msgspec.convert(fields, learned(kind))
        except msgspec.ValidationError as error:
            raise BadLine(str(error)) from error

    async def stranger(self, connection: HubConnection, agents: str = "", itself: str = "") -> str:
        """Why the process at the other end is not served; empty: it is. `agents`: why an agent's process is not; empty:
        it is. `itself`: an agent in whose own terminal it may be.
        """
        if not sees_the_same(connection.peer):
            return ELSEWHERE
        if agents and await asyncio.to_thread(is_of_agent, connection.peer.pid, itself):
            return agents
        return ""

    def difference(self, there: Surroundings, loaded: Loaded) -> str:
        """Why what the face asks would be another thing here; empty: it would not. `loaded`: the settings there."""
        return difference(self.host, there, loaded)

    def inherited(self, there: Surroundings) -> Inherited:
        """The umask and limits of what is started for the face, where they are not this process's."""
        return process_limits.inherited(there.umask, there.limits, self._umask)


_SHARED = ("tmux", "store")
"""The settings that a face must share with the host; and where the record is."""


def other_place(cwd: str, environ: Mapping[str, str]) -> str:
    """Why a face's folder, or the folders of its program, are not to be had here; empty: they are."""
    if any(os.environ.get(name, "") != environ.get(name, "") for name in paths.VARIABLES):
        return OTHER_RECORD
    folder = Path(cwd)
    return "" if folder.is_absolute() and folder.is_dir() else "its folder is gone"


def difference(host: Hub, there: Surroundings, loaded: Loaded) -> str:
    """Why what the face asks would be another thing here; empty: it would not. `loaded`: the settings there."""
    if why := other_place(there.cwd, there.environ):
        return why
    if process_limits.unable_to_give(there.limits):
        return HIGHER_LIMITS
    return other_settings(host, loaded)


def other_settings(host: Hub, loaded: Loaded) -> str:
    """Why a face's settings are not for this hub; empty: they are."""
    ours = host.settings
    if loaded.settings.general.session_dir != ours.general.session_dir:
        return OTHER_RECORD
    if any(getattr(loaded.settings, table) != getattr(ours, table) for table in _SHARED):
        return "its [tmux] or [store] settings are not the hub's"
    return ""

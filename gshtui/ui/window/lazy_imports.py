"""The hub, imported after the first frame.

Owns nothing. The app class passes this to the bridge.
"""

from __future__ import annotations

import asyncio
import os
from importlib import import_module
from typing import TYPE_CHECKING

from gshtui.ui.kit.hub_port import HubPort, OpenRequest

if TYPE_CHECKING:
    from gshtui.fleet.agent_terminals import AgentTerminals
    from gshtui.settings.loader import Loaded
    from gshtui.tmux.server import TmuxServer


async def make_hub(opening: OpenRequest) -> HubPort:
    """The hub for this opening, not yet started: that of a resident process, or else one of this process."""
    from gshtui.settings.loader import load

    loaded = await asyncio.to_thread(load, opening.cwd)
    if loaded.settings.hub.resident and (link := await _resident(opening, loaded)) is not None:
        return link
    await asyncio.to_thread(import_module, "gshtui.hub.composition")  # it takes longer than all the rest
    from gshtui.hub.composition import build_hub
    from gshtui.hub.hub_options import HubOptions
    from gshtui.hub.window_hub import WindowHub

    options = HubOptions(
        cwd=opening.cwd,
        loaded=loaded,
        session=opening.session or "new",
        agent=opening.agent or "main",
        provider=opening.provider,
        model=opening.model,
        mode=opening.mode,
        where=_where(),
    )
    return WindowHub(build_hub(options))


async def _resident(opening: OpenRequest, loaded: Loaded) -> HubPort | None:
    from gshtui.client.window_link import WindowLink
    from gshtui.client.window_protocol import WindowOpening
    from gshtui.system import process_limits

    asked = WindowOpening(
        session=opening.session or "new",
        agent=opening.agent or "main",
        provider=opening.provider,
        model=opening.model,
        mode=opening.mode,
        where=_where(),
        cwd=str(opening.cwd),
        environ=dict(loaded.environ),
        umask=process_limits.umask(),
        limits=process_limits.limits(),
    )
    return await WindowLink.open(asked, loaded.settings, _Terminals(loaded).server)


class _Terminals:
    """The tmux servers of agents' rows, connected once one is shown."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._found: AgentTerminals | None = None

    def server(self, socket: str) -> TmuxServer:
        """The server of a socket."""
        if self._found is None:
            from gshtui.fleet.agent_terminals import AgentTerminals
            from gshtui.hosts.host_link import HostLinks
            from gshtui.settings import paths

            loaded = self._loaded
            self._found = AgentTerminals(hosts=HostLinks(loaded.settings.hosts, paths.runtime_dir, loaded.environ))
        return self._found.server(socket)


def _where() -> str:
    """This window's description, for another one that wants the same conversation."""
    try:
        return f"the window on {os.ttyname(0)}"
    except OSError:
        return "a window"

"""The hub, imported after the first frame.

Owns nothing. The app class passes this to the bridge.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from importlib import import_module
from typing import TYPE_CHECKING

from gshtui.ui.kit.hub_port import HubPort, OpenRequest

if TYPE_CHECKING:
    from socket import socket

    from gshtui.client.hub_dial import HubDial
    from gshtui.client.window_protocol import WindowOpening
    from gshtui.fleet.agent_terminals import AgentTerminals
    from gshtui.settings.loader import Loaded
    from gshtui.tmux.server import TmuxServer


async def make_hub(opening: OpenRequest, dial: HubDial | None = None) -> HubPort:
    """The hub for this opening: that of a resident process, or else one of this process, not yet started.

    Args:
        dial: a connection to the resident one, which is being made.
    """
    from gshtui.client.hub_dial import window_opening
    from gshtui.settings.loader import load

    loaded = await asyncio.to_thread(load, opening.cwd)
    asked = window_opening(
        cwd=str(opening.cwd),
        session=opening.session,
        agent=opening.agent,
        provider=opening.provider,
        model=opening.model,
        mode=opening.mode,
        environ=loaded.environ,
    )
    with suppress(TimeoutError):
        if (link := await _linked(asked, loaded, dial)) is not None:
            return link
    await asyncio.to_thread(import_module, "gshtui.hub.composition")  # it takes longer than all the rest
    from gshtui.hub.composition import build_hub
    from gshtui.hub.window_hub import WindowHub, window_options

    return WindowHub(build_hub(window_options(asked, loaded)))


async def _linked(asked: WindowOpening, loaded: Loaded, dial: HubDial | None) -> HubPort | None:
    """A link to the resident process, which is started unless it runs; `None`: it is not to be this window's hub.

    Raises:
        TimeoutError: it does not answer.
    """
    connected = await dial.connected() if dial is not None else None
    if not loaded.settings.hub.resident:
        if connected is not None:
            connected.close()
        return None
    if (link := await _resident(asked, loaded, connected)) is not None or not loaded.settings.hub.serves_windows:
        return link
    from gshtui.fleet.keeper import ensure_keeper, is_current, running_keeper, wait_for_keeper

    data = loaded.settings.general.session_dir
    running = await asyncio.to_thread(running_keeper, data)
    if running is not None and running.ready and is_current(running):
        return None  # it has declined
    try:
        await ensure_keeper(data, loaded.environ, briefly=True)
    except OSError:
        return None
    return await _resident(asked, loaded) if await wait_for_keeper(data) is not None else None


async def _resident(asked: WindowOpening, loaded: Loaded, connected: socket | None = None) -> HubPort | None:
    from gshtui.client.hub_dial import dial
    from gshtui.client.window_link import WindowLink

    connected = connected or await asyncio.to_thread(dial, asked)
    if connected is None:
        return None
    return await WindowLink.open(connected, loaded.settings, _Terminals(loaded).server)


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

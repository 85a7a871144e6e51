"""The hub, imported after the first frame.

Owns nothing. The app class passes this to the bridge.
"""

from __future__ import annotations

import asyncio
import time
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from gshtui.client.window_calls import WindowCalls
from gshtui.client.window_protocol import OpenRequest

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from socket import socket

    from gshtui.client.hub_dial import HubDial
    from gshtui.client.window_protocol import WindowOpening
    from gshtui.fleet.core.agent_terminals import AgentTerminals
    from gshtui.settings.loader import Loaded
    from gshtui.system.processes.process_identity import Process
    from gshtui.tmux.server import TmuxServer


_HELD_FOR, _LOOK_EVERY = 5.0, 0.05
"""Seconds in which another process, which works alone, lets go of the record; and between two looks."""
_STARTS = 5
"""Hubs that may end while a window waits for one."""
_ENDS_WITHIN = 0.5
"""Seconds for a hub that was killed to be gone."""


class EmbeddedHub(Protocol):
    """The hub in this process, which listens to all faces (`--alone`)."""

    def acquire(self) -> bool: ...
    async def start(self) -> None: ...
    async def stop(self) -> None: ...


async def make_hub(
    opening: OpenRequest, dial: HubDial | None = None, own: Callable[[], EmbeddedHub] | None = None
) -> WindowCalls:
    """The hub for this opening: that of a resident process, of this one, or, where no record can be written, one that
    is not yet started.

    Args:
        dial: a connection to the resident one, which is being made.
        own: makes what is the resident one, and ends with the window.

    Raises `HubUnavailable`: it runs or starts, and does not answer, or declines the window.
    """
    from gshtui.client.hub_dial import window_opening
    from gshtui.settings.loader import load

    loaded = await asyncio.to_thread(load, opening.cwd)
    asked = window_opening(opening, loaded.environ)
    if not opening.alone and (link := await _linked(asked, loaded, dial)) is not None:
        return link
    if own is not None and (link := await _linked_to_own(asked, loaded, own())) is not None:
        return link
    await asyncio.to_thread(import_module, "gshtui.hub.composition")  # it takes longer than all the rest
    from gshtui.hub.composition import build_hub
    from gshtui.hub.faces.window_hub import WindowHub, window_options

    return WindowHub(build_hub(window_options(asked, loaded)))


async def _linked_to_own(asked: WindowOpening, loaded: Loaded, own: EmbeddedHub) -> WindowCalls | None:
    """A link to the hub in this process, `None`: no record can be written. Raises `HubSilent`."""
    until = time.monotonic() + _HELD_FOR
    try:
        while not await asyncio.to_thread(own.acquire):
            if time.monotonic() > until:
                break
            await asyncio.sleep(_LOOK_EVERY)
        else:
            await own.start()
            return await _linked(asked, loaded, None, own)
    except OSError:
        return None
    await _refuse(loaded)
    return None


async def _linked(
    asked: WindowOpening, loaded: Loaded, early: HubDial | None, own: EmbeddedHub | None = None
) -> WindowCalls | None:
    """A link to the resident process, which is started unless it runs; `None`: it is not to be this window's hub.
    Raises `HubUnavailable`.
    """
    from gshtui.client.hub_dial import dial

    connected = await _answered(loaded, early.connected()) if early is not None else None
    connected = connected or await _answered(loaded, asyncio.to_thread(dial, asked))
    if connected is None and own is None and loaded.settings.hub.keep != "alone":
        connected = await _connected_to_new(asked, loaded)
    if connected is None:
        return None
    from gshtui.client.window_link import WindowLink

    end_hub = None if own is None else own.stop
    return await WindowLink.over(connected, loaded.settings, _Terminals(loaded).server, end_hub)


async def _answered(loaded: Loaded, dialling: Awaitable[socket | None]) -> socket | None:
    """The connection. Raises `HubUnavailable`: the hub does not answer, does not come, or declines."""
    try:
        return await dialling
    except TimeoutError:
        await _refuse(loaded)
    return None


async def _refuse(loaded: Loaded) -> None:
    """Raises `HubSilent` if a process is the hub."""
    from gshtui.client.hub_greeting import HubSilent
    from gshtui.fleet.keeper.keeper import running_keeper

    if (holder := await asyncio.to_thread(running_keeper, loaded.settings.general.session_dir)) is not None:
        raise HubSilent(holder.process.pid)


async def _connected_to_new(asked: WindowOpening, loaded: Loaded) -> socket | None:
    """`None`: none can be started. Raises `HubUnavailable`: each that was started has ended, or does not answer."""
    from gshtui.client.hub_dial import dial
    from gshtui.client.hub_greeting import HubUnavailable
    from gshtui.fleet.keeper.keeper import OTHER_VERSION, ends, ensure_keeper, wait_for_keeper

    data = loaded.settings.general.session_dir
    for _ in range(_STARTS):  # the one that runs may be about to end
        try:
            start = await ensure_keeper(data, loaded.environ, briefly=True)
        except OSError:
            return None
        if not start.serves:
            raise HubUnavailable(*OTHER_VERSION)
        state = await wait_for_keeper(data)
        if state is None:
            await _refuse(loaded)
            continue
        connected = await _answered(loaded, asyncio.to_thread(dial, asked, partial(_is_coming, state.process)))
        if connected is not None:
            return connected
        await ends(state.process, _ENDS_WITHIN)
    raise HubUnavailable("The hub ends as soon as it is started.", "`gsh-tui hub run` says why, or `gsh-tui doctor`.")


def _is_coming(process: Process) -> bool:
    """Whether a hub that runs does not listen yet, as while it begins anew."""
    from gshtui.settings import paths
    from gshtui.system.processes.process_identity import is_alive

    return is_alive(process) and not any(path.exists() for path in paths.keeper_sockets())


class _Terminals:
    """The tmux servers of agents' rows, connected once one is shown."""

    def __init__(self, loaded: Loaded) -> None:
        self._loaded = loaded
        self._found: AgentTerminals | None = None

    def server(self, socket: str) -> TmuxServer:
        """The server of a socket."""
        if self._found is None:
            from gshtui.fleet.core.agent_terminals import AgentTerminals
            from gshtui.hosts.host_link import HostLinks
            from gshtui.settings import paths

            loaded = self._loaded
            self._found = AgentTerminals(hosts=HostLinks(loaded.settings.hosts, paths.runtime_dir, loaded.environ))
        return self._found.server(socket)

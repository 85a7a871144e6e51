"""The connection of a face to its hub; a window's is made while it loads: the hub opens the conversation meanwhile."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future

import msgspec

from gshtui.client.hub_greeting import greeted, takes
from gshtui.client.window_protocol import OpenRequest, WindowOpening
from gshtui.system.processes import process_limits

ANSWER_WITHIN = 10.0
"""Seconds for the hub to say that it takes the window: it may be loading what another one needs."""
_COMES_WITHIN = 10.0
"""Seconds for a hub that is being started."""
_LOOK_EVERY = 0.02


def window_opening(opening: OpenRequest, environ: Mapping[str, str]) -> WindowOpening:
    """What this process's window asks for. Call it where no other thread makes files, see `process_limits.umask`."""
    return WindowOpening(
        session=opening.session or "new",
        agent=opening.agent,
        provider=opening.provider,
        model=opening.model,
        mode=opening.mode,
        where=where(),
        cwd=str(opening.cwd),
        environ=dict(environ),
        umask=process_limits.umask(),
        limits=process_limits.limits(),
    )


def where() -> str:
    """This window's description, for another one that wants the same conversation."""
    try:
        return f"the window on {os.ttyname(0)}"
    except OSError:
        return "a window"


class HubDial:
    """Dials in a thread of its own.

    Args:
        coming: whether a hub is being started, which is waited for.
    """

    def __init__(self, opening: WindowOpening, coming: Callable[[], bool]) -> None:
        self._connected: Future[socket.socket | None] = Future()
        self._given = False
        threading.Thread(target=self._run, args=(opening, coming), name="the way to the hub", daemon=True).start()

    def _run(self, opening: WindowOpening, coming: Callable[[], bool]) -> None:
        self._connected.set_running_or_notify_cancel()  # who waits may be cancelled; this thread cannot be
        try:
            self._connected.set_result(dial(opening, coming))
        except Exception as error:
            self._connected.set_exception(error)

    async def connected(self) -> socket.socket | None:
        """The connection, as of `dial`. It is given once. Raises `TimeoutError`."""
        if self._given:
            return None
        self._given = True
        return await asyncio.wrap_future(self._connected)


def dial(opening: WindowOpening, coming: Callable[[], bool] = lambda: False) -> socket.socket | None:
    """A connection to the hub that takes this face; `None`: there is none. Blocks. `coming`: as of `HubDial`.
    Raises `TimeoutError`: it does not answer, or does not come; `HubDeclined`.
    """
    until = time.monotonic() + _COMES_WITHIN
    while True:
        comes = coming()  # asked first: it may be there a moment after one has looked
        for connected in greeted("window", ANSWER_WITHIN):
            if takes(connected, msgspec.json.encode(opening)):
                return connected
        if not comes:
            return None
        if time.monotonic() > until:
            raise TimeoutError
        time.sleep(_LOOK_EVERY)

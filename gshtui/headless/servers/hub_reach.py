"""The hub as a lasting face of a process finds it: one that takes the face, or one that is started for it."""

from __future__ import annotations

import asyncio
import os
import socket
from contextlib import suppress

from gshtui.client.hub_greeting import check_declined, greeted, line_from
from gshtui.headless import streams
from gshtui.system.installation import own_command
from gshtui.system.processes.processes import start_child
from gshtui.system.processes.time_limit import time_limit

_ANSWER_WITHIN = 10.0
"""Seconds for the hub to take a face: it loads what serves the first one of a kind."""
COMES_WITHIN = 10.0
"""Seconds for a hub that is being started."""


def taken(kind: str, opening: bytes, *, of_any_version: bool) -> socket.socket | None:
    """A connection to the hub that takes the face; `None`: none is there. Raises `HubUnavailable`."""
    for connected in greeted(kind, _ANSWER_WITHIN, of_any_version=of_any_version):
        with suppress(OSError, ValueError):
            connected.sendall(opening)
            answer = line_from(connected)
            if answer.get("begins") is True:
                for _, text in answer.get("problems", ()):
                    streams.complain(str(text))
                return connected
            check_declined({"declined": answer.get("declined") or answer.get("error")})
        connected.close()
    return None


async def start_hub() -> None:
    """Start the hub, which has ended since because nothing went on; but not among an agent's processes."""
    if os.environ.get("GSH_AGENT"):
        return
    nothing = asyncio.subprocess.DEVNULL
    process = await start_child(*own_command("hub", "start"), stdin=nothing, stdout=nothing, stderr=nothing)
    try:
        async with time_limit(COMES_WITHIN):
            await process.wait()
    except TimeoutError:
        pass  # it goes on by itself, and the next call finds it

"""Waits until a window has dealt with what was posted to it, however busy the machine is.

`Pilot.pause` takes a process that gets no processor time for one that rests; here every part of the window is asked.
"""

from __future__ import annotations

import asyncio
from typing import Any

from textual.app import App
from textual.message_pump import MessagePump

_ROUNDS = 4
"""A key goes from the app to the screen, to the widget with the focus, and back as a message or an action."""
_WITHIN = 5.0
"""Seconds for one round: a part that waits for something else for ever is not waited for."""


async def wait_until_idle(app: App[Any]) -> None:
    """Return when every message that was posted so far, and what came of it, has been handled."""
    for _ in range(_ROUNDS):
        await _handled(app)
        for screen in app.screen_stack:
            await asyncio.gather(*(_handled(node) for node in screen.walk_children(with_self=True)))


async def _handled(pump: MessagePump) -> None:
    done = asyncio.Event()
    if not pump.is_running or not pump.call_later(done.set):
        return
    end = asyncio.get_running_loop().time() + _WITHIN
    while not done.is_set() and pump.is_running and asyncio.get_running_loop().time() < end:
        try:
            async with asyncio.timeout(0.1):
                await done.wait()
        except TimeoutError:
            continue

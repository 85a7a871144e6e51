"""Waits until a window has dealt with what was posted to it, however busy the machine is.

`Pilot.pause` takes a process that gets no processor time for one that rests; here every part of the window is asked.
"""

import asyncio
from typing import Any

from textual.app import App
from textual.message_pump import MessagePump

_ROUNDS = 4
"""A key goes from the app to the screen, to the widget with the focus, and back as a message or an action."""
_TURNS = 8
"""Turns of the event loop after each round, in which tasks that no part handles go on."""
_WITHIN = 5.0
"""Seconds for one round: a part that waits for something else for ever is not waited for."""


async def wait_until_idle(app: App[Any]) -> None:
    """Return when every message that was posted so far, and what came of it, has been handled."""
    for _ in range(_ROUNDS):
        await _handled(app)
        for screen in app.screen_stack:
            at_work = [node for node in screen.walk_children(with_self=True) if not _waits(node)]
            await asyncio.gather(*map(_handled, at_work))
        for _ in range(_TURNS):
            await asyncio.sleep(0)


def _waits(pump: MessagePump) -> bool:
    """Whether it has handled all that was posted and waits for more: asking it would cost a drawing of nothing."""
    queue: Any = pump._message_queue
    return queue.empty() and bool(queue.ready_event._waiters)


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

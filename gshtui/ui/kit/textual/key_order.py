"""Keys one after the other: what a key does to the focus counts for the key behind it.

Textual routes a key to whatever has the focus when the app reads it, while the key before may still be on its way
through the widgets; typed fast, or on a busy machine, a letter behind a key that moves the focus would be lost. Here a
key waits until the one before, the focus that it moved and the screen that it opened are done, or `LONGEST` is over.
Owns the keys that wait; refuses everything but keys and pastes.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

from textual import events
from textual.app import App
from textual.message_pump import MessagePump
from textual.screen import Screen

LONGEST = 0.5
"""Seconds that a key waits at most for the one before it, whose widget may be busy."""
_SCREENS = 3
"""Screens that one key may open, one out of the other, and that the next key waits for."""

Typed = events.Key | events.Paste
Route = Callable[[Typed], Awaitable[None]]


class KeyOrder:
    """The order of an app's keys. `route` hands one to the widget that has the focus."""

    def __init__(self, app: App[Any], route: Route) -> None:
        self._app = app
        self._route = route
        self._waiting: deque[Typed] = deque()
        self._turn = 0
        self._under_way = False
        self._deadline: asyncio.TimerHandle | None = None

    @property
    def rested(self) -> bool:
        """Whether no key waits or is under way."""
        return not self._under_way and not self._waiting

    async def deliver(self, event: Typed) -> None:
        """Route a key that has come in, now or once those before it are done."""
        self._waiting.append(event)
        if not self._under_way:
            await self._next()

    async def _next(self) -> None:
        """Route the keys that wait, up to one that another has to wait for."""
        while self._waiting and not self._under_way:
            event = self._waiting.popleft()
            if self._stays(event):
                await self._route(event)
            else:
                await self._begin(event)

    def _stays(self, event: Typed) -> bool:
        """Whether the widget with the focus only writes the key down, so that none has to wait for it."""
        focused = self._app.focused
        if focused is None or isinstance(event, events.Paste):
            return False
        return focused.check_consume_key(event.key, event.character)

    async def _begin(self, event: Typed) -> None:
        self._turn += 1
        self._under_way = True
        self._deadline = asyncio.get_running_loop().call_later(LONGEST, self._give_up, self._turn)
        screen = self._app.screen if self._app.screen_stack else None
        target = self._app.focused or screen
        try:
            await self._route(event)
        finally:
            self._follow(target or self._app, self._turn, screen, _SCREENS)

    def _follow(self, node: MessagePump | None, turn: int, screen: Screen[Any] | None, screens: int) -> None:
        """Go the way of the key, from the widget that got it up to the app, behind it in each queue."""
        if turn != self._turn:
            return
        while node is not None and node is not self._app:
            above = node._parent  # pyright: ignore[reportPrivateUsage]
            if node.is_running and node.call_later(self._follow, above, turn, screen, screens):
                return
            node = above
        # The app handles the key before this, and what that asks of the app, such as the focus, before the call in it.
        if not self._app.call_later(self._app.call_later, self._arrived, turn, screen, screens):
            self._end()

    async def _arrived(self, turn: int, screen: Screen[Any] | None, screens: int) -> None:
        if turn != self._turn:
            return
        now = self._app.screen if self._app.screen_stack else None
        if now is not None and now is not screen and screens:
            self._follow(now, turn, now, screens - 1)  # it gives the focus to one of its widgets first
            return
        self._end()
        await self._next()

    def _give_up(self, turn: int) -> None:
        if turn == self._turn and self._under_way and not self._app.call_later(self._arrived, turn, None, 0):
            self._end()

    def _end(self) -> None:
        self._under_way = False
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

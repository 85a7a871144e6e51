"""Keys one after the other: what a key does to the focus counts for the key behind it.

Textual routes a key to whatever has the focus when the app reads it, while the key before may still be on its way
through the widgets; typed fast, or on a busy machine, a letter behind a key that moves the focus would be lost, or land
in a prompt and be sent. Here a key waits until the one before, the focus that it moved, the screen that it opened and
the work that it began to bring something to the front are done. What waits for `LONGEST` was meant for something that
is not there: its text goes to the input, not sent and without API keys, other keys nowhere, and the person is told.
Owns the keys that wait; refuses everything but keys and pastes.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any

from textual import events
from textual.app import App
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.widget import Widget

from gshtui.text.units import counted

LONGEST = 3.0
"""Seconds that a key waits at most for the one before it, whose widget may be busy, or which starts a program."""
MOMENT = 0.3
"""Seconds that a key waits for a command, which opens something as a rule within that time, or nothing at all."""
_LATE = 0.25
"""Seconds behind its time after which a timer says that this program was busy itself, and not what it waited for."""
_WORD = re.compile(r"\S+")
_SCREENS = 3
"""Screens that one key may open, one out of the other, and that the next key waits for."""

Typed = events.Key | events.Paste
Route = Callable[[Typed], Awaitable[None]]
GiveBack = Callable[[str], None]


class KeyOrder:
    """The order of an app's keys. `route` hands one to the widget that has the focus; `give_back` puts text into the
    input.
    """

    def __init__(self, app: App[Any], route: Route, give_back: GiveBack, *, longest: float = LONGEST) -> None:
        self._app = app
        self._route = route
        self._give_back = give_back
        self._longest = longest
        self._held: set[asyncio.Future[Any]] = set()
        """Work that brings something to the front."""
        self._screen: Screen[Any] | None = None
        """What was in front when the key under way came."""
        self._asked: MessagePump | None = None
        """The widget whose action the app may run for it, until what that asks for has been followed, too."""
        self._waiting: deque[Typed] = deque()
        self._turn = 0
        self._under_way = False
        self._deadline: asyncio.TimerHandle | None = None

    def comes_next(self, widget: Widget) -> bool:
        """Whether a key that comes now is the next thing that happens to this widget."""
        screen = self._app.screen if self._app.screen_stack else None
        return (
            screen is not None
            and screen.focused is widget
            and not self._under_way
            and not self._waiting
            and not _has_messages(self._app)
            and not _has_messages(widget)
        )

    async def deliver(self, event: Typed) -> None:
        """Route a key that has come in, now or once those before it are done."""
        self._waiting.append(event)
        if not self._under_way:
            await self._next()

    def hold(self, work: asyncio.Future[Any]) -> None:
        """Have the keys behind the one under way, or those from now on, wait for this work, too."""
        if not self._under_way:
            self._start()
        self._held.add(work)
        work.add_done_callback(partial(self._let_go, self._turn))

    def hold_a_moment(self, work: asyncio.Future[Any]) -> None:
        """As `hold`, but no longer than a moment: this work may bring something, and may do anything else."""
        loop = asyncio.get_running_loop()
        over: asyncio.Future[None] = loop.create_future()

        def end(_: object = None) -> None:
            if not over.done():
                over.set_result(None)

        timer = loop.call_later(MOMENT, end)
        work.add_done_callback(end)
        over.add_done_callback(lambda _: timer.cancel())
        self.hold(over)

    def _let_go(self, turn: int, work: asyncio.Future[Any]) -> None:
        if turn == self._turn:
            self._held.discard(work)
            if self._under_way and not self._held:
                self._reach(turn, self._screen, _SCREENS)

    def drop(self) -> None:
        """Give back the text of the keys that wait, and say so: what they were meant for does not come."""
        if not self._waiting:
            return
        written = _text(self._waiting)
        text = _without_keys(written)
        keys = counted(len(self._waiting), "key")
        self._waiting.clear()
        if text:
            self._give_back(text)
        went = "What you typed is in the input, not sent" if text else f"Ignored {keys}"
        words = f"{went}: the dialog that was opening did not open."
        if text != written:
            words += " What may be an API key was dropped: paste it again."
        self._app.notify(words, severity="warning", markup=False, timeout=8)

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

    def _start(self) -> None:
        self._turn += 1
        self._under_way = True
        self._asked = None
        self._screen = self._app.screen if self._app.screen_stack else None
        self._wait(self._turn)

    def _wait(self, turn: int) -> None:
        loop = asyncio.get_running_loop()
        self._deadline = loop.call_later(self._longest, self._give_up, turn, loop.time() + self._longest)

    async def _begin(self, event: Typed) -> None:
        self._start()
        target = self._asked = self._app.focused or self._screen
        try:
            await self._route(event)
        finally:
            self._follow(target or self._app, self._turn, self._screen, _SCREENS)

    def _follow(self, node: MessagePump | None, turn: int, screen: Screen[Any] | None, screens: int) -> None:
        """Go the way of the key, from the widget that got it up to the app, behind it in each queue."""
        if turn != self._turn:
            return
        while node is not None and node is not self._app:
            above = node._parent  # pyright: ignore[reportPrivateUsage]
            if node.is_running and node.call_later(self._follow, above, turn, screen, screens):
                return
            node = above
        self._reach(turn, screen, screens)

    def _reach(self, turn: int, screen: Screen[Any] | None, screens: int) -> None:
        # The app handles the key before this, and what that asks of the app, such as the focus, before the call in it.
        if not self._app.call_later(self._app.call_later, self._arrived, turn, screen, screens):
            self._end()

    async def _arrived(self, turn: int, screen: Screen[Any] | None, screens: int) -> None:
        if turn != self._turn or self._held:
            return
        now = self._app.screen if self._app.screen_stack else None
        if now is not None and now is not screen and screens:
            self._asked = None
            self._follow(now, turn, now, screens - 1)  # it gives the focus to one of its widgets first
            return
        if (asked := self._asked) is not None:
            # The key came up to the app, which ran the widget's action; what that asks of the app comes up as well.
            self._asked = None
            self._follow(asked, turn, screen, screens)
            return
        self._end()
        await self._next()

    def _give_up(self, turn: int, due: float) -> None:
        if turn != self._turn or not self._under_way:
            return
        if asyncio.get_running_loop().time() - due > _LATE:
            self._wait(turn)
            return
        self._turn += 1  # whatever still comes of that key counts no more
        self._held.clear()
        self._end()
        self.drop()

    def _end(self) -> None:
        self._under_way = False
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _text(keys: Iterable[Typed]) -> str:
    """What these keys write."""
    text = ""
    for key in keys:
        if isinstance(key, events.Paste):
            text += key.text
        elif key.key == "backspace":
            text = text[:-1]
        elif key.key == "enter":
            text += "\n"
        elif key.is_printable:
            text += key.character or ""
    return text.strip()


def _without_keys(text: str) -> str:
    """The text without words that may be API keys: they may have been meant for a field that hides them."""
    from gshtui.settings.setting_values import may_be_key  # loaded by then

    return _WORD.sub(lambda word: "" if may_be_key(word[0]) else word[0], text).strip()


def _has_messages(pump: MessagePump) -> bool:
    """Whether something comes before the key."""
    return not pump._message_queue.empty()  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType]

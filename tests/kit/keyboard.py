"""Keys with times of their own: a test says how long the person waits before each, and waits for none of it.

Textual stamps each key with the moment at which it was pressed; here the stamp is the test's.
"""

import time
from collections.abc import Callable
from typing import Any

from textual import events
from textual.app import App
from textual.keys import (
    _character_to_key,  # pyright: ignore[reportPrivateUsage]  # as a terminal's letters get their names
)

LONG = 1.0
"""Seconds: long enough to have read a question."""


class Keyboard:
    """The keyboard of one app. `now` is its time: it never goes back, and begins with the clock that is given."""

    def __init__(self, app: App[Any], clock: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._clock = clock
        self._later = 0.0

    @property
    def now(self) -> float:
        return self._clock() + self._later

    def wait(self, seconds: float) -> None:
        """Time goes by for the person."""
        self._later += seconds

    def post(self, key: str, after: float = LONG) -> None:
        """Press a key some seconds after the last, and do not look what comes of it."""
        self.wait(after)
        name = key if len(key) > 1 else _character_to_key(key)
        character = key if len(key) == 1 else " " if key == "space" else None
        event = events.Key(name, character)
        event.time = self.now
        event.set_sender(self._app)
        self._app.post_message(event)

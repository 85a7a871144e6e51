"""The centre of the screen as the screen needs it: what stands in the chat tab, what below it, where the focus goes.

Owns the description alone. Made by `centre` for a real window, and by tests that want other widgets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
from textual.widget import Widget


def _no_text() -> str:
    return ""


def _nothing() -> None:
    return None


class Centre(msgspec.Struct, frozen=True):
    """The widgets of the centre, from top to bottom."""

    chat: Callable[[], Widget]
    """Makes the conversation. Called after the first frame: it is the largest part, and empty at first anyway."""
    below: Sequence[Widget]
    input: Widget
    """The widget below that takes the focus, and to which one comes back."""
    typed: Callable[[], str] = _no_text
    """What stands in the input now."""
    connect: Callable[[], None] = _nothing
    """Called once the hub is up: what is known from then on goes into the input's completion and history."""


MakeCentre = Callable[[], Centre]

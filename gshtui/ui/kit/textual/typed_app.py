"""The app that a widget is in, with a type: Textual declares it without one; and copying by way of it.

Owns nothing. Called by widgets and screens that need the terminal's size, the clipboard or the display of keys, and
to know whether keys are theirs.
"""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from textual import events
from textual.app import App
from textual.message_pump import MessagePump
from textual.widget import Widget


def app_of(node: MessagePump) -> App[Any]:
    """The app."""
    return node.app  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]


def pressed_at(node: MessagePump) -> float | None:
    """When the key under way was pressed, where the app keeps that."""
    return getattr(app_of(node), "pressed_at", None)


def copy_text(widget: Widget, text: str) -> None:
    """Copy text to the clipboard and say how much it was."""
    app_of(widget).copy_to_clipboard(text)
    lines = text.count("\n") + 1
    widget.notify(f"Copied {lines} lines" if lines > 1 else "Copied one line", timeout=2, markup=False)


@runtime_checkable
class KeyTaker(Protocol):
    """A widget that takes keys which mean nothing to the window, without their way through it."""

    def take_key(self, key: events.Key) -> bool:
        """Take the key; False: it has to go its way."""
        ...


def takes_every_key(focused: Widget | None) -> bool:
    """Whether the widget with the focus wants every key, so that none means anything to the window."""
    return bool(getattr(focused, "takes_every_key", False))

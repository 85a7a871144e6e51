"""The app that a widget is in, with a type: Textual declares it without one.

Owns nothing. Called by widgets and screens that need the terminal's size, the clipboard or the display of keys.
"""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.message_pump import MessagePump


def app_of(node: MessagePump) -> App[Any]:
    """The app."""
    return node.app  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]

"""The app of a widget, with a type: Textual leaves the type of what an app returns open.

Nothing else. Called by the widgets of the prompt area.
"""

from __future__ import annotations

from typing import Any, cast

from textual.app import App
from textual.widget import Widget


def app_of(widget: Widget) -> App[Any]:
    """The app that the widget is in."""
    return cast("App[Any]", widget.app)  # pyright: ignore[reportUnknownMemberType]

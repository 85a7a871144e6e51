"""When Textual paints: a focused widget at once rather than with the next frame, a cursor in an area without the focus.

Owns the reasons why Textual would wait, and refuses to paint what cannot be painted now.
"""

from __future__ import annotations

from typing import Any, TypeVar

from textual.screen import Screen
from textual.widgets import TextArea

from gshtui.ui.kit.textual.typed_app import app_of

AreaClass = TypeVar("AreaClass", bound=type[TextArea])


def focused_waits(screen: Screen[Any]) -> bool:
    """Whether the widget with the focus has changed, and could be painted now."""
    batching = app_of(screen)._batch_count  # pyright: ignore[reportPrivateUsage]
    dirty = screen._dirty_widgets  # pyright: ignore[reportPrivateUsage]
    return screen.focused in dirty and screen.is_current and not batching


def paint_now(screen: Screen[Any]) -> None:
    """Lay out and paint what has changed, without waiting for the next frame."""
    screen._on_timer_update()  # pyright: ignore[reportPrivateUsage]


def always_draws_cursor(area: AreaClass) -> AreaClass:
    """Have a class of text areas draw its cursor also while something else has the focus (a decorator)."""
    area._draw_cursor = property(lambda _area: True)  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
    return area

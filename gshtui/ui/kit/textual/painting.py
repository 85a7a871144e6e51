"""When Textual paints: a key's echo at once, a focused widget before the next frame, a cursor without the focus.

Owns the reasons why Textual would wait, and refuses to paint what cannot be painted now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, TypeVar, cast

from textual import events
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import TextArea

from gshtui.ui.kit.textual.compositor import PieceCompositor, PiecesUpdate
from gshtui.ui.kit.textual.driver import writing_at_once
from gshtui.ui.kit.textual.kept_lines import KeptLines
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


def echo_now(area: TextArea) -> bool:
    """Write the row with the cursor as it is now, where nothing moves; False: it waits for the screen's own frame.

    That frame comes as ever: it draws this row once more, finds it written, and writes what else has changed. Of keys
    that came in one burst only the last one writes.
    """
    compositor = _still(area)
    if compositor is None or _keys_wait(app_of(area)) or _keys_wait(area):
        return False
    _, row = area._cursor_offset  # pyright: ignore[reportPrivateUsage]
    inside = area.content_region
    update = compositor.row_of(area, inside.y - area.region.y + row - area.scroll_offset.y)
    if update is None:
        return False
    # A style that is about to change is not in this row yet: the frame draws it anew.
    area._line_cache.clear()  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType]
    _write(area, update)
    return True


def rows_now(lines: KeptLines, rows: Collection[int]) -> bool:
    """Write these rows, which are marked to be drawn, where nothing moves; False: they wait for the screen's frame.

    That frame comes as ever, and finds them written.
    """
    compositor = _still(lines)
    seen = [y for y in rows if 0 <= y < lines.size.height]
    update = compositor.rows_of(lines, seen) if compositor is not None else None
    if update is None:
        return False
    _write(lines, update)
    return True


def _still(widget: Widget) -> PieceCompositor | None:
    """The compositor of a widget that has changed, if nothing will be elsewhere in the next frame."""
    screen, app = widget.screen, app_of(widget)
    compositor = screen._compositor  # pyright: ignore[reportPrivateUsage]
    if (
        not isinstance(compositor, PieceCompositor)
        or not widget._repaint_regions  # pyright: ignore[reportPrivateUsage]
        or app._batch_count  # pyright: ignore[reportPrivateUsage]
        or app.screen is not screen
        or _moves(widget)
        or _moves(screen)
    ):
        return None
    return compositor


def _write(widget: Widget, update: PiecesUpdate) -> None:
    """Write part of a screen from the loop's thread."""
    app = app_of(widget)
    with writing_at_once(app):
        app._display(widget.screen, update)  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType]


def _keys_wait(pump: MessagePump) -> bool:
    """Whether a key comes after this one already."""
    waiting = pump._message_queue.values  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType, reportUnknownVariableType]
    return any(isinstance(message, events.Key) for message in cast("Iterable[object]", waiting))


def _moves(widget: Widget) -> bool:
    """Whether something of it may be elsewhere in the next frame."""
    return (
        widget._layout_required  # pyright: ignore[reportPrivateUsage]
        or widget._scroll_required  # pyright: ignore[reportPrivateUsage]
        or widget._recompose_required  # pyright: ignore[reportPrivateUsage]
    )


def always_draws_cursor(area: AreaClass) -> AreaClass:
    """Have a class of text areas draw its cursor also while something else has the focus (a decorator)."""
    area._draw_cursor = property(lambda _area: True)  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
    return area

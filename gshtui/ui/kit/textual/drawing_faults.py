"""What a fault in drawing costs: the part that it happened in, for as long as it lasts, and never the window.

Owns the sentence that stands in the place of a part that cannot be drawn or laid out, and when that part is tried
again. Refuses faults of anything but drawing. Called by the compositor and by the app.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from textwrap import wrap
from traceback import walk_tb
from types import CodeType, FrameType
from typing import Any, cast
from weakref import WeakKeyDictionary, WeakSet, ref

from rich.segment import Segment
from rich.style import Style
from textual.app import App
from textual.box_model import BoxModel
from textual.css.stylesheet import Stylesheet
from textual.events import Resize
from textual.geometry import Region, Size, Spacing
from textual.layout import DockArrangeResult
from textual.reactive import Reactive
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

from gshtui.system.faults import FaultLog
from gshtui.ui.kit.textual.compositor import PieceCompositor

SOON, LATE = 0.1, 8.0
"""Seconds until what failed is tried again: at first, and at most once it has failed for a while."""
DRAW = "render_lines"
"""The method by which parts are drawn."""
_ROOM = 12
"""Columns that a sentence needs; with fewer, a mark stands there."""


class DrawingFaults:
    """Faults in drawing of one window."""

    def __init__(self, app: App[Any], faults: FaultLog) -> None:
        self._app = app
        self._faults = faults
        self.failing: WeakKeyDictionary[Widget, dict[str, str]] = WeakKeyDictionary()
        """Parts that are not tried now, since they failed: for each of their methods that did, a sentence."""
        self._tries: WeakKeyDictionary[Widget, int] = WeakKeyDictionary()
        """How often a part was tried that will be tried again."""
        self._shielded: WeakSet[Widget] = WeakSet()
        self._lost_at, self._wait, self._waits = 0.0, SOON, False

    # A part that cannot be drawn, and one that cannot be laid out

    def failed(self, widget: Widget, error: Exception, method: str = DRAW) -> None:
        """A part raised: a sentence stands in its place until it works again, and it is tried again soon."""
        how = "drawn" if method == DRAW else "laid out"
        fault = self._faults.record(type(widget).__name__, error, f"while it was {how}")
        self.failing.setdefault(widget, {})[method] = f"This pane could not be {how}: {fault.why}. {fault.details}"
        if widget not in self._tries:
            self._tries[widget] = 0
            self._later(widget)

    def _works(self, widget: Widget, method: str) -> None:
        """A part is taken to work until it raises again."""
        sentences = self.failing.get(widget)
        if sentences is not None and sentences.pop(method, None) is not None and not sentences:
            del self.failing[widget]
            widget.refresh()

    def sentence(self, widget: Widget, crop: Region, width: int, top: int) -> list[Strip]:
        """What stands in the place of a part that failed.

        Args:
            crop: the rows and columns that are wanted, seen from the part.
            width: the width of the part.
            top: the first row of it that can be seen.
        """
        text = next(iter(self.failing.get(widget, {}).values()), "")
        rows = wrap(text, width) if width >= _ROOM else ["!"]
        style = self._style()
        strips: list[Strip] = []
        for y in crop.line_range:
            row = rows[y - top] if 0 <= y - top < len(rows) else ""
            strip = Strip([Segment(row, style)]).adjust_cell_length(width, style)
            strips.append(strip.crop(crop.x, crop.right).adjust_cell_length(crop.width, style))
        return strips

    def shield(self, error: Exception) -> bool:
        """Find the part whose layout raised; from now on it takes a plain place whenever its own way raises.

        False: there is none, or none that was not found before.
        """
        for frame in reversed(_frames(error)):
            widget: object = frame.f_locals.get("self")
            if isinstance(widget, Widget) and not isinstance(widget, Screen) and widget not in self._shielded:
                self._shielded.add(widget)
                for name, otherwise in _PLACES.items():
                    setattr(widget, name, self._guarded(widget, name, otherwise))
                return True
        return False

    def _guarded(self, widget: Widget, name: str, otherwise: Callable[..., object]) -> Callable[..., object]:
        known = ref(widget)

        def guarded(*args: Any, **options: Any) -> object:
            part = known()
            assert part is not None
            try:
                found: object = getattr(type(part), name)(part, *args, **options)
            except Exception as error:
                self.failed(part, error, name)
                return otherwise(part, *args)
            self._works(part, name)
            return found

        return guarded

    def _later(self, widget: Widget) -> None:
        wait = min(LATE, SOON * 2 ** self._tries[widget])
        self._app.set_timer(wait, partial(self._again, ref(widget)), name="try to draw again")

    def _again(self, known: ref[Widget]) -> None:
        widget = known()
        if widget is None:
            return
        if widget not in self.failing or not widget.is_attached:
            self._tries.pop(widget, None)
            return
        self._tries[widget] = min(10, self._tries[widget] + 1)
        self._works(widget, DRAW)
        if widget in self._shielded:
            widget.refresh(layout=True)
        self._later(widget)

    def _style(self) -> Style:
        theme = self._app.current_theme
        try:
            return Style(color=theme.error, bgcolor=theme.background)
        except Exception:  # a theme with invalid colours: the sentence is readable without
            return Style(reverse=True)

    # A frame that is lost

    def took(self, error: Exception) -> bool:
        """Take a fault that reached the app, if it happened in drawing; the frame is lost, and drawn anew soon."""
        if not any(frame.f_code in _OURS for frame in _frames(error)):
            return False
        self.shield(error)
        self.lost(error)
        return True

    def lost(self, error: Exception) -> None:
        """Nothing was drawn."""
        fault = self._faults.record("A frame of the window", error, "while it was drawn")
        if fault.message:
            text = f"The window could not be drawn: {fault.why}. {fault.details}"
            self._app.notify(text, severity="error", markup=False)
        now = time.monotonic()
        if self._waits:
            return
        self._wait = min(LATE, 2 * self._wait) if now - self._lost_at < 2 * LATE else SOON
        self._lost_at, self._waits = now, True
        self._app.set_timer(self._wait, self._anew, name="draw a frame again")

    def _anew(self) -> None:
        self._waits = False
        self.distrust()
        size = self._app.size
        for screen in self._app.screen_stack:
            screen.post_message(Resize(size, size))  # lays everything out and draws it

    def distrust(self) -> None:
        """Take nothing for granted that the terminal shows: it may have lost it, or never got it."""
        for screen in self._app.screen_stack:
            compositor = screen._compositor  # pyright: ignore[reportPrivateUsage]
            if isinstance(compositor, PieceCompositor):
                compositor.draw_all()


def _frames(error: Exception) -> list[FrameType]:
    """Where the error went through, the innermost last."""
    return [frame for frame, _ in walk_tb(error.__traceback__)]


def _no_children(widget: Widget, size: Size, optimal: bool = False) -> DockArrangeResult:
    return DockArrangeResult([], set(), Spacing())


def _width(widget: Widget, container: Size, viewport: Size) -> int:
    return container.width


def _height(widget: Widget, container: Size, viewport: Size, width: int) -> int:
    return max(1, min(3, container.height))


def _box(widget: Widget, container: Size, *_: object) -> BoxModel:
    return BoxModel(Fraction(container.width), Fraction(max(1, min(3, container.height))), Spacing())


def _sized(widget: Widget, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
    widget._size, widget._container_size = size, container_size  # pyright: ignore[reportPrivateUsage]
    widget.set_reactive(cast("Reactive[Size]", Widget.virtual_size), virtual_size)
    return True


_PLACES: dict[str, Callable[..., object]] = {
    "get_content_width": _width,
    "get_content_height": _height,
    "_get_box_model": _box,
    "arrange": _no_children,
    "_size_updated": _sized,
}
"""What Textual's layout asks of a part, and what it is told where the part raises."""

_OURS: set[CodeType] = {
    function.__code__
    for function in (
        cast("Any", App)._display,
        cast("Any", Screen)._refresh_layout,
        cast("Any", Screen)._compositor_refresh,
        cast("Any", Screen)._on_timer_update,
        cast("Any", Stylesheet).update_nodes,
    )
}
"""Whatever is raised below one of these is a fault in drawing."""

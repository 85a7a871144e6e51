"""The screen of a box: what is behind it is dimmed, row by row whole, and the input stays in sight below it."""

from __future__ import annotations

from typing import Any, TypeVar

from textual.await_complete import AwaitComplete
from textual.css.query import DOMQuery
from textual.geometry import Region
from textual.screen import ModalScreen, Screen
from textual.strip import Strip
from textual.widget import Widget

from gshtui.ui.kit.textual.typed_app import app_of

_LEAST = 16
"""Rows above the input below which a box may take the whole window, if it needs more than these."""
_SLACK = 4
"""Rows by which a box is lower that takes the whole window, at most."""
_R = TypeVar("_R")


class Box(ModalScreen[_R]):
    """Rows that the box reaches into show nothing else: beside it, there would be only pieces of words. Beside one that
    previews, all is seen.
    """

    most_rows = 1_000
    """Rows that the box may take."""
    _covers = range(0)
    _above = 0
    """Rows above the input."""
    _least = _LEAST
    """Of these, how many leave the input in sight."""

    _behind: Screen[Any] | None = None
    """The screen that a box which previews has taken the focus from."""
    _focus: Widget | None = None

    def on_mount(self) -> None:
        window = app_of(self).screen_stack[0]
        if self.has_class("-bright"):
            self._behind = app_of(self).screen_stack[-2]
            self._focus = self._behind.focused
            self._behind.set_focus(None)
        self._stand_above_input(window)
        for screen, follow in ((window, self._stand_above_input), (self, self._cover_rows)):
            screen.screen_layout_refresh_signal.subscribe(self, follow, immediate=True)  # pyright: ignore[reportUnknownMemberType]

    def _stand_above_input(self, window: Screen[Any]) -> None:
        height = app_of(self).size.height
        above = min((one.region.y for one in window.query("#prompt") if one.region), default=height)
        below = height - above if above >= self._least else 0
        self.set_class(above < self._least, "-short")
        if above != self._above:
            self._above = above
            self.remove_class("-covering")
        self.most_rows = height - below
        for box in self._boxes:
            box.styles.max_height = self.most_rows
            box.styles.margin = (0, 0, below, 0)

    @property
    def _boxes(self) -> DOMQuery[Widget]:
        return self.query_children(Widget).filter(".dialog").exclude(".-full")

    def _cover_rows(self, _: Screen[Any]) -> None:
        box = next((one.region for one in self.query_children(".dialog")), Region())
        if self.has_class("-short") and box.height > self._above:
            self.add_class("-covering")  # no part of the input is seen without the rest
        elif any(one.virtual_size.height > one.size.height for one in self._boxes):
            self._least = max(self._least, self._above + 1)  # rather the box with all its rows than the input
            self._stand_above_input(app_of(self).screen_stack[0])
        elif self._least > _LEAST and box.height + _SLACK <= self._above:
            self._least = _LEAST  # there is room for both
            self._stand_above_input(app_of(self).screen_stack[0])
        covers = range(box.y, box.bottom)
        if covers != self._covers:
            self._covers = covers
            self.refresh()

    def dismiss(self, result: _R | None = None) -> AwaitComplete:
        if self._behind is not None:
            self._behind.set_focus(self._focus)
        return super().dismiss(result)

    def render_lines(self, crop: Region) -> list[Strip]:
        if self.has_class("-bright"):
            return super().render_lines(crop)
        blank = Strip.blank(crop.width, app_of(self).rich_style)
        return [blank if y in self._covers else strip for y, strip in enumerate(super().render_lines(crop), crop.y)]

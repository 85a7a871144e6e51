"""Which panes are shown and how large: the person's choice, fitted to the terminal.

Owns the layout and the arithmetic, without a terminal; refuses to touch a widget. Called by the workbench's screen,
which applies an `Arrangement`, and by `ui_state`, which keeps the `PaneLayout`.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from gshtui.client.pane_names import CHAT, LEFT, RIGHT

MIN_SIDE = 18
MIN_CENTRE = 56
STAGE = 70
"""Columns that the conversation has before the right side is wider than its least."""
_TEXT, _WIDE_LIST = 100, 72
"""Columns that the conversation's text has before the list of agents is wider, and those of the list then, at most."""
MIN_ROWS = 5
WIDE = 150
"""Columns of the terminal from which on the right side is shown by itself; below, its panes are a strip of one row."""
_STRIP = (96, 24)
"""Columns and rows of the terminal from which on there is such a strip."""
_WEIGHTS = {"shell": 3, "context": 4, "timeline": 3}
_CHART = 12
"""The most rows of a timeline beside other panes, unless the person gives it more."""
SIDES = frozenset((*LEFT, *RIGHT))


class PaneLayout(msgspec.Struct, frozen=True):
    """The person's choice. Sizes in columns; 0: automatic."""

    left: int = 0
    right: int = 0
    hidden: frozenset[str] = frozenset()
    """The panes that the person has hidden; of the right side, where it is shown by itself."""
    opened: frozenset[str] = frozenset()
    """Those that the person has opened where they are not shown by themselves."""
    weights: dict[str, int] = msgspec.field(default_factory=lambda: dict(_WEIGHTS))
    """Shares of the right column's height."""
    zoomed: str = ""
    empty: frozenset[str] = frozenset()
    """The panes without content, which are shown only if the person opens them; `peeked`: those that are."""
    peeked: frozenset[str] = frozenset()

    def by_itself(self, pane: str, width: int) -> bool:
        """Whether this pane is shown in a terminal of this width unless the person hides it."""
        return pane not in self.empty and (width >= WIDE or pane not in RIGHT)

    def shown(self, pane: str, width: int) -> bool:
        """Whether the person wants this pane in a terminal of this width."""
        if self.by_itself(pane, width):
            return pane not in self.hidden
        return pane in (self.peeked if pane in self.empty else self.opened)

    def will_show(self, pane: str, width: int) -> bool:
        """Whether this pane is shown in a terminal of this width, or in a wide one will be once it has content."""
        return self.shown(pane, width) or (width >= WIDE and pane not in self.hidden)

    def at_start(self) -> PaneLayout:
        """As the next window has it at first, before it is known what there is to show."""
        return replace(self, zoomed="", empty=SIDES, peeked=frozenset[str]())

    def with_empty(self, empty: frozenset[str], front: str) -> PaneLayout:
        """With these panes without content. The one in front stays though it has lost its own."""
        return replace(self, empty=empty, peeked=(self.peeked | {front} - self.empty) & empty)

    def toggled(self, pane: str, width: int) -> PaneLayout:
        """With this pane toggled in a terminal of this width. The conversation is never hidden."""
        if pane == CHAT:
            return self
        if not self.shown(pane, width):
            return self.with_pane(pane)
        hidden = self.hidden | {pane} if self.by_itself(pane, width) else self.hidden
        zoomed = "" if self.zoomed == pane else self.zoomed
        opened, peeked = self.opened - {pane}, self.peeked - {pane}
        return replace(self, hidden=hidden, opened=opened, peeked=peeked, zoomed=zoomed)

    def with_pane(self, pane: str) -> PaneLayout:
        """With this pane shown, however wide the terminal will be."""
        peeked = self.peeked | {pane} & self.empty
        return replace(self, hidden=self.hidden - {pane}, opened=self.opened | {pane}, peeked=peeked)

    def with_zoom(self, pane: str) -> PaneLayout:
        """With this pane alone on the screen; the same pane again, or none, ends the zoom."""
        return replace(self, zoomed="" if pane == self.zoomed else pane)

    def with_sides(self, *, shown: bool) -> PaneLayout:
        """With all side panes shown where there is room, or hidden."""
        hidden = frozenset[str]() if shown else SIDES
        return replace(self, hidden=hidden, opened=frozenset[str](), peeked=frozenset[str](), zoomed="")

    def widened(self, side: str, columns: int, width: int) -> PaneLayout:
        """With the `left` or `right` column wider by some columns (negative: narrower), in a terminal this wide."""
        now = arrange(self, width, 100)
        if side == "left":
            most = width - MIN_CENTRE - 1 - (now.right + 1 if now.right else 0)
            return replace(self, left=max(MIN_SIDE, min(most, now.left + columns)))
        most = width - MIN_CENTRE - 1 - (now.left + 1 if now.left else 0)
        return replace(self, right=max(MIN_SIDE, min(most, now.right + columns)))

    def heightened(self, pane: str, rows: int, heights: dict[str, int]) -> PaneLayout:
        """With a pane of the right column higher by some rows, taken from its neighbour; `heights` are those now."""
        order = [name for name in RIGHT if heights.get(name)]
        if pane not in order or len(order) < 2:
            return self
        at = order.index(pane)
        other = order[at + 1] if at + 1 < len(order) else order[at - 1]
        rows = max(MIN_ROWS - heights[pane], min(rows, heights[other] - MIN_ROWS))
        sized = {**heights, pane: heights[pane] + rows, other: heights[other] - rows}
        return replace(self, weights={**self.weights, **sized})


class Arrangement(msgspec.Struct, frozen=True):
    """The panes on the screen. Sizes in cells; 0: not shown."""

    left: int
    right: int
    right_panes: tuple[str, ...]
    weights: tuple[int, ...]
    centre: bool = True
    header: bool = True
    footer: bool = True
    tabs: bool = True
    compact: bool = False
    """Whether there is only room for the input and the end of the conversation."""
    strip: tuple[str, ...] = ()
    """The panes of the right side that are a row above the input."""
    free: int = 0
    """Columns at the right of the centre, for panes that will be there once they have content."""


def arrange(layout: PaneLayout, width: int, height: int) -> Arrangement:
    """Fit a layout to a terminal of `width` by `height` cells; panes without room are left out, the centre last."""
    header, footer, tabs = height >= 8, height >= 10, height >= 14
    rows = height - header - footer
    right_panes = tuple(pane for pane in RIGHT if layout.shown(pane, width))[: max(1, rows // MIN_ROWS)]
    frame: dict[str, Any] = {"header": header, "footer": footer, "tabs": tabs}
    frame["compact"] = height < 10 or width < 40
    if layout.zoomed in RIGHT:
        return Arrangement(0, width, (layout.zoomed,), (1,), centre=False, **frame)
    if layout.zoomed in LEFT:
        return Arrangement(width, 0, (), (), centre=False, **frame)
    left, right, free = 0, 0, 0
    if not layout.zoomed:
        others = any(layout.will_show(pane, width) for pane in RIGHT)
        left, right = _columns(layout, width, agents=layout.shown("agents", width), others=others)
        free = 0 if right_panes or not right else right + 1
        right = right if right_panes else 0
    shown = right_panes if right else ()
    room = width < WIDE and width >= _STRIP[0] and height >= _STRIP[1]
    gone = layout.hidden >= SIDES
    strip = tuple(pane for pane in RIGHT if pane not in shown) if room and not gone and not layout.zoomed else ()
    weights = tuple(layout.weights.get(pane, 1) for pane in shown)
    if len(shown) > 1 and "timeline" in shown and layout.weights == _WEIGHTS:
        *others, last = weights
        chart = min(_CHART, rows * last // sum(weights))
        weights = (*(weight * (rows - chart) for weight in others), chart * sum(others))
    return Arrangement(left, right, shown, weights, strip=strip, free=free, **frame)


def _columns(layout: PaneLayout, width: int, *, agents: bool, others: bool) -> tuple[int, int]:
    """Those of the left and the right side, where these panes are there; 0 where they have no room."""
    share = 15 if others else 29
    left = _column(layout.left, min(width * share // 100, width - 1 - STAGE), 20, 36) if agents else 0
    fitting = min(width * 26 // 100, width - (left or -1) - 2 - STAGE)
    right = _column(layout.right, fitting, 28, 44) if others else 0
    if left and width - left - 1 < MIN_CENTRE + 14:
        left = 0
    if left and not layout.left:  # names are long, and lines of text need no more room
        left = max(left, min(_WIDE_LIST, width - (right + 1 if right else 0) - 1 - _TEXT))
    spare = width - (left + 1 if left else 0) - 1 - MIN_CENTRE
    if right > spare:
        right = spare if spare >= MIN_SIDE + 10 else 0
    return left, right


def _column(chosen: int, fitting: int, least: int, most: int) -> int:
    return max(MIN_SIDE, chosen) if chosen else max(least, min(most, fitting))

"""Textual's compositor, for a screen that changes little at a time: a frame costs what changed, not what is there.

Textual renders every widget that a rectangle around all changes touches, and writes all that it rendered. Here each
row knows which widget is in front at which columns; those alone are rendered, and what the terminal shows already is
not written again. Refuses to lay out. Used by the main screen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from textual._compositor import ChopsUpdate, Compositor, CompositorUpdate, LayoutUpdate
from textual._context import visible_screen_stack
from textual.geometry import Region
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

Shown = dict[tuple[int, int], str]
"""What was written last at a row and column; of a piece as wide as the layout makes it there."""


class Piece(NamedTuple):
    """Columns of a row of the screen that one widget draws."""

    start: int
    end: int
    widget: Widget
    region: Region
    """Of the widget."""
    seen: Region
    """What of it is not clipped by what it stands in."""


class PiecesUpdate(CompositorUpdate):
    """Strips with the places where they belong. Written, it leaves out what is there already."""

    def __init__(self, strips: Sequence[tuple[int, int, Strip]], shown: Shown) -> None:
        self._strips = strips
        self._shown = shown

    def render_segments(self, console: Console) -> str:
        """The bytes for the terminal."""
        shown = self._shown
        out: list[str] = []
        for y, x, strip in self._strips:
            text = strip.render(console)
            if shown.get((y, x)) != text:
                shown[y, x] = text
                out.append(f"\x1b[{y + 1};{x + 1}H{text}")
        return "".join(out)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for _, _, strip in self._strips:
            yield from strip


class PieceCompositor(Compositor):
    """A compositor with pieces. What it cannot do that way, Textual's way does."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: dict[int, list[Piece]] = {}
        self._laid_out: object = None
        self._shown: Shown = {}

    def clear(self) -> None:
        super().clear()
        self._forget(None)

    def render_update(
        self, full: bool = False, screen_stack: list[Screen[Any]] | None = None, simplify: bool = False
    ) -> RenderableType | None:
        # All of the terminal's screen is made of pieces too: what stands behind others is not drawn. Who asks for the
        # whole screen (an export, a picture) gets Textual's.
        if full or simplify or self.size.region not in self._dirty_regions:
            return super().render_update(full, screen_stack, simplify)  # pyright: ignore[reportUnknownMemberType]
        visible_screen_stack.set(screen_stack or [])
        self._forget(None)
        return self.render_partial_update()

    def render_full_update(self, simplify: bool = False) -> LayoutUpdate:
        self._shown.clear()
        return super().render_full_update(simplify)

    def render_partial_update(self) -> PiecesUpdate | ChopsUpdate | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        regions = self._dirty_regions.copy()
        if not regions:
            return None
        layout = self.visible_widgets
        if layout is not self._laid_out:
            self._forget(layout)
        strips = self._strips(regions)
        if strips is None:
            self._shown.clear()
            return super().render_partial_update()
        self._dirty_regions.clear()
        return PiecesUpdate(strips, self._shown)

    def drawn(self) -> list[Strip]:
        """The rows of the screen as they stand now."""
        if self.visible_widgets is not self._laid_out:
            self._forget(self.visible_widgets)
        strips = self._strips([self.size.region])
        if strips is None:
            return self.render_strips()
        rows: list[list[tuple[int, Strip]]] = [[] for _ in range(self.size.height)]
        for y, x, strip in strips:
            rows[y].append((x, strip))
        return [Strip.join(strip for _, strip in sorted(row, key=lambda piece: piece[0])) for row in rows]

    def _forget(self, layout: object) -> None:
        """Nothing is known of where widgets are in this layout, and of what the terminal shows."""
        self._laid_out = layout
        self._rows.clear()
        self._shown.clear()

    def _strips(self, regions: Collection[Region]) -> list[tuple[int, int, Strip]] | None:
        """All pieces that the regions touch, drawn; `None` where a widget draws less than its place."""
        height = self.size.height
        wanted: dict[Widget, dict[int, list[Piece]]] = {}
        for y, start, end in self._regions_to_spans(regions):
            if 0 <= y < height:
                for piece in self._row(y):
                    if piece.start < end and piece.end > start:
                        wanted.setdefault(piece.widget, {}).setdefault(y, []).append(piece)
        out: list[tuple[int, int, Strip]] = []
        for widget, rows in wanted.items():
            region, seen = next(iter(rows.values()))[0][3:]
            for first, last in _runs(rows):
                crop = Region(seen.x - region.x, first - region.y, seen.width, last - first)
                drawn = widget.render_lines(crop)
                if len(drawn) < crop.height:
                    return None
                for y, strip in zip(range(first, last), drawn, strict=False):
                    if strip.cell_length < seen.width:
                        return None
                    for piece in rows[y]:
                        part = strip.crop(piece.start - seen.x, piece.end - seen.x)
                        out.append((y, piece.start, part))
        return out

    def _row(self, y: int) -> list[Piece]:
        """The row's pieces, whatever is in front winning."""
        found = self._rows.get(y)
        if found is None:
            found = self._rows[y] = list(self._pieces(y))
        return found

    def _pieces(self, y: int) -> Iterator[Piece]:
        free = [(0, self.size.width)]
        for widget, seen, region in self.layers_visible[y]:
            left: list[tuple[int, int]] = []
            for start, end in free:
                first, last = max(start, seen.x), min(end, seen.right)
                if first >= last:
                    left.append((start, end))
                    continue
                yield Piece(first, last, widget, region, seen)
                left += [part for part in ((start, first), (last, end)) if part[0] < part[1]]
            free = left
            if not free:
                return


def _runs(rows: Collection[int]) -> Iterator[tuple[int, int]]:
    """The rows as ranges, each up to but not with its last number."""
    first = last = -1
    for y in sorted(rows):
        if y != last:
            if last >= 0:
                yield first, last
            first = y
        last = y + 1
    if last >= 0:
        yield first, last

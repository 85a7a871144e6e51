"""Textual's compositor, for a screen that changes little at a time: a frame costs what changed, not what is there.

Textual renders every widget that a rectangle around all changes touches, and writes all that it rendered. Here each
row knows which widget is in front at which columns; those alone are rendered, and what the terminal shows already is
not written again. A part that cannot be drawn costs its own place, and whatever a part draws, the terminal is written
nothing but what it shows: a control character in a text or in a link's target stops here. Refuses to lay out, and to
say what a fault costs (`drawing` does). The app gives one to every screen.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment
from rich.style import Style
from textual._compositor import Compositor, CompositorMap, CompositorUpdate, LayoutUpdate, ReflowResult
from textual._context import visible_screen_stack
from textual.geometry import Offset, Region, Size
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget

T = TypeVar("T")
Shown = dict[tuple[int, int], Strip]
"""What was written last at a row and column; of a piece as wide as the layout makes it there."""


class ScreenPiece(NamedTuple):
    """Columns of a row of the screen that one widget draws."""

    start: int
    end: int
    widget: Widget | None
    """`None`: nothing was laid out there."""
    region: Region
    """Of the widget."""
    seen: Region
    """What of it is not clipped by what it stands in."""


class WrittenRow(NamedTuple):
    """A row of a widget on the terminal."""

    y: int
    x: int
    """Where it begins on the screen."""
    hidden: int
    """Cells of the widget left of that, which cannot be seen."""
    strip: Strip


class FaultHandler(Protocol):
    """Says what a fault in drawing costs."""

    @property
    def failing(self) -> Container[Widget]:
        """Parts that are not tried now."""
        ...

    def failed(self, widget: Widget, error: Exception) -> None:
        """A part raised when it was drawn."""
        ...

    def sentence(self, widget: Widget, crop: Region, width: int, top: int) -> list[Strip]:
        """What stands in the place of a part that failed; see `DrawingFaults.sentence`."""
        ...

    def shield(self, error: Exception) -> bool:
        """Whether the part was found whose layout raised; it takes a plain place from now on."""
        ...

    def lost(self, error: Exception) -> None:
        """Nothing was drawn."""
        ...


class PiecesUpdate(CompositorUpdate):
    """Strips with the places where they belong. Written, it leaves out what is there already."""

    def __init__(
        self, strips: Sequence[tuple[int, int, Strip]], shown: Shown, drawing: FaultHandler | None = None
    ) -> None:
        self._strips = strips
        self._shown = shown
        self._drawing = drawing

    def render_segments(self, console: Console) -> str:
        """The bytes for the terminal."""
        shown = self._shown
        out: list[str] = []
        for y, x, strip in self._strips:
            try:
                text = strip.render(console)
            except Exception as error:  # an invalid style
                if self._drawing is None:
                    raise
                self._drawing.lost(error)
                strip = Strip.blank(strip.cell_length)
                text = strip.render(console)
            before = shown.get((y, x))
            shown[y, x] = strip
            if before is None or before.render(console) != text:
                if any(_obeyed(segment) for segment in strip):
                    text = Strip(map(_inert, strip), strip.cell_length).render(console)
                out.append(f"\x1b[{y + 1};{x + 1}H{text}")
        return "".join(out)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for _, _, strip in self._strips:
            yield from strip


class PieceCompositor(Compositor):
    """A compositor with pieces. It draws within its size, whatever it was told about another one, and all but the parts
    that cannot be drawn."""

    drawing: FaultHandler | None = None
    """Who takes a part's faults; set by the app. Without one they are raised."""

    def __init__(self) -> None:
        super().__init__()
        self._rows: dict[int, list[ScreenPiece]] = {}
        self._laid_out: object = None
        self._laid_out_for = Size(0, 0)
        self._shown: Shown = {}

    def clear(self) -> None:
        super().clear()
        self._forget(None)

    def draw_all(self) -> None:
        """Draw all of the screen with the next frame, whatever the terminal shows."""
        self._shown.clear()
        self._dirty_regions.add(self.size.region)

    # Where everything is

    @property
    def visible_widgets(self) -> dict[Widget, tuple[Region, Region]]:
        """The widgets on the screen: where each is, and the part of the screen it may be seen in."""
        if self._visible_widgets is None:
            found, screen = super().visible_widgets, self.size.region
            if self._laid_out_for != self.size:
                # After a failed or pending layout, the places are those of another size.
                found = {widget: (region, clip.intersection(screen)) for widget, (region, clip) in found.items()}
            self._visible_widgets = found
        return self._visible_widgets

    @property
    def full_map(self) -> CompositorMap:
        """The places of all widgets, also of those that are not on the screen."""
        try:
            return self._laid(lambda: super(PieceCompositor, self).full_map)
        except Exception as error:
            if self.drawing is None:
                raise
            self.drawing.lost(error)
            return self._full_map

    def reflow(self, parent: Widget, size: Size) -> ReflowResult:
        result = self._laid(lambda: super(PieceCompositor, self).reflow(parent, size))
        self._laid_out_for = size
        return result

    def reflow_visible(self, parent: Widget, size: Size) -> set[Widget]:
        result = self._laid(lambda: super(PieceCompositor, self).reflow_visible(parent, size))
        self._laid_out_for = size
        return result

    def _laid(self, lay_out: Callable[[], T]) -> T:
        """Lay out; once more without the part that raised, as long as there are such."""
        while True:
            try:
                return lay_out()
            except Exception as error:
                if self.drawing is None or not self.drawing.shield(error):
                    raise
                self._full_map_invalidated = True

    # Frames

    def render_update(
        self, full: bool = False, screen_stack: list[Screen[Any]] | None = None, simplify: bool = False
    ) -> RenderableType | None:
        # All of the terminal's screen is made of pieces too: what stands behind others is not drawn. Who asks for the
        # whole screen (an export, a picture) gets Textual's.
        if full or simplify:
            return super().render_update(full, screen_stack, simplify)  # pyright: ignore[reportUnknownMemberType]
        visible_screen_stack.set(screen_stack or [])
        try:
            return self.render_partial_update()
        except Exception as error:
            if self.drawing is None:
                raise
            self.drawing.lost(error)
            return None

    def render_full_update(self, simplify: bool = False) -> LayoutUpdate:
        self._shown.clear()
        return super().render_full_update(simplify)

    def render_partial_update(self) -> PiecesUpdate | None:  # pyright: ignore[reportIncompatibleMethodOverride]
        # Regions noted before the screen had this size may lie outside.
        screen = self.size.region
        regions = {seen for region in self._dirty_regions if (seen := region.intersection(screen))}
        self._dirty_regions.clear()
        if not regions:
            return None
        layout = self.visible_widgets
        if layout is not self._laid_out or screen in regions:
            self._forget(layout)
        return PiecesUpdate(self._strips(regions), self._shown, self.drawing)

    def row_of(self, widget: Widget, y: int) -> PiecesUpdate | None:
        """A row of a widget as it is now, `None` where it cannot be seen or the places of widgets are not known.

        Nothing is taken as drawn by this: the next frame draws the row, too.
        """
        if (crop := self._crop_of(widget, y)) is None:
            return None
        (strip,) = _filling(Widget.render_lines(widget, crop), widget, crop)
        widget._styles_cache.set_dirty(crop)  # pyright: ignore[reportPrivateUsage]
        left, on_screen = self._visible(widget).x + crop.x, self._visible(widget).y + y
        pieces = (piece for piece in self._row(on_screen) if piece.widget is widget)
        strips = [(on_screen, piece.start, strip.crop(piece.start - left, piece.end - left)) for piece in pieces]
        return PiecesUpdate(strips, self._shown, self.drawing)

    def rows_of(self, widget: Widget, rows: Iterable[int]) -> PiecesUpdate | None:
        """The content of these rows of a widget that keeps its lines; `None` as in `row_of`."""
        regions: set[Region] = set()
        for y in rows:
            if (crop := self._crop_of(widget, y)) is None:
                return None
            row = crop.translate(self._visible(widget).offset)
            inside = widget.scrollable_content_region
            regions.add(row.intersection(Region(inside.x, row.y, inside.width, 1)))
        return PiecesUpdate(self._strips(regions), self._shown, self.drawing)

    def written_row(self, widget: Widget, y: int) -> WrittenRow | None:
        """What is on the terminal of a widget's row; `None` where that is unknown, or its beginning is covered."""
        if (crop := self._crop_of(widget, y)) is None:
            return None
        place = self._visible(widget)
        on_screen, left = place.y + y, place.x + crop.x
        starts = [piece.start for piece in self._row(on_screen) if piece.widget is widget]
        strip = self._shown.get((on_screen, left))
        if strip is None or starts != [left]:
            return None
        return WrittenRow(on_screen, left, crop.x, strip)

    def wrote(self, row: WrittenRow, strip: Strip) -> None:
        """The row has become this one on the terminal: a frame that draws the same does not write it again."""
        self._shown[row.y, row.x] = strip

    def _visible(self, widget: Widget) -> Region:
        """Where a widget is that is on the screen."""
        return self.visible_widgets[widget][0]

    def _crop_of(self, widget: Widget, y: int) -> Region | None:
        """What can be seen of a widget's row, in its own columns; `None` as in `row_of`."""
        layout = self._visible_widgets
        if layout is None or layout is not self._laid_out or self._laid_out_for != self.size or widget not in layout:
            return None
        if self.drawing is not None and widget in self.drawing.failing:
            return None
        region, clip = layout[widget]
        seen = region.intersection(clip).intersection(self.size.region)
        return Region(seen.x - region.x, y, seen.width, 1) if seen.y <= region.y + y < seen.bottom else None

    def drawn(self) -> list[Strip]:
        """The rows of the screen as they stand now."""
        if self.visible_widgets is not self._laid_out:
            self._forget(self.visible_widgets)
        rows: list[list[tuple[int, Strip]]] = [[] for _ in range(self.size.height)]
        for y, x, strip in self._strips([self.size.region]):
            rows[y].append((x, strip))
        return [Strip.join(strip for _, strip in sorted(row, key=lambda piece: piece[0])) for row in rows]

    def _forget(self, layout: object) -> None:
        """Nothing is known of where widgets are in this layout, and of what the terminal shows."""
        self._laid_out = layout
        self._rows.clear()
        self._shown.clear()

    def _strips(self, regions: Collection[Region]) -> list[tuple[int, int, Strip]]:
        """All pieces that the regions touch, drawn. The regions are within the screen."""
        wanted: dict[Widget, dict[int, list[ScreenPiece]]] = {}
        out: list[tuple[int, int, Strip]] = []
        for y, start, end in self._regions_to_spans(regions):
            for piece in self._row(y):
                if piece.start < end and piece.end > start:
                    if piece.widget is None:
                        out.append((y, piece.start, Strip.blank(piece.end - piece.start)))
                    else:
                        wanted.setdefault(piece.widget, {}).setdefault(y, []).append(piece)
        for widget, rows in wanted.items():
            region, seen = next(iter(rows.values()))[0][3:]
            for first, last in _runs(rows):
                drawn = self._lines(widget, region, seen, first, last)
                for y, strip in zip(range(first, last), drawn, strict=True):
                    for piece in rows[y]:
                        part = strip.crop(piece.start - seen.x, piece.end - seen.x)
                        out.append((y, piece.start, part))
        return out

    def _lines(self, widget: Widget, region: Region, seen: Region, first: int, last: int) -> list[Strip]:
        """What a widget draws in rows of the screen; of one that cannot, a sentence that says so."""
        crop = Region(seen.x - region.x, first - region.y, seen.width, last - first)
        drawing = self.drawing
        if drawing is None:
            return _filling(widget.render_lines(crop), widget, crop)
        if widget not in drawing.failing:
            try:
                return _filling(widget.render_lines(crop), widget, crop)
            except Exception as error:
                drawing.failed(widget, error)
        return drawing.sentence(widget, crop, region.width, seen.y - region.y)

    def _get_renders(self, crop: Region | None = None) -> Iterable[tuple[Region, Region, list[Strip]]]:
        """As Textual's, of all that can be drawn."""
        for widget, (region, clip) in self.visible_widgets.items():
            seen = region.intersection(clip)
            if seen and (crop is None or crop.overlaps(clip)):
                yield region, clip, self._lines(widget, region, seen, seen.y, seen.bottom)

    def _row(self, y: int) -> list[ScreenPiece]:
        """The row's pieces, whatever is in front winning."""
        found = self._rows.get(y)
        if found is None:
            found = self._rows[y] = list(self._pieces(y))
        return found

    def _pieces(self, y: int) -> Iterator[ScreenPiece]:
        free = [(0, self.size.width)]
        for widget, seen, region in self.layers_visible[y]:
            left: list[tuple[int, int]] = []
            for start, end in free:
                first, last = max(start, seen.x), min(end, seen.right)
                if first >= last:
                    left.append((start, end))
                    continue
                yield ScreenPiece(first, last, widget, region, seen)
                left += [part for part in ((start, first), (last, end)) if part[0] < part[1]]
            free = left
            if not free:
                return
        for start, end in free:
            yield ScreenPiece(start, end, None, self.size.region, self.size.region)

    # What is under the mouse

    def get_style_at(self, x: int, y: int) -> Style:
        try:
            return super().get_style_at(x, y)
        except Exception as error:
            self._missed(x, y, error)
            return Style.null()

    def get_widget_and_offset_at(self, x: int, y: int) -> tuple[Widget | None, Offset | None]:
        try:
            return super().get_widget_and_offset_at(x, y)
        except Exception as error:
            return self._missed(x, y, error), None

    def _missed(self, x: int, y: int, error: Exception) -> Widget:
        """A part could not say what it shows there."""
        if self.drawing is None:
            raise error
        widget, _ = self.get_widget_at(x, y)
        self.drawing.failed(widget, error)
        widget.refresh()
        return widget


_OBEYED = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""What a terminal does not show but does: controls, line separators, writing direction; and what cannot be encoded."""


def _obeyed(segment: Segment) -> bool:
    """Whether something in it is not for reading."""
    text, style, _ = segment
    if not text.isascii() or not text.isprintable():
        return _OBEYED.search(text) is not None or (style is not None and _leads_astray(style))
    return style is not None and style.link is not None and _leads_astray(style)


def _leads_astray(style: Style) -> bool:
    return style.link is not None and _OBEYED.search(style.link) is not None


def _inert(segment: Segment) -> Segment:
    """The segment as wide as it is, without what a terminal would obey.

    The sanitiser has shown such characters long before, where it was asked; this is what holds where it was not.
    """
    text, style, _ = segment
    if style is not None and _leads_astray(style):
        style = style.update_link(None)
    return Segment(_OBEYED.sub(lambda match: " " * cell_len(match.group()), text), style)


def _filling(drawn: list[Strip], widget: Widget, crop: Region) -> list[Strip]:
    """The strips; where a widget draws less than its place, with blanks in its colour."""
    width = crop.width
    if len(drawn) == crop.height and all(strip.cell_length >= width for strip in drawn):
        return drawn
    style = Style(bgcolor=widget.background_colors[1].rich_color)
    rows = [*drawn[: crop.height], *[Strip.blank(width, style)] * (crop.height - len(drawn))]
    return [strip if strip.cell_length >= width else strip.adjust_cell_length(width, style) for strip in rows]


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


def piece_compositor(screen: Screen[Any]) -> PieceCompositor:
    """The compositor of a screen, which draws in pieces from now on."""
    compositor = screen._compositor  # pyright: ignore[reportPrivateUsage]
    if not isinstance(compositor, PieceCompositor):
        compositor = screen._compositor = PieceCompositor()  # pyright: ignore[reportPrivateUsage]
    return compositor

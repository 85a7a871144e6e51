"""A scrolling surface of lines that are drawn once, and a scroll bar whose rows are made of the few that differ.

Strips are kept until their row is marked, so a frame is cheap. Knows nothing of what the rows hold. The transcript, a
terminal's mirror and the shell log are built on it.
"""

from __future__ import annotations

from typing import cast

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.reactive import Reactive
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip
from textual.widget import Widget

from gshtui.ui.kit.textual.typed_app import app_of


class KeptLines(ScrollView, inherit_bindings=False):
    """Draws `row_strip` of each row of the screen; scrolling is a wish, that `scroll_rows` grants."""

    DEFAULT_CSS = """
    KeptLines {
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
    }
    """

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._drawn: dict[int, Strip] = {}
        self._bar: tuple[object, ...] = ()
        self._syncing = False

    @property
    def vertical_scrollbar(self) -> ScrollBar:
        return fast_scroll_bar(self)

    @property
    def text_size(self) -> Size:
        """The cells that rows are seen in: all but the bar's column, which lies over them."""
        width, height = self.size
        return Size(max(0, width - self.styles.scrollbar_size_vertical), height)

    # What is built on it says

    def row_strip(self, y: int) -> Strip:
        """A row of the screen, without the offsets that Textual needs to look up what is under the mouse."""
        raise NotImplementedError

    def selection_row(self, y: int) -> int:
        """The number that a row of the screen has for a selection."""
        raise NotImplementedError

    def scroll_rows(self, rows: int) -> None:
        """The reader wishes to move by so many rows."""
        raise NotImplementedError

    @property
    def top(self) -> int:
        """The number of the row at the top of the screen."""
        raise NotImplementedError

    # Scrolling

    def set_row_count(self, total: int) -> None:
        """Tell Textual how many rows there are, and the position."""
        self._syncing = True
        size = Size(self.size.width, total)
        if size != self.virtual_size:
            # Not by assignment: that would lay out the whole screen again for every line that comes.
            self.set_reactive(cast("Reactive[Size]", Widget.virtual_size), size)
        # The bar is drawn in eighths of a row; a change that it cannot show costs nothing.
        rows, long = 8 * self.size.height, total > self.size.height
        bar = (rows * self.size.height // max(1, total), rows * self.top // max(1, total), long, size.width)
        if bar != self._bar:
            self._bar = bar
            self._scroll_update(size)
            self.vertical_scrollbar.position = self.top
        self.scroll_y = self.scroll_target_y = self.top
        self._syncing = False

    def _size_updated(self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True) -> bool:
        # Textual adjusts the position to the new size by itself; the reader did not ask for that.
        self._syncing = True
        try:
            return super()._size_updated(size, virtual_size, container_size, layout)
        finally:
            self._syncing = False

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        if not self._syncing and round(old_value) != round(new_value):
            self.scroll_rows(round(new_value) - self.top)

    # Drawing

    def refresh_rows(self, rows: set[int]) -> None:
        """Draw these rows of the screen again."""
        # Without the bar's column: the bar would be drawn again with every row beside it.
        width, height = self.scrollable_content_region.size
        shown = [y for y in rows if 0 <= y < height]
        if len(shown) > height // 2:
            self.refresh(Region(0, 0, width, height))
        elif shown:
            self.refresh(*(Region(0, y, width, 1) for y in shown))

    def render_lines(self, crop: Region) -> list[Strip]:
        styles = self.styles
        if styles.gutter or styles.tint.a or self.opacity != 1.0:
            return super().render_lines(crop)
        # Textual would make every strip again for every frame; these are the kept ones, and what is cached in them
        # (cut to the widget, filtered, as escape sequences) stays: a frame costs a fifth.
        drawn = self._drawn
        missing = [y for y in crop.line_range if y not in drawn]
        if missing:
            filters, background = self.get_line_filters(), self.background_colors[1]
            for y in missing:
                strip = self.row_strip(y)
                for line_filter in filters:
                    strip = strip.apply_filter(line_filter, background)
                drawn[y] = strip
        strips = [drawn[y] for y in crop.line_range]
        start, end = crop.column_span
        if start > 0 or end < self.size.width:
            strips = [strip.crop(start, end) for strip in strips]
        return strips

    def _set_dirty(self, *regions: Region) -> None:
        if regions:
            for y in (y for region in regions for y in region.line_range):
                self._drawn.pop(y, None)
        else:
            self._drawn.clear()
        super()._set_dirty(*regions)

    def render_line(self, y: int) -> Strip:
        return self.row_strip(y).apply_offsets(0, self.selection_row(y))


class FastScrollBar(ScrollBar):
    """Looks and behaves as Textual's."""

    def render_lines(self, crop: Region) -> list[Strip]:
        drawn = self.render()
        if not isinstance(drawn, ScrollBarRender) or not isinstance(drawn.style, Style) or self.opacity != 1.0:
            return super().render_lines(crop)
        back, front = drawn.style.bgcolor, drawn.style.color
        if back is None or front is None:
            return super().render_lines(crop)
        width, height = self.size
        segments = drawn.render_bar(
            size=height,
            virtual_size=drawn.virtual_size,
            window_size=drawn.window_size,
            position=drawn.position,
            thickness=width,
            back_color=back,
            bar_color=front,
        ).segments
        # The rows are a few segments, again and again: those of the thumb, those beside it, its two ends.
        base = self.visual_style.rich_style
        filters, background = self.get_line_filters(), self.background_colors[1]
        rows: dict[int, Strip] = {}
        for segment in (segments[y] for y in crop.line_range):
            if id(segment) not in rows:
                strip = Strip(Segment.apply_style([segment], base), width)
                for line_filter in filters:
                    strip = strip.apply_filter(line_filter, background)
                rows[id(segment)] = strip
        return [rows[id(segments[y])] for y in crop.line_range]


def fast_scroll_bar(widget: Widget) -> ScrollBar:
    """The vertical scroll bar of a widget, a fast one: made and started at the first call."""
    bar = widget._vertical_scrollbar  # pyright: ignore[reportPrivateUsage]
    if bar is None:
        bar = FastScrollBar(vertical=True, name="vertical", thickness=widget.scrollbar_size_vertical)
        bar.display = False
        widget._vertical_scrollbar = bar  # pyright: ignore[reportPrivateUsage]
        app_of(widget)._start_widget(widget, bar)  # pyright: ignore[reportPrivateUsage]
    return bar

"""The scroll bar of the transcript: Textual's, its rows made of the few that differ.

A conversation that grows moves its bar with nearly every line, and Textual draws every row of it anew: that was a
fifth of what a stream cost. Owns this drawing alone. Made by the canvas.
"""

from __future__ import annotations

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.scrollbar import ScrollBar, ScrollBarRender
from textual.strip import Strip


class Bar(ScrollBar):
    """Looks and behaves as Textual's."""

    def render_lines(self, crop: Region) -> list[Strip]:
        drawn = self.render()
        if not isinstance(drawn, ScrollBarRender) or not isinstance(drawn.style, Style) or self.opacity != 1.0:
            return super().render_lines(crop)
        back, front = drawn.style.bgcolor, drawn.style.color
        if back is None or front is None:
            return super().render_lines(crop)
        segments = drawn.render_bar(
            size=self.size.height,
            virtual_size=drawn.virtual_size,
            window_size=drawn.window_size,
            position=drawn.position,
            thickness=self.size.width,
            back_color=back,
            bar_color=front,
        ).segments
        # The rows are a few segments, again and again: those of the thumb, those beside it, its two ends.
        base = self.visual_style.rich_style
        filters, background = self.get_line_filters(), self.background_colors[1]
        rows: dict[int, Strip] = {}
        for segment in segments:
            if id(segment) not in rows:
                strip = Strip(Segment.apply_style([segment], base), self.size.width)
                for line_filter in filters:
                    strip = strip.apply_filter(line_filter, background)
                rows[id(segment)] = strip
        return [rows[id(segments[y])] for y in crop.line_range]

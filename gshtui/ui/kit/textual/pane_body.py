"""The words inside a pane: drawn as a whole, or, given in lines that fit, only where a line is another one.

Owns what was drawn of each line; refuses to know what the words say. Made by `Pane`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from rich.cells import cell_len
from textual.content import Content
from textual.geometry import Region
from textual.strip import Strip
from textual.visual import Visual
from textual.widgets import Static

from gshtui.ui.kit.textual.typed_app import app_of


class PaneBody(Static):
    """Words that may come in lines. Textual draws all of a text for each change of it: with fifty agents 10 ms."""

    def __init__(self, content: Content, *, classes: str) -> None:
        self._regions: tuple[Region, ...] = ()
        super().__init__(content, markup=False, classes=classes)
        self.auto_links = False  # there are none here, and looking for them takes longer than drawing
        self._lines: tuple[Content, ...] = ()
        self._checked: tuple[Content, ...] = ()
        self._fits = False
        self._drawn: dict[int, tuple[Content, Strip]] = {}
        self._look: tuple[object, ...] = ()
        self._own = False

    def put(self, content: Content, *, layout: bool) -> None:
        """Show a text. `layout`: it may need another height."""
        self._lines = ()
        self.update(content, layout=layout)
        if layout:
            self.call_after_refresh(self._lay_out_again, content)

    def _lay_out_again(self, content: Content) -> None:
        """Where a layout was missed, as when several sizes come at once: no text may stay as high as the one before."""
        lines = content.plain.split("\n")
        if len(lines) != self.size.height and self.size.width >= max(map(cell_len, lines)):
            self.refresh(layout=True)

    def put_lines(self, lines: Sequence[Content]) -> None:
        """Show pre-wrapped lines."""
        before, self._lines = self._lines, tuple(lines)
        content = Content("\n").join(lines)
        if len(before) != len(lines) or self.size.height != len(lines):
            self.update(content)  # also where a layout was missed: no list may stay shorter than what it holds
            return
        width = self.size.width
        rows = [y for y, line in enumerate(lines) if not line.is_same(before[y])]
        if any(max(lines[y].cell_length, before[y].cell_length) > width for y in rows):
            self.update(content)
        elif rows:
            self._regions = tuple(Region(0, y, width, 1) for y in rows)
            self.update(content, layout=False)
            self._regions = ()

    def on_resize(self) -> None:
        if self._lines and self.size.height != len(self._lines):
            self.refresh(layout=True)  # it was laid out with lines that were wrapped for another width

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        return super().refresh(*(regions or self._regions), repaint=repaint, layout=layout, recompose=recompose)

    def render_line(self, y: int) -> Strip:
        if not self._fit() or y >= len(self._lines):
            if self._own:
                self._own = False
                self._render_content()
            return super().render_line(y)
        self._own = True
        self._dirty_regions.clear()
        line = self._lines[y]
        drawn = self._drawn.get(y)
        if drawn is None or not drawn[0].is_same(line):
            (strip,) = Visual.to_strips(self, line, self.size.width, 1, self.visual_style)
            drawn = self._drawn[y] = line, strip.apply_offsets(0, y)
        return drawn[1]

    def _fit(self) -> bool:
        """Whether each line is a row of its own now, with nothing selected in it."""
        width = self.size.width
        look = (width, self.visual_style, app_of(self).current_theme)
        if look != self._look:
            self._look = look
            self._drawn.clear()
            self._checked = ()
        if self._lines is not self._checked:
            self._checked = self._lines
            self._fits = all(line.cell_length <= width for line in self._lines)
        return self._fits and self.text_selection is None

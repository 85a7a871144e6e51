"""Draws an outline line by line: only visible lines cost anything, however long the texts are.

Owns the cursor, scrolling, search marks and the selection. Knows nothing about the entries' subjects: an injected
function renders a line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Generic, TypeVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from gshtui.ui.context.outline import EntryWords, Outline, OutlineEntry, StyledPart, indent_of
from gshtui.ui.kit.drawing.highlights import StyledRange, match_ranges, overlay_styles, selected_span
from gshtui.ui.kit.drawing.page import Palette, ThemePalette
from gshtui.ui.kit.keys.key_table import bind

GUTTER = 2
"""Cells at the left reserved for the cursor."""
_DIFF = {"+": "added", "-": "removed", "@": "faint"}
_MOST_COPIED = 50_000

T = TypeVar("T")
DrawEntry = Callable[[OutlineEntry[T], int], EntryWords]
"""The text of an entry's line for a width in cells."""
DrawRow = Callable[[OutlineEntry[T], int], list[Segment]]
"""A row of a picture."""


class OutlineView(ScrollView, Generic[T], inherit_bindings=False):
    """See the module."""

    BINDINGS: ClassVar[list[BindingType]] = [
        bind("inspector.up", "move(-1)"),
        bind("inspector.down", "move(1)"),
        bind("inspector.page_up", "page(-1)"),
        bind("inspector.page_down", "page(1)"),
        bind("inspector.home", "edge('top')"),
        bind("inspector.end", "edge('bottom')"),
        bind("inspector.open", "choose"),
        bind("inspector.fold", "fold"),
        bind("inspector.unfold", "unfold"),
    ]

    class Chosen(Message):
        """Requests to open or fold an entry, or to run its action."""

        def __init__(self, entry: OutlineEntry[object]) -> None:
            super().__init__()
            self.entry = entry

    class Moved(Message):
        """The cursor moved."""

    can_focus = True

    def __init__(self, draw: DrawEntry[T], draw_row: DrawRow[T] | None = None, *, id: str | None = None) -> None:
        super().__init__(id=id, classes="outline")
        self._draw = draw
        self._draw_row = draw_row
        self._outline: Outline[T] = Outline((), 80)
        self._row = 0
        self._theme = ThemePalette(self)
        self.needle = ""
        """The search words, case-folded; they are marked wherever they are drawn."""
        self._here: tuple[str, int] | None = None

    @property
    def allow_select(self) -> bool:
        return True

    @property
    def entry(self) -> OutlineEntry[T] | None:
        """The entry under the cursor."""
        found = self._outline.at(self._row)
        return found[0] if found else None

    @property
    def entries(self) -> Sequence[OutlineEntry[T]]:
        return self._outline.entries

    def show(self, entries: Sequence[OutlineEntry[T]]) -> None:
        """Show these entries; the cursor and its line stay in place."""
        found = self._outline.at(self._row)
        above = self._row - self.scroll_offset.y
        self._outline = Outline(entries, self._room, self._outline)
        if found is not None and (top := self._outline.top(found[0].id)) is not None:
            self._row = top + min(found[1], self._outline.rows(found[0].id) - 1)
        self._row = max(0, min(self._row, self._outline.height - 1))
        self._measure()
        self.scroll_to(y=max(0, self._row - above), animate=False, immediate=True, force=True)
        self.refresh()
        self.post_message(self.Moved())

    def go(self, id: str, offset: int | None = None) -> bool:
        """Put the cursor on an entry, or on the row with a character of its text; False: no such entry."""
        row = self._outline.top(id) if offset is None else self._outline.row_of(id, offset)
        if row is None:
            return False
        self._here = None if offset is None else (id, offset)
        self._set_row(row, margin=offset is not None)
        return True

    def mark(self, needle: str) -> None:
        """Mark these words (empty: none)."""
        self.needle, self._here = needle.casefold(), None
        self.refresh()

    @property
    def _room(self) -> int:
        return max(8, (self.scrollable_content_region.width or self.size.width or 80) - GUTTER)

    def _measure(self) -> None:
        self.virtual_size = Size(self.size.width, self._outline.height)

    def on_resize(self, _event: events.Resize) -> None:
        if self._room != self._outline.width:
            self.show(self._outline.entries)

    # Drawing

    def render_line(self, y: int) -> Strip:
        row = y + self.scroll_offset.y
        self._theme.renew()
        look, width = self._theme.palette, self._outline.width
        found = self._outline.at(row)
        if found is None:
            return Strip.blank(self.size.width, look.text)
        entry, inside = found
        here = row == self._row
        segments = [Segment("▌ " if here and self.has_focus else "· " if here else "  ", look.cursor)]
        segments += self._text(entry, inside, look) if entry.text is not None else self._line(entry, width, look)
        text = "".join(segment.text for segment in segments)
        over: list[StyledRange] = []
        if self.needle:
            over = match_ranges(text[GUTTER:], self.needle, look.match, GUTTER)
            if self._here is not None and self._here[0] == entry.id and here:
                over = [(start, end, look.match_here) for start, end, _ in over]
        if (selection := self.text_selection) is not None:
            span = selected_span(selection, row, len(text))
            over = [(*span, look.selection)] if span is not None else over
        if over:
            segments = overlay_styles(segments, over)
        return Strip(segments).adjust_cell_length(self.size.width, look.text).apply_offsets(0, row)

    def _text(self, entry: OutlineEntry[T], inside: int, look: Palette) -> list[Segment]:
        if entry.look == "picture":
            drawn = self._draw_row(entry, inside) if self._draw_row is not None else []
            return [Segment(" " * indent_of(entry), look.text), *drawn]
        row = self._outline.text_row(entry, inside)
        style: Style = look.text
        if entry.look == "diff":
            sign = row.text[:1] if row.first else self._sign(entry, inside)
            style = getattr(look, _DIFF.get(sign, "muted"))
        lead = " " * (indent_of(entry) - 2) + ("│ " if row.first else "┊ ")
        return [Segment(lead, look.rule), Segment(row.text, style)]

    def _sign(self, entry: OutlineEntry[T], inside: int) -> str:
        while inside > 0 and not (row := self._outline.text_row(entry, inside)).first:
            inside -= 1
        row = self._outline.text_row(entry, inside)
        return row.text[:1]

    def _line(self, entry: OutlineEntry[T], width: int, look: Palette) -> list[Segment]:
        words = self._draw(entry, width)
        fold = "" if entry.opened is None else "▾ " if entry.opened else "▸ "
        lead = " " * (indent_of(entry)) + (fold or ("  " if entry.level else ""))
        left = [Segment(lead, look.faint), *_segments(words.left, look)]
        right = _segments(words.right, look)
        room = width - sum(cell_len(segment.text) for segment in right)
        return [*_fitted(left, room, look.text), *right]

    # Moving

    def _set_row(self, row: int, *, margin: bool = False) -> None:
        self._row = max(0, min(row, self._outline.height - 1))
        top, height = self.scroll_offset.y, max(1, self.size.height)
        if margin and not top + 1 <= self._row < top + height - 2:
            self.scroll_to(y=max(0, self._row - height // 3), animate=False, immediate=True, force=True)
        elif self._row < top:
            self.scroll_to(y=self._row, animate=False, immediate=True, force=True)
        elif self._row >= top + height:
            self.scroll_to(y=self._row - height + 1, animate=False, immediate=True, force=True)
        self.refresh()
        self.post_message(self.Moved())

    def action_move(self, step: int) -> None:
        self._set_row(self._row + step)

    def action_page(self, step: int) -> None:
        height = max(1, self.size.height - 1)
        self.scroll_to(y=self.scroll_offset.y + step * height, animate=False, immediate=True, force=True)
        self._set_row(self._row + step * height)

    def action_edge(self, edge: str) -> None:
        self._set_row(0 if edge == "top" else self._outline.height - 1)

    def action_choose(self) -> None:
        if (entry := self.entry) is not None:
            self.post_message(self.Chosen(entry))

    def action_fold(self) -> None:
        """Fold the open entry under the cursor, else go to its parent."""
        entry = self.entry
        if entry is None:
            return
        if entry.opened:
            self.post_message(self.Chosen(entry))
        elif (parent := self._outline.parent(entry)) is not None:
            self.go(parent.id)

    def action_unfold(self) -> None:
        if (entry := self.entry) is not None and entry.opened is False:
            self.post_message(self.Chosen(entry))

    def on_click(self, event: events.Click) -> None:
        row = event.y + self.scroll_offset.y
        if self.text_selection is not None or (found := self._outline.at(row)) is None:
            return
        self._set_row(row)
        if found[0].text is None and (found[0].opened is not None or event.chain == 2):
            self.post_message(self.Chosen(found[0]))

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    # Copying

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        rows: list[str] = []
        for row in range(min(self._outline.height, _MOST_COPIED)):
            found = self._outline.at(row)
            if found is None or selection.get_span(row) is None:
                if rows:
                    break
                continue
            entry, inside = found
            look = self._theme.palette
            is_text = entry.text is not None
            parts = self._text(entry, inside, look) if is_text else self._line(entry, self._outline.width, look)
            text = " " * GUTTER + "".join(part.text for part in parts)
            span = selected_span(selection, row, len(text))
            margin = GUTTER + (indent_of(entry) if is_text else 0)
            words = text[max(margin, span[0]) : span[1]].rstrip() if span else ""
            if rows and is_text and not self._outline.text_row(entry, inside).first:
                rows[-1] += words
            else:
                rows.append(words)
        return ("\n".join(rows), "\n") if rows else None


def _segments(parts: Sequence[StyledPart], look: Palette) -> list[Segment]:
    return [Segment(text, getattr(look, style)) for style, text in parts if text]


def _fitted(segments: Sequence[Segment], room: int, fill: Style) -> list[Segment]:
    """The segments in exactly this many cells, cut with `…` if there is no room."""
    fitted: list[Segment] = []
    used = 0
    for text, style, _ in segments:
        cells = cell_len(text)
        if used + cells > room:
            if room - used > 0:
                fitted.append(Segment(set_cell_size(text, room - used - 1) + "…", style))
            return fitted
        fitted.append(Segment(text, style))
        used += cells
    return [*fitted, Segment(" " * (room - used), fill)]

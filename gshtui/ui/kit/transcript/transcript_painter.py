"""Rows of a transcript as strips: the cursor's pointer, highlights, the badge, the empty state.

Moves nothing. `TranscriptPage` keeps the page up to date: its width,
the theme's colours, the lexers of the languages seen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from msgspec.structs import replace
from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual.color import Color
from textual.strip import Strip
from textual.widget import Widget

from gshtui.text import units
from gshtui.ui.kit.drawing.highlighter import Highlighter
from gshtui.ui.kit.drawing.highlights import StyledRange, overlay_styles, selected_span
from gshtui.ui.kit.drawing.language_loader import LanguageLoader
from gshtui.ui.kit.drawing.page import NARROWEST, WIDEST, Page, Palette, ThemePalette, make_palette, wants_columns
from gshtui.ui.kit.drawing.styled_lines import StyledLine, wrapped
from gshtui.ui.kit.keys.bound_keys import key_of, with_keys
from gshtui.ui.kit.transcript.document import TranscriptDocument
from gshtui.ui.kit.transcript.sheet import Sheet
from gshtui.ui.kit.transcript.transcript_search import TranscriptFinder
from gshtui.ui.kit.transcript.viewport import GUTTER, BlockCursor, ScreenRow, Viewport
from gshtui.ui.kit.widgets.fitted_text import fit, fit_middle

if TYPE_CHECKING:
    from gshtui.ui.kit.drawing.terminal_graphics import TerminalGraphics

_MARGIN = 1
_HEADING = 500
"""How much of a prompt its one line is made from."""


class TranscriptPainter:
    """Draws the rows of a viewport.

    Args:
        widget: the widget drawn: it knows the selection, and whether it has the focus.
        empty: the text shown if there are no entries.
    """

    def __init__(
        self, widget: Widget, viewport: Viewport, cursor: BlockCursor, finder: TranscriptFinder, empty: str
    ) -> None:
        self.width = 0
        """The widget's width: asking Textual for it costs more than drawing a row."""
        self._widget = widget
        self._viewport = viewport
        self._document = viewport.document
        self._cursor = cursor
        self._finder = finder
        self.empty = empty
        self.place = ""
        """The folder, named below the heading."""
        self.heading = ""
        """Stands above the text."""
        self._gutter = Segment(" " * GUTTER)
        self._pointer = Segment("▌ ")

    def restyle(self, palette: Palette) -> None:
        """Draw with this page from now on."""
        self._gutter = Segment(" " * GUTTER, palette.text)
        self._pointer = Segment("▌ ", palette.cursor)

    def strip(self, y: int) -> Strip:
        """A row of the screen."""
        viewport = self._viewport
        if y >= len(viewport.rows):
            return self._below(y)
        if not y and viewport.heading is not None:
            return self._heading(viewport.heading)
        return self._badge() if self.on_badge(y) else self._row(viewport.rows[y], y)

    def _heading(self, prompt: Sheet) -> Strip:
        """The prompt whose answer is read, in one line."""
        page = self._document.page
        words = fit(" ".join(prompt.text[:_HEADING].split()), page.width - 3)
        line = StyledLine([Segment(f"▌❯ {words}", page.palette.prompt_fill)])
        filled = line.filled(page.width, page.palette.prompt_fill)
        return filled.strip_with(self._gutter, self.width, page.palette.text)

    def _row(self, row: ScreenRow, y: int) -> Strip:
        width, fill, line = self.width, self._document.page.palette.text, row.line
        if line is None:
            return StyledLine(()).strip_with(self._gutter, width, fill)
        pointed = (self._widget.has_focus or self._cursor.standing) and self._cursor.on(row)
        gutter = self._pointer if pointed else self._gutter
        ranges = self._ranges(row, line, y)
        if ranges:
            parts = overlay_styles((gutter, *line.segments), ranges)
            return Strip(parts, GUTTER + line.cells).adjust_cell_length(width, fill)
        if pointed:
            return line.strip_with(gutter, width, fill)
        return line.strip(gutter, width, fill)

    def _ranges(self, row: ScreenRow, line: StyledLine, y: int) -> list[StyledRange]:
        """Styles over parts of a line, in order: the selection, or else the matches."""
        selection = self._widget.text_selection
        if selection is not None:
            span = selected_span(selection, self._viewport.number(y), len(line.text) + GUTTER)
            if span is not None:
                return [(max(GUTTER, span[0]), span[1], self._document.page.palette.selection)]
        return self._finder.ranges(row, line)

    def _below(self, y: int) -> Strip:
        """A row below the last one."""
        page = self._document.page
        if self._document.sheets or not self.empty:
            return Strip.blank(self.width, page.palette.text)
        height = self._viewport.height or self._widget.size.height
        place = f"{fit_middle(self.place, page.width - 2 * GUTTER)}\n" if self.place else ""
        head = [Segment(f"{self.heading}\n", page.palette.title), Segment(f"{place}\n", page.palette.text)]
        words = with_keys(self._widget, self.empty)
        for said in (_in_columns(words), _side_by_side(words)):
            lines: list[StyledLine] = wrapped(
                [*head * bool(self.heading), Segment(said, page.palette.muted)], page.width
            )
            if len(lines) < height - _AROUND and all(line.cells <= page.width for line in lines):
                break
        at = y - max(0, height - len(lines)) // 2
        line = lines[at] if 0 <= at < len(lines) else StyledLine(())
        spare = max(0, self.width - line.cells) // 2
        return line.strip_with(Segment(" " * spare, page.palette.text), self.width, page.palette.text)

    def on_badge(self, y: int) -> bool:
        """Whether this row says what is below it, and which key goes there."""
        return bool(self._viewport.below) and y == self._viewport.height - 1

    def _badge(self) -> Strip:
        below, unseen, page = self._viewport.below, self._viewport.unseen, self._document.page
        more = f"{units.counted(below, 'more line')}{f', {unseen} new' if unseen else ''}"
        words = f" ↓ {more} · {key_of(self._widget, 'transcript.end' if self._widget.has_focus else 'chat.end')} "
        before = max(0, (self.width - cell_len(words)) // 2)
        line = Strip([Segment(" " * before, page.palette.text), Segment(words, page.palette.badge)])
        return line.adjust_cell_length(self.width, page.palette.text)


_AROUND = 2
"""Rows around what is said while there are no entries."""
_BESIDE = 3
"""Keys that are named where there is no room for a row each."""


def _in_columns(words: str) -> str:
    """Keys and what they do in two columns, all rows of one length."""
    rows = [row.split("\t") for row in words.split("\n")]
    keys, about = (max((cell_len(row[at]) for row in rows if len(row) > 1), default=0) for at in (0, 1))
    return "\n".join(
        f"{set_cell_size(row[0], keys)}  {set_cell_size(row[1], about)}" if len(row) > 1 else row[0] for row in rows
    )


def _side_by_side(words: str) -> str:
    """The same in a row."""
    rows = words.split("\n")
    keys = [row.replace("\t", " ").partition(":")[0] for row in rows if "\t" in row][:_BESIDE]
    said = "\n".join(row for row in rows if "\t" not in row).rstrip()
    return said or " · ".join(keys)


def empty_page() -> Page:
    """The page before the size and the theme are known."""
    return Page(80, make_palette({}, Color(0, 0, 0)), Highlighter())


class TranscriptPage:
    """Keeps a document's page as the widget needs it; a change redraws all blocks.

    Args:
        changed: called when its colours or lexers change.
    """

    def __init__(
        self, widget: Widget, document: TranscriptDocument, painter: TranscriptPainter, changed: Callable[[], None]
    ) -> None:
        self._widget = widget
        self._document = document
        self._painter = painter
        self._changed = changed
        self._theme = ThemePalette(widget)
        self._languages = LanguageLoader(widget, document.page.code, self._loaded)

    def fit(self, columns: int) -> bool:
        """Adopt the widget's width; returns whether lines get another length."""
        self._painter.width = columns
        width = min(WIDEST, max(NARROWEST, columns - GUTTER - _MARGIN))
        if width == self._document.page.width:
            return False
        self._document.page = replace(self._document.page, width=width)
        return True

    def restyle(self) -> None:
        """Adopt the theme's and the background's colours, if they changed."""
        if self._theme.renew():
            self._painter.restyle(self._theme.palette)
            self._document.page = replace(self._document.page, palette=self._theme.palette)
            self._changed()

    def show_results(self, rows: int) -> None:
        """Show this many rows of output under a finished call."""
        page = replace(self._document.page, result_lines=rows, two_columns=wants_columns(self._widget))
        if page != self._document.page:
            self._document.page = page
            self._changed()

    def show_pictures(self, graphics: TerminalGraphics | None, *, colours: bool) -> None:
        """How the terminal shows pictures: by `graphics`, or else in half blocks if it has the colours."""
        self._document.page = replace(self._document.page, graphics=graphics, colours=colours)

    def renew(self) -> None:
        """Draw all blocks again: the terminal can do more than was known."""
        self._loaded()

    def load_wanted(self) -> None:
        """Load the lexers of new languages in a thread, then redraw their code; give the terminal new pictures."""
        self._languages.load_wanted()
        if (graphics := self._document.page.graphics) is not None:
            graphics.send_wanted()

    def _loaded(self) -> None:
        self._document.page = replace(self._document.page)
        self._changed()

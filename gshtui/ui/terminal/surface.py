"""A terminal's picture: the screen as it is now, or its lines held still while somebody reads, selects or searches.

Owns which line stands in which row, and draws the rows that changed; refuses keys, the mouse and to fetch anything. The
terminal view is built on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.selection import Selection
from textual.strip import Strip

from gshtui.ui.kit.kept_lines import KeptLines
from gshtui.ui.kit.overlay import Range, overlaid
from gshtui.ui.kit.palette import Palette
from gshtui.ui.kit.palette import palette as palette_of
from gshtui.ui.kit.selected import selected_span
from gshtui.ui.kit.surroundings import app_of
from gshtui.ui.terminal.colours import Colours, colours
from gshtui.ui.terminal.past import Past
from gshtui.ui.terminal.rows import Rows

if TYPE_CHECKING:
    from gshtui.tmux.frames import Frame

_FAR = 10_000_000
"""Rows are numbered for selections from the lowest one, which has this number: nothing that comes above changes it."""


class Surface(KeptLines):
    """Draws frames of a terminal."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.frame: Frame | None = None
        """The newest one, drawn or not."""
        self.past: Past | None = None
        """What is drawn while it is held still."""
        self.behind = False
        """Something was printed since it is held still."""
        self._up = 0
        """Rows between what is shown and the end, while it is held still."""
        self._rows = Rows(Colours(Style()))
        self._palette: Palette | None = None
        self._looks: tuple[object, ...] = ()
        self._cursor_row = -1

    @property
    def allow_select(self) -> bool:
        return True

    # What is where

    @property
    def lines(self) -> tuple[str, ...]:
        """The rows of the screen now."""
        return self.frame.lines if self.frame is not None else ()

    @property
    def total(self) -> int:
        """Rows there are, the past included."""
        if self.past is not None:
            return self.past.total
        info = self.frame.info if self.frame is not None else None
        return len(self.lines) + (0 if info is None or info.alternate else info.history)

    @property
    def top(self) -> int:
        height = self.size.height
        if self.past is not None:
            return max(0, self.past.total - height - self._up)
        return self.total - len(self.lines) + self._first

    @property
    def up(self) -> int:
        """Rows between what is shown and the end."""
        return self._up if self.past is not None else 0

    @property
    def _first(self) -> int:
        """The first row of the screen that is drawn: where the terminal is higher than the tab, its used end."""
        frame, height = self.frame, self.size.height
        if frame is None or len(frame.lines) <= height:
            return 0
        used = max(frame.info.cursor_y, max((at for at, line in enumerate(frame.lines) if line.strip()), default=0))
        return max(0, min(len(frame.lines), used + 1) - height)

    def line_at(self, y: int) -> str | None:
        """What stands in a row of the tab; `None`: nothing."""
        if self.past is not None:
            return self.past.line(self.top + y)
        at = self._first + y
        return self.lines[at] if at < len(self.lines) else None

    # Frames

    def show_frame(self, frame: Frame) -> None:
        """Take a frame; draw what is different, unless the picture is held still."""
        before, first = self.frame, self._first
        self.frame = frame
        if self.past is not None:
            self.behind = self.behind or bool(frame.changed)
            return
        self.tell(self.total)
        if before is None or self._first != first or len(before.lines) != len(frame.lines):
            self.refresh()
        else:
            self.refresh_rows({at - first for at in frame.changed} | {self._cursor_row, self._cursor_at(frame)})
        self._cursor_row = self._cursor_at(frame)

    def hold(self) -> Past:
        """Hold the picture still as it is."""
        if self.past is None:
            info = self.frame.info if self.frame is not None else None
            history = 0 if info is None or info.alternate else info.history
            height, first = self.size.height, self._first
            self.past = Past(self.lines, history)
            self._up = max(0, len(self.lines) - height - first)
            self.behind = False
            self.refresh()
        return self.past

    def let_go(self) -> None:
        """Show what the terminal shows now."""
        if self.past is not None:
            self.past = None
            self._up = 0
            self.behind = False
            self.tell(self.total)
            self.refresh()

    def move(self, rows: int) -> None:
        """Show what stands so many rows further down (up: negative), in the picture held still."""
        past = self.hold()
        up = max(0, min(past.total - self.size.height, self._up - rows))
        self._up = up
        self.tell(past.total)
        self.refresh()

    def on_resize(self) -> None:
        self.tell(self.total)
        self.refresh()

    # Drawing

    @property
    def theme_colours(self) -> Palette:
        """The theme's colours on what lies behind, worked out again when they changed."""
        background, app = self.background_colors[1], app_of(self)
        look = (app.theme, background, app.native_ansi_color)
        if self._palette is None or look != self._looks:
            self._looks = look
            self._palette = palette_of(app.theme_variables, background, ansi=app.native_ansi_color)
            dark, ansi = app.current_theme.dark, app.native_ansi_color
            self._rows = Rows(colours(self._palette.text, dark=dark, ansi=ansi))
        return self._palette

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self.refresh()

    def row_strip(self, y: int) -> Strip:
        palette, width = self.theme_colours, self.size.width
        line = self.line_at(y)
        if line is None:
            missing = self.past is not None and self.top + y < self.past.missing
            return Strip([Segment("⋯" if missing else " ", palette.faint)], 1).adjust_cell_length(width, palette.text)
        row = self._rows.row(line)
        ranges = self.ranges(row.text, y)
        segments = overlaid(row.segments, ranges) if ranges else list(row.segments)
        strip = Strip(segments, row.cells).adjust_cell_length(width, palette.text)
        return self._with_cursor(strip, y)

    def ranges(self, text: str, y: int) -> list[Range]:
        """Styles over parts of a row, in order; here for what is selected."""
        selection = self.text_selection
        if selection is None:
            return []
        span = selected_span(selection, self.selection_row(y), len(text))
        return [(*span, self.theme_colours.selection)] if span else []

    def words(self, line: str) -> str:
        """The words of a line, as they are drawn."""
        return self._rows.row(line).text

    def cursor_style(self) -> Style | None:
        """How the terminal's cursor is drawn; `None`: not at all."""
        return Style(underline=True)

    def selection_row(self, y: int) -> int:
        return _FAR + self.top + y - self.total

    def row_of(self, number: int) -> int:
        """The line of a number that `selection_row` gave."""
        return number - _FAR + self.total

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        past = self.past or Past(self.lines, self.total - len(self.lines))
        first = 0 if selection.start is None else self.row_of(selection.start.y)
        last = past.total - 1 if selection.end is None else self.row_of(selection.end.y)
        words: list[str] = []
        for at in range(max(first, past.missing), last + 1):
            line = past.line(at)
            text = self.words(line or "")
            span = selected_span(selection, at - past.total + _FAR, len(text))
            words.append(text[slice(*span)].rstrip() if span else "")
        return "\n".join(words), "\n"

    def _cursor_at(self, frame: Frame) -> int:
        return frame.info.cursor_y - self._first

    def _with_cursor(self, strip: Strip, y: int) -> Strip:
        frame, style = self.frame, self.cursor_style()
        if frame is None or style is None or self.past is not None or y != self._cursor_at(frame):
            return strip
        info, width = frame.info, self.size.width
        if not info.cursor_visible or info.dead or not 0 <= info.cursor_x < width:
            return strip
        before, under = strip.crop(0, info.cursor_x), strip.crop(info.cursor_x, info.cursor_x + 1)
        if not under.text.strip(" ") and strip.cell_length > info.cursor_x + 1:
            # The right half of a wide character stands with its left half.
            under = Strip([Segment(" ", self.theme_colours.text)], 1)
        marked = Strip([Segment(text, look + style if look else style) for text, look, _ in under], under.cell_length)
        return Strip.join([before, marked, strip.crop(info.cursor_x + 1, width)])

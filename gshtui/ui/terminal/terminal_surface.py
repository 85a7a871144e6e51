"""A terminal's picture: the screen as it is now, or its scrollback held still while a person reads or searches.

`Scrollback` joins pages of the past that overlap; `TerminalSurface` knows which line is in which row and draws the rows
that changed. Refuses keys, the mouse and to fetch anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.selection import Selection
from textual.strip import Strip

from gshtui.ui.kit.highlights import StyledRange, overlay_styles, selected_span
from gshtui.ui.kit.page import Palette
from gshtui.ui.kit.page import make_palette as palette_of
from gshtui.ui.kit.textual.kept_lines import KeptLines
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.terminal.terminal_rows import RowParser, TerminalColours, terminal_colours, text_of

if TYPE_CHECKING:
    from gshtui.tmux.frames import Frame

PAGE = 1_000
"""Lines that are fetched at once; costs tmux some 12 ms."""
OVERLAP = 24
TORN = "\x1b[2m⋯ what was above is gone: more has been printed than the terminal keeps ⋯\x1b[0m"


class Scrollback:
    """Lines from the oldest that is known to the lowest of the screen.

    Args:
        screen: the rows of the screen.
        history: lines above it when it was taken.
    """

    def __init__(self, screen: Sequence[str], history: int) -> None:
        self.lines = list(screen)
        """What is loaded: always the lower end."""
        self.missing = history
        """Lines above those, as far as is known."""
        self._height = len(screen)

    @property
    def total(self) -> int:
        """Lines there are, loaded or not."""
        return self.missing + len(self.lines)

    @property
    def complete(self) -> bool:
        """Whether nothing is missing."""
        return self.missing <= 0

    def line(self, at: int) -> str | None:
        """The line of this number, counted from the oldest; `None`: it is not loaded, or there is none."""
        index = at - self.missing
        return self.lines[index] if 0 <= index < len(self.lines) else None

    def wanted(self, grown: int) -> tuple[int, int]:
        """First and last line of the next page, as tmux counts them: 0 is the top of the screen as it is now.

        Args:
            grown: lines that have gone up into the past since this was taken.
        """
        top = self._height - len(self.lines) - grown
        return top - PAGE, top + self._overlap - 1

    def take(self, page: Sequence[str], *, whole: bool = False) -> bool:
        """Put the page that was asked for above; False: what is known is not in it, more was printed than thought.

        Args:
            whole: it holds all that the terminal keeps.
        """
        known = self.lines[: self._overlap]
        expected = max(0, len(page) - len(known))
        at = _place(page, known, expected)
        if at is None:
            return False
        # Fewer than asked for: they are the first of all.
        first = whole or expected < PAGE or not at
        self.missing = 0 if first else max(0, self.missing - at)
        self.lines[:0] = page[:at]
        return True

    def tear(self) -> None:
        """What was above is not kept any more."""
        if self.missing:
            self.lines.insert(0, TORN)
        self.missing = 0

    @property
    def _overlap(self) -> int:
        return min(OVERLAP, len(self.lines))

    def text(self, first: int, last: int) -> list[str]:
        """The words of these lines, as far as they are loaded."""
        return [text_of(line) for at in range(first, last + 1) if (line := self.line(at)) is not None]


def _place(page: Sequence[str], known: Sequence[str], expected: int) -> int | None:
    """Where in the page the known lines are, nearest to where they should be; `None`: nowhere."""
    words = [text_of(line) for line in page]
    wanted = [text_of(line) for line in known]
    places = sorted(range(len(words) - len(wanted) + 1), key=lambda at: abs(at - expected))
    return next((at for at in places if words[at : at + len(wanted)] == wanted), None)


_FAR = 10_000_000
"""Rows are numbered for selections from the lowest one, which has this number: nothing that comes above changes it."""


class TerminalSurface(KeptLines):
    """Draws frames of a terminal."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.frame: Frame | None = None
        """The newest one, drawn or not."""
        self.past: Scrollback | None = None
        """What is drawn while it is held still."""
        self.behind = False
        """Something was printed since it is held still."""
        self._up = 0
        """Rows between what is shown and the end, while it is held still."""
        self._rows = RowParser(TerminalColours(Style()))
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

    def hold(self) -> Scrollback:
        """Hold the picture still as it is."""
        if self.past is None:
            info = self.frame.info if self.frame is not None else None
            history = 0 if info is None or info.alternate else info.history
            height, first = self.size.height, self._first
            self.past = Scrollback(self.lines, history)
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
            self._rows = RowParser(terminal_colours(self._palette.text, dark=dark, ansi=ansi))
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
        segments = overlay_styles(row.segments, ranges) if ranges else list(row.segments)
        strip = Strip(segments, row.cells).adjust_cell_length(width, palette.text)
        return self._with_cursor(strip, y)

    def ranges(self, text: str, y: int) -> list[StyledRange]:
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
        past = self.past or Scrollback(self.lines, self.total - len(self.lines))
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

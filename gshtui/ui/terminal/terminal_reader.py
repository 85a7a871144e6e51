"""Reading a terminal: scrolling into its history, and searching from the newest line to the oldest.

Decides when the picture is paused and when it resumes; fetches pages of history as needed. Does not draw, and
takes no keys meant for the program.
"""

from __future__ import annotations

from textual.message import Message

from gshtui.tmux.tmux_errors import TmuxError
from gshtui.ui.kit.drawing.highlights import StyledRange, match_ranges
from gshtui.ui.kit.drawing.page import Palette
from gshtui.ui.kit.textual.kept_lines import KeptLines
from gshtui.ui.terminal.terminal_connection import TerminalChanged, TerminalConnection
from gshtui.ui.terminal.terminal_picture import Scrollback, TerminalPicture
from gshtui.ui.terminal.terminal_rows import text_of


class ScrollbackSearch:
    """The lines that contain the words, ignoring case.

    Attributes:
        hits: matching lines, counted from the lowest line, which is 0; newest first.
        at: index of the current one; -1: none.
    """

    def __init__(self, words: str) -> None:
        self.words = words
        self.needle = words.casefold()
        self.hits: list[int] = []
        self.at = -1
        self._looked = 0

    def search_more(self, past: Scrollback) -> int:
        """Search the lines loaded since the last time; returns the number of matches."""
        found = [
            number
            for number in range(self._looked, len(past.lines))
            if self.needle in text_of(past.lines[-1 - number]).casefold()
        ]
        self._looked = len(past.lines)
        self.hits += found
        return len(found)

    def go(self, step: int, past: Scrollback) -> bool:
        """Go to the next older (1) or newer (-1) line, wrapping around. False: older lines are needed."""
        at = self.at + step
        if at >= len(self.hits) and not past.complete:
            return False
        self.at = at % len(self.hits) if self.hits else -1
        return True

    @property
    def here(self) -> int | None:
        """The current line, counted from the lowest."""
        return self.hits[self.at] if 0 <= self.at < len(self.hits) else None


_CONTEXT = 3
"""Rows shown below a matching line."""


class TerminalSearched(Message):
    """A search found more, or went to another line. `at` counts from 1; 0: none yet."""

    def __init__(self, at: int, hits: int, done: bool) -> None:
        super().__init__()
        self.at = at
        self.hits = hits
        self.done = done


class ScrollbackReader:
    """Scrolls and searches a widget's picture."""

    def __init__(self, widget: KeptLines, picture: TerminalPicture, connection: TerminalConnection) -> None:
        self.search: ScrollbackSearch | None = None
        self._widget = widget
        self._picture = picture
        self._connection = connection
        self._held_history = 0
        self._loading = False
        self._stepping = 0

    # Held still, and going on

    def hold(self) -> Scrollback:
        """Hold the picture still as it is."""
        picture = self._picture
        if picture.past is None:
            self._held_history = picture.info.history if picture.info is not None else 0
            picture.hold()
            self.draw_all()
            self._widget.post_message(TerminalChanged())
        return picture.hold()

    def let_go(self) -> None:
        """Show the live screen, and clear the selection and the search."""
        self.search = None
        self._stepping = 0
        if self._widget.text_selection is not None:
            self._widget.screen.clear_selection()
        if self._picture.past is not None:
            self._picture.let_go()
            self.draw_all()
            self._widget.post_message(TerminalChanged())
        self._connection.fit_soon()

    def go_on_if_read(self) -> None:
        """Resume if the reader is at the end and nothing holds the picture."""
        picture = self._picture
        selecting = self._widget.text_selection is not None
        if picture.past is not None and not picture.up and self.search is None and not selecting:
            self.let_go()

    def draw_all(self) -> None:
        """Redraw every row."""
        self._widget.set_row_count(self._picture.total)
        self._widget.refresh()

    # Scrolling

    def scroll(self, rows: int) -> None:
        """Scroll down by this many rows (negative: up)."""
        if self._picture.past is None and (rows >= 0 or not self._picture.top):
            return
        self._move(rows)
        self._load()
        if rows > 0:
            self.go_on_if_read()

    def _move(self, rows: int) -> None:
        before = self._picture.up
        self.hold()
        self._picture.move(rows)
        self.draw_all()
        if self._picture.up != before:
            self._widget.post_message(TerminalChanged())

    # The past, a page at a time

    def _load(self) -> None:
        past = self._picture.past
        if past is not None and not self._loading and self._lacks(past):
            self._loading = True
            self._widget.run_worker(self._load_pages(past), exit_on_error=False, group="past")

    def _lacks(self, past: Scrollback) -> bool:
        """Whether older lines are needed: they would be visible, or a search must continue in them."""
        picture = self._picture
        return not past.complete and (picture.top < past.missing + picture.height or self._stepping > 0)

    async def _load_pages(self, past: Scrollback) -> None:
        try:
            while past is self._picture.past and self._lacks(past):
                await self._load_page(past)
                if past is not self._picture.past:
                    return
                self._move(0)
                self._look(past)
        except TmuxError as error:
            past.tear()
            self._connection.fail(str(error))
        finally:
            self._loading = False
            self._load()  # for what is held still now, if that is something else

    async def _load_page(self, past: Scrollback) -> None:
        info = self._picture.info
        now = info.history if info is not None else 0
        if past.prepend_page(await self._connection.history(*past.wanted(max(0, now - self._held_history)))):
            return
        # A terminal that keeps no more lines does not say how many went: what is known is further up, or gone.
        if not past.prepend_page(await self._connection.history(-now - 1, len(self._picture.lines)), whole=True):
            past.tear()

    # Search

    def find(self, words: str) -> None:
        """Search for these words from the newest line, and go to the first match; empty: no search."""
        if not words.strip():
            self.search = None
            self._stepping = 0
            self.draw_all()
            return
        past = self.hold()
        self.search = ScrollbackSearch(words)
        self._stepping = 1
        self._look(past)
        self._load()

    def find_more(self, step: int) -> None:
        """Go to the next older (1) or newer (-1) match."""
        if self.search is not None and self._picture.past is not None:
            self._stepping = step
            self._look(self._picture.past)
            self._load()

    def _look(self, past: Scrollback) -> None:
        """Search the loaded lines, and take the pending step as soon as there is a match."""
        search = self.search
        if search is None:
            return
        search.search_more(past)
        if self._stepping and search.go(self._stepping, past):
            self._stepping = 0
            self._show_hit(search)
        self._widget.post_message(TerminalSearched(search.at + 1, len(search.hits), past.complete))
        self.draw_all()

    def _show_hit(self, search: ScrollbackSearch) -> None:
        here, up, height = search.here, self._picture.up, self._picture.height
        if here is not None and not up <= here < up + height:
            self._move(up - max(0, here - min(_CONTEXT, height // 2)))

    def ranges(self, text: str, y: int, palette: Palette) -> list[StyledRange]:
        """Styles over the matches in a row of the tab."""
        search, past = self.search, self._picture.past
        if search is None or past is None:
            return []
        here = past.total - 1 - (self._picture.top + y) == search.here
        return match_ranges(text, search.needle, palette.match_here if here else palette.match)

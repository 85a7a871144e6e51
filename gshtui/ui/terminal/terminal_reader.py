"""Reading a terminal: scrolling into its past, searching from the newest line to the oldest, and copying.

Owns when the picture is held still and when it goes on; pages of the past are fetched as they are needed. Refuses keys
that are for the program. `TerminalView` is built on it.
"""

from __future__ import annotations

from textual.message import Message
from textual.selection import Selection

from gshtui.tmux.errors import TmuxError
from gshtui.ui.kit.highlights import StyledRange, match_ranges
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.terminal.terminal_rows import text_of
from gshtui.ui.terminal.terminal_surface import Scrollback, TerminalSurface


class ScrollbackSearch:
    """Lines in which the words are, whatever their case.

    Attributes:
        hits: lines that were found, counted from the lowest line, which is 0; the newest first.
        at: which of them is in front; -1: none.
    """

    def __init__(self, words: str) -> None:
        self.words = words
        self.needle = words.casefold()
        self.hits: list[int] = []
        self.at = -1
        self._looked = 0

    def look(self, past: Scrollback) -> int:
        """Look through what was loaded since the last time; gives how many lines were found."""
        found = [
            number
            for number in range(self._looked, len(past.lines))
            if self.needle in text_of(past.lines[-1 - number]).casefold()
        ]
        self._looked = len(past.lines)
        self.hits += found
        return len(found)

    def go(self, step: int, past: Scrollback) -> bool:
        """Go to the next older (1) or newer (-1) line; at an end, to the other one. False: older lines are needed."""
        at = self.at + step
        if at >= len(self.hits) and not past.complete:
            return False
        self.at = at % len(self.hits) if self.hits else -1
        return True

    @property
    def here(self) -> int | None:
        """The line in front, counted from the lowest."""
        return self.hits[self.at] if 0 <= self.at < len(self.hits) else None


_CONTEXT = 3
"""Rows that are shown below a line that was found."""


class TerminalReader(TerminalSurface):
    """A surface that can be scrolled, searched and copied from."""

    class Searched(Message):
        """A search has found more, or gone to another line. `at` counts from 1, 0: nowhere yet."""

        def __init__(self, at: int, hits: int, done: bool) -> None:
            super().__init__()
            self.at = at
            self.hits = hits
            self.done = done

    class Changed(Message):
        """What the status line says may be different."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self.search: ScrollbackSearch | None = None
        self.failed = ""
        """Why the last thing that was asked of the terminal did not happen; empty when all is well."""
        self._held_history = 0
        self._loading = False
        self._stepping = 0

    async def history(self, start: int, end: int) -> list[str]:
        """Lines of the past, as `Watch.history` gives them."""
        raise NotImplementedError

    # Held still, and going on

    def hold(self) -> Scrollback:
        if self.past is None:
            self._held_history = self.frame.info.history if self.frame is not None else 0
            past = super().hold()
            self.post_message(self.Changed())
            return past
        return self.past

    def let_go(self) -> None:
        """Show what the terminal shows now; nothing is selected or searched any more."""
        self.search = None
        self._stepping = 0
        if self.text_selection is not None:
            self.screen.clear_selection()
        if self.past is not None:
            super().let_go()
            self.post_message(self.Changed())

    def _go_on_if_read(self) -> None:
        """Go on where the reader is at the end and holds on to nothing."""
        if self.past is not None and not self.up and self.search is None and self.text_selection is None:
            self.let_go()

    def selection_updated(self, selection: Selection | None) -> None:
        if selection is not None:
            self.hold()
        super().selection_updated(selection)
        if selection is None:
            self._go_on_if_read()

    # Scrolling

    def scroll_rows(self, rows: int) -> None:
        if self.past is None and (rows >= 0 or not self.top):
            return
        self.move(rows)
        self._load()
        if rows > 0:
            self._go_on_if_read()

    def move(self, rows: int) -> None:
        before = self.up
        super().move(rows)
        if self.up != before:
            self.post_message(self.Changed())

    def action_rows(self, rows: int) -> None:
        self.scroll_rows(rows)

    def action_pages(self, pages: int) -> None:
        self.scroll_rows(pages * max(1, self.size.height - 2))

    def action_home(self) -> None:
        self.scroll_rows(-self.total)

    def action_end(self) -> None:
        """Show what the terminal shows now."""
        self.let_go()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "back":
            return self.past is not None
        return super().check_action(action, parameters)

    def action_back(self) -> None:
        self.let_go()

    # The past, a page at a time

    def _load(self) -> None:
        if self.past is not None and not self._loading and self._lacks(self.past):
            self._loading = True
            self.run_worker(self._load_pages(self.past), exit_on_error=False, group="past")

    def _lacks(self, past: Scrollback) -> bool:
        """Whether older lines are wanted: they would be on the screen, or a search has to go on in them."""
        return not past.complete and (self.top < past.missing + self.size.height or self._stepping > 0)

    async def _load_pages(self, past: Scrollback) -> None:
        try:
            while past is self.past and self._lacks(past):
                await self._load_page(past)
                if past is not self.past:
                    return
                self.move(0)
                self._look(past)
        except TmuxError as error:
            self.failed = str(error)
            past.tear()
            self.post_message(self.Changed())
        finally:
            self._loading = False
            self._load()  # for what is held still now, if that is something else

    async def _load_page(self, past: Scrollback) -> None:
        now = self.frame.info.history if self.frame is not None else 0
        if past.take(await self.history(*past.wanted(max(0, now - self._held_history)))):
            return
        # A terminal that keeps no more lines does not say how many went: what is known is further up, or gone.
        if not past.take(await self.history(-now - 1, len(self.lines)), whole=True):
            past.tear()

    # Search

    def find(self, words: str) -> None:
        """Search for these words from the newest line on, and go to the first; no words: for nothing yet."""
        if not words.strip():
            self.search = None
            self._stepping = 0
            self.refresh()
            return
        past = self.hold()
        self.search = ScrollbackSearch(words)
        self._stepping = 1
        self._look(past)
        self._load()

    def find_more(self, step: int) -> None:
        """Go to the next older (1) or newer (-1) line that was found."""
        if self.search is not None and self.past is not None:
            self._stepping = step
            self._look(self.past)
            self._load()

    def action_found(self, step: int) -> None:
        self.find_more(step)

    def _look(self, past: Scrollback) -> None:
        """Search what is loaded, and take the step that waits as soon as there is somewhere to go."""
        search = self.search
        if search is None:
            return
        search.look(past)
        if self._stepping and search.go(self._stepping, past):
            self._stepping = 0
            self._show_hit(search, past)
        self.post_message(self.Searched(search.at + 1, len(search.hits), past.complete))
        self.refresh()

    def _show_hit(self, search: ScrollbackSearch, past: Scrollback) -> None:
        here, height = search.here, self.size.height
        if here is not None and not self.up <= here < self.up + height:
            self.move(self.up - max(0, here - min(_CONTEXT, height // 2)))

    def ranges(self, text: str, y: int) -> list[StyledRange]:
        found = super().ranges(text, y)
        if found or self.search is None or self.past is None:
            return found
        here = self.past.total - 1 - (self.top + y) == self.search.here
        return match_ranges(
            text, self.search.needle, self.theme_colours.match_here if here else self.theme_colours.match
        )

    # Copying

    def action_copy(self) -> None:
        """Copy what is selected, or else what is seen."""
        text = self.screen.get_selected_text() or self.seen()
        if not text.strip():
            return
        app_of(self).copy_to_clipboard(text)
        lines = text.count("\n") + 1
        self.notify(f"Copied {lines} lines" if lines > 1 else "Copied one line", timeout=2, markup=False)

    def seen(self) -> str:
        """The words that are on the screen."""
        lines = [self.line_at(y) for y in range(self.size.height)]
        return "\n".join([self.words(line or "").rstrip() for line in lines]).rstrip("\n")

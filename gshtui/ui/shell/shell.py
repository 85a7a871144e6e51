"""The shell log: every command of your shells and of the agents, how each ended, with notes and changes between them.

Owns the list, its cursor, its filter and its keys; the state is `shell_state`'s, the rows on the screen the view's,
what is done with a row the app's. Fed by the bridge; asks the app for rows that nobody has looked at yet.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from msgspec.structs import replace
from textual.binding import BindingType
from textual.message import Message
from textual.timer import Timer

from gshtui.bus.shell import ShellRecord
from gshtui.bus.shell_rows import Filter, Row
from gshtui.ui.kit.bindings import bind
from gshtui.ui.shell.shell_feed import ShellFeed
from gshtui.ui.shell.shell_menu import ACTIONS, applicable
from gshtui.ui.shell.shell_state import with_filter
from gshtui.ui.shell.shell_words import terminal

if TYPE_CHECKING:
    pass

_TYPED = 0.12
"""Seconds that a filter rests before the record is asked."""


class ShellPane(ShellFeed):
    """Shell commands, newest at the bottom."""

    BINDINGS: ClassVar[list[BindingType]] = [
        bind("shell.up", "move(-1)"),
        bind("shell.down", "move(1)"),
        bind("shell.page_up", "page(-1)"),
        bind("shell.page_down", "page(1)"),
        bind("shell.home", "edge(False)"),
        bind("shell.end", "edge(True)"),
        bind("shell.filter", "filter"),
        bind("shell.failed", "failed"),
        bind("shell.folder", "folder"),
        bind("shell.terminal", "terminal"),
        bind("shell.back", "unfilter"),
        bind("shell.menu", "want('menu')"),
        *(bind(f"shell.{action}", f"want('{action}')") for action in ACTIONS),
    ]

    class Wanted(Message):
        """Something shall be done with a row: one of `shell_menu.ACTIONS`, or `menu`."""

        def __init__(self, action: str, row: Row | None) -> None:
            super().__init__()
            self.action = action
            self.row = row

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        super().__init__(clock)
        self._resting: Timer | None = None
        self._rested = asyncio.Event()

    # Filter

    def on_search_line_changed(self, message: Message) -> None:
        """Other words are typed into the filter."""
        message.stop()
        if self._resting is None:
            self._resting = self.set_timer(_TYPED, self._typed)
        else:
            self._resting.reset()

    async def filtered(self) -> None:
        """Wait until the words that were typed hold."""
        while self._resting is not None:
            await self._rested.wait()

    def _typed(self) -> None:
        if self._resting is not None:
            self._resting.stop()
            self._resting = None
        self._rested.set()
        self._rested = asyncio.Event()
        if self.inside is not None:
            self._filter(replace(self.state.filter, text=self.inside.line.words))

    def on_search_line_closed(self, message: Message) -> None:
        """The filter's words are taken back."""
        message.stop()
        self.focus()
        self._filter(replace(self.state.filter, text=""))

    def on_search_line_stepped(self, message: Message) -> None:
        """Up and down move the cursor while the filter is typed."""
        message.stop()
        self.action_move(-getattr(message, "step", 0))

    def on_filter_line_taken(self, message: Message) -> None:
        """The filter is written."""
        message.stop()
        self._typed()
        self.focus()

    def _filter(self, filter: Filter) -> None:
        if filter != self.state.filter:
            self.state = with_filter(self.state, filter)
            if self.inside is not None:
                self.inside.view.edge(True)
            self.draw()

    def action_filter(self) -> None:
        """Type words that rows must have."""
        if self.inside is None:
            self.open_log()
        if self.inside is not None:
            self.inside.open_line()

    def action_failed(self) -> None:
        """Only what failed, or all again."""
        self._filter(replace(self.state.filter, failed=not self.state.filter.failed))

    def action_folder(self) -> None:
        """Only what ran in the folder of the row under the cursor and below it, or all again."""
        chosen = self.chosen
        cwd = "" if self.state.filter.cwd else (chosen.cwd if chosen is not None else "")
        self._filter(replace(self.state.filter, cwd=cwd))

    def action_terminal(self) -> None:
        """Only what ran in the terminal of the row under the cursor, or all again."""
        chosen = self.chosen
        if self.state.filter.shell or chosen is None:
            shell = ""
        else:
            shell = chosen.shell
            self.terminal = terminal(chosen) if isinstance(chosen, ShellRecord) else "one terminal"
        self._filter(replace(self.state.filter, shell=shell))

    def action_unfilter(self) -> None:
        """Show all again."""
        if self.inside is not None:
            self.inside.close_line()
        self._filter(Filter())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "unfilter":
            return bool(self.state.filter)
        return super().check_action(action, parameters)

    # Keys and mouse

    def action_move(self, rows: int) -> None:
        if self.inside is not None:
            self.inside.view.move(rows)

    def action_page(self, pages: int) -> None:
        if self.inside is not None:
            self.inside.view.page(pages)

    def action_edge(self, last: bool) -> None:
        if self.inside is not None:
            self.inside.view.edge(last)

    def action_want(self, action: str) -> None:
        """Have something done with the row under the cursor, where that means something."""
        row = self.chosen
        if action == "menu" or action in applicable(row):
            self.post_message(self.Wanted(action, row))
        elif row is not None:
            self.notify("That means nothing for this line. space shows what can be done.", markup=False, timeout=4)

    def on_shell_log_view_picked(self, message: Message) -> None:
        """Twice: open; with the right button: the menu."""
        message.stop()
        if getattr(message, "button", 1) == 3:
            self.action_want("menu")
        elif getattr(message, "times", 1) == 2:
            self.action_want("open")

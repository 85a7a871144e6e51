"""The search line under the transcript: the words to find, and the number of matches.

Owns the words being typed; what it lies below does the search.
"""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Input, Static

from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.widgets.line_field import LineField


class SearchLine(Horizontal):
    """Hidden until it is opened. Enter gives the keys back to what is searched, where letters go on to more."""

    BINDINGS: ClassVar[list[BindingType]] = [
        bind("transcript.search_close", "close"),
        bind("transcript.search_next", "step(1)"),
        bind("transcript.search_previous", "step(-1)"),
    ]

    DEFAULT_CSS = """
    SearchLine { height: 1; display: none; }
    SearchLine Input { width: 1fr; height: 1; border: none; padding: 0 1; }
    SearchLine Static { width: auto; height: 1; padding: 0 1; }
    """

    class Changed(Message):
        """The words changed."""

        def __init__(self, words: str) -> None:
            super().__init__()
            self.words = words

    class Stepped(Message):
        """Go to the next older (1) or newer (-1) match."""

        def __init__(self, step: int) -> None:
            super().__init__()
            self.step = step

    class Taken(Message):
        """The words were entered: keys go to what is searched again, which keeps its matches."""

    class Closed(Message):
        """The search was closed."""

    def __init__(self, placeholder: str = "search the conversation") -> None:
        super().__init__()
        self._placeholder = placeholder

    def compose(self) -> ComposeResult:
        yield Static("/", id="search-sign", markup=False)
        yield LineField(placeholder=self._placeholder, select_on_focus=False)
        yield Static("", id="search-count", markup=False)

    def open(self) -> None:
        """Show it and type into it; words of before are replaced by typing."""
        self.display = True
        line = self.query_one(Input)
        line.focus()
        line.action_select_all()

    def show_position(self, at: int, hits: int, done: bool) -> None:
        """Show the number of matches and the current one."""
        words = self.query_one(Input).value
        if not words.strip():
            text = ""
        elif hits:
            text = f"{at} of {hits}{'' if done else '…'}"
        else:
            text = "nothing found" if done else "searching…"
        self.query_one("#search-count", Static).update(text)

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Changed(event.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if event.value.strip():
            self.post_message(self.Taken())
        else:
            self.action_close()

    def hide(self) -> None:
        """Hide it, and leave the matches as they are."""
        self.display = False

    def action_step(self, step: int) -> None:
        self.post_message(self.Stepped(step))

    def clear(self) -> None:
        """Hide it, without its words."""
        self.display = False
        self.query_one(Input).clear()

    def action_close(self) -> None:
        self.clear()
        self.post_message(self.Closed())

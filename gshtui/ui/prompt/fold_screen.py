"""A folded paste, opened to be read. It changes nothing; the text was sanitised when it was pasted.

Pushed by `PromptArea` when the person asks for it.
"""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Log, Static

from gshtui.ui.kit.bindings import bind


class FoldScreen(ModalScreen[None]):
    """The text, scrollable; escape closes."""

    BINDINGS = [bind("text.close", "dismiss")]

    def __init__(self, title: str, text: str) -> None:
        super().__init__()
        self._title = title
        self._text = text

    def compose(self) -> ComposeResult:
        """A title and the text."""
        with Vertical(id="fold"):
            yield Static(self._title, markup=False, id="fold-title")
            yield Log(id="fold-text", auto_scroll=False)

    def on_mount(self) -> None:
        """All lines at once: one line at a time costs a hundred times as much."""
        self.query_one(Log).write_lines(self._text.split("\n"), scroll_end=False).focus()

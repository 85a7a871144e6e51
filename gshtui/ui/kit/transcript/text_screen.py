"""A viewer for text too long for a toast: a command's outcome, or the help.

Owns scrolling and copying; shows text as is or as Markdown, never as markup. Opened by the app.
"""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from gshtui.ui.kit.keys.bound_keys import with_keys
from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.kit.transcript.entries import AnswerEntry, Put
from gshtui.ui.kit.transcript.transcript import Transcript
from gshtui.ui.kit.widgets.box import Box


class TextScreen(Box[None]):
    """Scrollable text under a title: styled `Content`, or a command's Markdown."""

    BINDINGS = [
        bind("text.close", "dismiss(None)"),
        bind("text.copy", "copy"),
        bind("text.top", "edge('top')"),
        bind("text.bottom", "edge('bottom')"),
    ]

    HINT: ClassVar[str] = "{text.close} to close · {text.copy} to copy all · select with the mouse to copy a part"

    def __init__(self, title: str, text: str | Content) -> None:
        super().__init__()
        self._title = title
        self._text = text

    @property
    def plain(self) -> str:
        """The text without styles."""
        return self._text.plain if isinstance(self._text, Content) else self._text

    @property
    def copied(self) -> str:
        """The text copied if nothing is selected."""
        return self.plain

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -wide"):
            yield Static(Content(self._title), classes="dialog-title")
            if isinstance(self._text, Content):
                yield VerticalScroll(Static(self._text), id="text")
            else:
                yield Transcript(id="text")
            yield Static(Content(with_keys(self, self.HINT)), classes="dialog-hint")

    def on_mount(self) -> None:
        view = self.query_one("#text", Widget)
        if isinstance(view, Transcript):
            view.feed.apply([Put(AnswerEntry("text", self.plain))])
            view.action_home()
        view.focus()

    def action_copy(self) -> None:
        app_of(self).copy_to_clipboard(self.get_selected_text() or self.copied)
        self.notify("Copied.", markup=False, timeout=2)

    def action_edge(self, edge: str) -> None:
        view = self.query_one("#text")
        (view.scroll_home if edge == "top" else view.scroll_end)(animate=False)

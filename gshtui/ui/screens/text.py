"""A viewer for text that is too long for a few words on the screen: what a command said.

Owns scrolling and copying; the text is shown as it is, made harmless, never as markup. Opened by the app.
"""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from gshtui.ui.bindings import bind
from gshtui.ui.surroundings import app_of


class TextScreen(ModalScreen[None]):
    """Scrollable text under a title."""

    BINDINGS = [
        bind("text.close", "dismiss(None)"),
        bind("text.copy", "copy"),
        bind("text.top", "edge('top')"),
        bind("text.bottom", "edge('bottom')"),
    ]

    def __init__(self, title: str, text: str | Content) -> None:
        super().__init__()
        self._title = title
        self._text = text if isinstance(text, Content) else Content(text)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -wide"):
            yield Static(Content(self._title), classes="dialog-title")
            with VerticalScroll(id="text"):
                yield Static(self._text)
            yield Static(
                Content("escape closes · y copies all · select with the mouse to copy a part"), classes="dialog-hint"
            )

    def on_mount(self) -> None:
        self.query_one("#text").focus()

    def action_copy(self) -> None:
        app_of(self).copy_to_clipboard(self._text.plain)
        self.notify("Copied.", markup=False, timeout=2)

    def action_edge(self, edge: str) -> None:
        view = self.query_one("#text")
        (view.scroll_home if edge == "top" else view.scroll_end)(animate=False)

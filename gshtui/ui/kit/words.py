"""A line, or a few, to write and send: a message to an agent, another name for it.

Owns the writing; refuses to send. Dismissed with the words, or nothing.
"""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from gshtui.ui.kit.bindings import bind


class WordsScreen(ModalScreen[str]):
    """Dismissed with what was written, empty when nothing is to be done.

    Args:
        text: what stands there at first.
        lines: whether more than one line may be written.
    """

    BINDINGS = [bind("form.submit", "submit"), bind("form.close", "dismiss('')")]

    def __init__(self, title: str, *, text: str = "", hint: str = "", lines: bool = False) -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._hint = hint
        self._lines = lines

    def compose(self) -> ComposeResult:
        from gshtui.guard.sanitise import one_line

        with Vertical(classes="dialog"):
            yield Static(Content(one_line(self._title, 200)), classes="dialog-title")
            if self._lines:
                yield TextArea(self._text, id="words", compact=True, soft_wrap=True)
            else:
                yield Input(self._text, id="words", compact=True)
            sends = "ctrl+s sends" if self._lines else "enter takes it"
            hint = " · ".join(filter(None, (sends, "escape closes", self._hint)))
            yield Static(Content(hint), classes="dialog-hint")

    def on_mount(self) -> None:
        self.query_one("#words", Widget).focus()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.action_submit()

    def action_submit(self) -> None:
        field = self.query_one("#words", Widget)
        text = field.text if isinstance(field, TextArea) else field.value if isinstance(field, Input) else ""
        if text.strip():
            self.dismiss(text.strip())

"""A question before something that cannot be taken back easily: what it is about, what goes, yes or no.

Owns the question; refuses to do anything. Dismissed with the answer. Opened for kills, merges and removals.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from gshtui.ui.bindings import bind


class ConfirmScreen(ModalScreen[bool]):
    """`y` or the first button does it; everything else leaves all as it is.

    Args:
        losses: what would be lost, a sentence each.
        note: what makes it less final, such as how long it can be undone.
    """

    BINDINGS = [bind("confirm.yes", "dismiss(True)"), bind("confirm.no", "dismiss(False)")]

    def __init__(self, title: str, text: str, *, yes: str, losses: Sequence[str] = (), note: str = "") -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._yes = yes
        self._losses = losses
        self._note = note

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -question"):
            yield Static(Content(_clean(self._title)), classes="dialog-title")
            with VerticalScroll(classes="dialog-body", can_focus=False):
                yield Static(Content(_clean(self._text)))
                if self._losses:
                    yield Static(Content.styled("Unsaved:", "bold $error"), classes="dialog-losses")
                for loss in self._losses:
                    yield Static(Content.assemble(("• ", "$error"), _clean(loss)))
                if self._note:
                    yield Static(Content.styled(_clean(self._note), "$foreground-muted"), classes="dialog-losses")
            with Horizontal(classes="dialog-buttons"):
                yield Button(Content(f"{self._yes} (y)"), id="yes", variant="error", compact=True)
                yield Button("Leave it (n)", id="no", compact=True)

    def on_mount(self) -> None:
        self.query_one("#no").focus()

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.dismiss(event.button.id == "yes")


def _clean(text: str) -> str:
    from gshtui.guard.sanitise import one_line

    return one_line(text, 400)

"""A question before something that cannot be taken back easily: what it is about, what goes, yes or no.

Owns the question; refuses to do anything. Dismissed with the answer. Opened for kills, merges and removals, sometimes
a moment after they were asked for: what was being typed when it came up is no yes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from textual import events, on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from gshtui.guard.answer_keys import AnswerKeys, Chosen
from gshtui.ui.kit.bindings import bind
from gshtui.ui.kit.keys import OwnKeys

_YES = frozenset({"once"})


class ConfirmScreen(ModalScreen[bool]):
    """`y` or the first button does it; everything else leaves all as it is.

    Args:
        losses: what would be lost, a sentence each.
        note: what makes it less final, such as how long it can be undone.
    """

    BINDINGS = [bind("confirm.yes", "yes"), bind("confirm.no", "dismiss(False)")]

    def __init__(self, title: str, text: str, *, yes: str, losses: Sequence[str] = (), note: str = "") -> None:
        super().__init__()
        self._title = title
        self._text = text
        self._yes = yes
        self._losses = losses
        self._note = note
        self._keys = AnswerKeys()
        self._bound = OwnKeys()
        self._down = 0.0

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
        self.call_after_refresh(self._drawn)

    def _drawn(self) -> None:
        self._keys.show("this", _YES, time.monotonic())

    def on_screen_resume(self) -> None:
        self._keys.look(time.monotonic())

    def on_key(self, event: events.Key) -> None:
        """A yes by `y`, or by enter on its button, counts when the question had been read before it was typed."""
        action = self._bound.action(self, event.key)
        agrees = action == "yes" or (event.key == "enter" and self.focused is self.query_one("#yes"))
        if agrees:
            event.stop()
            event.prevent_default()
        outcome = self._keys.press("once" if agrees else "move" if action else "words", event.time)
        if agrees and isinstance(outcome, Chosen):
            self.dismiss(True)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._down = event.time

    def action_yes(self) -> None:
        """The yes at the foot of the window was clicked. Keys come in by `on_key`."""
        if isinstance(self._keys.click("once", "this", self._down), Chosen):
            self.dismiss(True)

    @on(Button.Pressed)
    def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        if event.button.id == "yes":
            self.action_yes()
        else:
            self.dismiss(False)


def _clean(text: str) -> str:
    from gshtui.guard.sanitise import one_line

    return one_line(text, 400)

"""A summary to be written anew: here, or in the person's own editor.

Owns the writing; refuses to judge or to keep it. Dismissed with the words, or `None` when nothing is to change. Opened
by `ContextActions`.
"""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Button, Static, TextArea

from gshtui.guard.sanitise import literal
from gshtui.ui.kit import figures
from gshtui.ui.kit.bindings import bind
from gshtui.ui.kit.surroundings import app_of


class SummaryScreen(ModalScreen[str | None]):
    """See the module."""

    BINDINGS = [bind("form.submit", "submit"), bind("form.close", "leave"), bind("prompt.editor", "editor")]

    def __init__(self, text: str) -> None:
        super().__init__()
        self._was = literal(text)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -wide -summary"):
            yield Static(Content("The summary"), classes="dialog-title")
            yield TextArea(self._was, id="summary-text", compact=True, soft_wrap=True)
            yield Static("", markup=False, classes="dialog-hint", id="summary-size")
            with Horizontal(classes="dialog-buttons"):
                yield Button("Take it (ctrl+s)", id="take", variant="primary", compact=True)
                yield Button("Editor (ctrl+e)", id="editor", compact=True)
                yield Button("Leave it (escape)", id="leave", compact=True)

    def on_mount(self) -> None:
        self.query_one(TextArea).focus()
        self._measure()

    @on(TextArea.Changed)
    def _measure(self) -> None:
        size = len(self.query_one(TextArea).text.encode()) // 4
        was = len(self._was.encode()) // 4
        words = f"about {figures.tokens(size)} tokens (it was {figures.tokens(was)}); it is sent with every request"
        self.query_one("#summary-size", Static).update(words)

    @on(Button.Pressed)
    async def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        await {"take": self.action_submit, "editor": self.action_editor, "leave": self.action_leave}[
            event.button.id or "leave"
        ]()

    async def action_submit(self) -> None:
        text = self.query_one(TextArea).text
        if text.strip():
            self.dismiss(text)
        else:
            self.notify("An empty summary would lose what it stands for; reject it instead.", markup=False)

    async def action_leave(self) -> None:
        self.dismiss(None)

    async def action_editor(self) -> None:
        """Write in `$VISUAL` or `$EDITOR`."""
        self.run_worker(self._edit(), exit_on_error=False, exclusive=True, group="editor")

    async def _edit(self) -> None:
        from gshtui.ui.kit.editor import EditorError, edited

        area = self.query_one(TextArea)
        try:
            area.text = literal(await edited(app_of(self), area.text))
        except EditorError as error:
            self.notify(str(error), severity="error", markup=False, timeout=8)

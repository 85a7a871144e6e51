"""Notices across the screen, below the header, that stay until dismissed: what is not running, and what to do.

Owns its lines; no markup. Escape or a click dismisses it. Called by the app.
"""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from gshtui.text.marked_words import unmarked


class Banner(Static):
    """Hidden while empty; several notices are listed, newest last."""

    MOST = 3

    def __init__(self) -> None:
        super().__init__(id="banner", markup=False)
        self._lines: list[Content] = []
        self.display = False

    def add_notice(self, text: str, hint: str = "") -> None:
        """Add a notice: one sentence, and what to do."""
        behind = f" {unmarked(hint)}" if hint else ""
        if hint and not text.endswith((".", "!", "?", "…")):
            text += "."
        line = Content.assemble((" ✗ ", "bold $error"), unmarked(text), (behind, "$foreground-muted"))
        if line not in self._lines:
            self._lines = [*self._lines, line][-self.MOST :]
        self.update(Content("\n").join(self._lines))
        self.display = True

    def remove_notice(self, text: str) -> None:
        """Remove the notices that begin with this text."""
        self._lines = [line for line in self._lines if not line.plain.startswith(f" ✗ {unmarked(text)}")]
        self.update(Content("\n").join(self._lines))
        self.display = bool(self._lines)

    def dismiss(self) -> bool:
        """Dismiss it. False: it was not shown."""
        if not self.display:
            return False
        self._lines = []
        self.display = False
        return True

    def on_click(self) -> None:
        self.dismiss()

"""Words across the screen, below the header, that stay until they are read: what does not run, and what to do.

Owns its lines; refuses markup. Escape or a click takes it away. Called by the app.
"""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static


class Banner(Static):
    """Hidden while it has nothing to say; several notices stand below each other, the newest last."""

    MOST = 3

    def __init__(self) -> None:
        super().__init__(id="banner", markup=False)
        self._lines: list[Content] = []
        self.display = False

    def add_notice(self, text: str, hint: str = "", *, level: str = "error") -> None:
        """Add a notice: one sentence, and what to do."""
        sign, colour = ("✗", "$error") if level == "error" else ("!", "$warning")
        line = Content.assemble(
            (f" {sign} ", f"bold {colour}"), text, (f" {hint}" if hint else "", "$foreground-muted")
        )
        if line not in self._lines:
            self._lines = [*self._lines, line][-self.MOST :]
        self.update(Content("\n").join(self._lines))
        self.display = True

    def dismiss(self) -> bool:
        """Take it away. False: there was nothing to take away."""
        if not self.display:
            return False
        self._lines = []
        self.display = False
        return True

    def on_click(self) -> None:
        self.dismiss()

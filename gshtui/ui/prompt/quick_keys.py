"""The sheet of keys above the input: what works while one writes, a dozen rows, by `?` in an empty input.

Owns its rows; reads the key table with its remappings. The next key closes it and does what it always does.
"""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content
from textual.widgets import Static

from gshtui.ui.kit.keys.key_bar import shown_keys
from gshtui.ui.kit.widgets.fitted_text import fit

SIGNS = (
    ("/", "Commands"),
    ("@", "Files of the project"),
    ("!", "Shell command"),
    ("?", "Type a literal ?"),
)
"""What the first letter of the input does, besides the keys."""
ROWS = (
    "prompt.newline",
    "prompt.history",
    "prompt.editor",
    "chat.page_up",
    "chat.previous_prompt",
    "mode.next",
    "app.back",
    "approval.focus",
    "agents.waiting",
    "agents.spawn",
    "diff.open",
    "context.inspect",
    "app.models",
    "app.sessions",
    "panes.next",
    "panes.zoom",
    "app.palette",
    "app.help",
)
_SAYS = {
    "prompt.newline": "New line",
    "prompt.history": "Search history",
    "prompt.editor": "Open editor",
    "chat.page_up": "Scroll the chat",
    "app.back": "Interrupt",
    "approval.focus": "Answer question",
    "app.palette": "Find anything",
    "app.help": "All keys",
    "panes.next": "Next pane",
}
"""What to call a key here, where its label in the footer would say too little."""
_COLUMN = 29
"""Cells of one column, at least."""


class QuickKeys(Static, can_focus=False):
    """Hidden until asked for."""

    def __init__(self) -> None:
        super().__init__(id="quick-keys", markup=False)
        self.display = False

    def show(self) -> None:
        """Show it, as wide as the room there is."""
        self.display = True
        self._draw()

    def close(self) -> None:
        """Hide it."""
        self.display = False

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        if not self.display:
            return
        width = max(_COLUMN, (self.size.width or self.screen.size.width) - 2)
        columns = max(1, min(3, width // _COLUMN))
        rows = [*SIGNS, *((_first(shown_keys(self, id)), _label(id)) for id in ROWS)]
        height = min(-(-len(rows) // columns), max(1, self.screen.size.height - 8))
        lines = [[rows[at] for at in range(line, min(len(rows), height * columns), height)] for line in range(height)]
        self.update(Content("\n").join(_line(line, width // columns) for line in lines))


def _first(keys: str) -> str:
    return keys.split(", ")[0]


def _label(id: str) -> str:
    from gshtui.ui.kit.keys.key_table import KEYS

    return _SAYS.get(id) or KEYS[id].label


def _line(cells: list[tuple[str, str]], width: int) -> Content:
    parts: list[Content] = []
    for key, says in cells:
        says = fit(says, width - 13)
        gap = " " * max(1, 11 - cell_len(key))
        rest = " " * max(0, width - cell_len(key) - len(gap) - cell_len(says))
        parts.append(Content.assemble((key, "bold $footer-key-foreground"), gap, (says, "$foreground-muted"), rest))
    return Content("").join(parts)

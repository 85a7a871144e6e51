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
    ("@", "Project files"),
    ("!", "Shell command"),
    ("?", "Type a literal ?"),
)
"""What the first letter of the input does, besides the keys."""
GROUPS = {
    "Write": ("prompt.newline", "prompt.history", "prompt.editor", "mode.next"),
    "Work": (
        *("app.back", "approval.focus", "agents.waiting", "agents.spawn", "diff.open", "context.inspect"),
        *("app.models", "app.sessions"),
    ),
    "Window": (
        *("chat.page_up", "chat.previous_prompt", "panes.next", "panes.zoom", "app.notices", "app.palette"),
        *("app.help",),
    ),
}
"""The keys below their headings; the signs are below the first one."""
_SAYS = {
    "prompt.newline": "New line",
    "prompt.history": "Search history",
    "prompt.editor": "Open editor",
    "chat.page_up": "Scroll the chat",
    "app.back": "Interrupt",
    "approval.focus": "Answer question",
    "agents.waiting": "Next waiting",
    "app.palette": "Find anything",
    "app.help": "All keys",
    "panes.next": "Next pane",
}
"""What to call a key here, where its label in the footer would say too little."""
_COLUMN = 25
"""Cells of one column, at least."""
_KEYS = 10
"""Cells of the keys in it, and of the gap behind them."""


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
        columns = max(1, min(len(GROUPS), width // _COLUMN))
        groups = [
            [(name, ""), *(SIGNS if not at else ()), *((_first(shown_keys(self, id)), _label(id)) for id in ids)]
            for at, (name, ids) in enumerate(GROUPS.items())
        ]
        if columns < len(groups):
            rows = [row for group in groups for row in group]
            height = -(-len(rows) // columns)
            groups = [rows[at : at + height] for at in range(0, len(rows), height)]
        height = min(max(map(len, groups)), max(1, self.screen.size.height - 8))
        lines = [[group[at] if at < len(group) else ("", "") for group in groups] for at in range(height)]
        self.update(Content("\n").join(_line(line, width // columns) for line in lines))


def _first(keys: str) -> str:
    return keys.split(", ")[0]


def _label(id: str) -> str:
    from gshtui.ui.kit.keys.key_table import KEYS

    return _SAYS.get(id) or KEYS[id].label


def _line(cells: list[tuple[str, str]], width: int) -> Content:
    parts: list[Content] = []
    for key, says in cells:
        says = fit(says, width - _KEYS - 1)
        gap = " " * max(1, _KEYS - cell_len(key))
        rest = " " * max(0, width - cell_len(key) - len(gap) - cell_len(says))
        style = "bold $footer-key-foreground" if says else "bold"
        parts.append(Content.assemble((key, style), gap, (says, "$foreground-muted"), rest))
    return Content("").join(parts)

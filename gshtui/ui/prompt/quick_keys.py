"""The sheet of keys above the input: what works while one writes, a dozen rows, by `?` in an empty input.

Owns its rows; reads the key table with its remappings. The next key closes it and does what it always does.
"""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content
from textual.widgets import Static

from gshtui.ui.kit.keys.key_bar import shown_keys

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
_GAP = 2
"""Cells between two columns, at least."""
_Row = tuple[str, str]


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
        width = (self.size.width or self.screen.size.width) - 2
        groups = [
            [(name, ""), *(SIGNS if not at else ()), *((_first(shown_keys(self, id)), _label(id)) for id in ids)]
            for at, (name, ids) in enumerate(GROUPS.items())
        ]
        most = max(1, self.screen.size.height - 8)
        made = _layouts(groups)
        fitting = [one for one in made if sum(map(_width, one)) <= width + _GAP] or made[-1:]
        columns = next((one for one in fitting if max(map(len, one)) <= most), fitting[-1])
        height = min(max(map(len, columns)), most)
        spare = max(0, width + _GAP - sum(map(_width, columns))) // len(columns)
        lines = zip(*(_cells(column, height, _width(column) + spare) for column in columns), strict=True)
        self.update(Content("\n").join(Content("").join(line).truncate(max(1, width)) for line in lines))


def _layouts(groups: list[list[_Row]]) -> list[list[list[_Row]]]:
    """The rows in columns: a group each, or in two of the same height, with headings and without, or in one."""
    found = [groups]
    for first, count in ((0, 2), (1, 2), (1, 1)):
        rows = [row for group in groups for row in group[first:]]
        height = -(-len(rows) // count)
        found.append([rows[at : at + height] for at in range(0, len(rows), height)])
    return found


def _width(column: list[_Row]) -> int:
    """The cells that a column needs, with the gap behind it, so that no word is cut."""
    return _keys(column) + max(cell_len(says) for _, says in column) + _GAP


def _keys(column: list[_Row]) -> int:
    """The cells of its keys, and of the blank behind them."""
    return max(cell_len(key) for key, says in column if says) + 1


def _cells(column: list[_Row], height: int, width: int) -> list[Content]:
    cells: list[Content] = []
    for key, says in [*column, *[("", "")] * (height - len(column))][:height]:
        gap = " " * (_keys(column) - cell_len(key)) if says else ""
        rest = " " * (width - cell_len(key) - len(gap) - cell_len(says))
        style = "bold $footer-key-foreground" if says else "bold"
        cells.append(Content.assemble((key, style), gap, (says, "$foreground-muted"), rest))
    return cells


def _first(keys: str) -> str:
    return keys.split(", ")[0]


def _label(id: str) -> str:
    from gshtui.ui.kit.keys.key_table import KEYS

    return _SAYS.get(id) or KEYS[id].label

"""What can be done with a row of the shell log: the actions, their keys, and which of them mean something for it.

Pure. Called by the shell log pane for its keys, and for the menu.
"""

from __future__ import annotations

from gshtui.bus.shell import ShellRecord
from gshtui.bus.shell_rows import Row

ACTIONS: tuple[str, ...] = ("open", "copy", "copy_output", "again", "ask", "pin", "note")
"""In the order of the menu; each is the row `shell.<action>` of the key table."""


def applicable(row: Row | None) -> list[str]:
    """The actions that mean something for the row."""
    if not isinstance(row, ShellRecord):
        return ["note"] if row is None else ["open", "copy", "note"]
    return [action for action in ACTIONS if action != "copy_output" or row.output]

"""What a pane about a context has under its cursor, and its request to act on it by a key of the key table.

Which commands fit is declared with them (`Action.where`); `ContextFeature` performs them.
"""

from __future__ import annotations

import msgspec

from gshtui.bus.context_data import Block
from gshtui.ui.kit.widget_messages import FeatureMessage


class ContextRow(msgspec.Struct, frozen=True):
    """An agent's context, and the place of the cursor in it."""

    agent: str
    at: str = ""
    """Id of a request; empty: the next one."""
    cut: str = ""
    """Id of a cut that an undo would take back; empty: none."""
    block: Block | None = None


class ContextWanted(FeatureMessage):
    """The action of a key is wanted for a row, or the pane's menu."""

    def __init__(self, key: str, row: ContextRow) -> None:
        super().__init__()
        self.key = key
        self.row = row

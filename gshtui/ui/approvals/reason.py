"""The small field in which a person says why they deny a call; the agent reads it.

It writes what it is given and nothing more: the panel that it belongs to keeps the focus and hands every key on in the
order of their pressing, so that none is taken for anything else while the field comes up or goes. Mounted by
`ApprovalsPane`.
"""

from __future__ import annotations

from textual import events

from gshtui.ui.kit.area import FoldingArea

MOST = 2_000


class ReasonInput(FoldingArea, can_focus=False):
    """One line; the panel ends it."""

    def __init__(self) -> None:
        super().__init__(id="reason", placeholder="Why not? The agent reads it · enter denies · esc goes back")

    @property
    def reason(self) -> str:
        """What is written, on one line."""
        from gshtui.guard.sanitise import one_line  # not before the first letter

        return one_line(self.value, MOST)

    async def write(self, event: events.Key) -> None:
        """Act on a key that the panel was given."""
        await self._on_key(event)

    @property
    def _draw_cursor(self) -> bool:
        return True  # it is written into as long as it is there

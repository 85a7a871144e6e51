"""The small field in which a person says why they deny a call; the agent reads it.

It knows the question that it belongs to and nothing more. Mounted by `ApprovalsPane` when it is asked for.
"""

from __future__ import annotations

from textual import events
from textual.message import Message

from gshtui.ui.widgets.prompt.area import FoldingArea

MOST = 2_000


class ReasonInput(FoldingArea):
    """One line; enter denies with it, escape goes back to the question."""

    class Given(Message):
        """The reason, perhaps empty."""

        def __init__(self, approval: str, reason: str) -> None:
            super().__init__()
            self.approval = approval
            self.reason = reason

    class Left(Message):
        """No reason is to be given after all."""

    def __init__(self, approval: str) -> None:
        self.approval = approval
        super().__init__(id="reason", placeholder="Why not? The agent reads it · enter denies · esc goes back")

    async def _on_key(self, event: events.Key) -> None:
        if event.key == "enter":
            from gshtui.guard.sanitise import one_line  # not before the first letter

            event.stop()
            event.prevent_default()
            self.post_message(self.Given(self.approval, one_line(self.value, MOST)))
        elif event.key == "escape":
            event.stop()
            event.prevent_default()
            self.post_message(self.Left())
        else:
            await super()._on_key(event)

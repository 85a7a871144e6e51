"""The reason of a denial: the line in which it is written, and what of a prompt can be one."""

from __future__ import annotations

from collections.abc import Callable

from textual import events

from gshtui.ui.kit.textual.painting import always_draws_cursor
from gshtui.ui.kit.widgets.folding_area import FoldingArea

REASON_LIMIT = 2_000
VOID = "the question has changed, so this reason denies nothing; escape closes it"
DENIES = "enter to deny"
SOON = "too soon, so this reason denies nothing; escape closes it"


def as_reason(text: str) -> str:
    """A text that was written as a prompt, on one line; empty: it is a command, or too long for a reason."""
    from gshtui.text.sanitise import one_line  # not before the first letter

    text = text.strip()
    return "" if text.startswith(("/", "!")) or len(text) > REASON_LIMIT else one_line(text, REASON_LIMIT)


@always_draws_cursor  # it takes input for as long as it is shown
class ReasonInput(FoldingArea, can_focus=False):
    """One line for the reason; the panel closes it."""

    def __init__(self, wrote: Callable[[], None]) -> None:
        super().__init__(id="reason", placeholder="Reason, sent to the agent")
        self._wrote = wrote

    def changed(self) -> None:
        self._wrote()

    @property
    def reason(self) -> str:
        """What is written, on one line."""
        from gshtui.text.sanitise import one_line  # not before the first letter

        return one_line(self.value, REASON_LIMIT)

    async def write(self, event: events.Key) -> None:
        """Handle a key passed on by the panel."""
        await self.on_key(event)

"""What a person writes in the panel: the reason of a denial, or the rule of an `always`. Decides nothing."""

from __future__ import annotations

from collections.abc import Callable

from textual import events
from textual.widget import Widget

from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.ui.approvals.reason_input import ReasonInput
from gshtui.ui.approvals.rule_form import RuleForm


class AnswerFields:
    """The fields of a panel.

    Args:
        wrote: told when a reason that is being written has changed.
    """

    def __init__(self, panel: Widget, wrote: Callable[[], None]) -> None:
        self._panel = panel
        self._wrote = wrote

    @property
    def reason(self) -> str:
        """The reason that is being written; empty: none."""
        return next((field.reason for field in self._panel.query(ReasonInput)), "")

    @property
    def rule(self) -> RuleForm | None:
        """The rule that is being looked at."""
        return next(iter(self._panel.query(RuleForm)), None)

    async def open_reason(self) -> None:
        if not self._panel.query(ReasonInput):
            await self._panel.mount(ReasonInput(self._wrote))

    async def close_reason(self) -> None:
        for field in self._panel.query(ReasonInput):
            await field.remove()
        self._wrote()

    async def open_rule(self, request: ApprovalRequested) -> None:
        await self._panel.mount(RuleForm(request))

    async def close_rule(self) -> None:
        for form in self._panel.query(RuleForm):
            await form.remove()

    async def write(self, event: events.Key) -> None:
        """Handle a key passed on by the panel."""
        for field in (*self._panel.query(ReasonInput), *self._panel.query(RuleForm)):
            await field.write(event)

    def paste(self, text: str) -> None:
        for field in (*self._panel.query(ReasonInput), *self._panel.query(RuleForm)):
            field.insert_pasted(text)

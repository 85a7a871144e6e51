"""The approvals inbox: questions wait in a panel above the input, the first in full, and are answered there.

It never takes the focus by itself, so that nobody who types answers by accident: a key or a click moves there. Keys
count only while it has the focus, and not in the first moments of a question. Fed by the bridge; publishes
`ApprovalAnswered`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import cast

from textual import events
from textual.widget import Widget

from gshtui.bus.events.approval import ApprovalAnswered, ApprovalRequested, Decision
from gshtui.ui.bindings import bind
from gshtui.ui.messages import Intent
from gshtui.ui.panes.answers import Answers
from gshtui.ui.panes.approvals_state import without
from gshtui.ui.panes.question_panel import QuestionPanel
from gshtui.ui.panes.reason import ReasonInput
from gshtui.ui.widgets.prompt.keys import OwnKeys

GUARD = 0.4
"""Seconds for which a question that came up by itself takes no answer: the key was meant for something else."""
GUARD_AFTER_KEY = 0.08
"""Seconds after the person's own key: shorter than two fingers, longer than a pasted or injected burst of keys."""


class ApprovalsPane(QuestionPanel, can_focus=True):
    """See the module.

    Args:
        home: who has the focus when there is nowhere to go back to.
        typed: takes letters that were typed here and can only have been meant for the input line.
        clock: seconds that never go back.
    """

    BINDINGS = [
        bind("approval.once", "answer('once')"),
        bind("approval.session", "answer('session')"),
        bind("approval.always", "answer('always')"),
        bind("approval.deny", "answer('deny')"),
        bind("approval.reason", "answer('reason')"),
        bind("approval.next", "turn(1)"),
        bind("approval.previous", "turn(-1)"),
        bind("approval.up", "scroll(-1)"),
        bind("approval.down", "scroll(1)"),
        bind("approval.page_up", "scroll(0, -1)"),
        bind("approval.page_down", "scroll(0, 1)"),
        bind("approval.back", "back"),
    ]

    def __init__(
        self,
        home: Callable[[], Widget | None] = lambda: None,
        typed: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self._home = home
        self._typed = typed
        self._clock = clock
        self._keys = OwnKeys()
        self._came_from: Widget | None = None
        self._coming = False
        self._focused_until = 0.0
        self._changed_until = 0.0

    def on_mount(self) -> None:
        self.watch(self.screen, "focused", self._noticed)

    def front_changed(self, request: ApprovalRequested | None) -> None:
        """Nobody has read this question yet; a reason that is being written was for another one."""
        self._changed_until = self._clock() + GUARD
        self._drop_reason()
        if request is None and self.has_focus_within:
            self.action_back()

    # Focus

    def review(self) -> None:
        """Go to the question in front; after the answer the focus goes back to where it is now."""
        if self.state.shown is not None and not self.has_focus_within:
            self._coming = True
            self.focus()

    def _noticed(self, focused: Widget | None) -> None:
        """Remember who had the focus last, outside of this panel."""
        if focused is not None and self not in focused.ancestors_with_self:
            self._came_from = focused

    def on_focus(self) -> None:
        """Say that keys count here, and from when on."""
        self._focused_until = self._clock() + (GUARD_AFTER_KEY if self._coming else GUARD)
        self._coming = False
        self.draw()

    def on_blur(self) -> None:
        self.draw()

    def action_back(self) -> None:
        """Go back to where the person was; the question waits."""
        came_from = self._came_from
        home = came_from if came_from is not None and came_from.is_attached and came_from.focusable else self._home()
        if home is not None:
            home.focus()

    # Answers

    async def _on_key(self, event: events.Key) -> None:
        action = self._keys.action(self, event.key)
        event.prevent_default()
        if action is not None:
            event.stop()
            await self.run_action(action)
        elif event.is_printable and event.character and "+" not in event.key:
            # No answer, so it was meant for the input line: it goes there, and the focus with it.
            event.stop()
            self._typed(event.character)

    def action_answer(self, answer: str) -> None:
        """An answer by key; it counts only when the person can have seen the question."""
        if self.has_focus and self._clock() >= max(self._focused_until, self._changed_until):
            self._answer(answer)

    def on_answers_clicked(self, message: Answers.Clicked) -> None:
        """An answer by click; the question must have stood there for a moment."""
        message.stop()
        if self._clock() >= self._changed_until:
            self._answer(message.answer)

    def _answer(self, answer: str) -> None:
        request = self.state.shown
        if request is None or (answer == "always" and not request.pattern):
            return
        if answer == "reason":
            self._ask_reason(request.approval)
        else:
            self._settle(request.approval, cast("Decision", answer), "")

    def _settle(self, approval: str, decision: Decision, reason: str) -> None:
        self.post_message(Intent(ApprovalAnswered(approval=approval, decision=decision, reason=reason)))
        had_focus = self.has_focus_within
        self.become(without(self.state, approval))
        if had_focus and self.state.shown is not None:  # with nothing left, the focus has gone back already
            self.action_back()

    def _ask_reason(self, approval: str) -> None:
        if not self.query(ReasonInput):
            field = ReasonInput(approval)
            self.mount(field)
            field.focus()

    def _drop_reason(self) -> None:
        for field in self.query(ReasonInput):
            if field.has_focus:
                self.action_back()
            field.remove()

    def on_reason_input_given(self, message: ReasonInput.Given) -> None:
        """The person said why not."""
        message.stop()
        self._settle(message.approval, "deny", message.reason)

    def on_reason_input_left(self, message: ReasonInput.Left) -> None:
        """The person would rather not say why; the question still waits."""
        message.stop()
        self._drop_reason()
        self._coming = True
        self.focus()

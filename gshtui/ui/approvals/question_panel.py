"""The panel of the approvals inbox: the question in front, which of how many it is, and what can be answered.

It shows; what a key means is `ApprovalsPane`'s affair, which extends it. The state is `approvals_state`'s.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widgets import Static

from gshtui.bus.event import Event
from gshtui.bus.events.approval import ApprovalRequested
from gshtui.guard.answer_keys import offers
from gshtui.ui.approvals.answers import Answers
from gshtui.ui.approvals.approvals_lines import lines, title
from gshtui.ui.approvals.approvals_state import CONSUMED, ApprovalsState, reduce, turned
from gshtui.ui.approvals.question_view import QuestionView
from gshtui.ui.kit.cells import fit
from gshtui.ui.kit.keys import key_of


class QuestionPanel(Vertical):
    """Hidden while nothing waits."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = CONSUMED

    def __init__(self) -> None:
        super().__init__(id="approvals")
        self.state = ApprovalsState()
        self.said = ""
        """What became of the last key, where a person could wonder."""
        self.display = False

    def compose(self) -> ComposeResult:
        """A title, the question, the answers."""
        yield Static(id="approval-title", markup=False)
        yield QuestionView(self.draw)
        yield Answers()

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        state = self.state
        for event in events:
            state = reduce(state, event)
        self.become(state)

    def become(self, state: ApprovalsState) -> None:
        """Show another state."""
        before, self.state = self.state, state
        if state is before:
            return
        request = state.shown
        if state.front != before.front:
            self.display = request is not None or self.writing
            if request is not None:
                self.query_one(QuestionView).ask(lines(request))
            self.front_changed(request)
        self.draw()

    def front_changed(self, request: ApprovalRequested | None) -> None:
        """Another question is in front, or none, and not yet on the screen. For who extends this."""

    def drawn(self) -> None:
        """The question in front has been painted. For who extends this."""

    @property
    def writing(self) -> bool:
        """Whether a reason is being written; it may outlive its question. For who extends this."""
        return False

    def say(self, words: str) -> None:
        """Say what became of a key; empty: nothing that a person could wonder about."""
        self.said = words
        self.draw()

    def on_resize(self) -> None:
        self.draw()

    def draw(self) -> None:
        """Show the question in front as the window's size allows: half of it at most."""
        request = self.state.shown
        if not self.is_mounted or (request is None and not self.writing):
            return
        self.call_after_refresh(self.drawn)
        if request is None:
            self.query_one("#approval-title", Static).update(f"◆ {self.said}")
            return
        height, width = self.screen.size.height, self.size.width or self.screen.size.width
        self.set_class(height < 16, "-low")
        self.set_class(height < 9, "-tiny")
        inner = max(8, self.content_size.width or width - 4)
        rows = self.query_one(Answers).offer(request.approval, offers(request.pattern), inner)
        frame = 0 if height < 16 else 2
        view = self.query_one(QuestionView)
        view.fit(inner, max(1, height // 2 - 1 - frame - rows))
        tail = f" · ↓ {view.hidden} more" if view.hidden else ""
        tail += f" · {self.said}" if self.said else ""
        tail += "" if self.has_focus_within else f" · {key_of(self, 'approval.focus')} answers"
        heading = title(request, self.state.place, len(self.state.waiting), self.state.names.get(request.agent, ""))
        heading = fit(f"◆ {heading}", max(8, width - 4 - len(tail))) + tail
        self.query_one("#approval-title", Static).update(heading)

    def action_turn(self, by: int) -> None:
        """Another question in front."""
        self.become(turned(self.state, by))

    def action_scroll(self, lines: int, pages: int = 0) -> None:
        """Scroll the question by some lines, and by what is seen of it."""
        view = self.query_one(QuestionView)
        view.scroll_relative(y=lines + pages * max(1, view.size.height - 1), animate=False)

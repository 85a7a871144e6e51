"""The approvals inbox: questions wait in a panel above the input, the first in full, and are answered there.

It never takes the focus by itself, so that nobody who types answers by accident: a key or a click moves there. Keys
count only while it has the focus, and not in the first moments of a question. Fed by the bridge; publishes
`ApprovalAnswered`; the state is `approvals_state`'s.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar, cast

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Static

from gshtui.bus.event import Event
from gshtui.bus.events.approval import ApprovalAnswered, Decision
from gshtui.ui.bindings import bind
from gshtui.ui.messages import Intent
from gshtui.ui.panes.approvals_lines import lines, title
from gshtui.ui.panes.approvals_state import CONSUMED, ApprovalsState, reduce, turned, without
from gshtui.ui.panes.question_view import QuestionView
from gshtui.ui.panes.reason import ReasonInput
from gshtui.ui.widgets.prompt.cells import fit
from gshtui.ui.widgets.prompt.keys import OwnKeys, key_of

GUARD = 0.4
"""Seconds for which a question that came up by itself takes no answer: the key was meant for something else."""
GUARD_AFTER_KEY = 0.08
"""Seconds after the person's own key: shorter than two fingers, longer than a pasted or injected burst of keys."""
ANSWERS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("1", "once", ("allow once", "allow once", "yes", "")),
    ("2", "session", ("this exact call for the session", "for this session", "session", "")),
    ("3", "always", ("always this pattern", "always", "always", "")),
    ("4", "deny", ("deny", "deny", "no", "")),
    ("5", "reason", ("deny with a reason", "deny, why", "why", "")),
)
"""Key, answer, and its words from the longest to none: the first that fit are shown."""


class ApprovalsPane(Vertical, can_focus=True):
    """Hidden while nothing waits. `home`: who has the focus when there is nowhere to go back to."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = CONSUMED
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
        bind("approval.page_up", "page(-1)"),
        bind("approval.page_down", "page(1)"),
        bind("approval.back", "back"),
    ]

    def __init__(
        self,
        home: Callable[[], Widget | None] = lambda: None,
        typed: Callable[[str], None] = lambda _: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(id="approvals")
        self.state = ApprovalsState()
        self._home = home
        self._typed = typed
        self._clock = clock
        self._keys = OwnKeys()
        self._came_from: Widget | None = None
        self._coming = False
        self._focused_until = 0.0
        self._changed_until = 0.0
        self.display = False

    def compose(self) -> ComposeResult:
        """A title, the question, the answers."""
        yield Static(id="approval-title", markup=False)
        yield QuestionView(self.draw)
        yield Answers()

    def on_mount(self) -> None:
        self.watch(self.screen, "focused", self._noticed)

    # What comes in

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        state = self.state
        for event in events:
            state = reduce(state, event)
        self._become(state)

    def _become(self, state: ApprovalsState) -> None:
        before, self.state = self.state, state
        if state is before:
            return
        request = state.shown
        if state.front != before.front:
            self._changed_until = self._clock() + GUARD
            self._drop_reason()
            self.display = request is not None
            if request is not None:
                self.query_one(QuestionView).ask(lines(request))
            elif self.has_focus_within:
                self._go_back()
        self.draw()

    def on_resize(self) -> None:
        self.draw()

    def draw(self) -> None:
        """Show the question in front as the window's size allows."""
        request = self.state.shown
        if request is None or not self.is_mounted:
            return
        height, width = self.screen.size.height, self.size.width or self.screen.size.width
        self.set_class(height < 16, "-low")
        self.set_class(height < 9, "-tiny")
        answers = self.query_one(Answers)
        rows = answers.offer(bool(request.pattern), max(8, self.content_size.width or width - 4))
        frame = 0 if height < 16 else 2
        most = max(1, height // 2 - 1 - frame - rows)
        view = self.query_one(QuestionView)
        view.fit(self.content_size.width or width - 4, most)
        below = f" · ↓ {view.hidden} more" if view.hidden else ""
        below += "" if self.has_focus_within else f" · {key_of(self, 'approval.focus')} answers"
        heading = title(request, self.state.place, len(self.state.waiting))
        heading = fit(f"◆ {heading}", max(8, width - 4 - len(below))) + below
        self.query_one("#approval-title", Static).update(heading)

    # Focus

    def review(self) -> None:
        """Go to the question in front; after the answer the focus goes back to where it is now."""
        if self.state.shown is None or self.has_focus_within:
            return
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

    def _go_back(self) -> None:
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

    def answer_by_mouse(self, answer: str) -> None:
        """An answer by click; the question must have stood there for a moment."""
        if self._clock() >= self._changed_until:
            self._answer(answer)

    def _answer(self, answer: str) -> None:
        request = self.state.shown
        if request is None or (answer == "always" and not request.pattern):
            return
        if answer == "reason":
            self._ask_reason()
            return
        self._settle(request.approval, cast("Decision", answer), "")

    def _settle(self, approval: str, decision: Decision, reason: str) -> None:
        self.post_message(Intent(ApprovalAnswered(approval=approval, decision=decision, reason=reason)))
        had_focus = self.has_focus_within
        self._become(without(self.state, approval))
        if had_focus and self.state.shown is not None:  # with nothing left, the focus has gone back already
            self._go_back()

    def _ask_reason(self) -> None:
        if not self.query(ReasonInput):
            request = self.state.shown
            field = ReasonInput(request.approval if request is not None else "")
            self.mount(field)
            field.focus()

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

    def _drop_reason(self) -> None:
        for field in self.query(ReasonInput):
            if field.has_focus:
                self._go_back()
            field.remove()

    # Moving

    def action_turn(self, by: int) -> None:
        """Another question in front."""
        self._become(turned(self.state, by))

    def action_scroll(self, by: int) -> None:
        """Scroll the question by a line."""
        self.query_one(QuestionView).scroll_relative(y=by, animate=False)

    def action_page(self, by: int) -> None:
        """Scroll the question by what is seen of it."""
        view = self.query_one(QuestionView)
        view.scroll_relative(y=by * max(1, view.size.height - 1), animate=False)

    def action_back(self) -> None:
        """Leave the question waiting."""
        self._go_back()


class Answers(Static):
    """The answers that can be given, each with its key; a click gives it."""

    def __init__(self) -> None:
        super().__init__(id="answers", markup=False)

    def offer(self, with_pattern: bool, width: int) -> int:
        """Show what can be answered, in words as long as there is room for; rows that it takes."""
        offered = [row for row in ANSWERS if with_pattern or row[1] != "always"]
        parts: list[tuple[str, str]] = []
        for size in range(4):
            parts = [(f"{key} {words[size]}".rstrip(), answer) for key, answer, words in offered]
            if sum(len(text) + 2 for text, _ in parts) - 2 <= width:
                break
        line = Content()
        for text, answer in parts:
            style = Style.from_meta({"@click": f"give({answer!r})"})
            key, _, word = text.partition(" ")
            line = Content.assemble(line, "  " if len(line) else "")
            start = len(line)
            line = Content.assemble(line, (key, "bold $text-accent"), f" {word}" if word else "")
            line = line.stylize(style, start)
        self.update(line)
        return max(1, -(-line.cell_length // max(1, width)))

    def action_give(self, answer: str) -> None:
        """An answer was clicked."""
        pane = self.parent
        if isinstance(pane, ApprovalsPane):
            pane.answer_by_mouse(answer)

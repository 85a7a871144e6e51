"""A card above the input for a summary that waits: read it, accept it, change it or reject it.

It never takes the focus by itself: a key or a click moves there, and keys count only while it has the focus and the
summary that they are about could be read. Fed by the bridge; made by `ContextWatch` when the first summary waits.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.app import RenderResult
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from gshtui.bus.event import Event
from gshtui.bus.events.context import SummaryProposed
from gshtui.guard.answer_keys import AnswerKeys, Choice, Chosen, Passed
from gshtui.guard.sanitise import one_line
from gshtui.ui.context.summaries_state import CONSUMED, SummariesState, overdue, reduce
from gshtui.ui.kit import figures
from gshtui.ui.kit.bindings import bind
from gshtui.ui.kit.keys import OwnKeys, key_of

_ANSWERS: dict[str, tuple[Choice, str]] = {
    "answer('accept')": ("once", "accept"),
    "answer('edit')": ("session", "edit"),
    "answer('reject')": ("deny", "reject"),
}
"""Bound action → the answer that it is to `AnswerKeys`, and how the summary is answered."""
_CHOICES = frozenset(choice for choice, _ in _ANSWERS.values())
SHOWN = 3
"""Lines of a summary on the card."""


class SummariesPane(Widget, can_focus=True):
    """See the module.

    Args:
        home: who has the focus when there is nowhere to go back to.
        clock: seconds since the epoch.
    """

    CONSUMES: ClassVar[tuple[type[Event], ...]] = CONSUMED
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("summary.accept", "answer('accept')"),
        bind("summary.edit", "answer('edit')"),
        bind("summary.reject", "answer('reject')"),
        bind("summary.open", "answer('read')"),
        bind("summary.back", "back"),
    ]

    class Answered(Message):
        """`accept`, `edit`, `reject`, or `read` for more of it."""

        def __init__(self, proposed: SummaryProposed, how: str) -> None:
            super().__init__()
            self.proposed = proposed
            self.how = how

    def __init__(self, home: Widget, clock: Callable[[], float]) -> None:
        super().__init__(id="summaries")
        self.state = SummariesState()
        self._home = home
        self._clock = clock
        self._keys = AnswerKeys()
        self._bound = OwnKeys()
        self._coming = False
        self._down = 0.0
        self.display = False

    def on_mount(self) -> None:
        self.watch(self.screen, "stack_updates", self._uncovered, init=False)
        # The time that is left is in the card; nothing else of it changes by itself.
        self.set_interval(1.0, self._tick)

    def _tick(self) -> None:
        if self.state.waiting:
            self._become(overdue(self.state, self._clock()))
            self.refresh()

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        state = self.state
        for event in events:
            state = reduce(state, event)
        self._become(state)

    def _become(self, state: SummariesState) -> None:
        if state is self.state:
            return
        before, self.state = self.state.shown, state
        if state.shown is None:
            self._keys.clear()
        elif before is None or before.receipt.id != state.shown.receipt.id:
            self._keys.expect()
            self.call_after_refresh(self._drawn)
        self.set_class(self.screen.size.height < 16, "-low")
        self.display = state.shown is not None
        if state.shown is None and self.has_focus:
            self._home.focus()
        self.refresh(layout=True)

    def render(self) -> RenderResult:
        proposed = self.state.shown
        if proposed is None:
            return Content("")
        receipt = proposed.receipt
        sizes = f"{figures.tokens(receipt.tokens_before)} → {figures.tokens(receipt.tokens_after)} tokens"
        left = f" · accepts itself in {figures.age(proposed.deadline - self._clock())}" if proposed.deadline else ""
        more = f" · 1 of {len(self.state.waiting)}" if len(self.state.waiting) > 1 else ""
        head = f"{one_line(proposed.agent, 40)} would compact · {sizes}{left}{more}"
        lines = [Content.styled(head, "bold $text-accent")]
        if self.screen.size.height >= 16:
            shown = [line for line in receipt.summary.split("\n") if line.strip()][:SHOWN]
            lines += [Content.styled(one_line(line.lstrip("# "), 200), "$foreground-muted") for line in shown]
        lines.append(self._answers())
        width = max(8, self.content_size.width or 80)
        return Content("\n").join([line.truncate(width, ellipsis=True) for line in lines])

    def _answers(self) -> Content:
        if not self.has_focus:
            return Content.styled(f"{key_of(self, 'approval.focus')} or a click goes there", "$foreground-muted")
        names = {"accept": "accept", "edit": "edit", "reject": "reject", "open": "read all", "back": "later"}
        shown = [(f"{key_of(self, f'summary.{name}')} {words}") for name, words in names.items()]
        return Content("   ".join(shown))

    def _drawn(self) -> None:
        """The screen has been painted."""
        shown = self.state.shown
        if shown is not None and self.is_attached:
            self._keys.show(shown.receipt.id, _CHOICES, time.monotonic())

    def _uncovered(self) -> None:
        """A screen that lay over the card has gone; what was answered there may wait still."""
        self._keys.look(time.monotonic())
        self.call_after_refresh(self._drawn)

    def action_review(self) -> None:
        """Go to the summary in front, by the person's own key."""
        if self.screen.focused is not self:
            self._coming = True
            self._keys.come(time.monotonic())
            self.screen.set_focus(self)

    def on_focus(self) -> None:
        if not self._coming:
            self._keys.look(time.monotonic())
        self._coming = False
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_key(self, event: events.Key) -> None:
        """An answer by key is to the summary that was in front when the key was pressed."""
        action = self._bound.action(self, event.key)
        choice, how = _ANSWERS.get(action or "", (None, ""))
        kind = choice or ("move" if action else "words")
        outcome = self._keys.press(kind, event.time, printable=event.is_printable)
        if isinstance(outcome, Chosen):
            self._answer(outcome.question, how)
        if choice is not None or not (isinstance(outcome, Passed) and outcome.to == "panel"):
            event.stop()
            event.prevent_default()

    def _answer(self, summary: str, how: str) -> None:
        shown = self.state.shown
        if shown is not None and shown.receipt.id == summary:
            self.post_message(self.Answered(shown, how))

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._down = event.time

    def on_click(self, event: events.Click) -> None:
        event.stop()
        if event.chain == 2:
            self.action_answer("read")

    def action_answer(self, how: str) -> None:
        """More of it is wanted, or an answer was clicked at the foot of the window. Answers by key come by `on_key`."""
        shown = self.state.shown
        if shown is None:
            return
        if how == "read":
            self.post_message(self.Answered(shown, how))
            return
        choice: Choice = next(choice for choice, name in _ANSWERS.values() if name == how)
        if isinstance(self._keys.click(choice, shown.receipt.id, self._down), Chosen):
            self._answer(shown.receipt.id, how)

    def action_back(self) -> None:
        self._home.focus()

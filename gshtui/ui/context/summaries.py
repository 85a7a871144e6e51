"""Summaries waiting for a person: a card above the input to read, accept, edit or reject one, and the edit dialog.

The card never takes the focus by itself: a key or a click moves there, and its keys count only while it has the focus.
Neither judges nor stores a summary.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import ClassVar

import msgspec
from textual import events, on
from textual.app import ComposeResult, RenderResult
from textual.binding import BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button, Static, TextArea

from gshtui.bus.event import Event
from gshtui.bus.events.context_events import ContextCut, CutFailed, SummaryAnswered, SummaryProposed
from gshtui.guard.approval.answer_keys import AnswerKeys, Choice, KeyChosen, Passed
from gshtui.text.sanitise import literal, one_line
from gshtui.ui.kit.drawing import figures
from gshtui.ui.kit.keys.bound_keys import BoundKeys, key_of
from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.textual.typed_app import app_of
from gshtui.ui.kit.widgets.box import Box

CONSUMED: tuple[type[Event], ...] = (ContextCut, CutFailed, SummaryAnswered, SummaryProposed)


class SummariesState(msgspec.Struct, frozen=True):
    """In order of arrival."""

    waiting: tuple[SummaryProposed, ...] = ()

    @property
    def shown(self) -> SummaryProposed | None:
        """The one in front."""
        return self.waiting[0] if self.waiting else None


def reduce(state: SummariesState, event: Event) -> SummariesState:
    """The state after an event; a summary stops waiting when it is answered, applied or has failed."""
    match event:
        case SummaryProposed():
            known = any(one.receipt.id == event.receipt.id for one in state.waiting)
            return state if known else SummariesState((*state.waiting, event))
        case SummaryAnswered():
            return without(state, lambda one: one.receipt.id == event.cut)
        case ContextCut() if event.receipt.kind == "compact":
            return without(state, lambda one: one.agent == event.agent)
        case CutFailed() if event.kind == "compact":
            return without(state, lambda one: one.agent == event.agent)
        case _:
            return state


def overdue(state: SummariesState, now: float) -> SummariesState:
    """Without those whose time is up: they count as accepted."""
    return without(state, lambda one: bool(one.deadline) and one.deadline <= now)


def without(state: SummariesState, gone: Callable[[SummaryProposed], bool]) -> SummariesState:
    """Without these; the same object if it has none of them."""
    left = tuple(one for one in state.waiting if not gone(one))
    return state if len(left) == len(state.waiting) else SummariesState(left)


_ANSWERS: dict[str, tuple[Choice, str]] = {
    "answer('accept')": ("once", "accept"),
    "answer('edit')": ("session", "edit"),
    "answer('reject')": ("deny", "reject"),
}
"""Bound action → its answer for `AnswerKeys`, and how it answers the summary."""
_CHOICES = frozenset(choice for choice, _ in _ANSWERS.values())
SHOWN = 3
"""Lines of the summary shown on the card."""


class SummariesPane(Widget, can_focus=True):
    """See the module.

    Args:
        home: who has the focus when there is nowhere to go back to.
        clock: seconds since the epoch.
        answered: receives a summary and the person's answer: `accept`, `edit`, `reject`, or `read` for all of it.
    """

    CONSUMES: ClassVar[tuple[type[Event], ...]] = CONSUMED
    BINDINGS: ClassVar[list[BindingType]] = [
        bind("summary.accept", "answer('accept')"),
        bind("summary.edit", "answer('edit')"),
        bind("summary.reject", "answer('reject')"),
        bind("summary.open", "answer('read')"),
        bind("summary.back", "back"),
    ]

    def __init__(
        self, home: Widget, clock: Callable[[], float], answered: Callable[[SummaryProposed, str], None]
    ) -> None:
        super().__init__(id="summaries")
        self.state = SummariesState()
        self._home = home
        self._clock = clock
        self._answered = answered
        self._keys = AnswerKeys()
        self._bound = BoundKeys()
        self._coming = False
        self._down = 0.0
        self.display = False

    def on_mount(self) -> None:
        self.watch(self.screen, "stack_updates", self._uncovered, init=False)
        # The card shows the remaining time; nothing else in it changes by itself.
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
            self._keys.clear_question()
        elif before is None or before.receipt.id != state.shown.receipt.id:
            self._keys.expect_question()
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
        left = (
            f" · accepted automatically in {figures.age(proposed.deadline - self._clock())}"
            if proposed.deadline
            else ""
        )
        more = f" · 1 of {len(self.state.waiting)}" if len(self.state.waiting) > 1 else ""
        head = f"{one_line(proposed.agent, 40)} wants to compact · {sizes}{left}{more}"
        lines = [Content.styled(head, "bold $accent")]
        if self.screen.size.height >= 16:
            shown = [line for line in receipt.summary.split("\n") if line.strip()][:SHOWN]
            lines += [Content.styled(one_line(line.lstrip("# "), 200), "$foreground-muted") for line in shown]
        lines.append(self._answers())
        width = max(8, self.content_size.width or 80)
        return Content("\n").join([line.truncate(width, ellipsis=True) for line in lines])

    def _answers(self) -> Content:
        if not self.has_focus or self._keys.replaced:
            return Content.styled(f"{key_of(self, 'approval.focus')} or click to answer", "$foreground-muted")
        names = {"accept": "accept", "edit": "edit", "reject": "reject", "open": "read all", "back": "later"}
        shown = [(f"{key_of(self, f'summary.{name}')} {words}") for name, words in names.items()]
        return Content("   ".join(shown))

    def _drawn(self) -> None:
        """The screen has been painted."""
        shown = self.state.shown
        if shown is not None and self.is_attached:
            self._keys.show_question(shown.receipt.id, _CHOICES, time.monotonic())

    def _uncovered(self) -> None:
        """A screen over the card was closed; what was answered there may still wait."""
        self._keys.question_seen(time.monotonic())
        self.call_after_refresh(self._drawn)

    def action_review(self) -> None:
        """Focus the summary in front; the person pressed the key."""
        here = self.screen.focused is self
        if here and not self._keys.replaced:
            return
        self._keys.person_arrived(time.monotonic())
        if here:
            self.refresh()
        else:
            self._coming = True
            self.screen.set_focus(self)

    def on_focus(self) -> None:
        if not self._coming:
            self._keys.question_seen(time.monotonic())
        self._coming = False
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    def on_key(self, event: events.Key) -> None:
        """A key answers the summary that was in front when it was pressed."""
        action = self._bound.action(self, event.key)
        choice, how = _ANSWERS.get(action or "", (None, ""))
        kind = choice or ("move" if action else "words")
        outcome = self._keys.press(kind, event.time, printable=event.is_printable)
        if isinstance(outcome, KeyChosen):
            self._answer(outcome.question, how)
        if choice is not None or not (isinstance(outcome, Passed) and outcome.to == "panel"):
            event.stop()
            event.prevent_default()

    def _answer(self, summary: str, how: str) -> None:
        shown = self.state.shown
        if shown is not None and shown.receipt.id == summary:
            self._answered(shown, how)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._down = event.time

    def on_click(self, event: events.Click) -> None:
        event.stop()
        if event.chain == 2:
            self.action_answer("read")

    def action_answer(self, how: str) -> None:
        """Read more, or an answer was clicked in the key bar. Keys arrive in `on_key`."""
        shown = self.state.shown
        if shown is None:
            return
        if how == "read":
            self._answered(shown, how)
            return
        choice: Choice = next(choice for choice, name in _ANSWERS.values() if name == how)
        if isinstance(self._keys.click(choice, shown.receipt.id, self._down), KeyChosen):
            self._answer(shown.receipt.id, how)

    def action_back(self) -> None:
        self._home.focus()


class SummaryScreen(Box[str | None]):
    """See the module."""

    BINDINGS = [bind("form.submit", "submit"), bind("form.close", "leave"), bind("summary.editor", "editor")]

    def __init__(self, text: str) -> None:
        super().__init__()
        self._was = literal(text)

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog -wide -summary"):
            yield Static(Content("Edit the summary"), classes="dialog-title")
            yield TextArea(self._was, id="summary-text", compact=True, soft_wrap=True)
            yield Static("", markup=False, classes="dialog-hint", id="summary-size")
            with Horizontal(classes="dialog-buttons"):
                yield Button("Use it (ctrl+s)", id="take", variant="primary", compact=True)
                yield Button(f"Editor ({key_of(self, 'summary.editor')})", id="editor", compact=True)
                yield Button("Cancel (escape)", id="leave", compact=True)

    def on_mount(self) -> None:
        self.query_one(TextArea).focus()
        self._measure()

    @on(TextArea.Changed)
    def _measure(self) -> None:
        size = len(self.query_one(TextArea).text.encode()) // 4
        was = len(self._was.encode()) // 4
        words = f"about {figures.tokens(size)} tokens (was {figures.tokens(was)}), sent with every request"
        self.query_one("#summary-size", Static).update(words)

    @on(Button.Pressed)
    async def _pressed(self, event: Button.Pressed) -> None:
        event.stop()
        await {"take": self.action_submit, "editor": self.action_editor, "leave": self.action_leave}[
            event.button.id or "leave"
        ]()

    async def action_submit(self) -> None:
        text = self.query_one(TextArea).text
        if text.strip():
            self.dismiss(text)
        else:
            self.notify("An empty summary would lose everything it replaces; reject it instead.", markup=False)

    async def action_leave(self) -> None:
        self.dismiss(None)

    async def action_editor(self) -> None:
        """Write in `$VISUAL` or `$EDITOR`."""
        self.run_worker(self._edit(), exit_on_error=False, exclusive=True, group="editor")

    async def _edit(self) -> None:
        from gshtui.system.editor_command import EditorError
        from gshtui.ui.kit.terminal_handoff import edit_text

        area = self.query_one(TextArea)
        try:
            area.text = literal(await edit_text(app_of(self), area.text))
        except EditorError as error:
            self.notify(str(error), severity="error", markup=False, timeout=8)

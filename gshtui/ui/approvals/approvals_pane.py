"""The approvals inbox: a panel above the input where questions wait, the first shown in full, and are answered.

It never takes the focus by itself, so that nobody answers by accident while typing: a key or a click moves there.
`AnswerKeys` decides what a key means; the panel reports when a question was painted and when each key was pressed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from msgspec.structs import replace
from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.widget import Widget
from textual.widgets import Static

from gshtui.bus.event import Event
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested
from gshtui.bus.events.hub_events import HubStarted
from gshtui.guard.approval.answer_keys import (
    CHANGED,
    NO_REASON,
    OPEN,
    UNREAD,
    VALUES,
    AnswerKeys,
    KeyChosen,
    Outcome,
    Passed,
    ReasonBegun,
    RuleBegun,
    Swallowed,
    absent,
    changing,
    choices,
)
from gshtui.guard.approval.open_approvals import APPROVAL_EVENTS
from gshtui.guard.approval.question_text import question_parts
from gshtui.ui.approvals.answer_fields import DENIES, RULE_VOID, SOON, VOID, AnswerFields
from gshtui.ui.approvals.approvals_state import (
    ApprovalsState,
    asked_fields,
    being_answered,
    choice_of_key,
    how_same,
    not_answered,
    reduce_approvals,
    turned_to,
    turned_to_agent,
    turned_where_person_is,
    without_question,
)
from gshtui.ui.approvals.question_panel import WaitingQuestion, draw_question, waiting_row
from gshtui.ui.approvals.question_sight import QuestionSight, TabAbove
from gshtui.ui.approvals.question_view import Answers, QuestionView
from gshtui.ui.kit.keys.bound_keys import BoundKeys, key_of
from gshtui.ui.kit.keys.key_table import bind
from gshtui.ui.kit.textual.typed_app import app_of, pressed_at
from gshtui.ui.kit.widget_messages import FeatureMessage, Intent, OpenTerminal


class ApprovalsPane(Vertical, can_focus=True):
    """See the module. Hidden while no question waits.

    Args:
        home: the widget to focus when there is nowhere to go back to.
        typed: receives letters typed here that were clearly meant for the input line.
        wrote: told when a reason that is being written has changed.
        folder: where the window's own agent works: that goes without saying in the row that waits.
        written: what stands in the input and may be the reason of a denial; empty: nothing.
        above: the tab in front.
        denies: told the agent, and its name, whose question what stands in the input would deny; empty: no one's.
        clock: monotonic seconds, the clock that Textual stamps keys with.
    """

    CONSUMES: ClassVar[tuple[type[Event], ...]] = (*APPROVAL_EVENTS, HubStarted)
    BINDINGS = [
        bind("approval.once", "answer('once')"),
        bind("approval.session", "answer('session')"),
        bind("approval.always", "answer('always')"),
        bind("approval.deny", "answer('deny')"),
        bind("approval.reason", "answer('reason')"),
        bind("approval.next", "turn(1)"),
        bind("approval.previous", "turn(-1)"),
        bind("approval.up", "mark(-1)"),
        bind("approval.down", "mark(1)"),
        bind("approval.give", "give_written('reason')"),
        bind("approval.save", "give_written('rule')"),
        bind("approval.choose", "choose"),
        bind("approval.next_hunk", "hunk(1)"),
        bind("approval.previous_hunk", "hunk(-1)"),
        bind("approval.scroll_up", "scroll(-1)"),
        bind("approval.scroll_down", "scroll(1)"),
        bind("approval.page_up", "scroll(0, -1)"),
        bind("approval.page_down", "scroll(0, 1)"),
        bind("approval.back", "back"),
    ]

    class ProgramAnswered(FeatureMessage):
        """The person chose one of a program's own answers to exactly this question."""

        def __init__(self, agent: str, question: str, choice: str) -> None:
            super().__init__()
            self.agent = agent
            self.question = question
            self.choice = choice

    class FormWanted(FeatureMessage):
        """The person wants to fill in what this question asks for."""

        def __init__(self, request: ApprovalRequested) -> None:
            super().__init__()
            self.request = request

    def __init__(
        self,
        home: Callable[[], Widget | None],
        typed: Callable[[str], None],
        wrote: Callable[[], None],
        clock: Callable[[], float],
        folder: str,
        written: Callable[[], str],
        above: TabAbove,
        denies: Callable[[str, str], None],
    ) -> None:
        super().__init__(id="approvals")
        self.state = ApprovalsState()
        self.said = ""
        """What the last key did, if that is not obvious."""
        self.needs = 0
        """How many questions wait in all, as the header says; some can be read only where they are asked."""
        self.display = False
        self._home = home
        self._typed = typed
        self.fields = AnswerFields(self, wrote)
        self._clock = clock
        self._folder = folder
        self._written = written
        self._sight = QuestionSight(self, above)
        self._denies = denies
        self._bound = BoundKeys()
        self._keys = AnswerKeys()
        self._came_from: Widget | None = None
        self._coming = False
        self._scrolls = False
        """Whether rows of the question are out of sight."""
        self._agent = ""
        """The agent of the tab in front, whose questions come first while nobody has gone to another."""

    def compose(self) -> ComposeResult:
        """A title, the question, the answers."""
        yield Static(id="approval-title", markup=False)
        yield QuestionView(self.draw)
        yield Static(id="approval-where", markup=False)
        yield Answers()
        yield Static(id="approval-note", markup=False)

    def on_mount(self) -> None:
        self.watch(self.screen, "focused", self._noticed)
        self.watch(self.screen, "stack_updates", lambda: self._keys.question_seen(self._clock()), init=False)
        self.screen.screen_layout_refresh_signal.subscribe(self, self._laid_out, immediate=True)  # pyright: ignore[reportUnknownMemberType]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The key bar and F1 list only what this question offers, and no answer while one is being written."""
        shown = self.state.shown
        if action in ("answer", "mark", "choose", "turn", "hunk", "scroll") and self.writing:
            return False
        if action == "answer" and shown is not None:
            return any(offer.choice == parameters[0] for offer in self.state.offered) and not asked_fields(shown)
        if action == "give_written":
            return self._keys.reason_counts if parameters == ("reason",) else self._keys.rule_counts
        if action == "hunk":
            return shown is not None and self.query_one(QuestionView).has_changes
        if action in ("scroll", "turn"):
            return self._scrolls if action == "scroll" else len(self.state.waiting) > 1
        return super().check_action(action, parameters)

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        state = self.state
        for event in events:
            state = reduce_approvals(state, event)
        if not self._is_open:
            state = turned_where_person_is(state, self._agent, changed=state.open is not self.state.open)
        self.become(state)

    def become(self, state: ApprovalsState) -> None:
        """Show a new state."""
        before, self.state = self.state, state
        if state is before:
            return
        request = state.shown
        if state.front != before.front or request != before.shown:
            self._appear(request is not None or self.writing)
            if request is not None:
                self.query_one(QuestionView).ask(question_parts(request), request.subject)
        if state.front != before.front and (same := how_same(before, state)):
            self._keys.rename_question(before.front, state.front, self._clock() if same == "completed" else 0.0)
            self.query_one(Answers).rename_question(before.front, state.front)
        elif state.front != before.front:  # nobody has seen it yet; a reason being written denies nothing now
            self.refresh_bindings()
            if request is not None:
                self._keys.expect_question()
            else:
                self._keys.clear_question()
            if self.writing:
                self.said = VOID if self._keys.in_reason else RULE_VOID
            elif request is None and self.has_focus:
                self.action_back()
        self.draw()

    # What is on the screen

    def _appear(self, shown: bool) -> None:
        self.display = shown
        if not shown:
            self._sight.report_change(None)
        self._denies("", "")

    def _drawn(self) -> None:
        """The screen has been painted."""
        request = self.state.shown
        if request is None or not (self.is_attached and self.region.height):
            return
        self.look_again()  # the conversation is laid out only now
        self._keys.show_row(request.approval, self._clock())
        if self._sight.is_seen(request):
            self._show_question(request)

    def _show_question(self, request: ApprovalRequested) -> None:
        """What an answer would decide is on the screen, as far as it has been read."""
        self._keys.show_question(
            request.approval,
            choices(self.state.numbered),
            self._clock(),
            unread=self._sight.unread_answers(self.state),
            twice=changing(self.state.programs.get(request.approval)),
            absent=absent(self.state.numbered),
        )

    def _look(self) -> None:
        """Before a key: what the window has no room for any more does not count."""
        request = self.state.shown
        if request is not None and self._keys.question == request.approval:
            self._show_question(request)

    def _laid_out(self, _screen: object) -> None:
        """The window, or what is beside the panel, may have another size."""
        if self._sight.panel_has_moved():
            self.show_message("" if self.said == UNREAD else self.said)  # it may all be read now

    def look_again(self) -> None:
        """The conversation has moved: all of the change in question may be on the screen now, or no longer."""
        request = self.state.shown
        if request is not None and not self._is_open and self._sight.row_is_stale(request):
            self.draw()

    @property
    def writing(self) -> bool:
        """Whether a reason or a rule is being written; it may outlive its question."""
        return self._keys.in_reason or self._keys.in_rule

    def show_message(self, words: str) -> None:
        """Show what a key did; empty: nothing to explain."""
        self.said = words
        self.refresh_bindings()
        self.draw()

    def on_resize(self) -> None:
        self.draw()

    @property
    def _is_open(self) -> bool:
        """Whether all of the question is shown: the person has gone to it, and not left for anything of this window."""
        here = self.screen.focused is self or self.writing
        return here or (self.has_class("-open") and not app_of(self).app_focus)

    def draw(self) -> None:
        """Show the question in front: in one row until the person goes to it, then in at most half of the window."""
        request = self.state.shown
        if not self.is_mounted or (request is None and not self.writing):
            return
        self.call_after_refresh(self._drawn)
        opened, count = self._is_open, max(self.needs, len(self.state.waiting))
        self.set_class(opened, "-open")
        denied = not opened and self.state.takes_reason and not self._keys.replaced and bool(self._written())
        agent = request.agent if request is not None and denied else ""
        self._denies(agent, self.state.names.get(agent) or agent)
        view, answers = self.query_one(QuestionView), self.query_one(Answers)
        answers.show(opened and request is not None and not self._keys.in_rule)
        if opened or request is None:
            view.display = answers.display
        for extra in ("#approval-where", "#approval-note"):
            self.query_one(extra).display = False
        if request is None:
            self.query_one("#approval-title", Static).update(f"◆ {self.said}")
        elif opened:
            known, here = not self._keys.replaced, self.screen.focused is self and not self.writing
            draw_question(self, self.state, request, count, known=known, marks=here and known, said=self.said)
        else:
            self._draw_row(request, count)
        scrolls = bool(view.above or view.hidden)
        if scrolls is not self._scrolls:
            self._scrolls = scrolls
            self.refresh_bindings()
        self._sight.report_change(request if opened else None)

    def _draw_row(self, request: ApprovalRequested, count: int) -> None:
        width = (self.size.width or self.screen.size.width) - 2
        self._sight.lay_out_row(request, in_front=request.agent == self._agent)
        row = waiting_row(
            WaitingQuestion(
                self.state,
                request,
                self._folder,
                count,
                self._sight,
                replaced=self._keys.replaced,
                written=bool(self._written()),
                focus=key_of(self, "approval.focus"),
                allow=key_of(self, "approval.allow") if self.state.once else "",
                refuse=key_of(self, "approval.refuse") if self.state.takes_reason else "",
            ),
            width,
        )
        self._sight.row_is_whole = row.whole
        self.query_one("#approval-title", Static).update(row.title(width))

    def action_turn(self, by: int) -> None:
        """Bring another question to the front."""
        self._turn(turned_to(self.state, by))

    def action_mark(self, step: int) -> None:
        """Mark another answer."""
        self.query_one(Answers).mark(step)
        self.draw()

    async def action_choose(self) -> None:
        """Give the marked answer by a click in the key bar. Keys arrive in `on_key`."""
        await self.action_answer(self.query_one(Answers).marked)

    async def action_give_written(self, _what: str) -> None:
        """Deny with what is written, or save it and allow. Keys arrive in `on_key`."""
        await self._end_writing(give=True)

    def action_hunk(self, step: int) -> None:
        """Go to another change of the question."""
        self.query_one(QuestionView).show_change(step)

    def action_scroll(self, rows: int, pages: int = 0) -> None:
        """Scroll the question by lines and by pages."""
        view = self.query_one(QuestionView)
        view.scroll_relative(y=rows + pages * max(1, view.size.height - 1), animate=False)

    # Focus

    def review(self) -> None:
        """Focus the question in front; after the answer the focus returns to where it is now.

        In the panel already, the person goes to the question that has taken the place of theirs.
        """
        here = self.screen.focused is self
        if not self.display or (here and not self._keys.replaced):
            return
        painted = bool(self.region.height)
        if painted:
            self._keys.person_arrived(self._clock())
        if here:
            self.show_message("")
            return
        self._coming = painted
        self.screen.set_focus(self)

    async def allow(self) -> None:
        """Allow once what the person could read; else go to the question, and say why."""
        outcome: Outcome = Swallowed()
        seen = self._sight.is_seen(self.state.shown)
        self._look()
        if self.state.once and seen and not self.writing:
            outcome = self._keys.click(self.state.once, self.state.front, self._pressed_at)
        if not isinstance(outcome, KeyChosen):
            self.review()
        await self._take(outcome)

    async def refuse(self) -> bool:
        """Deny the question in front with what is written in the input, if the person knows of it: whether that was
        done. Else go to it, and to the reason of its denial; where it takes none, say so.
        """
        if self.state.takes_reason and not self._is_open and (words := self._written()):
            chosen = self._keys.refuse_with(words, self.state.front, self._pressed_at)
            if chosen is not None:
                self._settle(chosen)
                return True
        outcome: Outcome = Swallowed()
        if not self.writing:
            takes = self.state.takes_reason
            outcome = self._keys.refuse(self.state.front, self._pressed_at) if takes else Swallowed(NO_REASON)
        self.review()
        if not self.writing:
            self._keys.leave_reason()  # the words that may follow are no answer
        await self._take(outcome)
        return False

    @property
    def _pressed_at(self) -> float:
        return self._clock() if (at := pressed_at(self)) is None else at

    def _noticed(self, focused: Widget | None) -> None:
        """Remember which widget outside this panel had the focus last."""
        if focused is not None and self not in focused.ancestors_with_self:
            self._came_from = focused

    def on_focus(self) -> None:
        """Show that keys count here. If the focus came by itself, keys already under way are not answers."""
        if not self._coming:
            self._keys.question_seen(self._clock())
        self._coming = False
        self.draw()

    async def on_blur(self) -> None:
        if self.writing and not (self._keys.reason_counts or self._keys.rule_counts):
            await self._end_writing(give=False, back=False)
        self.show_message("")

    def action_back(self) -> None:
        """Return to where the person was; the question keeps waiting."""
        came_from = self._came_from
        home = came_from if came_from is not None and came_from.is_attached and came_from.focusable else self._home()
        if home is not None:
            self.screen.set_focus(home)

    # Answers

    async def on_key(self, event: events.Key) -> None:
        event.prevent_default()
        key = event.key
        letter = event.character if event.is_printable and event.character and "+" not in key else ""
        action = (self._bound.live_action if letter and not self.writing else self._bound.action)(self, key)
        what = "reason" if self._keys.in_reason else "rule"
        given = action == f"give_written('{what}')"
        if self.writing and (given or key in ("enter", "ctrl+m", "escape")):
            event.stop()
            await self._end_writing(give=key != "escape", at=event.time)
            return
        self._look()
        choice = choice_of_key(self.state, action or "", letter)
        if action == "choose":
            choice = self.query_one(Answers).marked or None
        outcome = self._keys.press(choice or ("move" if action else "words"), event.time, printable=bool(letter))
        if isinstance(outcome, Passed):
            await self._pass_on(outcome, event, action, letter)
            return
        event.stop()
        await self._take(outcome)

    async def _pass_on(self, passed: Passed, event: events.Key, action: str | None, letter: str) -> None:
        if passed.to in ("reason", "rule"):
            await self.fields.write(event)
            if action is not None or passed.to == "rule":
                event.stop()  # the field does not know this key, and it means nothing here now
        elif passed.to == "input":
            event.stop()
            if letter:
                self._typed(letter)
        elif action is not None:
            event.stop()
            self.show_message("")
            await self.run_action(action)

    async def on_paste(self, event: events.Paste) -> None:
        event.stop()
        self.fields.paste(event.text)

    async def action_answer(self, answer: str) -> None:
        """Answer by a click in the key bar. Keys arrive in `on_key`."""
        self._look()
        await self._take(self._keys.click(answer, self.state.front, self._clock()))

    async def on_answers_clicked(self, message: Answers.Clicked) -> None:
        """Answer by click."""
        message.stop()
        self._look()
        await self._take(self._keys.click(message.choice, message.question, message.at))

    async def _take(self, outcome: Outcome) -> None:
        match outcome:
            case KeyChosen():
                await self.fields.close()
                self._settle(outcome)
            case ReasonBegun():
                await self.fields.open_reason()
                self.show_message((VOID if outcome.why == CHANGED else SOON) if outcome.why else DENIES)
            case RuleBegun() if self.state.shown is not None:
                await self.fields.open_rule(self.state.shown)
                self.call_after_refresh(lambda: self._keys.show_rule(self._clock()))
                self.show_message("")
            case Swallowed() if outcome.unread:
                self._read_on()
            case Swallowed() if outcome.why:
                self.show_message(outcome.why)
            case _:
                pass

    def _read_on(self) -> None:
        """Show more of what an answer would decide, since none counts before all of it has been on the screen."""
        view, asked = self.query_one(QuestionView), self.state.programs.get(self.state.front)
        if view.unread or asked is None or not asked.unseen:
            view.show_unread()
            self.show_message(UNREAD)
        else:
            self.show_message(f"{asked.unseen[:1].lower()}{asked.unseen[1:]}: 0 opens its tab")

    def _settle(self, chosen: KeyChosen) -> None:
        if chosen.question in self.state.programs:
            self._answer_program(chosen)
            return
        if chosen.choice == VALUES:
            if (request := self.state.open.find(chosen.question)) is not None:
                self.post_message(self.FormWanted(request))
                self.draw()  # it stays open, and can be answered again
            return
        answer = ApprovalAnswered(approval=chosen.question, decision=chosen.decision, reason=chosen.reason)
        self.post_message(Intent(replace(answer, rule=chosen.rule)))
        self._leave_question(without_question(self.state, chosen.question))

    def _answer_program(self, chosen: KeyChosen) -> None:
        agent, asked = chosen.question.partition("/")[0], self.state.programs[chosen.question]
        if chosen.choice == OPEN:
            self.post_message(OpenTerminal(agent))
            return
        self.post_message(self.ProgramAnswered(agent, asked.id, chosen.choice))
        if any(one.key == chosen.choice and one.has_box for one in asked.choices):
            self.draw()  # it stays open until all is sent
            return
        self._leave_question(being_answered(self.state, chosen.question))

    def answer_failed(self, agent: str, question: str) -> None:
        """Show a program's question again, if it is still asked: the answer did not arrive."""
        self.become(not_answered(self.state, f"{agent}/{question}"))

    def attend(self, agent: str) -> None:
        """Another agent is in front: its questions come first from now on, unless the person is at another one's."""
        if agent == self._agent:
            return
        self._agent = agent
        if self.is_mounted and not self._is_open:
            self.show_agent(agent)

    def show_agent(self, agent: str) -> None:
        """Bring an agent's question to the front, if it asks one, as the person wishes."""
        self._turn(turned_to_agent(self.state, agent))

    def _turn(self, state: ApprovalsState) -> None:
        self.become(state)
        self._keys.person_turned()
        self.draw()

    def _leave_question(self, left: ApprovalsState) -> None:
        """Show what waits besides the answered question, and give the focus back."""
        had_focus = self.has_focus
        self.said = ""
        self.become(left)
        if had_focus and self.state.shown is not None:  # with nothing left, the focus has gone back already
            self.action_back()

    async def _end_writing(self, *, give: bool, at: float = 0.0, back: bool = True) -> None:
        """Deny with the reason, or save the rule and allow, if nothing is wrong with it; or go back to the question.

        `back`: go to where the person was, if its question is closed meanwhile.
        """
        form = self.fields.rule
        if self._keys.in_reason:
            outcome = self._keys.give_reason(self.fields.reason) if give else self._keys.leave_reason()
        elif form is None or not give:
            outcome = self._keys.leave_rule()
        elif self._keys.rule_counts and (mistake := form.mistake):
            form.show_mistake(mistake)
            return
        else:
            outcome = self._keys.give_rule(form.text, at)
            if self._keys.in_rule:  # the rule was not readable for long enough
                await self._take(outcome)
                return
        await self.fields.close()
        self.said = ""
        await self._take(outcome)
        if self.state.shown is not None or not self.display:
            self.show_message(self.said)  # enter gives the marked answer again
            return
        if isinstance(outcome, Swallowed) and outcome.why:
            self.notify(f"{outcome.why[:1].upper()}{outcome.why[1:]}.", markup=False)
        self._appear(False)
        if back:
            self.action_back()

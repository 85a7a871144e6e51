"""Answers out of keys: the rules one by one, and thousands of people who type while questions come and go."""

import asyncio
import random
import re
from collections.abc import Callable
from itertools import combinations, product
from pathlib import Path
from typing import Any, cast

import pytest

from gshtui.bus.agent_data import Meaning, OpenQuestion, QuestionChoice
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import PromptSubmitted, TextDelta
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested, ApprovalSettled
from gshtui.guard.approval.answer_keys import (
    ANSWERS,
    CHANGED,
    HAND,
    NOT_OFFERED,
    PAUSE,
    READ,
    TOO_SOON,
    AnswerKeys,
    KeyChosen,
    Passed,
    ReasonBegun,
    RuleBegun,
    Swallowed,
    absent,
    choice_of,
    choice_words,
    choices,
    line_of,
    list_of,
    listed_choices,
    numbered,
    offers,
)
from gshtui.headless.agents.agent_pane.agent_pane import AgentPane
from gshtui.headless.agents.agent_pane.pane_screen import DrawingTurns, PaneScreen
from gshtui.headless.turns.approval_prompt import KeyReader
from gshtui.text.sanitise import CleanText
from tests.kit.intent_oracle import IntentOracle, random_typing
from tests.kit.native_agents import prepare_spec
from tests.kit.storms import examples
from tests.kit.tmux import eventually

MANY, PANES, PROMPTS = map(examples, (6_000, 2_000, 2_000))


def asks(rule: str, *, repeatable: bool = True) -> ApprovalRequested:
    return ApprovalRequested(
        approval="q",
        agent="a",
        session="s",
        call="c",
        tool="bash",
        effect="execute",
        subject="make",
        rule=rule,
        repeatable=repeatable,
    )


def shown(at: float = 0.0, pattern: str = "make …") -> AnswerKeys:
    keys = AnswerKeys()
    keys.expect_question()
    keys.show_question("q", choices(offers(asks(pattern))), at)
    return keys


def test_what_takes_the_place_of_a_question_whose_row_was_cut_is_another_one() -> None:
    keys = AnswerKeys()
    keys.expect_question()
    keys.show_row("a", 0.0)
    keys.expect_question()
    assert keys.replaced
    keys.clear_question()
    keys.expect_question()
    keys.show_row("b", 9.0)
    keys.show_question("b", choices(offers(asks(""))), 9.0)
    assert not keys.replaced, "it has grown"


def test_the_words_and_keys_are_the_same_everywhere_and_always_needs_a_pattern() -> None:
    assert line_of(ANSWERS) == (
        "1 allow once  2 allow this exact call for this session  3 always allow (add a rule)…  4 deny  "
        "5 deny with reason"
    )
    assert list_of(offers(asks(""))) == (
        "  1 allow once\n  2 allow this exact call for this session\n  4 deny\n  5 deny with reason"
    )
    assert list_of(ANSWERS, 24).split("\n")[1:3] == ["  2 this session", "  3 always…"]
    assert line_of(offers(asks("")), 34) == "1 yes  2 session  4 no  5 why"
    assert line_of(offers(asks("")), 5) == "1  2  4  5"
    assert choice_of("3", offers(asks(""))) is None and choice_of("3", offers(asks("x"))) == "always"
    assert shown(pattern="").press("always", 5.0) == Swallowed(NOT_OFFERED)
    once = offers(asks("", repeatable=False))  # as a budget's question: nothing of it could be remembered
    assert list_of(once) == "  1 allow once\n  4 deny\n  5 deny with reason"
    assert choice_of("2", once) is None


def test_a_number_that_answers_nothing_says_why() -> None:
    for repeatable, rule in product((True, False), ("", "x")):
        every = numbered(asks(rule, repeatable=repeatable))
        told = {"session": "each call is asked about"} if not repeatable else {}
        told |= {"always": "no rule fits this call"} if not rule else {}
        assert [offer.key for offer in every] == list("12345") and absent(every) == told
        assert [offer for offer in every if not offer.why] == list(offers(asks(rule, repeatable=repeatable)))
        assert [offer for offer in every if not offer.why] == [one for one in ANSWERS if one.choice not in told]
        assert all(f"({why})" in list_of(every) and why in line_of(every, 110) for why in told.values())
        assert re.findall(r"\d", line_of(every, 5)) == list("12345")
        keys = AnswerKeys()
        keys.show_question("q", choices(every), 0.0, absent=absent(every))
        for at, (choice, why) in enumerate(told.items(), 5):
            assert (
                keys.press(choice, at) == keys.submit_line(choice, "q") == keys.click(choice, "q", at) == Swallowed(why)
            )
        assert keys.press("once", 9.0) == KeyChosen("q", "once")
    assert [offer.key for offer in numbered(asks(""), form=True) if not offer.why] == list("123")


@pytest.mark.parametrize("size", range(1, 6))
def test_digits_that_stand_for_nothing_of_a_program_take_no_row(size: int) -> None:
    for keys in combinations("123456789", size):
        asked = OpenQuestion("q", "Run it?", choices=tuple(QuestionChoice(key, f"words {key}") for key in keys))
        assert listed_choices(asked) == [(key, f"words {key}") for key in keys]


def test_an_answer_is_to_what_could_be_read() -> None:
    assert shown().press("once", READ) == KeyChosen("q", "once")
    keys = shown()
    assert keys.press("once", READ - 0.01) == Swallowed(TOO_SOON)
    assert keys.press("once", READ + 0.1) == Swallowed("")  # the same run of typing
    assert keys.press("words", READ + 0.2) == Swallowed("")
    assert keys.press("once", READ + 0.21 + PAUSE) == KeyChosen("q", "once")
    assert keys.press("once", 9.0) == Swallowed(TOO_SOON)  # it has been answered
    keys.show_question("r", {"once"}, 10.0)
    assert keys.press("words", 9.9) == Swallowed(TOO_SOON)
    assert keys.press("once", 10.2) == Swallowed("")


def test_words_are_words_with_the_digits_in_them() -> None:
    keys = shown()
    assert [keys.press(meaning, 5.0 + n / 10) for n, meaning in enumerate(("words", "once", "reason", "move"))] == [
        Passed("input")
    ] * 4
    assert keys.press("once", 6.0) == KeyChosen("q", "once")


def test_a_reason_takes_all_keys_and_counts_for_its_own_question() -> None:
    keys = shown()
    keys.person_arrived(5.0)
    assert keys.press("once", 5.0 + HAND / 2) == Swallowed(TOO_SOON)
    keys.person_arrived(6.0)
    assert keys.press("reason", 6.0) == ReasonBegun("q")
    assert keys.press("once", 8.0) == Passed("reason")
    assert keys.give_reason("why") == KeyChosen("q", "deny", "why")
    keys.show_question("r", {"once"}, 9.0)
    assert keys.press("reason", 9.1) == ReasonBegun("", TOO_SOON)
    assert keys.press("once", 11.0) == Passed("reason")
    assert keys.give_reason("why") == Swallowed(TOO_SOON), "it is the same question"
    assert keys.press("reason", 12.0) == ReasonBegun("r")
    keys.expect_question()
    assert not keys.reason_counts and keys.give_reason("why") == Swallowed(CHANGED)
    keys.show_question("s", {"once"}, 13.0)
    assert keys.press("reason", 15.0) == ReasonBegun("", CHANGED)


def test_a_click_is_on_the_question_that_was_there() -> None:
    keys = shown()
    assert keys.click("once", "q", READ / 2) == Swallowed(TOO_SOON)
    assert keys.click("once", "p", 5.0) == Swallowed(CHANGED)
    assert keys.click("once", "q", 5.0) == KeyChosen("q", "once")
    assert keys.click("once", "q", 6.0) == Swallowed(CHANGED)


def test_a_question_in_the_place_of_another_one_is_answered_only_once_the_person_knows() -> None:
    keys = shown()
    keys.expect_question()
    keys.show_question("r", {"once"}, 1.0)
    assert keys.replaced and keys.press("once", 60.0) == Swallowed(CHANGED)
    assert keys.press("once", 70.0) == Swallowed(CHANGED)
    keys.person_arrived(80.0)
    assert keys.press("once", 80.1) == KeyChosen("r", "once")
    keys.show_question("s", {"once"}, 90.0)  # an answered one was not taken away
    assert keys.press("once", 91.0) == KeyChosen("s", "once")

    for ask in (lambda k: k.click("once", "r", 60.0), lambda k: k.submit_line("once", k.begin_line(60.0))):
        keys = shown()
        keys.show_question("r", {"once"}, 1.0)
        assert ask(keys) == Swallowed(CHANGED)
        assert keys.click("once", "r", 70.0) == KeyChosen("r", "once")


class Desk:
    """The window's panel and its input line as they use the keys, without a window."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.keys = AnswerKeys()
        self.story = IntentOracle()
        self.now = 100.0
        self.waiting: list[str] = []
        self.count = 0
        self.focused = False
        self.painting: tuple[str, float] | None = None

    def front(self) -> None:
        """Another question is in front, or none; it is painted a little later."""
        self.story.shown.clear()
        self.painting = None
        if self.waiting:
            self.keys.expect_question()
            self.painting = (self.waiting[0], self.now + self.chance.choice((0.0, 0.01, 0.2)))
        else:
            self.keys.clear_question()
            self.focused = self.focused and self.keys.in_reason

    def ask(self) -> None:
        self.count += 1
        self.waiting.append(f"q{self.count}")
        if len(self.waiting) == 1:
            self.front()

    def settle(self) -> None:
        if self.waiting:
            first = self.chance.random() < 0.7
            seen = (first or len(self.waiting) == 1) and self.waiting[0] in self.story.shown
            self.waiting.pop(0 if first else -1)
            self.story.unaware = bool(self.waiting) and (self.story.unaware or seen)
            if first or not self.waiting:
                self.front()

    def paint(self) -> None:
        if self.painting is not None and self.painting[1] <= self.now:
            question, at = self.painting
            self.keys.show_question(question, choices(offers(asks("p" if self.chance.random() < 0.5 else ""))), at)
            self.story.shown[question] = at
            self.painting = None

    def press(self, key: str) -> None:
        if not self.focused:
            return
        in_reason = self.keys.in_reason
        self.story.record_key(key, self.now)
        if self.keys.in_rule and key in ("enter", "escape"):
            outcome = self.keys.give_rule("p", self.now) if key == "enter" else self.keys.leave_rule()
        elif in_reason and key in ("enter", "escape"):
            outcome = self.keys.give_reason("why") if key == "enter" else self.keys.leave_reason()
        else:
            meaning = choice_of(key, ANSWERS) or ("move" if key in "jk" or len(key) > 1 else "words")
            outcome = self.keys.press(meaning, self.now, printable=len(key) == 1)
        if isinstance(outcome, RuleBegun):
            self.keys.show_rule(self.now)
        if isinstance(outcome, KeyChosen):
            self.story.record_run(outcome.question, outcome.choice, key, self.now, in_reason=in_reason)
            self.waiting.remove(outcome.question)
            self.front()
            self.focused = False
        elif isinstance(outcome, Passed) and outcome.to == "input":
            self.focused = False

    def go(self, own: bool) -> None:
        if self.waiting and (not self.focused or (own and self.keys.replaced)):
            self.focused = True
            if own:
                self.keys.person_arrived(self.now)
                self.story.record_key("ctrl+g", self.now, own=True)
            else:
                self.keys.question_seen(self.now)


def test_nothing_runs_unasked_in_the_window() -> None:
    runs = 0
    for number in range(MANY):
        chance = random.Random(number)
        desk = Desk(chance)
        for _ in range(12):
            match chance.randrange(6):
                case 0:
                    desk.ask()
                case 1:
                    desk.settle()
                case 2:
                    desk.go(own=chance.random() < 0.8)
                case _:
                    for key, gap in random_typing(chance):
                        desk.now += gap
                        desk.paint()
                        if chance.random() < 0.05:
                            chance.choice((desk.ask, desk.settle))()
                        desk.press(key)
            desk.now += chance.choice((0.0, 0.05, 0.5, 2.0))
            desk.paint()
        assert desk.story.unasked == [], number
        runs += desk.story.runs
    assert runs > MANY / 20  # it does run what was answered


RULE = '[[rule]]\ndo = "allow"\ntool = "bash"\nexactly = "p"\n'


def request(number: int, pattern: str) -> ApprovalRequested:
    return ApprovalRequested(
        approval=f"q{number}",
        agent="0012",
        session="s",
        call=f"c{number}",
        tool="bash",
        effect="execute",
        subject="touch x",
        pattern=pattern,
        rule=RULE if pattern else "",
    )


SENT = {"enter": "\r", "escape": "\x1b"}


def test_nothing_runs_unasked_at_the_prompt() -> None:
    """`gsh`: the answers are shown after a moment in which nothing was typed."""
    runs = 0
    for number in range(PROMPTS):
        chance = random.Random(number)
        story, now = IntentOracle(), 100.0
        reader = KeyReader(request(1, chance.choice(("", "p"))), lambda _: None)
        story.shown["q1"] = now - READ
        reader.show(now)
        for _ in range(8):
            piece: list[str] = []
            for key, gap in random_typing(chance):
                now += gap
                piece.append(key)
                if gap > 0.005 or chance.random() < 0.5:
                    in_reason = reader.in_reason
                    for one in piece:
                        story.record_key(one, now)
                    chosen = reader.feed("".join(SENT.get(one, one) for one in piece), now)
                    if chosen is not None:
                        only = piece[0] if len(piece) == 1 else "many"
                        story.record_run(chosen.question, chosen.choice, only, now, in_reason=in_reason)
                        break
                    piece = []
            else:
                continue
            break
        assert story.unasked == [], number
        runs += story.runs
    assert runs > PROMPTS / 20


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class WatchedPane(AgentPane):
    """A pane that says when its question is on the screen; `story` is told what can be seen then."""

    story: IntentOracle
    clock: Clock
    screen: PaneScreen
    waiting: list[ApprovalRequested]
    drawn = ""

    def draw(self) -> None:
        draws = not self.screen.behind
        super().draw()
        if draws:
            self.drawn = self.front
        if not self.screen.behind:
            self.see()

    @property
    def front(self) -> str:
        return self.waiting[0].approval if self.waiting else ""

    def see(self) -> None:
        if self.front and self.front == self.drawn and self.front not in self.story.shown:
            self.story.shown = {self.front: self.clock.now}


class OtherTerminal:
    """The screen of a pane in another process. `late`: it prints what comes when `print` says so; else at once."""

    def __init__(self, *, late: bool) -> None:
        self.came = 0
        self.late = late
        self.screen = PaneScreen(self.take, (100, 40), is_terminal=late)

    def take(self, text: CleanText) -> None:
        del text
        self.came += 1
        if not self.late:
            self.screen.note_seen(self.came, 0.0)

    def print(self, pane: WatchedPane) -> None:
        pane.see()
        self.screen.note_seen(self.came, pane.clock.now)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("late", [False, True])
async def test_nothing_runs_unasked_in_an_agents_pane(tmp_path: Path, late: bool) -> None:
    """The pane itself, its line and its keys as a terminal sends them, on a clock of its own; `late`: what is drawn is
    on the screen only later."""
    spec, _ = prepare_spec(tmp_path)
    runs = prompts = 0
    for number in range(PANES):
        chance, clock, bus = random.Random(number), Clock(), Bus()
        said: list[Event] = []
        bus.subscribe(said.extend, ApprovalAnswered, PromptSubmitted, name="test")
        story, terminal = IntentOracle(), OtherTerminal(late=late)
        pane = WatchedPane(
            spec,
            bus,
            terminal.screen,
            cast("Any", None),
            intend=bus.publish,
            leave=lambda: None,
            typed=lambda something: None,
            clock=clock,
        )
        waiting: list[ApprovalRequested] = []
        pane.story, pane.clock, pane.screen, pane.waiting = story, clock, terminal.screen, waiting
        if late:
            pane.open()
        asked = 0
        line = ""
        began: tuple[str, bool] = ("", False)
        for _ in range(12):
            what = chance.randrange(6)
            if what == 0:
                asked += 1
                waiting.append(request(asked, chance.choice(("", "p"))))
                pane.handle_events([waiting[-1]])
            elif what == 1 and waiting:
                gone = waiting.pop(0)
                story.shown.clear()
                pane.handle_events(
                    [ApprovalSettled(approval=gone.approval, agent="0012", call=gone.call, decision="withdrawn")]
                )
            elif what == 2 or chance.random() < 0.3:
                pane.draw()
            else:
                for key, gap in random_typing(chance):
                    clock.now += gap
                    if key == "escape":
                        continue  # with the key behind it, it would be another one
                    story.record_key(key, clock.now)
                    if key == "enter":
                        before = len(said)
                        pane.type(b"\r")
                        await bus.drained()
                        for event in said[before:]:
                            if isinstance(event, ApprovalAnswered):
                                check(story, event, line, began, clock.now)
                                story.shown.clear()
                                waiting[:] = [one for one in waiting if one.approval != event.approval]
                                pane.handle_events([settled(event)])
                            else:
                                prompts += 1
                        line = ""
                    else:
                        if not line:
                            began = (story.question_meant(clock.now), pane.in_reason)
                        line += key
                        pane.type(key.encode())
            clock.now += chance.choice((0.0, 0.05, 0.5, 2.0))
            if chance.random() < 0.5:
                pane.draw()
            if late and chance.random() < 0.9:
                terminal.print(pane)
        assert story.unasked == [], number
        runs += story.runs
        pane.close()
        await bus.close(timeout=1)
    assert runs > PANES / (1_000 if late else 200) and prompts > PANES / 20


@pytest.mark.parametrize(("pressed", "answers"), [(0.05, 0), (0.35, 0), (1.0, 1)])
async def test_a_key_counts_from_when_it_was_pressed(tmp_path: Path, pressed: float, answers: int) -> None:
    """However late the hub comes to it, and to that its question is on the screen."""
    spec, _ = prepare_spec(tmp_path)
    said: list[Event] = []
    bus, terminal, clock = Bus(), OtherTerminal(late=True), Clock()
    pane = AgentPane(
        spec,
        bus,
        terminal.screen,
        cast("Any", None),
        intend=said.append,
        leave=lambda: None,
        typed=lambda something: None,
        clock=clock,
    )
    pane.open()
    terminal.screen.note_seen(terminal.came, clock.now)
    pane.handle_events([request(1, "")])
    assert any(f"? {spec.name} wants to run" in line for line in pane._lines), "it is called by its name"
    pane.draw()
    drawn, clock.now = clock.now, clock.now + 30.0
    terminal.screen.note_seen(terminal.came, drawn)
    pane.type(b"1", drawn + pressed)
    pane.type(b"\r", drawn + pressed + 0.3)
    assert len([event for event in said if isinstance(event, ApprovalAnswered)]) == answers
    pane.close()
    await bus.close(timeout=1)


async def test_a_pane_sends_a_secret_only_when_it_is_sent_twice(tmp_path: Path) -> None:
    spec, _ = prepare_spec(tmp_path)
    said: list[Event] = []
    bus, terminal = Bus(), OtherTerminal(late=False)
    pane = AgentPane(
        spec,
        bus,
        terminal.screen,
        cast("Any", None),
        intend=said.append,
        leave=lambda: None,
        typed=lambda something: None,
    )
    pane.open()
    text = f"deploy with ghp_{'a1' * 18} now"
    pane.type(f"{text}\r".encode())
    assert not said and any("up, then enter to send it as it is" in line for line in pane._lines)
    pane.type(b"\x1b[A\r")
    assert [event.text for event in said if isinstance(event, PromptSubmitted)] == [text]
    pane.close()
    await bus.close(timeout=1)


async def test_what_is_typed_waits_for_no_answer_that_streams(tmp_path: Path) -> None:
    spec, _ = prepare_spec(tmp_path)
    bus, terminal = Bus(), OtherTerminal(late=False)
    pane = AgentPane(
        spec,
        bus,
        terminal.screen,
        cast("Any", None),
        intend=bus.publish,
        leave=lambda: None,
        typed=lambda something: None,
    )
    pane.open()
    pane.handle_events([TextDelta(agent=spec.agent, session="s", message="m", text="Many words.")])
    assert terminal.came == 0
    pane.type(b"x")

    async def drawn() -> bool:
        return terminal.came == 1

    await eventually(drawn)
    for _ in range(100):  # without a pause
        pane.type(b"y")
        await asyncio.sleep(0)
    assert terminal.came > 10
    pane.close()
    await bus.close(timeout=1)


def settled(event: ApprovalAnswered) -> ApprovalSettled:
    return ApprovalSettled(approval=event.approval, agent="0012", call="c", decision=event.decision)


def check(story: IntentOracle, event: ApprovalAnswered, line: str, began: tuple[str, bool], now: float) -> None:
    """A line answers if it was begun on purpose and is one digit."""
    if event.decision == "deny":
        return
    story.runs += 1
    question, in_reason = began
    if event.decision == "always":
        story.record_run(event.approval, "always", "enter" if not line.strip() else line, now)
        return
    right = {"1": "once", "2": "session"}.get(line.strip()) == event.decision
    if in_reason or question != event.approval or not right:
        story.unasked.append(f"{event.approval} {event.decision} by {line!r} begun for {question!r} at {now:.3f}")


@pytest.mark.parametrize(
    ("label", "means", "said"),
    [
        ("Allow once", "once", "Allow once"),
        ("Yes, proceed", "once", "Yes, proceed · allows once"),
        ("Reject", "deny", "Reject · denies"),
    ],
)
def test_a_choice_says_what_it_does_where_its_own_words_do_not(label: str, means: Meaning, said: str) -> None:
    assert choice_words(QuestionChoice("1", label, means)) == said


async def test_panes_draw_one_after_the_other_and_what_else_is_due_comes_between_them() -> None:
    loop, turns, done, faults = asyncio.get_running_loop(), DrawingTurns(), list[str](), list[str]()
    loop.set_exception_handler(lambda _, context: faults.append(str(context["exception"])))

    def draws(name: str) -> Callable[[], None]:
        def draw() -> None:
            done.append(name)
            loop.call_soon(done.append, "else")
            if name == "bad":
                raise ValueError(name)

        return draw

    panes = [draws(name) for name in ("a", "bad", "b", "gone")]
    for draw in (*panes, panes[0]):
        turns.ask(draw)
    turns.forget(panes[-1])

    async def told() -> list[str]:
        return done

    await eventually(told, until=lambda done: len(done) == 6)
    assert done == ["a", "else", "bad", "else", "b", "else"]
    assert faults == ["bad"]

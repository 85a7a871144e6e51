"""The approvals inbox: answers count when they are meant, and nobody's typing is taken for one."""

from __future__ import annotations

import random
import re
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from textual import events
from textual.pilot import Pilot
from textual.widgets import Static

from gshtui.bus.agent_data import AgentRow, Meaning, OpenQuestion, QuestionChoice
from gshtui.bus.events.agent_events import PromptQueued, PromptSubmitted
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalSettled
from gshtui.bus.events.fleet_events import AgentChanged
from gshtui.guard.approval.answer_keys import HAND, PAUSE, READ, UNREAD
from gshtui.programs.screen.same_question import as_told
from gshtui.ui.approvals.answer_fields import ReasonInput, RuleForm, as_reason
from gshtui.ui.approvals.approvals_pane import ApprovalsPane
from gshtui.ui.approvals.question_view import Answers, QuestionView
from gshtui.ui.kit.widget_messages import OpenTerminal
from gshtui.ui.kit.widgets.front_scroll import FrontScroll
from gshtui.ui.prompt.key_hints import pane_hints
from gshtui.ui.prompt.prompt_routing import Addressee
from tests.kit.cases import each_case
from tests.kit.home import Home
from tests.kit.keyboard import LONG, Keyboard
from tests.kit.prompt_host import PromptHost, make_question
from tests.kit.storms import FULL, combined, examples, some
from tests.kit.terminal_agents import wait_until

RULE = '[[rule]]\ndo = "allow"\ntool = "bash"\nexactly = "make x"\nproject = "/src"\n'


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 0.0  # behind the mouse, which is stamped with the time of day

    def __call__(self) -> float:
        return self.now

    def later(self, seconds: float = 1.0) -> None:
        self.now += seconds


WARNING = "Not in the sandbox: it reaches 10.0.0.1, which no rule allows."
LINE = "make x && make y && make z"


DIFF = "@@ -1 +1 @@\n-a\n+b\n"


class Asked(PromptHost):
    """A host whose clock stands still."""

    def __init__(self, **area: Any) -> None:
        self.now = Clock()
        self.keyboard = Keyboard(self, self.now)
        super().__init__(**{"keep_drafts": False, "clock": self.now, **area})

    @property
    def answers(self) -> list[tuple[str, str, str]]:
        return [(e.approval, e.decision, e.reason) for e in self.events if isinstance(e, ApprovalAnswered)]

    @property
    def rules(self) -> list[str]:
        return [e.rule for e in self.events if isinstance(e, ApprovalAnswered)]

    @property
    def pane(self) -> ApprovalsPane:
        return self.area.approvals

    @property
    def heading(self) -> str:
        return str(self.query_one("#approval-title", Static).content)

    async def press(self, pilot: Pilot[None], *keys: str, after: float = LONG, gap: float = 0.1) -> None:
        """Press keys: the first some seconds after the last one, then each a gap after the one before."""
        self.now.later(after)
        for key in keys:
            self.keyboard.post(key, 0)
            await pilot.pause()
            self.now.later(gap)
        await pilot.pause()

    async def review(self, pilot: Pilot[None]) -> None:
        """Look at the question for a while, and go to it."""
        await pilot.pause()
        await self.press(pilot, "ctrl+g")


class AskedByPrograms(Asked):
    """The same, where programs ask as well."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[tuple[str, str, str]] = []
        """Agent, question and answer; `tab` for a look at its terminal."""

    def on_approvals_pane_program_answered(self, message: ApprovalsPane.ProgramAnswered) -> None:
        self.given.append((message.agent, message.question, message.choice))

    def on_open_terminal(self, message: OpenTerminal) -> None:
        self.given.append((message.agent, "", "tab"))


def bound(app: Asked) -> set[str | None]:
    """Ids of the keys that work now, as the foot of the window and F1 list them."""
    return {active.binding.id for active in app.screen.active_bindings.values()}


@pytest.mark.parametrize(
    ("key", "decision"),
    [("1", "once"), ("2", "session"), ("4", "deny")],
)
async def test_each_answer_by_key(key: str, decision: str) -> None:
    app = Asked()
    async with app.run_test() as pilot:
        app.feed(make_question(1))
        await app.review(pilot)
        assert app.focused is app.pane
        await app.press(pilot, key)
        await pilot.pause()
        assert app.answers == [("a1", decision, "")]
        assert app.focused is app.area.input
        assert not app.pane.display


async def test_always_shows_its_rule_first_and_saves_it_as_the_person_left_it() -> None:
    app = Asked()
    async with app.run_test(size=(80, 24)) as pilot:
        app.feed(make_question(1, pattern="make x", rule=RULE, arguments={"command": "make x"}))
        await app.review(pilot)
        await app.press(pilot, "3")
        words = str(app.query_one("#rule-words", Static).content)
        assert "rules.toml" in words and "exactly `make x`" in words and "Only in /src." in words
        assert app.answers == [] and not app.query_one(QuestionView).display
        assert {"approval.save", "approval.back"} < bound(app) and "approval.give" not in bound(app)
        await app.press(pilot, "enter", after=0.1)
        assert app.answers == [] and "too soon" in app.heading
        await app.press(pilot, "x", "enter")
        assert app.answers == [] and "Nothing was saved: line 5" in str(app.query_one("#rule-words", Static).content)
        await app.press(pilot, "escape")
        assert not app.query(RuleForm) and app.query_one(QuestionView).display and app.focused is app.pane
        assert "approval.choose" in bound(app) and "approval.save" not in bound(app)
        await app.press(pilot, "3")
        await app.press(pilot, "ctrl+j", *'why="I said so"', "enter")
        assert app.answers == [("a1", "always", "")]
        assert app.rules == [RULE + 'why="I said so"']
        assert app.focused is app.area.input and not app.pane.display


async def test_a_rule_whose_question_is_closed_saves_nothing() -> None:
    app = Asked()
    async with app.run_test() as pilot:
        app.feed(make_question(1))
        await app.review(pilot)
        await app.press(pilot, "3")
        app.feed(ApprovalSettled(approval="a1", agent="main", call="c1", decision="withdrawn"), make_question(2))
        await pilot.pause()
        await app.press(pilot, "enter")
        assert app.answers == [] and not app.query(RuleForm)
        await app.review(pilot)
        await app.press(pilot, "1")
        assert app.answers == [("a2", "once", "")]


async def test_always_is_offered_only_with_a_rule() -> None:
    app = Asked()
    async with app.run_test() as pilot:
        app.feed(make_question(1, rule=""))
        await app.review(pilot)
        assert "always" not in str(app.query_one(Answers).content)
        assert "3 no rule" in str(app.query_one(Answers).content)
        assert "approval.always" not in bound(app) and "approval.once" in bound(app)
        await app.press(pilot, "3")
        await pilot.pause()
        assert app.answers == [] and app.focused is app.pane
        app.feed(ApprovalSettled(approval="a1", agent="main", call="c1", decision="withdrawn"), make_question(2))
        await app.review(pilot)
        assert "approval.always" in bound(app)


def test_what_may_deny_as_it_is_written_is_no_command_and_has_no_secret_in_it() -> None:
    token = f"ghp_{'a1' * 18}"
    written = (" not now\n", "/help", "!ls", "long " * 1_000, f"not with {token}")
    assert [as_reason(text) for text in written] == ["not now", "", "", "", ""]


async def test_what_is_half_written_is_kept_behind_the_draft(home: Home, tmp_path: Path) -> None:
    app = Asked(project=tmp_path, keep_drafts=True)
    async with app.run_test() as pilot:
        await app.workers.wait_for_complete()
        app.feed(make_question(1), PromptQueued(prompt="a", agent="main", text="do a"))
        await app.press(pilot, *"half", "alt+q", "enter", *" later")
        await app.review(pilot)
        await app.press(pilot, "5")
        await pilot.pause()
        await app.press(pilot, *"too broad")
        app.area.leave([PromptSubmitted(prompt="b", agent="main", text="never sent")])
        app.feed(ApprovalSettled(approval="a1", agent="main", call="c1", decision="withdrawn"))
        await pilot.pause()
    again = PromptHost(project=tmp_path)
    async with again.run_test() as pilot:
        await again.workers.wait_for_complete()
        await pilot.pause()
        assert again.area.input.value == "never sent\n\nhalf\n\ndo a later\n\ntoo broad"


async def test_denied_with_a_reason() -> None:
    app = Asked()
    async with app.run_test() as pilot:
        app.feed(make_question(1))
        await app.review(pilot)
        await app.press(pilot, "5")
        await pilot.pause()
        await app.press(pilot, *"y1 too broad", "escape")
        await pilot.pause()
        assert app.answers == [] and app.focused is app.pane and not app.query(ReasonInput)
        await app.press(pilot, "5")
        await pilot.pause()
        await app.press(pilot, *"only ./build", "enter")
        await pilot.pause()
        assert app.answers == [("a1", "deny", "only ./build")]
        assert app.focused is app.area.input


async def test_each_answer_by_mouse() -> None:
    app = Asked()
    async with app.run_test(size=(120, 40)) as pilot:
        app.feed(*(make_question(number) for number in range(1, 4)))
        app.now.later()
        await pilot.pause()
        await pilot.press(*"typing")
        for word, decision in (("allow once", "once"), ("deny, reason…", None), ("4 deny", "deny")):
            app.pane.focus()
            await pilot.pause()
            app.now.later()
            await pilot.pause()
            rows = str(app.query_one(Answers).content).split("\n")
            at = next((y for y, row in enumerate(rows) if word in row), 0)
            await pilot.click(Answers, offset=(rows[at].index(word), at))
            await pilot.pause()
            app.now.later()
            if decision is None:
                await app.press(pilot, *"no", "enter")
                assert app.answers[-1][1:] == ("deny", "no")
                app.now.later()
            else:
                assert app.answers[-1][1] == decision
        assert [approval for approval, _, _ in app.answers] == ["a1", "a2", "a3"]
        assert app.area.input.text == "typing"


async def test_a_key_that_was_on_its_way_is_no_answer() -> None:
    app = Asked()
    async with app.run_test() as pilot:
        app.feed(make_question(1), make_question(2))
        await pilot.pause()
        app.now.later()
        app.pane.focus()  # by itself, not by the person's key
        await pilot.pause()
        await app.press(pilot, "1", after=READ - 0.1)
        await app.press(pilot, "1", "1", after=PAUSE - 0.15)  # the same run of typing
        assert app.answers == [] and "too soon" in app.heading
        await app.press(pilot, "1", "1", "2", after=PAUSE)  # the others are for a question that nobody has read
        assert app.answers == [("a1", "once", "")]
        assert app.focused is app.area.input


async def test_a_burst_that_brings_its_own_key_is_no_answer() -> None:
    app = Asked()
    async with app.run_test() as pilot:
        app.feed(make_question(1))
        await pilot.pause()
        await app.press(pilot, "ctrl+g", *"14233", gap=HAND / 2)
        assert app.answers == []
        await app.press(pilot, "1", after=PAUSE)
        assert app.answers == [("a1", "once", "")]


async def test_the_key_to_a_question_never_opens_an_editor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "true")
    app = Asked()
    async with app.run_test(notifications=True) as pilot:
        app.feed(make_question(1))
        await pilot.pause()
        app.feed(ApprovalSettled(approval="a1", agent="main", call="c1", decision="withdrawn"))
        for wait in (0.1, 0.9, 10.0):
            await app.press(pilot, "ctrl+g", after=wait)
        await app.workers.wait_for_complete()
        assert {notice.message for notice in app._notifications} == {"No question is waiting."}
        app.pane.needs = 1  # it can be read only where it is asked
        await app.press(pilot, "ctrl+g", after=10.0)
        await app.workers.wait_for_complete()
        assert "An agent of another folder asks: alt+w to go to it." in {one.message for one in app._notifications}


async def test_the_key_to_a_question_waits_for_what_is_known_of_who_asks() -> None:
    app = Asked()

    async def known() -> None:
        app.feed(make_question(1))

    async with app.run_test(notifications=True) as pilot:
        app.area.known = known
        await app.press(pilot, "ctrl+g")
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert app.focused is app.pane and not app._notifications
        await app.press(pilot, "1", after=0.0)
        assert app.answers == [], "nobody has read it yet"


@pytest.mark.parametrize("fields", [{"diff": "@@ -1 +1 @@\n-a\n+b\n"}, {"detail": "in /src"}, {"subject": "x " * 200}])
async def test_what_its_row_did_not_show_is_answered_only_after_it_was_seen(fields: dict[str, str]) -> None:
    app = Asked()
    async with app.run_test(size=(80, 24)) as pilot:
        app.feed(make_question(1, **fields))
        await app.review(pilot)
        await app.press(pilot, "1", after=READ / 2)
        assert app.answers == [] and "too soon" in app.heading
        await app.press(pilot, "escape")
        assert app.pane.region.height == 1 and app.focused is app.area.input
        await app.review(pilot)
        await app.press(pilot, "enter")
        assert app.answers == [("a1", "once", "")]


@pytest.mark.parametrize(("first", "gap"), combined([0.0, 0.05, 0.07, 0.1, 0.2], [0.0, 0.05, 0.15, 0.25]))
async def test_a_reason_is_never_taken_for_answers(first: float, gap: float) -> None:
    """However fast the key to the question, the one to the reason, and the reason come."""
    app = Asked()
    async with app.run_test() as pilot:
        app.feed(make_question(1))
        await pilot.pause()
        app.now.later()
        app.keyboard.post("ctrl+g", 0)
        app.now.later(first)
        app.keyboard.post("5", 0)
        await pilot.pause()
        for letter in "y1 try 1 another way":
            app.now.later(gap)
            app.keyboard.post(letter, 0)
        app.keyboard.post("enter", 0)
        await pilot.pause()
        await pilot.pause()
        assert app.answers == [("a1", "deny", "y1 try 1 another way")]
        assert app.area.input.text == "" and app.focused is app.area.input


@pytest.mark.parametrize("size", [(80, 24), (61, 20)])
async def test_a_reason_for_a_question_that_has_changed_denies_nothing_and_allows_nothing(
    size: tuple[int, int],
) -> None:
    app = Asked()
    async with app.run_test(size=size) as pilot:
        app.feed(make_question(1), make_question(2))
        await app.review(pilot)
        app.feed(ApprovalSettled(approval="a1", agent="main", call="c1", decision="withdrawn"))
        await pilot.pause()
        await app.press(pilot, "5", *"1 1 y", "enter", after=0.05)
        assert app.answers == [] and "the question changed" in app.heading
        assert app.heading.startswith("◆ main wants")
        assert app.area.input.text == "" and app.focused is app.pane
        await app.press(pilot, "1", "enter", after=PAUSE)  # however late: it may be meant for the question before
        assert app.answers == [] and "the question changed" in app.heading and "ctrl+g" in app.heading
        await app.press(pilot, "ctrl+g", after=PAUSE)
        assert "the question changed" not in app.heading
        await app.press(pilot, "1", after=HAND)
        assert app.answers == [("a2", "once", "")]


async def test_a_key_is_for_the_question_that_was_there_when_it_was_pressed() -> None:
    """The window was busy: the key was pressed for one question and is looked at when another one has been drawn."""
    app = Asked()
    async with app.run_test() as pilot:
        app.feed(make_question(1), make_question(2))
        await app.review(pilot)
        app.now.later()
        pressed = app.now.now
        app.feed(ApprovalSettled(approval="a1", agent="main", call="c1", decision="withdrawn"))
        await pilot.pause()
        app.now.later()
        app.keyboard.wait(pressed - app.now.now)
        app.keyboard.post("1", 0)
        await pilot.pause()
        assert app.answers == [] and "the question changed" in app.heading


async def test_letters_are_never_answers() -> None:
    app = Asked()
    async with app.run_test() as pilot:
        for letter in ("y", "Y", "n", "N", *some("abcdefghijklmopqrstuvwxz")):
            app.feed(make_question(1))
            await app.review(pilot)
            await app.press(pilot, letter)
        assert app.answers == []


async def test_a_click_on_what_has_just_come_up_is_no_answer() -> None:
    app = Asked()
    app.now.now = time.monotonic() + 3_600.0
    async with app.run_test(size=(120, 40)) as pilot:
        app.feed(make_question(1))
        await pilot.pause()
        app.pane.focus()
        await pilot.pause()
        text = str(app.query_one(Answers).content)
        await pilot.click(Answers, offset=(text.index("allow once"), 0))
        await pilot.pause()
        assert app.answers == []


async def test_several_wait_in_turn() -> None:
    app = Asked()
    async with app.run_test() as pilot:
        app.feed(make_question(1), make_question(2), make_question(3))
        await app.review(pilot)
        heading = app.query_one("#approval-title", Static)
        assert "1 of 3" in str(heading.content)
        await app.press(pilot, "right_square_bracket")
        assert "2 of 3" in str(heading.content)
        view = app.query_one(QuestionView)
        await wait_until(pilot, lambda: not view.unread, lambda: "what is asked is not on the screen")
        app.now.later()
        await app.press(pilot, "1")
        await pilot.pause()
        assert app.answers == [("a2", "once", "")]
        await app.review(pilot)
        await app.press(pilot, "escape")
        await pilot.pause()
        assert app.focused is app.area.input
        assert [request.approval for request in app.pane.state.waiting] == ["a1", "a3"]


async def test_a_question_that_is_settled_elsewhere_goes() -> None:
    app = Asked()
    settled = ApprovalSettled(approval="a1", agent="main", call="c1", decision="withdrawn")
    async with app.run_test() as pilot:
        app.feed(make_question(1), make_question(2))
        await app.review(pilot)
        await app.press(pilot, "5")
        await pilot.pause()
        await app.press(pilot, *"because")
        app.feed(settled)
        await pilot.pause()
        await app.press(pilot, "1", "enter")  # the person cannot have meant the question that came up now
        assert app.answers == [] and "the question changed" in app.heading
        app.feed(ApprovalSettled(approval="a2", agent="main", call="c2", decision="timeout"))
        await pilot.pause()
        assert not app.pane.display
        assert app.focused is app.area.input


async def test_words_typed_at_the_panel_go_to_the_input() -> None:
    app = Asked()
    async with app.run_test() as pilot:
        app.feed(make_question(1))
        await app.review(pilot)
        await app.press(pilot, *"what is 1?")
        await pilot.pause()
        assert app.area.input.text == "what is 1?"
        assert app.answers == []


async def test_the_focus_comes_back_to_where_it_was() -> None:
    app = Asked()
    async with app.run_test() as pilot:
        log = app.query_one("Log")
        log.focus()
        app.feed(make_question(1))
        await app.review(pilot)
        await app.press(pilot, "1")
        await pilot.pause()
        assert app.focused is log


async def test_untrusted_text_is_text() -> None:
    app = Asked()
    nasty = "[@click=app.quit]x[/] [/foo] \x1b[2J \x1b]0;t\x07 [red"
    async with app.run_test(size=(100, 40)) as pilot:
        app.feed(
            make_question(1, agent=nasty, tool=nasty, subject=nasty, pattern=nasty, detail=nasty * 2, warnings=(nasty,))
        )
        assert "[@click=app.quit]x[/] [/foo]" in app.heading and "\x1b" not in app.heading
        await app.review(pilot)
        rows = [app.query_one(QuestionView).render_line(y).text for y in range(4)]
        assert "[@click=app.quit]x[/] [/foo]" in rows[0]
        assert "\x1b" not in "".join(rows) + str(app.query_one("#approval-title", Static).content)
        await pilot.click(QuestionView, offset=(3, 0))
        await pilot.pause()
        assert app.is_running and app.answers == []


@pytest.mark.parametrize("lines", [2, 200])
async def test_the_keys_that_scroll_are_named_last_and_only_where_there_is_something_to_scroll(lines: int) -> None:
    app = Asked()
    diff = f"--- a\n+++ b\n@@ -0,0 +1,{lines} @@\n" + "".join(f"+line {n}\n" for n in range(lines))
    async with app.run_test(size=(80, 24)) as pilot:
        app.feed(make_question(1, diff=diff), make_question(2))
        await app.review(pilot)
        named = [hint.does for hint in pane_hints(app.screen)]
        scrolling = [does for does in named if "scroll" in does or "page" in does]
        assert named[-len(scrolling) :] == scrolling if lines > 2 else not scrolling
        assert {"next", "previous"} <= set(named)


async def test_a_long_diff_scrolls_and_says_so() -> None:
    app = Asked()
    diff = "--- a\n+++ b\n@@ -1 +1 @@\n" + "".join(f"+line {n}\n" for n in range(5_000))
    async with app.run_test(size=(80, 24)) as pilot:
        app.feed(make_question(1, diff=diff))
        await app.review(pilot)
        title = app.query_one("#approval-title", Static)
        assert " more" in str(title.content)
        view = app.query_one(QuestionView)
        await app.press(pilot, "j", "pagedown", "pagedown")
        await pilot.pause()
        assert view.scroll_offset.y > 5
        view.scroll_end(animate=False)
        await pilot.pause()
        assert " more" not in str(title.content)
        assert "line 4999" in view.render_line(view.size.height - 2).text, "what always would add is below"


EDIT = (
    "--- a/src/m.py\n+++ b/src/m.py\n@@ -1,7 +1,8 @@\n import os\n import sys\n import time\n-a = 1\n-b = 2\n+a = 3\n"
    "+b = 4\n+c = 5\n def f():\n     pass\n@@ -40,3 +41,3 @@\n x\n-y = 1\n+y = 2\n z\n"
)


def changed_rows(app: Asked) -> list[str]:
    """The added and removed rows of the question that are in sight."""
    view = app.query_one(QuestionView)
    rows = [view.render_line(y).text for y in range(view.size.height)]
    return [row for row in rows if row.strip()[2:3] in ("+", "-") or row.strip()[3:4] in ("+", "-")]


def rows_in_sight(app: Asked) -> list[str]:
    """The question's rows on the screen."""
    view = app.query_one(QuestionView)
    return [view.render_line(y).text.rstrip() for y in range(view.size.height)]


async def test_at_eighty_by_twenty_four_a_change_shows_six_lines_and_hunks_come_by_key() -> None:
    app = Asked()
    more = "".join(f"+d{n} = {n}\n" for n in range(9))
    diff = EDIT.replace("+c = 5\n", "+c = 5\n" + more).replace("+1,8", "+1,17")
    async with app.run_test(size=(80, 24)) as pilot:
        app.feed(make_question(1, tool="edit", effect="write", subject="src/m.py", detail="edit src/m.py", diff=diff))
        await app.review(pilot)
        await pilot.pause()
        assert "wants to edit src/m.py" in app.heading and "↓" in app.heading
        view = app.query_one(QuestionView)
        assert all("src/m.py" not in view.render_line(y - view.scroll_offset.y).text for y in range(20)), "named above"
        shown = changed_rows(app)
        assert len(shown) >= 6 and shown[0].endswith("- a = 1".ljust(len(shown[0]) - shown[0].index("-")))
        await app.press(pilot, "n")
        assert any("+ y = 2" in row for row in changed_rows(app))
        await app.press(pilot, "N")
        assert changed_rows(app) == shown


async def test_at_eighty_by_twenty_four_what_a_small_change_allows_is_in_sight() -> None:
    app = Asked()
    same = "".join(f" line {n}\n" for n in range(3))
    diff = f"--- a/src/m.py\n+++ b/src/m.py\n@@ -1,7 +1,7 @@\n{same}-a = 1\n+a = 2\n{same}"
    async with app.run_test(size=(80, 24)) as pilot:
        rule = '[[rule]]\ndo = "allow"\ntool = "edit"\npaths = ["src/*"]\n'
        app.feed(make_question(1, tool="edit", effect="write", subject="src/m.py", diff=diff, rule=rule))
        await app.review(pilot)
        view = app.query_one(QuestionView)
        assert not view.hidden and "↓" not in app.heading
        assert [row.split()[1] for row in changed_rows(app)] == ["-", "+"]
        assert "always allow would add" in str(app.query_one("#approval-note", Static).content)


@pytest.mark.parametrize("length", some([8, 20, 35, 50], 2))
async def test_a_digit_that_does_not_count_yet_goes_on_through_the_change_and_then_counts(length: int) -> None:
    """Whatever else changes in the title meanwhile: what was seen is seen."""
    app = Asked()
    lines = "".join(f"{sign}line {n}\n" for n in range(40) for sign in "-+")
    diff = "@@ -1,43 +1,43 @@\n a\n b\n c\n" + lines
    async with app.run_test(size=(80, 24)) as pilot:
        subject = f"src/{'m' * length}.py"
        app.feed(make_question(1, tool="edit", effect="write", subject=subject, detail=f"edit {subject}", diff=diff))
        await app.review(pilot)
        await pilot.pause()
        tops = [app.query_one(QuestionView).scroll_offset.y]
        while not app.answers:
            await app.press(pilot, "1")
            await pilot.pause()
            tops.append(app.query_one(QuestionView).scroll_offset.y)
            assert app.answers or tops[-1] > tops[-2], tops
        assert app.answers == [("a1", "once", "")]
        assert len(tops) > 5


async def test_the_marked_answer_is_given_by_enter_and_arrows_move_the_mark() -> None:
    app = Asked()
    async with app.run_test(size=(80, 24)) as pilot:
        app.feed(make_question(1), make_question(2), make_question(3))
        await pilot.pause()
        assert not app.query_one(Answers).display, "enter is the input's now"
        await app.review(pilot)
        row = str(app.query_one(Answers).content)
        assert row == "▸ 1 allow once    2 this session    3 always…    4 deny    5 deny, reason…"
        await app.press(pilot, "enter")
        assert app.answers == [("a1", "once", "")]
        await app.review(pilot)
        await app.press(pilot, "down", "down", "down", "down", "down", "up")
        assert "▸ 4 deny" in str(app.query_one(Answers).content)
        await app.press(pilot, "enter")
        assert app.answers[1:] == [("a2", "deny", "")]
        await app.review(pilot)
        assert str(app.query_one(Answers).content).startswith("▸ 1"), "another question, another mark"


@pytest.mark.parametrize("size", [(61, 20), (80, 24), (100, 30)])
@pytest.mark.parametrize(("repeatable", "rule"), [(True, ""), (False, ""), (False, "run make")])
async def test_a_number_that_answers_nothing_says_why(repeatable: bool, rule: str, size: tuple[int, int]) -> None:
    app = Asked()
    async with app.run_test(size=size) as pilot:
        app.feed(make_question(1, repeatable=repeatable, rule=rule))
        await app.review(pilot)
        shown = str(app.query_one(Answers).content)
        assert re.findall(r"\d", shown) == list("12345"), shown
        assert len(shown.split("\n")) == 1, "no row more"
        told = {"2": "each call is asked about"} if not repeatable else {}
        for key, why in (told | ({"3": "no rule fits this call"} if not rule else {})).items():
            await app.press(pilot, key)
            assert app.answers == [] and why in str(app.query_one("#approval-title", Static).content)
        await app.press(pilot, *["down"] * (3 - (not repeatable) - (not rule)))
        assert re.search(r"▸ 4 (deny|no)", str(app.query_one(Answers).content)), "the mark passes them over"
        await app.press(pilot, "enter")
        assert app.answers == [("a1", "deny", "")]


async def test_a_number_that_answers_nothing_gives_way_to_what_is_asked() -> None:
    app = Asked()
    async with app.run_test(size=(61, 24)) as pilot:
        seen: list[tuple[bool, bool]] = []
        for lines in range(1, 12):
            app.feed(make_question(lines, rule="", detail="\n".join(f"line {n}" for n in range(lines))))
            await app.review(pilot)
            told = "(no rule fits this call)" in str(app.query_one(Answers).content)
            seen.append((told, "↓" not in str(app.query_one("#approval-title", Static).content)))
            await app.press(pilot, "4")
        assert list(dict.fromkeys(seen)) == [(True, True), (False, True), (False, False)], seen


async def test_enter_for_words_or_for_the_question_before_answers_nothing() -> None:
    app = Asked()
    async with app.run_test(size=(80, 24)) as pilot:
        app.feed(make_question(1))
        await app.review(pilot)
        await app.press(pilot, "h", "i", "enter")
        assert app.answers == []
        assert [event.text for event in app.events if isinstance(event, PromptSubmitted)] == ["hi"]
        app.feed(ApprovalSettled(approval="a1", agent="main", call="c", decision="timeout"), make_question(2))
        await app.press(pilot, "enter", after=0.1)
        assert app.answers == []


@pytest.mark.parametrize("size", [(80, 24), (20, 5), (40, 10), (200, 50)])
async def test_the_input_and_some_of_the_conversation_stay_in_sight(size: tuple[int, int]) -> None:
    app = Asked()
    diff = "@@ -1 +1 @@\n" + "".join(f"+line {n}\n" for n in range(200))
    async with app.run_test(size=size) as pilot:
        app.feed(make_question(1, diff=diff, warnings=("w " * 50,)), make_question(2))
        await pilot.pause()
        width, height = size
        assert app.area.input.region.bottom <= height and app.area.input.region.height >= 1
        assert app.query_one("Log").region.height >= (4 if height >= 24 else 1)
        assert app.pane.region.height == 1, "one row until it is wanted"
        assert "rm" in app.heading and cell_len(app.heading) <= width
        assert ("ctrl+g" in app.heading) == (width > 20)
        await app.review(pilot)
        await pilot.pause()
        assert app.area.input.region.bottom <= height and app.pane.region.height <= max(3, height // 2)
        view = app.query_one(QuestionView)
        assert view.region.height >= 1 and view.region.right <= width
        assert "rm -r" in view.render_line(0).text
        answers = app.query_one(Answers)
        assert answers.region.bottom <= height and answers.region.height >= 1
        await app.press(pilot, "4")
        await pilot.pause()
        assert app.answers == [("a1", "deny", "")]


async def test_what_where_answers_and_the_note_stand_in_this_order() -> None:
    """Where room is short the note goes first, then some of what is asked, which can be scrolled."""
    sizes = ((80, 24), (120, 35), (61, 20), (61, 16), (50, 16), (60, 10), (44, 12), (40, 10), (200, 50))
    app = Asked()
    async with app.run_test() as pilot:
        with each_case() as case:
            for number, (size, lines) in enumerate(combined(sizes, (1, 3, 60))):
                command = "\n".join(f"make part{n} && echo 'made number {n} of all of them'" for n in range(lines))
                subject, detail = " ".join(command.split())[:300], f"in /src/made\n{command}"
                await pilot.resize_terminal(*size)
                app.feed(make_question(number, subject=subject, detail=detail, beside="note"))
                await app.review(pilot)
                await pilot.pause()
                with case(size, lines):
                    await in_order(app, pilot, size)
                app.feed(ApprovalSettled(approval=f"a{number}", agent="main", call="c", decision="withdrawn"))
                await pilot.pause()


async def in_order(app: Asked, pilot: Pilot[None], size: tuple[int, int]) -> None:
    view, where, answers, note = (
        app.query_one(f"#{id}") for id in ("question", "approval-where", "answers", "approval-note")
    )
    assert isinstance(view, QuestionView) and "make part0" in view.render_line(0).text
    assert where.region.height == 1 and str(where.render()) == "in /src/made"
    below = app.pane.region.bottom
    assert view.region.bottom <= where.region.y < where.region.bottom <= answers.region.y
    assert answers.region.bottom <= (note.region.y if note.display else below) and note.region.bottom <= below
    assert app.pane.region.height <= max(4, size[1] // 2) and app.pane.region.bottom <= size[1]
    assert re.findall(r"\d(?= [a-z])", str(answers.render())) == [*"12345"], "each says what it does"
    assert note.display or " more" in app.heading, "what has no room is a key away"
    await app.press(pilot, "pagedown")
    view.scroll_end(animate=False)
    await pilot.pause()
    assert not view.hidden and str(where.render()) == "in /src/made"


@pytest.mark.parametrize("width", [61, 80, 120])
async def test_a_long_name_gives_way_to_what_is_asked(width: int) -> None:
    app = AskedByPrograms()
    name = "the-agent-that-mends-the-parser-of-line"
    async with app.run_test(size=(width, 24)) as pilot:
        asked = OpenQuestion(
            "q", "Do you want to make this edit to parse.py?", "", (QuestionChoice("1", "Yes"),), diff=EDIT
        )
        row = AgentRow(id="7", name=name, kind="cli", profile="claude", status="waiting", question=asked)
        app.feed(AgentChanged(agent="7", row=row))
        await app.review(pilot)
        await pilot.pause()
        assert " Do you want to make this edit to parse.py?" in app.heading or width < 80, app.heading
        assert app.heading.startswith("◆ the") and cell_len(app.heading) <= width - 4


@pytest.mark.parametrize(
    ("size", "name"), combined([(40, 20), (61, 20), (120, 24)], ["claude-6", "the-agent-that-mends-the-parser"])
)
async def test_what_is_to_be_done_is_whole_in_the_title(size: tuple[int, int], name: str) -> None:
    app = AskedByPrograms()
    diff = "@@ -1 +1,60 @@\n" + "".join(f"+line {n}\n" for n in range(60))
    asked = OpenQuestion("q", "Do you want to edit parse.py?", "", (QuestionChoice("1", "Yes"),), diff=diff)
    async with app.run_test(size=size) as pilot:
        for agent, called in (("6", name), ("7", "b"), ("8", "c"), ("9", "d")):
            row = AgentRow(id=agent, name=called, kind="cli", profile="claude", status="waiting", question=asked)
            app.feed(AgentChanged(agent=agent, row=row))
        await app.review(pilot)
        await app.press(pilot, "1")
        assert " · read on first · " in app.heading and app.heading.endswith(" · 1 of 4"), app.heading
        assert cell_len(app.heading) <= size[0] - 4, app.heading
        assert app.heading.startswith(f"◆ {name}"[: size[0] // 5] if name == "claude-6" else "◆ the-a"), app.heading


async def test_what_else_is_shown_takes_nothing_from_the_input() -> None:
    app = Asked()
    diff = "@@ -1 +1 @@\n" + "".join(f"+line {n}\n" for n in range(200))
    async with app.run_test(size=(120, 35)) as pilot:
        offer = Static("an offer\nof four\nrows\nhere")
        await app.mount(offer, before=app.area)
        await pilot.pause()
        app.feed(make_question(1, tool="edit", effect="write", subject="src/m.py", diff=diff))
        await pilot.pause()
        assert offer.region.height == 4 and app.query_one("Log").region.height >= 1
        assert app.area.status.region.bottom == 35 and app.area.status.region.height == 1


KEYS = st.sampled_from([*"yn12345 abcXYZé", "enter", "backspace", "left", "right", "space", "ASK", "ASK", "SETTLE"])


@settings(max_examples=examples(15))
@given(st.lists(KEYS, min_size=5, max_size=40), st.randoms(use_true_random=False))
async def test_typing_while_questions_come_loses_nothing_and_answers_nothing(
    keys: list[str], chance: random.Random
) -> None:
    app = Asked()
    model, cursor, lines = "", 0, list[str]()
    asked = 0
    async with app.run_test(size=(80, 24)) as pilot:
        for key in keys:
            if key == "ASK":
                asked += 1
                app.feed(make_question(asked))
                continue
            if key == "SETTLE":
                app.feed(ApprovalSettled(approval=f"a{asked}", agent="main", call="c", decision="timeout"))
                continue
            app.post_message(events.Key(key, " " if key == "space" else key if len(key) == 1 else None))
            app.now.later(0.15)
            if chance.random() < 0.3:
                await pilot.pause()
            model, cursor = typed(key, model, cursor, lines)
        await pilot.pause()
        await pilot.pause()
        assert app.answers == []
        assert app.focused is app.area.input
        assert [event.text for event in app.events if isinstance(event, PromptSubmitted)] == lines
        assert app.area.input.text == model


def typed(key: str, text: str, cursor: int, sent: list[str]) -> tuple[str, int]:
    """What a key makes of a text, on one line."""
    match key:
        case "enter":
            if text.strip():
                sent.append(text)
                return "", 0
            return text, cursor
        case "backspace":
            return text[: max(0, cursor - 1)] + text[cursor:], max(0, cursor - 1)
        case "left":
            return text, max(0, cursor - 1)
        case "right":
            return text, min(len(text), cursor + 1)
        case _:
            char = " " if key == "space" else key
            return text[:cursor] + char + text[cursor:], cursor + 1


def asking(subject: str, *labels: str, detail: str = "touch made.txt", means: Meaning = "") -> AgentChanged:
    """A program that asks this in its terminal."""
    choices = tuple(QuestionChoice(str(number), label, means) for number, label in enumerate(labels, 1))
    question = OpenQuestion(subject, subject, detail, choices)
    row = AgentRow(id="0007", name="cl", kind="cli", profile="claude", status="waiting", question=question)
    return AgentChanged(agent=row.id, row=row)


async def test_an_edit_whose_change_is_not_on_its_screen_is_denied_here_and_allowed_in_its_terminal() -> None:
    app = AskedByPrograms()
    async with app.run_test(size=(80, 24)) as pilot:
        choices = (QuestionChoice("1", "Yes", "once"), QuestionChoice("4", "No", "words"))
        asked = OpenQuestion("q", "Make the following edits?", "to a.py", choices, partial=True, changeless=True)
        row = AgentRow(id="0007", name="cx", kind="cli", profile="codex", status="waiting", question=asked)
        app.pane.consume([AgentChanged(agent=row.id, row=row)])
        await app.review(pilot)
        assert app.pane.state.shown is not None
        assert app.pane.state.shown.warnings == ("Its change is not on its screen: open its tab to read it.",)
        await app.press(pilot, "1")
        assert app.given == [] and app.pane.said == "its change is not on its screen: 0 opens its tab"
        await app.press(pilot, "4")
        assert app.given == [("0007", "q", "4")]


async def test_a_programs_question_is_answered_by_its_own_numbers() -> None:
    app = AskedByPrograms()
    async with app.run_test(size=(80, 24)) as pilot:
        app.pane.consume([asking("Go on?", "Yes", "Yes, and always allow this from now on in this folder", "No")])
        await app.review(pilot)
        assert app.heading.startswith("◆ cl · claude: Go on?"), "it needs no row"
        assert app.pane.query_one(QuestionView).virtual_size.height <= 1
        assert "always allow this from now on" in str(app.query_one(Answers).content)
        await app.press(pilot, "9")
        assert app.given == []
        await app.press(pilot, "3")
        assert app.given == [("0007", "Go on?", "3")]
        assert not app.pane.display, "it is out of sight while the answer is on its way"
        app.pane.answer_failed("0007", "Go on?")
        await pilot.pause()
        assert app.pane.display
        await app.review(pilot)
        app.pane.consume([asking("Another?", "Yes", "No")])
        await app.press(pilot, "1", after=0.1)
        await app.press(pilot, "1")
        assert len(app.given) == 1, "a key for the question that was there before"
        await app.press(pilot, "ctrl+g", after=PAUSE)
        await app.press(pilot, "1", after=HAND)
        assert app.given[1:] == [("0007", "Another?", "1")]
        assert app.answers == []


@pytest.mark.parametrize(("size", "blank"), combined([(120, 35), (80, 24), (61, 20)], ["", " "]))
async def test_a_programs_change_is_in_sight_first_and_is_answered_once_all_was_seen(
    size: tuple[int, int], blank: str
) -> None:
    app = AskedByPrograms()
    signs = [*"     ", *"--+++", *"     "]
    lines = [f"{number} {sign}{blank}words of line {number}" for number, sign in enumerate(signs, 17)]
    async with app.run_test(size=size) as pilot:
        asked = asking("Do you want to make this edit?", "Yes", "Yes, always", "No", detail="\n".join(lines))
        app.pane.consume([asked])
        await app.review(pilot)
        await wait_until(pilot, lambda: app.query_one(QuestionView).scroll_offset.y > 0, lambda: "it begins on top")
        seen, shown = set[str](), rows_in_sight(app)
        assert lines[5] in shown, shown
        while not app.given:
            seen.update(rows_in_sight(app))
            await app.press(pilot, "1")
            await pilot.pause()
            assert len(app.given) == 0 or seen >= set(lines), set(lines) - seen
        assert app.given == [("0007", "Do you want to make this edit?", "1")]


async def test_in_a_low_window_a_programs_answers_share_rows_so_that_its_change_is_seen() -> None:
    app = AskedByPrograms()
    long = "Yes, and switch to accept edits (auto-approve file edits and common file commands) for this session (⇧tab)"
    lines = [f"{number} {sign} words of line {number}" for number, sign in enumerate("-++", 3)]
    async with app.run_test(size=(61, 20)) as pilot:
        app.pane.consume(
            [asking("Do you want to make this edit to parse.py?", "Yes", "No", long, detail="\n".join(lines))]
        )
        await app.review(pilot)
        await pilot.pause()
        assert set(lines) <= set(rows_in_sight(app))
        shown = " ".join(str(app.query_one(Answers).content).split())
        assert "1 Yes 2 No" in shown and long in shown
        assert app.pane.outer_size.height <= 10
        await app.press(pilot, "2")
        assert [given[2] for given in app.given] == ["2"]


FEW = (
    "--- a/src/m.py\n+++ b/src/m.py\n@@ -7,6 +7,8 @@\n a = 1\n b = 2\n c = 3\n-d = 4\n+d = 5\n+e = 6\n+f = 7\n"
    " g = 8\n h = 9\n i = 0\n"
)
"""A change of four lines with all that stands around it."""


async def test_a_few_changed_lines_of_a_program_are_decided_in_one_look() -> None:
    app = AskedByPrograms()
    long = "Yes, and switch to accept edits (auto-approve file edits and common file commands) for this session (⇧tab)"
    asked = asking("Do you want to make this edit to m.py?", "Yes", long, "No", means="once", detail="").row
    assert asked.question is not None
    asked = msgspec.structs.replace(asked, question=msgspec.structs.replace(asked.question, diff=FEW))
    async with app.run_test(size=(80, 24)) as pilot:
        app.pane.consume([AgentChanged(agent="0007", row=asked)])
        await app.review(pilot)
        await pilot.pause()
        rows = [row.strip() for row in rows_in_sight(app)]
        assert len(changed_rows(app)) == 4 and "↓" not in app.heading, rows
        assert "wants to edit src/m.py" in app.heading and "src/m.py" not in rows, "its name is said once"
        await pilot.resize_terminal(40, 24)
        await pilot.pause()
        await app.press(pilot, "1")
        assert app.pane.said == UNREAD and "src/m.py" in rows_in_sight(app), "it is said where the title is cut"
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert not app.pane.said, "in another window it is read anew"
        await app.press(pilot, "1")
        assert [given[2] for given in app.given] == ["1"]


async def test_the_next_change_that_a_program_has_drawn_comes_by_key() -> None:
    app = AskedByPrograms()
    signs = [*"-+", *" " * 30, *"-+", *" " * 30]
    lines = [f"{number} {sign} words of line {number}" for number, sign in enumerate(signs, 10)]
    async with app.run_test(size=(80, 24)) as pilot:
        app.pane.consume([asking("Do you want to make this edit?", "Yes", "No", detail="\n".join(lines))])
        await app.review(pilot)
        await pilot.pause()
        for key, row in (("n", 32), ("N", 0)):
            assert "approval.next_hunk" in bound(app)
            await app.press(pilot, key)
            assert lines[row] in rows_in_sight(app)
        app.pane.consume([asking("Do you want to proceed?", "Yes", "No")])
        await pilot.pause()
        assert "approval.next_hunk" not in bound(app)


@pytest.mark.parametrize(
    ("detail", "whole"), [("touch made.txt", True), ("touch a\ntouch b", False), ("x " * 99, False)]
)
async def test_the_row_of_a_programs_question_says_the_command_and_one_key_allows_it(detail: str, whole: bool) -> None:
    app = AskedByPrograms()
    async with app.run_test(size=(80, 24)) as pilot:
        app.pane.consume([asking("Do you want to proceed?", "Yes", detail=detail, means="once")])
        await pilot.pause()
        assert ("◆ cl: touch made.txt  " in app.heading) is whole
        await app.press(pilot, "alt+a")
        assert app.given == ([("0007", "Do you want to proceed?", "1")] if whole else [])
        assert app.focused is (app.area.input if whole else app.pane)
        assert "changed" not in app.heading


GENERAL = (
    ("Do you want to proceed?", "make test", ": make test  "),
    ("Would you like to run the following command?", "make test", ": make test  "),
    ("Do you want to create made.txt?", "hello", ": hello · Do you want to create made.txt?"),
    ("Do you want to proceed?", "a\nb", ": a ⏎ b  "),
)


@pytest.mark.parametrize("case", range(len(GENERAL)))
async def test_a_programs_general_words_take_no_room_from_keys_and_count(case: int) -> None:
    """Each width is seen with one of them, each of them at every fourth width; every second of those by default."""
    subject, detail, said = GENERAL[case]
    app = AskedByPrograms()
    async with app.run_test(size=(120, 24)) as pilot:
        app.pane.consume([asking(subject, "Yes", detail=detail, means="once"), make_question(1)])
        for width in range(120 - case, 40, -len(GENERAL) * (1 if FULL else 2)):
            await pilot.resize_terminal(width, 24)
            await pilot.pause()
            assert ("ctrl+g" in app.heading or "alt+a" in app.heading) and " · 1 of 2" in app.heading
            assert said in app.heading or width < 80
            assert ("alt+a allow" in app.heading) is ("\n" not in detail) or "…" in app.heading


@pytest.mark.parametrize(("command", "given"), [("make test", True), ("make rm", False)])
async def test_a_programs_question_that_it_draws_for_another_width_stays_the_same(command: str, given: bool) -> None:
    app = AskedByPrograms()
    async with app.run_test(size=(80, 24)) as pilot:
        app.pane.consume([asking("Run it?", "Yes, and always allow that", detail="make test", means="once")])
        await pilot.pause()
        app.now.later()
        redrawn = asking("Run it?", "Yes, and al…", detail=command, means="once")
        assert redrawn.row.question is not None
        question = msgspec.structs.replace(redrawn.row.question, id="another")
        app.pane.consume([AgentChanged(agent="0007", row=msgspec.structs.replace(redrawn.row, question=question))])
        await pilot.pause()
        await app.press(pilot, "alt+a")
        assert app.given == ([("0007", "another", "1")] if given else [])


@pytest.mark.parametrize(
    ("before", "after", "given"),
    [("", LONG, True), ("", 0.0, False), ("touch made.txt; ls", LONG, False)],
    ids=["it is completed", "nobody can have read the rest", "another one looks the same"],
)
async def test_a_cut_question_that_is_told_whole_stays_the_same(before: str, after: float, given: bool) -> None:
    """A person has gone to it before, or to another one of which other things were told."""
    shown = asking("Run it?", "Yes", detail="touch made.txt;", means="once").row
    assert shown.question is not None
    cut = msgspec.structs.replace(shown.question, partial=True)
    one, whole = (
        as_told(cut, msgspec.structs.replace(cut, detail=detail or cut.detail, partial=not detail))
        for detail in (before, "touch made.txt; rm b")
    )
    app = AskedByPrograms()
    async with app.run_test(size=(80, 24)) as pilot:
        app.pane.consume([AgentChanged(agent="0007", row=msgspec.structs.replace(shown, question=one))])
        await app.review(pilot)
        app.now.later(LONG)
        app.pane.consume([AgentChanged(agent="0007", row=msgspec.structs.replace(shown, question=whole))])
        await pilot.pause()
        await app.press(pilot, "1", after=after)
        assert app.given == ([("0007", whole.id, "1")] if given else [])


@pytest.mark.parametrize("size", [(120, 35), (80, 24)])
async def test_digits_that_stand_for_no_answer_of_a_program_take_no_row(size: tuple[int, int]) -> None:
    app = AskedByPrograms()
    async with app.run_test(size=size) as pilot:
        asked = asking("Go on?", *"abcdef")
        assert asked.row.question is not None
        choices = tuple(one for one in asked.row.question.choices if one.key in "146")
        question = msgspec.structs.replace(asked.row.question, choices=choices)
        app.pane.consume([AgentChanged(agent="0007", row=msgspec.structs.replace(asked.row, question=question))])
        await app.review(pilot)
        rows = str(app.query_one(Answers).content).split("\n")
        assert len(rows) == (1 if size[1] < 30 else 4)
        assert re.split(r"\s\s+", "\n".join(rows).removeprefix("▸ ")) == ["1 a", "4 d", "6 f", "0 open its tab"]


BOXES = [QuestionChoice(str(n), f"[ ] {name}", about=f"{name} it is") for n, name in enumerate(("Cheese", "Oil"), 1)]


def with_boxes(ticked: str = "") -> AgentChanged:
    """A question with boxes, of which these are ticked."""
    asked = asking("Which?", "x")
    assert asked.row.question is not None
    boxes = (msgspec.structs.replace(one, label=f"[{'✔' if one.key in ticked else ' '}] {one.name}") for one in BOXES)
    choices = (*boxes, QuestionChoice("3", "Submit"))
    question = msgspec.structs.replace(asked.row.question, id=f"boxes{ticked}", choices=choices)
    return AgentChanged(agent="0007", row=msgspec.structs.replace(asked.row, question=question))


@pytest.mark.parametrize("size", [(120, 35), (61, 20)])
async def test_a_question_with_boxes_stays_open_and_its_cursor_in_place_until_it_is_sent(size: tuple[int, int]) -> None:
    app = AskedByPrograms()
    async with app.run_test(size=size) as pilot:
        app.pane.consume([with_boxes()])
        await app.review(pilot)
        await app.press(pilot, "down", "enter")
        assert app.given == [("0007", "boxes", "2")] and app.focused is app.pane
        app.pane.consume([with_boxes("2")])
        await pilot.pause()
        assert "▸ 2 [✔] Oil     Oil it is" in str(app.query_one(Answers).content) and app.focused is app.pane
        await app.press(pilot, "1")
        app.pane.consume([with_boxes("12")])
        await pilot.pause()
        await app.press(pilot, "3")
        assert app.given[1:] == [("0007", "boxes2", "1"), ("0007", "boxes12", "3")]
        assert app.focused is app.area.input and not app.pane.display


@pytest.mark.parametrize("size", [(120, 35), (80, 24), (61, 20)])
async def test_one_empty_row_is_above_the_choices_of_a_question_that_the_title_says(size: tuple[int, int]) -> None:
    app = AskedByPrograms()
    async with app.run_test(size=size) as pilot:
        app.pane.consume([asking("Which?", "a", "b", detail="")])
        await app.review(pilot)
        title, answers = app.query_one("#approval-title").region, app.query_one(Answers).region
        assert answers.y - title.bottom == 1


async def test_what_a_choice_is_said_to_do_has_a_column_of_its_own_where_it_fits() -> None:
    app = AskedByPrograms()
    async with app.run_test(size=(80, 24)) as pilot:
        app.pane.consume([with_boxes()])
        await app.review(pilot)
        rows = str(app.query_one(Answers).content).split("\n")
        assert rows[:2] == ["▸ 1 [ ] Cheese  Cheese it is", "  2 [ ] Oil     Oil it is"]
        await pilot.resize_terminal(28, 24)
        await pilot.pause()
        assert "1 [ ] Cheese · Cheese it is" in str(app.query_one(Answers).content)


@pytest.mark.parametrize("words", some([2, 4, 6, 12], 2))
async def test_the_row_names_the_key_to_the_question_where_the_command_is_cut_and_none_that_allows(words: int) -> None:
    app = Asked()
    async with app.run_test(size=(61, 20)) as pilot:
        app.feed(make_question(1, subject=" ".join(["pytest -q"] * words)))
        await pilot.pause()
        cut = "…" in app.heading.partition("  ")[0]
        assert ("alt+a allow" in app.heading) is not cut and cut is (words > 3)
        assert app.heading.endswith("  ctrl+g answer") or not cut
        await app.press(pilot, "alt+a")
        assert app.answers == ([] if cut else [("a1", "once", "")])
        assert app.pane.has_class("-open") is cut


async def test_a_dialog_without_choices_can_only_be_looked_at() -> None:
    app = AskedByPrograms()
    async with app.run_test(size=(80, 24)) as pilot:
        app.pane.consume([asking("a dialog is open")])
        await app.review(pilot)
        await app.press(pilot, "1")
        await app.press(pilot, "0")
        assert app.given == [("0007", "", "tab")]
        assert app.pane.display


@pytest.mark.parametrize(
    ("after", "fields", "size", "answered"),
    [
        (READ, {}, (80, 24), True),
        (READ / 2, {}, (80, 24), False),  # before it could be read
        (-READ, {}, (80, 24), False),  # pressed before it was on the screen, and handled late
        (READ, {"diff": "@@ -1 +1 @@\n-a\n+b\n"}, (80, 24), False),
        (READ, {"detail": "in /src"}, (80, 24), False),
        (READ, {"subject": "x " * 200}, (80, 24), False),
        (READ, {}, (18, 24), False),
    ],
)
async def test_one_key_allows_what_the_waiting_row_says_in_full(
    after: float, fields: dict[str, str], size: tuple[int, int], answered: bool
) -> None:
    app = Asked()
    async with app.run_test(size=size) as pilot:
        app.area.input.insert("half a prompt")
        app.feed(make_question(1, **fields))
        await pilot.pause()
        assert ("alt+a allow " in f"{app.heading} ") is (not fields and size[0] >= 80)
        assert "alt+a allow…" not in app.heading, "where it is cut, the key to the question is told"
        await app.press(pilot, "alt+a", after=after)
        assert app.answers == ([("a1", "once", "")] if answered else [])
        assert app.focused is (app.area.input if answered else app.pane), "else it is shown whole"
        assert app.area.input.text == "half a prompt"


@pytest.mark.parametrize("diff", ["", DIFF])
async def test_a_letter_that_does_nothing_at_a_question_begins_what_is_typed(diff: str) -> None:
    app = Asked()
    async with app.run_test(size=(80, 24)) as pilot:
        app.feed(make_question(1, diff=diff))
        await app.review(pilot)
        await app.press(pilot, *"next k")
        assert app.area.input.text == ("ext k" if diff else "next k") and app.answers == []


class Shower(FrontScroll):
    """A conversation that shows the change that is asked about, or not."""

    def __init__(self, *, shown: bool) -> None:
        self.shown = shown

    def shows_change(self, call: str, diff: str) -> bool:
        return self.shown and (call, diff) == ("c1", DIFF)

    @property
    def free_rows(self) -> int | None:
        return None

    def fold_asked(self, call: str) -> None:
        assert not call or call == "c1"


@pytest.mark.parametrize("before", [False, True], ids=["in sight", "scrolled away"])
async def test_one_key_allows_a_change_that_the_conversation_shows_whole(before: bool) -> None:
    app = Asked()
    async with app.run_test(size=(80, 24)) as pilot:
        conversation = Shower(shown=True)
        app.area.scrolls(conversation)
        app.feed(make_question(1, tool="edit", effect="write", subject="a.py", diff=DIFF))
        await pilot.pause()
        assert "wants to edit a.py" in app.heading and "alt+a allow" in app.heading
        conversation.shown = not before
        await app.press(pilot, "alt+a")
        assert app.answers == ([] if before else [("a1", "once", "")])
        assert app.pane.has_class("-open") is before


async def test_what_was_not_read_of_one_question_keeps_no_other_from_its_answer() -> None:
    app = Asked()
    async with app.run_test(size=(80, 24)) as pilot:
        lines = "".join(f"+line {n}\n" for n in range(200))
        app.feed(make_question(1, tool="edit", effect="write", subject="a.py", diff=f"@@ -0,0 +1,200 @@\n{lines}"))
        await app.review(pilot)
        await app.press(pilot, "4")
        app.feed(make_question(2))
        await pilot.pause()
        await app.press(pilot, "alt+a")
        assert [(id, decision) for id, decision, _ in app.answers] == [("a1", "deny"), ("a2", "once")]


@pytest.mark.parametrize(
    ("size", "command", "read"),
    [((80, 24), LINE, False), ((80, 12), LINE, False), ((120, 35), LINE, False), ((200, 50), "make x", True)],
)
async def test_a_warning_that_has_no_room_is_a_sign_in_the_row_and_read_in_the_panel(
    size: tuple[int, int], command: str, read: bool
) -> None:
    app = Asked()
    async with app.run_test(size=size) as pilot:
        app.feed(make_question(1, subject=command, warnings=(WARNING,)))
        await pilot.pause()
        assert app.pane.size.height == 1 and not app.query_one("#approval-note", Static).display
        assert "⚠" in app.heading and f": {command}" in app.heading
        assert ("no rule allows" in app.heading) is ("alt+a allow" in app.heading) is read
        await app.press(pilot, "alt+a")
        assert app.answers == ([("a1", "once", "")] if read else [])
        if not read:
            lines = app.pane.query_one(QuestionView)
            assert app.focused is app.pane and "no rule allows" in "\n".join(line.text for line in lines._head)
            await app.press(pilot, "1")
            assert app.answers == [("a1", "once", "")]


async def test_a_narrower_row_says_what_it_wants_to_do_rather_than_how_to_deny_it() -> None:
    app = Asked()
    rows: list[str] = []
    async with app.run_test(size=(110, 24)) as pilot:
        app.feed(make_question(1))
        for width in some(range(110, 60, -1), 2):
            await pilot.resize_terminal(width, 24)
            await pilot.pause()
            rows.append(app.heading)
    kinds = [("wants to run" in row, "alt+a allow" in row, "alt+u deny" in row) for row in rows]
    first = kinds.index((True, True, False))
    assert all(wants for wants, _, _ in kinds[:first]), "wider ones say it, too"
    assert all("ctrl+g answer" in row for row in rows), "its key to all of the question has its word"


@pytest.mark.parametrize(
    ("keys", "again", "decision"),
    [(("alt+a",), ("alt+a",), "once"), (("alt+u", *"1 no", "enter"), ("alt+u", "enter"), "deny")],
)
async def test_one_key_answers_nothing_that_took_the_place_of_another_question(
    keys: tuple[str, ...], again: tuple[str, ...], decision: str
) -> None:
    app = Asked()
    async with app.run_test(size=(120, 24)) as pilot:
        app.feed(make_question(1), make_question(2))
        await pilot.pause()
        app.now.later()
        assert "alt+a allow" in app.heading
        app.feed(ApprovalSettled(approval="a1", agent="main", call="c1", decision="withdrawn"))
        await pilot.pause()
        assert "new question · ctrl+g" in app.heading and "alt+" not in app.heading, "no key that does not count"
        await app.press(pilot, *keys)
        assert app.answers == [] and "changed" in app.heading
        assert decision == "deny" or app.focused is app.pane
        await app.press(pilot, *again)
        assert app.answers == [("a2", decision, "")]


DENIED_WITH = [
    (READ, "use make instead", "use make instead"),
    (READ, "two\nlines", "two lines"),
    (READ, "/compact", ""),  # a command is no reason
    (READ, "", ""),
    (READ / 2, "meant for the first", ""),
]


@pytest.mark.parametrize(("case", "diff"), combined(DENIED_WITH, ["", DIFF]))
async def test_one_key_denies_with_what_is_written_in_the_input(case: tuple[float, str, str], diff: str) -> None:
    (after, written, reason), app = case, Asked()
    async with app.run_test(size=(120, 24)) as pilot:
        app.feed(make_question(1, diff=diff))
        await pilot.pause()
        assert "alt+u deny… · " in app.heading
        app.area.input.insert(written)
        await pilot.pause()
        told = "alt+u deny with your text"
        assert (told in str(app.area.input.border_title)) is bool(reason or after < READ)
        assert ("alt+u" in app.heading) is (told not in str(app.area.input.border_title)), "it is said once"
        if after < READ:
            app.feed(ApprovalSettled(approval="a1", agent="main", call="c1", decision="withdrawn"), make_question(2))
            await pilot.pause()
        await app.press(pilot, "alt+u", after=after)
        assert app.answers == ([("a1", "deny", reason)] if reason else [])
        assert app.area.input.text == ("" if reason else written)
        assert app.focused is (app.area.input if reason else app.pane)
        assert told not in str(app.area.input.border_title)
        if reason:
            await app.press(pilot, "up")
            assert app.area.input.text == written, "it is in the history"


async def test_the_key_that_denies_names_an_agent_that_is_not_the_one_written_to() -> None:
    app = Asked()
    async with app.run_test(size=(120, 24)) as pilot:
        app.feed(make_question(1, agent="docs"))
        app.area.address(Addressee("try-2", ended=True, model="m", mode="ask"))
        app.area.input.insert("use make")
        await pilot.pause()
        title = "to [bold]try-2[/bold] · ended · alt+u deny docs with your text"
        assert str(app.area.input.border_title) == title
        app.area.address(Addressee("docs"))
        await pilot.pause()
        assert str(app.area.input.border_title) == "to [bold]docs[/bold] · alt+u deny with your text"


@pytest.mark.parametrize("fields", [{}, {"diff": "@@ -1 +1 @@\n-a\n+b\n"}, {"subject": "x " * 200}])
async def test_one_key_and_enter_deny_with_a_reason(fields: dict[str, str]) -> None:
    app = Asked()
    async with app.run_test(size=(80, 24)) as pilot:
        app.feed(make_question(1, **fields))
        await pilot.pause()
        assert ("alt+u deny" in app.heading) is ("subject" not in fields)
        await app.press(pilot, "alt+u", *"1 use make", gap=0.01)
        assert "enter to deny" in app.heading
        bound = app.screen.active_bindings
        assert [bound[key].binding.description for key in ("enter", "escape")] == ["Deny", "Back"]
        assert "j" not in bound and "n" not in bound, "letters are written"
        await app.press(pilot, "enter", after=0.01)
        assert app.answers == [("a1", "deny", "1 use make")]
        assert app.focused is app.area.input and not app.area.input.text


@pytest.mark.parametrize(
    ("fields", "after"),  # before it could be read; pressed before it was on the screen
    combined([{}, {"diff": "@@ -1 +1 @@\n-a\n+b\n"}, {"subject": "x " * 200}], [READ / 2, -READ]),
)
async def test_one_key_denies_nothing_that_nobody_could_have_read(fields: dict[str, str], after: float) -> None:
    app = Asked()
    async with app.run_test(size=(80, 24)) as pilot:
        app.feed(make_question(1))
        await pilot.pause()
        app.now.later()
        app.feed(ApprovalSettled(approval="a1", agent="main", call="c1", decision="withdrawn"))
        await pilot.pause()
        app.feed(make_question(2, **fields))
        await pilot.pause()
        await app.press(pilot, "alt+u", *"1 meant for the first", "enter", after=after)
        assert app.answers == [] and app.focused is app.pane and not app.area.input.text
        await app.press(pilot, "alt+u", *"no", "enter")
        assert app.answers == [("a2", "deny", "no")]


async def test_the_key_that_denies_with_a_reason_says_that_a_program_takes_none() -> None:
    app = AskedByPrograms()
    async with app.run_test(size=(80, 24)) as pilot:
        app.pane.consume([asking("Do you want to proceed?", "Yes", detail="touch made.txt", means="once")])
        await pilot.pause()
        await app.press(pilot, "alt+u", *"1 no", "enter")
        assert app.given == [] and app.focused is app.pane and "takes no reason" in app.heading
        await app.press(pilot, "1")
        assert len(app.given) == 1


async def test_the_question_of_the_agent_in_front_comes_first_until_the_person_is_at_another() -> None:
    app = Asked()
    async with app.run_test(size=(120, 24)) as pilot:
        other = make_question(1, agent="other")
        app.area.address(Addressee("main"))
        app.feed(other, make_question(2))
        await pilot.pause()
        assert app.heading.startswith("◆ main") and "2 of 2" in app.heading
        app.area.address(Addressee("other"))
        await pilot.pause()
        assert app.heading.startswith("◆ other")
        await app.press(pilot, "alt+a")
        assert app.answers == [("a1", "once", "")], "the person turned to it"
        app.feed(make_question(3))
        await app.review(pilot)
        assert "main" in app.heading
        app.feed(make_question(4, agent="other"))
        await pilot.pause()
        assert "main" in app.heading, "nothing takes the place of what is being read"


async def test_a_key_in_a_reason_is_hidden_and_not_sent() -> None:
    app, key = Asked(), "sk-ant-api03-" + "0123456789" * 9
    async with app.run_test(size=(80, 24)) as pilot:
        app.feed(make_question(1))
        await app.review(pilot)
        await app.press(pilot, "5")
        await pilot.pause()
        app.post_message(events.Paste(f"use {key} instead"))
        await pilot.pause()
        assert "0123456789" not in app.export_screenshot()
        await app.press(pilot, "enter")
        await pilot.pause()
        assert [reason for *_, reason in app.answers] == ["use [redacted] instead"]

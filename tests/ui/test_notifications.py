"""Telling of agents that end or need the person: once each, in the window, and elsewhere where nobody looks."""

import os
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from textual.events import MouseDown
from textual.notifications import SeverityLevel
from textual.widgets._toast import Toast

from gshtui.bus.agent_data import OpenQuestion
from gshtui.bus.events.agent_events import AgentAdded, TurnFinished
from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.bus.events.context_events import SummaryProposed
from gshtui.bus.events.fleet_events import AgentEnded, AgentKilled
from gshtui.hub.faces.window_history import WindowHistory
from gshtui.hub.person_notifier import PersonNotifier
from gshtui.settings.model import Settings
from gshtui.settings.settings_tables import Notify
from gshtui.ui.window.notifications import AWAY, Attention
from tests.kit.recorded_contexts import COMPACTED
from tests.kit.recorded_fleet import CLAUDE, SEARCH, changed
from tests.kit.storms import combined
from tests.kit.terminal_agents import wait_until
from tests.kit.window import Window, settled

TURN = TurnFinished(agent="0001", session="s", turn="t", stop="end")


class Noting(Attention):
    """Notes what it would draw attention to."""

    def __init__(self, app: Window, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(app, clock=clock)
        self.called: list[str] = []

    def call(self, text: str, agent: str) -> None:
        self.called.append(text)


class Telling(Window):
    """Notes what it tells the person who looks at it."""

    def __init__(self) -> None:
        super().__init__()
        self.told: list[str] = []

    def notify(self, message: str, **_: Any) -> None:
        self.told.append(message)


@asynccontextmanager
async def elsewhere() -> AsyncGenerator[tuple[Telling, Noting]]:
    """A window that its person does not look at."""
    app = Telling()
    async with app.run_test() as pilot:
        await pilot.pause()
        app.app_focus = False
        yield app, Noting(app)


async def test_an_agent_that_needs_you_says_so_once() -> None:
    async with elsewhere() as (app, watch):
        watch.consume(changed(CLAUDE, msgspec.structs.replace(CLAUDE, doing="May it?")))
        assert watch.called == ["claude needs you: May it edit src/lexer.py?"]
        calm = msgspec.structs.replace(CLAUDE, needs_you=False)
        watch.consume(changed(calm, CLAUDE))
        assert len(watch.called) == 2
        app.app_focus = True
        watch.consume(changed(calm, CLAUDE))
        assert len(watch.called) == 2 and app.told == [], "the window shows it for as long as it is so"


async def test_each_question_of_a_program_is_told_once_to_those_who_are_elsewhere() -> None:
    async with elsewhere() as (app, watch):
        first = OpenQuestion("a", "May it?", "Bash command\n\n  make")
        rows = [msgspec.structs.replace(CLAUDE, question=asked) for asked in (first, first, OpenQuestion("b", "More?"))]
        watch.consume(changed(*rows))
        assert watch.called == ["claude asks: May it? · Bash command · make", "claude asks: More?"]
        assert app.told == [], "the window shows it above the input"
        calm = msgspec.structs.replace(CLAUDE, needs_you=False)
        watch.consume(changed(calm, rows[-1]))
        assert len(watch.called) == 3


async def test_a_question_of_an_agent_in_a_terminal_is_told_once() -> None:
    async with elsewhere() as (_, watch):
        asked = ApprovalRequested(
            approval="a", agent="0001", session="s", call="c", tool="bash", effect="execute", subject="ls"
        )
        watch.consume([*changed(SEARCH), asked, *changed(msgspec.structs.replace(SEARCH, needs_you=True))])
        assert watch.called == ["look-around wants to run: ls"]
        watch.consume([msgspec.structs.replace(asked, tool="mcp_server", subject="Use kit?")])
        assert watch.called[1:] == ["look-around asks: Use kit?"]


async def test_who_asked_before_the_window_came_is_told_by_name() -> None:
    async with elsewhere() as (_, watch):
        history = WindowHistory()
        asked = ApprovalRequested(
            approval="a", agent="0001", session="s", call="c", tool="bash", effect="execute", subject="ls"
        )
        for event in (AgentAdded(agent="0001", name="look-around", runtime="tmux"), *changed(SEARCH), asked, TURN):
            history.note(event)
        watch.consume(list(history.events()))
        assert watch.called == ["look-around wants to run: ls"]
        watch.consume([SummaryProposed(agent="0001", session="s", receipt=COMPACTED)])
        assert watch.called[1].startswith("look-around wants to compact its context")


async def test_a_summary_that_waits_is_told() -> None:
    async with elsewhere() as (_, watch):
        watch.consume([SummaryProposed(agent="main", session="s", receipt=COMPACTED)])
        assert watch.called == ["main wants to compact its context: its summary needs your answer"]


async def test_an_end_is_told_with_its_report_unless_the_person_made_it() -> None:
    async with elsewhere() as (app, watch):
        done: dict[str, Any] = {"agent": "0001", "name": "look-around", "background": True}
        watch.consume([*changed(SEARCH), TURN])
        assert watch.called == []
        watch.consume([AgentEnded(**done, report="Found \x1b[2J three\nplaces.")])
        assert "\x1b" not in app.told[-1]
        assert app.told[-1].startswith("look-around is done: Found")
        watch.consume([AgentEnded(**done, status="lost")])
        assert watch.called[-1] == "look-around is lost"
        count = len(watch.called)
        watch.consume([AgentKilled(agent="0002", until=9e9), AgentEnded(agent="0002", name="claude")])
        assert len(watch.called) == count
        watch.consume([msgspec.structs.replace(TURN, agent="main")])
        assert watch.called[-1] == "main is done"


async def test_what_was_missed_is_told_at_the_return() -> None:
    async with elsewhere() as (app, watch):
        watch.consume([msgspec.structs.replace(TURN, agent="fix", stop="interrupted"), TURN])
        watch.seen()
        assert app.told == ["fix was interrupted\n0001 is done"]
        watch.consume([msgspec.structs.replace(TURN, agent=f"a{number}\x1b[2J") for number in range(20)])
        watch.seen()
        lines = app.told[-1].split("\n")
        assert (lines[0], len(lines)) == ("12 earlier ones", 9)
        assert "\x1b" not in app.told[-1]
        watch.seen()
        watch.consume([TURN])
        watch.seen()  # one thing is not worth a digest: the badge said it
        assert len(app.told) == 2


async def test_what_was_missed_is_whole_words_in_its_row_and_gone_with_the_next_key() -> None:
    now = 0.0
    app = Window()
    async with app.run_test(size=(60, 20), notifications=True) as pilot:
        await settled(pilot)
        watch = Attention(app, clock=lambda: now)
        now = 2 * AWAY
        names = ("parser-empty-lines", "documentation", "review")
        watch.consume([msgspec.structs.replace(TURN, agent=name) for name in names])
        watch.pressed()
        await pilot.pause()
        assert [one.message for one in app._notifications] == ["While you were away: 2 more · review is done"]
        assert app.notices[-1][2].startswith("parser-empty-lines is done\n"), "the history has all of it"
        watch.pressed()
        await pilot.pause()
        assert app._notifications, "it was on its way already"
        next(iter(app._notifications)).raised_at -= 2
        watch.pressed()
        await pilot.pause()
        assert not app._notifications


@pytest.mark.parametrize(
    ("severity", "key"), combined(["information", "warning", "error"], ["a", "left", "escape", "click"])
)
async def test_a_notice_that_could_be_read_is_gone_with_the_next_key(severity: SeverityLevel, key: str) -> None:
    """What went wrong is not: whoever types does not look at it. Escape and a click put it away."""
    app = Window()
    async with app.run_test(size=(60, 20), notifications=True) as pilot:
        await settled(pilot)
        app.notify("A file was copied.", severity=severity, timeout=60)
        await pilot.pause()
        next(iter(app._notifications)).raised_at -= 2
        if key == "click":
            app.post_message(MouseDown(None, 1, 1, 0, 0, 1, False, False, False))
        else:
            await pilot.press(key)
        await pilot.pause()
        assert bool(app._notifications) == (severity != "information" and key in ("a", "left"))
        assert app.notices[-1][2] == "A file was copied."
        assert app.bench.input.text == ("a" if key == "a" else ""), "and the key does what it does"


async def test_nobody_is_called_about_a_muted_agent() -> None:
    app = Telling()
    async with app.run_test() as pilot:
        await pilot.pause()
        watch = Noting(app)
        settings = Settings(notify=Notify(muted=["000*"]))
        watch.notifier = PersonNotifier(lambda _: None, settings, os.environ)
        app.app_focus = False
        watch.consume([TURN, msgspec.structs.replace(TURN, agent="main")])
        assert watch.called == ["main is done"]
        watch.seen()
        watch.consume([TURN])
        watch.seen()  # nothing has called about it, so it is told at the return
        assert app.told == ["0001 is done\nmain is done", "0001 is done"]


async def test_where_the_terminal_reports_no_focus_a_person_without_keys_is_elsewhere() -> None:
    """As in tmux, whose `focus-events` is off unless somebody sets it."""
    app = Telling()
    async with app.run_test() as pilot:
        await pilot.pause()
        now = 0.0
        watch = Noting(app, clock=lambda: now)
        now = AWAY - 1
        watch.consume([TURN])
        assert watch.called == []
        now = AWAY + 1
        watch.consume([TURN, TURN])
        assert watch.called == ["0001 is done"] * 2
        watch.pressed()
        assert app.told == ["0001 is done\n0001 is done"]
        watch.consume([TURN])
        now += AWAY + 1
        watch.reports_focus = True  # it has the focus, and says so
        watch.consume([TURN])
        assert len(watch.called) == 2
        presses = app._attention._pressed_at  # pyright: ignore[reportPrivateUsage]
        await pilot.press("a")
        assert app._attention._pressed_at > presses  # pyright: ignore[reportPrivateUsage]


async def test_agents_that_fail_of_one_cause_are_named_in_one_notice() -> None:
    app = Window()
    async with app.run_test(size=(120, 35), notifications=True) as pilot:
        await settled(pilot)
        for name in ("fix", "docs", "fix", "try"):
            app.feed(AgentEnded(agent=name, name=name, status="failed", report="The disk is full."))
            await settled(pilot)
        app.feed(AgentEnded(agent="other", name="other", status="failed", report="No such model."))
        await settled(pilot)
        told = ["3 agents have failed (docs, fix, try): The disk is full.", "other has failed: No such model."]
        assert [text for _, _, text in app.notices] == told
        await wait_until(pilot, lambda: [str(one.render()) for one in app.query(Toast)] == told)


async def test_one_notice_takes_the_place_of_another_whose_words_are_marked_or_in_lines() -> None:
    app = Window()
    async with app.run_test(size=(120, 35), notifications=True) as pilot:
        await settled(pilot)
        ends = [AgentEnded(agent=name, name=name, status="failed", report="Run `x` first.") for name in ("fix", "docs")]
        app.feed(*ends)
        told = ["2 agents have failed (fix, docs): Run x first."]
        await wait_until(pilot, lambda: [str(one.render()) for one in app.query(Toast)] == told)
        for title in ("", "A title"):
            app.notify("First `a`.\n\nThen **b**.", title=title, markup=False)
        app.withdraw("First `a`.\n\nThen **b**.")
        await settled(pilot)
        assert [text for _, _, text in app.notices] == [*told, "First a.\n\nThen b."], "the one with a title stays"
        assert [one.message for one in app._notifications] == [*told, "A title: First a. · Then b."]


async def test_a_long_notice_is_read_whole_in_the_list() -> None:
    app = Window()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        app.notify(" ".join(f"word{n}" for n in range(60)), markup=False)
        await pilot.press("alt+h")
        await pilot.pause()
        shown = app.export_screenshot().replace("&#160;", " ")
        assert all(f"word{n}" in shown for n in range(60))


SIZES = [(80, 24), (120, 35), (61, 20), (200, 50)]


@pytest.mark.parametrize(("size", "key"), combined(SIZES, ["alt+2", "alt+3", "alt+4", "alt+2 alt+z", "alt+up"]))
async def test_no_notice_covers_the_keys_or_the_words_of_a_list(key: str, size: tuple[int, int]) -> None:
    app = Window()
    async with app.run_test(size=size, notifications=True) as pilot:
        await settled(pilot)
        app.notify("many words " * 30, severity="error", timeout=60, markup=False)
        await wait_until(pilot, lambda: bool(app.screen.query(Toast)))
        await pilot.press(*key.split())
        await settled(pilot)
        assert app.bench.focused is not app.bench.input
        (shown,) = app.screen.query(Toast)
        place = shown.region
        app.hide_read(dismisses=True)
        app.clear_notifications()
        await wait_until(pilot, lambda: not app.screen.query(Toast))
        await settled(pilot)
        under = app.bench.drawn()[place.y].crop(max(place.x, 14), place.right).text
        assert not set(under) - set("━─┛╯╰ "), (place, under)
        assert app.bench.drawn()[-1].text.strip(), "the keys"


@pytest.mark.parametrize(("size", "key"), combined(SIZES, ["", "alt+h", "f1"]))
async def test_a_notice_stands_over_the_key_bar_alone(key: str, size: tuple[int, int]) -> None:
    app = Window()
    async with app.run_test(size=size, notifications=True) as pilot:
        await settled(pilot)
        if key:
            await pilot.press(key)
            await wait_until(pilot, lambda: bool(app.screen.query(".dialog")))
        for n, severity in enumerate(("information", "warning", "error")):
            app.notify(f"notice {n} " + "of many words " * 12, severity=severity, timeout=60, markup=False)
        await wait_until(pilot, lambda: len(app.screen.query(Toast)) == 3)
        await settled(pilot)
        width, height = size
        cells = [(x, y) for x in range(0, width, 3) for y in range(height)]
        assert {y for x, y in cells if isinstance(app.screen.get_widget_at(x, y)[0], Toast)} == {height - 1}
        shown = app.screen.get_widget_at(width - 3, height - 1)[0]
        assert isinstance(shown, Toast) and str(shown.render()).startswith("notice 2")


@pytest.mark.parametrize("pane", ["alt+1", "alt+2"])
async def test_a_notice_is_once_on_the_screen_where_a_dialog_opens(pane: str) -> None:
    app = Window()
    async with app.run_test(size=(120, 35), notifications=True) as pilot:
        await settled(pilot)
        await pilot.press(pane)
        app.notify("Just once.", severity="warning", timeout=60)
        await settled(pilot)

        def shown() -> int:
            rows = app.screen._compositor.render_strips()  # pyright: ignore[reportPrivateUsage]
            return sum(row.text.count("Just once.") for row in rows)

        await pilot.press("f1")
        await settled(pilot)
        assert len(app.screen_stack) == 2 and shown() == 1
        app.pop_screen()
        await settled(pilot)
        assert len(app.screen_stack) == 1 and shown() == 1

"""The sidebar by keyboard and mouse: what is opened, asked and run for an agent."""

import re
import time
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from rich.cells import cell_len
from textual.content import Content
from textual.pilot import Pilot
from textual.widgets import OptionList, Static

from gshtui.bus.agent_data import OpenQuestion, QuestionChoice
from gshtui.bus.events.agent_events import InterruptRequested, TurnStarted
from gshtui.commands.declaration import Question, Unconfirmed
from gshtui.fleet.commands.agent_lifecycle import kill_question
from gshtui.fleet.core import agent_calls as calls
from gshtui.ui.agents.agents_feature import AgentsFeature
from gshtui.ui.agents.agents_pane import AgentsPane
from gshtui.ui.agents.agents_state import AgentView
from gshtui.ui.approvals.approvals_pane import ApprovalsPane
from gshtui.ui.kit.keys.key_bar import KeyBar
from gshtui.ui.kit.textual.pane_body import PaneBody
from gshtui.ui.kit.widget_messages import OpenTerminal
from gshtui.ui.kit.widgets.dialogs import ConfirmScreen, InputScreen, Picker
from tests.kit import recorded
from tests.kit.fake_hub import Answer
from tests.kit.keyboard import Keyboard
from tests.kit.recorded_fleet import CLAUDE, FEW, MANY, changed, row
from tests.kit.window import Window, settled

UNSAVED = ["Its worktree lexer holds 2 files not committed (src/lexer.py, tests/test_lexer.py)."]


class Listening(Window):
    """A window that notes which terminals it is to open."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.opened: list[tuple[str, bool]] = []

    def on_open_terminal(self, message: OpenTerminal) -> None:
        message.prevent_default()
        self.opened.append((message.agent, message.attach))


async def begun(app: Window, pilot: Pilot[int], *events: Any) -> AgentsPane:
    """The pane with these events, in front."""
    await settled(pilot)
    app.feed(*recorded.STARTED, *events)
    await pilot.press("alt+2")
    await settled(pilot)
    pane = app.bench.panes["agents"]
    assert isinstance(pane, AgentsPane)
    return pane


async def test_what_can_be_done_depends_on_how_it_is() -> None:
    app = Window()
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await begun(app, pilot, *MANY)
        agents = pane.state.agents

        async def actions(agent: AgentView) -> list[str]:
            return [key.removeprefix("agents.") for key in await AgentsFeature(app).rows.fitting(agent)]

        resting = msgspec.structs.replace(agents["main"].row, status="idle")
        assert await actions(msgspec.structs.replace(agents["main"], row=resting)) == ["open", "message", "context"]
        assert {"kill", "attach", "message", "changes"} <= set(await actions(agents["0002"]))
        assert "changes" not in await actions(agents["0001"])
        assert {"undo"} == set(await actions(agents["0007"])) - {
            "open",
            "report",
            "rename",
            "attach",
            "copy",
            "context",
        }
        lost = set(await actions(agents["0005"]))
        assert {"recover", "remove"} <= lost and not lost & {"attach", "kill", "message"}
        assert "restart" in await actions(agents["0004"]) and "kill" not in await actions(agents["0004"])


def ran(app: Window) -> list[Any]:
    """The commands about agents that were run."""
    assert app.hub is not None
    return [one for one in app.hub.ran if not isinstance(one, str) or one.startswith("git_worktree")]


KILL = calls.KillAgent(agent="0002")
ASKED: dict[Any, Question | Exception] = {KILL: kill_question(CLAUDE, UNSAVED)}
AGREED = calls.KillAgent(agent="0002", yes=True)


async def test_the_cursor_stays_on_its_agent_when_the_order_changes() -> None:
    app = Listening()
    async with app.run_test(size=(120, 40)) as pilot:
        pane = await begun(app, pilot, *MANY)
        assert pane.chosen is not None and pane.chosen.id == "0002"
        await pilot.press("down", "j")
        assert pane.chosen.id == "0001"
        app.feed(*changed(CLAUDE))
        assert pane.chosen.id == "0001"
        await pilot.press("up", "up", "k", "k")
        assert pane.chosen.id == "0002"
        await pilot.press("end")
        assert pane.chosen.id == pane.listing.placed[-1].agent.id != "0002"
        await pilot.press("home")
        assert pane.chosen.id == pane.listing.placed[0].agent.id == "0002"
        await pilot.press("e")
        assert "0008" in {placed.agent.id for placed in pane.listing.placed}


async def test_opening_and_attaching() -> None:
    app = Listening(results={calls.ShowAgent(agent="0005"): Answer(text="It is lost.")})
    async with app.run_test(size=(80, 24)) as pilot:
        pane = await begun(app, pilot, *MANY)
        assert app.bench.layout_now.zoomed == "agents"
        await pilot.press("a", "enter")
        await settled(pilot)
        assert app.opened == [("0002", True), ("0002", False)]
        assert app.bench.layout_now.zoomed == ""
        pane.action_choose(99)
        pane.action_choose(-1)
        assert pane.chosen is not None and pane.chosen.id == "0005"
        pane.action_want("agents.open")  # it has no terminal any more
        await settled(pilot)
        assert ran(app) == [calls.ShowAgent(agent="0005")]


async def test_the_agent_in_front_is_opened_in_the_conversation() -> None:
    app = Listening()
    async with app.run_test(size=(120, 40)) as pilot:
        await begun(app, pilot)
        await pilot.press("enter")
        await settled(pilot)
        assert app.focused is app.bench.input
        app.feed(TurnStarted(agent="main", session=recorded.S, turn="t", prompt="p"))
        await pilot.press("alt+2", "i")
        await settled(pilot)
        assert app.hub is not None and len(app.hub.intents(InterruptRequested)) == 1
        await pilot.press("delete")
        assert ran(app) == []


async def test_a_kill_is_asked_about_with_what_is_unsaved() -> None:
    app = Listening(questions=ASKED)
    async with app.run_test(size=(120, 40)) as pilot:
        await begun(app, pilot, *FEW)
        await pilot.press("delete")
        await settled(pilot)
        assert isinstance(app.screen, ConfirmScreen)
        await pilot.press("enter")  # the button in front leaves it alive
        await settled(pilot)
        assert ran(app) == []
        await pilot.press("K")
        await settled(pilot)
        Keyboard(app).post("y")
        await settled(pilot)
        assert ran(app)[-1] == AGREED


async def test_what_was_being_typed_when_the_question_came_up_kills_nothing() -> None:
    """Neither by its letter nor by its button; what is typed after a pause does."""
    app = Listening(questions=ASKED)
    async with app.run_test(size=(120, 40)) as pilot:
        await begun(app, pilot, *FEW)
        began = time.monotonic()
        keyboard = Keyboard(app, lambda: began)  # the person types on, however long the machine takes
        await pilot.press("K")
        await settled(pilot)
        for key in ("y", *"try yes y", "tab", "enter", "y"):
            keyboard.post(key, after=0.05)
            await settled(pilot)
            assert isinstance(app.screen, ConfirmScreen) and AGREED not in ran(app)
        keyboard.post("enter", after=600)
        await settled(pilot)
        assert ran(app)[-1] == AGREED


async def test_what_came_up_since_the_question_is_asked_about_again() -> None:
    refused = Unconfirmed("It has unsaved work.")
    questions: dict[Any, Question] = {KILL: kill_question(CLAUDE, [])}
    app = Listening(questions=questions, results={KILL: refused})
    async with app.run_test(size=(120, 40)) as pilot:
        await begun(app, pilot, *FEW)
        await pilot.press("delete")
        await settled(pilot)
        questions.update({KILL: kill_question(CLAUDE, UNSAVED)})
        Keyboard(app).post("y")
        await settled(pilot)
        assert isinstance(app.screen, ConfirmScreen)
        Keyboard(app).post("y", after=10.0)
        await settled(pilot)
        assert ran(app) == [KILL, AGREED]


async def test_what_cannot_be_told_is_said_before_a_kill() -> None:
    app = Listening(questions={KILL: kill_question(CLAUDE, ["Can't tell what is unsaved: tmux does not answer."])})
    async with app.run_test(size=(120, 40)) as pilot:
        await begun(app, pilot, *FEW)
        await pilot.press("delete")
        await settled(pilot)
        assert "tmux does not answer" in app.export_screenshot().replace("&#160;", " ")
        await pilot.press("escape")


async def test_a_message_and_a_name_arrive_as_they_were_written() -> None:
    app = Listening()
    async with app.run_test(size=(120, 40)) as pilot:
        await begun(app, pilot, *FEW)
        await pilot.press("m")
        await settled(pilot)
        assert isinstance(app.screen, InputScreen)
        await pilot.press("ctrl+s")  # nothing is written yet
        assert isinstance(app.screen, InputScreen)
        await pilot.press("d", "o", "n", "apostrophe", "t", "enter", "equals_sign", "1", "ctrl+s")
        await settled(pilot)
        assert ran(app) == [calls.SendToAgent(agent="0002", text="don't\n=1")]
        await pilot.press("n")
        await settled(pilot)
        await pilot.press("end", "2", "enter")
        await settled(pilot)
        assert ran(app)[-1] == calls.RenameAgent(agent="0002", name="claude2")


async def test_the_attach_command_is_copied() -> None:
    attach = calls.Attachment(CLAUDE, ["tmux", "-L", "gsh", "attach", "-t", "=gsh-agent-0002"])
    app = Listening(results={calls.AttachAgent(agent="0002"): attach})
    async with app.run_test(size=(120, 40)) as pilot:
        await begun(app, pilot, *FEW)
        await pilot.press("c")
        await settled(pilot)
        assert app.clipboard == "tmux -L gsh attach -t =gsh-agent-0002"


async def test_what_means_nothing_now_is_said_and_not_run() -> None:
    app = Listening()
    async with app.run_test(size=(120, 40)) as pilot:
        await begun(app, pilot, *FEW)
        await pilot.press("u", "D", "b")
        await settled(pilot)
        assert ran(app) == []


async def test_the_menu_lists_what_can_be_done() -> None:
    app = Listening()
    async with app.run_test(size=(120, 40)) as pilot:
        await begun(app, pilot, *FEW)
        await pilot.press("space")
        await settled(pilot)
        assert isinstance(app.screen, Picker)
        listed = app.screen.query_one(OptionList)
        assert [(option.id or "").removeprefix("agents.") for option in listed.options] == [
            "open",
            "attach",
            "report",
            "message",
            "context",
            "interrupt",
            "changes",
            "rename",
            "copy",
            "fork",
            "restart",
            "kill",
            "finish",
        ]
        await pilot.press(*"interr", "enter")
        await settled(pilot)
        assert ran(app) == [calls.InterruptAgent(agent="0002")]


async def test_the_mouse_chooses_opens_and_brings_the_menu() -> None:
    app = Listening()
    async with app.run_test(size=(120, 40)) as pilot:
        pane = await begun(app, pilot, *FEW)
        top = pane.scrollable_content_region
        await pilot.click(offset=(top.x + 3, top.y + 2))
        assert pane.chosen is not None and pane.chosen.id == "main"
        await pilot.click(offset=(top.x + 3, top.y), times=2)
        await settled(pilot)
        assert pane.chosen.id == "0002"
        assert app.opened == [("0002", False)]
        assert app.bench.layout_now.zoomed == ""
        await pilot.click(offset=(top.x + 3, top.y), button=3)
        await settled(pilot)
        assert isinstance(app.screen, Picker)


async def test_a_long_list_is_shown_a_few_times_a_second_and_ends_right() -> None:
    rows = [row(f"{number:04}", f"agent-{number}") for number in range(1, 51)]
    app = Listening()
    async with app.run_test(size=(120, 40)) as pilot:
        pane = await begun(app, pilot, *changed(*rows))
        drawn: list[int] = []
        arrange = pane._arrange  # pyright: ignore[reportPrivateUsage]

        def counted() -> None:
            drawn.append(1)
            arrange()

        pane._arrange = counted  # pyright: ignore[reportPrivateUsage]
        for number in range(200):
            app.feed(*changed(row("0001", "agent-1", context=number, doing=f"step {number}")))
        assert len(drawn) < 20
        while len(pane.listing.placed) < 2 or pane.listing.placed[1].agent.row.doing != "step 199":
            await pilot.pause()


async def test_how_long_an_agent_rests_goes_on_counting() -> None:
    app = Listening()
    async with app.run_test(size=(120, 40)) as pilot:
        pane = await begun(app, pilot, *changed(row("0001", "sleeper", status="idle")))
        (since,) = [placed.agent.since for placed in pane.listing.placed if placed.agent.id == "0001"]
        for passed, said in ((9, "now"), (30, "30 s"), (39, "30 s"), (200, "3 min")):
            pane._clock = lambda now=since + passed: now  # pyright: ignore[reportPrivateUsage]
            pane.tick()
            await pilot.pause()
            assert said in app.export_screenshot().replace("&#160;", " ")


async def test_no_line_is_painted_for_a_width_that_was_only_guessed(monkeypatch: pytest.MonkeyPatch) -> None:
    painted: list[tuple[int, int]] = []

    def put_lines(self: PaneBody, lines: Sequence[Content]) -> None:
        painted.append((max(line.cell_length for line in lines), self.size.width))
        put(self, lines)

    put = PaneBody.put_lines
    monkeypatch.setattr(PaneBody, "put_lines", put_lines)
    app = Window()
    async with app.run_test(size=(100, 30)) as pilot:
        await begun(app, pilot, *MANY)
    assert painted
    assert all(lines <= width for lines, width in painted)


@pytest.mark.parametrize(
    ("size", "said"), [((91, 30), "8 "), ((105, 30), "1 needs you "), ((200, 50), "1 of 8 needs you ")]
)
async def test_the_title_says_what_it_counts(size: tuple[int, int], said: str) -> None:
    app = Window()
    async with app.run_test(size=size) as pilot:
        pane = await begun(app, pilot, *MANY)
        title = str(pane.border_title)
        assert title == f" 2 Agents · {said}" and cell_len(title) <= pane.outer_size.width - 4, "it is not cut"


async def test_the_line_of_keys_says_what_interrupts_and_what_kills_before_what_moves_panes() -> None:
    app = Window()
    async with app.run_test(size=(80, 24)) as pilot:
        await begun(app, pilot, *MANY)
        said = str(app.query_one(KeyBar).render())
        assert re.search(r"i interrupt\b.* delete kill\b.* z zoom", said), said


async def test_one_number_of_what_waits_stands_everywhere_and_this_folders_agents_come_first() -> None:
    app = Window()
    asked = OpenQuestion("q", "Do you want to proceed?", "make test", (QuestionChoice("1", "Yes", means="once"),))
    there: dict[str, Any] = {"kind": "cli", "profile": "claude", "status": "waiting", "question": asked}
    async with app.run_test(size=(120, 35)) as pilot:
        await settled(pilot)
        other = [row(f"000{n}", f"claude-{n}", home="/src/borealis", **there) for n in (3, 4)]
        silent = row("0005", "docs", home="/src/borealis", status="waiting", needs_you=True)
        app.feed(*recorded.STARTED, *changed(*other, silent, row("0007", "calm")))
        await settled(pilot)
        heading = app.bench.query_one("#approval-title", Static)
        assert str(heading.content).startswith("◆ claude-3 in borealis: make test "), heading.content
        app.feed(*changed(row("0006", "claude-6", **there)))
        await settled(pilot)
        assert str(heading.content).startswith("◆ claude-6: make test ") and " · 1 of 4" in str(heading.content)
        assert "◆ 4 need you" in app.export_screenshot().replace("&#160;", " ")
        assert str(app.bench.panes["agents"].border_title).endswith(" · 4 need you ")
        await pilot.press("ctrl+g")
        app.bench.query_one(ApprovalsPane).action_turn(1)
        await settled(pilot)
        assert str(heading.content).startswith("◆ claude-3 in borealis: ") and "2 of 4" in str(heading.content)


@pytest.mark.parametrize("leave", [("escape",), ("alt+1",), ("enter", "alt+1"), ("enter", "escape")])
async def test_a_filter_ends_with_escape_or_where_one_leaves(leave: Sequence[str]) -> None:
    app = Listening()
    async with app.run_test(size=(120, 35)) as pilot:
        pane = await begun(app, pilot, *MANY)
        listed = len(pane.listing.placed)
        await pilot.press("slash", *"zzqq")
        await settled(pilot)
        assert not pane.listing.placed
        await pilot.press(*leave)
        await settled(pilot)
        assert len(pane.listing.placed) == listed
        assert pane.has_focus is (leave[-1] == "escape")


async def test_the_cursor_stays_on_an_agent_that_was_opened_by_a_filter() -> None:
    app = Listening()
    async with app.run_test(size=(120, 35)) as pilot:
        pane = await begun(app, pilot, *MANY)
        other = pane.listing.placed[-1].agent
        await pilot.press("slash", *other.row.name, "enter", "enter")
        await settled(pilot)
        await pilot.press("alt+1", "alt+2")
        await settled(pilot)
        assert pane.has_focus and pane.chosen is not None and pane.chosen.id == other.id

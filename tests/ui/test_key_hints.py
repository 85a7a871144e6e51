"""The line under the input names keys that work at that moment, wherever the focus is and whatever a turn did."""

import re
import time
from typing import Any

import msgspec
import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from gshtui.bus.events.agent_events import AgentStatusChanged, ProviderRetried, TurnFinished, TurnStarted
from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.ui.approvals.approvals_pane import ApprovalsPane
from gshtui.ui.kit.keys.bound_keys import printed_key
from gshtui.ui.kit.keys.key_bar import KeyBar
from gshtui.ui.kit.keys.key_table import KEYS, hint_word
from gshtui.ui.kit.widgets.fitted_text import fit_parts
from gshtui.ui.kit.widgets.folding_area import FoldingArea
from gshtui.ui.prompt.prompt_completion import CompletionItem
from gshtui.ui.prompt.prompt_status import PromptStatus
from tests.kit.prompt_host import make_question
from tests.kit.window import NOW, Window
from tests.ui.test_window import settled

REMAPPED = {"app.back": "f12", "prompt.submit": "ctrl+s", "panes.next": "alt+j", "agents.rename": "f10"}
STARTED = TurnStarted(at=NOW, agent="main", session="s", turn="t", prompt="p")
PLACES = ("alt+1", "alt+up", "alt+2", "alt+3", "alt+4", "alt+5")


def said(app: Window) -> str:
    return str(app.bench.query_one(PromptStatus).content)


def named(app: Window) -> list[tuple[str, str]]:
    """Each key that the line names, with what it says of it, after checking that the line has it."""
    status = app.bench.query_one(PromptStatus)
    found = [(key, said(app)[start:end]) for start, end, key in status._places]
    assert all(words.startswith(f"{printed_key(key)} ") for key, words in found)
    assert found, (said(app), app.focused)
    return found


async def test_each_key_it_names_is_one_of_what_has_the_focus() -> None:
    app = Window()
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await check_places(app, pilot, PLACES[:2], {})
        app.set_keymap(REMAPPED)
        await check_places(app, pilot, PLACES[1:], REMAPPED)
        await pilot.click(PromptStatus, offset=(said(app).index("newline") + 2, 0))
        assert isinstance(app.bench.input, FoldingArea)
        assert app.bench.input.text == "\n", "a key that is clicked is pressed"


async def check_places(app: Window, pilot: Pilot[int], places: tuple[str, ...], keymap: dict[str, str]) -> None:
    back = keymap.get("app.back", "escape")
    leads_back = f"{printed_key(back)} to the input"
    for place in places:
        await press(pilot, place)
        bar = {key for _, _, key in app.bench.query_one(KeyBar)._places}
        for word in re.findall(r"  ?\S+ (\S+)", str(app.bench.query_one(KeyBar).render())):
            assert word[0].islower() or word.isupper(), f"{place}: {word}, as all lines of keys write it"
        at_input = app.focused is app.bench.input
        assert at_input == (place == "alt+1")
        assert said(app).startswith(leads_back) != at_input, place
        assert (f"{keymap.get('prompt.submit', 'enter')} send" in said(app)) == at_input, place
        for key, words in named(app):
            if key == "@" or words == leads_back:
                continue
            active = app.screen.active_bindings[key]
            row = KEYS[active.binding.id or ""]
            assert active.enabled, (place, key)
            assert key not in bar, "the bar below names it"
            if not at_input:
                assert words == f"{printed_key(key)} {hint_word(row.label)}", place
                assert active.node not in (app, app.screen), place
        await press(pilot, back)
        assert app.focused is app.bench.input or at_input


async def press(pilot: Pilot[int], *keys: str) -> None:
    await pilot.press(*keys)
    await settled(pilot)


async def test_it_follows_what_the_inputs_keys_do() -> None:
    app = Window()
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        area: Any = app.bench.input
        app.feed(STARTED)
        await settled(pilot)
        assert said(app).endswith("escape to interrupt")
        await press(pilot, "alt+2")
        assert "to interrupt" not in said(app), "it would go to the input first"
        await press(pilot, "escape", "h", "e")
        area.popup.show([CompletionItem("help", 0), CompletionItem("head", 0)])
        await settled(pilot)
        assert "to interrupt" not in said(app), "it would close the list first"
        app.feed(TurnFinished(agent="main", session="s", turn="t", stop="interrupted"))
        await settled(pilot)
        assert said(app).startswith("enter choose  escape close the list")
        area.popup.show([CompletionItem("help", 0, runs=True)])
        await settled(pilot)
        assert said(app).startswith("enter run  tab choose  escape close the list")
        await press(pilot, "escape")
        assert said(app).startswith("enter send")
        await press(pilot, "f1")
        assert said(app) == "", "a dialog names its own keys"
        await press(pilot, "escape")
        assert said(app).startswith("enter send")
        await press(pilot, "ctrl+r")
        assert said(app) == "Searching sent prompts  enter use it  ctrl+r next  escape back"
        await press(pilot, "escape")
        area.use_vi()
        await press(pilot, "escape")
        assert "i insert" in said(app)
        app.feed(STARTED)
        await settled(pilot)
        assert said(app).endswith("escape to interrupt")
        await press(pilot, "i")
        assert "to interrupt" not in said(app), "it would leave insert mode first"


def test_a_key_is_named_by_its_sign() -> None:
    """As everything that a person reads names it."""
    assert [printed_key(key) for key in ("right_square_bracket", "plus", "full_stop", "ctrl+right_square_bracket")] == [
        "]",
        "+",
        ".",
        "ctrl+]",
    ]
    for row in KEYS.values():
        for key in row.keys.split(","):
            assert "_" not in printed_key(key) or printed_key(key).endswith("_"), key
            assert printed_key(printed_key(key)) == printed_key(key), key


@pytest.mark.parametrize("width", [61, 120])
async def test_a_long_command_leaves_room_for_the_key_that_ends_it(width: int) -> None:
    app = Window()
    async with app.run_test(size=(width, 24)) as pilot:
        await settled(pilot)
        app.feed(STARTED, AgentStatusChanged(agent="main", status="tool", doing="bash " + "sleep 9; " * 20))
        await settled(pilot)
        assert re.fullmatch(r"\S Working: bash sleep 9; .*… · \d+ s · escape to interrupt", said(app))


async def test_what_counts_down_has_no_other_clock_beside_it() -> None:
    app = Window()
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        app.feed(msgspec.structs.replace(STARTED, at=time.time() - 40))
        await settled(pilot)
        assert re.search(r"Thinking · 4\d s", said(app))
        app.feed(ProviderRetried(at=time.time(), agent="main", provider="p", attempt=1, wait=90, why="busy", most=5))
        await settled(pilot)
        assert re.fullmatch(r"\S Trying again in \d+ s · 2 of 5 · escape to interrupt", said(app))


async def test_at_a_question_no_key_stands_in_two_places() -> None:
    app = Window()
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        asks: dict[str, Any] = {"call": "c", "tool": "bash", "subject": "make", "effect": "execute"}
        app.feed(ApprovalRequested(approval="a", agent="main", session="s", **asks))
        await press(pilot, "ctrl+g")
        bar = {key for _, _, key in app.bench.query_one(KeyBar)._places}
        hints = {key for _, _, key in app.bench.query_one(PromptStatus)._places}
        assert {"enter", "escape"} <= bar and not bar & hints, said(app)
        assert "1 allow once" in str(app.bench.query_one("#answers", Static).content), "the panel names its answers"
        assert not (bar | hints) & set("12345"), said(app)


@pytest.mark.parametrize("begun", ["reason", "always"])
async def test_the_bar_says_what_enter_does_when_a_reason_or_a_rule_is_left(begun: str) -> None:
    app = Window()
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        pane, now = app.bench.query_one(ApprovalsPane), [0.0]
        pane._clock = lambda: now[0]  # pyright: ignore[reportPrivateUsage]
        app.feed(make_question())
        await press(pilot, "ctrl+g")
        bar = app.bench.query_one(KeyBar)
        before = str(bar.render())
        assert "enter choose" in before
        now[0] = 10.0  # the question has been read
        await pane.action_answer(begun)
        await pilot.pause()
        assert "enter choose" not in str(bar.render())
        drawn: list[str] = []
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bar, "refresh", lambda: drawn.append(str(bar.render())))
            await press(pilot, "escape")
        assert drawn[-1] == before, "it is drawn anew once the answers count again"


async def test_the_keys_of_a_question_stand_below_its_panel_and_those_of_the_side_below_that() -> None:
    app = Window()
    async with app.run_test(size=(200, 50)) as pilot:
        await settled(pilot)
        app.feed(make_question())
        await press(pilot, "ctrl+g")
        bar, panel = app.bench.query_one(KeyBar), app.bench.query_one("#approvals").region
        keys = str(bar.render())
        assert len(keys) - len(keys.lstrip()) == panel.x + 1 > 10
        clicked = {key: keys[start:end] for start, end, key in bar._places}
        assert clicked["escape"].startswith("escape back"), "a click hits the key that is seen there"
        await press(pilot, "escape")
        await press(pilot, "alt+2")
        assert app.focused is app.bench.panes["agents"]
        keys = str(bar.render())
        assert len(keys) - len(keys.lstrip()) == 1


async def test_the_bar_is_drawn_anew_together_with_what_gets_the_focus(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Window()
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        drawn: list[object] = []
        monkeypatch.setattr(app.bench.query_one(KeyBar), "refresh", lambda: drawn.append(app.focused))
        app.bench.set_focus(app.bench.panes["agents"])
        assert drawn == [app.bench.panes["agents"]]


def test_keys_that_a_box_has_no_room_for_are_left_out_before_the_one_that_closes_it() -> None:
    hint = "enter to change · ctrl+r to reset · escape to close"
    assert [fit_parts(hint, width) for width in (51, 50, 20)] == [
        hint,
        "enter to change · escape to close",
        "escape to close",
    ]

"""The main screen: panes by key and by mouse, in every size of terminal, and a layout that is remembered."""

import asyncio
import itertools
import re
from collections.abc import Sequence

import pytest
from textual.geometry import Region
from textual.pilot import Pilot
from textual.widget import Widget

from gshtui.ui.kit.transcript.transcript import Transcript
from gshtui.ui.kit.widgets.tabs import Deck
from gshtui.ui.prompt.prompt_completion import CompletionItem
from gshtui.ui.window.pane_frame import PaneStrip
from gshtui.ui.window.pane_layout import PaneLayout
from gshtui.ui.window.ui_state import UiState, load_ui_state, save_ui_state
from gshtui.ui.window.workbench_screen import WorkbenchScreen
from tests.kit import recorded, recorded_shell
from tests.kit.fake_hub import Answer
from tests.kit.home import Home
from tests.kit.recorded_fleet import changed, row
from tests.kit.recorded_shell import FakeRecord
from tests.kit.terminal_agents import wait_until
from tests.kit.window import Window, at_rest
from tests.kit.window import settled as rested

WIDE = (200, 50)


def shown(app: Window) -> set[str]:
    """The side panes that are on the screen."""
    return {name for name, pane in app.bench.panes.items() if app.bench.on_screen(pane) and pane.region.area}


def lines(app: Window) -> list[str]:
    """The screen as text."""
    return [strip.text for strip in app.screen._compositor.render_strips()]


async def settled(pilot: Pilot[int]) -> None:
    await pilot.pause()
    await pilot.pause()


async def fill(app: Window, pilot: Pilot[int]) -> None:
    """Give the panes of the right side something to show."""
    app.feed(*recorded.STARTED, *recorded.TURN, *recorded_shell.SHELLS)
    await settled(pilot)
    await settled(pilot)


@pytest.mark.parametrize(
    ("size", "panes"),
    [
        ((20, 5), set()),
        ((80, 24), set()),
        ((100, 30), {"agents"}),
        ((120, 40), {"agents"}),
        ((200, 50), {"agents", "shell", "context", "timeline"}),
    ],
)
async def test_what_is_shown_in_a_terminal_of_a_size(size: tuple[int, int], panes: set[str]) -> None:
    app = Window(store=FakeRecord())
    async with app.run_test(size=size) as pilot:
        app.feed(*changed(row("0001", "fix")))
        await settled(pilot)
        assert shown(app) == panes & {"shell"}, "only the record has something that the header does not say"
        app.feed(*changed(row("0001", "fix"), row("0002", "docs")))
        await settled(pilot)
        assert shown(app) == panes & {"agents", "shell"}
        await fill(app, pilot)
        assert shown(app) == panes
        assert app.focused is app.bench.input
        await pilot.press(*"hi")
        assert app.bench.input.text == "hi"
        assert any("hi" in line for line in lines(app))
        assert all(len(line) == size[0] for line in lines(app)) and len(lines(app)) == size[1]


async def test_a_terminal_that_changes_its_size_shows_what_fits() -> None:
    app = Window(store=FakeRecord())
    async with app.run_test(size=WIDE) as pilot:
        await fill(app, pilot)
        await pilot.resize_terminal(80, 24)
        await settled(pilot)
        assert shown(app) == set()
        await pilot.resize_terminal(1, 1)
        await settled(pilot)
        await pilot.resize_terminal(*WIDE)
        await settled(pilot)
        assert shown(app) == {"shell", "context", "timeline"}
        assert app.focused is app.bench.input


@pytest.mark.parametrize("size", [WIDE, (120, 35), (80, 24)])
async def test_a_number_goes_to_a_pane_and_again_back_to_where_one_was(size: tuple[int, int]) -> None:
    panes = {"alt+2": "agents", "alt+3": "shell", "alt+4": "context", "alt+5": "timeline"}
    app = Window()
    async with app.run_test(size=size) as pilot:
        await wait_until(pilot, lambda: app.query(Transcript))
        for where, key in itertools.product(("alt+1", "alt+up"), panes):
            await pilot.press(where)
            assert (app.focused is app.bench.input) is (where == "alt+1"), (where, key)
            await there_and_back(pilot, app, key, panes[key])
            await pilot.press("alt+1", "alt+1")
            await wait_until(pilot, lambda: app.focused is app.bench.input, lambda: app.focused)


@pytest.mark.parametrize("key", ["alt+up", "f6"])
async def test_a_key_that_goes_to_the_conversation_before_it_is_there_arrives_in_it(key: str) -> None:
    app = Window()
    async with app.run_test(size=(80, 24)) as pilot:
        assert not app.query(Transcript)
        app.simulate_key(key)
        await wait_until(pilot, lambda: app.query(Transcript))
        await wait_until(pilot, lambda: isinstance(app.focused, Transcript), lambda: app.focused)


async def test_such_a_key_arrives_in_it_also_in_the_last_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    fill = Deck.fill

    async def filled(deck: Deck, widget: Widget) -> None:
        place = deck.query_one("#chat")
        mount = place.mount

        async def mounted(widget: Widget) -> None:
            await mount(widget)
            assert isinstance(deck.screen, WorkbenchScreen)
            deck.screen.action_go("up")

        monkeypatch.setattr(place, "mount", mounted)
        await fill(deck, widget)

    monkeypatch.setattr(Deck, "fill", filled)
    app = Window()
    async with app.run_test(size=(80, 24)) as pilot:
        await wait_until(pilot, lambda: app.query(Transcript))
        await wait_until(pilot, lambda: isinstance(app.focused, Transcript), lambda: app.focused)


async def there_and_back(pilot: Pilot[int], app: Window, key: str, name: str) -> None:
    """To a pane and back, twice."""
    before, pane = app.focused, app.bench.panes[name]
    for _ in range(2):
        await pilot.press(key)
        await wait_until(pilot, lambda: name in shown(app) and app.focused is pane, lambda: (before, key, app.focused))
        await pilot.press(key)
        await wait_until(pilot, lambda: app.focused is before, lambda: (before, key, app.focused))
        assert not app.bench.layout_now.zoomed, (before, key)
        assert app.bench.layout_now.shown(name, app.size.width), "it is not hidden"


async def test_a_pane_without_room_gets_the_whole_screen_and_escape_takes_it_back() -> None:
    app = Window()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("alt+4")
        await settled(pilot)
        assert shown(app) == {"context"}
        assert app.bench.panes["context"].region.width == 80
        await pilot.press("escape")
        await settled(pilot)
        assert shown(app) == set() and app.focused is app.bench.input


async def test_zoom_by_key_in_a_pane_and_from_the_input() -> None:
    app = Window(store=FakeRecord())
    async with app.run_test(size=WIDE) as pilot:
        await fill(app, pilot)
        await pilot.press("alt+5", "z")
        await settled(pilot)
        assert shown(app) == {"timeline"} and app.bench.panes["timeline"].region.width == 200
        await pilot.press("z")
        await settled(pilot)
        assert len(shown(app)) == 3
        await pilot.press("alt+1", "alt+z")
        await settled(pilot)
        assert shown(app) == set() and app.focused is app.bench.input


async def test_f6_goes_round_and_arrows_go_where_they_point() -> None:
    app = Window(store=FakeRecord())
    async with app.run_test(size=WIDE) as pilot:
        bench = app.bench
        await wait_until(pilot, lambda: app.query(Transcript))
        await fill(app, pilot)
        await pilot.press("alt+2", "alt+1")
        round_trip = []
        for _ in range(6):
            await pilot.press("f6")
            round_trip.append(bench.front_pane())
        assert round_trip == ["chat", "agents", "shell", "context", "timeline", "chat"]
        await pilot.press("shift+f6")
        assert bench.front_pane() == "timeline"
        await pilot.press("alt+up")
        assert bench.front_pane() == "context"
        await pilot.press("alt+left")
        assert app.focused is bench.input
        await pilot.press("alt+left")
        assert bench.front_pane() == "agents"
        await pilot.press("alt+left")
        assert bench.front_pane() == "agents"


async def test_the_conversation_keeps_its_rows_and_one_rule_shows_the_focus() -> None:
    app = Window()
    async with app.run_test(size=(80, 24)) as pilot:
        bench = app.bench
        await wait_until(pilot, lambda: app.query(Transcript))
        await settled(pilot)
        chat = bench.deck.front_widget
        assert chat is not None and chat.region.height >= 15
        assert bench.input.region.height == 3 and "to main" in lines(app)[bench.input.region.y]
        edge, own = bench.deck.bar.render_line(0).text, bench.input.styles.border_top[1]
        assert edge.startswith("▌Chat ─")
        before = [segment.style for segment in bench.deck.bar.render_line(0)]
        await pilot.press("f6")
        await settled(pilot)
        assert chat.has_focus
        assert [segment.style for segment in bench.deck.bar.render_line(0)] != before
        assert bench.input.styles.border_top[1] != own
        await pilot.press("f6")
        await settled(pilot)
        assert [segment.style for segment in bench.deck.bar.render_line(0)] == before


async def test_the_edge_is_dragged_with_the_mouse() -> None:
    app = Window()
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("alt+2")
        await settled(pilot)
        before = app.bench.panes["agents"].region.width
        x = app.bench.query_one("#split-left").region.x
        await pilot.mouse_down(offset=(x, 20))
        await pilot.hover(offset=(x + 7, 20))
        await pilot.mouse_up(offset=(x + 7, 20))
        await settled(pilot)
        assert app.bench.panes["agents"].region.width == before + 7
        assert app.bench.layout_now.left == before + 7


async def test_a_title_line_is_dragged_with_the_mouse() -> None:
    app = Window(store=FakeRecord())
    async with app.run_test(size=WIDE) as pilot:
        await fill(app, pilot)
        context = app.bench.panes["context"].region
        shell = app.bench.panes["shell"].region.height
        await pilot.mouse_down(offset=(context.x + 5, context.y))
        await pilot.hover(offset=(context.x + 5, context.y + 4))
        await pilot.mouse_up(offset=(context.x + 5, context.y + 4))
        await settled(pilot)
        assert app.bench.panes["shell"].region.height == shell + 4
        assert app.bench.panes["context"].region.y == context.y + 4


async def test_a_title_line_clicked_twice_zooms() -> None:
    app = Window(store=FakeRecord())
    async with app.run_test(size=WIDE) as pilot:
        await fill(app, pilot)
        context = app.bench.panes["context"].region
        await pilot.click(offset=(context.x + 5, context.y), times=2)
        await settled(pilot)
        assert shown(app) == {"context"}


async def test_panes_are_resized_by_key() -> None:
    app = Window(store=FakeRecord())
    async with app.run_test(size=WIDE) as pilot:
        await fill(app, pilot)
        width = app.bench.panes["shell"].region.width
        height = app.bench.panes["shell"].region.height
        await pilot.press("alt+3", "greater_than_sign", "plus")
        await settled(pilot)
        assert app.bench.panes["shell"].region.width == width + 2
        assert app.bench.panes["shell"].region.height == height + 1
        await pilot.press("alt+1", "alt+shift+left")
        await settled(pilot)
        assert app.bench.panes["shell"].region.width == width + 4


async def test_the_layout_is_remembered(home: Home) -> None:
    app = Window(store=FakeRecord())
    async with app.run_test(size=WIDE) as pilot:
        await fill(app, pilot)
        await pilot.press("alt+3", "x", "alt+2", "greater_than_sign")
        await pilot.press("ctrl+q")
        await pilot.pause()
    kept = load_ui_state().layout
    assert kept.hidden == {"shell"} and kept.left == 56
    assert home.state.joinpath("gsh", "workbench.json").is_file()
    again = Window(store=FakeRecord())
    async with again.run_test(size=WIDE) as pilot:
        await settled(pilot)
        assert shown(again) == set(), "a fresh conversation is calm, whatever was opened before"
        again.feed(*changed(row("0001", "fix"), row("0002", "docs")))
        await fill(again, pilot)
        assert shown(again) == {"agents", "context", "timeline"}
        assert again.bench.panes["agents"].region.width == kept.left


async def test_a_layout_of_nonsense_is_fitted() -> None:
    save_ui_state(UiState(PaneLayout(left=900, right=900)))
    app = Window()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        assert app.bench.query_one("#centre").region.width >= 56


async def test_a_state_folder_that_cannot_be_written_is_said_once(home: Home) -> None:
    home.state.joinpath("gsh").write_text("a file where the folder should be")
    app = Window()
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await pilot.press("alt+2", "x", "alt+3", "x", "ctrl+q")
        await pilot.pause()
        said = [text for _, _, text in app.notices if "Can't save the layout" in text]
    assert len(said) == 1 and "is not a folder" in said[0]


async def test_every_pane_says_what_will_appear_there() -> None:
    app = Window()
    async with app.run_test(size=WIDE) as pilot:
        await pilot.press("alt+2", "alt+3", "alt+4", "alt+5")
        await settled(pilot)
        text = " ".join(" ".join(lines(app)).split())
        for words in ("No shell commands yet", "Nothing has been sent yet", "No requests yet"):
            assert words in text


async def test_the_line_of_keys_follows_the_focus_and_takes_clicks() -> None:
    app = Window()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        assert "ctrl+p palette" in lines(app)[-2] and not lines(app)[-1].strip(), "one row of keys at the input"
        await pilot.press("alt+4")
        await settled(pilot)
        bottom = lines(app)[-1]
        assert "z zoom" in bottom and "x hide" in bottom
        await pilot.click(offset=(bottom.index("x hide") + 2, 49))
        await settled(pilot)
        assert "context" not in shown(app)


async def test_reset_brings_the_first_layout_back() -> None:
    app = Window(store=FakeRecord())
    async with app.run_test(size=WIDE) as pilot:
        await fill(app, pilot)
        await pilot.press("alt+0")
        await settled(pilot)
        assert shown(app) == set()
        await pilot.press("alt+shift+z")
        await settled(pilot)
        assert len(shown(app)) == 3


@pytest.mark.parametrize("size", [(61, 20), (80, 24), (120, 35), (200, 50)])
async def test_the_key_for_the_side_panes_hides_none_that_nobody_saw(size: tuple[int, int]) -> None:
    app = Window()
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        assert shown(app) == set()
        await pilot.press("alt+0")
        assert app.bench.layout_now.hidden == set()
        assert app.notices[-1][2] == "There is no side pane to show here."
        if size == WIDE:
            await fill(app, pilot)
            before = shown(app)
            assert before
            await pilot.press("alt+0")
            await settled(pilot)
            assert shown(app) == set()
            await pilot.press("alt+0")
            await settled(pilot)
            assert shown(app) == before and len(app.notices) == 1


async def test_no_row_stands_for_panes_that_have_nothing_to_tell() -> None:
    app = Window()
    async with app.run_test(size=(120, 35)) as pilot:
        await settled(pilot)
        strip = app.query_one(PaneStrip)
        assert not strip.display
        await pilot.press("alt+4")
        await settled(pilot)
        assert shown(app) >= {"context"}, "its key opens it"
        await pilot.press("alt+0", "alt+0", "alt+1")
        app.feed(*recorded.STARTED, *recorded.TURN)
        await settled(pilot)
        assert strip.display != app.bench.on_screen(app.bench.panes["context"])
        app.bench.action_reset()
        await settled(pilot)
        assert strip.display and " of " in str(strip.content) and strip.region.width > 60


async def test_the_strip_stands_for_the_panes_that_are_not_on_the_screen_and_a_click_opens_one() -> None:
    app = Window(store=FakeRecord())
    async with app.run_test(size=(120, 35)) as pilot:
        await settled(pilot)
        strip = app.query_one(PaneStrip)
        assert str(strip.content).startswith("3 shell log ✗") and "4 context" not in str(strip.content)
        app.feed(*recorded.STARTED, *recorded.TURN, *recorded_shell.SHELLS)
        await settled(pilot)
        words = str(strip.content)
        assert " of " in words.partition("4 context")[2]
        await pilot.click(strip, offset=(words.index("context"), 0))
        await settled(pilot)
        assert shown(app) == {"context"} and app.bench.front_pane() == "context"
        assert "context" not in str(strip.content)
        await pilot.press("x")
        await settled(pilot)
        assert shown(app) == set()
        await pilot.press("alt+0")
        await settled(pilot)
        assert not strip.display


@pytest.mark.parametrize("theme", ["gsh-dark", "gsh-light"])
async def test_behind_a_dialog_is_no_second_cursor(theme: str) -> None:
    app = Window(theme=theme)

    def backgrounds() -> int:
        """How many the first letters of the placeholder have; the cursor is on one of them."""
        [row] = app.bench.input.render_lines(Region(2, 1, 7, 1))
        return len({segment.style.bgcolor for segment in row if segment.style is not None})

    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        assert backgrounds() == 2
        for key in ("f1", "f2", "f3", "f4", "f8", "ctrl+p", "alt+h"):
            await pilot.press(key)
            await settled(pilot)
            assert app.screen is not app.bench, key
            assert backgrounds() == 1, key
            await pilot.press("escape")
            await settled(pilot)
            assert app.screen is app.bench and backgrounds() == 2, key


@pytest.mark.parametrize("size", [WIDE, (120, 35)])
async def test_no_pane_says_that_there_is_nothing_before_it_was_told(size: tuple[int, int]) -> None:
    gate = asyncio.Event()
    app = Window(store=FakeRecord(), gate=gate)
    claims = re.compile(r"\b(?:yet|appear|no|nothing|only)\b", re.IGNORECASE)

    def said() -> list[str]:
        words = [pane._shown.plain for pane in app.bench.panes.values() if pane._shown is not None]
        return [*words, str(app.query_one(PaneStrip).content)]

    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        await pilot.press("alt+2")
        await pilot.pause()
        assert [words for words in said() if claims.search(words)] == []
        gate.set()
        await settled(pilot)
        assert any(claims.search(words) for words in said()), "then it does"


class Names:
    """The commands, once the hub is up."""

    def __init__(self, up: asyncio.Event) -> None:
        self._up = up

    def start(self, before: str, row: int) -> int | None:
        return 1 if before.startswith("/") else None

    async def candidates(self, before: str, start: int) -> Sequence[CompletionItem]:
        names = {"status": True, "stop_agent": False} if self._up.is_set() else {}
        return [CompletionItem(name, 1, runs=runs) for name, runs in names.items() if name.startswith(before[1:])]


@pytest.mark.parametrize(
    ("typed", "ran", "left"),
    [
        ("/stat", ["status"], ""),
        ("/sto", [], "/stop_agent "),
        ("/nothing", ["nothing"], ""),
        ("/stat x", ["stat x"], ""),
    ],
)
async def test_a_name_that_was_begun_before_there_were_commands_means_what_it_does_later(
    typed: str, ran: list[str], left: str
) -> None:
    up = asyncio.Event()
    app = Window(gate=up, answers={"status": Answer(text="idle")})
    async with app.run_test(size=(100, 30)) as pilot:
        app.bench.input.add_source(Names(up))
        await pilot.press(*typed, "enter")
        await pilot.pause()
        assert app.hub is not None and app.hub.ran == []
        up.set()
        await rested(pilot)
        assert [line.removeprefix("/") for line in app.hub.ran if isinstance(line, str)] == ran
        assert app.bench.input.text == left


@pytest.mark.parametrize("typed", ["", "x", ("x", "backspace"), ("h", "i", "enter"), ("up",)])
async def test_a_pane_has_the_focus_again_once_there_is_room_unless_a_key_was_pressed(typed: Sequence[str]) -> None:
    app = Window()
    async with at_rest(app, (120, 35)) as pilot:
        await pilot.press("alt+2")
        await rested(pilot)
        pane = app.bench.panes["agents"]
        assert pane.has_focus_within
        await pilot.resize_terminal(80, 24)
        await rested(pilot)
        assert app.focused is app.bench.input
        await pilot.press(*typed)
        await pilot.resize_terminal(120, 35)
        await rested(pilot)
        assert pane.has_focus_within == (not typed)
        assert app.bench.input.text == ("x" if typed == "x" else "")

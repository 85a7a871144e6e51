"""The inspector in the window: opened from everywhere, by key and mouse; what is read, searched, copied and done."""

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, OptionList, Static

from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import TextDelta
from gshtui.bus.events.context_events import BlockPinned
from gshtui.context.views import ContextError
from gshtui.ui.context.context_actions import TuneScreen
from gshtui.ui.context.context_feature import ContextFeature
from gshtui.ui.context.inspector_lines import SectionLine
from gshtui.ui.context.inspector_pane import InspectorPane
from gshtui.ui.context.receipt_screen import ReceiptScreen
from gshtui.ui.kit.transcript.text_screen import TextScreen
from gshtui.ui.kit.transcript.transcript import Transcript
from gshtui.ui.kit.widgets.dialogs import Picker
from tests.kit import recorded
from tests.kit.fake_hub import Answer
from tests.kit.recorded_contexts import AGENTS, FAILED, PROMPT, RecordedContexts
from tests.kit.recorded_fleet import FEW
from tests.kit.storms import combined
from tests.kit.window import Window, at_rest, settled
from tests.ui.test_pictures import MODELS


async def pressed(pilot: Pilot[int], *keys: str) -> None:
    """Press keys, one after the other, each settled."""
    for key in keys:
        await pilot.press(key)
        await settled(pilot)


async def begun(app: Window, pilot: Pilot[int], *events: Event) -> InspectorPane:
    """The inspector of the agent in front, opened by its key."""
    await settled(pilot)
    app.feed(*recorded.STARTED, *recorded.TURN, *events)
    await pressed(pilot, "f7")
    pane = app.part(ContextFeature).inspectors.find("main")
    assert pane is not None and app.focused is pane.view
    return pane


def rows(pane: InspectorPane) -> list[str]:
    """What the rows of the screen say."""
    return [pane.view.render_line(y).text.rstrip() for y in range(pane.view.size.height)]


def has(pane: InspectorPane, words: str) -> bool:
    return any(words in row for row in rows(pane))


async def test_the_six_sections_then_blocks_then_the_exact_text() -> None:
    app = Window(service=RecordedContexts())
    async with app.run_test(size=(100, 40)) as pilot:
        pane = await begun(app, pilot)
        assert [entry.data.name for entry in pane.view.entries if isinstance(entry.data, SectionLine)] == [
            "system",
            "call",
            "memory",
            "tools",
            "history",
            "input",
        ]
        await pressed(pilot, "down", "down", "enter")
        assert has(pane, "AGENTS.md") and has(pane, "# Aurora")
        await pressed(pilot, "down", "enter")
        assert has(pane, "- Run `make test` before you say that it works.")
        assert has(pane, "sent 4 times, 96 tokens, $0.0003")
        await pressed(pilot, "left")
        assert not has(pane, "before you say")
        await pressed(pilot, "left", "left")
        entry = pane.view.entry
        assert entry is not None and entry.id == "s:memory"
        await pressed(pilot, "o")
        assert has(pane, "read src/parse.py") and has(pane, "Good. Now write a changelog entry.")


async def test_a_click_opens_and_folds() -> None:
    app = Window(service=RecordedContexts())
    async with app.run_test(size=(100, 40)) as pilot:
        pane = await begun(app, pilot)
        await pilot.click(pane.view, offset=(10, 4))
        await settled(pilot)
        assert has(pane, "bash make test")
        await pilot.click(pane.view, offset=(10, 4))
        await settled(pilot)
        assert not has(pane, "bash make test")


async def test_the_request_as_it_is_sent_and_back() -> None:
    app = Window(service=RecordedContexts())
    async with app.run_test(size=(100, 40)) as pilot:
        pane = await begun(app, pilot)
        await pressed(pilot, "r")
        assert has(pane, '{"model": "claude-sonnet-4-5", "max_tokens": 32000, "stream": true')
        await pressed(pilot, "y")
        assert app.clipboard.startswith('{"model"') and PROMPT in app.clipboard
        await pressed(pilot, "r")
        assert has(pane, "system") and has(pane, "history")


async def test_going_back_to_the_first_request_and_forth_to_the_next() -> None:
    app = Window(service=RecordedContexts())
    async with app.run_test(size=(120, 40)) as pilot:
        pane = await begun(app, pilot)
        await pressed(pilot, "[", "[", "[", "[")
        assert pane.state.at == "it1" and not any(block.section == "history" for block in pane.state.blocks)
        await pressed(pilot, "[")
        assert pane.state.at == "it1", "there is none before"
        await pressed(pilot, "]", "]", "]")
        assert pane.state.at == "it4"
        await pressed(pilot, "]")
        assert pane.state.at == "" and pane.state.view is not None and pane.state.view.iteration is None
        await pressed(pilot, "[", "[", "}")
        assert pane.state.at == ""


async def test_a_search_goes_through_folded_blocks_and_back_round() -> None:
    app = Window(service=RecordedContexts())
    async with app.run_test(size=(100, 40)) as pilot:
        pane = await begun(app, pilot)
        await pressed(pilot, "/")
        await pilot.press(*"line.split")
        await settled(pilot)
        assert has(pane, "tokens = line.split()")
        entry = pane.view.entry
        assert entry is not None and entry.id == "t:r1/0"
        await pressed(pilot, "escape")
        assert app.focused is pane.view and pane.view.needle == "line.split"
        await pressed(pilot, "home", "n")
        entry = pane.view.entry
        assert entry is not None and entry.id == "t:r1/0", "the keys go on after the line is closed"
        assert "s:memory" not in pane.state.opened, "what the first letters had opened is folded again"
        await pressed(pilot, "/")
        assert pane.view.needle == ""
        pane.query_one(Input).value = "parse"
        await settled(pilot)
        first = pane.view.entry
        await pressed(pilot, "enter", "n")
        assert app.focused is pane.view and pane.view.entry is not first


async def test_a_place_that_was_found_below_the_screen_is_scrolled_to() -> None:
    app = Window(service=RecordedContexts(size=4_000, blocks=1))
    async with app.run_test(size=(100, 20)) as pilot:
        pane = await begun(app, pilot)
        await pressed(pilot, "/")
        pane.query_one(Input).value = "Line 0"
        await settled(pilot)
        await pressed(pilot, "up")
        assert pane.view.scroll_offset.y > 30 and has(pane, "Line 0: all work and no play")


async def test_copying_takes_the_exact_text() -> None:
    app = Window(service=RecordedContexts())
    async with app.run_test(size=(60, 30)) as pilot:
        pane = await begun(app, pilot)
        await pressed(pilot, "down", "down", "enter", "down", "y")
        assert app.clipboard == AGENTS
        await pressed(pilot, "Y")
        assert app.clipboard.startswith('{"model"')
        assert pane.state.mode == "blocks"


async def test_pin_and_restore_a_block() -> None:
    service = RecordedContexts()
    app = Window(service=service)
    async with app.run_test(size=(100, 40)) as pilot:
        pane = await begun(app, pilot)
        await pressed(pilot, "down", "down", "down", "down", "enter", "down", "p")
        assert service.done == [("pin", "main", "p1/0", True)] and has(pane, "⚑ you")
        await pressed(pilot, "p")
        assert service.done[-1] == ("pin", "main", "p1/0", False)
        await pressed(pilot, "u")
        assert len(service.done) == 2, "nothing was cut from it"
        await pressed(pilot, "down", "down", "down", "u")
        assert service.done[-1] == ("restore", "main", "r2/0")
        await pressed(pilot, "enter")
        assert has(pane, FAILED.split("\n")[0])


async def test_a_change_leads_to_its_receipt() -> None:
    app = Window(service=RecordedContexts())
    async with app.run_test(size=(100, 40)) as pilot:
        await begun(app, pilot)
        await pressed(pilot, "down", "down", "down", "down", "enter", "down", "down", "down", "down", "enter")
        await pressed(pilot, "down", "down", "enter")
        assert isinstance(app.screen, ReceiptScreen) and app.screen.receipt.id == "cut1"


async def test_comparing_with_the_request_before_and_with_an_agent() -> None:
    app = Window(service=RecordedContexts())
    async with app.run_test(size=(120, 40)) as pilot:
        pane = await begun(app, pilot, *FEW)
        await pressed(pilot, "[", "d")
        assert pane.state.mode == "difference" and has(pane, "~ rewritten")
        await pressed(pilot, "d")
        assert pane.state.mode == "blocks"
        await pressed(pilot, "D")
        assert isinstance(app.screen, Picker)
        await pressed(pilot, *"its", "enter")
        assert pane.state.other is not None and pane.state.other.agent != "main"
        assert has(pane, "~ rewritten")


async def test_the_next_request_follows_what_happens() -> None:
    service = RecordedContexts()
    app = Window(service=service)
    async with app.run_test(size=(100, 40)) as pilot:
        pane = await begun(app, pilot)
        await pressed(pilot, "o")
        service.pinned.add("p1/0")
        app.feed(BlockPinned(agent="main", session=recorded.S, block="p1/0"))
        await settled(pilot)
        assert has(pane, "⚑ you")
        app.feed(TextDelta(agent="main", session=recorded.S, message="m", text="x" * 4_000))
        await settled(pilot)
        assert "answer so far ~1k" in str(pane.query_one(".inspector-title").render())


async def test_what_cannot_be_read_is_said_in_the_tab() -> None:
    service = RecordedContexts()
    app = Window(service=service)
    async with app.run_test(size=(100, 40)) as pilot:
        service.refuses = ContextError("record", "The disk is full.", "Make room.")
        pane = await begun(app, pilot)
        assert "The disk is full. Make room." in str(pane.query_one(".inspector-title").render())
        service.refuses = None
        await pressed(pilot, "R")
        assert has(pane, "system")
        service.refuses = ContextError("full", "The pins are full.")
        await pressed(pilot, "down", "down", "enter", "down", "p")
        assert service.done == []


async def test_without_a_record_it_says_so() -> None:
    app = Window()
    async with app.run_test(size=(100, 40)) as pilot:
        pane = await begun(app, pilot)
        assert "the record did not start" in str(pane.query_one(".inspector-title").render())


async def test_it_opens_from_the_sidebar_the_pane_the_header_and_a_line_and_closes() -> None:
    app = Window(service=RecordedContexts())
    async with app.run_test(size=(120, 40)) as pilot:
        await begun(app, pilot, *FEW)
        await pressed(pilot, "x")
        assert app.part(ContextFeature).inspectors.find("main") is None and app.focused is app.bench.input
        await pressed(pilot, "alt+2", "down", "down", "v")
        opened = [pane.state.agent for pane in app.query(InspectorPane)]
        assert len(opened) == 1 and opened[0] != "main"
        await pressed(pilot, "alt+4", "down", "down", "enter")
        pane = app.part(ContextFeature).inspectors.find("main")
        assert pane is not None and pane.state.opened == {"s:memory"}
        await pressed(pilot, "x")
        app.run_command("context")
        await settled(pilot)
        assert app.part(ContextFeature).inspectors.find("main") is not None
        await pressed(pilot, "x")
        await pilot.click(app.bench.header, offset=(app.size.width - 6, 0))
        await settled(pilot)
        assert app.part(ContextFeature).inspectors.find("main") is not None


async def test_thresholds_are_set_for_this_agent() -> None:
    service = RecordedContexts()
    app = Window(service=service)
    async with app.run_test(size=(80, 24)) as pilot:
        await begun(app, pilot)
        await pressed(pilot, "t")
        assert isinstance(app.screen, TuneScreen)
        await pressed(pilot, *"5", "enter")
        assert service.done == [] and isinstance(app.screen, TuneScreen), "five per cent is too low"
        await pressed(pilot, "backspace", *"75%", "tab", *"30k", "ctrl+s")
        assert service.done == [("tune", "main", 0.75, 30_000, None)]


async def test_what_if_for_another_model() -> None:
    app = Window(service=RecordedContexts(), answers={"model list": Answer(MODELS)})
    async with app.run_test(size=(100, 40)) as pilot:
        await begun(app, pilot)
        await pressed(pilot, "w", *"gpt", "enter")
        assert isinstance(app.screen, TextScreen) and "61.3k of 32k tokens" in app.screen.plain
        by_key = app.screen.plain
        await pressed(pilot, "escape")
        app.run_command("whatif model=gpt-5 provider=openai")
        await settled(pilot)
        answered = app.bench.query_one(Transcript).document.sheets[-1].text
        assert answered.split("|")[0] == by_key.split("|")[0]


@pytest.mark.parametrize("kind", ["compact", "prune", "clear"])
async def test_a_cut_is_previewed_and_left_or_done(kind: str) -> None:
    service = RecordedContexts()
    app = Window(service=service)
    key = {"compact": "c", "prune": "P", "clear": "C"}[kind]
    async with app.run_test(size=(80, 24)) as pilot:
        await begun(app, pilot)
        await pressed(pilot, key)
        assert isinstance(app.screen, ReceiptScreen) and app.screen.kind == "preview"
        await pressed(pilot, "escape")
        assert service.done == []
        await pressed(pilot, key, "ctrl+s")
        assert service.done == [("cut", "main", kind)]
        await pressed(pilot, key, "end", "enter")
        assert len(service.done) == 1
        await pressed(pilot, "home", "enter")
        assert service.done == [("cut", "main", kind)] * 2, "enter is for what opens first"


PANES = {"context": ("alt+4", "full_stop"), "timeline": ("alt+5", "full_stop"), "inspector": ("f7", "full_stop")}
"""The panes about a context: the key that goes there, and the key of the menu."""
LINES = {"compact": "/compact", "prune": "/prune", "clear": "/clear_context"}
CUT_KEYS = {"compact": "c", "prune": "p", "clear": "C"}
MENU_WORDS = {"compact": "compaction", "prune": "pruning", "clear": "starting"}


@pytest.mark.parametrize(("kind", "pane"), combined(tuple(CUT_KEYS), tuple(PANES)))
async def test_a_cut_typed_by_key_and_by_menu_is_the_same(kind: str, pane: str) -> None:
    """Keys and menus show the same preview, and make the cut once it is applied; typed, it is made at once."""
    service = RecordedContexts()
    app = Window(service=service)
    there, menu = PANES[pane]
    key = "P" if (kind, pane) == ("prune", "inspector") else CUT_KEYS[kind]
    shown: list[str] = []

    async with at_rest(app, (100, 40)) as pilot:
        app.feed(*recorded.STARTED, *recorded.TURN)
        await pressed(pilot, there)
        for way in ((key,), (menu, *MENU_WORDS[kind], "enter")):
            await pressed(pilot, *way)
            assert isinstance(app.screen, ReceiptScreen) and app.screen.kind == "preview"
            shown.append(" ".join(str(static.render()) for static in app.screen.query(Static) if static.display))
            await pressed(pilot, "ctrl+s")
        app.run_command(LINES[kind])
        await settled(pilot)
        assert not isinstance(app.screen, ReceiptScreen)
        app.run_command(f"{LINES[kind]} preview=true")
        await settled(pilot)
        assert isinstance(app.screen, ReceiptScreen) and len(service.done) == 3
    assert shown[0] == shown[1] and "takes effect with the next request" in shown[0]
    assert service.done == [("cut", "main", kind)] * 3


async def test_a_menu_has_what_fits_the_block_under_the_cursor() -> None:
    service = RecordedContexts()
    app = Window(service=service)
    async with app.run_test(size=(100, 40)) as pilot:
        await begun(app, pilot)
        await pressed(pilot, ".")
        assert isinstance(app.screen, Picker)
        ids = [option.id for option in app.screen.query_one(OptionList).options]
        assert "inspector.compact" in ids and "inspector.pin" not in ids, "the cursor is on no block"
        await pressed(pilot, "escape", "end", "enter", "end", ".")
        assert isinstance(app.screen, Picker)
        assert "inspector.pin" in [option.id for option in app.screen.query_one(OptionList).options]
        await pressed(pilot, *"never", "enter")
        assert [done[0] for done in service.done] == ["pin"]

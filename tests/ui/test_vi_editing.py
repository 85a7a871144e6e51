"""The input with vi's keys: modes in its frame, undo, folded texts, and what escape and enter still do."""

from gshtui.bus.events.agent_events import InterruptRequested, PromptSubmitted, TurnStarted
from gshtui.settings.settings_tables import Ui
from tests.kit.prompt_host import PromptHost
from tests.kit.window import Window

STARTED = TurnStarted(agent="main", session="s", turn="t", prompt="p")


def host() -> PromptHost:
    return PromptHost(keep_drafts=False)


async def test_the_modes_are_named_and_keys_edit_in_normal_mode() -> None:
    app = host()
    async with app.run_test() as pilot:
        area = app.area.input
        assert not area.border_subtitle
        area.use_vi()
        await pilot.press(*"one two")
        assert (area.text, str(area.border_subtitle)) == ("one two", "INSERT")
        await pilot.press("escape", "b")
        assert str(area.border_subtitle) == "NORMAL"
        await pilot.press("d")
        assert str(area.border_subtitle) == "d  NORMAL"
        await pilot.press("w", "0", "i", *"six ")
        assert (area.text, str(area.border_subtitle)) == ("six one ", "INSERT")
        await pilot.press("escape", "u")
        assert area.text == "one "
        await pilot.press("u", "ctrl+r", "ctrl+r")
        assert area.text == "six one "
        area.use_vi(False)
        await pilot.press("Z")
        assert "Z" in area.text and not area.border_subtitle


async def test_an_insertion_is_one_step_of_undo_with_what_its_command_deleted() -> None:
    app = host()
    async with app.run_test() as pilot:
        area = app.area.input
        area.use_vi()
        await pilot.press(*"one two", "backspace", "backspace", *"wo", "alt+enter", *"three", "escape")
        assert area.text == "one two\nthree"
        await pilot.press("c", "c", *"four five", "left", "left", *"x", "escape")
        assert area.text == "one two\nfour fixve"
        await pilot.press("o", *"six", "escape", "u")
        assert area.text == "one two\nfour fixve"
        await pilot.press("u")
        assert area.text == "one two\nthree"
        await pilot.press("u")
        assert area.text == ""
        await pilot.press("ctrl+r", "ctrl+r", "ctrl+r")
        assert area.text == "one two\nfour fixve\nsix"


async def test_enter_sends_from_both_modes_and_the_next_prompt_begins_in_insert_mode() -> None:
    app = host()
    async with app.run_test() as pilot:
        area = app.area.input
        area.use_vi()
        await pilot.press(*"first", "enter", *"second", "escape", "enter")
        assert [event.text for event in app.events if isinstance(event, PromptSubmitted)] == ["first", "second"]
        assert (area.text, str(area.border_subtitle)) == ("", "INSERT")
        await pilot.press(*"ab", "escape", "r", "enter")
        assert area.text == "a\n", "after r it is a line break"


async def test_escape_leaves_the_search_first_and_a_command_that_has_begun() -> None:
    app = host()
    async with app.run_test() as pilot:
        area = app.area.input
        area.use_vi()
        await pilot.press(*"one", "enter", "ctrl+r", "escape")
        assert str(area.border_subtitle) == "INSERT"
        await pilot.press(*"ab", "escape", "d", "escape", "x")
        assert (area.text, str(area.border_subtitle)) == ("a", "NORMAL")


async def test_a_folded_text_is_deleted_and_put_back_whole() -> None:
    app = host()
    async with app.run_test() as pilot:
        area = app.area.input
        area.use_vi()
        pasted = "\n".join(f"line {number}" for number in range(60))
        area.insert_pasted(pasted)
        assert len(area.text) < len(pasted)
        await pilot.press("escape", "d", "d")
        assert area.text == ""
        await pilot.press("p")
        assert area.value.strip("\n") == pasted


async def test_a_second_escape_interrupts_and_the_setting_chooses_the_keys() -> None:
    assert Ui().keys == "emacs"
    app = Window()
    async with app.run_test(size=(120, 35)) as pilot:
        await pilot.pause()
        await app.workers.wait_for_complete()
        settings = app.bridge.settings
        assert settings is not None
        app.apply_settings(settings.model_copy(update={"ui": settings.ui.model_copy(update={"keys": "vi"})}))
        hub = app.hub
        assert hub is not None
        app.feed(STARTED)
        await pilot.press("escape")
        await pilot.pause()
        assert hub.intents(InterruptRequested) == []
        await pilot.press("escape")
        await pilot.pause()
        assert len(hub.intents(InterruptRequested)) == 1

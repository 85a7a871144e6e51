"""Editing as at a shell's prompt, with the keys of a shell's prompt, and what ctrl+c does to a line."""

from textual import events

from tests.kit.cases import each_case
from tests.kit.prompt_host import PromptHost
from tests.kit.window import Window


def host() -> PromptHost:
    return PromptHost(keep_drafts=False)


HABITS = (
    (["ctrl+w"], "one "),
    (["ctrl+u"], ""),
    (["home", "ctrl+k"], ""),
    (["ctrl+a", "alt+d"], " two"),
    (["alt+b", "ctrl+k"], "one "),
    (["ctrl+a", "alt+f", "ctrl+k"], "one"),
    (["ctrl+a", "ctrl+e", "x"], "one twox"),
    (["ctrl+a", "ctrl+f", "X"], "oXne two"),
    (["alt+backspace"], "one "),
    (["-", "a", "ctrl+w"], "one "),
    (["-", "a", "alt+backspace"], "one two-"),
    (["ctrl+d"], "one two"),
    (["ctrl+a", "ctrl+d"], "ne two"),
)


async def test_a_line_editor_s_habits() -> None:
    app = host()
    async with app.run_test() as pilot:
        with each_case() as case:
            for keys, left in HABITS:
                app.area.input.put("")
                await pilot.press(*"one two", *keys)
                with case(keys):
                    assert app.area.input.text == left


async def test_what_was_deleted_in_a_row_comes_back_as_one() -> None:
    app = host()
    async with app.run_test() as pilot:
        await pilot.press(*"one two three", "ctrl+w", "ctrl+w", "ctrl+y")
        assert app.area.input.text == "one two three"
        await pilot.press("ctrl+a", "alt+d", "ctrl+k", "ctrl+y")
        assert app.area.input.text == "one two three"
        await pilot.press("ctrl+u", "x", "ctrl+u", "ctrl+y")
        assert app.area.input.text == "x"  # a letter between them parts two deletions
        await pilot.press("alt+y")
        assert app.area.input.text == "one two three"
        await pilot.press("left", "alt+y")  # a fresh one: nothing was just put back
        assert app.area.input.text == "one two threxe"


async def test_lines_are_joined_by_the_keys_at_their_ends() -> None:
    app = host()
    async with app.run_test() as pilot:
        await pilot.press(*"one", "ctrl+j", *"two", "up", "end", "ctrl+k")
        assert app.area.input.text == "onetwo"
        await pilot.press("ctrl+y")
        assert app.area.input.text == "one\ntwo"
        await pilot.press("ctrl+u")
        assert app.area.input.text == "onetwo"
        await pilot.press("ctrl+z")
        assert app.area.input.text == "one\ntwo"
        await pilot.press("ctrl+a", "ctrl+w")
        assert app.area.input.text == "onetwo"


async def test_undo_takes_each_deletion_back_and_redo_does_it_again() -> None:
    app = host()
    async with app.run_test() as pilot:
        await pilot.press(*"one two three", "ctrl+w", "ctrl+w")
        assert app.area.input.text == "one "
        await pilot.press("ctrl+z")
        assert app.area.input.text == "one two "
        await pilot.press("ctrl+underscore")
        assert app.area.input.text == "one two three"
        await pilot.press("alt+r", "alt+r")
        assert app.area.input.text == "one "
        await pilot.press("ctrl+y", "ctrl+z")
        assert app.area.input.text == "one "


async def test_a_folded_paste_is_deleted_whole_and_comes_back_whole() -> None:
    app = host()
    text = "x\n" * 20
    async with app.run_test() as pilot:
        await pilot.press(*"see ")
        app.post_message(events.Paste(text))
        await pilot.pause()
        await pilot.press("ctrl+w")
        assert app.area.input.text == "see "
        await pilot.press("enter", "ctrl+y")  # the input forgot its folds as it was sent
        assert app.area.input.value == text and len(app.area.input.text) < 40


async def test_a_selection_is_what_is_deleted() -> None:
    app = host()
    async with app.run_test() as pilot:
        await pilot.press(*"one two", "ctrl+shift+left", "ctrl+k")
        assert app.area.input.text == "one "
        await pilot.press("ctrl+y", "ctrl+y")
        assert app.area.input.text == "one twotwo"


async def test_ctrl_c_clears_before_it_interrupts_and_says_once_how_it_comes_back() -> None:
    app = Window()
    async with app.run_test(notifications=True) as pilot:
        area = app.bench.input
        await pilot.press(*"half a thought", "ctrl+c")
        await pilot.pause()
        assert app.bench.input.text == ""
        [notice] = app._notifications
        assert notice.message == "Cleared. ctrl+y to bring it back."
        await pilot.press("ctrl+y")
        assert app.bench.input.text == "half a thought"
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert len(list(app._notifications)) == 1
        await pilot.press("up")
        assert app.bench.input.text == "half a thought"
        await pilot.press("ctrl+c", "ctrl+z")
        assert app.bench.input.text == "half a thought" and app.focused is area
        await pilot.press("ctrl+c")
        await pilot.pause()
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert "ctrl+q to quit" in [notice.message for notice in app._notifications][-1]


async def test_ctrl_c_in_a_burst_clears_what_stood_before_it_and_no_more() -> None:
    app = Window()
    async with app.run_test() as pilot:
        for key in (*"gone", "ctrl+c", *"kept"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await pilot.pause()
        await pilot.pause()
        assert app.bench.input.text == "kept"


async def test_ctrl_c_leaves_the_search_with_the_draft() -> None:
    app = Window()
    async with app.run_test() as pilot:
        await pilot.press(*"draft", "ctrl+r", *"words", "ctrl+c")
        await pilot.pause()
        assert app.bench.input.text == "draft"

"""The input line: writing, sending, pasting, history, drafts."""

from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from gshtui.bus.events.agent_events import PromptBegun, PromptSubmitted, TurnFinished, TurnStarted
from gshtui.ui.kit.widgets.dialogs import FoldScreen
from gshtui.ui.prompt.prompt_routing import Addressee
from tests.kit.home import Home
from tests.kit.prompt_host import PromptHost


def host(**area: Any) -> PromptHost:
    return PromptHost(**{"keep_drafts": False, **area})


def sent(app: PromptHost) -> list[str]:
    return [event.text for event in app.events if isinstance(event, PromptSubmitted)]


async def paste(app: PromptHost, pilot: Pilot[None], text: str) -> None:
    app.post_message(events.Paste(text))
    await pilot.pause()


async def test_enter_sends_and_empties() -> None:
    app = host()
    async with app.run_test() as pilot:
        await pilot.press(*"hello", "enter")
        await pilot.pause()
        assert sent(app) == ["hello"]
        assert app.area.input.text == ""
        await pilot.press("enter", "space", "enter")
        await pilot.pause()
        assert sent(app) == ["hello"]


async def test_enter_alone_sends_a_prompt_again_whose_turn_has_failed() -> None:
    app = host()
    who: dict[str, Any] = {"agent": "main", "session": "s", "turn": "t"}
    async with app.run_test() as pilot:
        await pilot.press(*"hello", "enter", *"!ls", "enter")
        app.area.status.consume(
            [TurnStarted(prompt="p", at=1.0, **who), TurnFinished(stop="error", error="No.", **who)]
        )
        await pilot.pause()
        assert str(app.area.status.content).startswith("✗ failed  enter try again")
        await pilot.press(*"hm", "backspace", "backspace", "enter")
        await pilot.pause()
        assert sent(app) == ["hello", "hello"]
        app.area.status.consume([TurnStarted(prompt="p", at=2.0, **who), TurnFinished(stop="end", **who)])
        await pilot.press("enter")
        await pilot.pause()
        assert sent(app) == ["hello", "hello"]


async def test_the_first_letter_of_each_prompt_is_announced_and_a_draft_is_not() -> None:
    app = host()
    async with app.run_test() as pilot:
        app.area.input.place("a draft")
        await pilot.pause()
        assert app.events == []
        await pilot.press("ctrl+u", *"hi", "enter", "x", "backspace", "y")
        await pilot.pause()
        assert [type(event) for event in app.events] == [PromptBegun, PromptSubmitted, PromptBegun, PromptBegun]


@pytest.mark.parametrize("key", ["shift+enter", "alt+enter", "ctrl+j"])
async def test_new_lines(key: str) -> None:
    app = host()
    async with app.run_test() as pilot:
        await pilot.press(*"one", key, *"two", "backslash", "enter", *"three", "enter")
        await pilot.pause()
        assert sent(app) == ["one\ntwo\nthree"]


async def test_the_line_below_names_keys_that_work_in_any_terminal_and_as_they_are_mapped() -> None:
    app = host()
    async with app.run_test() as pilot:
        await pilot.pause()
        assert str(app.area.status.content).startswith("enter send  alt+enter newline")
        app.set_keymap({"prompt.submit": "ctrl+s", "prompt.newline": "enter"})
        await pilot.pause()
        assert str(app.area.status.content).startswith("ctrl+s send  enter newline")


async def test_a_burst_of_keys_acts_in_order() -> None:
    app = host()
    async with app.run_test() as pilot:
        for key in ("a", "b", "left", "c", "enter", "d", "backspace", "e", "home", "f"):
            app.post_message(events.Key(key, key if len(key) == 1 else None))
        await pilot.pause()
        await pilot.pause()
        assert sent(app) == ["acb"]
        assert app.area.input.text == "fe"


async def test_alt_letters_are_keys_and_no_letters() -> None:
    app = host()
    async with app.run_test() as pilot:
        await pilot.press(*"one two")
        app.post_message(events.Key("alt+b", "b"))
        app.post_message(events.Key("alt+x", "x"))
        await pilot.press("X")
        assert app.area.input.text == "one Xtwo"


@pytest.mark.parametrize(("height", "frame"), [(40, 2), (24, 2), (15, 0)])
async def test_it_grows_from_one_row_to_a_third_and_scrolls(height: int, frame: int) -> None:
    app = host()
    async with app.run_test(size=(80, height)) as pilot:
        area = app.area.input
        assert area.size.height == 1 and area.outer_size.height == 1 + frame
        await pilot.press("ctrl+j")
        await pilot.pause()
        assert area.size.height == 2
        await pilot.press(*["ctrl+j"] * 20)
        await pilot.pause()
        assert area.outer_size.height == height // 3


async def test_commands_and_shell_lines() -> None:
    app = host(commands={"help": frozenset({"topic"})})
    async with app.run_test() as pilot:
        for text in ("/model opus", "!ls 'a b'", "help", "help me out"):
            app.area.input.place(text)
            await pilot.press("enter")
            await pilot.pause()
        assert app.lines == ["model opus", "bash command=\"ls 'a b'\"", "help"]
        assert sent(app) == ["help me out"]


async def test_pictures_go_along(tmp_path: Path) -> None:
    (tmp_path / "shot.png").write_bytes(b"x")
    app = host(project=tmp_path)
    async with app.run_test() as pilot:
        app.area.input.place("what is wrong in @shot.png?")
        await pilot.press("enter")
        await pilot.pause()
        [event] = app.events
        assert isinstance(event, PromptSubmitted)
        assert event.attachments == (str(tmp_path / "shot.png"),)
        assert event.text == "what is wrong in @shot.png?"


async def test_a_megabyte_is_folded_and_arrives_whole() -> None:
    text = "".join(f"line {n} é 字 with words in it\r\n" for n in range(30_000))
    app = host()
    async with app.run_test() as pilot:
        await pilot.press(*"see: ")
        await paste(app, pilot, text)
        await pilot.press(*" ok")
        assert app.area.input.text == "see: [pasted #1 · 30,000 lines · 1.0 MB] ok"
        await pilot.press("enter")
        await pilot.pause()
        assert sent(app) == ["see: " + text.replace("\r\n", "\n") + " ok"]
        assert not app.area.input.folds
        await pilot.press("up")  # it comes back folded: nobody can edit a megabyte here
        assert len(app.area.input.text) < 100
        await pilot.press("enter")
        await pilot.pause()
        assert sent(app)[1] == sent(app)[0]


async def test_a_label_goes_as_a_whole() -> None:
    app = host()
    async with app.run_test() as pilot:
        area = app.area.input
        await pilot.press("a")
        await paste(app, pilot, "x\n" * 20)
        await pilot.press("b", "left", "left", "left", "Z")
        assert area.text == "a[pasted #1 · 20 lines · 40 B]Zb"  # typed into the label: it goes behind
        await pilot.press("left", "backspace")
        assert area.text == "aZb"
        await pilot.press("ctrl+z")
        assert area.value == "a" + "x\n" * 20 + "Zb"


async def test_short_pastes_stand_as_they_are_and_are_harmless() -> None:
    app = host()
    async with app.run_test() as pilot:
        await paste(app, pilot, "two\rlines \x1b[31mred\x1b[0m \x1b]52;c;eA==\x07 \x9b31m bell\x07")
        text = app.area.input.text
        assert text.startswith("two\nlines red ")
        assert not any((ord(char) < 32 and char not in "\n\t") or 0x7F <= ord(char) < 0xA0 for char in text)


async def test_characters_that_break_lines_elsewhere_are_not_lost() -> None:
    app = host()
    async with app.run_test() as pilot:
        await paste(app, pilot, "a\u2028b")
        await pilot.press("enter")
        await pilot.pause()
        assert len(sent(app)) == 1 and sent(app)[0].startswith("a") and sent(app)[0].endswith("b")
        assert "\n" not in sent(app)[0]


async def test_a_folded_paste_can_be_opened() -> None:
    app = host()
    async with app.run_test() as pilot:
        await paste(app, pilot, "[bold]not markup[/bold]\n" * 20)
        await pilot.press("alt+o")
        await pilot.pause()
        assert isinstance(app.screen, FoldScreen)
        await pilot.press("escape")
        await pilot.pause()
        assert app.focused is app.area.input


async def test_history_by_arrows() -> None:
    app = host()
    async with app.run_test() as pilot:
        for text in ("first", "second", "two\nlines"):
            app.area.input.place(text)
            await pilot.press("enter")
        await pilot.press(*"draft")
        await pilot.press("up")
        assert app.area.input.text == "draft"  # nothing began like that
        await pilot.press("ctrl+u", "up")
        assert app.area.input.text == "two\nlines"
        await pilot.press("up")
        assert app.area.input.text == "second"
        await pilot.press("down", "down", "down")
        assert app.area.input.text == ""
        await pilot.press("f", "up")
        assert app.area.input.text == "first"
        await pilot.press("down")
        assert app.area.input.text == "f"


async def test_history_search() -> None:
    app = host()
    async with app.run_test() as pilot:
        app.area.input.past.load(["run the tests", "fix the parser", "write docs\nfor the parser"])
        await pilot.press(*"draft", "ctrl+r")
        await pilot.pause()
        assert app.area.popup.candidates[0].insert == "run the tests"
        await pilot.press(*"parser")
        await pilot.pause()
        assert len(app.area.popup.candidates) == 2
        await pilot.press("escape")
        assert app.area.input.text == "draft"
        await pilot.press("ctrl+r", *"docs", "enter")
        await pilot.pause()
        assert app.area.input.text == "write docs\nfor the parser"
        assert sent(app) == []
        assert app.focused is app.area.input


async def test_what_was_sent_is_said_for_the_store() -> None:
    said: list[str] = []

    class Keeping(PromptHost):
        def on_prompt_input_sent(self, message: object) -> None:
            said.append(getattr(message, "text", ""))

    app = Keeping(keep_drafts=False)
    async with app.run_test() as pilot:
        await pilot.press(*"one", "enter", *"/help", "enter")
        await pilot.pause()
    assert said == ["one", "/help"]


async def test_a_draft_survives_and_is_gone_once_sent(home: Home, tmp_path: Path) -> None:
    def window() -> PromptHost:
        return PromptHost(project=tmp_path)

    app = window()
    async with app.run_test() as pilot:
        await app.workers.wait_for_complete()
        await pilot.press(*"half a thought ")
        await paste(app, pilot, "x\n" * 500)
    again = window()
    async with again.run_test() as pilot:
        await again.workers.wait_for_complete()
        await pilot.pause()
        assert again.area.input.value == "half a thought " + "x\n" * 500
        await pilot.press("enter")
        await pilot.pause()
        assert sent(again) == ["half a thought " + "x\n" * 500]
    last = window()
    async with last.run_test() as pilot:
        await last.workers.wait_for_complete()
        await pilot.pause()
        assert last.area.input.text == ""
    assert not list(home.state.glob("**/*.json"))


async def test_what_is_typed_before_the_draft_is_read_does_not_run_together_with_it(home: Home, tmp_path: Path) -> None:
    app = PromptHost(project=tmp_path)
    async with app.run_test() as pilot:
        await app.workers.wait_for_complete()
        await pilot.press(*"old ")
    again = PromptHost(project=tmp_path)
    again.area.input.text = "new"  # as the first frame hands over what was typed meanwhile
    async with again.run_test(notifications=True) as pilot:
        await again.workers.wait_for_complete()
        await pilot.press("enter", "up", "up")
        assert sent(again) == ["new"]
        assert again.area.input.text == "old "
        assert [one.message for one in again._notifications] == ["The draft from your last window is in the history."]


async def test_a_draft_belongs_to_whom_it_was_typed_for(home: Home, tmp_path: Path) -> None:
    own, review = Addressee("main"), Addressee("0002", "review", mail=True)
    lobby = Addressee("main", call="lobby")
    app = PromptHost(project=tmp_path)
    async with app.run_test() as pilot:
        await app.workers.wait_for_complete()
        shown: list[str] = []
        await pilot.press(*"for main")
        for addressee in (review, lobby, own, review, lobby):
            app.area.address(addressee)
            shown.append(app.area.input.text)
            if len(shown) < 3:
                await pilot.press(*f"for {addressee.known_as}")
        assert shown == ["", "", "for main", "for review", "for lobby"]
        await pilot.press("ctrl+r")  # a search has put the draft aside
        app.area.address(review)
        await pilot.press("escape", "!")
        assert app.area.input.text == "for review!"
    again = PromptHost(project=tmp_path)
    async with again.run_test(notifications=True) as pilot:
        await again.workers.wait_for_complete()
        await pilot.pause()
        assert again.area.input.text == "for main"
        again.area.address(review)
        assert again.area.input.text == "for review!"
        [others, _] = [one.message for one in again._notifications]
        assert "lobby" in others and "review" in others


async def test_an_editor_without_a_terminal_says_so_and_keeps_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EDITOR", "true")
    app = host()
    async with app.run_test(notifications=True) as pilot:
        await pilot.press(*"keep me", "alt+e")
        await pilot.pause()
        await app.workers.wait_for_complete()
        await pilot.pause()
        assert app.area.input.text == "keep me"
        [notice] = app._notifications
        assert "Can't open an editor here" in notice.message


@pytest.mark.parametrize("size", [(20, 5), (80, 24), (200, 50)])
async def test_every_size(size: tuple[int, int]) -> None:
    app = host()
    async with app.run_test(size=size) as pilot:
        await pilot.press(*"some words that are longer than a narrow window", "ctrl+j", *"more")
        await paste(app, pilot, "x\n" * 50)
        await pilot.resize_terminal(30, 8)
        await pilot.pause()
        await pilot.resize_terminal(*size)
        await pilot.pause()
        region = app.area.input.region
        assert region.height >= 1 and region.bottom <= size[1] and region.width > 10


async def test_a_message_to_an_agent_that_has_ended_stays_in_the_input() -> None:
    app = PromptHost(keep_drafts=False)
    async with app.run_test(notifications=True) as pilot:
        app.area.input.address(Addressee("0002", "claude", mail=True, program=True, ended=True))
        await pilot.press(*"go on", "enter")
        await pilot.pause()
        assert app.area.input.text == "go on" and "ended" in str(app.area.input.border_title)
        assert "send" not in str(app.area.status.content), "enter sends nothing"
        await pilot.press("home", "!")
        await pilot.pause()
        assert "enter send" in str(app.area.status.content), "a command is run"
        await pilot.press("backspace")
        assert [one.message for one in app._notifications] == ["claude has ended · R in Agents restarts it."]
        app.area.input.address(Addressee("main"))
        assert app.area.input.text == ""
        await pilot.press(*"go on", "enter")
        await pilot.pause()
        assert [event.text for event in app.events if isinstance(event, PromptSubmitted)] == ["go on"]

"""Scrolling from the input: pages, the ends, and from prompt to prompt, in the conversation and in another tab."""

from collections.abc import Iterable

import pytest
from textual.pilot import Pilot

from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import InterruptRequested, MessageAppended, PromptSubmitted, TextDelta, TurnStarted
from gshtui.bus.messages import Message, Text
from gshtui.ui.kit.transcript.transcript import Transcript
from gshtui.ui.kit.widget_messages import OpenTerminal
from gshtui.ui.prompt.prompt_input import PromptInput
from gshtui.ui.terminal.terminal_view import TerminalView
from tests.kit.fake_terminal import FakeTerminalWindow
from tests.kit.idle import wait_until_idle
from tests.kit.recorded import STARTED, S
from tests.kit.recorded_shell import FakeRecord
from tests.kit.terminal_agents import wait_until
from tests.kit.transcript_host import wait_until_drawn
from tests.kit.window import Window

TURNS = 12


def turn(number: int, rows: int = 9) -> Iterable[Event]:
    """A prompt and its answer, the last word of a conversation so far."""
    prompt, answer = f"prompt {number}", "\n\n".join(f"answer {number}.{row}" for row in range(rows))
    yield MessageAppended(message=Message(f"p{number}", "user", (Text(prompt),)), agent="main", session=S)
    yield MessageAppended(message=Message(f"a{number}", "assistant", (Text(answer),)), agent="main", session=S)


async def talked(app: Window, pilot: Pilot[int], turns: int = TURNS, *, rows: int = 9) -> Transcript:
    """A window in which so much was said."""
    await wait_until(pilot, lambda: app.hub is not None and app.bench.query(Transcript))
    await wait_until_idle(app)
    app.feed(*STARTED, *(event for number in range(turns) for event in turn(number, rows)))
    transcript = app.bench.query_one(Transcript)
    await wait_until_drawn(pilot, transcript)
    return transcript


def rows(transcript: Transcript) -> list[str]:
    """What its rows say, with the gutter, without those that are empty."""
    return [said for y in range(transcript.size.height) if (said := transcript.row_strip(y).text.rstrip())]


def area(app: Window) -> PromptInput:
    found = app.bench.input
    assert isinstance(found, PromptInput)
    return found


async def press(app: Window, pilot: Pilot[int], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await wait_until_idle(app)
        await wait_until_drawn(pilot, app.bench.query_one(Transcript))


async def test_pages_and_ends_from_the_input() -> None:
    app = Window()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = await talked(app, pilot)
        end = rows(transcript)
        assert end[-1].strip() == f"answer {TURNS - 1}.8"
        await press(app, pilot, "pageup")
        back = rows(transcript)
        assert back[0] != end[0] and app.focused is area(app)
        await press(app, pilot, "pagedown")
        assert rows(transcript) == end
        await press(app, pilot, "ctrl+home")
        assert "prompt 0" in rows(transcript)[0]
        await press(app, pilot, *"half a prompt", "ctrl+home")
        assert "prompt 0" in rows(transcript)[0]  # who reads while writing stays there
        await press(app, pilot, "ctrl+end")
        assert rows(transcript) == end and area(app).text == "half a prompt"


async def test_from_prompt_to_prompt() -> None:
    app = Window()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = await talked(app, pilot)
        end = rows(transcript)
        for number in (TURNS - 1, TURNS - 2, TURNS - 3):
            await press(app, pilot, "ctrl+up")
            assert f"prompt {number}" in rows(transcript)[0]
            assert rows(transcript)[0].startswith("▌ ") and app.focused is area(app)  # marked without the focus
        await press(app, pilot, "ctrl+down")
        assert f"prompt {TURNS - 2}" in rows(transcript)[0]
        await press(app, pilot, "pageup", "ctrl+down")  # counted from what is on the screen
        assert f"prompt {TURNS - 2}" in rows(transcript)[0]
        await press(app, pilot, "ctrl+down", "ctrl+down")
        assert rows(transcript) == end
        await press(app, pilot, *["ctrl+up"] * (TURNS + 3))
        assert "prompt 0" in rows(transcript)[0]


@pytest.mark.parametrize("way", ["x", "escape", "backspace"])
async def test_a_letter_or_escape_goes_back_to_the_end_and_interrupts_nothing(way: str) -> None:
    app = Window()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = await talked(app, pilot)
        app.feed(TurnStarted(agent="main", session=S, turn="t", prompt="p", text="more"))
        await wait_until_idle(app)
        await press(app, pilot, "y")
        end = rows(transcript)
        await press(app, pilot, "ctrl+up", "ctrl+up")
        assert rows(transcript) != end
        await press(app, pilot, way)
        assert rows(transcript) == end
        assert app.hub is not None and not [one for one in app.hub.said if isinstance(one, InterruptRequested)]
        assert area(app).text == {"x": "yx", "escape": "y", "backspace": ""}[way]
        await press(app, pilot, "pageup", "escape")  # who only scrolled has nothing to back out of
        assert [one for one in app.hub.said if isinstance(one, InterruptRequested)]


async def test_a_prompt_with_a_short_answer_is_marked_and_stays_while_more_comes() -> None:
    app = Window()
    async with app.run_test(size=(80, 23)) as pilot:
        transcript = await talked(app, pilot, 3, rows=2)
        await press(app, pilot, "ctrl+up")
        [marked] = [said for said in rows(transcript) if said.startswith("▌ ")]
        assert "prompt 2" in marked
        top = rows(transcript)[0]  # above it is the empty row that the prompt of this answer takes
        app.feed(TextDelta(agent="main", session=S, message="new", text="more\n\n" * 40))
        await wait_until_drawn(pilot, transcript)
        assert rows(transcript)[1] == top


async def test_sending_goes_to_the_end() -> None:
    app = Window()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = await talked(app, pilot)
        end = rows(transcript)
        await press(app, pilot, *"hello", "ctrl+home")
        assert rows(transcript) != end
        await press(app, pilot, "enter")
        assert rows(transcript) == end
        assert app.hub is not None and [one.text for one in app.hub.said if isinstance(one, PromptSubmitted)] == [
            "hello"
        ]


async def test_escape_with_nothing_to_interrupt_goes_to_the_end() -> None:
    app = Window()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = await talked(app, pilot)
        end = rows(transcript)
        await press(app, pilot, "pageup", "pageup", "escape")
        assert rows(transcript) == end


async def test_a_draft_of_several_lines_takes_the_keys_that_it_needs() -> None:
    app = Window()
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = await talked(app, pilot)
        end = rows(transcript)
        await press(app, pilot, *"one", "ctrl+j", *"two", "ctrl+home")
        assert area(app).cursor_location == (0, 0)
        await press(app, pilot, "ctrl+end")
        assert area(app).cursor_location == (1, 3)
        await press(app, pilot, "pageup")  # all of it is seen
        assert rows(transcript)[0] != end[0]
        await press(app, pilot, "ctrl+end", *["ctrl+j"] * 20)
        seen = rows(transcript)
        await press(app, pilot, "pageup")
        assert rows(transcript) == seen and area(app).cursor_location[0] < 21
        await press(app, pilot, *["pageup"] * 4)
        assert area(app).cursor_location[0] == 0


async def test_the_list_of_completions_goes_by_pages() -> None:
    app = Window()
    async with app.run_test(size=(80, 24)) as pilot:
        await talked(app, pilot)
        area(app).past.load([f"sent {number}" for number in range(30)])
        await press(app, pilot, "ctrl+r", "pagedown")
        assert area(app).popup.index == area(app).popup.size.height - 2, "the last row is the counter's"
        await press(app, pilot, *["pagedown"] * 9)
        assert area(app).popup.index == 29
        await press(app, pilot, *["pageup"] * 9)
        assert area(app).popup.index == 0


async def test_another_tab_in_front_is_what_scrolls() -> None:
    app = FakeTerminalWindow(past=tuple(f"old {number}" for number in range(300)))
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = await talked(app, pilot)
        app.post_message(OpenTerminal("0001"))
        await wait_until(pilot, lambda: app.query(TerminalView))
        view = app.query_one(TerminalView)
        await wait_until(pilot, lambda: app.terminal.sizes)
        app.terminal.show(("live",))
        app.bench.input.focus()
        await press(app, pilot, "pageup")
        assert app.bench.deck.front_widget is view and app.focused is area(app)
        await wait_until(pilot, lambda: view.picture.up)
        up = view.picture.up
        await press(app, pilot, "ctrl+up")
        assert view.picture.up == up + 1
        await press(app, pilot, "ctrl+end")
        assert view.picture.past is None
        assert transcript.viewport.following


async def test_f6_reaches_the_conversation_both_ways() -> None:
    app = Window(store=FakeRecord())
    async with app.run_test(size=(200, 50)) as pilot:
        transcript = await talked(app, pilot)
        bench = app.bench
        around = [bench.input, transcript, bench.panes["shell"]]
        for place in (*around[1:], bench.input):
            await press(app, pilot, "f6")
            assert app.focused is not None and place in app.focused.ancestors_with_self
        for place in reversed(around):
            await press(app, pilot, "shift+f6")
            assert app.focused is not None and place in app.focused.ancestors_with_self
        await press(app, pilot, "f6")
        assert any(said.startswith("▌ ") for said in rows(transcript))  # where the focus is, is seen

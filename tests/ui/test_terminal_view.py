"""A terminal tab on a terminal without tmux: keys, mouse, reading back, search, selection, ends, the words around."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual import events
from textual._compositor import CompositorUpdate
from textual.app import App
from textual.geometry import Offset
from textual.pilot import Pilot
from textual.screen import Screen

from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import AgentStatusChanged, PromptSubmitted
from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.bus.events.fleet_events import AgentChanged, AgentKilled, AgentSpawned
from gshtui.fleet.core.agent_calls import MarkAgentRead, SendToAgent
from gshtui.ui.kit.textual import letter_echo
from gshtui.ui.kit.widget_messages import OpenTerminal, open_agent
from gshtui.ui.kit.widgets.folding_area import FoldingArea
from gshtui.ui.prompt.key_hints import pane_hints
from gshtui.ui.prompt.prompt_input import PromptInput
from gshtui.ui.terminal.terminal_pane import TerminalPane
from gshtui.ui.terminal.terminal_view import TerminalView
from tests.kit.cells import Cells
from tests.kit.fake_hub import Answer
from tests.kit.fake_terminal import SHELL, FakeTerminal, FakeTerminalWindow, agent_row, terminal_feature
from tests.kit.recorded_fleet import PERSONAS, PROFILES
from tests.kit.seen_window import rested, whole
from tests.kit.terminal_agents import wait_until
from tests.kit.window import Window

PAST = tuple(f"line {number} of the past" for number in range(3_000))
SCREEN = tuple(f"row {number}" for number in range(10))


@asynccontextmanager
async def opened(
    size: tuple[int, int] = (100, 30), past: tuple[str, ...] = (), rows: tuple[str, ...] = SCREEN
) -> AsyncGenerator[tuple[Pilot[int], FakeTerminalWindow, TerminalView]]:
    """A window with the tab of one agent in front."""
    app = FakeTerminalWindow(past=past)
    async with app.run_test(size=size) as pilot:
        await wait_until(pilot, lambda: app.hub is not None)
        app.post_message(OpenTerminal("0001"))
        await wait_until(pilot, lambda: app.terminal.sizes)
        app.terminal.show(rows)
        await pilot.pause()
        yield pilot, app, app.screen.query_one(TerminalView)


def words(view: TerminalView) -> str:
    """The lines above and below the terminal."""
    pane = view.query_ancestor(TerminalPane)
    return "\n".join(str(pane.query_one(f".{part}").render()) for part in ("tab-title", "terminal-status"))


def drawn(view: TerminalView) -> list[str]:
    """What is on the screen, row by row."""
    return [view.render_line(y).text.rstrip() for y in range(view.size.height)]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_pieces_of_a_terminal_are_not_shown_above_an_open_question(size: tuple[int, int]) -> None:
    async with opened(size=size) as (pilot, app, view):
        pieces = size[1] < 30
        app.feed(
            ApprovalRequested(
                approval="a", agent="main", session="s", call="c", tool="bash", subject="make", effect="execute"
            )
        )
        await pilot.pause()
        await pilot.press("ctrl+g")
        await pilot.pause()
        assert view.visible is not pieces
        await pilot.press("escape")
        await pilot.pause()
        assert view.visible and app.terminal.shown and "row 9" in drawn(view)


# Typing


async def test_keys_go_to_the_program_in_order_and_nowhere_else() -> None:
    async with opened() as (pilot, app, view):
        await pilot.press("enter")
        assert "Typing in helper" in words(view)
        await pilot.press(*"hi", "space", "y", "slash", "ctrl+c", "ctrl+q", "ctrl+p", "f6", "escape", "tab", "up", "é")
        await pilot.press("alt+1", "f1", "x", "enter")
        await wait_until(pilot, lambda: app.terminal.typed[-1:] == ["Enter"])
        typed = b"".join(piece if isinstance(piece, bytes) else f"<{piece}>".encode() for piece in app.terminal.typed)
        assert typed.decode() == "hi y/<C-c><C-q><C-p><F6><Escape><Tab><Up>é<M-1><F1>x<Enter>"
        assert app.screen.focused is view and app.screen is app.bench
        assert app.terminal.pokes, "what a key did is looked at soon"
        await pilot.press("ctrl+right_square_bracket")
        assert not view.typing
        app.terminal.typed.clear()
        await pilot.press("j", "f12")
        assert app.terminal.typed == []


async def test_a_letter_goes_straight_to_the_program_unless_something_comes_before_it() -> None:
    async with opened() as (pilot, app, view):
        letter = events.Key("a", "a")
        assert not app._take_key(letter), "nothing is typed there yet"
        await pilot.press("enter")
        await rested(pilot)
        assert not app._take_key(events.Key("ctrl+c", "\x03")), "it may mean something to the window"
        assert app._take_key(letter)
        view.post_message(events.Key("b", "b"))
        assert not app._take_key(letter)
        await wait_until(pilot, lambda: app.terminal.data == b"ab")
        app.bench.input.focus()
        await rested(pilot)
        assert not app._take_key(letter)


async def test_a_letter_at_the_cursor_is_written_before_its_frame_which_then_finds_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cells, ahead = Cells(), list[str]()

    class Drawn(FakeTerminalWindow):
        def _display(self, screen: Screen[Any], renderable: Any) -> None:
            super()._display(screen, renderable)
            if isinstance(renderable, CompositorUpdate):
                cells.write(renderable.render_segments(self.console))

    def write_ahead(_: object, data: str) -> bool:
        ahead.append(data)
        cells.write(data)
        return True

    monkeypatch.setattr(letter_echo, "write_ahead", write_ahead)
    app = Drawn()
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_until(pilot, lambda: app.hub is not None)
        app.post_message(OpenTerminal("0001"))
        await wait_until(pilot, lambda: app.terminal.sizes)
        prompt = "\x1b[32mhere\x1b[0m \x1b[1m"
        text = "l"
        app.terminal.show((prompt + text,), cursor_x=6)
        await rested(pilot)
        await pilot.press("enter")
        await rested(pilot)
        for number, typed in enumerate(("s", " ", "-", "ж", "two", "x"), 1):
            text += typed
            app.terminal.show((prompt + text,), typed=typed, cursor_x=5 + len(text))
            assert len(ahead) == number - (number > 4), "but not more than a letter"
            expected = cells.cells.copy()
            await rested(pilot)
            if len(typed) == 1:
                assert cells.cells == expected
            assert cells.cells == whole(app).cells


async def test_the_footer_shows_the_one_key_that_comes_back() -> None:
    async with opened() as (pilot, app, _view):
        await pilot.press("enter")
        shown = {active.binding.id for active in app.screen.active_bindings.values()}
        assert shown == {"terminal.leave"}


async def test_a_remapped_key_comes_back() -> None:
    async with opened() as (pilot, app, view):
        app.set_keymap({"terminal.leave": "ctrl+t"})
        await pilot.press("enter")
        assert "ctrl+t to stop" in words(view)
        await pilot.press("ctrl+right_square_bracket")
        assert view.typing
        await wait_until(pilot, lambda: app.terminal.typed == ["C-]"])
        await pilot.press("ctrl+t")
        assert not view.typing


async def test_a_paste_goes_whole_and_only_while_typing() -> None:
    async with opened() as (pilot, app, view):
        view.post_message(events.Paste("rm -rf\nall"))
        await pilot.pause()
        assert app.terminal.typed == []
        await pilot.press("enter")
        view.post_message(events.Paste("two\nlines"))
        await wait_until(pilot, lambda: app.terminal.typed == ["paste:two\nlines"])


async def test_typing_ends_with_the_focus_but_not_with_the_windows() -> None:
    async with opened() as (pilot, app, view):
        await pilot.press("enter")
        app.post_message(events.AppBlur())
        await pilot.pause()
        app.post_message(events.AppFocus())
        await pilot.pause()
        assert view.typing and app.screen.focused is view
        app.bench.input.focus()
        await pilot.pause()
        assert not view.typing


# The mouse


async def test_the_mouse_is_the_programs_only_while_typing_and_only_if_it_wants_it() -> None:
    async with opened() as (pilot, app, view):
        wants: dict[str, Any] = {"mouse": True, "mouse_sgr": True, "mouse_drags": True}
        app.terminal.show(SCREEN, **wants)
        await pilot.pause()
        await pilot.click(view, offset=Offset(3, 2))
        assert app.terminal.typed == []
        await pilot.press("enter")
        await pilot.click(view, offset=Offset(3, 2))
        await wait_until(pilot, lambda: app.terminal.data == b"\x1b[<0;4;3M\x1b[<0;4;3m")
        assert view.typing and not view.allow_select
        app.terminal.typed.clear()
        app.terminal.show(SCREEN)
        await pilot.pause()
        await pilot.click(view, offset=Offset(3, 2))
        assert app.terminal.typed == []


async def test_the_wheel_scrolls_the_past_or_is_told_to_a_full_screen_program() -> None:
    async with opened(past=PAST) as (pilot, app, view):
        await wheel(pilot, view, up=True)
        assert view.picture.up == 3
        await wheel(pilot, view, up=False)
        assert view.picture.past is None
        app.terminal.show(SCREEN, alternate=True)
        await pilot.pause()
        await wheel(pilot, view, up=True)
        await wait_until(pilot, lambda: app.terminal.typed == ["Up", "Up", "Up"])
        assert view.picture.past is None and "full-screen program" in words(view)
        app.terminal.typed.clear()
        app.terminal.show(SCREEN, alternate=True, mouse=True, mouse_sgr=True)
        await wheel(pilot, view, up=False)
        await wait_until(pilot, lambda: app.terminal.typed == [b"\x1b[<65;6;4M"])


async def wheel(pilot: Pilot[int], view: TerminalView, *, up: bool) -> None:
    """Turn the wheel over the terminal."""
    x, y = view.region.offset + Offset(5, 3)
    kind = events.MouseScrollUp if up else events.MouseScrollDown
    pilot.app.post_message(kind(None, x, y, 0, 0, 0, False, False, False, x, y))
    await pilot.pause()


# Reading


async def test_the_past_is_fetched_when_it_is_scrolled_to() -> None:
    async with opened(past=PAST) as (pilot, app, view):
        assert app.terminal.asked == []
        await pilot.press("pageup")
        await wait_until(pilot, lambda: "line 2999 of the past" in view.seen())
        assert "lines up" in words(view)
        await pilot.press("home")
        await wait_until(pilot, lambda: drawn(view)[0] == "line 0 of the past")
        assert len(app.terminal.asked) == 3
        await pilot.press("end")
        assert drawn(view)[0] == "row 0"


async def test_what_is_read_stays_while_the_program_goes_on() -> None:
    async with opened(past=PAST) as (pilot, app, view):
        await pilot.press("k", "k")
        await wait_until(pilot, lambda: "line 2998 of the past" in view.seen())
        before = drawn(view)
        app.terminal.past += ("more", "and more")
        app.terminal.show(tuple(f"new {number}" for number in range(10)))
        await pilot.pause()
        assert drawn(view) == before
        assert "new output below" in words(view)
        await pilot.press("escape")
        assert drawn(view)[0] == "new 0"
        assert app.screen.focused is view, "the first escape goes to now, the second to the input"
        await pilot.press("escape")
        assert app.screen.focused is app.bench.input


async def test_a_search_goes_back_through_all_of_the_past() -> None:
    async with opened(past=PAST) as (pilot, app, view):
        assert not {"n", "N"} & {hint.key for hint in pane_hints(app.screen)}, "there is nothing to go through yet"
        sizes = list(app.terminal.sizes)
        await pilot.press("slash", *"LINE 1 ")
        await wait_until(pilot, lambda: "line 1 of the past" in view.seen())
        await pilot.press("escape")
        assert drawn(view)[0] == "row 0" and app.screen.focused is view
        assert app.terminal.sizes[len(sizes) :] in ([], sizes[-1:]), "the program is not told of the search line"
        await pilot.press("slash", *"row")
        await wait_until(pilot, lambda: view.reader.search is not None and view.reader.search.here is not None)
        here = view.reader.search.here if view.reader.search is not None else None
        await pilot.press("enter")
        assert {"n", "N"} <= {hint.key for hint in pane_hints(app.screen)}
        await pilot.press("n")
        assert view.reader.search is not None and here is not None and view.reader.search.here == here + 1
        await pilot.press("escape")
        assert view.reader.search is None and drawn(view)[0] == "row 0"


async def test_the_mouse_selects_and_y_copies() -> None:
    async with opened(rows=("\x1b[31mone\x1b[0m two", "日本 three", "four")) as (pilot, app, view):
        await pilot.mouse_down(view, offset=Offset(4, 0))
        await pilot.hover(view, offset=Offset(3, 1))
        app.terminal.show(("changed", "meanwhile", "all"))
        await pilot.pause()
        await pilot.mouse_up(view, offset=Offset(3, 1))
        assert app.screen.get_selected_text() == "two\n日本"
        await pilot.press("y")
        assert app.clipboard == "two\n日本"
        await pilot.press("escape")
        assert drawn(view)[0] == "changed"


async def test_y_copies_the_screen_where_nothing_is_selected() -> None:
    async with opened(rows=SHELL) as (pilot, app, _view):
        await pilot.press("y")
        assert app.clipboard.splitlines()[1] == "collected 214 items"


# What is drawn


async def test_only_what_changed_is_drawn_again() -> None:
    async with opened() as (pilot, app, view):
        asked: list[int] = []
        row_strip = view.row_strip
        view.row_strip = lambda y: asked.append(y) or row_strip(y)  # type: ignore[method-assign]
        app.terminal.show((*SCREEN[:4], "other", *SCREEN[5:]), cursor_y=7)
        await pilot.pause()
        assert sorted(set(asked)) == [0, 4, 7], "the row, and where the cursor was and is"
        assert drawn(view)[4] == "other"


async def test_a_hidden_tab_is_not_looked_at() -> None:
    async with opened() as (pilot, app, _view):
        await pilot.press("alt+1")
        await wait_until(pilot, lambda: not app.terminal.shown)
        await pilot.press("ctrl+pagedown")
        await wait_until(pilot, lambda: app.terminal.shown)
        assert isinstance(app.screen.focused, TerminalView)


async def test_a_terminal_larger_than_the_tab_shows_its_used_end() -> None:
    async with opened((80, 24)) as (pilot, app, view):
        height = view.size.height
        rows = tuple(f"row {number}" for number in range(40))
        app.terminal.sizes.append((200, 60))
        app.terminal.show(rows, attached=1)
        await pilot.pause()
        assert drawn(view)[-1] == "row 39" and drawn(view)[0] == f"row {40 - height}"
        assert "200x60, someone is attached" in words(view)


async def test_the_size_of_the_tab_is_the_terminals() -> None:
    async with opened() as (pilot, app, view):
        before = view.size
        await pilot.resize_terminal(70, 20)
        await wait_until(pilot, lambda: before != view.size and app.terminal.sizes[-1] == tuple(view.text_size))
        assert len(app.terminal.sizes) == 2
        await pilot.resize_terminal(70, 12)
        await wait_until(pilot, lambda: app.terminal.sizes[-1] == tuple(view.text_size))
        asking = AgentStatusChanged(agent="0001", status="waiting", source="hook", doing="may I?")
        await feed(pilot, app, asking)  # a program leaves out choices that do not fit
        await wait_until(pilot, lambda: app.terminal.sizes[-1] == (view.text_size.width, 20))
        await feed(pilot, app, AgentStatusChanged(agent="0001", status="thinking", source="hook"))
        await wait_until(pilot, lambda: app.terminal.sizes[-1] == tuple(view.text_size))


async def test_what_a_hidden_terminal_asks_can_be_read_elsewhere() -> None:
    """However small the window was in which it was last seen; one that is in front has the size of its tab."""
    app = FakeTerminalWindow()
    asks = AgentChanged(agent="0001", row=agent_row(status="waiting"))
    works = AgentChanged(agent="0001", row=agent_row())
    async with app.run_test(size=(49, 15)) as pilot:
        await wait_until(pilot, lambda: app.hub is not None)
        await feed(pilot, app, asks)  # it has no tab
        await wait_until(pilot, lambda: app.terminal.made_readable == 1)
        await feed(pilot, app, works)
        app.post_message(OpenTerminal("0001"))
        await wait_until(pilot, lambda: app.terminal.sizes)
        await feed(pilot, app, asks, AgentStatusChanged(agent="0001", status="waiting", source="hook"))
        await wait_until(pilot, lambda: app.terminal.sizes[-1][1] == 20)
        assert app.terminal.made_readable == 1
        app.bench.deck.show("chat")
        await wait_until(pilot, lambda: app.terminal.made_readable == 2)
        await feed(pilot, app, works, AgentStatusChanged(agent="0001", status="thinking", source="hook"))
        await feed(pilot, app, asks)
        await wait_until(pilot, lambda: app.terminal.made_readable == 3)


@pytest.mark.parametrize("size", [(40, 20), (80, 24), (120, 35), (301, 30)])
async def test_every_column_of_the_terminal_is_seen(size: tuple[int, int]) -> None:
    async with opened(size, past=PAST) as (pilot, app, _):
        width = app.terminal.sizes[-1][0]
        app.terminal.show(("A" + "0" * (width - 2) + "Z",))
        await rested(pilot)
        assert any(f"A{'0' * (width - 2)}Z" in whole(app).text(y) for y in range(size[1]))


# What is said around it


async def test_a_program_that_ended_keeps_its_screen_and_takes_no_keys() -> None:
    async with opened() as (pilot, app, view):
        await pilot.press("enter")
        app.terminal.show(SCREEN, dead=True, exit_status=3)
        await pilot.pause()
        assert not view.typing
        assert "Exited with status 3. This is its last screen." in words(view)
        assert not any("last screen" in line and "live" in line for line in words(view).split("\n"))
        assert drawn(view)[:2] == ["row 0", "row 1"]
        await pilot.press("enter")
        assert not view.typing
        app.terminal.show(SCREEN, dead=True, exit_status=137)
        await pilot.pause()
        assert "Killed by signal 9." in words(view)
        app.terminal.show(SCREEN, dead=True, gone=True)
        await pilot.pause()
        assert "The terminal was closed" in words(view)


async def feed(pilot: Pilot[int], app: FakeTerminalWindow, *those: Event) -> None:
    app.feed(*those)
    await pilot.pause()


async def test_the_title_says_who_and_what() -> None:
    async with opened((120, 30)) as (pilot, app, view):
        assert "● thinking · 4 s  helper" in words(view)
        await pilot.press("alt+0")
        await wait_until(pilot, lambda: "tmux -L gsh attach -t =gsh-agent-0001" in words(view))
        await feed(pilot, app, AgentStatusChanged(agent="0001", status="waiting", source="event", doing="may I?"))
        assert "◆ needs you" in words(view) and "may I?" in words(view)
        await feed(pilot, app, AgentStatusChanged(agent="0002", status="idle"))
        assert "◆ needs you" in words(view)
        await feed(pilot, app, AgentKilled(agent="0001"))
        assert "killed, can be undone" in words(view)
        await feed(pilot, app, AgentStatusChanged(agent="0001", status="done", source="process", doing="killed"))
        assert "· killed" in words(view) and "restored" not in words(view) and words(view).count("killed") == 1


async def test_an_agent_that_is_started_anew_is_followed() -> None:
    async with opened() as (pilot, app, view):
        before, app.terminal = app.terminal, FakeTerminal()
        terminal_feature(app).terminals.reels["0001"] = app.terminal  # type: ignore[attr-defined]
        await feed(pilot, app, AgentChanged(agent="0001", row=agent_row(pane="%9")))
        await wait_until(pilot, lambda: app.terminal.sizes)
        app.terminal.show(("anew",))
        await pilot.pause()
        assert drawn(view)[0] == "anew"
        await pilot.press("enter", "a")
        await wait_until(pilot, lambda: app.terminal.typed == [b"a"])
        assert before.typed == []


async def test_what_an_agent_says_in_the_tab_in_front_is_read() -> None:
    async with opened() as (pilot, app, _):
        await feed(pilot, app, AgentChanged(agent="0001", row=agent_row(unread=1)))
        await wait_until(pilot, lambda: app.hub is not None and MarkAgentRead(agent="0001") in app.hub.ran)
        assert app.hub is not None
        app.hub.ran.clear()
        app.bench.deck.show("chat")
        await pilot.pause()
        await feed(pilot, app, AgentChanged(agent="0001", row=agent_row(unread=2)))
        assert MarkAgentRead(agent="0001") not in app.hub.ran


async def test_names_and_titles_are_never_markup() -> None:
    async with opened((120, 30)) as (pilot, app, view):
        app.terminal.show(SCREEN, title="[@click=app.quit]x[/] \x1b]0;t\x07[/")
        await pilot.press("alt+z")
        await wait_until(pilot, lambda: "[@click=app.quit]x[/] [/" in words(view))


async def test_a_closed_tab_goes_and_can_be_opened_again() -> None:
    async with opened() as (pilot, app, view):
        await pilot.press("x")
        await wait_until(pilot, lambda: not app.screen.query(TerminalPane))
        assert not view.is_attached and app.bench.deck.front == "chat"
        assert app.screen.focused is app.bench.input
        app.post_message(OpenTerminal("0001"))
        await wait_until(pilot, lambda: app.screen.query(TerminalPane))


async def test_the_command_is_copied_and_the_whole_screen_given(monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened() as (pilot, app, view):

        async def visit(_: App[Any]) -> str:
            app.terminal.typed.append("visit")
            await pilot.press("x", "k")  # keys of the tab, were it not handed over
            return ""

        monkeypatch.setattr(app.terminal, "visit", visit)
        await pilot.press("c")
        assert app.clipboard == "tmux -L gsh attach -t =gsh-agent-0001"
        await pilot.press("ctrl+o")
        await wait_until(pilot, lambda: app.terminal.shown and not view.typing)
        assert app.terminal.typed[0] == "visit"
        await wait_until(pilot, lambda: app.terminal.data == b"xk")


async def test_an_agent_that_is_not_there_is_said() -> None:
    app = Window()
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_until(pilot, lambda: app.hub is not None)
        app.post_message(OpenTerminal("0009"))
        await wait_until(pilot, lambda: app._notifications)  # pyright: ignore[reportPrivateUsage]
        [said] = [note.message for note in app._notifications]  # pyright: ignore[reportPrivateUsage]
        assert said.startswith("Agents in terminals are not available here")


async def test_what_is_typed_behind_a_new_program_is_its_prompt() -> None:
    """No letter of it is a key of the tab, of which `a` would give it the whole screen."""
    spawned = {"personas": Answer(PERSONAS), "profiles ls": Answer(PROFILES), "spawn": Answer(agent_row())}
    app = FakeTerminalWindow(answers=spawned)
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_until(pilot, lambda: app.hub is not None)
        await pilot.press("f8", "enter", *"say hello")
        await wait_until(
            pilot, lambda: app.screen.query(TerminalPane) and app.bench.query_one(PromptInput).text == "say hello"
        )
        assert app.bench.deck.front == "terminal-0001" and app.focused is app.bench.input
        assert not app.terminal.typed


async def test_prompts_go_to_the_agent_of_the_tab_in_front() -> None:
    async with opened() as (pilot, app, _):
        area = app.bench.input
        app.feed(AgentSpawned(agent="0001", row=agent_row(kind="native", model="m1")))
        await pilot.pause()
        assert "helper" in str(area.border_title) and "m1" in str(area.border_title)
        area.focus()
        await pilot.press(*"do it", "enter")
        await wait_until(pilot, lambda: app.hub is not None and app.hub.ran)
        assert app.hub is not None
        assert app.hub.ran[-1] == SendToAgent(agent="0001", text="do it")
        assert not [event for event in app.hub.said if isinstance(event, PromptSubmitted)]
        app.bench.deck.show("chat")
        await pilot.pause()
        assert "main" in str(area.border_title)
        area.focus()
        await pilot.press(*"and you", "enter")
        await pilot.pause()
        assert [event.text for event in app.hub.said if isinstance(event, PromptSubmitted)] == ["and you"]


async def test_prompts_with_another_program_in_front_are_messages_to_it_and_the_input_says_so() -> None:
    async with opened() as (pilot, app, _):
        app.feed(AgentSpawned(agent="0001", row=agent_row()))
        await pilot.pause()
        area = app.bench.input
        assert isinstance(area, FoldingArea)
        assert str(area.placeholder).startswith("Message helper (typed into its terminal)")
        area.focus()
        await pilot.press(*"/help", "escape", "enter")
        await pilot.pause()
        assert app.hub is not None
        assert not [one for one in app.hub.ran if isinstance(one, SendToAgent)]  # a command is this window's


async def test_what_is_typed_at_an_agent_just_opened_is_a_message_and_no_key_of_its_terminal() -> None:
    app = FakeTerminalWindow()
    async with app.run_test(size=(100, 30)) as pilot:
        await wait_until(pilot, lambda: app.hub is not None)
        app.post_message(open_agent(agent_row()))
        await wait_until(pilot, lambda: app.terminal.sizes)
        app.terminal.show(SCREEN)
        await pilot.press(*"axe cy")
        assert app.bench.input.text == "axe cy" and app.screen.query(TerminalPane) and not app.terminal.typed
        view = app.screen.query_one(TerminalView)
        await wait_until(pilot, lambda: "f6, then enter to type into helper" in words(view))
        await pilot.press("f6")
        await wait_until(pilot, lambda: view.has_focus and "f6" not in words(view))

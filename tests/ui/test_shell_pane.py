"""The shell log in the window: rows from the record and as they come, keys, mouse, filter, what is done with a row."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widgets import Static

from gshtui.bus.events.agent_events import MessageAppended, PromptSubmitted
from gshtui.bus.events.shell_events import ShellRecorded
from gshtui.bus.messages import Message, Text
from gshtui.bus.shell_data import ShellRecord
from gshtui.bus.shell_rows import Filter, Row, Span
from gshtui.store.engine.store_errors import StoreError
from gshtui.ui.kit.widgets.dialogs import InputScreen, Picker
from gshtui.ui.kit.widgets.folding_area import FoldingArea
from gshtui.ui.shell.shell_pane import ShellPane
from gshtui.ui.shell.shell_record import RecordScreen
from tests.kit import recorded, recorded_shell
from tests.kit.recorded_contexts import RecordedContexts
from tests.kit.recorded_shell import EARLIER, FakeRecord, FakeShellLog, shell_record
from tests.kit.window import NOW, Window
from tests.ui.test_pictures import settled


@asynccontextmanager
async def opened(
    record: FakeRecord | None = None, *, size: tuple[int, int] = (120, 40), focus: bool = True, **hub: Any
) -> AsyncGenerator[tuple[Pilot[int], Window, ShellPane]]:
    """A window with a record of shells, the log in front."""
    app = Window(store=record, **hub)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        app.feed(*recorded.STARTED)
        await settled(pilot)
        if focus:
            await pilot.press("alt+3")
        await settled(pilot)
        pane = app.bench.panes["shell"]
        assert isinstance(pane, ShellPane)
        yield pilot, app, pane


async def press(pilot: Pilot[int], *keys: str) -> None:
    """Press keys, each once what the one before began is done."""
    for key in keys:
        await pilot.press(key)
        await settled(pilot)


def lines(pane: ShellPane) -> list[str]:
    """What stands in the rows on the screen."""
    view = pane.rows_view
    assert view is not None
    return [view.row_strip(y).text.rstrip() for y in range(min(view.size.height, view.state.total - view.top))]


def says(pane: ShellPane) -> str:
    return str(pane.query_one(".pane-body", Static).content)


def commands(rows: Sequence[Row]) -> list[str]:
    return [row.command if isinstance(row, ShellRecord) else row.text for row in rows]


def shown(pane: ShellPane) -> list[str]:
    """Commands and notes that are known, oldest first."""
    found = [pane.state.row(at) for at in range(pane.state.total)]
    return commands([row for row in found if row is not None])


async def test_an_empty_log_says_what_fills_it() -> None:
    async with opened(FakeRecord([])) as (_, _, pane):
        assert pane.rows_view is None
        assert "f9 to open a shell" in says(pane)


async def test_the_record_is_shown_and_what_comes_is_added_to_it() -> None:
    async with opened(FakeRecord()) as (pilot, app, pane):
        assert shown(pane) == commands(EARLIER)
        app.feed(*recorded_shell.SHELLS)
        await settled(pilot)
        assert len(shown(pane)) == len(EARLIER) + 6
        last = lines(pane)[-1]
        assert last.startswith("● npm run watch") and last.endswith("runs 12 s")
        assert "· 15" in str(pane.border_title)
        assert pane.chosen is not None and pane.chosen.cwd == "/src/aurora/docs"


async def test_a_command_that_runs_has_no_duration_in_the_strip() -> None:
    async with opened(FakeRecord()) as (pilot, app, pane):
        app.feed(*recorded_shell.SHELLS)
        await settled(pilot)
        assert str(pane.summary(60)).endswith("● npm run watch"), "the rows and the status say how long"


async def test_the_strip_names_the_folder_of_a_command_elsewhere() -> None:
    ended = ShellRecorded(record=shell_record(99, "make", 1, cwd="/src/other/deep", exit=2))
    async with opened(FakeRecord()) as (pilot, app, pane):
        app.feed(ended)
        await settled(pilot)
        assert str(pane.summary(60)).endswith("✗ make · /src/other/deep · exit 2")


async def test_without_a_record_what_comes_is_shown_all_the_same() -> None:
    async with opened(None) as (pilot, app, pane):
        app.feed(*recorded_shell.SHELLS)
        await settled(pilot)
        assert len(shown(pane)) == 6


async def test_a_record_that_cannot_be_read_is_said_and_asked_again_later() -> None:
    record = FakeRecord([])
    record.fails = StoreError("full", "The disk is full.")
    async with opened(record) as (pilot, app, pane):
        assert "The disk is full." in says(pane)
        record.fails = None
        record.rows = list(EARLIER)
        app.feed(*recorded.STARTED)
        await settled(pilot)
        assert len(shown(pane)) == len(EARLIER)


async def test_a_hostile_command_is_drawn_harmless() -> None:
    evil = "echo '\x1b]0;owned\x07' \x9b31m\n[bold]x[/]\u202etxt\x00" + "A" * 5_000
    async with opened(FakeRecord([shell_record(1, evil, 10)])) as (_, app, pane):
        text = lines(pane)[0]
        assert text.isprintable()
        assert "[bold]" in text or len(text) < 40
        assert "\x1b]0" not in app.export_screenshot(simplify=True)


async def test_a_million_rows_are_asked_for_a_page_at_a_time() -> None:
    class Million(FakeRecord):
        async def shell_rows(self, wanted: Filter, start: int, limit: int) -> Span:
            self.asked.append((wanted, start, limit))
            total = 1_000_000
            if start < 0:
                start = max(0, total - limit) // limit * limit
                limit = total - start
            rows = (shell_record(at, f"command {at}", 2_000_000 - at) for at in range(start, min(total, start + limit)))
            return Span(start, total, tuple(rows))

    record = Million()
    async with opened(record) as (pilot, _, pane):
        view = pane.rows_view
        assert view is not None
        assert "1,000,000" in str(pane.border_title)
        assert lines(pane)[-1].startswith("✓ command 999999")
        await press(pilot, "g")
        assert view.top == 0
        assert lines(pane)[0].startswith("✓ command 0")
        view.scroll_to(y=500_000, animate=False, force=True)
        await settled(pilot)
        assert lines(pane)[0].startswith("✓ command 500000")
        await press(pilot, "pagedown", "G")
        assert lines(pane)[-1].startswith("✓ command 999999")
        assert len(record.asked) < 12
        assert sum(len(page) for page in pane.state.pages.values()) <= 2_000


async def test_the_reader_is_left_where_they_read() -> None:
    rows = [shell_record(number, f"command {number}", 5_000 - number) for number in range(500)]
    async with opened(FakeRecord(rows)) as (pilot, app, pane):
        view = pane.rows_view
        assert view is not None
        await press(pilot, "pageup", "up")
        before = lines(pane)
        chosen = pane.chosen
        app.feed(ShellRecorded(record=shell_record(1, "later", 1, shell="other")))
        await settled(pilot)
        assert lines(pane) == before
        assert pane.chosen is chosen
        await press(pilot, "end")
        app.feed(ShellRecorded(record=shell_record(2, "latest", 0, shell="other")))
        await settled(pilot)
        assert lines(pane)[-1].startswith("✓ latest")


async def test_keys_that_filter() -> None:
    async with opened(FakeRecord()) as (pilot, app, pane):
        await press(pilot, "f")
        assert shown(pane) == ["make test", "ssh build.example.com uptime"]
        assert "failed" in str(pane.border_title)
        await press(pilot, "t")
        assert shown(pane) == ["ssh build.example.com uptime"]
        assert "pts/7" in str(pane.border_title)
        await press(pilot, "f", "up")
        assert shown(pane) == ["docker compose up -d db && sleep 2", "ssh build.example.com uptime"]
        await press(pilot, "t", "home", "d")
        assert pane.state.filter == Filter(cwd="/src")
        assert "docker compose up -d db && sleep 2" not in shown(pane)
        app.feed(ShellRecorded(record=shell_record(50, "elsewhere", 1, cwd="/tmp")))
        await settled(pilot)
        assert "elsewhere" not in shown(pane)
        await press(pilot, "escape")
        assert shown(pane) == commands(EARLIER)
        assert app.focused is pane, "the first escape ends the filter"
        await press(pilot, "escape")
        assert app.focused is app.bench.input


async def test_words_that_filter() -> None:
    record = FakeRecord()
    async with opened(record) as (pilot, app, pane):
        await press(pilot, "slash", *"Make")
        await pane.filtered()
        await settled(pilot)
        assert shown(pane) == ["make test"]
        await press(pilot, "enter")
        assert app.focused is pane
        assert pane.state.filter.text == "Make"
        await press(pilot, "slash", *"xx")
        await pane.filtered()
        await settled(pilot)
        assert shown(pane) == []
        await press(pilot, "escape")
        assert shown(pane) == commands(EARLIER)
        assert app.focused is pane


async def test_the_filter_opens_in_an_empty_log_too() -> None:
    async with opened() as (pilot, _, pane):
        await press(pilot, "slash", *"make")
        await pane.filtered()
        assert pane.state.filter.text == "make"


async def test_open_shows_all_that_is_known_and_the_output() -> None:
    async with opened(FakeRecord()) as (pilot, app, _):
        await press(pilot, "home", *["down"] * 5, "enter")
        screen = app.screen
        assert isinstance(screen, RecordScreen)
        for words in (
            "make test",
            "exit 2 after 1 min 18 s",
            "/src/aurora",
            "parser-empty-line",
            "IndexError: list index",
        ):
            assert words in screen.plain
        await press(pilot, "y")
        assert app.clipboard == recorded_shell.OUTPUT
        await press(pilot, "escape", "down", "enter")
        assert "No output kept" in app.screen.plain if isinstance(app.screen, RecordScreen) else False


async def test_an_output_that_is_gone_is_said() -> None:
    class Gone(FakeRecord):
        async def output(self, key: str) -> str:
            raise StoreError("unknown", f"There is no output {key}.")

    async with opened(Gone()) as (pilot, app, _):
        await press(pilot, "home", *["down"] * 5, "enter")
        assert isinstance(app.screen, RecordScreen)
        assert any("There is no output out4." in str(one.message) for one in app._notifications)  # pyright: ignore[reportPrivateUsage]


async def test_copy_the_command_or_what_it_printed() -> None:
    async with opened(FakeRecord()) as (pilot, app, _):
        await press(pilot, "home", *["down"] * 5, "y")
        assert app.clipboard == "make test"
        await press(pilot, "Y")
        assert app.clipboard == recorded_shell.OUTPUT
        await press(pilot, "up", "y")
        assert app.clipboard.startswith("the parser breaks")


async def test_again_puts_the_command_into_the_input() -> None:
    async with opened(FakeRecord()) as (pilot, app, _):
        await press(pilot, "home", *["down"] * 5, "r")
        area = app.bench.input
        assert isinstance(area, FoldingArea)
        assert area.text == "!make test"
        assert app.focused is area
        area.put("")
        await press(pilot, "alt+3", "down", "r")
        assert area.text == "!cd /home/you/infra && docker compose up -d db && sleep 2"


async def test_ask_puts_the_command_with_its_output_into_the_prompt() -> None:
    async with opened(FakeRecord()) as (pilot, app, _):
        await press(pilot, "home", *["down"] * 5, "a")
        area = app.bench.input
        assert isinstance(area, FoldingArea)
        assert area.text == "[shell #1 · make test] "
        assert app.focused is area
        assert area.value.startswith("<shell-command id=")
        for words in ('ended="exit 2"', "$ make test", "IndexError: list index out of range", "</shell-command> "):
            assert words in area.value
        await press(pilot, *"why?")
        assert area.value.endswith("</shell-command> why?")
        await press(pilot, "ctrl+z")
        assert "[shell #1 · make test]" in area.text


async def test_what_is_sent_to_be_kept_is_pinned_when_it_is_in_the_conversation() -> None:
    contexts = RecordedContexts()
    async with opened(FakeRecord(), service=contexts) as (pilot, app, _):
        await press(pilot, "home", *["down"] * 5, "p")
        area = app.bench.input
        assert isinstance(area, FoldingArea)
        assert area.value.startswith("Keep this in mind") and "IndexError" in area.value
        await press(pilot, "enter")
        assert app.hub is not None
        (sent,) = [event for event in app.hub.said if isinstance(event, PromptSubmitted)]
        for id, text in ((sent.prompt, sent.text), ("other", "make test")):
            message = Message(id, "user", (Text(text),))
            app.feed(MessageAppended(agent="main", session="s", message=message))
        await settled(pilot)
        assert contexts.done == [("pin", "main", f"{sent.prompt}/0", True)]


async def test_notes_go_into_the_log() -> None:
    async with opened(FakeRecord()) as (pilot, app, _):
        assert app.hub is not None
        app.hub.shell_log = log = FakeShellLog()
        await press(pilot, "n")
        assert isinstance(app.screen, InputScreen)
        await press(pilot, *"slow", "enter", "alt+1")
        assert isinstance(app.bench.input, FoldingArea)
        app.bench.input.put("# the lexer is new")
        await press(pilot, "enter")
        assert log.notes == [("slow", "/home/you"), ("the lexer is new", "/src/aurora")]
        assert app.bench.input.text == ""


async def test_a_note_that_cannot_be_kept_is_said() -> None:
    async with opened(FakeRecord()) as (pilot, app, _):
        await press(pilot, "n", *"slow", "enter")
        assert "Couldn't save the note" in str(list(app._notifications)[-1].message)  # pyright: ignore[reportPrivateUsage]


async def test_the_menu_lists_what_means_something() -> None:
    async with opened(FakeRecord()) as (pilot, app, _):
        await press(pilot, "home", *["down"] * 5, "space")
        assert isinstance(app.screen, Picker)
        await press(pilot, *"again", "enter")
        assert isinstance(app.bench.input, FoldingArea) and app.bench.input.text == "!make test"


async def test_keys_that_mean_nothing_for_a_line_say_so() -> None:
    async with opened(FakeRecord()) as (pilot, app, _):
        await press(pilot, "home", "down", "a")
        assert isinstance(app.bench.input, FoldingArea) and app.bench.input.text == ""
        assert "doesn't work on this line" in str(list(app._notifications)[-1].message)  # pyright: ignore[reportPrivateUsage]


async def test_the_mouse() -> None:
    async with opened(FakeRecord(), focus=False, size=(160, 40)) as (pilot, app, pane):
        view = pane.rows_view
        assert view is not None
        await pilot.click(view, offset=(4, 5))
        await settled(pilot)
        assert app.focused is pane
        assert pane.chosen is EARLIER[view.top + 5]
        await pilot.click(view, offset=(4, 5), times=2)
        await settled(pilot)
        assert isinstance(app.screen, RecordScreen)
        await press(pilot, "escape")
        await pilot.click(view, offset=(4, 5), button=3)
        await settled(pilot)
        assert isinstance(app.screen, Picker)


async def test_the_wheel_scrolls_and_the_end_follows_again() -> None:
    rows = [shell_record(number, f"command {number}", 5_000 - number) for number in range(60)]
    async with opened(FakeRecord(rows)) as (pilot, _, pane):
        view = pane.rows_view
        assert view is not None
        bottom = view.top
        view.scroll_rows(-3)
        assert view.top == bottom - 3 and not view.position.follows
        view.scroll_rows(3)
        assert view.top == bottom and view.position.follows
        await press(pilot, "home")
        assert view.top == 0


@pytest.mark.parametrize("width", [26, 60, 96, 200])
async def test_rows_fit_their_width(width: int) -> None:
    from gshtui.ui.shell.shell_lines import RowContext, heading, row_segments

    async with opened(FakeRecord(), size=(200, 50)) as (pilot, app, pane):
        app.feed(*recorded_shell.SHELLS)
        await settled(pilot)
        view = pane.rows_view
        assert view is not None and view.look is not None
        for at in range(pane.state.total):
            made = row_segments(pane.state.row(at), view.look, RowContext(width, "/src/aurora", NOW))
            assert sum(segment.cell_length for segment in made) <= width
        assert heading(width) == "" or len(heading(width)) == width

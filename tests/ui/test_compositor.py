"""What is written piece by piece gives the same screen as writing all of it, and says nothing twice."""

from __future__ import annotations

import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import LayoutUpdate
from textual.strip import Strip

from gshtui.bus.events.agent_events import AgentAdded, TextDelta, TurnStarted
from gshtui.ui.kit.textual.compositor import PiecesUpdate
from gshtui.ui.kit.transcript.transcript import Transcript
from gshtui.ui.window.help import HelpScreen
from tests.kit.seen_window import Seen, rested, whole
from tests.kit.storms import examples

TURN: dict[str, Any] = {"agent": "main", "session": "s"}


async def test_a_screen_written_in_pieces_is_the_screen() -> None:
    app = Seen()
    async with app.run_test(size=(120, 30)) as pilot:
        await rested(pilot)
        app.feed(AgentAdded(agent="main", name="main"), TurnStarted(**TURN, turn="t", prompt="p", text="go"))
        for number in range(25):
            text = f"Line {number}: wörter 表 **bold** and `code`\n\n"
            app.feed(TextDelta(**TURN, message="m", text=text))
            while app.query_one(Transcript).drawing:
                await pilot.pause()
            await rested(pilot)
            assert app.terminal.cells == whole(app).cells, number
        assert "Line 24" in "".join(app.terminal.text(row) for row in range(30))
        assert app.written


async def test_lists_above_and_screens_above_leave_nothing_behind() -> None:
    app = Seen()
    async with app.run_test(size=(100, 30)) as pilot:
        await rested(pilot)
        for keys in (["a", "表", "b"], ["left", "x"], ["backspace"] * 4, ["/"], ["escape"], ["alt+2"], ["alt+z"]):
            await pilot.press(*keys)
            await rested(pilot)
            assert app.terminal.cells == whole(app).cells, keys
        await pilot.press("escape", "escape")
        app.notify("A word in the corner", timeout=60)
        await rested(pilot)
        assert app.terminal.cells == whole(app).cells
        await pilot.press("f1")
        await rested(pilot)
        assert isinstance(app.screen, HelpScreen)
        app.feed(TurnStarted(**TURN, turn="t", prompt="p", text="behind"))
        await rested(pilot)
        app.pop_screen()
        await rested(pilot)
        assert app.terminal.cells == whole(app).cells


async def test_what_is_there_is_not_written_again() -> None:
    app = Seen()
    async with app.run_test(size=(120, 30)) as pilot:
        await rested(pilot)
        app.bench.header.refresh()
        await rested(pilot)
        app.written.clear()
        app.bench.header.refresh()
        await rested(pilot)
        assert app.written == [""]
        app.bench.refresh()
        app.bench.header.refresh()
        await rested(pilot)
        assert app.terminal.cells == whole(app).cells


async def test_the_first_paint_is_in_pieces_and_an_export_is_whole() -> None:
    app = Seen()
    async with app.run_test(size=(120, 30)) as pilot:
        await rested(pilot)
        compositor = app.bench._compositor
        assert "\x1b[1;1H" in app.written[0] and "\x1b[30;" in app.written[0]
        app.bench.refresh()
        assert isinstance(compositor.render_update(full=True), LayoutUpdate)
        assert isinstance(compositor.render_update(full=True, simplify=True), LayoutUpdate)
        rows = [strip.text for strip in app.bench.drawn()]
        assert rows == [strip.text for strip in compositor.render_strips()]
        app.bench.refresh()
        await rested(pilot)
        assert app.terminal.cells == whole(app).cells


HOSTILE = st.text(
    st.sampled_from("a字é\x1b[]m;2J\x07\x9b\x9d\x9c\x00\r\n\t\b\x7f\u202e\u2028\u2066\ud800\ue0b0"), max_size=12
)
WRITTEN = re.compile(r"\x1b\[[0-9;]*m|\x1b\[[0-9]+;[0-9]+H|\x1b\]8;[^\x00-\x1f\x7f-\x9f]*\x1b\\")


@settings(max_examples=examples(300), deadline=None)
@given(st.lists(st.tuples(HOSTILE, st.none() | HOSTILE), max_size=4))
def test_whatever_a_part_draws_the_terminal_is_given_nothing_to_obey(parts: list[tuple[str, str | None]]) -> None:
    strip = Strip([Segment(text, None if link is None else Style(link=f"http://x/{link}")) for text, link in parts])
    console = Console(force_terminal=True, color_system="truecolor")
    written = PiecesUpdate([(0, 0, strip)], {}).render_segments(console)
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]", WRITTEN.sub("", written))
    for text, _ in parts:
        assert all(character in written for character in text if character in "a字\ue0b0")


def test_what_shows_is_written_as_it_is() -> None:
    text = "a\u0301 \ue0b0 👩\u200d👩 العربية\u200c \xa0·"
    strip = Strip([Segment(text, Style(bold=True, link="http://x/ü"))])
    console = Console(force_terminal=True, color_system="truecolor")
    written = PiecesUpdate([(3, 4, strip)], {}).render_segments(console)
    assert written == f"\x1b[4;5H{strip.render(console)}"

"""The tour that the README shows: the real window in eight scenes, from a question to the receipt of a cut."""

import re
import xml.etree.ElementTree as ElementTree

import pytest
from syrupy.assertion import SnapshotAssertion
from textual.widgets import Input, TextArea

from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import AgentStatusChanged
from gshtui.ui.prompt.prompt_input import PromptInput
from tests.kit import recorded, recorded_shell
from tests.kit.recorded_contexts import RecordedContexts
from tests.kit.recorded_fleet import FEW
from tests.kit.recorded_shell import FakeRecord
from tests.kit.snapshots import Tour
from tests.kit.svg_tour import tour, without_web_font
from tests.kit.window import Window
from tests.ui.test_context_pictures import CUTS, one_place_on_earth
from tests.ui.test_fleet_pictures import ANSWERS, QUESTIONS
from tests.ui.test_pictures import settled

__all__ = ["one_place_on_earth"]

SIZE = (110, 30)
SECONDS = 4.0
TURN, SHELLS = recorded.TURN, recorded_shell.SHELLS
SCENES: list[tuple[str, tuple[Event, ...], tuple[str, ...]]] = [
    ("Ask for anything", (), tuple(recorded.PROMPT)),
    ("It reads, edits and runs", (*TURN, AgentStatusChanged(agent="main", status="tool", doing="make test")), ()),
    ("It asks before it writes or executes", (*TURN, *recorded.ASKED), ()),
    ("Its answer, beside what your shells did", (*TURN, *recorded.ANSWERED, *SHELLS), ("alt+3",)),
    ("Other agents work in terminals of their own", (*TURN, *recorded.ANSWERED, *FEW), ("alt+2",)),
    ("What one of them changed", FEW, ("alt+2", "d", "n")),
    ("Exactly what is sent to the model", TURN, ("f7",)),
    ("How the context was cut to fit, with an undo", CUTS, ("alt+5", "enter")),
]


async def picture(title: str, events: tuple[Event, ...], keys: tuple[str, ...]) -> str:
    """The window after these events and keys."""
    app = Window(answers=ANSWERS, questions=QUESTIONS, service=RecordedContexts(), store=FakeRecord(), theme="gsh-dark")
    async with app.run_test(size=SIZE) as pilot:
        await settled(pilot)
        app.feed(*recorded.STARTED, *recorded.TODAY, *events)
        await settled(pilot)
        for key in keys:
            await pilot.press("space" if key == " " else key)
        await settled(pilot)
        for screen in app.screen_stack:  # the cursor stands still, whatever the time is
            for field in screen.query("TextArea, Input, PromptInput").results():
                if isinstance(field, (TextArea, Input, PromptInput)):
                    field.cursor_blink = False
        await settled(pilot)
        return app.export_screenshot(title=title)


@pytest.mark.timeout(120)
async def test_the_readme_shows_a_tour_of_the_window_as_it_is(snapshot: SnapshotAssertion) -> None:
    frames = [Tour().serialize(await picture(*scene)) for scene in SCENES]
    assert tour(frames, SECONDS) == snapshot.use_extension(Tour)


def test_a_tour_shows_one_frame_at_a_time_and_asks_for_nothing() -> None:
    frame = (
        '<svg class="rich-terminal" viewBox="0 0 10 5" xmlns="http://www.w3.org/2000/svg">\n<style>\n'
        '    @font-face {\n        src: url("https://fonts.example/a.woff2");\n    }\n'
        "    .terminal-matrix { font-family: Fira Code, monospace; }\n    .terminal-r1 { fill: red }\n</style>"
        '<text class="terminal-r1">one</text></svg>'
    )
    made = tour([frame, frame, frame], 2)
    root = ElementTree.fromstring(made)
    shown = [part for part in root if part.get("class") == "frame"]
    assert [part.get("style") for part in shown] == [f"animation-delay: {at}s" for at in (-6, -4, -2)]
    assert "33.3333%" in made and "6s step-end" in made
    assert not re.search(r"https?://(?!www\.w3\.org)|@font-face|@import", made)
    assert set(re.findall(r"\bf\d-r1\b", made)) == {"f0-r1", "f1-r1", "f2-r1"}
    assert "monospace" in without_web_font(frame) and "Fira" not in without_web_font(frame)
    with pytest.raises(ValueError, match="one size"):
        tour([frame, frame.replace("0 0 10 5", "0 0 10 6")], 2)


def test_a_picture_without_its_font_has_whole_bars_and_no_text_that_begins_with_a_blank() -> None:
    row = 'y="100" textLength="{}" clip-path="url(#c)">'
    bars = f'<text class="terminal-r1" x="10" {row.format("36.6")}█&#160;▄</text>'
    words = f'<text class="terminal-r2" x="10" {row.format("61")}&#160;a&#160;b&#160;</text>'
    assert without_web_font(bars) == (
        '<rect class="terminal-r1" x="10" y="81.5" width="12.2" height="24.65"/>'
        '<rect class="terminal-r1" x="34.4" y="93.7" width="12.2" height="12.45"/>'
    )
    drawn = f'<text class="terminal-r2" x="22.2" {row.format("36.6")}a&#160;b</text>'
    assert without_web_font(words) == without_web_font(drawn) == drawn

"""The window in pictures: every state from recorded events, small and large.

`pytest --snapshot-update` writes them anew; look at them (`rsvg-convert`) before you commit them.
"""

from collections.abc import Sequence

import pytest
from textual.pilot import Pilot
from textual.widgets import TextArea

from gshtui.bus.agent_data import OpenQuestion, QuestionChoice
from gshtui.bus.event import Event
from gshtui.bus.events.hub_events import PartFailed
from gshtui.providers.model_command import ListedModel, ModelList
from gshtui.ui.kit.transcript.transcript import Transcript
from gshtui.ui.shell.shell_pane import ShellPane
from tests.kit import recorded, recorded_shell
from tests.kit.conversations import conversation, conversations
from tests.kit.fake_hub import Answer
from tests.kit.recorded_fleet import changed, row
from tests.kit.recorded_shell import FakeRecord
from tests.kit.snapshots import Snap, readme_snap, screens, snap
from tests.kit.transcript_host import wait_until_drawn as drawn
from tests.kit.window import NOW, Window

__all__ = ["readme_snap", "snap"]


SESSIONS = [
    conversation("s2", "Make the parser take empty lines", messages=14, updated=NOW - 7_200, model="Sonnet"),
    conversation("s1", "Why is the build slow?", messages=31, updated=NOW - 200_000, held_by="pts/4"),
]
MODELS = ModelList(
    [
        ListedModel("anthropic", "claude-sonnet-4-5", "Claude Sonnet 4.5", window=200_000, in_use=True, usable=True),
        ListedModel("openai", "gpt-5", "GPT-5", window=400_000, price_input=1.25, price_output=10, usable=False),
        ListedModel("offline", "offline", "offline (no model)", "offline", usable=True),
    ],
    [],
)
ANSWERS = {"session ls": conversations(), "model list": Answer(MODELS)}


async def settled(pilot: Pilot[int]) -> None:
    """Wait until workers and messages rest and the conversation is drawn."""
    assert isinstance(pilot.app, Window)
    await pilot.pause()
    await pilot.app.workers.wait_for_complete()
    await drawn(pilot, pilot.app.bench.query_one(Transcript))


def know_all_heights(transcript: Transcript) -> None:
    """Draw what was never in sight, too: which entries were for a moment depends on the machine, and so do the heights
    that are estimates, and the scroll bar.
    """
    document = transcript.document
    for sheet in document.sheets:
        for at in range(len(document.built(sheet).blocks)):
            document.exact(sheet, at)
    transcript.sync(whole=True)


async def shown(
    snap: Snap,
    size: tuple[int, int],
    theme: str,
    events: Sequence[Event],
    *keys: str,
    answers: dict[str, Answer] | None = None,
    record: FakeRecord | None = None,
) -> None:
    """Play events to a window of this size and theme, press keys, and compare."""
    app = Window(answers=answers or ANSWERS, store=record, theme=theme)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        app.feed(*events)
        await settled(pilot)
        for key in keys:
            await pilot.press(key)
            await settled(pilot)
        # The cursor stands still, whatever the time is.
        assert isinstance(app.bench.input, TextArea)
        app.bench.input.set_reactive(TextArea.cursor_blink, False)
        shells = app.bench.panes["shell"]
        assert isinstance(shells, ShellPane)
        await shells.filtered()
        know_all_heights(app.bench.query_one(Transcript))
        await settled(pilot)
        snap(app)


@screens()
async def test_at_first(snap: Snap, size: tuple[int, int], theme: str) -> None:
    await shown(snap, size, theme, recorded.STARTED)


@screens()
async def test_offer(snap: Snap, size: tuple[int, int], theme: str) -> None:
    await shown(snap, size, theme, recorded.STARTED, answers={"session ls": conversations(*SESSIONS)})


@screens()
async def test_working(snap: Snap, size: tuple[int, int], theme: str) -> None:
    await shown(snap, size, theme, (*recorded.STARTED, *recorded.TURN))


@screens(light=True)
async def test_asked(snap: Snap, size: tuple[int, int], theme: str) -> None:
    await shown(snap, size, theme, (*recorded.STARTED, *recorded.TURN, *recorded.ASKED))


@screens(light=True)
async def test_answered(snap: Snap, size: tuple[int, int], theme: str) -> None:
    await shown(snap, size, theme, (*recorded.STARTED, *recorded.TURN, *recorded.ANSWERED))


@screens()
async def test_commands_of_the_person(snap: Snap, size: tuple[int, int], theme: str) -> None:
    await shown(snap, size, theme, (*recorded.STARTED, *recorded.COMMANDS))


async def test_the_readme_shows_the_window_as_it_is(readme_snap: Snap) -> None:
    asked = OpenQuestion(
        "q",
        "Run make test?",
        choices=(QuestionChoice("1", "Yes", means="once"), QuestionChoice("2", "No", means="deny")),
    )
    said = (
        *recorded.STARTED,
        *recorded.TODAY,
        *recorded.TURN,
        *recorded.ANSWERED,
        *recorded_shell.SHELLS,
        *changed(
            row("0001", "fix", kind="cli", profile="claude", status="waiting", needs_you=True, question=asked),
            row("0002", "docs", kind="cli", profile="codex", status="tool", doing="README.md"),
        ),
    )
    await shown(readme_snap, (130, 36), "gsh-dark", said, record=FakeRecord())


@screens()
async def test_part_failed(snap: Snap, size: tuple[int, int], theme: str) -> None:
    failed = PartFailed(part="store", why="No space left on the device", hint="Make room; recording goes on by itself.")
    await shown(snap, size, theme, (*recorded.STARTED, failed))


@screens()
async def test_help(snap: Snap, size: tuple[int, int], theme: str) -> None:
    await shown(snap, size, theme, recorded.STARTED, "f1")


@screens()
async def test_models(snap: Snap, size: tuple[int, int], theme: str) -> None:
    await shown(snap, size, theme, recorded.STARTED, "f2")


@screens()
async def test_sessions(snap: Snap, size: tuple[int, int], theme: str) -> None:
    await shown(snap, size, theme, recorded.STARTED, "f3", answers={"session ls": conversations(*SESSIONS)})


@screens()
async def test_zoomed_context(snap: Snap, size: tuple[int, int], theme: str) -> None:
    await shown(
        snap,
        size,
        theme,
        (*recorded.STARTED, *recorded.TURN, *recorded.ANSWERED),
        "alt+4",
        *(("alt+z",) if size[0] > 100 else ()),
    )


@pytest.mark.parametrize("size", [pytest.param((20, 5), id="20x5"), pytest.param((120, 40), id="120x40")])
async def test_other_sizes(snap: Snap, size: tuple[int, int]) -> None:
    await shown(snap, size, "gsh-dark", (*recorded.STARTED, *recorded.TURN, *recorded.ANSWERED))

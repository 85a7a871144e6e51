"""Inspector, timeline, context pane, receipts and their dialogs in pictures: small and large."""

import time
from collections.abc import Iterator

import pytest
from textual.widgets import Input, TextArea

from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import ContextAssembled, SectionSize, TurnFinished
from gshtui.bus.events.context_events import ContextCut, CutFailed, CutUndone, OutputTruncated, SummaryProposed
from gshtui.ui.prompt.prompt_input import PromptInput
from tests.kit import recorded
from tests.kit.conversations import conversations
from tests.kit.fake_hub import Answer
from tests.kit.keyboard import Keyboard
from tests.kit.recorded_contexts import COMPACTED, PRUNED, RecordedContexts
from tests.kit.snapshots import Snap, screens, snap
from tests.kit.window import NOW, Window, at_rest, settled
from tests.ui.test_pictures import MODELS

__all__ = ["snap"]

S = recorded.S


def sent(number: int, tokens: int, turn: str) -> ContextAssembled:
    sizes = {"system": 1_240, "call": 0, "memory": 380, "tools": 4_910, "history": tokens - 6_576, "input": 46}
    return ContextAssembled(
        agent="main",
        session=S,
        turn=turn,
        iteration=number,
        tokens=tokens,
        window=200_000,
        trigger=160_000,
        sections=tuple(SectionSize(name, size) for name, size in sizes.items()),
        id=f"it{number}",
        at=NOW - 1_000 + number,
    )


CUTS: tuple[Event, ...] = (
    sent(1, 9_000, "t1"),
    ContextCut(agent="main", session=S, receipt=PRUNED),
    sent(2, 66_000, "t1"),
    TurnFinished(agent="main", session=S, turn="t1", stop="end"),
    OutputTruncated(agent="main", session=S, call="c", tool="bash", original_bytes=90_000, kept_bytes=9_000),
    sent(3, 141_000, "t2"),
    CutUndone(agent="main", session=S, cut="cut1"),
    sent(4, 163_000, "t2"),
    CutFailed(agent="main", session=S, kind="compact", why="The model gave no summary."),
    sent(5, 165_000, "t2"),
    ContextCut(agent="main", session=S, receipt=COMPACTED),
    sent(6, 48_300, "t2"),
)
LONG: tuple[Event, ...] = tuple(
    event
    for number in range(500)
    for event in (
        *((ContextCut(agent="main", session=S, receipt=COMPACTED),) if number % 97 == 96 else ()),
        sent(number, 8_000 + number % 97 * 1_600, f"t{number // 7}"),
    )
)
WAITS = (SummaryProposed(agent="main", session=S, receipt=COMPACTED, deadline=NOW + 90),)
PLAIN = recorded.TURN

STATES: dict[str, tuple[tuple[Event, ...], tuple[str, ...]]] = {
    "sections": (PLAIN, ("f7",)),
    "blocks": (PLAIN, ("f7", *("down",) * 4, "enter", *("down",) * 4, "enter")),
    "sent": (PLAIN, ("f7", "r")),
    "compared": (PLAIN, ("f7", "d", "enter")),
    "search": (PLAIN, ("f7", "slash", *"parse")),
    "tune": (PLAIN, ("f7", "t", *"5", "enter")),
    "timeline": (CUTS, ("alt+5", "left")),
    "long": (LONG, ("alt+5", "alt+z", "minus")),
    "context": (CUTS, ("alt+4", "down", "down")),
    "receipt": (CUTS, ("alt+5", "enter")),
    "preview": (CUTS, ("alt+4", "c")),
    "summary": (WAITS, ("ctrl+g",)),
    "waiting": (WAITS, ()),
    "written": (WAITS, ("ctrl+g", "2")),
}


@pytest.fixture(autouse=True)
def one_place_on_earth(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Times of day are those of UTC, wherever the tests run."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@screens(*STATES, light={"sections", "receipt", "timeline", "compared"})
async def test_context(snap: Snap, size: tuple[int, int], theme: str, state: str) -> None:
    events, keys = STATES[state]
    app = Window(
        service=RecordedContexts(), answers={"session ls": conversations(), "model list": Answer(MODELS)}, theme=theme
    )
    async with at_rest(app, size) as pilot:
        app.feed(*recorded.STARTED, *events)
        await settled(pilot)
        keyboard = Keyboard(app)
        for key in keys:
            if key.isdigit():
                keyboard.post(key)  # an answer: some time after its question was painted
            else:
                await pilot.press(key)
            await settled(pilot)
        # The cursor stands still, whatever the time is.
        for screen in app.screen_stack:
            for field in screen.query("TextArea, Input, PromptInput").results():
                if isinstance(field, (TextArea, Input, PromptInput)):
                    field.cursor_blink = False
        await settled(pilot)
        snap(app)

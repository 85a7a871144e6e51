"""The inspector in the whole window: the real hub, record and SDK, a provider on this machine and what it got."""

import json
from pathlib import Path

import pytest
from textual.pilot import Pilot

from gshtui.bus.events.agent_events import PromptSubmitted, TurnFinished
from gshtui.bus.events.context_events import CutUndone
from gshtui.client.window_calls import WindowCalls
from gshtui.client.window_protocol import OpenRequest
from gshtui.ui.context.context_feature import ContextFeature
from gshtui.ui.context.inspector_pane import InspectorPane
from gshtui.ui.context.receipt_screen import ReceiptScreen
from gshtui.ui.context.timeline_pane import TimelinePane
from gshtui.ui.window.app import Workbench
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Call, Say, Spent
from tests.kit.resident import beside

__all__ = ["beside"]
SIZE = (120, 90)


async def settled(pilot: Pilot[int]) -> None:
    """Wait until workers and messages rest."""
    for _ in range(2):
        await pilot.pause()
        await pilot.app.workers.wait_for_complete()  # pyright: ignore[reportUnknownMemberType]


async def pressed(app: Workbench, pilot: Pilot[int], *keys: str) -> None:
    """Press keys, one after the other; wait each time until what the hub said to it is shown."""
    for key in keys:
        await pilot.press(key)
        await settled(pilot)
        await app.bridge.shown()
        await settled(pilot)


async def up(app: Workbench, pilot: Pilot[int]) -> WindowCalls:
    """The hub, once it runs and all it said is shown."""
    await settled(pilot)
    hub = await app.bridge.running()
    await app.bridge.shown()
    await settled(pilot)
    return hub


def lines(pane: InspectorPane) -> str:
    return "\n".join(pane.view.render_line(y).text.rstrip() for y in range(pane.view.size.height))


def timeline(app: Workbench) -> TimelinePane:
    pane = app.bench.panes["timeline"]
    assert isinstance(pane, TimelinePane)
    return pane


SCRIPT = [[Call("read", {"path": "a.txt"}), Spent(900, 20)], [Say("It has one line."), Spent(950, 9, 500, 300)]]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A project with a file of one line."""
    made = tmp_path / "project"
    made.mkdir()
    (made / "a.txt").write_text("the only line\n")
    return made


async def asked(app: Workbench, pilot: Pilot[int]) -> None:
    """One turn with two requests."""
    hub = await up(app, pilot)
    hub.bus.publish(PromptSubmitted(prompt="p", agent="main", text="What is in a.txt?"))
    await hub.bus.wait_for(TurnFinished, timeout=60)
    await app.bridge.shown()


@pytest.mark.usefixtures("beside")
async def test_what_was_sent_is_what_is_shown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with loopback("anthropic", SCRIPT) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        app = Workbench(OpenRequest(folder))
        async with app.run_test(size=SIZE) as pilot:
            await asked(app, pilot)
            await pressed(app, pilot, "f7", "[", "r")
            pane = app.part(ContextFeature).inspectors.find("main")
            assert pane is not None and pane.state.request is not None and pane.state.request.exact
            assert json.loads(pane.state.request.text) == server.requests[-1].body
            await pressed(app, pilot, "r", "}", "o")
            assert "the only line" in lines(pane) and "It has one line." in lines(pane)
            pane.reveal(next(block for block in pane.state.blocks if block.source == "you"))
            await pressed(app, pilot, "p")
            assert "⚑ you" in lines(pane)


@pytest.mark.usefixtures("beside")
async def test_a_cut_is_undone_after_a_restart(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with loopback("anthropic", SCRIPT) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        app = Workbench(OpenRequest(folder))
        async with app.run_test(size=SIZE) as pilot:
            await asked(app, pilot)
            await pressed(app, pilot, "alt+5", "C")
            assert isinstance(app.screen, ReceiptScreen) and app.screen.kind == "preview"
            await pressed(app, pilot, "ctrl+s")
            assert [cut.sign for cut in timeline(app).state.waiting] == ["X"]
        again = Workbench(OpenRequest(folder, "latest"))
        async with again.run_test(size=SIZE) as pilot:
            hub = await up(again, pilot)
            assert len(timeline(again).state.marks) == 2 and timeline(again).state.waiting[0].sign == "X"
            undone: list[object] = []
            hub.bus.subscribe(undone.extend, CutUndone, name="test")
            await pressed(again, pilot, "alt+5", "enter")
            assert isinstance(again.screen, ReceiptScreen) and again.screen.receipt.kind == "clear"
            await pressed(again, pilot, "U")
            assert len(undone) == 1
            await pressed(again, pilot, "f7", "o")
            pane = again.part(ContextFeature).inspectors.find("main")
            assert pane is not None and "the only line" in lines(pane)

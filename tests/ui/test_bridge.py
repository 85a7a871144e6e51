"""The bridge: the hub starts behind the window, intents wait for it, events come a frame at a time."""

import asyncio
import gc
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Unpack
from weakref import WeakKeyDictionary

import pytest

from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import PromptSubmitted, TextDelta
from gshtui.bus.events.hub_events import HubStarted, Noticed, PartFailed, SubscriberFailed
from gshtui.client.window_calls import WindowCalls
from gshtui.client.window_protocol import OpenRequest
from gshtui.ui.kit.bridge import Bridge, NotReady
from tests.kit.fake_hub import Answer, FakeHub, HubOptions, door_of
from tests.kit.window import Window


class Listener:
    """Takes what it is given, and says when there was something."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = (Noticed, TextDelta)

    def __init__(self) -> None:
        self.frames: list[list[Event]] = []
        self.came = asyncio.Event()

    def consume(self, events: Sequence[Event]) -> None:
        self.frames.append(list(events))
        self.came.set()

    async def next(self) -> list[Event]:
        async with asyncio.timeout(30):
            await self.came.wait()
        self.came.clear()
        return self.frames[-1]


class Broken(Listener):
    def consume(self, events: Sequence[Event]) -> None:
        raise ValueError("cannot draw this")


def bridge_of(
    tmp_path: Path,
    *listeners: Listener,
    answers: dict[str, Answer | Exception] | None = None,
    **hub: Unpack[HubOptions],
) -> Bridge:
    fake = FakeHub(OpenRequest(cwd=tmp_path), answers or {}, **hub)

    async def make(_: OpenRequest) -> WindowCalls:
        return door_of(fake)

    made = Bridge(fake.opening, make, lambda: listeners)
    _HUBS[made] = fake
    return made


_HUBS = WeakKeyDictionary[Bridge, FakeHub]()


def hub_of(bridge: Bridge) -> FakeHub:
    return _HUBS[bridge]


def delta(text: str) -> TextDelta:
    return TextDelta(agent="main", session="s", message="m", text=text)


async def test_intents_from_before_the_hub_wait_for_it_in_order(tmp_path: Path) -> None:
    gate = asyncio.Event()
    bridge = bridge_of(tmp_path, gate=gate)
    starting = asyncio.create_task(bridge.start())
    prompts = [PromptSubmitted(prompt=str(n), agent="main", text=f"prompt {n}") for n in range(3)]
    for prompt in prompts:
        assert bridge.publish(prompt)
    gate.set()
    await starting
    await hub_of(bridge).bus.drained()
    assert [event.text for event in hub_of(bridge).said if isinstance(event, PromptSubmitted)] == [
        "prompt 0",
        "prompt 1",
        "prompt 2",
    ]
    await bridge.stop()


async def test_a_hub_that_fails_is_said_and_nothing_raises(tmp_path: Path) -> None:
    bridge = bridge_of(tmp_path, fails=OSError("the disk is on fire"))
    await bridge.start()
    assert bridge.failed == "OSError: the disk is on fire"
    with pytest.raises(NotReady, match="the disk is on fire"):
        await bridge.run("help")
    await bridge.stop()


async def test_a_hub_that_cannot_even_be_made(tmp_path: Path) -> None:
    async def make(_: OpenRequest) -> WindowCalls:
        raise ImportError("no module named anything")

    bridge = Bridge(OpenRequest(cwd=tmp_path), make, lambda: ())
    await bridge.start()
    assert "no module named anything" in bridge.failed
    assert not bridge.publish(delta("x"))
    await bridge.stop()


async def test_events_come_coalesced_and_only_to_who_wants_them(tmp_path: Path) -> None:
    listener = Listener()
    bridge = bridge_of(tmp_path, listener)
    await bridge.start()
    for n in range(500):
        hub_of(bridge).bus.publish(delta(f"{n} "))
    hub_of(bridge).bus.publish(PartFailed(part="store", why="nobody here wants this"))
    await bridge.shown()
    texts = "".join(event.text for frame in listener.frames for event in frame if isinstance(event, TextDelta))
    assert texts == "".join(f"{n} " for n in range(500))
    assert sum(len(frame) for frame in listener.frames) <= 3
    assert all(isinstance(event, (Noticed, TextDelta)) for frame in listener.frames for event in frame)
    await bridge.stop()


async def test_what_comes_within_a_frame_is_shown_together(tmp_path: Path) -> None:
    listener = Listener()
    bridge = bridge_of(tmp_path, listener)
    bridge.fps = 1  # long enough that no machine is so slow that a frame passes meanwhile
    await bridge.start()
    await bridge.shown()
    for text in "abc":
        hub_of(bridge).bus.publish(delta(text))
        await hub_of(bridge).bus.drained()
    hub_of(bridge).bus.publish(Noticed(text="done"))
    await bridge.shown()
    texts = [[getattr(event, "text", "") for event in frame] for frame in listener.frames]
    assert texts in ([["a"], ["bc", "done"]], [["abc", "done"]])
    await bridge.stop()


@pytest.mark.faults
async def test_a_pane_that_fails_is_reported_and_the_others_go_on(tmp_path: Path) -> None:
    broken, listener = Broken(), Listener()
    bridge = bridge_of(tmp_path, broken, listener)
    await bridge.start()
    failed = hub_of(bridge).bus.wait_for(SubscriberFailed, timeout=60)
    hub_of(bridge).bus.publish(delta("hello"))
    report = await failed
    assert (report.subscriber, report.event, report.why) == ("Broken", "TextDelta", "ValueError: cannot draw this")
    assert await listener.next() == [listener.frames[0][0]]
    await bridge.stop()


async def test_commands_wait_for_the_hub(tmp_path: Path) -> None:
    gate = asyncio.Event()
    bridge = bridge_of(tmp_path, gate=gate, answers={"who": Answer(text="you")})
    starting = asyncio.create_task(bridge.start())
    asked = asyncio.create_task(bridge.run("who"))
    await asyncio.sleep(0)
    assert not asked.done()
    gate.set()
    await starting
    assert (await asked).text == "you"
    await bridge.stop()


async def test_starting_leaves_the_collector_on(tmp_path: Path) -> None:
    gc.disable()
    try:
        bridge = bridge_of(tmp_path)
        await bridge.start()
        assert gc.isenabled()
        await bridge.stop()
    finally:
        gc.enable()
        gc.unfreeze()


async def test_the_hub_starts_after_the_first_frame_and_stops_with_the_window() -> None:
    app = Window()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert app.hub is not None
        await pilot.press("ctrl+q")
        await pilot.pause()
    assert app.hub.stopped
    assert app.return_code == 0


@pytest.mark.faults
async def test_a_failed_hub_is_a_banner_and_the_window_stays_usable() -> None:
    app = Window(fails=RuntimeError("nothing works today"))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert app.bench.banner.display
        assert "nothing works today" in str(app.bench.banner.visual)
        assert app.bench.header.state.hub == "failed"
        await pilot.press(*"hello", "alt+2")
        assert app.bench.input.text == "hello"
        assert app.bench.front_pane() == "agents"
        await pilot.press("escape", "escape")
        assert not app.bench.banner.display


async def test_events_reach_the_panes_of_a_window() -> None:
    app = Window()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        assert app.hub is not None
        app.hub.bus.publish(HubStarted(project="/src/other", branch="topic"))
        await app.bridge.shown()
        assert (app.bench.header.state.project, app.bench.header.state.branch) == ("other", "topic")

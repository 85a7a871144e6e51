"""The watchdog of an event loop: who keeps everything else waiting is named, with the stack."""

import asyncio
import threading
import traceback
from types import FrameType

import pytest

from gshtui.system import loop_watchdog
from gshtui.system.loop_watchdog import LoopBlocked, LoopWatchdog, WatchedSelector


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set once the watchdog has taken a stack."""
    seen = threading.Event()
    format_stack = traceback.format_stack

    def note(frame: FrameType) -> list[str]:
        seen.set()
        return format_stack(frame)

    monkeypatch.setattr(loop_watchdog, "BLOCKED_FOR", 0.02)
    monkeypatch.setattr(loop_watchdog, "LOOK_EVERY", 0.01)
    monkeypatch.setattr(loop_watchdog.traceback, "format_stack", note)
    return seen


def hog(seen: threading.Event) -> None:
    seen.wait()


async def watched(selector: WatchedSelector, seen: threading.Event) -> list[LoopBlocked]:
    loop = asyncio.get_running_loop()
    told: asyncio.Queue[LoopBlocked] = asyncio.Queue()
    watchdog = LoopWatchdog(loop, selector, told.put_nowait)
    try:
        first = []
        for _ in range(2):  # the second time after a rest
            loop.call_soon(hog, seen)
            first.append(await told.get())
            seen.clear()
        return first
    finally:
        watchdog.stop()


def test_what_blocks_is_named_each_time_with_its_stack(seen: threading.Event) -> None:
    selector = WatchedSelector()
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner:
        for blocked in runner.run(watched(selector, seen)):
            assert str(blocked).startswith(
                f"hog ({__file__}:{hog.__code__.co_firstlineno}) blocked everything else for "
            )
            assert "seen.wait()" in blocked.__notes__[0]


def test_what_comes_from_outside_is_work_and_what_was_planned_is_none() -> None:
    selector, counts = WatchedSelector(), list[int]()
    worked = list[None]()

    async def live() -> None:
        loop = asyncio.get_running_loop()
        selector.worked = lambda: worked.append(None)
        planned = asyncio.Event()
        loop.call_later(0, planned.set)
        await planned.wait()
        counts.append(len(worked))
        await loop.run_in_executor(None, lambda: None)
        counts.append(len(worked))

    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner:
        runner.run(live())
    assert counts[0] == 0 < counts[1]

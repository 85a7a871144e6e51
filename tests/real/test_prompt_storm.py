"""A prompt of a window is sent once, waits in the record, or is back in the input, at whatever moment its hub ends."""

import asyncio
import contextlib
import os
import random
import signal
import sqlite3
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import ClassVar

import pytest

from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import PromptSubmitted, PromptWithdrawn
from gshtui.client.window_protocol import OpenRequest
from gshtui.fleet.keeper.keeper import running_keeper, stop_keeper
from gshtui.settings.paths import data_dir
from gshtui.ui.kit.bridge import Bridge
from gshtui.ui.window.lazy_imports import make_hub
from tests.kit.command import ROOT
from tests.kit.storms import seeds
from tests.kit.tmux import eventually, named_servers

__all__ = ["named_servers"]

pytestmark = [pytest.mark.tmux, pytest.mark.timeout(120)]
PROMPTS = 6


class Input:
    """Gets back what was not sent."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = (PromptWithdrawn,)

    def __init__(self) -> None:
        self.back: list[str] = []

    def consume(self, events: Sequence[Event]) -> None:
        self.back += [event.prompt for event in events if isinstance(event, PromptWithdrawn) and event.why]


@pytest.fixture
async def data(monkeypatch: pytest.MonkeyPatch, named_servers: Path) -> AsyncIterator[Path]:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("GSH_HUB__KEEP", "auto")
    try:
        yield data_dir()
    finally:
        await stop_keeper(data_dir())


def recorded() -> list[str]:
    """The prompts that were sent or wait."""
    with contextlib.closing(sqlite3.connect(data_dir() / "gsh.db")) as record:
        found = record.execute(
            "SELECT message FROM messages WHERE role = 'user' UNION ALL SELECT prompt FROM queued_prompts"
        )
        return [str(prompt) for (prompt,) in found]


@pytest.mark.parametrize("seed", seeds(30, by=15))
async def test_none_is_lost_or_there_twice(seed: int, data: Path, tmp_path: Path) -> None:
    chance, given = random.Random(seed), Input()
    bridge = Bridge(OpenRequest(tmp_path, provider="offline"), make_hub, lambda: (given,))
    await bridge.start()
    assert not bridge.failed
    prompts = [f"{seed}-{number}" for number in range(PROMPTS)]
    for number, prompt in enumerate(prompts):
        assert bridge.publish(PromptSubmitted(prompt=prompt, agent="main", text=f"run echo {number}"))
        match chance.choice(("at once", "soon", "taken", "not")):
            case "at once":
                end(chance)
            case "soon":
                await turns(chance.randrange(1, 40))
                end(chance)
            case "taken":
                with contextlib.suppress(Exception):
                    await (await bridge.running()).drained()
                end(chance)
            case _:
                await turns(chance.randrange(1, 40))

    async def there() -> list[str]:
        return sorted([*recorded(), *given.back])

    found = await eventually(there, until=lambda found: len(found) >= PROMPTS)
    await bridge.stop()
    assert found == await there() == sorted(prompts)


async def turns(number: int) -> None:
    """Let the loop go on."""
    for _ in range(number):
        await asyncio.sleep(0)


def end(chance: random.Random) -> None:
    """End the hub in order, or as the machine might, if it runs."""
    running = running_keeper(data_dir())
    if running is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(running.process.pid, chance.choice((signal.SIGKILL, signal.SIGTERM)))

"""The real window on a hub that makes up a conversation: `python -m tests.bench.synthetic`, configured by variables.

`BENCH_MESSAGES`: messages that are there. `BENCH_SIZE`: characters of the answer to each prompt. `BENCH_RATE`: pieces
a second (0: as fast as they are taken). `BENCH_PIECE`: characters a piece. `BENCH_REPORT`: where the watch's report
goes. So the time of bus, bridge and panes is measured, and that of no network.
"""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    IterationStarted,
    MessageAppended,
    PromptSubmitted,
    TextDelta,
    TurnFinished,
    TurnStarted,
)
from gshtui.bus.events.session_events import SessionOpened
from gshtui.bus.messages import Message, Text
from gshtui.client.window_calls import WindowCalls
from gshtui.client.window_protocol import OpenRequest
from gshtui.store.tables.message_table import StoredMessage
from gshtui.ui.window.app import Workbench
from tests.bench.material import END, START, answer, turns
from tests.bench.watch import Watch
from tests.kit.fake_hub import FakeHub, door_of

SESSION = "bench"


class MadeUpHub(FakeHub):
    """Answers every prompt with the same long answer."""

    async def start(self) -> None:
        await super().start()
        self._turn: asyncio.Task[None] | None = None
        self.stored = [
            StoredMessage(seq=seq, message=Message(id=f"m{seq}", role=role, blocks=(Text(text),)))  # type: ignore[arg-type]
            for seq, (role, text) in enumerate(turns(int(os.environ.get("BENCH_MESSAGES", "0"))), 1)
        ]
        self.bus.subscribe(self._prompted, PromptSubmitted, name="made-up agent")
        cwd = str(self.opening.cwd)
        self.bus.publish(SessionOpened(session=SESSION, agent="main", messages=len(self.stored), cwd=cwd))

    async def stop(self) -> None:
        if self._turn is not None:
            self._turn.cancel()
        await super().stop()

    def _prompted(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if isinstance(event, PromptSubmitted):
                self._turn = asyncio.get_running_loop().create_task(self._answer(event))

    async def _answer(self, prompt: PromptSubmitted) -> None:
        text = f"{START}\n\n{answer(int(os.environ.get('BENCH_SIZE', '2000')))}\n\n{END}\n"
        size, rate = int(os.environ.get("BENCH_PIECE", "20")), float(os.environ.get("BENCH_RATE", "0"))
        about: dict[str, Any] = {"agent": "main", "session": SESSION}
        asked = Message(id=prompt.prompt, role="user", blocks=(Text(prompt.text),))
        self.bus.publish(MessageAppended(message=asked, **about))
        self.bus.publish(TurnStarted(turn="t1", prompt=prompt.prompt, **about))
        self.bus.publish(IterationStarted(turn="t1", iteration=1, message="a1", **about))
        pieces = [text[at : at + size] for at in range(0, len(text), size)]
        watch, loop = Watch(), asyncio.get_running_loop()
        watch.begin()
        began = loop.time()
        for number, piece in enumerate(pieces):
            if number and number % (len(pieces) // 10 or 1) == 0:
                watch.passed()
            self.bus.publish(TextDelta(message="a1", text=piece, **about))
            await asyncio.sleep(max(0.0, began + (number + 1) / rate - loop.time()) if rate else 0)
        watch.passed()
        done = Message(id="a1", role="assistant", blocks=(Text(text),), stop="end", turn="t1", iteration=1)
        self.bus.publish(MessageAppended(message=done, **about))
        self.bus.publish(TurnFinished(turn="t1", stop="end", **about))
        await self.bus.drained()
        if report := os.environ.get("BENCH_REPORT"):
            watch.write(Path(report))


async def _make(opening: OpenRequest) -> WindowCalls:
    return door_of(MadeUpHub(opening))


if __name__ == "__main__":
    Workbench(OpenRequest(cwd=Path.cwd(), session="new"), make_hub=_make).run()

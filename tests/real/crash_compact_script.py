"""Run by the crash tests in a process of its own: a compaction that stops before or after its overlay is written."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from gshtui.bus.events.agent_events import PromptSubmitted, TurnFinished
from gshtui.bus.events.context_events import CutRequested
from gshtui.hub.composition import build_hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings.loader import load
from gshtui.store.record.store import Store
from gshtui.system.ids import new_id


class Stopping:
    """A store's `add_overlay` that never comes back from a compaction."""

    def __init__(self, store: Store, when: str) -> None:
        self._write = store.contexts.add_overlay
        self._when = when

    async def add_overlay(self, session: str, overlay_id: str, kind: str, at: float, data: str) -> int:
        """As the store's."""
        if kind != "compacted":
            return await self._write(session, overlay_id, kind, at, data)
        if self._when == "after":
            await self._write(session, overlay_id, kind, at, data)
        print("stopped", self._when, flush=True)
        await asyncio.Event().wait()
        raise AssertionError("it goes on no more")


async def main(when: str) -> None:
    cwd = Path.cwd()
    parts = frozenset({"store", "guard", "providers", "agents"})
    hub = build_hub(HubOptions(cwd=cwd, loaded=load(cwd), provider="anthropic", respondent="policy", parts=parts))
    await hub.start()
    assert hub.store is not None
    hub.store.contexts.add_overlay = Stopping(hub.store, when).add_overlay
    for words in ("The rule is 4711.", "Go on."):
        waiting = hub.bus.wait_for(TurnFinished, timeout=60)
        hub.bus.publish(PromptSubmitted(prompt=new_id(), agent="main", text=words))
        await waiting
    hub.bus.publish(CutRequested(agent="main", kind="compact"))
    await asyncio.Event().wait()


asyncio.run(main(sys.argv[1]))

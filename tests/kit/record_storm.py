"""One leg of a random session whose record fails: prompts, queues, interrupts, cuts, model switches, under faults.

Runs in a process of its own, which a fault may kill; says line by line what a person was shown. `dump` is the last
leg, without faults: one more prompt, then all that the record has of the folder's conversations.
"""

import asyncio
import contextlib
import json
import os
import random
import traceback
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

from gshtui.agents import conversation
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    InterruptRequested,
    MessageAppended,
    ModelChangeRequested,
    PromptSubmitted,
    PromptWithdrawn,
    TextDelta,
    TurnFinished,
    TurnStarted,
)
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested
from gshtui.bus.events.context_events import CutRequested
from gshtui.hub.composition import build_hub
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings.loader import load
from gshtui.store.record import record_writer
from tests.kit.record_faults import AT_ONCE, FAULTS, RecordFaults
from tests.kit.running_hub import started_hub

MODELS = ("claude-sonnet-5-5", "claude-haiku-5-5")
PARTS = frozenset({"store", "guard", "providers", "agents"})
_SETTLES_WITHIN = 60.0


def say(what: str, *words: str) -> None:
    """A line that is out before anything else happens."""
    os.write(1, f"{json.dumps([what, *words])}\n".encode())


class Leg:
    """A hub, what a person sees of it, and what becomes of their prompts."""

    def __init__(self, hub: Hub, chance: random.Random, name: str) -> None:
        self.hub = hub
        self.chance = chance
        self._name = name
        self._number = 0
        self._turns: dict[str, str] = {}
        self._settled: dict[str, asyncio.Event] = {}
        self.writes = asyncio.Event()
        self.asks = asyncio.Event()
        hub.bus.subscribe(self._listen, name="the person")

    def _listen(self, batch: Sequence[Event]) -> None:
        for event in batch:
            match event:
                case MessageAppended():
                    say("appended" if event.message.role != "user" else "shown", event.message.id)
                case TurnStarted():
                    say("shown", event.prompt)
                    self._turns[event.turn] = event.prompt
                case PromptWithdrawn():
                    say("withdrawn", event.prompt, event.why)
                    self._settle(event.prompt)
                case TurnFinished():
                    self._settle(self._turns.get(event.turn, ""))
                case TextDelta():
                    self.writes.set()
                case ApprovalRequested():
                    self.asks.set()
                    answer = ApprovalAnswered(
                        approval=event.approval, decision=self.chance.choice(("once", "once", "deny"))
                    )
                    asyncio.get_running_loop().call_soon(self.hub.bus.publish, answer)
                case _:
                    pass

    def _settle(self, prompt: str) -> None:
        if prompt in self._settled:
            self._settled[prompt].set()

    def send(self, long: bool = False) -> str:
        """Send a prompt with words of its own; its id."""
        self._number += 1
        words = f"P-{self._name}-{self._number}"
        id = f"{words}-{os.getpid()}"
        self._settled[id] = asyncio.Event()
        say("sent", id)
        text = f"{words} {'word ' * 3_000}" if long else f"Please do {words}."
        self.hub.bus.publish(PromptSubmitted(prompt=id, agent="main", text=text))
        return id

    async def settled(self) -> None:
        """Wait until every prompt was answered, interrupted or given back."""
        async with asyncio.timeout(_SETTLES_WITHIN):
            for event in self._settled.values():
                await event.wait()
        await self.hub.bus.drained()


@contextlib.asynccontextmanager
async def opened(name: str, chance: random.Random, session: str) -> AsyncIterator[Leg]:
    """A hub for a leg, in this folder."""
    record_writer.BUSY_DEADLINE = 0.3
    conversation._OWED_AGAIN = 0.05
    hub = build_hub(HubOptions(cwd=Path.cwd(), loaded=load(Path.cwd()), session=session, parts=PARTS))
    leg = Leg(hub, chance, name)
    async with started_hub(hub):
        assert hub.failed == {}, hub.failed
        yield leg


async def _act(leg: Leg, faults: RecordFaults) -> None:
    chance, bus = leg.chance, leg.hub.bus
    match chance.choice(("one", "one", "one", "long", "many", "interrupt", "interrupt", "cut", "switch")):
        case "one":
            leg.send()
        case "long":
            leg.send(long=True)
        case "many":
            for _ in range(chance.randint(2, 4)):
                leg.send()
        case "interrupt":
            leg.writes.clear()
            leg.send()
            if chance.random() < 0.5:
                leg.send()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(chance.choice((0.0, 0.02, 0.2))):
                    await leg.writes.wait()
            bus.publish(InterruptRequested(agent="main"))
        case "cut":
            bus.publish(CutRequested(agent="main", kind=chance.choice(("prune", "clear", "compact"))))
        case "switch":
            bus.publish(ModelChangeRequested(agent="main", model=chance.choice(MODELS)))
    if chance.random() < 0.8:
        await leg.settled()


async def _live(seed: int, number: int) -> None:
    chance = random.Random(f"{seed} {number}")
    async with opened(f"{seed}{number}", chance, "latest" if number else "new") as leg:
        assert leg.hub.store is not None
        faults = RecordFaults(leg.hub.store)
        await faults.watch()
        if chance.random() < 0.4:
            faults.after(chance.randint(1, 250), faults.kill)
        for _ in range(chance.randint(2, 5)):
            how = chance.random()
            if how < 0.35:
                await faults.begin(chance.choice(FAULTS))
            elif how < 0.7:
                fault = chance.choice(AT_ONCE)
                faults.after(chance.randint(1, 30), lambda fault=fault: faults.begin_at_once(fault))
                if chance.random() < 0.5:
                    faults.after(chance.randint(31, 60), faults.lift_at_once)
            await _act(leg, faults)
            if chance.random() < 0.6:
                await faults.lift()
        if chance.random() < 0.7:
            await leg.settled()
            await faults.lift()
            say("healed")
        else:
            await leg.settled()
    say("ended")


async def _dump(seed: int, place: Path) -> None:
    async with opened(f"{seed}9", random.Random(seed), "latest") as leg:
        leg.send()
        await leg.settled()
        store, contexts = leg.hub.store, leg.hub.contexts
        assert store is not None and contexts is not None
        found: list[dict[str, Any]] = []
        for info in await store.sessions.find_all(cwd=str(Path.cwd()), empty=True):
            requests: list[dict[str, Any]] = []
            for mark in await store.contexts.iterations(info.id):
                request = await contexts.queries.request(info.id, mark.id)
                requests.append({"exact": request.exact, "sent": mark.sent, "body": json.loads(request.text)})
            log = [
                {
                    "id": one.message.id,
                    "role": one.message.role,
                    "text": "\n".join(getattr(block, "text", "") for block in one.message.blocks),
                    "results": {result.call_id: result.content for result in one.message.results},
                }
                for one in await store.messages.read(info.id)
            ]
            cuts = len(await contexts.queries.receipts(info.id))
            found.append({"session": info.id, "log": log, "requests": requests, "cuts": cuts})
        place.write_text(json.dumps(found), encoding="utf-8")


def main(words: list[str]) -> int:
    """`SEED NUMBER`: a leg with faults. `SEED FILE`: the last one, which writes down what the record has."""
    seed, what = int(words[0]), words[1]
    try:
        asyncio.run(_live(seed, int(what)) if what.isdecimal() else _dump(seed, Path(what)))
    except Exception:
        traceback.print_exc()  # the warm program that this is a fork of ends it without a word
        return 1
    return 0

"""How far an agent's present turn is from a person's word: what it says now is one message further on.

It follows which prompt each turn answers, by the bus. A prompt that is no message is a person's, or the agent's own
task, and starts anew. Called by `counter`.
"""

from __future__ import annotations

from collections.abc import Sequence

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent import TurnFinished, TurnStarted
from gshtui.bus.mail import PERSON
from gshtui.store.errors import StoreError
from gshtui.store.store import Store


class Chains:
    """The prompts in hand, by agent. `close` ends it."""

    def __init__(self, bus: Bus, store: Store) -> None:
        self._store = store
        self._prompts: dict[str, str] = {}
        self._subscription = bus.subscribe(self._listen, TurnStarted, TurnFinished, name="mail chains")

    def close(self) -> None:
        """Follow no longer."""
        self._subscription.unsubscribe()

    async def depth(self, sender: str) -> int:
        """The depth of a message that this agent sends now. Raises `StoreError`."""
        if sender == PERSON:
            return 0
        prompt = self._prompts.get(sender)
        if prompt is None:
            return 1
        try:
            return (await self._store.letter(prompt)).depth + 1
        except StoreError as error:
            if error.kind in ("unknown", "ambiguous"):
                return 1
            raise

    def _listen(self, batch: Sequence[Event]) -> None:
        for event in batch:
            if isinstance(event, TurnStarted):
                self._prompts[event.agent] = event.prompt
            elif isinstance(event, TurnFinished):
                self._prompts.pop(event.agent, None)

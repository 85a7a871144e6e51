"""An agent in a process of its own takes its messages out of the record by itself while no hub is connected.

Owns that one way; refuses messages to others, and leaves everything to a hub as soon as there is one. Started and
stopped by the agent's studio.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence

from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent import PromptEdited, PromptSubmitted, PromptWithdrawn, TurnFinished, TurnStarted
from gshtui.bus.mail import PERSON, Letter
from gshtui.fleet.mail.framing import framed
from gshtui.fleet.mail.progress import Progress
from gshtui.store.errors import StoreError
from gshtui.store.store import Store
from gshtui.system.tasks import keep_on

LOOK_EVERY = 1.0
"""Seconds between two looks at the record."""


class Letterbox:
    """See the module's text."""

    def __init__(
        self, bus: Bus, store: Store, agent: str, *, linked: Callable[[], bool], working: Callable[[], bool]
    ) -> None:
        """
        Args:
            agent: whose messages.
            linked: whether a hub is connected, which delivers them then.
            working: whether the agent is at work; a message that waits for its rest is left until then.
        """
        self._bus = bus
        self._store = store
        self._agent = agent
        self._linked = linked
        self._working = working
        self._progress = Progress(bus, store)
        self._revision = -1
        self._life: asyncio.Task[None] | None = None
        self._subscription = bus.subscribe(
            self._listen, TurnStarted, TurnFinished, PromptWithdrawn, PromptEdited, name="letterbox"
        )

    def start(self) -> None:
        """Begin to look."""
        self._life = keep_on(self._live, "the letterbox")

    async def stop(self) -> None:
        """Look no more; what is left stays in the record."""
        self._subscription.unsubscribe()
        if self._life is not None:
            self._life.cancel()
            await asyncio.wait([self._life])

    async def _live(self) -> None:
        while True:
            if not self._linked():
                with contextlib.suppress(StoreError):  # busy or full: the next look tries again
                    await self._look()
            await asyncio.sleep(LOOK_EVERY)

    async def _look(self) -> None:
        revision = await self._store.letters_revision()
        if revision == self._revision:
            return
        left = False
        for letter in await self._store.letters(("queued",), recipient=self._agent):
            if letter.defer and self._working():
                left = True
            elif (taken := await self._store.take_letter(letter.id)) is not None:
                await self._put_in(taken)
        self._revision = -1 if left else revision

    async def _put_in(self, letter: Letter) -> None:
        self._progress.expect(letter, inbox=True)
        source = letter.sender if letter.sender == PERSON else f"agent {letter.sender}"
        text = framed(letter, replies=True)
        self._bus.publish(PromptSubmitted(prompt=letter.id, agent=self._agent, text=text, source=source))
        self._progress.said(letter, "submitted")
        await self._progress.submitted(letter)

    async def _listen(self, batch: Sequence[Event]) -> None:
        for event in batch:
            await self._progress.heard(event)

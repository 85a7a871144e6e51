"""A person's word on a summary before it counts: shown as `SummaryProposed`, answered by `SummaryAnswered`, or by time.

Owns the wait and its deadline; refuses to wait where nobody is at a window. Used by the cutter.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence

from gshtui.bus.bus import Bus
from gshtui.bus.context import Receipt
from gshtui.bus.event import Event
from gshtui.bus.events.agent import AgentStatusChanged
from gshtui.bus.events.context import SummaryAnswered, SummaryProposed


class Reviewer:
    """Asks about one agent's summaries. Awaiting it gives the words to use, or `None` when they are rejected."""

    def __init__(self, bus: Bus, agent: str, seconds: float, attended: Callable[[], bool]) -> None:
        """`attended`: whether somebody is there to answer; asked for each summary."""
        self._bus = bus
        self._agent = agent
        self._seconds = seconds
        self._attended = attended

    async def __call__(self, receipt: Receipt) -> str | None:
        if not self._attended():
            return receipt.summary
        answer: asyncio.Future[SummaryAnswered] = asyncio.get_running_loop().create_future()

        def listen(batch: Sequence[Event]) -> None:
            for event in batch:
                if isinstance(event, SummaryAnswered) and event.cut == receipt.id and not answer.done():
                    answer.set_result(event)

        subscription = self._bus.subscribe(listen, SummaryAnswered, name=f"review {receipt.id}")
        deadline = time.time() + self._seconds
        self._bus.publish(
            SummaryProposed(agent=self._agent, session=receipt.session, receipt=receipt, deadline=deadline)
        )
        self._bus.publish(AgentStatusChanged(agent=self._agent, status="waiting", doing="for a word on its summary"))
        try:
            async with asyncio.timeout(self._seconds):
                said = await answer
        except TimeoutError:
            return receipt.summary
        finally:
            subscription.unsubscribe()
            self._bus.publish(AgentStatusChanged(agent=self._agent, status="thinking"))
        return (said.summary.strip() or receipt.summary) if said.accepted else None

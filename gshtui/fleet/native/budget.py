"""How much an agent may spend, in US dollars, over all its turns and with the agents that it starts.

It is looked at before each model request; none is cut off in its middle, so the last one may go over. Owns the sum;
refuses a model whose price is unknown, since nothing could be kept then. Called by the agent's turns.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterable, Sequence

from gshtui.agents.ports import Mind
from gshtui.agents.usage.budgets import Budgets
from gshtui.bus.event import Event
from gshtui.bus.events.agent import UsageReported
from gshtui.bus.events.context import ContextCut
from gshtui.bus.messages import Message
from gshtui.store.errors import StoreError


class Budget:
    """`allowed` in US dollars; 0: without limit."""

    def __init__(self, allowed: float, agent: str) -> None:
        self.allowed = allowed
        self.spent = 0.0
        self.children = 0.0
        """What the agents that it started have spent, as far as that was looked up."""
        self._agent = agent

    @property
    def left(self) -> float:
        """US dollars. 0 means without limit, so of a budget that is spent a millionth is left."""
        return max(1e-6, self.allowed - self.spent - self.children) if self.allowed > 0 else 0.0

    def note(self, batch: Sequence[Event]) -> None:
        """Take events of the bus."""
        for event in batch:
            if isinstance(event, UsageReported) and event.agent == self._agent:
                self.spent += event.cost or 0.0
            elif isinstance(event, ContextCut) and event.agent == self._agent:
                self.spent += event.receipt.cost or 0.0

    def spent_before(self, messages: Iterable[Message], mind: Mind) -> None:
        """Count what the conversation cost so far, at the prices of this mind: an estimate where models differ."""
        price = mind.provider.capabilities(mind.model)
        self.spent += sum(price.cost(message.usage) or 0.0 for message in messages if message.usage is not None)

    def limit(self, mind: Mind) -> str:
        """Why no further request may be made; empty when it may."""
        if self.allowed <= 0:
            return ""
        if mind.provider.capabilities(mind.model).price_input is None:
            return (
                f"It has a budget of ${self.allowed:.2f}, and the price of {mind.model} is not known. "
                "Choose another model, or start it without a budget."
            )
        spent = self.spent + self.children
        if spent >= self.allowed:
            return f"Its budget of ${self.allowed:.2f} is spent (${spent:.4f}). Start another one to go on."
        return ""


def stopping(budget: Budget, budgets: Budgets, session: Callable[[], str]) -> Callable[[Mind], Awaitable[str]]:
    """What a turn asks before each request: the agent's own budget, then those of the settings."""

    async def stop(mind: Mind) -> str:
        if budget.allowed > 0:
            with contextlib.suppress(StoreError):  # then what was known last counts
                budget.children = await budgets.children_cost(session())
        return budget.limit(mind) or await budgets.stop(session())

    return stop

"""How much an agent may spend, in US dollars, over all its turns: looked at before each model request.

A request is never cut off in its middle, so the last one may go over. Owns the sum; refuses a model whose price is
unknown, since nothing could be kept then. Called by the agent's turns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gshtui.agents.ports import Mind
from gshtui.bus.event import Event
from gshtui.bus.events.agent import UsageReported
from gshtui.bus.messages import Message


class Budget:
    """`allowed` in US dollars; 0: without limit."""

    def __init__(self, allowed: float, agent: str) -> None:
        self.allowed = allowed
        self.spent = 0.0
        self._agent = agent

    @property
    def left(self) -> float:
        """US dollars; never below 0. Of a budget without limit: 0."""
        return max(0.0, self.allowed - self.spent)

    def note(self, batch: Sequence[Event]) -> None:
        """Take events of the bus."""
        for event in batch:
            if isinstance(event, UsageReported) and event.agent == self._agent:
                self.spent += event.cost or 0.0

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
        if self.spent >= self.allowed:
            return f"Its budget of ${self.allowed:.2f} is spent (${self.spent:.4f}). Start another one to go on."
        return ""

"""A native agent's permissions: its tools, the calls that need no approval, and how much it may spend.
All limits of its ancestors apply together; nothing here ever widens one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterable, Sequence

from gshtui.agents.ports import ModelHandle
from gshtui.agents.usage.budgets import BudgetWatch
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import UsageReported
from gshtui.bus.events.context_events import ContextCut
from gshtui.bus.messages import Message
from gshtui.commands.declaration import Effect
from gshtui.commands.registry import AnyCommand, Registry
from gshtui.fleet.native.spec import ToolLimit
from gshtui.store.store_errors import StoreError


def permitted_registry(registry: Registry, limits: Sequence[ToolLimit]) -> Registry:
    """A registry for the agent's tools: those that every limit allows."""
    return Registry(command for command in registry if not command.tool or is_permitted(command, limits))


def is_permitted(command: AnyCommand, limits: Sequence[ToolLimit]) -> bool:
    """Whether every limit allows this tool."""
    reads = command.effect is Effect.READ
    return all(limit.allows(command.name, reads=reads) for limit in limits)


def unknown_tools(registry: Registry, limits: Iterable[ToolLimit]) -> list[str]:
    """Names in the limits that are not tools here: misspelt words of a persona or a request."""
    known = {command.name for command in registry.tools()}
    return sorted({tool for limit in limits for tool in limit.tools if tool not in known})


class SpendingBudget:
    """`allowed` in US dollars; 0: no limit."""

    def __init__(self, allowed: float, agent: str) -> None:
        self.allowed = allowed
        self.spent = 0.0
        self.children = 0.0
        """The spending of the agents that it started, as of the last look."""
        self._agent = agent

    @property
    def left(self) -> float:
        """US dollars. 0 means no limit, so a spent budget still has a millionth left."""
        return max(1e-6, self.allowed - self.spent - self.children) if self.allowed > 0 else 0.0

    def note(self, batch: Sequence[Event]) -> None:
        """Handle events of the bus."""
        for event in batch:
            if isinstance(event, UsageReported) and event.agent == self._agent:
                self.spent += event.cost or 0.0
            elif isinstance(event, ContextCut) and event.agent == self._agent:
                self.spent += event.receipt.cost or 0.0

    def spent_before(self, messages: Iterable[Message], handle: ModelHandle) -> None:
        """Add the conversation's cost so far, at this model's prices: an estimate if its models differed."""
        price = handle.provider.capabilities(handle.model)
        self.spent += sum(price.cost(message.usage) or 0.0 for message in messages if message.usage is not None)

    def limit(self, handle: ModelHandle) -> str:
        """Why no further request may be made; empty if it may."""
        if self.allowed <= 0:
            return ""
        if handle.provider.capabilities(handle.model).price_input is None:
            return (
                f"It has a budget of ${self.allowed:.2f}, but the price of {handle.model} is unknown. "
                "Choose another model, or start it without a budget."
            )
        spent = self.spent + self.children
        if spent >= self.allowed:
            return f"Its budget of ${self.allowed:.2f} is spent (${spent:.4f}). Start another agent to continue."
        return ""


def spending_limit(
    budget: SpendingBudget, budgets: BudgetWatch, session: Callable[[], str]
) -> Callable[[ModelHandle], Awaitable[str]]:
    """The check before each request of a turn: the agent's own budget, then those of the settings."""

    async def stop(handle: ModelHandle) -> str:
        if budget.allowed > 0:
            with contextlib.suppress(StoreError):  # then the last known amount counts
                budget.children = await budgets.children_cost(session())
        return budget.limit(handle) or await budgets.stop(session())

    return stop

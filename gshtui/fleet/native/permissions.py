"""What a native agent may do: its tools, what it may run without a question, and how much it may spend.
Every limit above the agent holds at once; nothing here ever widens one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path

from gshtui.agents.ports import ModelHandle
from gshtui.agents.usage.budgets import BudgetWatch
from gshtui.bus.bus import Bus
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import UsageReported
from gshtui.bus.events.context_events import ContextCut
from gshtui.bus.messages import Message
from gshtui.commands.declaration import Effect
from gshtui.commands.registry import AnyCommand, Registry
from gshtui.fleet.native.spec import Spec, ToolLimit
from gshtui.guard.approval import Gate, ProjectGrants
from gshtui.settings.model import Settings
from gshtui.store.store import Store
from gshtui.store.store_errors import StoreError


def permitted_registry(registry: Registry, limits: Sequence[ToolLimit]) -> Registry:
    """A registry for the agent's tools: those that every limit allows."""
    return Registry(command for command in registry if not command.tool or is_permitted(command, limits))


def is_permitted(command: AnyCommand, limits: Sequence[ToolLimit]) -> bool:
    """Whether every limit allows this tool."""
    reads = command.effect is Effect.READ
    return all(limit.allows(command.name, reads=reads) for limit in limits)


def unknown_tools(registry: Registry, limits: Iterable[ToolLimit]) -> list[str]:
    """Names in the limits that are no tools here: words of a persona or a request that were misspelt."""
    known = {command.name for command in registry.tools()}
    return sorted({tool for limit in limits for tool in limit.tools if tool not in known})


def open_gate(spec: Spec, bus: Bus, store: Store, settings: Settings, project: Path) -> Gate:
    """Its gate, listening; to be closed."""
    auto = settings.agent.auto_approve
    if spec.auto_approve is not None:
        auto = [tool for tool in auto if tool in spec.auto_approve]
    return Gate(bus, ProjectGrants(store.grants, str(project)), mode=spec.approvals, auto_approve=frozenset(auto))


class SpendingBudget:
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

    def spent_before(self, messages: Iterable[Message], handle: ModelHandle) -> None:
        """Count what the conversation cost so far, at this model's prices: an estimate where models differ."""
        price = handle.provider.capabilities(handle.model)
        self.spent += sum(price.cost(message.usage) or 0.0 for message in messages if message.usage is not None)

    def limit(self, handle: ModelHandle) -> str:
        """Why no further request may be made; empty when it may."""
        if self.allowed <= 0:
            return ""
        if handle.provider.capabilities(handle.model).price_input is None:
            return (
                f"It has a budget of ${self.allowed:.2f}, and the price of {handle.model} is not known. "
                "Choose another model, or start it without a budget."
            )
        spent = self.spent + self.children
        if spent >= self.allowed:
            return f"Its budget of ${self.allowed:.2f} is spent (${spent:.4f}). Start another one to go on."
        return ""


def spending_limit(
    budget: SpendingBudget, budgets: BudgetWatch, session: Callable[[], str]
) -> Callable[[ModelHandle], Awaitable[str]]:
    """What a turn asks before each request: the agent's own budget, then those of the settings."""

    async def stop(handle: ModelHandle) -> str:
        if budget.allowed > 0:
            with contextlib.suppress(StoreError):  # then what was known last counts
                budget.children = await budgets.children_cost(session())
        return budget.limit(handle) or await budgets.stop(session())

    return stop

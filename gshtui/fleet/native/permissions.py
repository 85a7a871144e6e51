"""A native agent's permissions: its tools, the calls that need no approval, and how much it may spend.
All limits of its ancestors apply together; nothing here ever widens one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Iterable, Sequence

from gshtui.agents.ports import ModelHandle
from gshtui.agents.usage.budgets import BudgetWatch, ask_for_more
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import UsageReported
from gshtui.bus.events.context_events import ContextCut
from gshtui.bus.messages import Message
from gshtui.commands.declaration import Effect
from gshtui.commands.registry import AnyCommand, Registry
from gshtui.commands.tool_search import FIND_TOOL, find_tool_command
from gshtui.fleet.native.spec import ToolLimit
from gshtui.guard.approval.gate import Gate
from gshtui.store.engine.store_errors import StoreError
from gshtui.text import units


def permitted_registry(registry: Registry, limits: Sequence[ToolLimit]) -> Registry:
    """A registry for the agent's tools: those that every limit allows, and only those are found in it."""
    allowed = [command for command in registry if not command.tool or is_permitted(command, limits)]
    permitted = Registry(command for command in allowed if command.name != FIND_TOOL)
    if len(allowed) > len(permitted.names()):
        permitted.register(find_tool_command(permitted))
    return permitted


def is_permitted(command: AnyCommand, limits: Sequence[ToolLimit]) -> bool:
    """Whether every limit allows this tool."""
    reads = command.effect is Effect.READ
    if any(limit.paths for limit in limits) and not _keeps_to_paths(command):
        return False
    return all(limit.allows(command.name, reads=reads) for limit in limits)


_TALK = frozenset({"say", "talk", "wall", "pipe"})
"""What executes and reaches no file by itself: what it says or runs is judged where it arrives."""


_WHOLE = frozenset({"git_commit", "git_worktree"})
"""What works on the whole repository."""


def _keeps_to_paths(command: AnyCommand) -> bool:
    """Whether a tool reaches only files that the agent may reach: no program and no other agent works for it."""
    return (command.effect in (Effect.READ, Effect.WRITE) and command.name not in _WHOLE) or command.name in _TALK


def unknown_tools(registry: Registry, limits: Iterable[ToolLimit]) -> list[str]:
    """Names in the limits that are not tools here: misspelt words of a persona or a request."""
    known = {command.name for command in registry.tools()}
    return sorted({tool for limit in limits for tool in limit.tools if tool not in known})


class SpendingBudget:
    """`allowed` in US dollars; 0: no limit."""

    def __init__(self, allowed: float, agent: str) -> None:
        self.allowed = allowed
        self.agent = agent
        self.spent = 0.0
        self.children = 0.0
        """The spending of the agents that it started, as of the last look."""
        self._step = allowed

    @property
    def left(self) -> float:
        """US dollars. 0 means no limit, so a spent budget still has a millionth left."""
        return max(1e-6, self.allowed - self.spent - self.children) if self.allowed > 0 else 0.0

    def note(self, batch: Sequence[Event]) -> None:
        """Handle events of the bus."""
        for event in batch:
            if isinstance(event, UsageReported) and event.agent == self.agent:
                self.spent += event.cost or 0.0
            elif isinstance(event, ContextCut) and event.agent == self.agent:
                self.spent += event.receipt.cost or 0.0

    def spent_before(self, messages: Iterable[Message], handle: ModelHandle) -> None:
        """Add the conversation's cost so far, at this model's prices: an estimate if its models differed."""
        price = handle.provider.capabilities(handle.model)
        self.spent += sum(price.cost(message.usage) or 0.0 for message in messages if message.usage is not None)

    @property
    def used_up(self) -> bool:
        """Whether all of it is spent."""
        return 0 < self.allowed <= self.spent + self.children

    @property
    def more(self) -> float:
        """US dollars that a person's yes adds."""
        return self._step

    def extend(self) -> None:
        """Allow as much again as at first, beyond what is spent."""
        if self.used_up:
            beyond = self.spent + self.children - self.allowed
            self.allowed += self._step * (int(beyond / self._step) + 1)

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
        if self.used_up:
            of, used = units.money(self.allowed), units.money(spent)
            return f"Its budget of {of} is spent ({used}). Start another agent to continue."
        return ""


def spending_limit(
    budget: SpendingBudget, budgets: BudgetWatch, session: Callable[[], str], gate: Gate
) -> Callable[[ModelHandle], Awaitable[str]]:
    """The check before each request of a turn: the agent's own budget, then those of the settings.

    A budget that is used up pauses the agent and asks a person, who allows as much again or ends the turn.
    """

    async def stop(handle: ModelHandle) -> str:
        if budget.allowed > 0:
            with contextlib.suppress(StoreError):  # then the last known amount counts
                budget.children = await budgets.children_cost(session())
        if (why := budget.limit(handle)) and not (budget.used_up and await _raised(budget, session(), gate)):
            return why
        return await budgets.stop(session())

    return stop


async def _raised(budget: SpendingBudget, session: str, gate: Gate) -> bool:
    """Whether a person raised the budget."""
    used = f"{units.money(budget.spent + budget.children)} of its {units.money(budget.allowed)} are used"
    if not await ask_for_more(gate, budget.agent, session, used, units.money(budget.more)):
        return False
    budget.extend()
    return True

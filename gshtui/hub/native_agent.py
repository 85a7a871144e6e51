"""The native agent whose own hub this is: what it was started with, what it may spend, and who listens to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gshtui.fleet.native.permissions import SpendingBudget
from gshtui.fleet.native.spec import Spec

if TYPE_CHECKING:
    from gshtui.agents.prompt_inbox import PromptAgent
    from gshtui.tools.remote.remote_tools import RemoteTools


@dataclass(slots=True)
class NativeAgent:
    """Made by `agent run` before its hub."""

    spec: Spec
    linked: Callable[[], bool]
    """Whether a window's hub is connected now."""
    resumed: bool = False
    """An earlier process has already worked on the first prompt; it is not sent again."""
    agent: PromptAgent | None = None
    """The agent, once it runs."""
    connect: Callable[[], Awaitable[None]] | None = None
    """Connects it to its program, which may take a minute; raises `ExpectedError`. `None`: it has none."""
    tools_there: RemoteTools | None = None
    """Its tools on another machine; `None`: it works on this one."""
    budget: SpendingBudget = field(init=False)

    def __post_init__(self) -> None:
        self.budget = SpendingBudget(self.spec.request.budget_usd, self.spec.agent)

"""What an llm step asks for, and what it gets: the port to the agents of this process and to those in terminals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

import msgspec

from gshtui.bus.workflow_data import StepState

Stream = Literal["stdout", "stderr"]


class AgentRequest(msgspec.Struct, frozen=True):
    """One prompt for one agent.

    Args:
        name: of the agent, for people: the workflow and its step.
        persona: empty: none.
        tools: it may use tools, behind the guard.
        terminal: it works in a terminal of its own.
        worktree: the branch of its git worktree; empty: it works in the folder of the run.
        output: receives its answer as it arrives (stdout), and what is said of it before (stderr).
    """

    name: str
    prompt: str
    system: str = ""
    persona: str = ""
    provider: str = ""
    model: str = ""
    tools: bool = False
    terminal: bool = False
    worktree: str = ""
    output: Callable[[str, Stream], None] = lambda _text, _stream: None


class AgentAnswer(msgspec.Struct, frozen=True):
    """What came of it. `error` is one sentence where there is no answer."""

    text: str = ""
    state: StepState = "done"
    exit_code: int = 0
    error: str = ""
    agent: str = ""


class StepAgents(Protocol):
    """Asks agents. Cancelling `ask` interrupts the agent."""

    def check(self, request: AgentRequest) -> None:
        """Raise `WorkflowError` if there is no such persona, or agents in terminals cannot be started here."""
        ...

    async def ask(self, request: AgentRequest) -> AgentAnswer:
        """Ask, and wait for the answer. Raises `CommandError`."""
        ...

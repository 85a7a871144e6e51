"""What a model is sent and how it was cut to fit; tasks, budgets."""

from __future__ import annotations

from typing import Literal

from gshtui.bus.context_data import Budget, CutKind, Receipt, Task
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import SectionSize


class OutputTruncated(Event, frozen=True, kw_only=True):
    """A tool's output was shortened at capture; the store keeps all of it under `output`."""

    agent: str
    session: str
    call: str
    tool: str
    original_bytes: int
    kept_bytes: int
    output: str = ""
    block: str = ""
    """Id of the result's block, and of the receipt."""


class CutRequested(Event, frozen=True, kw_only=True):
    """Intent: cut an agent's context before its next request."""

    agent: str
    kind: CutKind
    request: str = ""
    """Id that the answer (`ContextCut`, `CutFailed`) repeats."""
    focus: str = ""
    """What a summary should focus on, in the requester's words."""
    by: str = "person"


class ContextCut(Event, frozen=True, kw_only=True):
    """A cut takes effect with the next request."""

    agent: str
    session: str
    receipt: Receipt
    request: str = ""
    sections: tuple[SectionSize, ...] = ()
    """Sections of the next request, with the cut."""
    expected: int = 0
    """Tokens of that request as the provider would count them; 0: unknown."""

    @property
    def size(self) -> int:
        """What is shown as the tokens of this context until the provider has counted them."""
        return self.expected or self.receipt.tokens_after


class CutFailed(Event, frozen=True, kw_only=True):
    """A cut failed; what is sent is unchanged."""

    agent: str
    session: str
    kind: CutKind
    why: str
    hint: str = ""
    request: str = ""


class ContextTuned(Event, frozen=True, kw_only=True):
    """When and how an agent's context is cut has been changed, from its next request on."""

    agent: str
    session: str
    by: str = "person"
    trigger: int = 0
    """Tokens at which a compaction starts now; 0: unknown."""


class CutUndone(Event, frozen=True, kw_only=True):
    """What a cut removed is sent again from the next request."""

    agent: str
    session: str
    cut: str
    by: str = "person"
    tokens: int = 0
    """Estimate of the next request without the cut; 0: unknown."""
    sections: tuple[SectionSize, ...] = ()
    expected: int = 0
    """Its tokens as the provider would count them; 0: unknown."""

    @property
    def size(self) -> int:
        """What is shown as the tokens of this context until the provider has counted them; 0: unknown."""
        return self.expected or self.tokens


class PlanEditRequested(Event, frozen=True, kw_only=True):
    """Intent: a person wants to edit an agent's plan; the window opens `text` in their editor."""

    agent: str
    text: str


class SummaryProposed(Event, frozen=True, kw_only=True):
    """A summary waits for review: `SummaryAnswered` for the same cut, or `deadline`, ends the wait."""

    agent: str
    session: str
    receipt: Receipt
    deadline: float = 0.0
    """Seconds since the epoch after which it counts as accepted."""


class SummaryAnswered(Event, frozen=True, kw_only=True):
    """Intent: accept a proposed summary, edited or unchanged, or reject it."""

    agent: str
    cut: str
    accepted: bool
    summary: str = ""


class BlockPinned(Event, frozen=True, kw_only=True):
    """A block was pinned, or unpinned (`pinned` is false)."""

    agent: str
    session: str
    block: str
    pinned: bool = True
    by: str = "person"


class BlockRestored(Event, frozen=True, kw_only=True):
    """One block that a cut removed is sent in full again."""

    agent: str
    session: str
    block: str
    by: str = "person"


class TasksChanged(Event, frozen=True, kw_only=True):
    """An agent's task list changed."""

    agent: str
    session: str
    tasks: tuple[Task, ...] = ()


class BudgetReached(Event, frozen=True, kw_only=True):
    """A budget is nearly (`warning`) or completely used up; when it is used up, the agent pauses and asks."""

    agent: str
    budget: Budget
    level: Literal["warning", "reached"] = "warning"

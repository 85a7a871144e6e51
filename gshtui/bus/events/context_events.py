"""What a model is sent and how it was cut to fit; tasks, budgets."""

from __future__ import annotations

from typing import Literal

from gshtui.bus.context_data import Budget, CutKind, Receipt, Task
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import SectionSize


class OutputTruncated(Event, frozen=True, kw_only=True):
    """A tool's output was shortened when it was captured; the whole is in the store under `output`."""

    agent: str
    session: str
    call: str
    tool: str
    original_bytes: int
    kept_bytes: int
    output: str = ""
    block: str = ""
    """Id of the result's block, which is that of the receipt too."""


class CutRequested(Event, frozen=True, kw_only=True):
    """Intent: cut an agent's context before its next request."""

    agent: str
    kind: CutKind
    request: str = ""
    """Id that the answer (`ContextCut`, `CutFailed`) names."""
    focus: str = ""
    """What a summary should dwell on, in the words of whoever asks."""
    by: str = "person"


class ContextCut(Event, frozen=True, kw_only=True):
    """A cut counts from the next request on."""

    agent: str
    session: str
    receipt: Receipt
    request: str = ""
    sections: tuple[SectionSize, ...] = ()
    """Of the next request as it stands with the cut."""


class CutFailed(Event, frozen=True, kw_only=True):
    """A cut did not happen; what is sent is as before."""

    agent: str
    session: str
    kind: CutKind
    why: str
    hint: str = ""
    request: str = ""


class CutUndone(Event, frozen=True, kw_only=True):
    """What a cut removed is sent again from the next request on."""

    agent: str
    session: str
    cut: str
    by: str = "person"
    tokens: int = 0
    """Of the next request as it stands without the cut; 0: not known."""
    sections: tuple[SectionSize, ...] = ()


class SummaryProposed(Event, frozen=True, kw_only=True):
    """A summary waits for a person's word: `SummaryAnswered` of the same cut, or `deadline`, ends the wait."""

    agent: str
    session: str
    receipt: Receipt
    deadline: float = 0.0
    """Seconds since the epoch after which it counts as accepted."""


class SummaryAnswered(Event, frozen=True, kw_only=True):
    """Intent: accept a proposed summary, with other words or as it is, or reject it."""

    agent: str
    cut: str
    accepted: bool
    summary: str = ""


class BlockPinned(Event, frozen=True, kw_only=True):
    """A block is never cut from now on, or no longer (`pinned` is false)."""

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
    """An agent's list of things to do is another one."""

    agent: str
    session: str
    tasks: tuple[Task, ...] = ()


class BudgetReached(Event, frozen=True, kw_only=True):
    """A budget is nearly (`warning`) or wholly used up; at the latter the agent pauses and asks."""

    agent: str
    budget: Budget
    level: Literal["warning", "reached"] = "warning"

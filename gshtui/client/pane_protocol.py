"""What the pane of an agent in its terminal and the hub say to each other. A line is one JSON object.

The pane opens (`PaneOpening`), and is told `begins` or why it is `declined`. From then on it sends events (`event`),
lines to run (`id`, `run`), whether something is typed (`typed`), that the person wants the agent to end (`leave`) and
the signals that end it (`signal`). It is sent events, results (`id` with `value`, `failed` or `fault`), whether a
window is there (`linked`), and the exit status of the agent (`ended`), or that it stops here and another process is to
go on with it (`detached`, true: one that is about to come; `cut`, true: a turn of it was cut).
"""

from __future__ import annotations

import msgspec

from gshtui.bus.events.agent_events import InterruptRequested, PromptSubmitted, QuestionAnswered
from gshtui.bus.events.approval_events import ApprovalAnswered

INTENTS = (PromptSubmitted, InterruptRequested, QuestionAnswered, ApprovalAnswered)
"""What a person does in a pane."""


class PaneOpening(msgspec.Struct, frozen=True, kw_only=True):
    """Which agent it is, and where."""

    agent: str
    session: str
    """The conversation that it has had until now; empty: the one that it was started with."""
    cut: bool = False
    """Its turn was cut, or may have been, as the process that ran it ended."""
    cwd: str
    environ: dict[str, str]
    """All variables of its terminal; kept in memory only, while the pane is there."""
    umask: int
    limits: list[tuple[int, int]]
    """Its limits on resources, soft and hard, in the order of `process_limits`."""

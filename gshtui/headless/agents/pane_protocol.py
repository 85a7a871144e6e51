"""What the terminal of an agent and the hub say to each other. A line is one JSON object.

The terminal opens (`PaneOpening`), and is told `begins` or why it is `declined`. From then on it sends what is typed
(`keys`, a character for each byte, and `at`, in seconds of the system's clock that never goes back), its `size`, that
all is on its screen up to a number of drawings (`drawn`, `at`), and the signals that end it (`signal`). It is sent
drawings (`show`, and what would take the redrawn rows away, `clear`), or events (`event`); what the next hub is to know
(`keep`, with how many bytes of keys are `taken`); and the exit status of the agent (`ended`), or that it stops here and
another process is to go on with it (`detached`, true: one that is about to come; `cut`, true: a turn of it was cut).
"""

from __future__ import annotations

from typing import Literal

import msgspec


class PaneKept(msgspec.Struct, frozen=True, kw_only=True):
    """What the terminal keeps for whoever goes on with the agent."""

    session: str = ""
    """The conversation that it has; empty: the one that it was started with."""
    draft: str = ""
    """What is typed and not sent."""


class PaneOpening(msgspec.Struct, frozen=True, kw_only=True):
    """Which agent it is, and where."""

    agent: str
    spec: str
    """The file that it was started with."""
    output: Literal["pane", "lines", "json"] = "pane"
    """A drawn pane, its lines alone, or the agent's events."""
    size: tuple[int, int] = (100, 40)
    """Columns and rows."""
    kept: PaneKept = PaneKept()
    again: bool = False
    """Its pane was drawn before."""
    lost: bool = False
    """The hub that ran it has ended without a word."""
    cut: bool = False
    """Its turn was cut, or may have been, as the process that ran it ended."""
    cwd: str
    environ: dict[str, str]
    """All variables of its terminal; kept in memory only, while the pane is there."""
    umask: int
    limits: list[tuple[int, int]]
    """Its limits on resources, soft and hard, in the order of `process_limits`."""

"""What a look at the terminals says about a row: it runs, it has ended, it is lost, or nothing is known.

Pure. An agent is its pane, its process id and that process's start, on the recorded socket; a name or a title is
nobody. What could not be looked at stays as it was: unknown is not dead. Called by `fleet_reconcile`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from gshtui.bus.fleet import ENDED_STATUSES, AgentRow
from gshtui.programs.profile import GENERIC


@dataclass(frozen=True, slots=True)
class Seen:
    """A row's pane as it was found. `there`: the server has the pane; `known`: the server answered at all."""

    known: bool
    there: bool = False
    pid: int = 0
    dead: bool = False
    exit_status: int | None = None
    runs: bool = False
    """Exactly the recorded process runs."""
    other: bool = False
    """Another process has its number by now."""
    gone_for: float = 0.0
    """Seconds since its process was first missed."""
    born: tuple[str, str, int, float] | None = None
    """The terminal of an agent whose row knows none: pane, session, process id, its start."""


Verdict = Literal["runs", "ended", "lost", "unknown"]

LATE = 5.0
"""Seconds after which a process that is gone has ended, whatever its terminal says."""
SETTLED_AFTER = 3.0
"""Seconds after which a program that nothing is known of is no longer `starting`."""
DRAWN_AFTER = 60.0
"""The same for one whose screen is known, which has said nothing yet: it may be blank for as long as it starts."""
FOUND_AFTER = 3.0
"""Seconds after which a terminal that its row does not know of is taken from whoever was making it."""
UNBORN_FOR = 30.0
"""Seconds in which an agent without a pane may still be on its way."""


def verdict(row: AgentRow, seen: Seen, now: float) -> Verdict:
    """What became of the agent."""
    if row.ended and row.status in ENDED_STATUSES:
        return "unknown"
    if not row.pane:
        return "unknown" if now - row.created < UNBORN_FOR else "lost"
    if not seen.known:
        return "unknown"
    if seen.there and seen.pid == row.pid:
        if seen.dead:
            return "ended"
        if seen.other:
            return "lost"  # the same numbers on another server, for another program
        # A terminal may learn a moment late, or not at all, that its program has ended.
        return "runs" if seen.runs else "ended" if seen.gone_for > LATE else "unknown"
    return "ended" if row.killed else "lost"


def changes(row: AgentRow, seen: Seen, now: float) -> dict[str, Any]:
    """The fields of the row that are different after the look; none when nothing is."""
    if seen.born is not None and not row.ended:
        pane, session, pid, begun = seen.born
        if now - row.created < FOUND_AFTER:
            return {}
        found = {"pane": pane, "tmux_session": session, "pid": pid, "pid_started": begun}
        return _status("idle", "", now) | found
    match verdict(row, seen, now):
        case "unknown":
            return {}
        case "runs":
            if row.status == "lost":
                return _status("idle", "its terminal was found again", now) | {"ended": 0.0}
            settled = SETTLED_AFTER if row.profile in ("", GENERIC) else DRAWN_AFTER
            if row.kind == "cli" and row.status_source == "spawn" and now - row.status_at > settled:
                return _status("idle", "", now)  # until somebody who follows it knows better
            return {}
        case "ended":
            return ended(row, seen.exit_status, now)
        case "lost":
            why = "was being started when its window ended" if not row.pane else "its terminal is gone"
            if seen.runs:
                why += f", process {row.pid} still runs"
            return _status("lost", why, now) | {"ended": now, "needs_you": False}


def ended(row: AgentRow, exit_status: int | None, now: float) -> dict[str, Any]:
    """The row's changes when its program has ended with this exit status (128 + n: by signal n)."""
    if row.killed:
        said = _status("done", "killed", now)
    elif exit_status in (0, None):
        said = _status("done", "", now)
    else:
        own_words = row.doing if row.status == "failed" else ""
        cause = own_words or (f"signal {exit_status - 128}" if exit_status > 128 else f"exit {exit_status}")
        said = _status("failed", cause, now)
    return said | {"ended": now, "exit_status": exit_status, "needs_you": False}


def _status(status: str, doing: str, now: float) -> dict[str, Any]:
    return {"status": status, "status_source": "process", "status_at": now, "doing": doing}

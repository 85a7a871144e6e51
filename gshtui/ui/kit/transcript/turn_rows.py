"""How many rows the calls of a turn take: a turn of twenty calls fits in twenty rows.

Of its commands the newest shows the end of its output; its changes are shown as far as the rows go, newest first; every
other call is one row, a failed one two. What has passed joins its neighbours once there are many. Pure; the document
carries it out, and opening a row shows all of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from gshtui.ui.kit.transcript.call_results import FAILED, result_rows
from gshtui.ui.kit.transcript.entries import ToolEntry, ToolGroup, calls_of, group_of, has_passed, only_looks

TURN_ROWS = 20
SINGLE_ROWS = 9
"""Rows of calls from which on those that have passed are joined."""


def unfolded(calls: Sequence[ToolEntry], most: int) -> list[bool]:
    """Which of a turn's calls show their result. `most`: rows of an output."""
    newest = _newest(calls)
    shown = [call.live or at == newest for at, call in enumerate(calls)]
    rows = sum(1 + result_rows(call, most, brief=not shown[at]) for at, call in enumerate(calls) if not call.diff)
    changed = [at for at, call in enumerate(calls) if call.diff]
    rows += len(changed)
    for at in reversed(changed):
        rows += result_rows(calls[at], most)
        shown[at] = rows <= TURN_ROWS or at == changed[-1] or calls[at].status == "asked"
    return shown


def joined_passed(calls: Sequence[ToolEntry], coming: ToolEntry) -> ToolGroup | None:
    """The last two of a turn's calls as one group, if there are many and both have passed, now that another comes."""
    if len(calls) < SINGLE_ROWS or not (has_passed(calls[-2]) and has_passed(calls[-1])):
        return None
    if only_looks(coming) and _newest(calls) >= len(calls) - 2:
        return None
    return group_of((*calls_of(calls[-2]), *calls_of(calls[-1])))


def _newest(calls: Sequence[ToolEntry]) -> int:
    """Which of them has printed something last, unless it is in a group; -1: none."""
    for at in range(len(calls) - 1, -1, -1):
        call = calls[at]
        if any(not only_looks(one) for one in calls_of(call)) and isinstance(call, ToolGroup):
            return -1
        quiet = isinstance(call, ToolGroup) or call.diff or (only_looks(call) and call.status not in FAILED)
        if call.output and not quiet:
            return at
    return -1

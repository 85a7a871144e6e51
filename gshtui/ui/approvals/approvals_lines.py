"""A question in lines: what is asked, in the order in which a person needs it, every hidden character shown.

Pure; nothing is left out and nothing is shortened, because what is approved must be what was read. Called by
`ApprovalsPane`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len, chop_cells

from gshtui.bus.events.approval import ApprovalRequested

EFFECTS = {"write": "write", "execute": "execute", "network": "reach the network", "read": "read"}

BUDGET = "budget"
"""Stands in place of a tool where an agent asks to go on beyond its budget."""


class Line(NamedTuple):
    """A line and what it is: subject, warning, label, detail, add, remove, hunk, context, pattern."""

    kind: str
    text: str


def title(request: ApprovalRequested, place: int, count: int, name: str = "") -> str:
    """Who asks, with which tool, to what effect, and which of how many questions this is.

    Args:
        name: what the agent is called, where it is known by a number.
    """
    from gshtui.guard.sanitise import one_line  # not before the first letter

    effect = EFFECTS.get(request.effect, one_line(request.effect, 40))
    if request.tool == BUDGET:
        effect = "go on"
    of = f" · {place} of {count}" if count > 1 else ""
    who = one_line(request.agent, 40)
    if name and name != request.agent:
        who = f"{one_line(name, 40)} ({who})"
    return f"{who} asks to {effect} · {one_line(request.tool, 40)}{of}"


def lines(request: ApprovalRequested) -> list[Line]:
    """The whole question."""
    from gshtui.guard.sanitise import visible  # not before the first letter

    found = [Line("subject", text) for text in visible(request.subject).split("\n")]
    found += [Line("warning", f"⚠ {text}") for warning in request.warnings for text in visible(warning).split("\n")]
    if request.pattern:
        found += [Line("pattern", f"3 would always allow: {' '.join(visible(request.pattern).split())}")]
    if request.detail and request.detail.strip() != request.subject.strip():
        found += [Line("label", ""), *(Line("detail", text) for text in visible(request.detail).split("\n"))]
    if request.diff:
        found += [Line("label", ""), *_diff(request.diff)]
    return found


def _diff(diff: str) -> Iterator[Line]:
    from gshtui.guard.sanitise import literal  # not before the first letter

    for text in literal(diff).removesuffix("\n").split("\n"):
        if text.startswith(("+++", "---", "@@", "diff ", "index ")):
            yield Line("hunk", text)
        else:
            yield Line({"+": "add", "-": "remove"}.get(text[:1], "context"), text)


def wrapped(question: Sequence[Line], width: int) -> list[Line]:
    """The lines broken to a width in cells, anywhere: no part of a command may lie outside the window."""
    found: list[Line] = []
    for kind, text in question:
        shown = text.expandtabs(4)
        if cell_len(shown) <= width:
            found.append(Line(kind, shown))
        else:
            found += [Line(kind, piece) for piece in chop_cells(shown, max(2, width))]
    return found

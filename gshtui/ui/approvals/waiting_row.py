"""The row of a question that waits: who wants what, how many wait, and the keys that answer. Pure."""

from __future__ import annotations

import msgspec
from rich.cells import cell_len

from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.guard.approval.question_text import PROGRAM, question_parts, question_row
from gshtui.text.asked_line import only_line
from gshtui.ui.kit.widgets.fitted_text import fit

_LEAST = 20
"""Cells that a question has in its row, before its number and its key."""


class WaitingQuestion(msgspec.Struct, frozen=True):
    """What the row is made of. A key is empty where it does not answer this question."""

    request: ApprovalRequested
    name: str
    folder: str
    """Where the window's own agent works: that goes without saying."""
    place: int
    count: int
    shows_change: bool
    """The change in question, if it is about one, is on the screen."""
    replaced: bool
    """It took the place of another one: no key counts before the person has gone to it."""
    written: bool
    """What is in the input would be the reason of a denial."""
    focus: str
    allow: str
    refuse: str


class WaitingRow(msgspec.Struct, frozen=True):
    """The row as drawn: the words at its left, and those at its right."""

    words: str
    keys: str
    whole: bool
    """It says all that would be decided."""


def waiting_row(asked: WaitingQuestion, width: int) -> WaitingRow:
    """The question in one row of so many cells; short ones are in it whole."""
    request, name, key = asked.request, asked.name, asked.focus
    of = f" · {asked.place} of {asked.count}" if asked.count > 1 else ""
    parts = question_parts(request)
    told = only_line(request.detail) if request.effect == PROGRAM else ""
    others = [line for line in parts.head[1:] if line.text.strip() != told]
    here = parts.where in ("", f"in {asked.folder}")
    all_said = here and asked.shows_change and all(line.kind == "warning" for line in others)
    behind = "".join(f" · {line.text}" for line in others) if all_said else ""
    allow = f"{asked.allow} allow" if asked.allow and all_said else ""
    deny = f"{asked.refuse} deny… · " if asked.refuse and not asked.written else ""
    if asked.replaced:
        allow, deny = "", "new question · "
    sign = ""
    if any(line.kind == "warning" for line in others) and (
        not all_said or cell_len(f"◆ {question_row(request, name)}{behind}  {allow} · {key}") > width
    ):  # it is allowed where its warnings are read
        sign, behind, allow, all_said = "⚠ ", "", "", False
    words, short = (f"◆ {sign}{question_row(request, name, short=cut)}{behind}" for cut in (False, True))
    first = f"{allow} · " if allow else ""
    tails = [f"{first}{some}{key}{end}" for some in (deny, "") for end in (f" answer{of}", of)]
    tails += [f"{allow}{of}"] if allow else []
    # What it wants to do is said rather than how to deny it, but not rather than how to allow it, or how many wait.
    pairs = [(one, tail) for one in (words, short) for tail in tails]
    more = [f"{allow}…{of}"] if allow else []
    cut = (short, next((one for one in (*more, f"{key}{of}", key) if width - cell_len(one) >= _LEAST), ""))
    words, tail = next((pair for pair in pairs if cell_len("  ".join(pair)) <= width), cut)
    row = fit(words, max(8, width - cell_len(tail) - 2))
    return WaitingRow(row, tail, row == words and all_said)

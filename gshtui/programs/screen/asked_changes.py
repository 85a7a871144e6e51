"""What a question asks about, as a screen shows it in the question or right above it: a change of files, or a plan.
Pure.

A program whose change stands in its conversation asks below that. What has scrolled away or is folded there, nobody has
seen who answers elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

from gshtui.programs.profiles.profile import QuestionRules
from gshtui.text.linear_regex import compile_linear


def plan_above(rules: QuestionRules, text: Sequence[str], start: int) -> tuple[int, bool] | None:
    """The first row of the plan above a question that starts in this row, and whether that is sure to be all of it;
    `None` where it asks about none. A plan is whole where its turn is: other words may have the heading of one.
    """
    if not rules.planned or not compile_linear(rules.planned).search(text[start].strip()):
        return None
    heading, prompt = compile_linear(rules.plan), compile_linear(rules.prompt)
    begun = next((row for row in range(start - 1, -1, -1) if prompt.search(text[row])), -1)
    headings = [row for row in range(begun + 1, start) if heading.search(text[row])]
    first = headings[-1] + 1 if headings else begun + 1
    inside = not any(line[:1].strip() for line in text[first:start])
    return first, begun >= 0 and len(headings) == 1 and inside


_MOST = 200
"""Rows above a question in which its change may begin."""
_FEW = 3
"""Rows of a change, from which on a program that folds it may leave some out."""
_SIGNED = re.compile(r"\s*\d+(?: \d+)?\s*([-+])")
"""How the first row of a line begins that a change adds or removes."""
_MARKED = re.compile(r"<{5,9} SEARCH|@@ -\d[^@]* @@")
_NUMBERED = re.compile(r"\s*(\d+)(?:\s|$)")


def asks_about_change(rules: QuestionRules, subject: str) -> bool:
    """Whether a question is about a change of files, by its program's words."""
    return bool(rules.edits) and compile_linear(rules.edits).search(subject) is not None


class AskedChange(NamedTuple):
    """What a question is about, with its change."""

    start: int
    """The first row."""
    about: list[str]
    some: bool
    """It shows something of the change, if it asks about one."""
    whole: bool
    """It shows all of that."""


def with_change(
    rules: QuestionRules, subject: str, about: Sequence[str], beside: Sequence[str], text: Sequence[str], start: int
) -> AskedChange:
    """The question that starts in this row of the screen's lines, with the change that it asks about."""
    lines, whole = list(about), True
    if not asks_about_change(rules, subject):
        return AskedChange(start, lines, some=True, whole=True)
    if (above := change_above(rules, text, start)) is not None:
        start, end, whole = above
        lines = [*text[start:end], "", *lines]
    shown = change_shown([*lines, *beside])
    last = next((line for line in reversed(lines) if line.strip()), "")
    ends = not rules.end or compile_linear(rules.end).search(last) is not None
    return AskedChange(start, lines, some=bool(shown), whole=whole and ends and shown == "all")


def change_shown(lines: Sequence[str]) -> Literal["", "some", "all"]:
    """How much of a change these lines show, where nothing says that more is out of sight: none of it, some of a new
    file, or a change, or a new file from its first line on.
    """
    if any(_SIGNED.match(line) or _MARKED.match(line.lstrip()) for line in lines):
        return "all"
    numbers = [int(found.group(1)) for line in lines if (found := _NUMBERED.match(line)) is not None]
    if not numbers:
        return ""
    return "all" if numbers == list(range(1, len(numbers) + 1)) else "some"


def change_above(rules: QuestionRules, text: Sequence[str], start: int) -> tuple[int, int, bool] | None:
    """The rows of the change right above a question that starts in this row, from the first to behind the last, and
    whether that is all of it, as its heading counts it.
    """
    if not rules.change:
        return None
    heading, folded = compile_linear(rules.change), compile_linear(rules.folded)
    first = next((row for row in range(start - 1, max(-1, start - 1 - _MOST), -1) if text[row][:1].strip()), -1)
    found = heading.search(text[first]) if first >= 0 else None
    if found is None:
        return None
    end = start
    while not text[end - 1].strip():
        end -= 1
    folds = bool(rules.folded) and folded.search(text[end - 1]) is not None
    end -= folds
    signs = [signed.group(1) for line in text[first:end] if (signed := _SIGNED.match(line)) is not None]
    counted = [signs.count(sign) == int(found.group(group) or 0) for group, sign in enumerate("+-", 1)]
    return first, end, all(counted) and not (folds and end - first > _FEW)

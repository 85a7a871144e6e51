"""The plan that a question asks about, as a screen shows it above the question. Pure."""

from __future__ import annotations

from collections.abc import Sequence

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

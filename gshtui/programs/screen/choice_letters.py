"""Choices of a question that are typed as letters behind it: `(Y)es/(N)o`, `y/N`. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gshtui.bus.agent_data import OpenQuestion
from gshtui.programs.profiles.profile import QuestionRules
from gshtui.programs.screen.asked_changes import with_change
from gshtui.programs.screen.asked_question import MOST, ReadQuestion, offered_choices, question_id
from gshtui.programs.screen.question_words import in_one_line, question_start
from gshtui.text.linear_regex import compile_linear
from gshtui.text.sanitise import plain
from gshtui.tmux.quoting import ShownRow

_LETTER = re.compile(r"\(([A-Z])\)(.*)|([A-Za-z])")
_LETTERS_ALONE = {"y": "Yes", "n": "No"}
_QUESTION_ROWS = 6
"""Most rows of such a question."""
_ABOVE = 40
"""Most lines above a question that belong to it where nothing says where it begins."""


def _letter_and_label(found: re.Match[str]) -> tuple[str, str]:
    if alone := found.group(3):
        return alone.lower(), _LETTERS_ALONE.get(alone.lower(), alone)
    return found.group(1).lower(), found.group(1) + found.group(2)


def lettered_choices(
    rules: QuestionRules, text: Sequence[str], cursor: tuple[int, int] | None, width: int
) -> ReadQuestion | None:
    """A question in front of the cursor with choices such as `(Y)es/(N)o` or `y/N` and nothing typed behind it."""
    if not rules.letters or cursor is None or width <= 0 or not len(text) - 1 <= cursor[1] <= len(text):
        return None
    column, last = cursor
    row = text[last] if last < len(text) else ""
    first = last
    while first > 0 and last - first < _QUESTION_ROWS and len(text[first - 1]) in (width - 1, width):
        first -= 1  # a row to the end of the line goes on in the next one
    # The blank behind a question that fills its line is not drawn over what was there.
    typed = row[:column].ljust(column) if column != 1 or first == last else row[:1] or " "
    behind = " " if len(typed) == 1 else typed
    match = compile_linear(rules.letters).search("".join(line.ljust(width) for line in text[first:last]) + behind)
    if match is None or row[column:].strip() or column >= width - 1:
        return None
    found = [_LETTER.fullmatch(part) for part in (match.group(2) or "").split("/")]
    known = [_letter_and_label(one) for one in found if one is not None]
    letters = tuple(letter for letter, _ in known)
    if len(known) != len(found) or not 2 <= len(known) <= MOST or len(set(letters)) != len(letters):
        return None
    start, complete = question_start(rules, text, first)
    start, complete = max(start, first - _ABOVE), complete and start >= first - _ABOVE
    about = list(text[start:first])
    while about and not about[0].strip():
        about.pop(0)
    while about and not about[-1].strip():
        about.pop()
    subject, more = in_one_line([" ".join((match.group(1) or "").split())])
    detail = plain("\n".join([*about, *more]))
    labels = [label for _, label in known]
    choices = offered_choices(rules, labels)
    asked = with_change(rules, subject, about, (), text, start)
    partial = not (complete and asked.whole)
    question = OpenQuestion(
        question_id(subject, detail, labels), subject, detail, choices, partial, changeless=not asked.some
    )
    rows = [ShownRow(line) for line in text[start:last] if line.strip()]
    return ReadQuestion(question, rows=(*rows, ShownRow(row)), letters=letters, typed=typed)

"""Choices of a question on one line: buttons, words with a key, letters behind it (`(Y)es/(N)o`, `y/N`). Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from gshtui.bus.agent_data import OpenQuestion
from gshtui.programs.profiles.profile import QuestionRules
from gshtui.programs.screen.asked_changes import with_change
from gshtui.programs.screen.asked_question import MOST, ReadQuestion, offered_choices, question_above, question_id
from gshtui.programs.screen.line_styles import backgrounds
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


_NAMED = {"enter": "Enter", "esc": "Escape"}


def choice_buttons(
    rules: QuestionRules, whole: Sequence[str], text: Sequence[str], lines: Sequence[str]
) -> ReadQuestion | None:
    """The lowest line that consists of known buttons, one of them with a background of its own."""
    if not rules.buttons:
        return None
    for row in range(len(text) - 1, -1, -1):
        labels, behind = buttons_in(rules, text[row])
        if len(labels) < 2:
            continue
        if behind and not (rules.footer and compile_linear(rules.footer).search(behind)):
            return None
        selected = _highlighted(lines[row], labels)
        if selected < 0:
            return None
        buttons = ShownRow(text[row].strip()[: len(text[row].strip()) - len(behind)].rstrip(), marked=True, beside=True)
        return question_above(rules, whole, text, row, labels, selected, [buttons], buttons=True)
    return None


def buttons_in(rules: QuestionRules, line: str) -> tuple[list[str], str]:
    """The buttons at the beginning of a line, and what is behind them."""
    rest, labels = line.strip(), list[str]()
    while rest:
        label = next((label for label in rules.buttons if f"{rest}  ".startswith(f"{label}  ")), "")
        if not label or label in labels:
            break
        labels.append(label)
        rest = rest[len(label) :].strip()
    return labels, rest


def _highlighted(line: str, labels: Sequence[str]) -> int:
    """Which of these labels has a background other than what is behind the last one's padding, or where all have, than
    all the others have; -1: not one.
    """
    shown, grounds = backgrounds(line)
    places: list[int] = []
    at = 0
    for label in labels:
        at = shown.find(label, at)
        if at < 0:
            return -1
        places.append(at)
        at += len(label)
    around = grounds[at + 2] if at + 2 < len(grounds) else ""  # behind the last one and its padding
    colours = [grounds[place] for place in places]
    own = [number for number, colour in enumerate(colours) if colour != around]
    if len(own) == len(labels) > 2 and len(set(colours)) == 2:
        own = [number for number in own if colours.count(colours[number]) == 1]
    return own[0] if len(own) == 1 else -1


def choice_keys(rules: QuestionRules, whole: Sequence[str], text: Sequence[str]) -> ReadQuestion | None:
    """The lowest line that consists of choices with a key each, such as `[y] Yes  [n] No`."""
    if not rules.keys:
        return None
    pattern = compile_linear(rules.keys)
    for row in range(len(text) - 1, -1, -1):
        rest, keys, labels = text[row], list[str](), list[str]()
        while (match := pattern.search(rest)) is not None and match.span()[1] > match.span()[0]:
            keys.append(_NAMED.get(match.group(1) or "", match.group(1) or ""))
            labels.append((match.group(2) or "").strip())
            rest = rest[: match.span()[0]] + rest[match.span()[1] :]
        if len(keys) < 2:
            continue
        if rest.strip() or len(set(keys)) != len(keys) or not all((*keys, *labels)):
            return None
        shown = ShownRow(text[row].strip(), marked=True, beside=rules.panel)
        found = question_above(rules, whole, text, row, labels, -1, [shown], digits=keys)
        above = next((text[n] for n in range(row - 1, -1, -1) if text[n].strip()), "")
        if found is None or not rules.end or compile_linear(rules.end).search(above):
            return found
        return replace(found, question=msgspec.structs.replace(found.question, partial=True))
    return None

"""Choices of a question that stand side by side: buttons, and words with a key each. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from gshtui.programs.profiles.profile import QuestionRules
from gshtui.programs.screen.asked_question import ReadQuestion, question_above
from gshtui.programs.screen.line_styles import backgrounds
from gshtui.text.linear_regex import compile_linear
from gshtui.tmux.quoting import ShownRow

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

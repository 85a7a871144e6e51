"""A question with its choices, as it is made of the rows above them. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import partial
from itertools import zip_longest

import msgspec

from gshtui.bus.agent_data import LONGEST_CHOICE, Meaning, OpenQuestion, QuestionChoice
from gshtui.programs.profiles.profile import QuestionRules
from gshtui.programs.screen.asked_changes import plan_above, with_change
from gshtui.programs.screen.choice_meaning import digits_of, meaning_of
from gshtui.programs.screen.question_words import (
    RULES,
    bare_lines,
    indented,
    is_cut,
    parts_of,
    prose,
    question_start,
    said_once,
    trimmed,
    without_where,
)
from gshtui.text.cells import width
from gshtui.text.linear_regex import compile_linear
from gshtui.text.sanitise import plain
from gshtui.tmux.quoting import ShownRow

_CORNERS = ("└", "╰")
MOST = 9
"""Choices: one digit is one key."""


_PART = 4
"""Of a screen's rows, one in so many is surely there for what is asked about, in a terminal that is not high."""


class ReadQuestion(msgspec.Struct, frozen=True):
    """A question with what is needed to answer it by keys."""

    question: OpenQuestion
    selected: int = -1
    """Place of the choice under the cursor, from 0; -1: there is none."""
    buttons: bool = False
    """The choices stand side by side: the arrows move between them, and Enter chooses."""
    digits: tuple[str, ...] = ()
    """The program's own digit of each choice; empty: the arrows move to it, and Enter chooses."""
    rows: tuple[ShownRow, ...] = ()
    """What the screen shows of it."""
    tick: str = ""
    """The key that ticks the choice under the cursor; the last choice is Enter, and a digit only moves the cursor."""
    letters: tuple[str, ...] = ()
    """What is typed for each choice in place of its digit, and then entered."""
    typed: str = ""
    """What is in front of that letter in its row."""


def offered_choices(
    rules: QuestionRules, labels: Sequence[str], abouts: Sequence[str] = ()
) -> tuple[QuestionChoice, ...]:
    """The choices with their meanings and our digits; none where there are more than digits."""
    typed = compile_linear(rules.typed) if rules.typed else None
    abouts = [*abouts, *("" for _ in labels[len(abouts) :])]
    meanings: list[Meaning] = [meaning_of(words, rules.means) for words in _said(labels, abouts)]
    digits = digits_of(meanings)
    return tuple(
        QuestionChoice(digit, label, means, types=typed is not None and typed.search(label) is not None, about=about)
        for digit, label, means, about in zip(digits, labels, meanings, abouts, strict=bool(digits))
    )


def _said(labels: Sequence[str], abouts: Sequence[str]) -> list[str]:
    return [f"{label} {about}".rstrip() for label, about in zip_longest(labels, abouts, fillvalue="")]


def question_above(
    rules: QuestionRules,
    whole: Sequence[str],
    text: Sequence[str],
    row: int,
    labels: Sequence[str],
    selected: int,
    offered: Sequence[ShownRow],
    *,
    buttons: bool = False,
    digits: Sequence[str] = (),
    tick: str = "",
    abouts: Sequence[str] = (),
) -> ReadQuestion | None:
    """The question above its choices, which begin at this row.

    Args:
        offered: the rows with the choices.
        digits: the program's own.
        abouts: what is said below the first labels.
    """
    start, complete = question_start(rules, whole, row)
    cuts = partial(is_cut, rules)
    complete = complete and not any(map(cuts, text[start:]))
    body = bare_lines(rules, text[start:row])
    end = next((n for n in range(len(body), 0, -1) if body[n - 1].strip() and not cuts(body[n - 1])), 0)
    body, more = body[:end], list(filter(cuts, body[end:]))  # what goes on does so there
    if not any(line.strip(RULES) for line in body):
        return None
    subject, about, beside = parts_of(body, headed=rules.headed, heading=rules.heading)
    about, where = without_where(rules, trimmed(indented(said_once(rules, about))))
    complete = complete and not _is_torn(rules, plain("\n".join(about)))
    beside = [*beside, *where, *more]
    if (planned := plan_above(rules, whole, start)) is not None:
        first, complete = planned
        start, about = first, [*indented(whole[first:start]), *about]
    complete = complete and not (rules.fits and len(about) > min(rules.fits, (len(whole) + 1) // _PART))
    if rules.heading:  # below which its box may have no room
        complete = complete and any(map(str.strip, about))
    complete = complete and not (rules.highest and _box_rows(rules, whole, row) >= int(rules.highest * _height(whole)))
    asked = with_change(rules, subject, about, beside, whole, start)
    detail = plain("\n".join(asked.about)).strip("\n")
    choices, said = offered_choices(rules, labels, abouts), _said(labels, abouts)
    complete = complete and all(len(words) <= LONGEST_CHOICE for words in said)
    question = OpenQuestion(
        question_id(subject, detail, [*where, *more, *said]),
        subject,
        detail,
        choices,
        partial=not (complete and asked.whole),
        changeless=not asked.some,
        beside=plain("\n".join(indented(prose(beside, max(map(width, text[start:row])))))).strip("\n"),
    )
    shown = [ShownRow(line, beside=rules.panel) for line in whole[asked.start : row] if line.strip()]
    return ReadQuestion(question, selected, buttons, tuple(digits), (*shown, *offered), tick)


def _height(screen: Sequence[str]) -> int:
    """The rows of a screen, up to its last line."""
    return max((row for row, line in enumerate(screen, 1) if line.strip()), default=0)


def _box_rows(rules: QuestionRules, screen: Sequence[str], row: int) -> int:
    """The rows of the box around the choices that begin at this row; as many as a screen has, where it has no ends."""
    above = compile_linear(rules.above)
    top = next((n for n in range(row - 1, -1, -1) if above.search(screen[n])), 0)
    end = next((n for n in range(row, len(screen)) if screen[n].lstrip()[:1] in _CORNERS), len(screen))
    return end + 1 - top


def _is_torn(rules: QuestionRules, detail: str) -> bool:
    """Whether a command's box lacks words that its heading has, which may say more behind it."""
    if not rules.named or (found := compile_linear(rules.named).search(detail)) is None:
        return False
    heading, _, box = ("".join(part.split()) for part in detail[found.span()[1] :].replace("←", "").partition("\n\n"))
    return not heading.startswith(box) or heading[len(box) :][:1] not in ("", "(", "[")


def question_id(subject: str, detail: str, words: Sequence[str]) -> str:
    """The same for the same words, however they are broken into lines. In what it is about every blank and every end of
    a line counts, so that a command that is wrapped elsewhere is another question.
    """
    parts = (detail, *(" ".join(part.split()) for part in (subject, " ".join(words))))
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()[:16]

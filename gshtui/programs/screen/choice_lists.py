"""Choices of a question that stand one below the other, with or without numbers. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gshtui.bus.agent_data import LONGEST_CHOICE
from gshtui.programs.profiles.profile import QuestionRules
from gshtui.programs.screen.asked_question import MOST, ReadQuestion, question_above
from gshtui.programs.screen.choice_meaning import meaning_of
from gshtui.programs.screen.line_styles import backgrounds
from gshtui.programs.screen.question_words import is_cut
from gshtui.text.cells import width
from gshtui.text.linear_regex import RegexMatch, compile_linear
from gshtui.text.sanitise import one_line
from gshtui.tmux.quoting import ShownRow

_DIGITS = 4
"""A number has fewer."""
_LABEL = 2 * LONGEST_CHOICE
"""Characters of a label that are kept."""
_INSET = 16
"""Cells by which a list may be narrower than the screen."""
_STATE = re.compile(r"\[.\]")
"""The sign of what is chosen already, where several choices are."""
_CONFIRM = "Confirm"
_FOOT = 4
"""Rows with text at the end of a screen, where it is said that not all choices have room."""
_OWN_ROW = re.compile(r"^ *(?:\d+[.)]|[↑↓…])")
"""What goes on with no label, whatever room there was in the row above."""
_MARKS = "❯›▸▶→>●◉"
_MARKED = re.compile(rf"^( *)([{_MARKS}]) (?! )(\S.*)$")
_MARKED_NUMBER = re.compile(rf"^ *[{_MARKS}] *(?:\[.\] )?\d+[.)] ")
_TWO_DIGITS = re.compile(rf"^[ {_MARKS}]*(?:\[.\] )?[1-9]\d[.)] ")
_OTHERS = "○◯"
"""Signs of choices that are not under the cursor, where each has one."""


def numbered_choices(
    rules: QuestionRules, whole: Sequence[str], text: Sequence[str], lines: Sequence[str]
) -> ReadQuestion | None:
    """Choices numbered from 1, one below the other, with one of them marked, above the footer.

    Args:
        whole: the screen's lines.
        text: the same without their frame.
        lines: the same with their styles.
    """
    if not rules.choice:
        return None
    rows = [row for row, line in enumerate(text) if compile_linear(rules.choice).search(line)]
    starts = [place for place, row in enumerate(rows) if _number(rules, text[row]) == 1]
    if not starts:
        return None
    rows = rows[starts[-1] :]  # the lowest: what is above may be left over from something that has ended
    if [_number(rules, text[row]) for row in rows] != list(range(1, len(rows) + 1)) or not 2 <= len(rows) <= MOST:
        return None
    if len({_place_of_number(rules, text[row]) for row in rows}) > 1:
        return None
    also = compile_linear(rules.also) if rules.also else None
    rows = sorted({*rows, *(row for row in range(rows[0], len(text)) if also and also.search(text[row]))})
    marked = [place for place, row in enumerate(rows) if _is_marked(rules, text[row], lines[row])]
    if len(marked) != 1 or len(rows) > MOST:
        return None
    labels, abouts, digits, shown = list[str](), list[str](), list[str](), list[ShownRow]()
    room = max(width(line.rstrip()) for line in text) - _INSET
    for place, row in enumerate(rows):
        below = rows[place + 1] if place + 1 < len(rows) else len(text)
        end = _end(rules, whole, text, row, below, last=place + 1 == len(rows))
        if end is None:
            return None
        number = _number(rules, text[row])
        named = also.search(text[row]) if also is not None and not number else None
        head = (named.group(1) or "").strip() if named is not None else _head(rules, text[row])
        if not head or head not in whole[row]:
            return None
        shown += [ShownRow(whole[row][whole[row].find(head) :], marked=True), *map(ShownRow, whole[row + 1 : end])]
        if named is not None:
            label = said = one_line(head, _LABEL)
        else:
            words = [line.strip() for line in text[row:end]]
            said = _label(rules, " ".join(words), text[row])
            label = _label(rules, " ".join(words[: _label_rows(text, row, end, room)]), text[row])
            label = _first_column(rules, label, text[row])
        labels.append(label)
        abouts.append(said.removeprefix(label).strip())
        digits.append(str(number) if number else "")
    if not all(labels):
        return None
    tick = rules.tick if any(_STATE.match(label) for label in labels) else ""
    more = (_CONFIRM,) if tick else ()
    labels, digits = [*labels, *more], [*digits, *("" for _ in more)]
    return question_above(
        rules, whole, text, rows[0], labels, marked[0], shown, digits=digits, tick=tick, abouts=abouts
    )


def _label_rows(text: Sequence[str], row: int, end: int, room: int) -> int:
    """The rows of a choice's label: the next word below it would have had room behind them."""
    for n in range(row + 1, end):
        word = text[n].split(maxsplit=1)[0]
        if width(text[n - 1].rstrip()) + 1 + width(word) <= room:
            return n - row
    return end - row


def _first_column(rules: QuestionRules, label: str, line: str) -> str:
    """A label without what is said of it behind it, in a column of its own."""
    match = compile_linear(rules.choice).search(line)
    head, gap, _ = ((match.group(2) or "") if match is not None else "").partition("  ")
    return head if gap and head and label.startswith(head) else label


def has_further(rules: QuestionRules, text: Sequence[str]) -> bool:
    """Whether a list of numbered choices at the end of a screen has more of them than digits, or than it shows."""
    shown = [line for line in text if line.strip()]
    if rules.further and any(compile_linear(rules.further).search(line) for line in shown[-_FOOT:]):
        return True
    last = next((n for n in range(len(text) - 1, -1, -1) if _TWO_DIGITS.match(text[n])), -1)
    begin = next((n + 1 for n in range(last, -1, -1) if not text[n].strip()), 0)
    return any(_MARKED_NUMBER.match(line) for line in text[begin : last + 1])


def marked_list(text: Sequence[str]) -> tuple[list[int], int] | None:
    """The rows of the lowest list in which one row has a mark in front of its words, and the place of that one.

    The others have blanks there, or the sign of a choice that is not chosen; nothing is between them.
    """
    for row in range(len(text) - 1, -1, -1):
        match = _MARKED.match(text[row])
        if match is None or not (match.group(3)[0].isalnum() or match.group(3)[0] in "[(\"'`/~."):
            continue
        column = match.start(3)
        rows = [row]
        for step in (-1, 1):
            at = row + step
            while 0 <= at < len(text) and _is_beside(text[at], column, match.start(2)):
                rows.append(at)
                at += step
        if len(rows) > 1:
            rows.sort()
            return rows, rows.index(row)
    return None


def _is_beside(line: str, column: int, mark: int) -> bool:
    """Whether a line is another choice of a list whose words begin in this column, its marks in that one."""
    if line[column : column + 1] in ("", " ") or len(line) <= column:
        return False
    lead = line[:column]
    return not lead.strip() or (lead[mark] in _OTHERS and not (lead[:mark] + lead[mark + 1 :]).strip())


def unnumbered_choices(rules: QuestionRules, whole: Sequence[str], text: Sequence[str]) -> ReadQuestion | None:
    """Choices without numbers, one below the other, one of them marked, with an empty line or a rule on both sides, or
    the question above, and with an answer among them whose meaning is known: anything may look like a list.
    """
    if not (rules.choice or rules.means) or (found := marked_list(text)) is None:
        return None
    rows, selected = found
    column = _MARKED.match(text[rows[selected]])
    assert column is not None
    labels = [one_line(text[row][column.start(3) :].strip(), _LABEL) for row in rows]
    rest = [n for n in range(rows[-1] + 1, len(text)) if text[n].strip(" ─")]
    below = whole[rest[0]] if rest else ""
    if len(rows) > MOST or any(label[:2].strip(".").isdecimal() for label in labels):
        return None
    if rules.footer and not compile_linear(rules.footer).search(below):
        return None
    above = text[rows[0] - 1].strip(" ─") if rows[0] else "nothing"
    if (above and not above.endswith("?")) or not any(meaning_of(label, rules.means) for label in labels):
        return None
    shown = [
        ShownRow(whole[row][whole[row].find(label[:1], 1) :].strip(), marked=True)
        for row, label in zip(rows, labels, strict=True)
    ]
    return question_above(rules, whole, text, rows[0], labels, selected, shown, digits=[""] * len(rows))


def _is_marked(rules: QuestionRules, line: str, styled: str) -> bool:
    """Whether the choice in this line is under the cursor: by its mark, or by a background other than its frame's."""
    if rules.mark:
        return compile_linear(rules.mark).search(line) is not None
    shown, colours = backgrounds(styled)
    start, at = len(shown) - len(shown.lstrip()), shown.find(f"{_number(rules, line)}. ")
    return start < at and colours[at] != colours[start]


def _number(rules: QuestionRules, line: str) -> int:
    match = compile_linear(rules.choice).search(line)
    number = (match.group(1) or "") if match is not None else ""
    return int(number) if number.isdecimal() and len(number) < _DIGITS else 0


def _place_of_number(rules: QuestionRules, line: str) -> int:
    match = compile_linear(rules.choice).search(line)
    return match.span(1)[0] if match is not None else 0


def _head(rules: QuestionRules, line: str) -> str:
    """The number of a choice with the beginning of its label, however a program writes that: `1. Y`, `2) N`."""
    match = compile_linear(rules.choice).search(line)
    return line[match.span(1)[0] : match.span(2)[0] + 1] if match is not None else ""


def _column(rules: QuestionRules, line: str) -> int:
    match = compile_linear(rules.choice).search(line)
    return match.span(2)[0] if match is not None else 0


def _end(
    rules: QuestionRules, whole: Sequence[str], text: Sequence[str], row: int, below: int, *, last: bool
) -> int | None:
    """The row behind a choice's own lines; `None` if there is anything else before the next choice or the footer."""
    if rules.flush and not last and _may_go_on(rules, whole, text, below):
        return None  # its number may be of the label above
    column = (_place_of_number if rules.flush else _column)(rules, text[row]) or len(text[row])
    end = row + 1
    while end < below and text[end] and _indent(text[end]) >= column:
        if rules.flush and (_OWN_ROW.match(text[end]) or not _may_go_on(rules, whole, text, end)):
            break
        end += 1
    rest = [n for n in range(end, below) if text[n].strip(" ─") and not (last and is_cut(rules, text[n]))]
    if not last or not rules.footer:
        return None if rest else end
    return end if compile_linear(rules.footer).search(whole[rest[0]] if rest else "") else None


def _may_go_on(rules: QuestionRules, whole: Sequence[str], text: Sequence[str], row: int) -> bool:
    """Whether the first word of a row had no room in the one above it, in their frame."""
    edge = whole[row - 1].rstrip()
    if not rules.frame or edge[-1:] not in tuple(rules.frame):
        return False
    room = width(edge) - 3  # both sides of the frame, and a blank
    return width(text[row - 1]) + 1 + width(text[row].split(maxsplit=1)[0]) > room


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _label(rules: QuestionRules, joined: str, first: str) -> str:
    """The label of a choice whose lines are joined. `first`: its first line."""
    match: RegexMatch | None = compile_linear(rules.choice).search(first)
    head = (match.group(2) or "").strip() if match is not None else ""
    words = joined[joined.find(head) :] if head and head in joined else head
    if rules.hint and (hint := compile_linear(rules.hint).search(words)) is not None:
        words = words[: hint.span(0)[0]]
    if (state := _STATE.search(first[: _place_of_number(rules, first)])) is not None:
        words = f"{state.group()} {words}"
    return one_line(" ".join(words.split()), _LABEL)

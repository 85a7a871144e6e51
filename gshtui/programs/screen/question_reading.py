"""What a program asks on its screen: the question, what it is about, and its own choices. Pure.

Nothing is guessed: a screen that does not look in every point as its profile says has no choices, and can be answered
only in its terminal.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from itertools import accumulate, zip_longest

import msgspec
from msgspec.structs import replace

from gshtui.bus.agent_data import LONGEST_CHOICE, Meaning, OpenQuestion, QuestionChoice
from gshtui.programs.profiles.profile import Profile, QuestionRules
from gshtui.programs.screen.asked_changes import with_change
from gshtui.programs.screen.asked_plans import plan_above
from gshtui.programs.screen.choice_meaning import digits_of, meaning_of
from gshtui.text.cells import width
from gshtui.text.linear_regex import RegexMatch, compile_linear
from gshtui.text.sanitise import one_line, plain
from gshtui.tmux.quoting import ShownRow

_MOST = 9
"""Choices: one digit is one key."""
_DIGITS = 4
"""A number has fewer."""
_BEHIND, _LABEL = 300, 2 * LONGEST_CHOICE
"""Characters of a subject and of a label that are kept."""
_LINES = 80
_ABOVE = 40
"""Most lines above a question that belong to it where nothing says where it begins."""
_SGR = re.compile(r"\x1b\[([0-9;:]*)([@-~])")


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


def read_question(
    profile: Profile,
    text: Sequence[str],
    lines: Sequence[str],
    asked: str,
    doing: str,
    *,
    dialog: bool,
    cursor: tuple[int, int] | None = None,
    width: int = 0,
    beside: bool = False,
) -> ReadQuestion:
    """Read the question of a screen that is known to wait for an answer.

    Args:
        text: the screen's plain lines.
        lines: the same lines with their styles.
        asked: the plain lines that contain the question, where it cannot be read exactly.
        doing: what the profile says of it.
        dialog: it looks like one of the program's own dialogs, which ask nobody; one with answers of which a meaning is
            known asks somebody.
        cursor: column and row.
        width: of the screen, in columns; 0: unknown.
        beside: on the screen, something else may stand behind each line.
    """
    rules = profile.question
    if rules.panel:
        text = _on_panel(rules, text, lines)
    inner = [_unframed(rules, line) for line in text]
    found = _numbered(rules, text, inner, lines) or _unnumbered(rules, text, inner)
    if found is None and not dialog:
        found = _by_buttons(rules, text, inner, lines) or _by_keys(rules, text, inner)
        found = found or _by_letters(rules, text, cursor, width)
    if found is not None and not (dialog and not any(one.means for one in found.question.choices)):
        return replace(found, rows=tuple(replace(row, beside=True) for row in found.rows)) if beside else found
    subject = one_line(doing, _BEHIND) or ("a dialog is open" if dialog else "it waits for an answer")
    begins = _begin(rules, text)
    below = [line for line in inner[begins:] if has_words(line)] if begins else []
    shown = below[-_SHOWN:] or [line for line in asked.split("\n") if has_words(line)]
    detail = "" if dialog else plain("\n".join(shown))
    return ReadQuestion(OpenQuestion(_id(subject, detail, ()), subject, detail))


def _begin(rules: QuestionRules, text: Sequence[str]) -> int:
    """The row below the lowest line that questions stand below; 0: there is none."""
    for pattern in filter(None, (rules.outer, rules.above)):
        edge = compile_linear(pattern)
        if row := next((row + 1 for row in range(len(text) - 1, -1, -1) if edge.search(text[row])), 0):
            return row
    return 0


_SHOWN = 16
"""Most lines that are shown of what cannot be read exactly."""
_FRAMES = " │┃║╭╮╰╯"
_TITLE = 80
"""Characters of a dialog's title that are kept."""
_FIRST = re.compile(r"\W*1[.)] \S")
_COLUMNS = "   "
"""Between those of a heading, which is no title."""
_ART = re.compile(r"\W*[\u2580-\u259f\u2800-\u28ff]")
"""How a line of a picture begins, which may have words behind it."""
_TITLED = r"[╭┌]─+ (\S.*?) ─{3,}"
"""A box with its title in its top."""


def title_of(rules: QuestionRules, text: Sequence[str]) -> str:
    """The title of what is open on a screen, or its first words; empty where nothing shows where it begins. `text`: the
    screen's plain lines.
    """
    start = _begin(rules, text)
    titled = compile_linear(_TITLED)
    box = next((found for line in reversed(text[start:]) if (found := titled.search(line)) is not None), None)
    if box is not None:
        return one_line(box.group(1) or "", _TITLE)
    inner = [bare if has_words(bare := line.strip(_FRAMES)) else "" for line in text]
    numbers = [row for row, line in enumerate(text) if _FIRST.match(line)]
    listed = marked_list([line.replace("│", " ").replace("┃", " ") for line in text])
    first = numbers[-1] if numbers else listed[0][0] if listed is not None else 0
    if not start:  # the lines together that stand above the first of the choices
        end = next((row for row in range(first - 1, -1, -1) if inner[row] and _COLUMNS not in inner[row]), -1)
        start = next((row + 1 for row in range(end, -1, -1) if not inner[row]), 0)
        inner = inner[: end + 1]
    elif first >= start:
        inner = inner[:first]
    lines = (line.lstrip(">❯›●#* ") for line in inner[start:])
    return one_line(next(filter(None, lines), "").split("  ")[0], _TITLE)


def has_words(line: str) -> bool:
    """Whether a line has anything to read: rules, boxes and pictures made of signs do not."""
    return any(sign.isalnum() for sign in line) and not _ART.match(line)


def _unframed(rules: QuestionRules, line: str) -> str:
    stripped = line.rstrip()
    if rules.frame and stripped.lstrip()[:1] in tuple(rules.frame) and stripped.lstrip():
        stripped = stripped.lstrip()[1:]
        if stripped[-1:] in tuple(rules.frame):
            stripped = stripped[:-1]
    return stripped.rstrip()


def _on_panel(rules: QuestionRules, text: Sequence[str], lines: Sequence[str]) -> list[str]:
    """The lines up to the right edge of the background of what is framed together, in which some have colours of their
    own, without a bar for scrolling. A row of buttons stays whole.
    """
    found, edges = list(text), dict[int, int]()
    for row, (line, styled) in enumerate(zip(text, lines, strict=False)):
        shown, backgrounds = _backgrounds(styled)
        start = len(shown) - len(shown.lstrip())
        if shown[start : start + 1] not in tuple(rules.frame) or not shown.strip():
            continue
        if not _buttons(rules, line.strip()[1:])[0]:
            own = backgrounds[start + 1] if start + 1 < len(backgrounds) else ""
            end = next((n for n in range(start + 1, len(backgrounds)) if backgrounds[n] != own), len(shown))
            edges[row] = width(shown[:end])
    for row in edges:
        together = [row]
        for step in (-1, 1):
            while together[-1] + step in edges:
                together.append(together[-1] + step)
            together = together[::-1]
        edge = max(edges[each] for each in together)
        cells = accumulate(width(sign) for sign in found[row])
        found[row] = found[row][: sum(1 for cell in cells if cell <= edge)].rstrip()
    return found


# -- one choice a line ---------------------------------------------------------------------------------------------


def _numbered(
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
    if [_number(rules, text[row]) for row in rows] != list(range(1, len(rows) + 1)) or not 2 <= len(rows) <= _MOST:
        return None
    if len({_place_of_number(rules, text[row]) for row in rows}) > 1:
        return None
    also = compile_linear(rules.also) if rules.also else None
    rows = sorted({*rows, *(row for row in range(rows[0], len(text)) if also and also.search(text[row]))})
    marked = [place for place, row in enumerate(rows) if _is_marked(rules, text[row], lines[row])]
    if len(marked) != 1 or len(rows) > _MOST:
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
    return _found(rules, whole, text, rows[0], labels, marked[0], shown, digits=digits, tick=tick, abouts=abouts)


def _label_rows(text: Sequence[str], row: int, end: int, room: int) -> int:
    """The rows of a choice's label: the next word below it would have had room behind them."""
    for n in range(row + 1, end):
        word = text[n].split(maxsplit=1)[0]
        if width(text[n - 1].rstrip()) + 1 + width(word) <= room:
            return n - row
    return end - row


_INSET = 16
"""Cells by which a list may be narrower than the screen."""


def _first_column(rules: QuestionRules, label: str, line: str) -> str:
    """A label without what is said of it behind it, in a column of its own."""
    match = compile_linear(rules.choice).search(line)
    head, gap, _ = ((match.group(2) or "") if match is not None else "").partition("  ")
    return head if gap and head and label.startswith(head) else label


_CONFIRM = "Confirm"
_MARKS = "❯›▸▶→>●◉"
_MARKED = re.compile(rf"^( *)([{_MARKS}]) (?! )(\S.*)$")
_OTHERS = "○◯"
"""Signs of choices that are not under the cursor, where each has one."""


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


def _unnumbered(rules: QuestionRules, whole: Sequence[str], text: Sequence[str]) -> ReadQuestion | None:
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
    if len(rows) > _MOST or any(label[:2].strip(".").isdecimal() for label in labels):
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
    return _found(rules, whole, text, rows[0], labels, selected, shown, digits=[""] * len(rows))


def _is_marked(rules: QuestionRules, line: str, styled: str) -> bool:
    """Whether the choice in this line is under the cursor: by its mark, or by a background other than its frame's."""
    if rules.mark:
        return compile_linear(rules.mark).search(line) is not None
    shown, backgrounds = _backgrounds(styled)
    start, at = len(shown) - len(shown.lstrip()), shown.find(f"{_number(rules, line)}. ")
    return start < at and backgrounds[at] != backgrounds[start]


def _number(rules: QuestionRules, line: str) -> int:
    match = compile_linear(rules.choice).search(line)
    number = (match.group(1) or "") if match is not None else ""
    return int(number) if number.isdecimal() and len(number) < _DIGITS else 0


_STATE = re.compile(r"\[.\]")
"""The sign of what is chosen already, where several choices are."""


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
    column = _column(rules, text[row]) or len(text[row])
    end = row + 1
    while end < below and text[end] and len(text[end]) - len(text[end].lstrip()) >= column:
        end += 1
    cut = compile_linear(rules.cut) if rules.cut else None
    rest = [n for n in range(end, below) if text[n].strip(" ─") and not (last and cut and cut.search(text[n]))]
    if not last or not rules.footer:
        return None if rest else end
    return end if compile_linear(rules.footer).search(whole[rest[0]] if rest else "") else None


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


# -- choices side by side ------------------------------------------------------------------------------------------


def _by_buttons(
    rules: QuestionRules, whole: Sequence[str], text: Sequence[str], lines: Sequence[str]
) -> ReadQuestion | None:
    """The lowest line that consists of known buttons, one of them with a background of its own."""
    if not rules.buttons:
        return None
    for row in range(len(text) - 1, -1, -1):
        labels, behind = _buttons(rules, text[row])
        if len(labels) < 2:
            continue
        if behind and not (rules.footer and compile_linear(rules.footer).search(behind)):
            return None
        selected = _highlighted(lines[row], labels)
        if selected < 0:
            return None
        buttons = ShownRow(text[row].strip()[: len(text[row].strip()) - len(behind)].rstrip(), marked=True, beside=True)
        return _found(rules, whole, text, row, labels, selected, [buttons], buttons=True)
    return None


def _buttons(rules: QuestionRules, line: str) -> tuple[list[str], str]:
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
    shown, backgrounds = _backgrounds(line)
    places: list[int] = []
    at = 0
    for label in labels:
        at = shown.find(label, at)
        if at < 0:
            return -1
        places.append(at)
        at += len(label)
    around = backgrounds[at + 2] if at + 2 < len(backgrounds) else ""  # behind the last one and its padding
    colours = [backgrounds[place] for place in places]
    own = [number for number, colour in enumerate(colours) if colour != around]
    if len(own) == len(labels) > 2 and len(set(colours)) == 2:
        own = [number for number in own if colours.count(colours[number]) == 1]
    return own[0] if len(own) == 1 else -1


def _backgrounds(line: str) -> tuple[str, list[str]]:
    """A styled line's text, and the background of each of its characters."""
    text, colours, now, at = "", list[str](), "", 0
    for match in _SGR.finditer(line):
        piece = line[at : match.start()]
        text, colours, at = text + piece, colours + [now] * len(piece), match.end()
        if match.group(2) == "m":
            now = _background(match.group(1) or "0", now)
    piece = line[at:]
    return text + piece, colours + [now] * len(piece)


def _background(parameters: str, now: str) -> str:
    parts = parameters.replace(":", ";").split(";")
    at = 0
    while at < len(parts):
        part = parts[at] or "0"
        if part in ("38", "48", "58"):
            size = 3 if parts[at + 1 : at + 2] == ["5"] else 5
            now = ";".join(parts[at : at + size]) if part == "48" else now
            at += size
            continue
        if part in ("0", "49"):
            now = ""
        elif part == "7" or (part.isdecimal() and (40 <= int(part) <= 47 or 100 <= int(part) <= 107)):
            now = part
        elif part == "27" and now == "7":
            now = ""
        at += 1
    return now


_NAMED = {"enter": "Enter", "esc": "Escape"}


def _by_keys(rules: QuestionRules, whole: Sequence[str], text: Sequence[str]) -> ReadQuestion | None:
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
        found = _found(rules, whole, text, row, labels, -1, [shown], digits=keys)
        above = next((text[n] for n in range(row - 1, -1, -1) if text[n].strip()), "")
        if found is None or not rules.end or compile_linear(rules.end).search(above):
            return found
        return replace(found, question=msgspec.structs.replace(found.question, partial=True))
    return None


# -- choices by their letters --------------------------------------------------------------------------------------

_LETTER = re.compile(r"\(([A-Z])\)(.*)|([A-Za-z])")
_LETTERS_ALONE = {"y": "Yes", "n": "No"}
_QUESTION_ROWS = 6
"""Most rows of such a question."""


def _letter_and_label(found: re.Match[str]) -> tuple[str, str]:
    if alone := found.group(3):
        return alone.lower(), _LETTERS_ALONE.get(alone.lower(), alone)
    return found.group(1).lower(), found.group(1) + found.group(2)


def _by_letters(
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
    if len(known) != len(found) or not 2 <= len(known) <= _MOST or len(set(letters)) != len(letters):
        return None
    start, complete = _start(rules, text, first)
    start, complete = max(start, first - _ABOVE), complete and start >= first - _ABOVE
    about = list(text[start:first])
    while about and not about[0].strip():
        about.pop(0)
    while about and not about[-1].strip():
        about.pop()
    subject, more = _asked([" ".join((match.group(1) or "").split())])
    detail = plain("\n".join([*about, *more]))
    labels = [label for _, label in known]
    choices = _choices(rules, labels)
    asked = with_change(rules, subject, about, (), text, start)
    partial = not (complete and asked.whole)
    question = OpenQuestion(_id(subject, detail, labels), subject, detail, choices, partial, changeless=not asked.some)
    rows = [ShownRow(line) for line in text[start:last] if line.strip()]
    return ReadQuestion(question, rows=(*rows, ShownRow(row)), letters=letters, typed=typed)


# -- what it asks --------------------------------------------------------------------------------------------------


def _choices(rules: QuestionRules, labels: Sequence[str], abouts: Sequence[str] = ()) -> tuple[QuestionChoice, ...]:
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


def _found(
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
    start, complete = _start(rules, whole, row)
    cut = compile_linear(rules.cut) if rules.cut else None
    complete = complete and not any(cut.search(line) for line in text[start:] if cut is not None)
    body = [line for line in (_bare(line) for line in text[start:row]) if line is not None]
    if not any(line.strip(_RULES) for line in body):
        return None
    subject, about, beside = _parts(body)
    complete = complete and not _is_torn(rules, plain("\n".join(_indented(about))).strip("\n"))
    about = _trimmed(_indented(_said_once(rules, about)))
    if (planned := plan_above(rules, whole, start)) is not None:
        first, complete = planned
        start, about = first, [*_indented(whole[first:start]), *about]
    asked = with_change(rules, subject, about, beside, whole, start)
    detail = plain("\n".join(asked.about)).strip("\n")
    choices, said = _choices(rules, labels, abouts), _said(labels, abouts)
    complete = complete and all(len(words) <= LONGEST_CHOICE for words in said)
    question = OpenQuestion(
        _id(subject, detail, said),
        subject,
        detail,
        choices,
        partial=not (complete and asked.whole),
        changeless=not asked.some,
        beside=plain("\n".join(_indented(beside))).strip("\n"),
    )
    shown = [ShownRow(line, beside=rules.panel) for line in whole[asked.start : row] if line.strip()]
    return ReadQuestion(question, selected, buttons, tuple(digits), (*shown, *offered), tick)


def _is_torn(rules: QuestionRules, detail: str) -> bool:
    """Whether a command's box lacks words that its heading has, which may say more behind it."""
    if not rules.named or (found := compile_linear(rules.named).search(detail)) is None:
        return False
    heading, _, box = ("".join(part.split()) for part in detail[found.span()[1] :].replace("←", "").partition("\n\n"))
    return not heading.startswith(box) or heading[len(box) :][:1] not in ("", "(", "[")


_RULES = " ─╌┄┈▔━"
_RULE = 10
"""Signs of a line that parts one piece of a question from the next."""
_ADVICE = re.compile(r"^\s*(?:Tip|Hint): |^\s*(?:←|▸|☐|☒)")
"""Advice, and the names of several questions of which this is one."""
_POINT = ("●", "•", "→", "-", "*")


def _is_rule(line: str) -> bool:
    shown = line.strip()
    return len(shown) >= _RULE and not shown.strip(_RULES)


def _parts(body: Sequence[str]) -> tuple[str, list[str], list[str]]:
    """What is asked in one line, what it is about, and what is said besides.

    Where lines part its pieces, it is about the piece above the one that asks.
    """
    pieces: list[list[str]] = [[]]
    edge = min((_indent(line) for line in body if has_words(line)), default=0)
    for line in body:
        if _is_rule(line) and _indent(line) < edge:  # not one in a command
            pieces.append([])
        else:
            pieces[-1].append(line)
    pieces = [_trimmed(piece) for piece in pieces if any(line.strip() for line in piece)]
    asks = pieces[-1]
    asking = [place for place, line in enumerate(asks) if line.endswith("?")]
    if len(pieces) > 1 and asking:
        end = asking[-1] + 1
        begin = max((n + 1 for n in range(end - 1) if not asks[n].strip()), default=0)
        subject, more = _asked(asks[begin:end])
        about = [*pieces[-2], *asks[:begin], *more, *asks[end:]]  # a line may be the command's own
        return subject, about, [line for piece in pieces[:-2] for line in piece]
    lines = [line for piece in pieces for line in [*piece, ""]][:-1]
    whole = _trimmed([line for line in lines if not _ADVICE.match(line)]) or lines
    asking = [n for n, line in enumerate(whole) if line.endswith("?") and not line.strip().startswith(_POINT)]
    asked = 0 if not asking or asking[0] == 0 else asking[-1]
    begun = asked
    while begun > 0 and whole[begun - 1].strip() and whole[begun].strip()[:1].islower():
        begun -= 1  # the words before it had no room in this row
    subject, more = _asked(whole[begun : asked + 1])
    return subject, whole[:begun] + more + whole[asked + 1 :], [line for line in lines if _ADVICE.match(line)]


def _asked(lines: Sequence[str]) -> tuple[str, list[str]]:
    """What is asked in one line, and the lines themselves where that has no room for them."""
    words = " ".join(line.strip() for line in lines).removeprefix("# ")
    return one_line(words, _BEHIND), list(lines) if len(words) > _BEHIND else []


def _trimmed(lines: Sequence[str]) -> list[str]:
    """The lines without the empty ones at both ends."""
    found = list(lines)
    while found and not found[0].strip():
        found.pop(0)
    while found and not found[-1].strip():
        found.pop()
    return found


def _said_once(rules: QuestionRules, lines: Sequence[str]) -> Sequence[str]:
    """The lines without a heading that names the command, where that is all which stands below it."""
    shown = [line.strip() for line in lines if line.strip()]
    if not rules.twice or len(shown) != 2 or (found := compile_linear(rules.twice).search(shown[0])) is None:
        return lines
    return shown[1:] if found.span()[0] == 0 and shown[0][found.span()[1] :].strip() == shown[1] else lines


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _indented(lines: Sequence[str]) -> list[str]:
    """The lines without the blanks that all of them begin with."""
    indent = min((_indent(line) for line in lines if line.strip()), default=0)
    return [line[indent:] for line in lines]


_WAITS = re.compile(r"^ *\? (?=\S)")
"""The sign in front of a call that waits, which the question says."""
_BAR = " █"
"""How a row ends beside which something scrolls."""


def _bare(line: str) -> str | None:
    """A line without the sides of a box inside the question; `None` for the top and the bottom of one."""
    shown = line.strip()
    if shown and not shown.strip("╭╮╰╯─┌┐└┘"):
        return None
    if len(shown) > 1 and shown[0] == shown[-1] == "│":
        line = "  " + shown[1:-1]
    line = line.rstrip()
    return _WAITS.sub("", line[: -len(_BAR)].rstrip() if line.endswith(_BAR) else line)


def _start(rules: QuestionRules, text: Sequence[str], row: int) -> tuple[int, bool]:
    """The first row of the question above this row, and whether that is its beginning."""
    oldest = max(0, row - _LINES)
    rows = range(row - 1, oldest - 1, -1)

    def nearest(pattern: str) -> int:
        return next((n for n in rows if pattern and compile_linear(pattern).search(text[n])), -1)

    if (outer := nearest(rules.outer)) >= 0:
        return outer + 1, True
    above = nearest(rules.above)
    if rules.above and (first := nearest(rules.first)) > above:
        return first, True
    if above >= 0 or rules.above or not rules.first:
        return (above + 1, True) if above >= 0 else (oldest, False)
    begins = [n for n in range(oldest, row) if compile_linear(rules.first).search(text[n])]
    last = next((n for n in rows if text[n][:1].strip()), oldest - 1)
    inside = [n for n in begins if n > last]
    return (inside[0], True) if inside else (last + 1, False)


_CUT = "…"


def is_cut_elsewhere(one: OpenQuestion, other: OpenQuestion) -> bool:
    """Whether they are one question whose choices its program has cut for another width: what they are about is the
    same character by character, and so are all choices, as far as each shows them. Where the meaning of one is not
    known, as of a model's own, they are the same only in whole.
    """
    about = one.subject, one.detail, one.diff
    if (
        about != (other.subject, other.detail, other.diff)
        or not (one.detail or one.diff)
        or one.partial
        or other.partial
    ):
        return False
    if [(each.key, each.means) for each in one.choices] != [(each.key, each.means) for each in other.choices]:
        return False
    said = [[f"{each.label} {each.about}".rstrip() for each in asked.choices] for asked in (one, other)]
    pairs = list(zip(*said, strict=True))
    if not all(each.means for each in one.choices):
        return all(mine == theirs for mine, theirs in pairs)
    return all(mine == theirs or _begins(mine, theirs) or _begins(theirs, mine) for mine, theirs in pairs)


def is_ticked_elsewhere(one: OpenQuestion, other: OpenQuestion) -> bool:
    """Whether they are one question, of whose boxes others are ticked: all else of it is the same."""
    return any(each.has_box for each in one.choices) and _unticked(one) == _unticked(other)


def _unticked(question: OpenQuestion) -> OpenQuestion:
    choices = [replace(each, label=f"[ ] {each.name}") if each.has_box else each for each in question.choices]
    return replace(question, id="", beside="", choices=tuple(choices))


def _begins(cut: str, label: str) -> bool:
    return cut.endswith(_CUT) and len(cut) > len(_CUT) and label.startswith(cut.removesuffix(_CUT))


def _id(subject: str, detail: str, labels: Sequence[str]) -> str:
    """The same for the same words, however they are broken into lines."""
    words = "\0".join(" ".join(part.split()) for part in (subject, detail, *labels))
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()[:16]

"""The rows of a question: where they begin, what asks, what it is about, and what is said besides. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from gshtui.programs.profiles.profile import QuestionRules
from gshtui.text.cells import width
from gshtui.text.linear_regex import compile_linear
from gshtui.text.sanitise import one_line

LONGEST_SUBJECT = 300
"""Characters of a subject that are kept."""
_LINES = 80
"""Most rows above its choices in which a question may begin."""
_ART = re.compile(r"\W*[\u2580-\u259f\u2800-\u28ff]")
"""How a line of a picture begins, which may have words behind it."""
RULES = " ─╌┄┈▔━"
_RULE = 10
"""Signs of a line that parts one piece of a question from the next."""
_ADVICE = re.compile(r"^\s*(?:Tip|Hint): |^\s*(?:←.*→$|▸|☐|☒)")
"""Advice, and the names of several questions of which this is one."""
_POINT = ("●", "•", "→", "-", "*")
_WAITS = re.compile(r"^ *\? (?=\S)")
"""The sign in front of a call that waits, which the question says."""
_BARS = tuple("▁▂▃▄▅▆▇█")
"""How a row ends beside which something scrolls."""
_TOP, _BOTTOM = re.compile(r" *╭─+╮"), re.compile(r" *╰─+╯")


def has_words(line: str) -> bool:
    """Whether a line has anything to read: rules, boxes and pictures made of signs do not."""
    return any(sign.isalnum() for sign in line) and not _ART.match(line)


def question_start(rules: QuestionRules, text: Sequence[str], row: int) -> tuple[int, bool]:
    """The first row of the question above this row, and whether that is its beginning."""
    oldest = max(0, row - _LINES)
    if rules.panel:  # all of it is the question's, whatever a command's own rows look like
        outside = (n for n in range(row - 1, oldest - 1, -1) if not text[n].strip().startswith(tuple(rules.frame)))
        top = next(outside, oldest - 1) + 1
        begun = next((n + 1 for n in range(top, row) if compile_linear(rules.above).search(text[n])), 0)
        return (begun, True) if begun else (top, False)
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
    last = next((n for n in rows if text[n][:1].strip()), oldest - 1)
    firsts = [n for n in range(last + 1, row) if compile_linear(rules.first).search(text[n])]
    apart = [n for n in firsts if not any(map(str.strip, text[max(0, n - rules.apart) : n]))]
    owned = [n for n in firsts if compile_linear(rules.own).search(text[n])]
    seen = last >= oldest  # otherwise the heading may have scrolled away, and this be a line of what it asks about
    sure = len(apart) == 1 and (owned == apart or (seen and firsts == apart))
    if sure and (seen or not (oldest or (rules.own and any(map(str.strip, text[: apart[0]]))))):
        return apart[0], True
    return ((owned or firsts)[0] if seen and firsts else last + 1), False


def parts_of(body: Sequence[str], *, headed: bool, heading: str = "") -> tuple[str, list[str], list[str]]:
    """What is asked in one line, what it is about, and what is said besides.

    Where lines part its pieces, it is about the piece above the one that asks; what that one says first is said
    besides, where the piece has a line above it, too. `headed`: it asks by its first line; `heading`: a pattern of all
    of that, where a narrow terminal wraps it.
    """
    pieces: list[list[str]] = [[]]
    edge = min((_indent(line) for line in body if has_words(line)), default=0)
    for line in body:
        if _is_rule(line) and _indent(line) < edge:  # not one in a command
            pieces.append([])
        else:
            pieces[-1].append(line)
    pieces = [trimmed(piece) for piece in pieces if any(line.strip() for line in piece)]
    asks = pieces[-1]
    asking = [place for place, line in enumerate(asks) if line.endswith("?")]
    if len(pieces) > 1 and asking:
        end = asking[-1] + 1
        begin = max((n + 1 for n in range(end - 1) if not asks[n].strip()), default=0)
        subject, more = in_one_line(asks[begin:end])
        below, said = asks[:begin], [line for piece in pieces[:-2] for line in piece]
        if said:  # otherwise what is below the only line may be the command
            below, said = [], [*said, *below]
        return subject, [*pieces[-2], *below, *more, *asks[end:]], said
    lines = [line for piece in pieces for line in [*piece, ""]][:-1]
    said = next((n for n, line in enumerate(lines) if line.strip() and not _ADVICE.match(line)), 0)
    beside, whole = lines[:said], lines[said:]
    asking = [n for n, line in enumerate(whole) if line.endswith("?") and not line.strip().startswith(_POINT)]
    asked = 0 if headed or not asking or asking[0] == 0 else asking[-1]
    begun = asked
    while begun > 0 and whole[begun - 1].strip() and whole[begun].strip()[:1].islower():
        begun -= 1  # the words before it had no room in this row
    end = asked + (_heading_rows(whole, heading) if heading else 1)
    subject, more = in_one_line(whole[begun:end])
    return subject, whole[:begun] + more + whole[end:], [line for line in beside if line.strip()]


_ROWS = 4
"""Most rows of a heading."""


def _heading_rows(lines: Sequence[str], heading: str) -> int:
    """The rows into which a question's heading is wrapped; 1, where it has another one."""
    pattern, found = compile_linear(heading), 1
    for rows in range(1, min(_ROWS, len(lines)) + 1):
        if pattern.search(" ".join(line.strip() for line in lines[:rows])):
            found = rows
    return found


def in_one_line(lines: Sequence[str]) -> tuple[str, list[str]]:
    """What is asked in one line, and the lines themselves where that has no room for them."""
    words = " ".join(line.strip() for line in lines).removeprefix("# ")
    return one_line(words, LONGEST_SUBJECT), list(lines) if len(words) > LONGEST_SUBJECT else []


def trimmed(lines: Sequence[str]) -> list[str]:
    """The lines without the empty ones at both ends."""
    found = list(lines)
    while found and not found[0].strip():
        found.pop(0)
    while found and not found[-1].strip():
        found.pop()
    return found


def said_once(rules: QuestionRules, lines: Sequence[str]) -> Sequence[str]:
    """The lines without a heading that names the command, where that is all which stands below it."""
    shown = [line.strip() for line in lines if line.strip()]
    if not rules.twice or len(shown) != 2 or (found := compile_linear(rules.twice).search(shown[0])) is None:
        return lines
    return shown[1:] if found.span()[0] == 0 and shown[0][found.span()[1] :].strip() == shown[1] else lines


def without_where(rules: QuestionRules, lines: list[str]) -> tuple[list[str], list[str]]:
    """The lines without the paragraphs in front, or below a command's heading, that say where and why, if something
    follows; and those.
    """
    headed = bool(rules.named and lines) and compile_linear(rules.named).search(lines[0]) is not None
    begin = at = _next_paragraph(lines, 0) if headed else 0
    while rules.where and at < len(lines) and compile_linear(rules.where).search(lines[at]):
        at = _next_paragraph(lines, at)
    return ([*lines[:begin], *lines[at:]], trimmed(lines[begin:at])) if at < len(lines) else (lines, [])


def _next_paragraph(lines: Sequence[str], at: int) -> int:
    end = next((n for n in range(at, len(lines)) if not lines[n].strip()), len(lines))
    return next((n for n in range(end, len(lines)) if lines[n].strip()), len(lines))


def prose(lines: Sequence[str], room: int) -> list[str]:
    """The lines with those joined that are surely one sentence of a program's: the next word had no room in its row, of
    so many cells, and is small. A row that is full may be a torn word, and one with a path is left as it is.
    """
    found = list(lines[:1])
    for before, line in pairwise(lines):
        word, last = (line.split() or [""])[0], (before.split() or [""])[-1]
        alike = _indent(before) == _indent(line) and word[:1].islower() and "/" not in word + last
        if last and alike and width(before) < room < width(before) + 1 + width(word):
            found[-1] = f"{found[-1]} {line.strip()}"
        else:
            found.append(line)
    return found


def _is_rule(line: str) -> bool:
    shown = line.strip()
    return len(shown) >= _RULE and not shown.strip(RULES)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def indented(lines: Sequence[str]) -> list[str]:
    """The lines without the blanks that all of them begin with."""
    indent = min((_indent(line) for line in lines if line.strip()), default=0)
    return [line[indent:] for line in lines]


def bare_lines(rules: QuestionRules, lines: Sequence[str]) -> list[str]:
    """The lines of a question without what its program draws around them. What looks so in a command stays in it."""
    found = [line.rstrip() for line in lines]
    first = next((n for n, line in enumerate(found) if line.strip()), 0)
    found[first : first + 1] = [_WAITS.sub("", line) for line in found[first : first + 1]]
    found = _unboxed(found) if rules.boxed else found
    return [line[:-1].rstrip() if line.endswith(_BARS) and is_cut(rules, line) else line for line in found]


def is_cut(rules: QuestionRules, line: str) -> bool:
    """Whether a line says that a part of the question is out of sight."""
    return bool(rules.cut) and compile_linear(rules.cut).search(line) is not None


def _unboxed(lines: list[str]) -> list[str]:
    """The lines without the outermost box among them, if it is whole: another one is the command's own."""
    top = next((n for n, line in enumerate(lines) if _TOP.fullmatch(line)), len(lines))
    bottom = next((n for n in range(len(lines) - 1, top, -1) if _BOTTOM.fullmatch(lines[n])), top)
    inside = [line.strip() for line in lines[top + 1 : bottom]]
    if not inside or not all(len(line) > 1 and line[0] == line[-1] == "│" for line in inside):
        return lines
    return [*lines[:top], *(f"  {line[1:-1]}".rstrip() for line in inside), *lines[bottom + 1 :]]

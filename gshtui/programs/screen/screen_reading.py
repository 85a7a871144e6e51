"""What one screen says: the program's status by its profile's rules, and the text typed but not yet sent.

Pure.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Literal

import msgspec

from gshtui.bus.agent_data import ProgramMode
from gshtui.programs.profiles.profile import Profile, StatusRule
from gshtui.programs.screen.asked_question import ReadQuestion
from gshtui.programs.screen.choice_lists import marked_list
from gshtui.programs.screen.line_styles import plain_lines, undimmed
from gshtui.programs.screen.question_reading import read_question, title_of
from gshtui.text.linear_regex import RegexMatch, compile_linear
from gshtui.text.sanitise import one_line

_WIDEST = 1000
_REMEMBERED = 8192
"""A cache of lines and patterns: most lines stay from one look at a screen to the next."""
_FEW, _MARK = 2, 24
"""Characters that are not gone by one press of a key, and by how many an entered text is known again."""
COMMANDS = ("/", "!")
"""How what is no text for the program's model begins: its own commands, and those of a shell."""
_ASKED = 16
"""Most lines of the screen returned for a question."""
_VOLATILE = re.compile(r"\b\d+ ?(?:s|m|h|ms|sec|min)\b|[^\w]+")


class ScreenReading(msgspec.Struct, frozen=True):
    """What a screen says. `status` is empty when no rule fits."""

    status: str = ""
    doing: str = ""
    draft: str = ""
    """Typed text in the input that is not entered."""
    input: bool = False
    """The input is to be seen."""
    asked: str = ""
    """The screen's lines with the question, if the status is `waiting`."""
    dialog: bool = False
    """Whether one of the program's own dialogs is open, which asks nobody."""
    read: ReadQuestion | None = None
    """The question as it was read, if the status is `waiting`."""
    rule: int = 0
    """The number of the profile's rule that matched, from 1; 0: none did."""
    row: str = ""
    """The row that it matched, or that contradicts."""
    contradicts: Literal["", "thinking", "waiting"] = ""
    """What something on the screen says, whatever the rules say, that forbids to call it rest."""
    beside: bool = False
    """What it does goes on beside its turns."""
    times: tuple[str, ...] = ()
    """The rows with a time that may pass."""
    counts: str = ""
    """The row with a time that passes, if that is what contradicts: for as long as it does pass."""
    aside: bool = False
    """That row is below the input, where a person may have a clock."""
    ended: str = ""
    """The row which shows that the last turn is over: it was finished, or interrupted."""
    echo: str = ""
    """The row with the last prompt above the input, as far as one is to be seen."""

    mode: ProgramMode | None = None
    """The mode that is shown beside the input."""

    @property
    def why(self) -> str:
        """On which grounds, for people."""
        if self.rule and not self.contradicts:
            return f"rule {self.rule}: {self.row}" + (f" · {self.ended}" if self.ended else "")
        shown = self.row or (self.doing if self.contradicts else "")
        return f"it shows: {shown}" if shown else "no rule fits"


@functools.lru_cache(maxsize=_REMEMBERED)
def search(pattern: str, text: str) -> RegexMatch | None:
    """The first match of a profile's pattern in a line of a screen, or in a title."""
    return compile_linear(pattern).search(text)


def read_screen(
    profile: Profile,
    lines: Sequence[str],
    title: str = "",
    cursor: tuple[int, int] | None = None,
    width: int = 0,
) -> ScreenReading:
    """Read a screen.

    Args:
        lines: as captured, with their styles.
        title: the terminal's.
        cursor: column and row.
        width: of the terminal, in columns; 0: unknown.
    """
    text, place = _located(profile, lines, cursor)
    found = _by_rules(profile, lines, text, place, title, cursor, width)
    found = msgspec.structs.replace(found, times=_times(profile, text))
    if place is None or not profile.modes.each or found.status == "starting":
        return found  # one that starts may show a mode before it has read its arguments
    return msgspec.structs.replace(found, mode=_mode(profile, text, place))


def _by_rules(
    profile: Profile,
    lines: Sequence[str],
    text: Sequence[str],
    place: int | None,
    title: str,
    cursor: tuple[int, int] | None,
    width: int,
) -> ScreenReading:
    draft = _draft(profile, undimmed(lines), text, place) if place is not None else ""
    opened = place is None and is_open(profile, text, cursor)
    for number, rule in enumerate(profile.rules, 1):
        matched = match_rule(profile, rule, text, place, title, cursor)
        if not matched.fits:
            continue
        doing, row = matched.doing, one_line(_at(text, matched.rows[0]), 120) if matched.rows else ""
        if opened and rule.status != "waiting":
            break
        if rule.status == "idle":
            found = ScreenReading("idle", doing, draft, place is not None, rule=number, row=row)
            ended, echo = ("", "") if place is None else _last_turn(profile, text, undimmed(lines), place)
            return msgspec.structs.replace(_unless_contradicted(found, profile, text, place), ended=ended, echo=echo)
        if rule.status != "waiting":
            others = (each for each in profile.rules if each.beside)
            beside = rule.beside or any(match_rule(profile, each, text, place, title, cursor).fits for each in others)
            return ScreenReading(rule.status, doing, draft, place is not None, rule=number, row=row, beside=beside)
        asked = asked_of(text, cursor if rule.zone == "last" else None)
        read = _question_of(profile, text, lines, asked, doing, cursor, width, rule)
        if rule.dialog and read.question.choices:
            doing = one_line(read.question.subject, 120)
        dialog = rule.dialog and not read.question.choices
        return ScreenReading(rule.status, doing, draft, place is not None, asked, dialog, read, number, row)
    found = ScreenReading("", "", draft, place is not None)
    if not opened:
        return _unless_contradicted(found, profile, text, place)
    title = title_of(profile.question, text)
    doing, asked = f"{_UNREADABLE}: {title}".removesuffix(": "), asked_of(text)
    about = asked[asked.rfind("\n", 0, asked.find(title) + 1) + 1 :] if title else ""
    read = _question_of(profile, text, lines, about, doing, cursor, width)
    if read.question.choices:
        subject = one_line(read.question.subject, 120)
        return ScreenReading("waiting", subject, draft, asked=asked, read=read, row=title or subject)
    return msgspec.structs.replace(found, doing=doing, asked=asked, read=read, contradicts="waiting", row=title)


def _question_of(
    profile: Profile,
    text: Sequence[str],
    lines: Sequence[str],
    asked: str,
    doing: str,
    cursor: tuple[int, int] | None,
    width: int,
    rule: StatusRule | None = None,
) -> ReadQuestion:
    """The question of a screen that asks, by this rule; behind its rows there may be a bar."""
    barred = any(len(line) != len(whole) for line, whole in zip(text, plain_lines(lines), strict=False))
    return read_question(
        profile,
        text,
        lines,
        asked,
        doing,
        dialog=rule is not None and rule.dialog,
        overflows=rule is not None and rule.overflows,
        cursor=cursor,
        width=width,
        beside=barred,
    )


_CHAT_COLUMNS = 60
"""Columns in which each row of a conversation has text; what begins right of them stands in a panel beside it."""
_BELOW, _AROUND, _ABOVE_INPUT = 3, 16, 6
"""Rows with text at the end of a screen without an input, around its input, and right above that, that are looked at
for signs that it works, and for the end of its last turn."""
_STOPPABLE = r"(?i)\besc(?:ape)? (?:again )?to (?:interrupt|stop|cancel|abort)\b|\besc interrupt\b"
_ANSWERABLE = r"(?i)\benter (?:to )?(?:confirm|select|submit|continue|choose)\b"
"""Such a line belongs to something that waits for an answer."""
_STOP_WORDS = (r"(?i)\besc\b", r"(?i)\binterrupt\b")
_ADVICE = r"^\W*Tips?\b"
_PASSES = r"[(·•] ?(?:\d+h ?)?(?:\d+m ?)?\d+s\b"
_PASSED = r"(?i)\b(?:finished|completed) [(·•] ?\d"
_UNREADABLE = "something is open that cannot be read here"


def _stops(line: str) -> bool:
    """Whether a line below an input tells of a key that stops what is done, and not of what keys there are."""
    if search(_ADVICE, line):
        return False
    return search(_STOPPABLE, line) is not None or all(search(word, line) for word in _STOP_WORDS)


def _unless_contradicted(
    found: ScreenReading, profile: Profile, text: Sequence[str], place: int | None
) -> ScreenReading:
    """The reading, with what on the screen forbids to call it rest, whatever its version makes of the rest."""
    if profile.shell:
        return found
    rows = [line for line in text if line]
    footer = [line for line in text[place + 1 :] if line] if place is not None else rows[-_BELOW:]
    if row := next((line for line in footer if _stops(line)), ""):
        if search(_ANSWERABLE, row):
            return msgspec.structs.replace(found, contradicts="waiting", doing=_UNREADABLE, row=row)
        return msgspec.structs.replace(found, contradicts="thinking", row=row)
    if row := next(reversed(_times(profile, text)), ""):
        aside = place is not None and row in footer
        return msgspec.structs.replace(found, contradicts="thinking", counts=row, aside=aside, row=found.row or row)
    return found


def _times(profile: Profile, text: Sequence[str]) -> tuple[str, ...]:
    """The rows around the input with a time that may pass: not of what they call over."""
    over = (*profile.rest.done, *profile.rest.interrupted, _PASSED)
    rows = [line for line in text if line][-_AROUND:]
    return tuple(line for line in rows if search(_PASSES, line) and not any(search(mark, line) for mark in over))


def _last_turn(profile: Profile, text: Sequence[str], typed: Sequence[str], place: int) -> tuple[str, str]:
    """The row beside the input which shows that the last turn is over, and the row of its prompt; empty: not there.
    `typed`: the lines without what is dim.
    """
    if not profile.ai:
        return "", ""
    below = (row for row in text[place + 1 :] if any(search(mark, row) for mark in profile.rest.footer))
    ended = next(below, "")
    marks = (*profile.rest.done, *profile.rest.interrupted)
    # An input between two rules has no mark of its own, so any row would be taken for one that was entered.
    bare = profile.input.block or bool(profile.input.below)
    marked = not bare
    rows = [number for number in range(place) if text[number][:_CHAT_COLUMNS].strip()]
    for at, number in enumerate(reversed(rows)):
        row = text[number]
        if marked and _typed(profile, profile.input.line, row, typed[number] if number < len(typed) else ""):
            if ended and ended in text[place + 1 :]:  # which says of each turn the same, if it has come to an answer
                ended = f"{ended} {row}" if _above_input(profile, list(text), place)[number + 1 :] else ""
            return ended, row
        if not ended and at < _ABOVE_INPUT and any(search(mark, row) for mark in marks):
            ended = row
    return ended, ""


_LOW, _HINTS = 24, 5
"""Lines at the end of a screen among which such a choice is, and most of them with text below it."""
_YES_NO = re.compile(r"(?i)[\[(]\(?y\)?(?:es)?(?: ?[/,|] ?|, )\(?n\)?(?:o)?[\])] ?[:?>]? *$")


_ANY_KEY = re.compile(
    r"(?i)^\W*+(?:press|hit) (?:enter|return|any(?: other)? key|a key)\b|\bany(?: other)? key to \w"
    r"|(?:^|[·•]) *(?:enter|return|⏎|↵) (?:to )?(?:continue|proceed|start|begin)\b"
)
_FRAMED = re.compile(r"^ {0,4}[│┃]")
_LAST = 2
"""Rows with text at the end of a screen that may ask for a key."""


def is_open(profile: Profile, text: Sequence[str], cursor: tuple[int, int] | None) -> bool:
    """Whether a screen without an input shows a choice: a list with a mark in front of one row, a yes and a no in front
    of the cursor, or the wish for a key. Of a program that nobody knows, the cursor shows where its input is.
    """
    row = cursor[1] if cursor is not None else -1
    if profile.ai and 0 <= row < len(text) and _YES_NO.search(text[row][: cursor[0] if cursor else 0]):
        return True
    if any(_ANY_KEY.search(line) for line in [line for line in text if line][-_LAST:]):
        return True
    framed = [bool(_FRAMED.match(line)) for line in text[-_LOW:]]
    low = [
        _FRAMED.sub("", line).rstrip(" │┃") if inside else line
        for line, inside in zip(text[-_LOW:], framed, strict=True)
    ]
    found = marked_list(low)
    if found is None:
        return False
    rows, marked = found
    first = max(0, len(text) - _LOW)
    below = [line for line in low[rows[-1] + 1 :] if line.strip(" ─╰╯└┘")]
    if framed[rows[marked]]:  # in a frame, what begins where its words do is more of the list
        words = len(low[rows[marked]]) - len(low[rows[marked]].lstrip(" ❯›▸▶→>●◉"))
        below = [line for line in below if len(line) - len(line.lstrip()) != words]
    return len(below) <= _HINTS and not (first + rows[0] <= row <= first + rows[-1] and not profile.input.line)


_BARS = "│█▐▓░║┃"
_BAR_ROWS, _WIDE, _LEFT = 4, 3, 20
"""Fewest lines with one, by how many characters they may differ (some are wide), and columns that it leaves free."""


def without_scroll_bar(text: Sequence[str]) -> list[str]:
    """The lines without the bar that some programs draw at the right end of each."""
    ends: dict[int, list[int]] = {}
    clear = dict[int, int]()
    for row, line in enumerate(text):
        if (
            len(line) > _LEFT
            and line[-1] in _BARS
            and (len(line.strip()) == 1 or line.lstrip()[:1] not in tuple("│┃║╭┌└╰├"))
        ):
            ends.setdefault(len(line), []).append(row)
            clear[len(line)] = clear.get(len(line), 0) + (line[-3:-1] == "  ")
    edge = max(clear, key=lambda end: clear[end], default=0)
    if clear.get(edge, 0) < _BAR_ROWS:
        return list(text)
    rows = {row for end, rows in ends.items() if abs(end - edge) <= _WIDE for row in rows}
    return [line[:-1].rstrip() if row in rows else line for row, line in enumerate(text)]


def _located(profile: Profile, lines: Sequence[str], cursor: tuple[int, int] | None) -> tuple[list[str], int | None]:
    """The plain lines, and the row of the input's first line."""
    text = without_scroll_bar([line[:_WIDEST] for line in plain_lines(lines)])
    place = _input(profile, text)
    if place is not None and profile.input.cursor and cursor and not place <= cursor[1] <= _end(profile, text, place):
        place = None  # something of the program's own is in front of it
    return text, place


def asked_of(text: Sequence[str], cursor: tuple[int, int] | None = None) -> str:
    """The plain lines at the end of the screen (or down to the cursor's), which contain a question."""
    until = len(text) if cursor is None else cursor[1] + 1
    return "\n".join([line for line in text[:until] if line][-_ASKED:])


def essence(question: str) -> str:
    """What stays of a question's lines while it is open: not the cursor on its answers, spinners or counted seconds."""
    return " ".join(_VOLATILE.sub(" ", question).split())


def same_question(one: str, other: str) -> bool:
    return essence(one) == essence(other)


def by_title(profile: Profile, title: str) -> Literal["", "waiting", "thinking"]:
    """What the terminal's title says of the program's status; empty where it says nothing, or that it is idle."""
    if profile.titles.waiting and search(profile.titles.waiting, title):
        return "waiting"
    return "thinking" if profile.titles.busy and search(profile.titles.busy, title) else ""


def conversation(profile: Profile, lines: Sequence[str]) -> list[str]:
    """What stands above the input (all of it, where there is none), as plain lines without blank ones at the end."""
    text = without_scroll_bar([line[:_WIDEST] for line in plain_lines(lines)])
    return _above_input(profile, text, _input(profile, text))


def _above_input(profile: Profile, text: list[str], place: int | None) -> list[str]:
    if place is not None:
        text = text[: place - 1 if profile.input.above else place]
    frame = profile.input.frame
    while text and (not text[-1] or (frame and place is not None and search(frame, text[-1]))):
        text.pop()
    return text


def _is_bare(profile: Profile, text: Sequence[str], place: int) -> bool:
    """Whether there is room above an empty input, and nothing in it."""
    return not (text[0] or _draft(profile, text, text, place) or _above_input(profile, list(text), place))


def is_command(profile: Profile, row: str) -> bool:
    """Whether the row of an entered text has a command of the program's own, which is no text for its model."""
    found = search(profile.input.line, row) if compile_linear(profile.input.line).groups else None
    return found is not None and (found.group(1) or "").lstrip().startswith(COMMANDS)


def was_entered(profile: Profile, draft: str, before: Sequence[str], now: Sequence[str]) -> bool:
    """Whether a draft that has left the input stands above it now: it was entered, and not only cleared. Where that
    comes later (`input.late`), all of a text that is gone at once counts as entered.

    Args:
        before: the screen with the draft, as captured.
        now: the screen without it. A command of the program's own is no text for its model.
    """
    words = draft.partition("\n")[0][:_MARK].strip()
    if len(words) < _FEW or words.startswith(COMMANDS):
        return False
    if profile.input.late:
        return True
    earlier, later = ("\n".join(conversation(profile, lines)).count(words) for lines in (before, now))
    return later > earlier


def _input(profile: Profile, text: Sequence[str]) -> int | None:
    """The row of the input's first line."""
    if not profile.input.line:
        return None
    below = 0
    line, above, more, bar = profile.input.line, profile.input.above, profile.input.more, profile.input.bar
    blank = bool(above) and search(line, "") is not None
    for row in range(len(text) - 1, -1, -1):
        if not text[row] and not (blank and row > 0 and search(above, text[row - 1])):
            continue
        if bar and search(bar, text[row]):
            return None
        fits = search(line, text[row]) and (not above or (row > 0 and search(above, text[row - 1])))
        if fits and _stands_on(profile, text, row):
            while profile.input.block and row > 0 and search(line, text[row - 1]):
                row -= 1
                if bar and search(bar, text[row]):
                    return None
            return row
        if not more or not search(more, text[row]):
            below += 1
        if below > profile.input.footer:
            break
    return None


def _stands_on(profile: Profile, text: Sequence[str], place: int) -> bool:
    """Whether the line right below what would be the input is the one that it has there."""
    if not profile.input.below:
        return True
    end = _input_rows(profile, text, place)[-1] + 1
    return end < len(text) and search(profile.input.below, text[end]) is not None


def _mode(profile: Profile, text: Sequence[str], place: int) -> ProgramMode | None:
    """The mode that the lines beside the input show; what is typed in it shows none, unless it has its mode inside."""
    inside = place if profile.input.block else _input_rows(profile, text, place).stop
    beside = [*text[max(0, place - profile.modes.above) : place], *text[inside:]]
    for rule in profile.modes.each:
        if any(search(pattern, line) for pattern in rule.shown for line in beside):
            return ProgramMode(rule.name, rule.like)
    return None


def _draft(profile: Profile, typed: Sequence[str], text: Sequence[str], place: int) -> str:
    rows = _input_rows(profile, text, place)
    parts: list[str] = []
    for row in rows:
        pattern = profile.input.line if row == place or profile.input.block else profile.input.more
        if piece := _typed(profile, pattern, text[row], typed[row] if row < len(typed) else ""):
            parts.append(piece)
    return "\n".join(parts)


def _typed(profile: Profile, pattern: str, row: str, undimmed: str) -> str:
    """What is typed in a row of the input: no hint of the program's own, which stands there until something is."""
    shape = search(pattern, row)
    if shape is None or not compile_linear(pattern).groups:
        return ""
    start, end = shape.span(1)
    piece = undimmed[start:end].strip(" \xa0") if start >= 0 else ""
    return "" if any(search(hint, shape.group(1) or "") for hint in profile.input.hints) else piece


def _input_rows(profile: Profile, text: Sequence[str], place: int) -> range:
    further = profile.input.line if profile.input.block else profile.input.more
    if not further:
        return range(place, place + 1)
    end = place + 1
    while end < len(text) and search(further, text[end]):
        end += 1
    return range(place, end)


def _end(profile: Profile, text: Sequence[str], place: int) -> int:
    """The last row where the cursor still counts as in the input, since a text may have empty lines."""
    rows = _input_rows(profile, text, place)
    end = rows[-1] if profile.input.block else place
    if profile.input.block or not profile.input.more:
        return end
    for row in range(place + 1, len(text) + 1):
        if row < len(text) and text[row] and not search(profile.input.more, text[row]):
            break
        end = row
    return end


class RuleMatch(msgspec.Struct, frozen=True):
    """How a rule fits a screen."""

    rule: StatusRule
    failed: str = ""
    """The key that does not fit, with its pattern; empty: all do."""
    rows: tuple[int, ...] = ()
    """The rows where `all` and `footer` were found, as far as they were."""
    doing: str = ""

    @property
    def fits(self) -> bool:
        """Whether it gives the status."""
        return not self.failed


def rule_matches(
    profile: Profile, lines: Sequence[str], title: str = "", cursor: tuple[int, int] | None = None
) -> tuple[int | None, list[RuleMatch]]:
    """The row of the input, and how each rule fits a screen, for people who write them; see `read_screen`."""
    text, place = _located(profile, lines, cursor)
    return place, [match_rule(profile, rule, text, place, title, cursor) for rule in profile.rules]


def match_rule(
    profile: Profile,
    rule: StatusRule,
    text: Sequence[str],
    place: int | None,
    title: str,
    cursor: tuple[int, int] | None,
) -> RuleMatch:
    """How a rule fits.

    Args:
        text: the plain lines.
        place: the row of the input's first line, if there is one.
    """
    if rule.input is not None and rule.input != (place is not None):
        return RuleMatch(rule, f"input = {'true' if rule.input else 'false'}")
    if rule.bare and (place is None or not _is_bare(profile, text, place)):
        return RuleMatch(rule, "bare")
    if rule.title and not search(rule.title, title):
        return RuleMatch(rule, f"title: {rule.title}")
    below = range(len(text)) if place is None else range(place + 1, len(text))
    rows: list[int] = []
    for pattern in rule.footer:
        row = next((row for row in below if text[row] and search(pattern, text[row])), None)
        if row is None or place is None:
            return RuleMatch(rule, f"footer: {pattern}", tuple(rows))
        rows.append(row)
    zone = _zone(rule, text, cursor)
    first: RegexMatch | None = None
    for number, pattern in enumerate(rule.all):
        # The lowest line that fits: what is above may be left over from something that has ended.
        hit = next(((row, match) for row in reversed(zone) if (match := search(pattern, _at(text, row)))), None)
        if hit is None:
            return RuleMatch(rule, f"all: {pattern}", tuple(rows))
        rows.append(hit[0])
        if number == 0:
            first = hit[1]
    if rule.below and rows and rows[-1] != max(rows):
        return RuleMatch(rule, f"below: {rule.all[-1]}", tuple(rows))
    for pattern in rule.none:
        if (row := next((row for row in zone if search(pattern, _at(text, row))), None)) is not None:
            return RuleMatch(rule, f"none: {pattern}, found in row {row + 1}", tuple(rows))
    group = (first.group(1) or "") if first is not None and compile_linear(rule.all[0]).groups else ""
    doing = rule.doing.replace("{1}", group)
    if "{title}" in doing:
        doing = doing.replace("{title}", title_of(profile.question, text)).removesuffix(": ")
    return RuleMatch(rule, "", tuple(rows), one_line(doing, 120) if doing else "")


def _at(text: Sequence[str], row: int) -> str:
    return text[row] if 0 <= row < len(text) else ""


def _zone(rule: StatusRule, text: Sequence[str], cursor: tuple[int, int] | None) -> list[int]:
    """The rows where a rule searches."""
    if rule.zone == "last":
        return [cursor[1] if cursor is not None else len(text) - 1]
    return [row for row, line in enumerate(text) if line][-rule.lines :]

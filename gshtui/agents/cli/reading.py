"""What one screen says: the program's status by its profile's rules, and what stands half typed in its input.

Pure: (profile, styled lines, title, cursor) → `Reading`. A screen that no rule knows says nothing, rather than
something. Called by the status rules and before anything is typed.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gshtui.agents.cli.profile import Profile, Rule
from gshtui.agents.cli.screen import plain_lines, undimmed
from gshtui.guard.sanitise import one_line

_WIDEST = 1000


@dataclass(frozen=True, slots=True)
class Reading:
    """What a screen says. `status` is empty when no rule fits."""

    status: str = ""
    doing: str = ""
    draft: str = ""
    """Typed text in the input that is not entered."""
    input: bool = False
    """The input is to be seen."""


@functools.lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def read(profile: Profile, lines: Sequence[str], title: str = "", cursor: tuple[int, int] | None = None) -> Reading:
    """Read a screen.

    Args:
        lines: as captured, with their styles.
        title: the terminal's.
        cursor: column and row.
    """
    text = [line[:_WIDEST] for line in plain_lines(lines)]
    place = _input(profile, text)
    draft = _draft(profile, undimmed(lines), text, place) if place is not None else ""
    for rule in profile.rules:
        if (doing := _fits(rule, text, place, title, cursor)) is not None:
            return Reading(rule.status, doing, draft, place is not None)
    return Reading("", "", draft, place is not None)


def by_title(profile: Profile, title: str) -> Literal["", "waiting", "thinking"]:
    """What the terminal's title says of the program's status; empty where it says nothing, or that it is idle."""
    if profile.titles.waiting and _compiled(profile.titles.waiting).search(title):
        return "waiting"
    return "thinking" if profile.titles.busy and _compiled(profile.titles.busy).search(title) else ""


def conversation(profile: Profile, lines: Sequence[str]) -> list[str]:
    """What stands above the input (all of it, where there is none), as plain lines without blank ones at the end."""
    text = [line[:_WIDEST] for line in plain_lines(lines)]
    place = _input(profile, text)
    if place is not None:
        text = text[: place - 1 if profile.input.above else place]
    frame = _compiled(profile.input.frame) if profile.input.frame else None
    while text and (not text[-1] or (frame is not None and place is not None and frame.search(text[-1]))):
        text.pop()
    return text


def _input(profile: Profile, text: Sequence[str]) -> int | None:
    """The row of the input's first line."""
    if not profile.input.line:
        return None
    below = 0
    line, above = _compiled(profile.input.line), _compiled(profile.input.above)
    more = _compiled(profile.input.more) if profile.input.more else None
    bar = _compiled(profile.input.bar) if profile.input.bar else None
    for row in range(len(text) - 1, -1, -1):
        if not text[row]:
            continue
        if bar is not None and bar.search(text[row]):
            return None
        if line.search(text[row]) and (not profile.input.above or (row > 0 and above.search(text[row - 1]))):
            while profile.input.block and row > 0 and line.search(text[row - 1]):
                row -= 1
                if bar is not None and bar.search(text[row]):
                    return None
            return row
        if more is None or not more.search(text[row]):
            below += 1
        if below > profile.input.footer:
            break
    return None


def _draft(profile: Profile, typed: Sequence[str], text: Sequence[str], place: int) -> str:
    rows = _input_rows(profile, text, place)
    parts: list[str] = []
    for row in rows:
        pattern = profile.input.line if row == place or profile.input.block else profile.input.more
        shape = _compiled(pattern).search(text[row])
        if shape is None or not shape.re.groups:
            continue
        start, end = shape.span(1)
        source = typed[row] if row < len(typed) else ""
        piece = source[start:end].strip(" \xa0") if start >= 0 else ""
        if piece and not any(_compiled(hint).search(shape.group(1)) for hint in profile.input.hints):
            parts.append(piece)
    return "\n".join(parts)


def _input_rows(profile: Profile, text: Sequence[str], place: int) -> range:
    further = profile.input.line if profile.input.block else profile.input.more
    if not further:
        return range(place, place + 1)
    end = place + 1
    while end < len(text) and _compiled(further).search(text[end]):
        end += 1
    return range(place, end)


def _fits(rule: Rule, text: Sequence[str], place: int | None, title: str, cursor: tuple[int, int] | None) -> str | None:
    """What the program does by this rule, `None` when the rule does not fit."""
    if rule.input is not None and rule.input != (place is not None):
        return None
    if rule.title and not _compiled(rule.title).search(title):
        return None
    if rule.footer:
        below = [line for line in text[place + 1 :] if line] if place is not None else []
        if not all(any(_compiled(pattern).search(line) for line in below) for pattern in rule.footer):
            return None
    lines = _zone(rule, text, cursor)
    first: re.Match[str] | None = None
    for number, pattern in enumerate(rule.all):
        # The lowest line that fits: what is above may be left over from something that has ended.
        found = next((match for line in reversed(lines) if (match := _compiled(pattern).search(line))), None)
        if found is None:
            return None
        if number == 0:
            first = found
    if any(_compiled(pattern).search(line) for pattern in rule.none for line in lines):
        return None
    group = first.group(1) if first is not None and first.re.groups and first.group(1) else ""
    return one_line(rule.doing.replace("{1}", group), 120) if rule.doing else ""


def _zone(rule: Rule, text: Sequence[str], cursor: tuple[int, int] | None) -> list[str]:
    if rule.zone == "last":
        row = cursor[1] if cursor is not None else len(text) - 1
        return [text[row]] if 0 <= row < len(text) else [""]
    return [line for line in text if line][-rule.lines :]

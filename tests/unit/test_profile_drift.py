"""Recorded screens as a later version may draw them: no wrong status, and no wrong meaning of an answer.

Words change places, lines come above the footer, choices lose their numbers, a title stays. Then a screen may be
unknown, or something that needs the person; it is never at rest.
"""

import random
import re
from pathlib import Path
from typing import Any

import pytest

from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.screen.line_styles import without_styles
from gshtui.programs.screen.screen_reading import by_title, conversation, read_screen
from gshtui.programs.status.status import WORKING
from tests.kit.recorded_screens import SCREENS, Shot, for_each, shots
from tests.kit.storms import FULL

LOADED = profiles.load(Path("/nonexistent"))
_LOW = 14
"""Rows at a screen's end in which words change places."""
_NUMBER = re.compile(r"^(\W*?)(\d)\. ")


SHOTS = [shot for shot in shots() if not shot.told.get("dialog")]


def doing(*statuses: str) -> list[Shot]:
    """The screens on which that is done."""
    return [shot for shot in SHOTS if shot.told["status"] in statuses]


def swapped(lines: list[str], dice: random.Random) -> list[str]:
    """With two words of one of the lowest rows in each other's place."""
    rows = [row for row, line in enumerate(lines) if len(without_styles(line).split()) > 2][-_LOW:]
    if not rows:
        return lines
    row = dice.choice(rows)
    words = without_styles(lines[row]).split(" ")
    places = [place for place, word in enumerate(words) if word.strip("─╌│╭╮╰╯❯›●")]
    if len(places) > 1:
        one, other = dice.sample(places, 2)
        words[one], words[other] = words[other], words[one]
    return [*lines[:row], " ".join(words), *lines[row + 1 :]]


def with_a_line(lines: list[str], dice: random.Random) -> list[str]:
    """With a new line above the last one that has text."""
    last = next((row for row in range(len(lines) - 1, -1, -1) if without_styles(lines[row]).strip()), 0)
    return [*lines[:last], dice.choice(("  New: try the other mode", "  3 files changed", "")), *lines[last:]]


def without_numbers(lines: list[str], dice: random.Random) -> list[str]:
    """With choices that have no numbers any more, all of them or one."""
    rows = [row for row, line in enumerate(lines) if _NUMBER.match(without_styles(line))]
    chosen = rows if dice.random() < 0.7 else rows[-1:]
    return [_NUMBER.sub(r"\1", without_styles(line)) if row in chosen else line for row, line in enumerate(lines)]


CHANGES = (swapped, with_a_line, without_numbers)


@for_each(doing(*WORKING, "waiting"))
def test_a_later_version_of_a_screen_is_never_taken_for_rest(recorded: Shot) -> None:
    profile, lines, shot = LOADED.get(recorded.program), recorded.lines, recorded.told

    def read(changed: list[str]) -> Any:
        return read_screen(profile, changed, shot["title"], recorded.cursor, recorded.width)

    before = read(lines)
    if before.status not in {*WORKING, "waiting"}:
        return  # its title alone says what it does
    meant = {one.label: one.means for one in before.read.question.choices} if before.read else {}
    titled = by_title(profile, shot["title"]) == "thinking"
    dice = random.Random(str(recorded.file.relative_to(SCREENS)))
    for number in range(200 if FULL else 6):
        change = CHANGES[number % len(CHANGES)]
        after = read(change(lines, dice))
        assert after.status != "idle" or after.contradicts or titled, (change.__name__, number)
        if shot["status"] == "waiting":
            assert after.status in ("waiting", "") or after.contradicts == "waiting", (change.__name__, number)
        choices = after.read.question.choices if after.read is not None else ()
        assert all(one.means in ("", meant.get(one.label, one.means)) for one in choices)
        for one in choices:  # words that have changed places mean the same or nothing
            same = [means for label, means in meant.items() if sorted(label.split()) == sorted(one.label.split())]
            assert one.means in ("", *(same or [one.means])), one.label


QUOTED = 16
"""Rows of a question that something has printed."""


@pytest.mark.parametrize("program", sorted({shot.program for shot in doing("waiting")} - {"aider"}))
def test_a_question_that_is_quoted_above_the_input_is_none(program: str) -> None:
    """A model can say, and a command can print, what looks like a question; aider's input is not below all it shows."""
    asking, resting = ([shot for shot in doing(one) if shot.program == program] for one in ("waiting", "idle"))
    profile, dice = LOADED.get(program), random.Random(program)
    for shot in resting:
        lines = shot.lines
        above = len(conversation(profile, lines))
        for other in dice.sample(asking, min(len(asking), len(asking) if FULL else 4)):
            rows = [row for line in other.lines if (row := without_styles(line)).strip()]
            quoted = rows[-QUOTED:]
            cursor = (shot.cursor[0], shot.cursor[1] + len(quoted))
            shown = [*lines[:above], *quoted, *lines[above:]]
            read = read_screen(profile, shown, shot.told["title"], cursor, shot.width)
            assert read.status != "waiting" and read.contradicts != "waiting", (shot.file, other.file)
            assert read.read is None, (shot.file, other.file)

"""Recorded screens as a later version may draw them: no wrong status, and no wrong meaning of an answer.

Words change places, lines come above the footer, choices lose their numbers, a title stays. Then a screen may be
unknown, or something that needs the person; it is never at rest.
"""

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from gshtui.programs.profiles import profile as profiles
from gshtui.programs.screen.screen_reading import by_title, conversation, read_screen, without_styles
from gshtui.programs.status.status import WORKING
from tests.kit.storms import FULL

SCREENS = Path(__file__).parents[1] / "fixtures" / "screens"
LOADED = profiles.load(Path("/nonexistent"))
_LOW = 14
"""Rows at a screen's end in which words change places."""
_NUMBER = re.compile(r"^(\W*?)(\d)\. ")
_SEQUENCE = re.compile(r"\x1b\[[0-9;:]*m")


def shots(*statuses: str) -> list[Any]:
    """Every recorded screen on which that is done, without the dialogs."""
    found: list[Any] = []
    for meta in sorted(SCREENS.rglob("screens.json")):
        data = json.loads(meta.read_text("utf-8"))
        for shot in data["shots"]:
            name = f"{meta.parent.relative_to(SCREENS)}-{shot['file']}".replace("/", "-")
            if shot["status"] in statuses and not shot.get("dialog"):
                found.append(pytest.param(data, meta.parent / shot["file"], shot, id=name))
    return found


SHOTS = shots(*WORKING, "waiting")


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


@pytest.mark.parametrize(("data", "file", "shot"), SHOTS)
def test_a_later_version_of_a_screen_is_never_taken_for_rest(
    data: dict[str, Any], file: Path, shot: dict[str, Any]
) -> None:
    profile = LOADED.get(data["program"])
    lines = file.read_text("utf-8").split("\n")
    cursor = (shot["cursor"][0], shot["cursor"][1])

    def read(changed: list[str]) -> Any:
        return read_screen(profile, changed, shot["title"], cursor, data.get("width", 0))

    before = read(lines)
    if before.status not in {*WORKING, "waiting"}:
        return  # its title alone says what it does
    meant = {one.label: one.means for one in before.read.question.choices} if before.read else {}
    titled = by_title(profile, shot["title"]) == "thinking"
    dice = random.Random(str(file.relative_to(SCREENS)))
    for number in range(200 if FULL else 12):
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


@pytest.mark.parametrize("program", sorted({each.values[0]["program"] for each in shots("waiting")} - {"aider"}))
def test_a_question_that_is_quoted_above_the_input_is_none(program: str) -> None:
    """A model can say, and a command can print, what looks like a question; aider's input is not below all it shows."""
    asking = [each.values for each in shots("waiting") if each.values[0]["program"] == program]
    resting = [each.values for each in shots("idle") if each.values[0]["program"] == program]
    profile, dice = LOADED.get(program), random.Random(program)
    for data, file, shot in resting:
        lines = file.read_text("utf-8").split("\n")
        above = len(conversation(profile, lines))
        for _, other, _ in dice.sample(asking, min(len(asking), len(asking) if FULL else 4)):
            rows = [row for line in other.read_text("utf-8").split("\n") if (row := without_styles(line)).strip()]
            quoted = rows[-QUOTED:]
            cursor = (shot["cursor"][0], shot["cursor"][1] + len(quoted))
            shown = [*lines[:above], *quoted, *lines[above:]]
            read = read_screen(profile, shown, shot["title"], cursor, data.get("width", 0))
            assert read.status != "waiting" and read.contradicts != "waiting", (file, other)
            assert read.read is None, (file, other)

"""Recorded questions about a change of files: each shows all of the change, or allows nothing outside its terminal."""

import re
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from gshtui.bus.agent_data import OpenQuestion
from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.profiles.profile import Profile, QuestionRules
from gshtui.programs.screen.asked_changes import asks_about_change, change_above, change_shown
from gshtui.programs.screen.screen_reading import read_screen
from tests.kit.recorded_screens import SCREENS, Shot, for_each, shots

LOADED = profiles.load(Path("/nonexistent"))
EDITS = [
    shot
    for shot in shots()
    if re.search(r"\d-(?:small-edit|edit|new-file|wide|two|write|remove)\.txt$", shot.file.name)
    and shot.told["status"] == "waiting"
]
CODEX = SCREENS / "codex" / "0.171.0"
CHANGE = ("-line 5 of the notes that are kept here", "+line five of the notes")
ALLOWING = {"once", "more", "mode"}
ALL_OF = {
    "small-edit": ("line 5 of the notes that are kept here", "line five of the notes"),
    "wide": ("line 5 of the notes that are kept here", "if a:", "line five and more words", "return are kept here"),
    "new-file": ("one", "two"),
    "write": ("one", "two"),
    "remove": ("A project.",),
}
"""What a change that is shown whole says; those that are not here have no room on their screens."""


def question_of(profile: Profile, lines: list[str], told: dict[str, Any], width: int) -> OpenQuestion:
    cursor = (told["cursor"][0], told["cursor"][1])
    read = read_screen(profile, lines, told["title"], cursor, width).read
    assert read is not None
    return read.question


@for_each(EDITS)
def test_an_edit_is_shown_whole_or_its_digits_do_not_allow_it(shot: Shot) -> None:
    question = question_of(LOADED.get(shot.program), shot.lines, shot.told, shot.width)
    name = "wide" if shot.file.parent.name.startswith("wide-") else shot.file.stem.partition("-")[2]
    allowing = {one.key for one in question.choices if one.means in ALLOWING}
    denying = {one.key for one in question.choices if one.means in ("deny", "words")}
    if question.choices:
        assert allowing and denying and not denying & question.uncounted
        assert question.uncounted >= allowing or (not question.uncounted and not question.unseen)
        assert asks_about_change(LOADED.get(shot.program).question, question.subject) or question.partial
    if not question.uncounted and question.choices:
        lines = question.detail.split("\n")
        assert all(any(words in line for line in lines) for words in ALL_OF[name])


@pytest.mark.parametrize("size", ["80x24", "120x35", "160x45"])
def test_codex_asks_about_the_change_above_its_question(size: str) -> None:
    shot = next(shot for shot in EDITS if shot.file == CODEX / f"ask-{size}" / "04-small-edit.txt")
    profile = LOADED.get("codex")
    asked = question_of(profile, shot.lines, shot.told, shot.width)
    assert asked.detail.startswith("• Edited notes.txt (+1 -1)\n")
    assert [line.strip(" 5") for line in asked.detail.split("\n")[1:3]] == [*CHANGE]
    assert "Destination: /home/u/project/notes.txt" in asked.detail and "Show details" not in asked.detail
    assert (asked.partial, asked.unseen, asked.uncounted) == (False, "", frozenset())
    heading = next(row for row, line in enumerate(shot.lines) if "• Edited" in re.sub(r"\x1b\[[\d;]*m", "", line))
    gone = ["" if row <= heading + 2 else line for row, line in enumerate(shot.lines)]
    asked = question_of(profile, gone, shot.told, shot.width)
    assert asked.unseen == "Its change is not on its screen"
    assert {one.means for one in asked.choices if one.key in asked.uncounted} == {"once", "more"}
    cut = ["" if row == heading + 1 else line for row, line in enumerate(shot.lines)]
    asked = question_of(profile, cut, shot.told, shot.width)
    assert asked.unseen == "Its screen does not show all of it" and CHANGE[1] in asked.detail


@pytest.mark.parametrize(("name", "seen"), [("edit", "10 -line 10"), ("wide", "5 +line five and more words")])
def test_what_codex_folds_is_not_whole(name: str, seen: str) -> None:
    shot = next(shot for shot in EDITS if shot.file.parent.name == "changes-120x35" and f"-{name}." in shot.file.name)
    asked = question_of(LOADED.get("codex"), shot.lines, shot.told, shot.width)
    assert seen in asked.detail and not asked.changeless
    assert asked.unseen and len(asked.uncounted) == 2


@pytest.mark.parametrize("size", ["80x24", "120x35", "160x45"])
def test_coloured_lines_of_a_change_are_read_and_what_scrolls_is_not_whole(size: str) -> None:
    file = SCREENS / "opencode" / "1.18.33" / f"asks-{size}" / "04-small-edit.txt"
    shot = next(shot for shot in EDITS if shot.file == file)
    asked = question_of(LOADED.get("opencode"), shot.lines, shot.told, shot.width)
    assert "5 - line 5 of the notes" in asked.detail and "5 + line five of the notes" in asked.detail
    assert "█" not in asked.detail and "Context" not in asked.detail
    assert asked.partial and not asked.changeless


def test_a_question_that_shows_only_dots_for_its_change_shows_none() -> None:
    file = SCREENS / "claude" / "2.1.332" / "ask-160x45" / "10-small-edit.txt"
    shot = next(shot for shot in EDITS if shot.file == file)
    asked = question_of(LOADED.get("claude"), shot.lines, shot.told, shot.width)
    assert asked.detail == "…" and asked.changeless and asked.uncounted == {"1", "6"}


def test_a_change_that_is_asked_about_by_other_words_is_known_where_a_profile_has_them() -> None:
    rules = LOADED.get("vibe").question
    assert asks_about_change(rules, "Permission for the file_system.search_replace tool")
    assert not asks_about_change(rules, "Permission for the file_system.bash tool (touch *)")
    assert asks_about_change(LOADED.get("aider").question, "Create new file?")
    assert not asks_about_change(LOADED.get("aider").question, "Add file to the chat?")
    own = QuestionRules()
    for words in ("Apply this patch?", "Do you want to overwrite a.py?", "→ Write a.py", "Make these changes?"):
        assert asks_about_change(own, words)
    for words in ("Do you want to proceed?", "Make auto mode your default?", "Run `git apply`?"):
        assert not asks_about_change(own, words)


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        ([" 1 one", " 2 two"], "all"),
        ([" 2 two", " 3 three"], "some"),
        ([" 2 two", "12 -old"], "all"),
        (["<<<<<<< SEARCH"], "all"),
        (["@@ -1,2 +1 @@"], "all"),
        (["…"], ""),
        (["- a point", "of prose"], ""),
    ],
)
def test_a_change_has_signs_and_a_new_file_numbers_from_its_first_line_on(lines: list[str], shown: str) -> None:
    assert change_shown(lines) == shown


def test_an_earlier_change_is_not_the_one_in_question() -> None:
    rules = LOADED.get("codex").question
    text = ["• Edited a.py (+1 -0)", "    1 +one", "", "• Ran ls", "  └ a.py", "", "  Would you like it?"]
    assert change_above(rules, text, 6) is None
    assert change_above(rules, [*text[:2], "", *text[-1:]], 3) == (0, 2, True)
    assert change_above(structs.replace(rules, change=""), text[:2] + text[-1:], 2) is None

"""What a program asks, in one line, and what that line leaves to be said."""

import pytest

from gshtui.bus.agent_data import OpenQuestion
from gshtui.guard.approval.question_text import program_request, question_row, question_title
from gshtui.text.program_words import asked_line, change_wish, unsaid, without_beginning
from gshtui.text.unified_diff import make_diff
from tests.kit.fake_terminal import agent_row


@pytest.mark.parametrize(
    ("subject", "detail", "said"),
    [
        ("Do you want to proceed?", "touch made.txt", "touch made.txt"),
        ("Apply this change?", "WriteFile  Writing to new.txt\n  1 one\n  2 two", "WriteFile Writing to new.txt"),
        ("Apply this change?", "Two things:\none\ntwo", "Two things: ⏎ one ⏎ two"),
        ("Make this edit to a.txt?", "1  one\n2 -two\n2 +2", "Make this edit to a.txt?"),
        ("Is the plan good?", "Tidy up\n\n1. Read", "Is the plan good? · Tidy up ⏎ 1. Read"),
        ("Exit plan mode?", "Claude wants to exit plan mode", "Claude wants to exit plan mode"),
        ("Make this edit to notes.txt?", "notes.txt\n  1 one", "Make this edit to notes.txt?"),
        ("Which colour do you want?", "for the front", "for the front · Which colour do you want?"),
        ("The disk is full", "at /var", "The disk is full · at /var"),
        ("Run: make", "", "Run: make"),
        ("Do you want to run the command?", "$ make\n  and more", "$ make ⏎ and more"),
        ("Do you want to proceed?", "X: ; rm -rf ~\n$ true", "X: ; rm -rf ~ ⏎ $ true"),
        ("Do you want to proceed?", "echo '\n1 '; rm -rf ~", "echo ' ⏎ 1 '; rm -rf ~"),
        ("Run it", "rm -rf ~\n\n$ true", "Run it · rm -rf ~ ⏎ $ true"),
    ],
)
def test_a_question_is_one_line_in_which_nothing_is_said_twice(subject: str, detail: str, said: str) -> None:
    assert asked_line(subject, detail) == said


@pytest.mark.parametrize(
    ("subject", "detail", "rest"),
    [
        ("Run: make test", "make test\nin /srv", "in /srv"),
        ("Which colour?", "Which colour?\n- Red", "- Red"),
        ("Run: rm a b", "rm a\nb", "rm a\nb"),
        ("Run: a z: a", "a\nz: a", "a\nz: a"),
        ("Run: make te…", "make test", "make test"),
        ("Proceed?", "", ""),
    ],
)
def test_only_what_a_question_says_whole_is_not_said_again(subject: str, detail: str, rest: str) -> None:
    assert unsaid(subject, detail) == rest


EDIT = make_diff("a\n", "b\n", "src/parse.py")


@pytest.mark.parametrize(
    ("subject", "diff", "wish"),
    [
        ("Do you want to make this edit to parse.py?", EDIT, "wants to edit src/parse.py"),
        ("→ Edit src/parse.py", EDIT, "wants to edit src/parse.py"),
        ("Apply this change?", EDIT, "wants to edit src/parse.py"),
        ("Do you want to overwrite parse.py?", EDIT, "wants to overwrite src/parse.py"),
        (
            "Do you want to make this edit to overwrite parse.py?",
            make_diff("a", "b", "overwrite parse.py"),
            "wants to edit overwrite parse.py",
        ),
        ("Do you want to create b.py?", make_diff("", "x\n", "a b/b.py", new=True), "wants to write a b/b.py"),
        ("Do you want to make this edit to parse.py?", make_diff("", "x\n", "src/pars\x1b.py"), ""),
        ("Do you want to make this edit to other.py?", EDIT, ""),
        ("Do you want to make this edit to xparse.py?", EDIT, ""),
        ("Do you want to run make and edit parse.py?", EDIT, ""),
        ("Do you want to make this edit to parse.py?", EDIT + make_diff("a\n", "b\n", "src/other.py"), ""),
        ("Do you want to make this edit to parse.py?", "", ""),
        ("Do you want to make this edit to parse.py?", "+++ src/parse.py", ""),
        ("Do you want to delete parse.py?", make_diff("a\n", "", "src/parse.py"), ""),
    ],
)
def test_the_usual_words_for_a_change_of_one_file_become_ours_which_name_it_with_its_folder(
    subject: str, diff: str, wish: str
) -> None:
    assert change_wish(subject, diff) == wish
    asked = OpenQuestion("q", subject, diff=diff)
    assert asked.line == (wish or subject)
    request = program_request(agent_row(profile="claude"), asked)
    said = f" {wish}" if wish else f": {subject}"
    assert question_row(request, "claude") == f"claude{said}"
    assert question_title(request, "fix", subject) == f"fix · claude{said}"


@pytest.mark.parametrize(
    ("subject", "detail", "said"),
    [
        ("bash set -e ␊ make te…", "in /src\nset -e\nmake test\nls", "bash"),
        ("bash set -e ␊ make te…", "in /src\nset -e\nmake it", "bash set -e ␊ make te…"),
        ("bash make test", "in /src\nmake test", "bash make test"),
        ("Go on…", "", "Go on…"),
    ],
)
def test_the_beginning_of_what_follows_whole_is_not_said_twice(subject: str, detail: str, said: str) -> None:
    assert without_beginning(subject, detail) == said

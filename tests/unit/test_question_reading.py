"""The questions of programs: read exactly from their recorded screens, and never where anything is out of place."""

import itertools
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from gshtui.bus.agent_data import AgentRow, OpenQuestion, QuestionChoice
from gshtui.guard.approval.answer_keys import listed_choices
from gshtui.guard.approval.question_text import program_request
from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.profiles.profile import Profile, QuestionRules, StatusRule
from gshtui.programs.screen.asked_question import ReadQuestion
from gshtui.programs.screen.choice_meaning import meaning_of
from gshtui.programs.screen.line_styles import without_styles
from gshtui.programs.screen.same_question import is_cut_elsewhere, is_ticked_elsewhere
from gshtui.programs.screen.screen_reading import ScreenReading, read_screen
from tests.kit.recorded_screens import SCREENS, Shot, for_each, shots
from tests.kit.storms import examples

LOADED = profiles.load(Path("/nonexistent"))
LABELS = {
    "claude": ["Yes", "Yes, and always allow access to project/ from this project", "No"],
    "codex": [
        "Yes, proceed",
        "Yes, and don't ask again for commands that start with `touch made.txt`",
        "No, and tell Codex what to do differently",
    ],
    "gemini": ["Allow once", "Allow for this session", "No, suggest changes"],
    "opencode": ["Allow once", "Allow always", "Reject"],
    "vibe": ["Allow once", "Allow for remainder of this session", "Always allow", "Deny"],
}

KEYS = {"claude": "124", "codex": "124", "gemini": "124", "opencode": "124", "vibe": "1234"}
"""Our digits for them: 1 allows once, 2 and 3 allow more, 4 denies."""


SHOTS = [shot for shot in shots() if shot.program in LABELS]
BOXES = [shot for shot in SHOTS if "approval.txt" in str(shot.file)]


def read(program: str, lines: list[str], shot: dict[str, Any]) -> ReadQuestion | None:
    cursor = (shot["cursor"][0], shot["cursor"][1])
    return read_screen(LOADED.get(program), lines, shot["title"], cursor).read


@for_each(SHOTS)
def test_a_permission_box_has_its_own_choices_and_a_dialog_has_none(recorded: Shot) -> None:
    program, shot = recorded.program, recorded.told
    asked = read(program, recorded.lines, shot)
    if shot["status"] != "waiting" or shot.get("dialog"):
        assert asked is None or not asked.question.choices
    elif "approval" in recorded.file.name:
        assert asked is not None
        labels = [one.label for one in asked.question.choices]
        wanted = [label.replace("touch made.txt", "touch slept.txt") for label in LABELS[program]]
        assert labels in (LABELS[program], wanted)
        assert "".join(one.key for one in asked.question.choices) == KEYS[program]
        assert asked.selected == 0
        assert "touch" in asked.question.detail and not asked.question.detail.startswith("?")
        assert not asked.question.partial


@for_each(BOXES)
def test_a_box_that_is_out_of_order_in_any_row_offers_nothing_new(recorded: Shot) -> None:
    """Rows dropped, doubled, swapped, cut or written over: what is still read is the whole truth of that screen."""
    program, lines, shot = recorded.program, recorded.lines, recorded.told
    whole = read(program, lines, shot)
    assert whole is not None
    labels = [one.label for one in whole.question.choices]
    dice = random.Random(str(recorded.file.relative_to(SCREENS)))
    for _ in range(examples(400)):
        broken = list(lines)
        row, other = dice.randrange(len(lines)), dice.randrange(len(lines))
        match dice.randrange(5):
            case 0:
                del broken[row]
            case 1:
                broken.insert(row, broken[other])
            case 2:
                broken[row], broken[other] = broken[other], broken[row]
            case 3:
                plain = without_styles(broken[row])  # tmux gives whole sequences
                broken[row] = plain[: dice.randrange(len(plain) + 1)]
            case _:
                broken[row] = "something else entirely"
        found = read(program, broken, shot)
        if found is None or not found.question.choices:
            continue
        shown = [one.label for one in found.question.choices]
        text = " ".join("\n".join(broken).split())
        keys = [one.key for one in found.question.choices]
        assert len(set(keys)) == len(keys) == len(shown)
        meant = {one.label: one.means for one in whole.question.choices}
        assert all(one.means in ("", meant.get(one.label, one.means)) for one in found.question.choices)
        assert 0 <= found.selected < len(shown)
        if shown != labels and program != "opencode":  # a label may be cut off; then it is shown as it is on the screen
            assert all(label.split()[0] in text for label in shown)
        if found.question.id == whole.question.id:
            assert shown == labels


@for_each(BOXES)
def test_the_cursor_moves_and_the_question_stays_the_same_one(recorded: Shot) -> None:
    program, lines, shot = recorded.program, recorded.lines, recorded.told
    whole = read(program, lines, shot)
    again = read(program, ["earlier text", *lines], shot | {"cursor": [shot["cursor"][0], shot["cursor"][1] + 1]})
    assert whole is not None
    assert again is not None
    assert again.question.id == whole.question.id
    other = [line.replace("made.txt", "made.txd") for line in lines]
    changed = read(program, other, shot)
    assert changed is not None
    assert changed.question.id != whole.question.id


def test_choices_with_descriptions_and_a_rule_between_them_are_read() -> None:
    rule = "─" * 60
    screen = [
        rule,
        " ☐ Colour",
        "",
        "Which colour do you want?",
        "",
        "❯ 1. Red",
        "     Like a rose",
        "  2. Blue",
        "     Like the sea",
        "  3. Type something.",
        rule,
        "  4. Chat about this",
        "",
        "Enter to select · ↑/↓ to navigate · Esc to cancel",
    ]
    asked = read_screen(LOADED.get("claude"), screen).read
    assert asked is not None
    assert asked.question.subject == "Which colour do you want?"
    labels = [("Red", "Like a rose"), ("Blue", "Like the sea"), ("Type something.", ""), ("Chat about this", "")]
    assert [(one.label, one.about) for one in asked.question.choices] == labels


def test_what_a_program_draws_twice_is_said_once() -> None:
    rows = [" Allow execution of [Shell]?", "", " Shell  touch made.txt", "    touch made.txt", ""]
    frame = [f"│{row:60}│" for row in [*rows, " ● 1. Allow once", "   2. No (esc)"]]
    lines = [f"╭{'─' * 60}╮", *frame, f"╰{'─' * 60}╯"]
    asked = read_screen(LOADED.get("gemini"), lines).read
    assert asked is not None
    assert (asked.question.detail, asked.question.line) == ("touch made.txt", "touch made.txt")


def commanded(lines: list[str], command: str, rows: list[str]) -> list[str]:
    """The recorded lines with this command of several rows, drawn in the place of the recorded one."""
    told = [without_styles(line) if command in without_styles(line) else line for line in lines]
    alone = re.compile(rf"{re.escape(command)}(?: *[│┃]| {{3}}|$)")
    last = max((row for row, line in enumerate(told) if alone.search(line)), default=-1)
    if last < 0:  # in JSON, a command has no second row
        return []

    def drawn(line: str, words: str) -> str:
        room = len(command) - len(words)
        before, _, behind = line.partition(command)
        return f"{before}{words}{behind[-room:] if behind[: max(0, -room)].isspace() else ' ' * room + behind}"

    first = [drawn(line, rows[0]) if command in line else line for line in told]
    below = [drawn(told[last].replace("$ ", "  "), row) for row in rows[1:]]
    return [*first[: last + 1], *below, *first[last + 1 :]]


HARMLESS = ["rm -rf ~ ||  true", "Shell  true", "rm ||  $ true"], ["true", "$ true"]
DRAWN = (
    *("─" * 14, "─" * 3, "╌" * 14, "▔" * 14, "━━━", "╭──────────────╮", "╰──────────────╯", "┃", "│", "x █", "…", "\\"),
    *("│ rm -rf x │", "┃ x ┃", "│ ? Shell  true │", "? rm -rf x", "← x", "☐ x", "▸ x", "Tip: rm -rf x", "Hint: x"),
    *("1. Yes", "❯ 1. Yes", "› 1. Yes", "● 1. Allow once", "  2. No", "1 allow once", "Is it?", "Esc to cancel"),
    *("Do you want to proceed?", "Would you like to run the following command?", "Allow execution of: 'x'?"),
    *("Press enter to confirm", "Enter to select", "# Shell command", "△ Permission required", "• Ran ls", "Reason: a"),
    *("... first 3 lines hidden", "↑ 3 more lines", "+ Show details", "(1 ordered change)", " }", "[y] Yes  [n] No"),
    *("Allow once   Reject", "1 -a", "1 +b", "1 one", "$ true", "Shell  true"),
)
"""What programs draw around a command; here it is in one."""


@for_each([shot for shot in shots() if shot.told["status"] == "waiting"])
def test_no_line_of_a_command_is_missing_from_what_is_shown_whole(recorded: Shot) -> None:
    """A longer command in the place of the recorded one, of which lines are harmless, or like the program's own."""
    asked = read(recorded.program, recorded.lines, recorded.told)
    if asked is None or not (there := _COMMAND.search(asked.question.detail)):
        return
    harmless = [[*each] for each in itertools.product(*HARMLESS)]
    dice = random.Random(str(recorded.file.relative_to(SCREENS)))
    ruled = [["true", line, "rm -rf ~"][:: dice.choice((1, -1))] for line in dice.sample(DRAWN, examples(15))]
    for rows in (*harmless, *ruled):
        lines = commanded(recorded.lines, there.group(), rows)
        asked = read(recorded.program, lines, recorded.told) if lines else None
        if asked is not None and asked.question.choices and not asked.question.partial:
            shown = f"{asked.question.subject}\n{asked.question.detail}"
            assert all(row in shown for row in rows), rows
            line = asked.question.line
            assert line == asked.question.subject or all(" ".join(row.split()) in line for row in rows), rows


_COMMAND = re.compile(r"touch (?:made|slept)\.txt(?:; sleep 4; echo slept)?")


@for_each(shots())
def test_a_change_of_which_only_a_sign_is_shown_is_not_whole(recorded: Shot) -> None:
    asked = read(recorded.program, recorded.lines, recorded.told)
    if asked is not None and any(line.strip() == "…" for line in asked.question.detail.split("\n")):
        assert asked.question.partial


@for_each([shot for shot in SHOTS if shot.file.match("long-80x24/*.txt")])
def test_a_command_that_is_cut_to_its_screen_is_not_whole(shot: Shot) -> None:
    asked = read(shot.program, shot.lines, shot.told)
    assert asked is not None and asked.question.partial
    assert {one.means for one in asked.question.choices if one.key not in asked.question.uncounted} <= {"deny", "words"}


def test_a_line_of_a_command_that_asks_is_not_the_question_where_that_is_far_above() -> None:
    boxes = ["› 1. Yes, proceed (y)", "  2. No, and tell Codex what to do differently (esc)", ""]
    for rows, partial in ((60, False), (100, True)):
        command = ["  $ rm -rf ~", *["  true"] * rows, "  Shall it?", "  true", ""]
        screen = ["• Running it", "", "", "  Would you like to run the following command?", "", *command, *boxes]
        asked = read_screen(LOADED.get("codex"), [*screen, "  Press enter to confirm or esc to cancel"]).read
        assert asked is not None and asked.question.choices and asked.question.partial == partial


@pytest.mark.parametrize("size", ["80x24", "120x35", "160x45"])
def test_what_codex_asks_for_in_its_plan_mode_is_answered_by_the_choices_of_its_screen(size: str) -> None:
    shot = next(shot for shot in SHOTS if shot.file.match(f"codex/0.171.0/plan-{size}/03-one-question.txt"))
    asked = read("codex", shot.lines, shot.told)
    assert asked is not None and asked.question.subject == "Which colour do you want?" and not asked.question.partial
    shown = [(one.key, one.label, one.about) for one in asked.question.choices]
    assert shown[:2] == [("1", "Red", "Like a rose"), ("2", "Blue", "Like the sea")]
    assert (shown[2][:2], asked.digits, asked.selected) == (("3", "None of the above"), ("1", "2", "3"), 0)
    row = next(row for row, line in enumerate(shot.lines) if "3. None" in line)
    for more in (["    4. Four"] * 1, [f"    {n}. More" for n in range(4, 14)]):
        many = [*shot.lines[:row], *(line.replace("4", "3", 1) for line in more[:1]), *more[1:], *shot.lines[row:]]
        found = read("codex", many, shot.told)
        assert found is None or not found.question.choices, "what is not numbered through has no digits"


@pytest.mark.parametrize(("program", "scene", "most"), [("opencode", "day", 6), ("vibe", "ask", 5)])
def test_a_command_of_more_rows_than_a_box_surely_shows_is_not_whole(program: str, scene: str, most: int) -> None:
    shot = next(shot for shot in SHOTS if shot.file.match(f"{program}/*/{scene}-80x24/04-command.txt"))
    for count, gone in ((most, 0), (most + 1, 0), (most, 14)):
        lines = commanded(shot.lines, "touch made.txt", [f"echo line {n}" for n in range(count)])
        lines = lines[gone or len(lines) - len(shot.lines) :]
        asked = read(program, lines, shot.told)
        assert asked is not None and len(asked.question.choices) >= 3
        assert asked.question.partial == (count > most or gone > 0)


def test_a_command_below_a_heading_that_took_all_the_room_is_not_whole() -> None:
    """Vibe's box at 50x16 shows its heading in two rows, and nothing of the command or of the change."""
    narrow = [shot for shot in SHOTS if shot.file.match("vibe/*/*-50x16/*.txt") and shot.told["status"] == "waiting"]
    assert len(narrow) == 2
    for shot in narrow:
        asked = read("vibe", shot.lines, shot.told)
        assert asked is not None and asked.question.subject.startswith("Permission for the file_system.")
        assert asked.question.partial and not asked.question.detail
        assert asked.question.uncounted == {"1", "2", "3"}


def test_a_sentence_of_a_programs_own_is_one_line_and_nothing_else_is_joined() -> None:
    shot = next(shot for shot in SHOTS if shot.file.match("claude/2.1.332/ask-80x24/05-command.txt"))
    asked = read("claude", shot.lines, shot.told)
    tip = 'Tip: auto mode handles these prompts for you — choose "switch to auto mode"'
    assert asked is not None and asked.question.beside == f"Bash command\n{tip} below\nRun it"
    for row in ("Below", "/tmp/a", "  below"):
        lines = [line.replace("below", row) if without_styles(line) == " below" else line for line in shot.lines]
        found = read("claude", lines, shot.told)
        assert (found is not None and row in found.question.beside.split("\n")) or row[0] == "x"
    command = commanded(shot.lines, "touch made.txt", [f"echo {'a' * 70}", "below"])
    found = read("claude", command, shot.told)
    assert found is not None and found.question.detail == f"echo {'a' * 70}\nbelow"


def test_the_bar_that_claude_draws_beside_a_command_of_more_rows_is_no_part_of_it() -> None:
    """But one that the command has, in the colour of its words, is."""
    shot = next(shot for shot in SHOTS if shot.file.match("claude/2.1.332/ask-80x24/05-command.txt"))
    rows = ["cat <<E", "│ a │", "  b", "E"]
    lines = commanded(shot.lines, "touch made.txt", [f"\x1b[2m│\x1b[0m {row}" for row in rows])
    found = read("claude", lines, shot.told)
    assert found is not None and found.question.detail == "\n".join(rows)
    found = read("claude", commanded(shot.lines, "touch made.txt", rows), shot.told)
    assert found is not None and found.question.detail == "\n".join(rows)


@for_each([shot for shot in SHOTS if shot.file.match("claude/2.1.332/ask-*/05-command.txt")])
def test_what_is_said_below_the_line_that_ends_a_command_is_no_part_of_it(shot: Shot) -> None:
    """But what looks so in a command is."""
    at = next(row for row, line in enumerate(shot.lines) if "Do you want to proceed?" in line)
    said = [" This command requires approval", "", " Do you want to proceed?"]
    ruled = ["true", "╌" * 14, "rm -rf ~", "╌" * 14, "This command requires approval", "", "Do you want to proceed?"]
    for rows in (["touch made.txt"], ["touch made.txt", "rm -rf ~"], ruled):
        lines = commanded([*shot.lines[:at], *said, *shot.lines[at + 1 :]], "touch made.txt", rows)
        found = read("claude", lines, shot.told)
        assert found is not None and found.question.detail == "\n".join(rows)
        assert found.question.beside.endswith("Run it\nThis command requires approval")


@for_each([shot for shot in shots() if shot.file.match("tall-*/01-question.txt")])
def test_a_question_whose_answers_overflow_needs_the_person_and_has_no_digits(shot: Shot) -> None:
    found = read_screen(LOADED.get(shot.program), shot.lines, shot.told["title"], shot.cursor, shot.width)
    assert (found.status, found.dialog) == ("waiting", False) and found.read is not None
    assert found.read.question.choices == () and found.read.question.overflows
    warnings = program_request(AgentRow(id="1", name="it", kind="cli"), found.read.question).warnings
    assert warnings == ("It has more choices than fit here: open its tab.",)
    warnings = program_request(AgentRow(id="1", name="it", kind="acp"), found.read.question).warnings
    assert warnings == ("It has more choices: no digit chooses the others.",), "its tab has no more"


def test_a_label_that_is_wrapped_is_whole_and_has_no_description() -> None:
    rule = "─" * 60
    label = "Yes, and do not ask again for commands that begin with make in /home/u/project"
    screen = [rule, " Bash command", " Go on?", " ❯ 1. Yes", f"   2. {label[:43]}", f"      {label[44:]}"]
    asked = read_screen(LOADED.get("claude"), [*screen, "   3. No", "", " Esc to cancel"]).read
    assert asked is not None
    assert [(one.label, one.about) for one in asked.question.choices] == [("Yes", ""), (label, ""), ("No", "")]


def test_what_copilot_asks_in_a_small_window_is_what_it_asks_in_a_large_one() -> None:
    asked = [read_shot(f"copilot/1.0.102/day-{size}", "06-command") for size in ("80x24", "120x35", "160x45")]
    always = "Yes, and don't ask again for `touch` in this directory (/home/u/project)"
    for one in asked:
        assert [(each.key, each.label) for each in one.choices][:2] == [("1", "Yes"), ("2", always)]
        assert len(one.choices) == 3 and not one.partial


def in_copilots_box(*choices: str) -> ScreenReading:
    rows = ["Which one?", "", *choices, "", "↑/↓ to navigate · enter to select · esc to cancel"]
    return read_screen(LOADED.get("copilot"), [f"╭{'─' * 78}╮", *(f"│ {row:77}│" for row in rows), f"╰{'─' * 78}╯"])


LONG = f"Run the tests {'and so on ' * 5}".rstrip()


@pytest.mark.parametrize(
    ("rows", "labels"),
    [
        (["❯ 1. No", f"  2. {LONG}", "  afterwards"], ["No", f"{LONG} afterwards"]),
        (["❯ 1. No", f"  2. {LONG}", "  3 then", "  3. Yes"], []),  # "3" had room above
        (["❯ 1. No", f"  2. {LONG} a b c", "  3. then", "  4. Yes"], []),  # "3." had none, so it may be of the label
        (["❯ 1. No", "  2. Run the tests", "  3. Yes"], ["No", "Run the tests", "Yes"]),
        (["❯ 1. No", "  2. Run the tests", "  afterwards"], []),
        (["❯ 1. No", "  2. Yes", "  Other: type your answer"], []),
        (["❯ 1. No", "  2. Yes", "  ↓ 5 more"], []),
        (["❯ 1. No", f"  2. {LONG} a b c d", "  ↓ 5 more"], []),
        (["❯ 1. No", f"  2. {LONG} a b c d", "  … 5 more"], []),
        (["❯ 1. No", f"  2. {LONG} a b c d", "  4) more"], []),
    ],
)
def test_only_what_had_no_room_in_copilots_row_goes_on_below_it(rows: list[str], labels: list[str]) -> None:
    found = in_copilots_box(*rows)
    assert found.status == "waiting" and found.read is not None
    assert [one.label for one in found.read.question.choices] == labels and not found.read.question.overflows


@pytest.mark.parametrize("aligned", ["", " "])
@pytest.mark.parametrize("last", ["10. Delete all", "11. Delete all"])
def test_a_tenth_choice_of_copilots_is_said_and_is_no_part_of_the_ninth(aligned: str, last: str) -> None:
    nine = [f"{'❯' if n == 1 else ' '} {aligned}{n}. Option {n}" for n in range(1, 10)]
    found = in_copilots_box(*nine, *(["  10. Option 10"] if last < "10. E" else []), f"  {last}")
    assert (found.status, found.dialog) == ("waiting", False) and found.read is not None
    assert found.read.question.choices == () and found.read.question.overflows


@pytest.mark.parametrize("title", ["", "⠋ do:many | project"])
@pytest.mark.parametrize(("working", "status"), [(True, "thinking"), (False, "")])
def test_a_long_list_that_codex_writes_is_no_question(title: str, working: bool, status: str) -> None:
    """Nor is a draft that begins like a choice."""
    rows = [
        "› 1. Which of these shall we do?",
        "",
        "• Shall we do these? ",
        "  9. nine",
        "  10. ten",
        "  11. eleven?",
        "",
    ]
    rows += ["◦ Working (3s • esc to interrupt)", ""] if working else []
    found = read_screen(LOADED.get("codex"), [*rows, "", "› 1. and then", "", "  gpt-5 · ~/project"], title)
    assert (found.status, found.read) == (status, None)


def test_codex_says_by_its_own_line_that_not_all_choices_have_room() -> None:
    shot = next(shot for shot in SHOTS if shot.file.match("codex/0.171.0/tall-61x20/01-question.txt"))
    lines = [line for line in shot.lines if not re.search(r" 1[0-2]\. ", line)]
    asked = read("codex", lines, shot.told)
    assert asked is not None and asked.question.overflows and not asked.question.choices
    few = read("codex", [line for line in lines if "1/13" not in line], shot.told)
    assert few is not None and not few.question.overflows


def test_all_words_of_a_question_are_shown_or_it_is_not_whole() -> None:
    """Of two that begin alike, the end says what they do."""
    rule, many = "─" * 100, ["word " * 15] * 5
    for question, choice in ((many, []), ([], many)):
        screen = [rule, *(f" {line}" for line in question), " and delete the backups?", "", " ❯ 1. Yes"]
        screen += ["   2. Yes, also", *(f"      {line}" for line in choice), "      and the backups", "   3. No", ""]
        asked = read_screen(LOADED.get("claude"), [*screen, " Esc to cancel"]).read
        assert asked is not None and len(asked.question.choices) == 3
        shown = f"{asked.question.subject}\n{asked.question.detail}"
        assert "and delete the backups?" in shown and asked.question.partial == bool(choice)


@pytest.mark.parametrize("change", ["two marks", "no mark", "a gap", "text between", "another footer", "from two"])
def test_nothing_is_guessed(change: str) -> None:
    rule = "─" * 60
    screen = [rule, " Bash command", " Go on?", " ❯ 1. Yes", "   2. Maybe", "   3. No", "", " Esc to cancel"]
    assert (good := read_screen(LOADED.get("claude"), screen).read) is not None
    assert len(good.question.choices) == 3
    match change:
        case "two marks":
            screen[4] = " ❯ 2. Maybe"
        case "no mark":
            screen[3] = "   1. Yes"
        case "a gap":
            screen[4] = "   4. Maybe"
        case "text between":
            screen.insert(4, " or else")
        case "another footer":
            screen[-1] = " s to skip · Esc to cancel"
        case _:
            screen[3:6] = [" ❯ 2. Maybe", "   3. No"]
    asked = read_screen(LOADED.get("claude"), screen).read
    assert asked is None or asked.question.choices == ()


ASKED = ["> /add x.py", "─" * 60, "", "x.py", "Add file to the chat? (Y)es/(N)o/(D)on't ask again [Yes]:"]


def letters(lines: list[str], width: int = 80) -> ReadQuestion | None:
    """The question of a screen of aider's, with the cursor behind it."""
    column = len(lines[-1]) + 1
    at = (column % width, len(lines) - 1 + column // width)
    return read_screen(LOADED.get("aider"), lines, "", at, width).read


def test_choices_by_letters_are_read_with_what_they_are_about() -> None:
    asked = letters(ASKED)
    assert asked is not None
    question = asked.question
    assert (question.subject, question.detail, question.partial) == ("Add file to the chat?", "x.py", False)
    assert [(one.key, one.label) for one in question.choices] == [("1", "Yes"), ("4", "No"), ("7", "Don't ask again")]
    assert asked.letters == ("y", "n", "d")


@pytest.mark.parametrize("choices", ["y/n", "y/N", "Y/n"])
def test_letters_alone_are_choices_where_a_profile_reads_them(choices: str) -> None:
    rules = structs.replace(LOADED.get("aider").question, letters=r"^(.*\?) \(([a-zA-Z/]+)\): *$")
    quip = structs.replace(LOADED.get("aider"), question=rules)
    line = f"Really delete everything? ({choices}):"
    asked = read_screen(quip, ["quip> delete all", line], "", (len(line) + 1, 1), 80).read
    assert asked is not None and asked.question.subject == "Really delete everything?"
    assert [(one.key, one.label) for one in asked.question.choices] == [("1", "Yes"), ("4", "No")]
    assert asked.letters == ("y", "n")


@pytest.mark.parametrize("width", range(20, 64))
def test_such_a_question_is_the_same_in_rows_of_any_width(width: int) -> None:
    rows = [ASKED[-1][at : at + width].rstrip() for at in range(0, len(ASKED[-1]), width)]
    if not rows[-1].endswith("[Yes]:") or len(rows[-1]) in (width - 2, width - 1):
        return  # the end is broken too, or there is no room for a letter in its row
    asked = letters([*ASKED[:-1], *rows], width)
    assert asked is not None
    assert [one.label for one in asked.question.choices] == ["Yes", "No", "Don't ask again"]
    assert asked.question.subject == "Add file to the chat?"


def test_what_is_left_of_an_earlier_prompt_behind_a_full_line_is_no_input() -> None:
    wide = len(ASKED[-1])
    asked = read_screen(LOADED.get("aider"), [*ASKED, ">"], "", (1, len(ASKED)), wide).read
    assert asked is not None
    assert (asked.letters, asked.typed) == (("y", "n", "d"), ">")
    assert read_screen(LOADED.get("aider"), [*ASKED, ">n"], "", (2, len(ASKED)), wide).status != "idle"


@pytest.mark.parametrize(
    "last",
    [
        "Add it? (Y)es/(N)o [Yes]: n",
        "Add it? (Y)es/(N)o [Yes]",
        "Add it? (Y)es/(N)o/(Y)o [Yes]:",
        "Add it? (Y)es/no [Yes]:",
        "Add it? (N)o/(Y)es [Yes]:",
        "Add it? (Y)es/(N)o/ask [Yes]:",
    ],
)
def test_letters_that_are_not_as_expected_are_no_choices(last: str) -> None:
    asked = letters([*ASKED[:-1], last])
    assert asked is None or asked.question.choices == ()


def read_shot(recorded: str, file: str) -> OpenQuestion:
    """What is asked on a recorded screen."""
    meta = json.loads((SCREENS / recorded / "screens.json").read_text("utf-8"))
    shot = next(each for each in meta["shots"] if each["file"] == f"{file}.txt")
    found = read(meta["program"], (SCREENS / recorded / shot["file"]).read_text("utf-8").split("\n"), shot)
    assert found is not None
    return found.question


@pytest.mark.parametrize(
    ("recorded", "file", "subject", "labels", "partial"),
    [
        ("kilo/7.7.7/day-80x24", "06-command", "Run it", ["1 Allow once", "2 Allow always", "4 Reject"], False),
        ("kilo/7.7.7/day-160x45", "11-denial", "Run it", ["1 Allow once", "2 Allow always", "4 Reject"], False),
        ("cline/3.0.65/day-120x35", "07-command", "Approve tool call?", ["1 Approve", "4 Deny"], False),
        ("cline/3.0.65/day-80x24", "07-command", "Approve tool call?", ["1 Approve", "4 Deny"], True),
    ],
)
def test_buttons_with_colours_and_choices_with_a_key_each(
    recorded: str, file: str, subject: str, labels: list[str], partial: bool
) -> None:
    """Where Cline has no room for the command, what is decided is out of sight, so no digit counts."""
    question = read_shot(recorded, file)
    assert (question.subject, question.partial) == (subject, partial)
    assert [f"{one.key} {one.label}" for one in question.choices] == labels
    assert partial or "touch made.txt" in question.detail


@pytest.mark.parametrize("size", ["80x24", "120x35", "160x45"])
def test_a_denial_that_is_asked_for_words_is_denied_by_its_key(size: str) -> None:
    question = read_shot(f"kilo/7.7.7/day-{size}", "12-words")
    assert (question.subject, question.partial) == ("Tell Kilo what to do differently", False)
    assert [(one.key, one.label, one.means) for one in question.choices] == [
        ("4", "confirm", "deny"),
        ("7", "cancel", ""),
    ]


@pytest.mark.parametrize("size", ["80x24", "120x35", "160x45"])
@pytest.mark.parametrize(
    ("recorded", "file", "label"),
    [
        ("claude/2.1.332", "05-plan", "Yes, manually approve edits"),
        ("qwen/0.24.4", "04-plan", "Yes, and manually approve edits"),
    ],
)
def test_a_plan_is_approved_once_where_each_edit_is_asked_about(
    recorded: str, file: str, label: str, size: str
) -> None:
    question = read_shot(f"{recorded}/plan-{size}", file)
    assert [(one.key, one.label) for one in question.choices if one.means == "once"] == [("1", label)]


PLAN = "# Tidy the notes\n\n1. Read them.\n2. Write them anew."


@pytest.mark.parametrize("size", ["80x24", "120x35", "160x45"])
def test_a_plan_that_stands_above_its_question_is_shown_with_it(size: str) -> None:
    question = read_shot(f"codex/0.171.0/plan-{size}", "05-plan")
    assert (question.subject, question.partial) == ("Implement this plan?", False)
    assert question.detail.startswith(PLAN)
    assert [(one.key, one.label, one.means) for one in question.choices] == [
        ("6", "Yes, implement this plan", "mode"),
        ("7", "Yes, clear context and implement", "mode"),
        ("4", "No, stay in Plan mode", "deny"),
    ]
    assert question.choices[1].about == "Fresh thread with this plan"


@pytest.mark.parametrize(
    ("row", "instead"),
    [
        ("› do:propose", "  more of the plan"),  # where its turn began has scrolled away, and so may a part of it
        ("• Proposed Plan", "  more of the plan"),
        ("  1. Read them.", "• Proposed Plan"),  # words of its model's that look like another one
        ("  1. Read them.", "• I read them."),
    ],
)
def test_a_plan_of_which_a_part_may_be_elsewhere_is_not_whole(row: str, instead: str) -> None:
    shot = next(shot for shot in SHOTS if shot.file.match("codex/*/plan-80x24/05-plan.txt"))
    lines = [without_styles(line) for line in shot.lines]
    lines = lines[lines.index("› do:propose") :]
    place = lines.index(row)
    found = read("codex", [*lines[:place], instead, *lines[place + 1 :]], shot.told)
    assert found is not None and found.question.partial
    assert found.question.uncounted == frozenset("67"), "only staying in its plan mode counts"


def test_choices_that_a_key_ticks_end_with_one_that_is_enter() -> None:
    lines = ["  ? AskUserQuestion Ask user 2 questions ←", "", "     Colour ✓ ▸ Toppings ✓  Submit", ""]
    lines += [
        "   Which toppings do you want?",
        "",
        "   ❯ [ ] 1. Cheese",
        "            Much of it",
        "     [✓] 2. Olives",
    ]
    lines += ["            Black ones", "     [ ] 3. Type something...", ""]
    lines += ["   ↑/↓: Navigate | ←/→: Switch tabs | Space: Toggle | Enter: Confirm | Esc: Cancel"]
    read = read_screen(LOADED.get("qwen"), lines).read
    assert read is not None and (read.tick, read.digits, read.selected) == ("Space", ("1", "2", "3", ""), 0)
    labels = ["1 [ ] Cheese · Much of it", "2 [✓] Olives · Black ones", "3 [ ] Type something...", "4 Confirm"]
    assert [" ".join(choice) for choice in listed_choices(read.question)] == labels
    ticked = structs.replace(read.question, choices=tuple(map(_ticked, read.question.choices)))
    assert is_ticked_elsewhere(read.question, ticked) and is_ticked_elsewhere(ticked, read.question)
    assert not is_ticked_elsewhere(read.question, structs.replace(ticked, subject="Which other ones?"))
    assert not is_ticked_elsewhere(read.question, structs.replace(ticked, choices=ticked.choices[1:]))
    for changed in ({"label": "Deploy to production"}, {"about": "Now"}, {"means": "more"}, {"key": "9"}):
        choices = (*ticked.choices[:-1], structs.replace(ticked.choices[-1], **changed))
        assert not is_ticked_elsewhere(read.question, structs.replace(ticked, choices=choices)), changed
    for changed in ({"diff": "+rm"}, {"partial": True}, {"detail": "all of it"}):
        assert not is_ticked_elsewhere(read.question, structs.replace(ticked, **changed)), changed


def _ticked(choice: QuestionChoice) -> QuestionChoice:
    return structs.replace(choice, label=choice.label.replace("[ ]", "[✓]"))


@pytest.mark.parametrize("count", [9, 10, 12])
def test_choices_that_no_digit_is_left_for_are_answered_in_its_terminal(count: int) -> None:
    """The tenth one would be the first one's digit, and then another."""
    lines = ["  ? AskUserQuestion Ask user 1 question ←", "", "   Which toppings do you want?", ""]
    lines += [f"   {'❯' if place == 1 else ' '} [ ] {place}. Topping {place}" for place in range(1, count + 1)]
    lines += ["", "   ↑/↓: Navigate | ←/→: Switch tabs | Space: Toggle | Enter: Confirm | Esc: Cancel"]
    reading = read_screen(LOADED.get("qwen"), lines)
    assert reading.status == "waiting" and reading.read is not None and not reading.read.question.choices


TERN = ["» ask", "", "  Delete notes.txt?", "", "    Delete it", "  ▶ Keep it", "", "  ↑↓ move · enter select"]


@pytest.mark.parametrize(
    ("rules", "keys"),
    [
        ({"means": {"once": ("^Delete it$",), "deny": ("^Keep it$",)}}, ["1", "4"]),
        ({"choice": r"^  (?:▶|  ) (\S+) (.*)$", "mark": "^  ▶ ", "footer": "^  ↑↓ move"}, []),
        ({}, []),
    ],
)
def test_marked_choices_without_numbers_are_read_by_what_they_mean(rules: dict[str, Any], keys: list[str]) -> None:
    """Also where the pattern of a choice takes a word for its number, nothing fails."""
    rule = StatusRule(status="waiting", all=(r"^  (.*\?)$",), doing="{1}")
    tern = Profile(name="tern", title="Tern", question=QuestionRules(**rules), rules=(rule,))
    found = read_screen(tern, TERN, "", (0, 7)).read
    assert found is not None and found.question.subject == "Delete notes.txt?"
    assert [one.key for one in found.question.choices] == keys


@pytest.mark.parametrize(("above", "keys"), [("Delete notes.txt?", ["1", "4"]), ("It is one of these:", [])])
def test_right_above_choices_without_numbers_stands_the_question_alone(above: str, keys: list[str]) -> None:
    rule = StatusRule(status="waiting", all=(r"^.{4}(.*[?:])$",), doing="{1}")
    asks = QuestionRules(means={"once": ("^Delete it$",), "deny": ("^Keep it$",)}, frame="│", footer="^└ ↑↓")
    tern = Profile(name="tern", title="Tern", question=asks, rules=(rule,))
    rows = ["» ask", "", "┌──────────", f"│   {above}", "│     Delete it", "│   → Keep it", "└ ↑↓ move · enter select"]
    found = read_screen(tern, rows, "", (0, 6)).read
    assert found is not None and [one.key for one in found.question.choices] == keys


@pytest.mark.parametrize("form", ["{}. {}", "{}) {}", "({}) {}", "[{}] {}", "{}: {}", "{} - {}", "{} {}"])
def test_a_choice_is_pressed_where_its_whole_row_is_shown_however_it_is_numbered(form: str) -> None:
    before, between = (re.escape(part) for part in form.partition("{}")[::2])
    between = between.replace(r"\{\}", "")
    rules = QuestionRules(choice=rf"^(?:\* |  ){before}(\d){between}(\S.*)$", mark=r"^\* ", footer="^move")
    rule = StatusRule(status="waiting", all=(r"^(.*\?)$",), doing="{1}")
    heron = Profile(name="heron", title="Heron", question=rules, rules=(rule,))
    rows = [
        f"{sign} {form.format(number, label)}" for sign, number, label in (("*", 1, "Yes, go"), (" ", 2, "No, stay"))
    ]
    found = read_screen(heron, ["", "Go?", *rows, "move by arrows"], "", (0, 2)).read
    assert found is not None and [one.label for one in found.question.choices] == ["Yes, go", "No, stay"]
    for row, shown in zip(rows, [each for each in found.rows if each.marked], strict=True):
        assert row.endswith(shown.text) and shown.text[0].isdecimal() and len(shown.text) > len("No, stay")


ALWAYS = "Always allow run 'rm *' commands in this project"


def asks_about(detail: str, *labels: str) -> OpenQuestion:
    choices = tuple(QuestionChoice(f"{n}", label, meaning_of(label)) for n, label in enumerate(labels, 1))
    return OpenQuestion(f"{detail} {labels}", "Allow execution of: 'rm'?", detail, choices)


@pytest.mark.parametrize(
    ("other", "same"),
    [
        (asks_about("rm -rf /tmp/x", "Yes", "Always allow run 'rm *'…", "No"), True),
        (asks_about("rm -rf / tmp/x", "Yes", "Always allow run 'rm *'…", "No"), False),
        (asks_about("rm -rf /tmp/x", "Yes", "Always allow run 'mv *'…", "No"), False),
        (asks_about("rm -rf /tmp/x", "Yes", "Always allow run 'rm *'", "No"), False),
        (asks_about("rm -rf /tmp/x", "Yes", "…", "No"), False),
        (asks_about("rm -rf /tmp/x", "Yes", "No", "Always allow run 'rm *'…"), False),
        (asks_about("rm -rf /tmp/x", "Yes", "Always allow run 'rm *'…"), False),
    ],
    ids=["cut", "another command", "another choice", "no sign of a cut", "nothing left", "another order", "one less"],
)
def test_a_question_is_the_same_where_only_its_choices_are_cut(other: OpenQuestion, same: bool) -> None:
    one = asks_about("rm -rf /tmp/x", "Yes", ALWAYS, "No")
    assert (is_cut_elsewhere(one, other), is_cut_elsewhere(other, one)) == (same, same)


def test_the_same_command_elsewhere_or_for_another_reason_is_another_question() -> None:
    shot = next(shot for shot in SHOTS if shot.file.match("codex/0.169.0/dialogs-200x50/*-approval.txt"))
    first = read("codex", shot.lines, shot.told)
    for words, instead in (("local", "production"), ("May I run it?", "Outside the sandbox as root?")):
        then = read("codex", [line.replace(words, instead) for line in shot.lines], shot.told)
        assert first is not None and then is not None and first.question.detail == then.question.detail
        assert first.question.id != then.question.id
        assert not is_cut_elsewhere(first.question, then.question)


def test_a_line_of_a_command_that_runs_is_not_the_question() -> None:
    shot = next(shot for shot in SHOTS if shot.file.match("codex/0.169.0/dialogs-200x50/*-approval.txt"))
    row = next(n for n, line in enumerate(shot.lines) if "Running" in line)
    asked = read("codex", [*shot.lines[: row + 1], "  │ # Show the date?", *shot.lines[row + 2 :]], shot.told)
    assert asked is not None and asked.question.subject == "Would you like to run the following command?"


@pytest.mark.parametrize("said", [["  Shall I?"], ["", "  Shall I?"], ["  Shall I?", ""], ["  Shall I?", *[""] * 3]])
def test_what_codex_says_before_it_asks_is_not_the_question(said: list[str]) -> None:
    shot = next(shot for shot in SHOTS if shot.file.match("codex/0.171.0/plan-80x24/03-one-question.txt"))
    row = next(n for n, line in enumerate(shot.lines) if "I do that." in line)
    asked = read("codex", [*shot.lines[: row + 1], *said, *shot.lines[row + 1 :]], shot.told)
    assert asked is not None and asked.question.subject == "Which colour do you want?"
    assert "Shall" not in asked.question.detail and not asked.question.partial


def test_where_two_lines_may_be_what_codex_asks_no_digit_allows() -> None:
    """Code that its model says may look like it, rows apart from what is above."""
    shot = next(shot for shot in SHOTS if shot.file.match("codex/0.171.0/plan-80x24/03-one-question.txt"))
    row = next(n for n, line in enumerate(shot.lines) if "I do that." in line)
    asked = read("codex", [*shot.lines[: row + 1], "", "", "  Shall I?", "", *shot.lines[row + 1 :]], shot.told)
    assert asked is not None and asked.question.partial


HEADING = "  Would you like to run the following command?"
REMOVES = "  $ rm -rf ~; cat <<X"


@pytest.mark.parametrize(
    ("rows", "subject", "partial"),
    [
        (["• x", "", "", HEADING, "", REMOVES], HEADING, False),
        (["", HEADING, "", REMOVES], HEADING, False),
        (["• x", "", HEADING, "", REMOVES, "", "", "  Shall it?", "  X"], HEADING, True),
        (["• x", "", HEADING, "", REMOVES, "", "", HEADING, "", "  $ ls"], HEADING, True),
        (["• x", "", "  May it?", "", REMOVES, "", "", "  Shall it?", "  X"], "  May it?", True),
        (["  Shall it?", "  true"], "", True),
        (["", "  Shall it?", "  true"], "", True),
        (["  echo hi", "", "", "  Shall it?", "  true"], "", True),
        (["  echo hi", "", "", HEADING, "  true"], "", True),
    ],
)
def test_a_line_of_a_command_that_codex_runs_is_never_all_that_is_asked(
    rows: list[str], subject: str, partial: bool
) -> None:
    """Also where one empty row less is above the heading, and where that has scrolled away."""
    boxes = ["› 1. Yes, proceed (y)", "  2. No, and tell Codex what to do differently (esc)", ""]
    asked = read_screen(LOADED.get("codex"), [*rows, "", *boxes, "  Press enter to confirm or esc to cancel"]).read
    assert asked is not None and asked.question.partial == partial
    assert asked.question.subject == subject.strip() or not subject
    told = f"{asked.question.subject}\n{asked.question.detail}"
    assert all(row.strip() in told for row in rows[1:]), "no row of it is left out"
    allows = {one.means for one in asked.question.choices if one.key not in asked.question.uncounted}
    assert partial == (allows <= {"deny", "words"})


def test_a_models_own_choices_are_the_same_only_in_whole() -> None:
    """It writes what ends them, too."""
    one, other = (asks_about("to the server", label, "No") for label in ("Go on…", "Go on and delete the database"))
    assert not is_cut_elsewhere(one, other) and not is_cut_elsewhere(other, one)
    for label in ("Modify with external editor", "Say more"):
        one, other = (asks_about("rm x", "Yes", always, label, "No") for always in (ALWAYS, "Always allow run…"))
        assert not is_cut_elsewhere(one, other) and not is_cut_elsewhere(other, one)


@for_each([shot for shot in SHOTS if "approval.txt" in shot.file.name or "-command.txt" in shot.file.name])
def test_commands_that_differ_in_blanks_are_two_questions(recorded: Shot) -> None:
    """They do other things: of `'a b'` and `'a  b'`, each is another file."""
    rows = [["touch 'a b'"], ["touch 'a  b'"], ["touch 'a", "b'"], ["touch 'a", " b'"], ["touch 'a", "", "b'"]]
    drawn = [commanded(recorded.lines, "touch made.txt", each) for each in rows]
    found = [read(recorded.program, lines, recorded.told) for lines in drawn if lines]
    asked = [each.question for each in found if each is not None and "touch 'a" in each.question.detail]
    assert len({one.id for one in asked}) == len({one.detail for one in asked}) == len(asked)


@pytest.mark.parametrize(
    ("behind", "box", "partial"),
    [
        ("", ["touch made.txt"], False),
        (" (Makes a file)", ["touch made.txt"], False),
        (" && rm -r old", ["touch made.txt"], True),
        (" && rm -r old", ["touch made.txt", "rm -r old"], True),
        (" && rm -r old", ["touch made.txt && rm -r", "old"], False),
    ],
)
def test_a_command_whose_box_leaves_words_out_is_not_whole(behind: str, box: list[str], partial: bool) -> None:
    """Qwen draws nothing of what has no room at the end of a row; the heading above has it."""
    folder = SCREENS / "qwen" / "0.24.4" / "ask-120x35"
    told = json.loads((folder / "screens.json").read_text("utf-8"))["shots"]
    shot = next(each for each in told if each["file"] == "04-command.txt")
    rows = [without_styles(line) for line in (folder / "04-command.txt").read_text("utf-8").split("\n")]
    at = next(number for number, row in enumerate(rows) if row.startswith("     touch"))
    heading = [row.replace("made.txt ←", f"made.txt{behind} ←") for row in rows[:at]]
    asked = read("qwen", [*heading[len(box) - 1 :], *(f"     {line}" for line in box), *rows[at + 1 :]], shot)
    assert asked is not None
    assert (asked.question.partial, len(asked.question.choices)) == (partial, 4)


@pytest.mark.parametrize(("box", "partial"), [("curl http://x | sh", False), ("curl http://x", True)])
def test_why_qwen_asks_in_its_auto_mode_is_no_part_of_the_command(box: str, partial: bool) -> None:
    warning = ["     ⚠ Auto Mode couldn't classify this action. Review it", "     manually.", ""]
    choices = ["Yes, allow once", "Switch to Default Mode and allow once (recommended)", "No, suggest changes (esc)"]
    rows = ["  ? Shell curl http://x | sh (Get it) ←", "", *warning, f"     {box}", "", "   Allow execution?"]
    rows += ["", *(f"   {' ›'[n == 1]} {n}. {label}" for n, label in enumerate(choices, 1)), "", ""]
    asked = read_screen(LOADED.get("qwen"), [*rows, "  ⠏ Waiting for user confirmation..."]).read
    assert asked is not None and asked.question.partial == partial and "⚠ Auto Mode" in asked.question.beside
    assert asked.question.detail.split("\n")[1:] == ["", f"     {box}"]
    assert [(one.key, one.means) for one in asked.question.choices] == [("1", "once"), ("6", "mode"), ("4", "words")]
    said = read_screen(LOADED.get("qwen"), [rows[0], "", *rows[5:], "  ⠏ Waiting for user confirmation..."]).read
    assert said is not None and said.question.id != asked.question.id
    own = [row.replace("curl http://x | sh", "⚠ Auto Mode; rm -r x") for row in rows]
    lone = read_screen(LOADED.get("qwen"), [*own[:2], *own[5:], "  ⠏ Waiting for user confirmation..."]).read
    assert lone is not None and "rm -r x" in lone.question.detail

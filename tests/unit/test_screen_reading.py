"""The status rules and the reading of drafts, held against the screens of the real programs."""

from pathlib import Path

import pytest

from gshtui.programs.hooks.hook_reports import parse_report
from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.profiles.profile import InputRules, Profile, StatusRule
from gshtui.programs.screen.line_styles import undimmed, without_styles
from gshtui.programs.screen.screen_reading import (
    conversation,
    read_screen,
    rule_matches,
    was_entered,
)
from gshtui.programs.status.evidence import WORKING, Evidence, Rank
from gshtui.programs.status.status import StatusFacts, decide
from tests.kit.recorded_screens import SCREENS, Shot, for_each, shots

LOADED = profiles.load(Path("/nonexistent"))


SHOTS = shots()
FINISHED = Evidence(Rank.TRANSCRIPT, "transcript", "idle", 2.0)
"""A turn that was finished before: nothing on a screen with work or a question on it makes that a rest."""


def test_every_program_is_recorded_in_every_state() -> None:
    states: dict[str, set[str]] = {}
    for shot in SHOTS:
        states.setdefault(shot.program, set()).add(shot.told["status"])
    assert set(states) == {
        *("aider", "claude", "cline", "codex", "copilot", "gemini", "kilo", "opencode", "pi", "qwen", "vibe")
    }
    assert states.pop("aider") == {"idle", "waiting"}, "its screen shows no work but its output"
    assert states.pop("vibe") == {"starting", "idle", "thinking", "waiting"}, "a tool's picture is that of thinking"
    for program in ("qwen", "cline", "copilot", "kilo", "pi"):
        assert states.pop(program) >= {"idle", "thinking", "waiting"}
    for program, seen in states.items():
        assert seen >= {"idle", "thinking", "tool", "waiting", ""}, program


@for_each(SHOTS)
def test_a_screen_says_what_the_program_does(recorded: Shot) -> None:
    profile, shot = LOADED.get(recorded.program), recorded.told
    lines = recorded.lines
    reading = read_screen(profile, lines, shot["title"], recorded.cursor)
    facts = StatusFacts(
        dead=shot["dead"],
        exit_status=shot["exit_status"],
        title=shot["title"],
        started=1.0,
        moved=1.0,
        titled=999.0,
        reading=reading,
        since=1.0,
        ready=True,
    )
    known = decide(profile, (FINISHED,), facts, 1000.0)
    if shot["status"] == "idle":
        alone = decide(profile, (), facts, 1000.0)
        shows = profile.rest.input or bool(reading.ended)
        sure = not reading.draft  # whose Enter may come at any moment
        assert (alone.status, alone.sure) == (("idle", sure) if shows else ("quiet", False)), "an input is no evidence"
    if shot["status"] in WORKING:
        assert known.status in WORKING
    elif shot["status"]:
        assert known.status == shot["status"]
    else:
        assert known.status in ("done", "failed")
        assert known.source == "process"
    if shot["status"] and not shot.get("dialog"):  # what seems to stand in an input behind a dialog is nobody's draft
        assert bool(reading.draft) == shot["draft"], reading.draft
    unread = reading.contradicts == "waiting"  # something is open that no rule is about
    assert known.sure == (not unread and (shot["status"] != "idle" or not reading.draft))
    opened = known.doing.startswith("a dialog is open") or known.doing == "its input is a shell"
    assert opened == (shot.get("dialog", False)), known.doing


TITLES = {
    "claude": {"Settings", "Help", "Resume session", "Permissions", "Agents"},
    "codex": {"Hooks", "Select Model and Effort", "Update Model Permissions", ""},
    "gemini": {"Settings", "Select Theme", "Select Model", ""},
    "opencode": {"Help", "Select model", "Sessions", "Commands"},
    "vibe": {"Settings", "Select Model", "local /home/u/project"},
}
"""The titles of the dialogs on the recorded screens; some have none."""


def test_a_dialog_is_called_what_it_calls_itself() -> None:
    found: dict[str, set[str]] = {program: set() for program in TITLES}
    for each in SHOTS:
        program = each.program
        reading = read_screen(LOADED.get(program), each.lines, each.told["title"], each.cursor)
        if reading.dialog and "its input" not in reading.doing and program in found:
            found[program].add(reading.doing.removeprefix("a dialog is open").removeprefix(": "))
    assert found == TITLES


@pytest.mark.parametrize("program", ["claude", "codex", "gemini", "opencode"])
def test_the_hooks_of_a_program_tell_its_turns(program: str) -> None:
    """The recorded reports: every one is understood, and a turn goes from idle over work to idle."""
    (recorded,) = SCREENS.glob(f"{program}/*/hooks.jsonl")
    profile = LOADED.get(program)
    events = [
        event for line in recorded.read_bytes().split(b"\n") if (event := parse_report(line, profile)) is not None
    ]
    assert all(event.status for event in events), [event for event in events if not event.status]
    statuses = [event.status for event in events]
    assert {"idle", "thinking", "tool", "waiting"} <= set(statuses)
    ids = {event.conversation for event in events if event.conversation}
    assert len(ids) == 1
    assert [event.at for event in events] == sorted(event.at for event in events)


def test_the_approved_command_is_what_the_agent_is_doing() -> None:
    (recorded,) = SCREENS.glob("claude/*/hooks.jsonl")
    profile = LOADED.get("claude")
    doing = [event.doing for line in recorded.read_bytes().split(b"\n") if (event := parse_report(line, profile))]
    assert "Bash touch made.txt" in doing


@for_each(SHOTS)
def test_what_the_program_says_right_above_its_input_is_no_conversation(recorded: Shot) -> None:
    said = conversation(LOADED.get(recorded.program), recorded.lines)
    last = said[-1] if said and recorded.told["status"] == "idle" else ""
    assert not last.endswith("· /effort")
    assert "tmux focus-events" not in last


def test_styles_are_taken_out_and_dim_text_is_a_hint() -> None:
    assert without_styles("\x1b[38;5;2mgreen\x1b[0m \x1b]8;;x\x07link") == "green link"
    assert undimmed(["\x1b[1m›\x1b[0m \x1b[2mhint\x1b[0m typed"]) == ["›      typed"]
    assert undimmed(["\x1b[2mone", "two\x1b[22mthree"]) == ["", "   three"], "attributes go on over lines"
    assert undimmed(["\x1b[38;5;2mgreen", "\x1b[38;2;2;2;2mdark"]) == ["green", "dark"], "a colour's number is no style"


def test_a_numbered_list_in_an_answer_is_no_question() -> None:
    rule = "─" * 60
    screen = [
        "● Which one?",
        "  ❯ 1. Yes, do it",
        "  2. No",
        "  Esc to cancel",
        "",
        rule,
        "❯ ",
        rule,
        "  ? for shortcuts",
    ]
    assert read_screen(LOADED.get("claude"), screen).status == "idle"


def test_words_about_interrupting_in_an_answer_are_no_work() -> None:
    rule = "─" * 60
    screen = ["● Press it:", "  esc to interrupt", "✻ Baked for 2s", "", rule, "❯ ", rule, "  ? for shortcuts"]
    assert read_screen(LOADED.get("claude"), screen).status == "idle"


STARTS = [shot for shot in shots() if shot.program in ("opencode", "kilo") and shot.file.name == "01-idle.txt"]


@for_each(STARTS)
def test_advice_about_interrupting_below_an_input_is_no_work(recorded: Shot) -> None:
    """It stands there on one start of a hundred."""
    lines = recorded.lines
    place = next(row for row, line in enumerate(lines) if "ctrl+p commands" in without_styles(line)) + 4
    for tip in ("Press escape to stop the AI mid-response", "Press esc twice to interrupt"):
        shown = [*lines[:place], f"{'● Tip ':>20}{tip}", *lines[place + 1 :]]
        reading = read_screen(LOADED.get(recorded.program), shown, recorded.told["title"], recorded.cursor)
        assert (reading.status, reading.contradicts) == ("idle", ""), tip


def test_a_draft_that_stands_above_the_input_was_entered_and_one_that_is_gone_was_cleared() -> None:
    claude, opencode = LOADED.get("claude"), LOADED.get("opencode")
    rule, said = "─" * 20, ["❯ good day", "", "● Hello"]
    before, cleared = [*said, rule, "❯ good day"], [*said, rule, "❯ "]
    assert was_entered(claude, "good day", before, ["❯ good day", *said, "", rule, "❯ "])
    assert not was_entered(claude, "good day", before, cleared)
    assert not was_entered(claude, "/good day", before, ["❯ /good day", *said, rule, "❯ "])
    assert was_entered(opencode, "good day", before, cleared), "it shows it later"
    assert not was_entered(opencode, "g", before, cleared), "one key takes that back"


@pytest.mark.parametrize("asks", [False, True])
def test_a_draft_below_words_of_a_question_is_no_choice_of_it(asks: bool) -> None:
    """An answer says them, and the draft begins with a number; in a question they stand below the choices."""
    words, numbered = ["  Which one?", "  Press enter to confirm or esc to cancel", ""], ["› 1. fix the parser"]
    rows = [words[0], "", *numbered, "  2. leave it", "", words[1]] if asks else [*words, *numbered, "", "  gpt · ~/a"]
    assert (read_screen(LOADED.get("codex"), rows).status == "waiting") is asks


def test_a_draft_of_several_lines_is_seen_whole() -> None:
    rule = "─" * 60
    screen = [rule, "❯ first", "  second", rule, "  ? for shortcuts"]
    assert read_screen(LOADED.get("claude"), screen).draft == "first\nsecond"


@pytest.mark.parametrize(
    ("line", "status", "draft"),
    [
        (">>> ", "idle", ""),
        (">>> half", "idle", "half"),
        ("postgres=# ", "idle", ""),
        ("me@host:~$ ls -l", "idle", "ls -l"),
        ("sqlite> ", "idle", ""),
        ("me@host's password: ", "waiting", ""),
        ("Are you sure you want to continue connecting (yes/no/[fingerprint])? ", "waiting", ""),
        ("Compiling 12 of 100", "", ""),
        ("Waiting > 5 seconds", "", ""),
    ],
)
def test_prompts_of_other_programs(line: str, status: str, draft: str) -> None:
    reading = read_screen(LOADED.get("repl"), ["some output", line], "", (len(line), 1))
    assert (reading.status, reading.draft) == (status, draft)


def test_a_footer_that_is_broken_by_a_long_folder_is_still_one() -> None:
    (file,) = SCREENS.glob("opencode/*/dialogs-200x50/07-answered.txt")
    lines = [line for line in file.read_text("utf-8").split("\n") if line.strip()]
    footer = next(number for number, line in enumerate(lines) if "ctrl+p commands" in without_styles(line))
    broken = [*lines[:footer], "   /a/folder/with/a/rather/long/name/          15 ctrl+p", "   project      commands"]
    assert read_screen(LOADED.get("opencode"), broken).status == "idle"


def test_a_column_beside_the_input_is_no_part_of_it() -> None:
    """In a wide window OpenCode has one, and a long folder's name in it stands beside every line of the input."""
    opencode = LOADED.get("opencode")
    box = ["┃", "┃", "┃", "┃  Build · fake Loop"]
    beside = ["/tmp/a/long", "folder/with", "many/parts", "/project"]
    screen = [f"  {line:150}{more}" for line, more in zip(box, beside, strict=True)]
    screen = ["  ┃  Good day", "", *screen, f"  ╹{'▀' * 140}", f"{'15  ctrl+p commands':>140}    • OpenCode 1.18.33"]
    reading = read_screen(opencode, screen, "OC | Small talk", (5, 3))
    assert (reading.status, reading.draft) == ("idle", "")
    screen[3] = f"  {'┃  half a thought':150}folder/with"
    assert read_screen(opencode, screen, "OC | Small talk", (19, 3)).draft == "half a thought"


def test_a_question_that_is_longer_than_a_line_is_still_one() -> None:
    aider = LOADED.get("aider")
    asked = ["> /add x.py", "No files matched 'x.py'. Do you want to create /a/b/x.py? (Y)es/(N)o [Yes]", ":"]
    assert read_screen(aider, asked, "", (1, 2)).status == "waiting"
    assert read_screen(aider, [*asked[:2], ": n", "─" * 60, "> "], "", (2, 4)).status == "idle"
    to_the_end = [asked[0], f"{asked[1]}:", ">"]
    assert read_screen(aider, to_the_end, "", (1, 2)).status == "waiting"
    assert read_screen(aider, [*to_the_end[:2], "─" * 60, "> "], "", (2, 3)).status == "idle"


def test_a_logo_that_moves_is_no_work() -> None:
    """Vibe's is drawn anew for as long as it is to be seen; only the title and the screen's words tell of work."""
    (file,) = SCREENS.glob("vibe/*/dialogs-80x24/02-idle.txt")
    vibe = LOADED.get("vibe")
    reading = read_screen(vibe, file.read_text("utf-8").split("\n"), "Vibe")
    facts = StatusFacts(title="Vibe", started=1.0, moved=999.9, since=1.0, reading=reading, ready=True, fresh=True)
    known = decide(vibe, (), facts, 1000)
    assert (known.status, known.sure) == ("idle", True)


def test_a_blank_screen_is_not_at_rest() -> None:
    opencode = LOADED.get("opencode")
    reading = read_screen(opencode, ["", ""], "OpenCode", (80, 23))
    known = decide(opencode, (), StatusFacts(title="OpenCode", started=1.0, moved=1.0, reading=reading), 30.0)
    assert known.status == "starting"


def test_the_cursor_tells_an_input_from_what_lies_behind_a_dialog() -> None:
    """What looks like the input is none while the cursor is elsewhere; a text with empty lines is in it as a whole."""
    codex = LOADED.get("codex")
    screen = ["• Done.", "", "› first", "", "  fourth", "", "  gpt-5 default · ~/project"]
    assert read_screen(codex, screen, "", (8, 4)).input
    assert read_screen(codex, screen, "", (8, 2)).draft == "first"
    assert not read_screen(codex, screen, "", (3, 0)).input
    assert read_screen(codex, screen).input, "where the cursor is not known, only the text tells"


def test_a_shell_mode_of_the_input_is_no_place_for_a_message() -> None:
    rule = "─" * 60
    screen = ["● Done.", "", rule, "! ls", rule, "  ! for shell mode"]
    reading = read_screen(LOADED.get("claude"), screen)
    assert (reading.status, reading.dialog, reading.draft) == ("waiting", True, "ls")
    said = ["● Type it so:", "  ! for shell mode", "", rule, "❯ ", rule, "  ? for shortcuts"]
    assert read_screen(LOADED.get("claude"), said).status == "idle"


BETWEEN = Profile(
    name="between",
    title="Between",
    input=InputRules(line=r"^([^─].*|)$", above="^─{10,}", below="^─{10,}", more="^([^─].*|)$"),
    rules=(StatusRule(status="idle", input=True, all=("^─{10,}",)),),
)


@pytest.mark.parametrize(
    ("rows", "draft"),
    [([""], ""), (["a thought"], "a thought"), (["one", "", "two"], "one\ntwo"), (["", "b"], "b")],
)
@pytest.mark.parametrize("below", [["~/project", "0.0%"], ["~/project"], []])
def test_an_input_may_be_an_empty_row_between_two_rules(rows: list[str], draft: str, below: list[str]) -> None:
    rule = "─" * 20
    reading = read_screen(BETWEEN, ["An answer.", "", rule, *rows, rule, *below])
    assert (reading.status, reading.draft) == ("idle", draft)
    assert not read_screen(BETWEEN, ["An answer.", "", rule, "✻ it asks", *below]).input


def test_each_rule_tells_where_it_fits_or_what_does_not() -> None:
    claude = LOADED.get("claude")
    lines = ["● Hello.", "─" * 30, "❯ ", "─" * 30, "  ? for shortcuts"]
    place, matches = rule_matches(claude, lines)
    assert place == 2
    by_name = {each.rule.name: each for each in matches}
    assert (by_name["rest"].fits, by_name["rest"].rows) == (True, (2,))
    assert by_name["question"].failed == "input = false"
    assert by_name["working"].failed.startswith("footer: ")
    assert next(each for each in matches if each.fits).rule.status == read_screen(claude, lines).status


def test_a_panel_beside_a_conversation_hides_no_end_of_a_turn() -> None:
    lines = ["  ┃", "  ┃  do:long", "  ┃", "", f"     ▣  Code · fake · interrupted{'▼ Token Usage':>90}"]
    lines += [f"{number:>120}" for number in range(9)]
    lines += ["  ┃", "  ┃", "  ┃  Code  · fake Loop", f"  ╹{'▀' * 80}", f"{'tab agents  ctrl+p commands':>80}"]
    assert read_screen(LOADED.get("kilo"), lines, cursor=(5, 15)).ended == lines[4]


@pytest.mark.parametrize(
    "shot", [shot for shot in SHOTS if shot.program == "gemini" and "interrupted" in shot.file.name]
)
def test_gemini_rests_once_it_has_halted_a_loop(shot: Shot) -> None:
    said = "A potential loop was detected. This can happen due to repetitive tool calls or other model behavior. The"
    lines = [line.replace("Request cancelled.", said) for line in shot.lines]
    assert lines != list(shot.lines)
    reading = read_screen(LOADED.get("gemini"), lines, cursor=shot.cursor)
    assert (reading.status, reading.ended) == ("idle", f"ℹ {said}")


def test_a_row_that_is_there_at_each_rest_tells_of_the_turn_that_is_answered() -> None:
    rule, row = "─" * 80, " Interactive · Manual Approval · / commands                fake"

    def ended(*above: str) -> str:
        lines = [*above, "", rule, "❯", rule, row]
        return read_screen(LOADED.get("copilot"), lines, cursor=(2, len(lines) - 3)).ended

    first, second = "❯ Good day    16:45", "❯ And now?    16:45"
    assert ended(first, "", "● Hello.") not in ("", ended(first, "", "● Hello.", "", second, "", "● Hello."))
    assert ended(first, "", "● Hello.", "", second) == "", "it may have yet to begin with it"
    assert ended("A banner") == row

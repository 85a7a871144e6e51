"""Profiles: what ships, what a user writes, and what is wrong with what they wrote."""

from pathlib import Path

import pytest

from gshtui.programs.commands import resumes
from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.profiles.profile import is_untested
from gshtui.programs.screen.screen_reading import read_screen
from gshtui.text.linear_regex import compile_linear

LOADED = profiles.load(Path("/nonexistent"))


def test_a_program_resumes_only_where_it_is_known_which_conversation_it_is_in() -> None:
    listed = {name for name, profile in LOADED.profiles.items() if resumes(profile)}
    assert listed == {"claude", "cline", "codex", "copilot", "gemini", "goose", "opencode", "pi", "qwen", "vibe"}
    for name in {name for name, profile in LOADED.profiles.items() if profile.conversation.resume} - listed:
        assert not LOADED.profiles[name].conversation.mint, name


def test_what_ships_is_in_order() -> None:
    assert LOADED.problems == ()
    recorded = {folder.name for folder in (Path(__file__).parents[1] / "fixtures" / "screens").iterdir()}
    assert recorded < set(LOADED.profiles) and LOADED.profiles["droid"].login
    for name, profile in LOADED.profiles.items():  # one whose versions were seen has the screens that were seen
        assert not profile.ai or profile.login or is_untested(profile) == (name not in recorded), name
    for name, profile in LOADED.profiles.items():
        if "extends" not in profiles.read_tables(LOADED.origins[name]):
            assert profiles.read(LOADED.origins[name]) == profile
        for _, pattern in profiles.patterns_of(profile):
            assert compile_linear(pattern).pattern == pattern
        assert not profile.ai or profile.timing.idle >= 10
        assert profile.keys.interrupt and profile.keys.exit


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (["claude"], "claude"),
        (["/opt/bin/codex", "--model", "x"], "codex"),
        (["env", "A=1", "claude"], "claude"),
        (["env", *(f"A{number}=claude" for number in range(9)), "nice", "codex"], "codex"),
        (["npx", "opencode"], "opencode"),
        (["python3", "-q"], "python"),
        (["python3", "-i", "app.py"], "python"),
        (["python3", "app.py"], "repl"),
        (["python3", "-m", "http.server"], "repl"),
        (["/bin/bash", "--rcfile", "own", "-i"], "shell"),
        (["-zsh"], "shell"),
        (["bash", "-c", "make"], "repl"),
        (["psql", "db"], "repl"),
        (["my-own-thing", "claude"], "repl"),
    ],
)
def test_a_command_line_finds_its_profile(argv: list[str], name: str) -> None:
    assert LOADED.for_argv(argv).name == name


def test_a_users_profile_replaces_the_one_that_ships(tmp_path: Path) -> None:
    (tmp_path / "claude.toml").write_text('title = "Mine"\nprograms = ["claude"]\n', "utf-8")
    (tmp_path / "tool.toml").write_text('title = "Tool"\nprograms = ["tool"]\nai = false\n', "utf-8")
    loaded = profiles.load(tmp_path)
    assert loaded.problems == ()
    assert loaded.get("claude").title == "Mine"
    assert loaded.origins["claude"] == tmp_path / "claude.toml"
    assert loaded.for_argv(["tool"]).name == "tool"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("title = ", "is not valid TOML"),
        ("programs = ['x']", "missing required field `title`"),
        ("title = 'x'\ncolour = 'red'", "unknown field `colour`"),
        ("title = 'x'\n[timing]\nenter = -1", "`$.timing.enter`"),
        ("title = 'x'\n[[rules]]\nstatus = 'idle'\nall = ['(']", "the pattern '(' of `rules[0].all[0]` is wrong"),
        ("title = 'x'\n[[rules]]\nstatus = 'idle'\nall = ['(?=a)b']", "look-around"),
        ("title = 'x'\n[question]\nchoice = '^  (.*)$'", "of `question.choice` needs 2 groups"),
        ("title = 'x'\n[question]\nkeys = '[yn]'", "of `question.keys` needs 2 groups"),
        ("title = 'x'\n[[rules]]\nstatus = 'idle'", "would always match"),
        ("title = 'x'\n[[rules]]\nstatus = 'sleepy'\nall = ['x']", "sleepy"),
        ("title = 'x'\n[timing]\nidle = 2", "must be at least 10 seconds"),
        ("title = 'x'\n[conversation]\nresume = ['--resume']", "do not name {id}"),
        ("title = 'x'\n[hooks.events]\nStop = 'happy'", "names unknown statuses: happy"),
        ("title = 'x'\nname = '../x'", "must consist of"),
        ("x = " + "[" * 100_000, "nested too deeply"),
    ],
)
def test_a_bad_profile_is_told_in_a_sentence_and_the_others_stay(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "bad.toml").write_text(text, "utf-8")
    loaded = profiles.load(tmp_path)
    (problem,) = loaded.problems
    assert says in problem
    assert str(tmp_path / "bad.toml") in problem
    assert "\n" not in problem
    assert set(loaded.profiles) == set(LOADED.profiles)


def test_a_name_that_is_none_says_which_there_are() -> None:
    with pytest.raises(profiles.ProfileError, match="Known profiles: aider, amp, claude"):
        LOADED.get("clode")


BAR = "─" * 60
COPILOT = [" ● Hello. I am here.", "", " /src/project", BAR, "{input}", BAR, "{footer}"]
QWEN = ["  > hello there", "  ✦ Hello. I am here.", "{work}", BAR, "{input}", BAR, "  {footer}"]
ASKED = [
    "│ Do you want to run this command?           │",
    "│                                            │",
    "│ ❯ 1. Yes                                   │",
    "│   3. No (Esc to stop)                      │",
    "│ ↑/↓ to navigate · enter to select · esc to cancel │",
    "╰────────────╯",
]


def drawn(lines: list[str], **words: str) -> list[str]:
    return [line.format(**words) for line in lines]


@pytest.mark.parametrize(
    ("name", "lines", "status"),
    [
        ("copilot", drawn(COPILOT, input="❯", footer=" ← open sidebar · Interactive · ? help    gpt-4o"), "idle"),
        ("copilot", drawn(COPILOT, input="❯", footer=" ◎ Working · 17 B esc esc interrupt       gpt-4o"), "thinking"),
        ("copilot", ASKED, "waiting"),
        (
            "qwen",
            drawn(QWEN, work="", input=">   Type your message or @path/to/file", footer="? for shortcuts"),
            "idle",
        ),
        ("qwen", drawn(QWEN, work="", input="> a\u200b", footer="⠴ Initializing..."), "starting"),
        (
            "qwen",
            drawn(QWEN, work="  ⠸ Untangling nets... (1s · ↓ 5 tokens · esc to cancel)", input="> ", footer="?"),
            "thinking",
        ),
        ("goose", ["", "( O)> "], "idle"),
        ("goose", ["pondering", "◇ Herding bits (Ctrl+C to interrupt)"], "thinking"),
        ("goose", ["◆  Goose would like to call the above tool, do you allow?", "│  ● Allow", "│  ○ Deny"], "waiting"),
        ("cursor", ["  Working 12 tokens   ctrl+c to stop", "  → Add a follow-up"], "thinking"),
        ("cursor", ["  Done.", "", "  → Add a follow-up", "  Auto"], "idle"),
    ],
)
def test_screens_of_programs_that_are_not_recorded(name: str, lines: list[str], status: str) -> None:
    at = next((n for n, line in enumerate(lines) if line.startswith(("❯", ">"))), len(lines) - 1)
    reading = read_screen(LOADED.get(name), lines, "", (2, at))
    assert reading.status == status

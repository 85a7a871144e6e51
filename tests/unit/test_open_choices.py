"""A marked choice while no input has the cursor: something is open that waits for a person, whatever its words are."""

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest

from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.screen.screen_reading import read_screen

LOADED = profiles.load(Path("/nonexistent"))
PROGRAMS = ("claude", "codex", "gemini", "opencode", "qwen", "vibe", "no-such-program")
OPEN: dict[str, Sequence[str]] = {
    "trust": (" Do you trust the files in this folder?", "", " ❯ Yes, I do", "   No, exit", "", " Enter to confirm"),
    "auto mode": (" Make auto mode your default?", "", " ❯ Yes, set auto mode", "   No, keep manual mode"),
    "login": (" Select login method:", "", " › Account with subscription", "   API key", "   Other provider"),
    "update": ("✨ Update available!", "", "  › Update now", "    Skip", "", "  enter continue · esc skip"),
    "a box": (
        "╭──────────────────────╮",
        "│ Allow this to run?   │",
        "│ ● Allow once         │",
        "│   Always allow       │",
        "│   Deny               │",
        "╰──────────────────────╯",
    ),
    "a provider": (
        "  │                                                                    │",
        "  │ Connect a Provider                                                 │",
        "  │                                                                    │",
        "  │ › The vendor's own                                                 │",
        "  │   With a key of your own                                           │",
        "  │                                                                    │",
        "  │   Third-party Providers                                            │",
        "  │   Choose one of many                                               │",
        "  │                                                                    │",
        "  │   Custom Provider                                                  │",
        "  │   Connect to a server of your own                                  │",
        "  │                                                                    │",
        "  │ Terms of Service:                                                  │",
        "  │ https://example.org/terms                                          │",
        "  └────────────────────────────────────────────────────────────────────┘",
    ),
    "a welcome": ("╭───────────────╮", "│   Welcome!    │", "╰───────────────╯", "", "         Enter continue"),
    "a bar": ("┃ Allow this to run?", "┃ ❯ Allow", "┃   Reject"),
    "a theme": ("? Choose a theme", "  ◉ Dark", "  ○ Light", "  ○ System"),
    "a triangle": ("Trust this directory?", " ▶ Trust", "   Do not trust"),
    "numbers": ("Which one?", " ❯ 1. The first", "   2. The second"),
    "accounts": ("Which account?", "", "> user@example.org", "  other@example.org"),
    "a key": (" What is new in this version", " * much", "", " Press enter to continue"),
    "any key": (" A message from its maker", "", " any other key to close"),
}
QUIET: dict[str, Sequence[str]] = {
    "an answer": ("● I did the thing.", "", "- one", "- two"),
    "an echo": ("❯ do the thing", "", "● I did the thing."),
    "words on keys": ("You can press enter to continue in the other window.", "", "● Done.", "", "a", "b", "c", "d"),
    "output": ("Compiling a v1.0", "Compiling b v1.0", "    Finished"),
}


def screen(rows: Sequence[str], columns: int) -> list[str]:
    return [each[:columns] for each in ("some output from before", "", *rows)] + [""] * (22 - len(rows))


@pytest.mark.parametrize("what", [*OPEN, *QUIET])
def test_what_is_open_needs_a_person(what: str) -> None:
    rows = OPEN.get(what) or QUIET[what]
    for name, columns in product(PROGRAMS, (80, 120, 160)):
        reading = read_screen(LOADED.for_argv((name,)), screen(rows, columns), "", (0, 23), columns)
        assert ("waiting" in (reading.status, reading.contradicts)) == (what in OPEN), (name, columns, reading)
        assert reading.status != "idle", (name, columns)


LOGO = (" ▐▛███▜▌   Claude Code v2.1.332", "─" * 60, "▔" * 60, "  ⣿⣷⣶ Hello")


@pytest.mark.parametrize(
    ("rows", "title"),
    [
        ((*LOGO, "  Pick a look", "", " ❯ Dark", "   Light"), "Pick a look"),
        ((*LOGO, "", " Press enter to continue"), "Press enter to continue"),
        (("▔" * 60, "  ⣿⣷⣶", "  ╭────╮", " ❯ Dark", "   Light"), ""),
        (OPEN["a provider"], "Connect a Provider"),
        (("Name     Used", "", *OPEN["accounts"]), "Which account?"),
        (("╭────╮", "│ ▄▄ │", "╰────╯", "", " Press enter to continue"), ""),
    ],
)
def test_signs_are_no_words_of_what_is_open(rows: Sequence[str], title: str) -> None:
    reading = read_screen(LOADED.get("claude"), rows, "", (0, 23), 80)
    assert reading.doing == "something is open that cannot be read here" + (title and f": {title}")
    assert reading.read is not None and reading.read.question.subject == reading.doing
    detail = reading.read.question.detail
    assert not set("▔⣿▐─╭▄") & set(detail) and title in detail


@pytest.mark.parametrize("name", [each for each in PROGRAMS if each != "no-such-program"])
@pytest.mark.parametrize("asks", ["Log in now? [(y)es, (n)o] ", "Overwrite it? (y/N) ", "Go on? [Y/n]: "])
def test_a_yes_or_no_at_the_cursor_is_open(name: str, asks: str) -> None:
    reading = read_screen(LOADED.for_argv((name,)), screen((asks,), 80), "", (len(asks), 2), 80)
    assert "waiting" in (reading.status, reading.contradicts)

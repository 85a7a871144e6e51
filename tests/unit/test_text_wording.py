"""How a text is written for a program, so that all of it arrives as text."""

from pathlib import Path

import pytest

from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.screen.text_wording import worded

LOADED = profiles.load(Path("/nonexistent"))


@pytest.mark.parametrize("name", ["claude", "codex", "aider", "vibe"])
def test_an_exclamation_mark_is_no_shell(name: str) -> None:
    assert worded(LOADED.get(name), "!important") == " !important"


@pytest.mark.parametrize("name", ["copilot", "pi"])
@pytest.mark.parametrize("blanks", ["", " ", "\n\t"])
def test_blanks_protect_nothing_where_a_program_takes_them_away(name: str, blanks: str) -> None:
    assert worded(LOADED.get(name), f"{blanks}!important") == f"\\{blanks}!important"
    assert worded(LOADED.get(name), "not!") == "not!"


@pytest.mark.parametrize("name", ["claude", "gemini"])
def test_a_backslash_at_the_end_is_no_further_line(name: str) -> None:
    assert worded(LOADED.get(name), "look into C:\\") == "look into C:\\ "


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "opencode", "qwen", "vibe"])
def test_a_file_that_is_named_last_is_not_completed(name: str) -> None:
    profile = LOADED.get(name)
    assert worded(profile, "what is in @readme.txt") == "what is in @readme.txt "
    assert worded(profile, "ask me@example.com") == "ask me@example.com"
    assert worded(profile, "@readme.txt is short") == "@readme.txt is short"
    assert worded(profile, "what is $HOME") == "what is $HOME" + (" " if name == "codex" else "")


@pytest.mark.parametrize("name", ["claude", "codex", "gemini", "opencode", "vibe", "aider"])
@pytest.mark.parametrize("text", ["Good day", "two\nlines", "# heading", "/cost", "/etc/hosts", "", "  indented"])
def test_other_texts_are_written_as_they_are(name: str, text: str) -> None:
    assert worded(LOADED.get(name), text) == text

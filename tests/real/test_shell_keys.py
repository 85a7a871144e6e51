"""`gsh` and its keys in a real zsh with its editor; for `gsh-tui` stands a program that says what it was told."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.home import Home
from tests.kit.shell_keys import bind_keys, offer_agents, press_keys, program_folder, write_echo_program
from tests.kit.shells import Shell


@pytest.fixture
def program(home: Home) -> Path:
    return write_echo_program(home)


@pytest.fixture
def shell(home: Home, program: Path) -> Iterator[Shell]:
    made = Shell(editor=True, before=f"bindkey -e; PATH={program_folder(home)}")
    yield made
    made.close()


def test_words_with_signs_are_words(shell: Shell) -> None:
    shell.run("cd /")
    press_keys(shell, "gsh what is this? and *\n", "[gsh][what][is][this?][and][*]")
    assert shell.wait_for_prompt() == 6


def test_the_key_sends_the_line_as_it_is(shell: Shell) -> None:
    press_keys(shell, "it's \"half 😀 $HOME `x`\x07", "[gsh][--][it's \"half 😀 $HOME `x`]")
    assert shell.wait_for_prompt() == 6


def test_the_key_on_an_empty_line_says_what_to_do(shell: Shell) -> None:
    press_keys(shell, "\x07", "Type what you want")


def test_the_key_does_not_say_twice_whom_it_is_for(shell: Shell) -> None:
    press_keys(shell, "gsh what's this?\x07", "[gsh][--][what's this?]")


def test_the_list(shell: Shell) -> None:
    press_keys(shell, "half a line\x18\x0c", "[agent][ls]")


def test_attaching_to_the_only_one(home: Home, shell: Shell) -> None:
    offer_agents(home, "0003 fix thinking")
    press_keys(shell, "\x18\x01", "[gsh][attach][0003]")


def test_attaching_to_one_of_several(home: Home, shell: Shell) -> None:
    offer_agents(home, "0003 fix thinking", "0004 try idle")
    press_keys(shell, "\x18\x01", "Attach to:")
    press_keys(shell, "2", "[gsh][attach][0004]")


def test_attaching_by_fzf(home: Home, program: Path) -> None:
    offer_agents(home, "0003 fix thinking", "0004 try idle")
    shell = Shell(
        editor=True, before=f"bindkey -e; PATH={program_folder(home, 'fzf')}; export FZF_DEFAULT_OPTS=--filter=try"
    )
    try:
        press_keys(shell, "\x18\x01", "[gsh][attach][0004]")
    finally:
        shell.close()


def test_interrupting(home: Home, shell: Shell) -> None:
    offer_agents(home, "0003 fix thinking")
    press_keys(shell, "\x18c", "[agent][interrupt][0003]")


def test_nobody_to_attach_to(shell: Shell) -> None:
    press_keys(shell, "\x18\x01", "No agent is there.")


def test_a_suggestion_is_taken_whole_or_by_a_word(shell: Shell) -> None:
    shell.run("print one two")
    for key, printed in ((b"\x1b[C", b"\none two\r"), (b"\x05", b"\none two\r"), (b"\x1bf", b"\none\r")):
        shell.press_keys("print o")
        shell.wait_for_text(b"ne two")
        shell.press_keys(key + b"\n")
        shell.wait_for_prompt()
        assert printed in shell.output[-400:]


def test_keys_of_the_settings(home: Home, program: Path) -> None:
    bind_keys(home, 'invoke_llm = "^Xg"\nlist_agents = ""\n')
    shell = Shell(editor=True, before=f"bindkey -e; PATH={program_folder(home)}")
    try:
        press_keys(shell, "two words\x18g", "[gsh][--][two words]")
        shell.wait_for_prompt()
        assert "undefined-key" in shell.output_of("bindkey '^X^L'")
    finally:
        shell.close()


def test_another_name(home: Home, program: Path) -> None:
    shell = Shell(editor=True, before=f"bindkey -e; GSH_NAME=ask; PATH={program_folder(home)}; alias gsh='echo mine'")
    try:
        press_keys(shell, "ask what?\n", "[gsh][what?]")
        shell.wait_for_prompt()
        assert "mine x" in shell.output_of("gsh x")
    finally:
        shell.close()


def test_the_program_is_gone(home: Home, program: Path, shell: Shell) -> None:
    program.unlink()
    os.environ.pop("GSH_TUI")
    shell.press_keys("_gsh_home=/nowhere/a/b/c/d; gsh hello\n")
    shell.wait_for_text(b"was not found")
    assert shell.wait_for_prompt() == 127

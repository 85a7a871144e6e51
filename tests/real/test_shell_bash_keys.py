"""`gsh` and its keys in a real bash with readline; for `gsh-tui` stands a program that says what it was told."""

from __future__ import annotations

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
    made = Shell(program="bash", editor=True, before=f"PATH={program_folder(home)}")
    yield made
    made.close()


def test_words_with_signs_are_words_and_patterns_are_patterns_again(shell: Shell) -> None:
    shell.run("cd /")
    press_keys(shell, "gsh what is this? and *\n", "[gsh][what][is][this?][and][*]")
    assert shell.wait_for_prompt() == 6
    assert "bin" in shell.output_of("echo *")


def test_the_key_sends_the_line_as_it_is(shell: Shell) -> None:
    press_keys(shell, "it's \"half 😀 $HOME `x`\x07", "[gsh][--][it's \"half 😀 $HOME `x`]")
    shell.wait_for_text(b"<<6>>")  # readline has drawn the prompt once more before, for the key


def test_the_key_does_not_say_twice_whom_it_is_for(shell: Shell) -> None:
    press_keys(shell, "gsh what's this?\x07", "[gsh][--][what's this?]")


def test_the_list(shell: Shell) -> None:
    press_keys(shell, "\x18\x0c", "[gsh][agents]")


def test_attaching_to_the_only_one(home: Home, shell: Shell) -> None:
    offer_agents(home, "0003 fix thinking")
    press_keys(shell, "\x18\x01", "[agent][attach][0003]")


def test_attaching_to_one_of_several(home: Home, shell: Shell) -> None:
    offer_agents(home, "0003 fix thinking", "0004 try idle")
    press_keys(shell, "\x18\x01", "Attach: ")
    press_keys(shell, "2\n", "[agent][attach][0004]")


def test_attaching_by_fzf(home: Home, program: Path) -> None:
    offer_agents(home, "0003 fix thinking", "0004 try idle")
    shell = Shell(
        program="bash", editor=True, before=f"PATH={program_folder(home, 'fzf')}; export FZF_DEFAULT_OPTS=--filter=try"
    )
    try:
        press_keys(shell, "\x18\x01", "[agent][attach][0004]")
    finally:
        shell.close()


def test_interrupting(home: Home, shell: Shell) -> None:
    offer_agents(home, "0003 fix thinking")
    press_keys(shell, "\x18c", "[agent][interrupt][0003]")


def test_nobody_to_attach_to(shell: Shell) -> None:
    press_keys(shell, "\x18\x01", "No agent is there.")


def test_keys_of_the_settings(home: Home, program: Path) -> None:
    bind_keys(home, 'invoke_llm = "^Xg"\nlist_agents = ""\n')
    shell = Shell(program="bash", editor=True, before=f"PATH={program_folder(home)}")
    try:
        assert "gsh3" not in shell.output_of("bind -s")
        press_keys(shell, "two words\x18g", "[gsh][--][two words]")
    finally:
        shell.close()

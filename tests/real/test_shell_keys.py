"""`gsh` and its keys in a real zsh with its editor; for `gsh-tui` stands a program that says what it was told."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.home import Home
from tests.kit.shell_keys import agents_there, bind, pressed, program_that_echoes, programs
from tests.kit.shells import Shell


@pytest.fixture
def program(home: Home) -> Path:
    return program_that_echoes(home)


@pytest.fixture
def shell(home: Home, program: Path) -> Iterator[Shell]:
    made = Shell(editor=True, before=f"bindkey -e; PATH={programs(home)}")
    yield made
    made.close()


def test_words_with_signs_are_words(shell: Shell) -> None:
    shell.run("cd /")
    pressed(shell, "gsh what is this? and *\n", "[gsh][what][is][this?][and][*]")
    assert shell.wait() == 6


def test_the_key_sends_the_line_as_it_is(shell: Shell) -> None:
    pressed(shell, "it's \"half 😀 $HOME `x`\x07", "[gsh][--][it's \"half 😀 $HOME `x`]")
    assert shell.wait() == 6


def test_the_key_on_an_empty_line_says_what_to_do(shell: Shell) -> None:
    pressed(shell, "\x07", "Type what you want")


def test_the_key_does_not_say_twice_whom_it_is_for(shell: Shell) -> None:
    pressed(shell, "gsh what's this?\x07", "[gsh][--][what's this?]")


def test_the_list(shell: Shell) -> None:
    pressed(shell, "half a line\x18\x0c", "[agent][ls]")


def test_attaching_to_the_only_one(home: Home, shell: Shell) -> None:
    agents_there(home, "0003 fix thinking")
    pressed(shell, "\x18\x01", "[gsh][attach][0003]")


def test_attaching_to_one_of_several(home: Home, shell: Shell) -> None:
    agents_there(home, "0003 fix thinking", "0004 try idle")
    pressed(shell, "\x18\x01", "Attach to:")
    pressed(shell, "2", "[gsh][attach][0004]")


def test_attaching_by_fzf(home: Home, program: Path) -> None:
    agents_there(home, "0003 fix thinking", "0004 try idle")
    shell = Shell(editor=True, before=f"bindkey -e; PATH={programs(home, 'fzf')}; export FZF_DEFAULT_OPTS=--filter=try")
    try:
        pressed(shell, "\x18\x01", "[gsh][attach][0004]")
    finally:
        shell.close()


def test_interrupting(home: Home, shell: Shell) -> None:
    agents_there(home, "0003 fix thinking")
    pressed(shell, "\x18c", "[agent][interrupt][0003]")


def test_nobody_to_attach_to(shell: Shell) -> None:
    pressed(shell, "\x18\x01", "No agent is there.")


def test_keys_of_the_settings(home: Home, program: Path) -> None:
    bind(home, 'invoke_llm = "^Xg"\nlist_agents = ""\n')
    shell = Shell(editor=True, before=f"bindkey -e; PATH={programs(home)}")
    try:
        pressed(shell, "two words\x18g", "[gsh][--][two words]")
        shell.wait()
        assert "undefined-key" in shell.ran("bindkey '^X^L'")
    finally:
        shell.close()


def test_another_name(home: Home, program: Path) -> None:
    shell = Shell(editor=True, before=f"bindkey -e; GSH_NAME=ask; PATH={programs(home)}; alias gsh='echo mine'")
    try:
        pressed(shell, "ask what?\n", "[gsh][what?]")
        shell.wait()
        assert "mine x" in shell.ran("gsh x")
    finally:
        shell.close()


def test_the_program_is_gone(home: Home, program: Path, shell: Shell) -> None:
    program.unlink()
    os.environ.pop("GSH_TUI")
    shell.type("_gsh_home=/nowhere/a/b/c/d; gsh hello\n")
    shell.until(b"was not found")
    assert shell.wait() == 127

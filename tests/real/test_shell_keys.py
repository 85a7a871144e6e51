"""`gsh` and its keys in a real zsh and bash with their editors; `gsh-tui` is a program that prints its words."""

import os
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import pytest

from tests.kit.home import Home
from tests.kit.shell_keys import bind_keys, offer_agents, press_keys, program_folder, write_echo_program
from tests.kit.shells import Shell


@dataclass(frozen=True)
class Editor:
    """A shell, and how its plugin asks and calls."""

    program: str
    before: str
    list: str
    attach: str
    question: str
    choice: str


ZSH = Editor("zsh", "bindkey -e; ", "[agent][ls]", "[gsh][attach]", "Attach to:", "2")
BASH = Editor("bash", "", "[gsh][agents]", "[agent][attach]", "Attach: ", "2\n")


@pytest.fixture
def program(home: Home) -> Path:
    return write_echo_program(home)


@pytest.fixture(params=[ZSH, BASH], ids=lambda editor: cast("Editor", editor).program)
def editor(request: pytest.FixtureRequest) -> Editor:
    return request.param


@pytest.fixture
def start(home: Home, program: Path, editor: Editor) -> Callable[..., Shell]:
    def made(before: str = "", *programs: str) -> Shell:
        folder = program_folder(home, *programs)
        return Shell(program=editor.program, editor=True, before=f"{editor.before}PATH={folder}{before}")

    return made


@pytest.fixture
def shell(start: Callable[..., Shell]) -> Iterator[Shell]:
    with closing(start()) as made:
        yield made


zsh_only = pytest.mark.parametrize("editor", [ZSH], indirect=False, ids=["zsh"])


def test_words_with_signs_are_words_and_patterns_are_patterns_again(shell: Shell) -> None:
    shell.run("cd /")
    press_keys(shell, "gsh what is this? and *\n", "[gsh][what][is][this?][and][*]")
    assert shell.wait_for_prompt() == 6
    assert "bin" in shell.output_of("echo *")


def test_the_key_sends_the_line_as_it_is(shell: Shell) -> None:
    press_keys(shell, "it's \"half 😀 $HOME `x`\x07", "[gsh][--][it's \"half 😀 $HOME `x`]")
    shell.wait_for_text(b"<<6>>")  # readline has drawn the prompt once more before, for the key


@zsh_only
def test_the_key_on_an_empty_line_says_what_to_do(shell: Shell) -> None:
    press_keys(shell, "\x07", "Type what you want")


def test_the_key_does_not_say_twice_whom_it_is_for(shell: Shell) -> None:
    press_keys(shell, "gsh what's this?\x07", "[gsh][--][what's this?]")


def test_the_list(shell: Shell, editor: Editor) -> None:
    press_keys(shell, "half a line\x18\x0c" if editor is ZSH else "\x18\x0c", editor.list)


def test_attaching_to_the_only_one(home: Home, shell: Shell, editor: Editor) -> None:
    offer_agents(home, "0003 fix thinking")
    press_keys(shell, "\x18\x01", f"{editor.attach}[0003]")


def test_attaching_to_one_of_several(home: Home, shell: Shell, editor: Editor) -> None:
    offer_agents(home, "0003 fix thinking", "0004 try idle")
    press_keys(shell, "\x18\x01", editor.question)
    press_keys(shell, editor.choice, f"{editor.attach}[0004]")


def test_attaching_by_fzf(home: Home, start: Callable[..., Shell], editor: Editor) -> None:
    offer_agents(home, "0003 fix thinking", "0004 try idle")
    with closing(start("; export FZF_DEFAULT_OPTS=--filter=try", "fzf")) as shell:
        press_keys(shell, "\x18\x01", f"{editor.attach}[0004]")


def test_interrupting(home: Home, shell: Shell) -> None:
    offer_agents(home, "0003 fix thinking")
    press_keys(shell, "\x18c", "[agent][interrupt][0003]")


def test_nobody_to_attach_to(shell: Shell) -> None:
    press_keys(shell, "\x18\x01", "No agent is there.")


@zsh_only
def test_a_suggestion_is_taken_whole_or_by_a_word(shell: Shell) -> None:
    shell.run("print one two")
    for key, printed in ((b"\x1b[C", b"\none two\r"), (b"\x05", b"\none two\r"), (b"\x1bf", b"\none\r")):
        shell.press_keys("print o")
        shell.wait_for_text(b"ne two")
        shell.press_keys(key + b"\n")
        shell.wait_for_prompt()
        assert printed in shell.output[-400:]


def test_keys_of_the_settings(home: Home, start: Callable[..., Shell], editor: Editor) -> None:
    bind_keys(home, 'invoke_llm = "^Xg"\nlist_agents = ""\n')
    with closing(start()) as shell:
        if editor is ZSH:
            assert "undefined-key" in shell.output_of("bindkey '^X^L'")
        else:
            assert "gsh3" not in shell.output_of("bind -s")
        press_keys(shell, "two words\x18g", "[gsh][--][two words]")


@zsh_only
def test_another_name(start: Callable[..., Shell]) -> None:
    with closing(start("; GSH_NAME=ask; alias gsh='echo mine'")) as shell:
        press_keys(shell, "ask what?\n", "[gsh][what?]")
        shell.wait_for_prompt()
        assert "mine x" in shell.output_of("gsh x")


@zsh_only
def test_the_program_is_gone(program: Path, shell: Shell) -> None:
    program.unlink()
    os.environ.pop("GSH_TUI")
    shell.press_keys("_gsh_home=/nowhere/a/b/c/d; gsh hello\n")
    shell.wait_for_text(b"was not found")
    assert shell.wait_for_prompt() == 127

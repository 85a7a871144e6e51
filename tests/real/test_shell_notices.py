"""An agent that was started at a prompt has ended: its shell says so once, before its next prompt, and only there."""

import contextlib
import os
import sys
import threading
from collections.abc import Generator
from pathlib import Path

import pytest

from gshtui.settings.loader import load
from gshtui.shell import plugin_files
from tests.kit.command import ROOT
from tests.kit.home import Home
from tests.kit.shells import Shell
from tests.kit.tmux import eventually, short_folder

SAID = plugin_files.announce_end("gsh-agent-0012", "0012", True)


@pytest.fixture(params=["zsh", "bash"])
def shell(home: Home, request: pytest.FixtureRequest) -> Generator[Shell]:
    made = Shell(program=request.param)
    made.run("true")
    yield made
    made.close()


def file_of(shell: Shell) -> Path:
    found = plugin_files.notice_file(shell.output_of("echo $GSH_SHELL_ID"))
    assert found is not None
    return found


def test_it_is_said_once_before_a_prompt_and_changes_no_status(shell: Shell) -> None:
    file = file_of(shell)
    plugin_files.leave_notice(file, SAID)
    plugin_files.leave_notice(file, plugin_files.announce_end("helper", "0013", False))
    assert shell.run("(exit 3)") == 3
    assert shell.output.count(b"[gsh] Agent gsh-agent-0012 completed: gsh show 12") == 1
    assert shell.output.count(b"[gsh] Agent helper failed: gsh show 13") == 1
    assert not file.exists() or not file.stat().st_size
    shell.run("true")
    assert shell.output.count(b"[gsh] Agent") == 2


def test_it_is_not_said_in_the_middle_of_a_command(shell: Shell) -> None:
    file = file_of(shell)
    shell.press_keys("printf 'ask''ed\\n'; read -r answer; printf 'got''ten\\n'\n")
    shell.wait_for_text(b"asked")
    plugin_files.leave_notice(file, SAID)
    shell.press_keys("yes\n")
    shell.wait_for_prompt()
    said = shell.output
    assert said.index(b"gotten") < said.index(b"[gsh] Agent")


def test_it_can_be_switched_off(home: Home, shell: Shell) -> None:
    file = file_of(shell)
    os.environ["GSH_SHELL__NOTICES"] = "false"
    plugin_files.write_options(load(home.path).settings)
    quiet = Shell(program="zsh")
    quiet.run("true")
    for each in (file, file_of(quiet)):
        plugin_files.leave_notice(each, SAID)
    quiet.run("true")
    assert b"[gsh] Agent" not in quiet.output
    quiet.close()


def test_what_is_no_shell_gets_no_file_and_a_full_one_stays_as_it_is(home: Home) -> None:
    assert plugin_files.notice_file("") is None
    assert plugin_files.notice_file("../options") is None
    file = plugin_files.notice_file("1-2-3")
    assert file is not None
    for _ in range(300):
        plugin_files.leave_notice(file, "x\x1b[2J" * 20)
    assert file.stat().st_size < 9_000
    assert b"\x1b" not in file.read_bytes()
    assert file.stat().st_mode & 0o777 == 0o600


def test_no_notice_is_lost_when_zsh_takes_the_file_at_that_moment(home: Home) -> None:
    """It moves the file away, and reads it then."""
    file = plugin_files.notice_file("1-2-3")
    assert file is not None
    seen: set[str] = set()
    done = threading.Event()
    taken = file.with_name("taken")

    def take() -> None:
        with contextlib.suppress(FileNotFoundError):
            file.replace(taken)
            seen.update(taken.read_text().split())
            taken.unlink()

    def prompts() -> None:
        while not done.is_set():
            take()

    reader = threading.Thread(target=prompts)
    reader.start()
    for number in range(400):
        plugin_files.leave_notice(file, f"n{number}")
    done.set()
    reader.join()
    take()
    assert {f"n{number}" for number in range(400)} <= seen


async def test_an_agent_of_this_shell_says_so_when_it_has_ended(home: Home) -> None:
    """The whole way: a real agent in a terminal, started by `gsh --background` in a real zsh."""
    with short_folder() as folder:
        os.environ["TMUX_TMPDIR"] = str(folder)
        await _whole_way(home)


async def _whole_way(home: Home) -> None:
    program = home.path / "gsh-tui"
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m gshtui "$@"\n')
    program.chmod(0o755)
    os.environ["GSH_TUI"] = str(program)
    (home.path / "notes.txt").write_text("what is in it\n")
    with contextlib.closing(Shell()) as shell:
        said = shell.output_of("gsh --background read notes.txt")
        assert "[gsh] Started agent " in said
        name = said.partition("Started agent ")[2].split()[0]
        file = file_of(shell)

        async def there() -> bool:
            return file.exists()

        await eventually(there, until=bool)
        assert f"[gsh] Agent {name} completed: gsh show " in shell.output_of("true")

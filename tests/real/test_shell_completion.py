"""TAB behind `gsh` and `gsh-tui` in real shells, answered by the real program."""

import os
import shlex

import pytest

from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.bus.messages import Message, Text
from gshtui.settings import paths
from gshtui.store.record.store import Store
from tests.kit.endings import closing_async
from tests.kit.home import Home
from tests.kit.shells import Shell
from tests.kit.warm_program import SDKS, shared

BEFORE = {"zsh": "bindkey -e; autoload -Uz compinit; compinit -u -d $HOME/.zcompdump", "bash": ""}


@pytest.fixture(params=["zsh", "bash"])
def shell(home: Home, request: pytest.FixtureRequest) -> Shell:
    file = home.path / "bin" / "gsh-tui"
    file.parent.mkdir()
    file.write_text(f'#!/bin/sh\nexec {shlex.join(shared(*SDKS).argv())} "$@" </dev/null\n')  # as on no terminal
    file.chmod(0o755)
    os.environ["GSH_TUI"] = str(file)
    (home.path / "project-with-a-name").mkdir()
    made = Shell(
        program=request.param, editor=True, before=f"{BEFORE[request.param]}\nPATH={file.parent}:/usr/bin:/bin"
    )
    request.addfinalizer(made.close)
    return made


COMPLETED = (
    ("gsh-tui sess", "gsh-tui session"),
    ("gsh-tui session sh", "gsh-tui session show"),
    ("gsh-tui shell un", "gsh-tui shell uninstall"),
    ("gsh --backg", "gsh --background"),
    ("gsh-tui agent spawn --pers", "gsh-tui agent spawn --persona"),
    ("gsh-tui agent spawn --persona expl", "gsh-tui agent spawn --persona explore"),
    ("gsh-tui agent spawn --cli aid", "gsh-tui agent spawn --cli aider"),
    ("gsh-tui prompt --provider offl", "gsh-tui prompt --provider offline"),
    ("gsh sho", "gsh show"),
    ("gsh agents rena", "gsh agents rename"),
    ("gsh-tui agent spawn --cwd proj", "gsh-tui agent spawn --cwd project-with-a-name"),
)


def test_the_rest_of_a_word(shell: Shell) -> None:
    for typed, whole in COMPLETED:
        shell.press_keys(f"\x15{typed}\t")
        shell.wait_for_text(whole.encode())


def test_several_that_are_possible(shell: Shell) -> None:
    shell.press_keys("gsh-tui session \t\t")
    for word in (b"ls", b"show", b"resume", b"export"):
        shell.wait_for_text(word)


async def test_names_of_the_record(shell: Shell) -> None:
    async with closing_async(await Store.open(paths.data_dir() / "gsh.db")) as store:
        await store.agents.add(AgentRow(id="", name="fix-the-lexer", home="/p"), SpawnRequest())
        session = await store.sessions.create(cwd=os.environ["HOME"], agent="main", title="about parsers")
        message = Message("m1", "user", (Text("hello"),))
        await store.messages.append(session.id, message)
    for typed, whole in (
        ("gsh show 00", "gsh show 0001"),
        ("gsh-tui agent kill 00", "gsh-tui agent kill 0001"),
        (f"gsh-tui session export {session.id[:4]}", f"gsh-tui session export {session.id}"),
    ):
        shell.press_keys(f"\x15{typed}\t")
        shell.wait_for_text(whole.encode())


def test_no_record_no_names_and_no_noise(shell: Shell) -> None:
    shell.press_keys("gsh show 00\t")
    shell.wait_for_text(b"\x07")
    shell.press_keys("\x15: still here\n")
    assert shell.wait_for_prompt() == 0
    assert b"Error" not in shell.output and b"Traceback" not in shell.output

"""The fish plugin on a real fish in a pty: what it records, what stays with the person, and the key."""

import json
import os
import shutil
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gshtui.shell import plugin
from tests.kit.home import Home
from tests.kit.pty_child import PtyChild

FISH = shutil.which("fish") or "fish"
FIRST = 'echo "é \\\\ \U0001f40d" | cat'
ODD = "odd '\\\" name"


class Fish:
    """One interactive fish with the plugin, whose prompt is `READY` with a number."""

    def __init__(self, folder: Path, home: Home) -> None:
        self.home = home
        self.answers = folder / "asked"
        program = folder / "gsh-tui"
        program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >>{self.answers}\n')
        program.chmod(0o755)
        count = "function count_prompts --on-event fish_prompt; set -g N (math 0$N + 1); end"
        prompt = f"{count}; function fish_prompt; printf 'READY%d> ' $N; end; set -g fish_greeting"
        code = f"set -g fish_features ''; {prompt}; {plugin.text('fish', str(program))}"
        self.child = PtyChild([FISH, "-C", code], folder)
        self.prompts = 0
        self.child.go()
        self.ready()

    def ready(self) -> None:
        """Wait for the next prompt."""
        self.prompts += 1
        self.child.read_until(lambda: f"READY{self.prompts}> ".encode() in self.child.output)

    def run(self, line: str) -> None:
        self.child.write(line.encode() + b"\r")
        self.ready()

    def lines(self) -> list[dict[str, Any]]:
        """What it has reported."""
        (file,) = (self.home.data / "gsh" / "spool").glob("*.jsonl")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
        return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


@pytest.fixture
def fish(tmp_path: Path, home: Home) -> Iterator[Fish]:
    shell = home.state / "gsh" / "shell"
    shell.mkdir(parents=True)
    (shell / "options").write_text("ignore_plain=*pass?word*\nignore_plain=vault [a-z]*\n", "utf-8")
    made = Fish(tmp_path, home)
    yield made
    made.child.close()


def test_commands_are_recorded_and_what_is_private_is_not(fish: Fish, tmp_path: Path) -> None:
    (tmp_path / ODD).mkdir()
    for line in (
        FIRST,
        " echo hidden",
        "echo my pass-word",
        "vault x read",
        "false",
        f"cd {tmp_path}/odd*",
        "gsh run -- true",
        "begin; true; end; false | true",
    ):
        fish.run(line)
    events = fish.lines()
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    started = [event for event in events if event["type"] == "ShellCommandStarted"]
    ended = [event for event in events if event["type"] == "ShellCommandFinished"]
    assert [event["command"] for event in started] == [
        FIRST,
        "false",
        f"cd {tmp_path}/odd*",
        "begin; true; end; false | true",
    ]
    assert [event["exit"] for event in ended] == [0, 1, 0, 0]
    assert ended[3]["pipestatus"] == [1, 0]
    assert [event["number"] for event in started] == [event["number"] for event in ended] == [1, 5, 6, 8]
    (moved,) = [event for event in events if event["type"] == "ShellFolderChanged"]
    assert moved["new"] == str(tmp_path / ODD)
    assert events[0]["type"] == "ShellStarted" and events[0]["program"] == "fish"
    (fish.home.state / "gsh" / "shell" / "paused").touch()
    fish.run("echo paused")
    assert len(fish.lines()) == len(events)
    fish.child.write(b"exit\r")
    fish.child.wait()


def test_the_key_asks_with_the_line_as_it_is(fish: Fish) -> None:
    fish.child.write(b'what\'s "this" * ?\\x')
    fish.child.read_until(lambda: b"?\\x" in fish.child.output)
    fish.child.write(b"\x07")
    fish.ready()
    assert fish.answers.read_text().splitlines() == ["gsh", "--", 'what\'s "this" * ?\\x']
    fish.run("gsh show 12")
    assert fish.answers.read_text().splitlines()[3:] == ["gsh", "show", "12"]


def test_a_script_is_left_alone_and_the_line_of_the_file_is_fishs(tmp_path: Path, home: Home) -> None:
    (tmp_path / "ran.fish").write_text(f"{plugin.line('fish')}\nfunctions -q gsh; and echo loaded; echo over\n")
    said = subprocess.run([FISH, str(tmp_path / "ran.fish")], capture_output=True, text=True, check=True)
    assert (said.stdout, said.stderr) == ("over\n", "")
    word = plugin.quoted("/a b/it's\\x", "fish")
    shown = subprocess.run([FISH, "-c", f"printf %s {word}"], capture_output=True, text=True, check=True)
    assert shown.stdout == "/a b/it's\\x"
    assert not (home.data / "gsh" / "spool").exists() and os.environ.get("GSH_SHELL_ID") is None

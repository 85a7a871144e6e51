"""The bash plugin on a real bash in a terminal: the same lines, by way of the spool."""

import contextlib
import os
import re
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from gshtui.bus.events.shell_events import ShellCommandStarted
from gshtui.settings.loader import load
from gshtui.shell import plugin_files, spool
from tests.kit.home import Home
from tests.kit.reporting_hub import spooled
from tests.kit.shells import Shell


@pytest.fixture
def shell() -> Iterator[Shell]:
    made = Shell(program="bash")
    yield made
    made.close()


def told(home: Home, kind: str) -> list[dict[str, Any]]:
    return [line for line in spooled(home.data) if line["type"] == kind]


def commands(home: Home) -> list[str]:
    return [line["command"] for line in told(home, "ShellCommandStarted")]


def test_a_command_with_its_end(home: Home, shell: Shell) -> None:
    assert shell.run("false | true | (exit 3)") == 3
    shell.run("cd /")
    pid = shell.pid
    assert shell.exit() == 0
    started, ended = told(home, "ShellCommandStarted"), told(home, "ShellCommandFinished")
    assert commands(home) == ["false | true | (exit 3)", "cd /", "exit"]
    assert [(line["exit"], line["pipestatus"]) for line in ended] == [(3, [1, 0, 3]), (0, [0])]
    assert [line["number"] for line in started] == [1, 2, 3]
    assert [line["new"] for line in told(home, "ShellFolderChanged")] == ["/"]
    (begun,) = told(home, "ShellStarted")
    assert (begun["program"], begun["pid"]) == ("bash", pid)
    assert len(told(home, "ShellEnded")) == 1
    assert [line["seq"] for line in spooled(home.data)] == list(range(1, len(spooled(home.data)) + 1))


@pytest.mark.parametrize("typed", [["true once"], []])
@pytest.mark.parametrize("end", ["ctrl+d", "closed"])
def test_what_runs_as_the_shell_ends_is_nobodys_command(home: Home, end: str, typed: list[str]) -> None:
    (home.path / ".bash_history").write_text("of an earlier shell\n")
    with contextlib.closing(Shell(program="bash", before="trap 'echo BYE; true' EXIT")) as shell:
        for line in typed:
            shell.run(line)
        if end == "ctrl+d":
            shell.press_keys("\x04")
        else:
            os.kill(shell.pid, signal.SIGHUP)
        shell.wait_for_end()
    assert b"BYE" in shell.output
    assert commands(home) == typed
    assert len(told(home, "ShellEnded")) == len(typed)


def test_nobody_notices(shell: Shell) -> None:
    assert shell.run("(exit 7)") == 7
    assert shell.output_of("echo $?") == "7"
    shell.run("true some words")
    assert shell.output_of('echo "$_"') == "words"
    assert shell.output_of("false | true; echo ${PIPESTATUS[@]}") == "1 0"
    assert shell.output_of("IFS=x; echo $-") != ""
    shell.run("")
    shell.run("")
    assert b"gsh" not in shell.output


HOSTILE = {
    "quotes": b"""true "a\\"b\\\\" 'c"d' $(true \\')""",
    "emoji": "true '👩 é 𐍈 \u2028'".encode(),
    "control": b"true '\x16\x01\x16\x1b[31m'",
    "invalid": b"true '\xff\xfe'",
    "among others": "true 'é".encode() + b"\xff\xe2\x82" + "😀 €'".encode() + b" \xed\xa0\x80",
}


@pytest.mark.parametrize("name", list(HOSTILE))
def test_hostile_commands(home: Home, shell: Shell, name: str) -> None:
    assert shell.run(HOSTILE[name]) == 0
    raw = re.sub(rb"\x16(.)", rb"\1", HOSTILE[name])
    assert commands(home) == [re.sub("[\udc80-\udcff]", "\ufffd", raw.decode("utf-8", "surrogateescape"))]


def test_private_commands(home: Home) -> None:
    file = home.config / "gsh" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('[shell]\nignore = ["pass *"]\n')
    plugin_files.write_options(load(home.path).settings)
    with contextlib.closing(Shell(program="bash", before="HISTCONTROL=ignoreboth")) as shell:
        for line in ("true first", " echo secret", "pass secret", "true first", "true last"):
            shell.run(line)
        plugin_files.pause_recording()
        shell.run("echo secret")
    assert commands(home) == ["true first", "true first", "true last"]
    assert "secret" not in repr(spooled(home.data))


def test_hooks_of_others_go_on(home: Home) -> None:
    with contextlib.closing(
        Shell(
            program="bash",
            before="trap 'seen=x$seen' DEBUG; PROMPT_COMMAND='prompted=y$prompted'; trap 'echo BYE' EXIT",
        )
    ) as shell:
        shell.run("true")
        shell.run("# a remark")
        assert shell.output_of("echo $prompted").startswith("yy")
        assert shell.output_of("echo $seen").startswith("x")
        shell.exit()
        assert b"BYE" in shell.output
    assert commands(home)[0] == "true"
    assert [line["text"] for line in told(home, "ShellNoted")] == ["a remark"]


def test_with_bash_preexec(home: Home) -> None:
    """As that one does it: it calls the two lists, and sets BP_PIPESTATUS."""
    before = """
bash_preexec_imported=defined
preexec_functions=() precmd_functions=()
__each() { local f; for f in "${preexec_functions[@]}"; do "$f" "$BASH_COMMAND"; done; }
__invoke() { [[ -z $armed ]] || { armed=''; __each; } }
__precmd() { local code=$? f; BP_PIPESTATUS=(4 2); for f in "${precmd_functions[@]}"; do (exit $code); "$f"; done; }
PROMPT_COMMAND='__precmd; armed=1'
trap __invoke DEBUG
"""
    with contextlib.closing(Shell(program="bash", before=before)) as shell:
        shell.run("false")
        shell.run("true")
    assert commands(home) == ["false", "true"]
    ended = told(home, "ShellCommandFinished")
    assert [(line["exit"], line["pipestatus"]) for line in ended] == [(1, [4, 2]), (0, [4, 2])]


def test_a_home_that_cannot_be_written(shell: Shell) -> None:
    os.environ["XDG_DATA_HOME"] = "/dev/null/nowhere"
    with contextlib.closing(Shell(program="bash")) as other:
        assert other.run("true") == 0
        assert other.run("(exit 2)") == 2
        assert b"gsh" not in other.output


def test_what_a_full_disk_refuses_is_written_with_the_next_line(home: Home, shell: Shell) -> None:
    shell.run("true first")
    (file,) = home.data.glob("gsh/spool/*.jsonl")
    full = "places=($_gsh_spool $_gsh_last) _gsh_spool=/dev/full _gsh_last=/dev/full"
    room = "_gsh_spool=${places[0]} _gsh_last=${places[1]}"
    shell.run(full)
    shell.run("(exit 2)")
    shell.run("true 'is  typed' so")
    assert b"/dev/full:" not in shell.output and b"No space" not in shell.output
    with file.open("a") as torn:
        torn.write('{"v":2,"type":"ShellCommandStar')  # as far as there was room
    shell.run(room)
    shell.run("true last")
    with file.open("rb") as opened:
        events = [event for event, _ in spool.read(opened.fileno())[0].events]
    typed = [event.command for event in events if isinstance(event, ShellCommandStarted)]
    assert typed == ["true first", full, "(exit 2)", "true 'is  typed' so", room, "true last"]


def test_lines_that_bash_does_not_announce(home: Home, shell: Shell) -> None:
    lines = {
        "(exit 4)": 4,
        "f() { return 5; }": 0,
        "f": 5,
        "true )": 2,
        "! (true)": 1,
        "((0))": 1,
        "(true) | (exit 3)": 3,
    }
    for line, status in lines.items():
        assert shell.run(line) == status
    shell.run("")
    assert commands(home) == list(lines)
    assert [line["exit"] for line in told(home, "ShellCommandFinished")] == list(lines.values())

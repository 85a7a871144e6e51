"""The zsh plugin on a real zsh in a terminal: what is told of commands, and that nobody notices it."""

from __future__ import annotations

import contextlib
import fnmatch
import os
import re
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gshtui.bus.events.shell_events import (
    ShellCommandFinished,
    ShellCommandStarted,
    ShellEnded,
    ShellFolderChanged,
    ShellNoted,
    ShellStarted,
)
from gshtui.settings import paths
from gshtui.settings.loader import load
from gshtui.shell import plugin_files
from tests.kit.home import Home
from tests.kit.reporting_hub import ReportingHub, spooled
from tests.kit.shells import Shell, zsh
from tests.kit.storms import examples


@pytest.fixture
def hub() -> Iterator[ReportingHub]:
    made = ReportingHub(paths.runtime_dir() / "gsh.sock")
    yield made
    made.close()


@pytest.fixture
def shell(hub: ReportingHub) -> Iterator[Shell]:
    made = Shell()
    yield made
    made.close()


def commands(hub: ReportingHub) -> list[str]:
    return [event.command for event in hub.of(ShellCommandStarted)]


def told(hub: ReportingHub, count: int) -> list[Any]:
    """The ends of so many commands, once they are there."""
    hub.wait_for(lambda: len(hub.of(ShellCommandFinished)) >= count)
    return hub.of(ShellCommandFinished)


def test_a_command_is_told_with_its_end(hub: ReportingHub, shell: Shell, home: Home) -> None:
    assert shell.run("false | true | (exit 3)") == 3
    (finished,) = told(hub, 1)
    (started,) = hub.of(ShellCommandStarted)
    (begun,) = hub.of(ShellStarted)
    assert (started.command, started.number, started.cwd) == ("false | true | (exit 3)", 1, str(home.path))
    assert (finished.exit, finished.pipestatus, finished.number) == (3, (1, 0, 3), 1)
    assert finished.duration >= 0
    assert finished.at >= started.at
    assert begun.pid == shell.pid
    assert begun.host == socket.gethostname()
    assert begun.tty.startswith("/dev/")
    assert begun.shell == started.shell == finished.shell
    assert hub.bad == []


def test_an_alias_is_told_as_typed_and_as_run(hub: ReportingHub, shell: Shell) -> None:
    shell.run("alias say='echo  hello'")
    shell.run("say you")
    shell.run("for i in 1 2; do echo $i; done > /dev/null")
    told(hub, 3)
    assert [event.expanded for event in hub.of(ShellCommandStarted)] == ["", "echo hello you", ""]


def test_folders_and_remarks(hub: ReportingHub, shell: Shell, home: Home) -> None:
    shell.run("setopt interactive_comments")
    shell.run("cd /usr; (cd /tmp); cd /")
    shell.run("# what I am doing")
    shell.run("true")
    told(hub, 3)
    assert [(e.old, e.new) for e in hub.of(ShellFolderChanged)] == [(str(home.path), "/usr"), ("/usr", "/")]
    assert [(e.text, e.cwd) for e in hub.of(ShellNoted)] == [("what I am doing", "/")]
    assert commands(hub)[-1] == "true"


def test_the_end_of_the_shell(hub: ReportingHub, shell: Shell) -> None:
    shell.run("true")
    assert shell.exit() == 0
    hub.wait_for(lambda: bool(hub.of(ShellEnded)))


def test_nobody_notices(shell: Shell) -> None:
    """`$?`, `$_`, options, traps and what is printed are as without the plugin."""
    assert shell.run("(exit 7)") == 7
    assert shell.output_of("echo $?") == "7"
    shell.run("true some words")
    assert shell.output_of('echo "$_"') == "words"
    assert shell.output_of("false; echo ${pipestatus[@]}") == "1"
    assert shell.output_of("setopt | grep -c -e multibyte -e emulate; trap") == "0"
    assert b"gsh" not in re.sub(rb"grep[^\n]*", b"", shell.output)


OPTIONS = [
    "setopt ksh_arrays",
    "setopt sh_word_split no_nomatch glob_subst",
    "setopt err_return no_unset pipe_fail warn_create_global",
    "set -euo pipefail",
    "setopt xtrace",
    "setopt ksh_glob sh_glob no_multibyte posix_builtins",
    "setopt no_short_loops rc_quotes ignore_braces csh_null_glob",
    "emulate sh",
    "LC_ALL=C",
    "IFS=:",
]


@pytest.mark.parametrize("line", OPTIONS)
def test_any_options(hub: ReportingHub, shell: Shell, line: str) -> None:
    shell.run(line)
    assert shell.run("echo 'some' words é") == 0
    assert shell.run("true a:b c") == 0
    told(hub, 3)
    assert commands(hub) == [line, "echo 'some' words é", "true a:b c"]
    assert b"_gsh_" not in shell.output


@pytest.mark.parametrize("line", OPTIONS)
def test_options_that_were_set_before(hub: ReportingHub, line: str) -> None:
    with contextlib.closing(Shell(before=line.replace("set -euo", "set -uo"))) as shell:
        assert shell.run("echo 'some' words é") == 0
        told(hub, 1)
        assert commands(hub) == ["echo 'some' words é"]


def test_aliases_and_functions_of_the_same_names(hub: ReportingHub) -> None:
    names = "local print exec typeset source shift setopt emulate zmodload"
    with contextlib.closing(
        Shell(before=f"for n in {names}; do alias $n='echo ALIASED'; done; print() {{ echo MINE }}")
    ) as shell:
        assert shell.run("true") == 0
        assert shell.run("true") == 0
        told(hub, 2)
        assert b"ALIASED" not in shell.output
        assert b"MINE" not in shell.output


def test_hooks_of_others(hub: ReportingHub) -> None:
    """A list that somebody writes anew behind us still has us, and theirs run."""
    with contextlib.closing(Shell(after="mine() { seen+=x }; precmd_functions=(mine); precmd() { seen+=y }")) as shell:
        shell.run("true")
        shell.run("true")
        shell.run("preexec_functions=()")
        told(hub, 2)
        assert "xy" in shell.output_of("echo $seen") or "yx" in shell.output_of("echo $seen")


def test_nested_shells_know_their_parents(hub: ReportingHub, shell: Shell) -> None:
    shell.run("true")
    shell.run("zsh -d -i")
    shell.run("true inside")
    shell.run("exec zsh -d -i")
    shell.run("true again")
    hub.wait_for(lambda: "true again" in commands(hub))
    begun = sorted(hub.of(ShellStarted), key=lambda event: event.at)
    assert [event.parent for event in begun] == ["", begun[0].shell, begun[1].shell]
    assert begun[1].pid == begun[2].pid
    assert len({event.shell for event in begun}) == 3


def test_what_runs_inherits_nothing(hub: ReportingHub, shell: Shell) -> None:
    shell.run("true")
    shell.run("true")
    before = shell.output_of("python3 -c 'import os; print(sorted(os.listdir(\"/dev/fd\"), key=int))'")
    assert before == str([str(number) for number in range(4)]), "a descriptor of ours was left open"


def test_private_commands_are_not_told(hub: ReportingHub, shell: Shell) -> None:
    shell.run("true first")
    shell.run(" echo a secret")
    shell.run(" cd /usr")
    shell.run("\techo a secret")
    shell.run("true last")
    told(hub, 2)
    assert commands(hub) == ["true first", "true last"]
    assert [event.number for event in hub.of(ShellCommandStarted)] == [1, 5]
    assert "secret" not in repr(hub.kept)
    assert hub.of(ShellFolderChanged) == []


def test_patterns_and_pause(hub: ReportingHub, home: Home, shell: Shell) -> None:
    file = home.config / "gsh" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text('[shell]\nignore = ["pass *", "*--token=*", "true [ab]", "true (x|y)#"]\n')
    shell.run("true before")
    plugin_files.write_options(load(home.path).settings)
    for line in ("pass show mail", "true --token=abc", "true a", "true (x|y)#", "true c", "true x"):
        shell.run(line)
    plugin_files.pause_recording()
    shell.run("true paused")
    plugin_files.resume_recording()
    shell.run("true after")
    hub.wait_for(lambda: "true after" in commands(hub))
    assert commands(hub) == ["true before", "true c", "true x", "true after"]


def test_the_socket_of_the_settings(home: Home, tmp_path: Path) -> None:
    place = tmp_path / "mine" / "s.sock"
    hub = ReportingHub(place)
    os.environ["GSH_GENERAL__SOCKET_PATH"] = str(place)
    shell = Shell()
    try:
        shell.run("true")
        told(hub, 1)
    finally:
        shell.close()
        hub.close()
    # Written down before it was sent, and a hub empties what it has stored.
    assert [line["seq"] for line in spooled(home.data)] == [1, 2, 3]


def fits(pattern: str, command: str) -> bool:
    """As the hub sees it."""
    return fnmatch.fnmatchcase(command, pattern)


@given(
    st.lists(
        st.tuples(
            st.text("ab*?[]!-\\ #^~()|<1>{},$'\"`=@+%", max_size=8), st.text("ab*[]-\\ #^~(|<1$'\"=@", max_size=6)
        ),
        min_size=20,
        max_size=40,
    )
)
@settings(max_examples=examples(8))
def test_a_pattern_means_the_same_in_zsh_as_in_the_hub(pairs: list[tuple[str, str]]) -> None:
    pairs = [*pairs, *((pattern, pattern) for pattern, _ in pairs)]
    script = "setopt extended_glob no_multibyte\n"
    script += "while IFS= read -r p && IFS= read -r s; do [[ $s == ${~p} ]]; print $?\ndone"
    told = "".join(f"{plugin_files.zsh_pattern(pattern)}\n{command}\n" for pattern, command in pairs)
    ran = subprocess.run(
        [zsh(), "-f", "-c", script], input=told, capture_output=True, text=True, timeout=20, check=True
    )
    assert ran.stderr == ""
    assert [code == "0" for code in ran.stdout.split()] == [fits(pattern, command) for pattern, command in pairs]

"""A command that takes its time says so: on a terminal by a line that moves, elsewhere once. An interrupt says more."""

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gshtui.headless import progress
from gshtui.headless.progress import Progress
from tests.kit.pty_child import PtyChild, WarmPtyChild
from tests.kit.tmux import named_servers
from tests.kit.warm_program import run_gsh
from tests.real.test_cli_agent import project

__all__ = ["named_servers", "project"]

RESTLESS = "sh -c 'n=0; while :; do echo $((n += 1)); sleep 0.05; done'"
"""A program that is never ready for words: each row is another one, without which its screen would stand still."""


@contextmanager
def on_a_terminal(cwd: Path, *words: str) -> Iterator[PtyChild]:
    with contextlib.closing(WarmPtyChild(words, cwd)) as child:
        child.go()
        yield child


@pytest.mark.parametrize("resident", [False, True])
def test_the_id_is_there_at_once_and_the_wait_for_the_prompt_is_seen_and_can_be_left(
    project: Path, resident: bool
) -> None:
    if resident:
        assert run_gsh("hub", "start", cwd=project).code == 0
    with on_a_terminal(project, "agent", "spawn", "--cli", RESTLESS, "--name", "busy", "hello") as child:
        child.read_until(lambda: b"0001" in child.output)
        child.read_until(lambda: b"Waiting for busy" in child.output and b" s\x1b[K" in child.output)
        child.write(b"\x03")
        assert child.wait() == 130
    told = child.output[child.output.rindex(b"\r\x1b[K") :].decode()
    assert "The message to busy (0001) stays queued" in told
    drop = told[told.index("mail drop ") :].split()[2].rstrip("'`")
    # On a slow machine the program may look ready for a moment, in which its message is tried.
    assert any(run_gsh("run", f"mail drop {drop}", cwd=project).code == 0 for _ in range(20))
    assert run_gsh("hub", "stop", "--yes", cwd=project).code == 0


def test_a_wait_says_whom_it_waits_for_and_leaves_nothing_behind(project: Path) -> None:
    run_gsh("agent", "spawn", "--cli", "cat", "--name", "fix", cwd=project)
    with on_a_terminal(project, "agent", "wait", "fix", "--status", "done", "--timeout", "4") as child:
        child.read_until(lambda: b"Waiting for fix (0001), which is " in child.output)
        assert child.wait() == 124
    after = child.output[child.output.rindex(b"\r\x1b[K") + 4 :].decode()
    assert after.startswith("fix (0001) is still "), "the line is gone before the result is written"


def test_a_quick_command_shows_nothing_of_it(project: Path) -> None:
    with on_a_terminal(project, "config", "path") as child:
        assert child.wait() == 0
    assert b"\x1b[K" not in child.output


def test_without_a_terminal_it_is_said_once_on_stderr(project: Path) -> None:
    run_gsh("agent", "spawn", "--cli", "cat", "--name", "fix", cwd=project)
    ran = run_gsh("agent", "wait", "fix", "--status", "done", "--timeout", "6", cwd=project)
    assert ran.code == 124
    assert ran.err.count("Waiting for fix (0001)") == 1
    assert "\x1b" not in ran.err


def test_an_interrupt_just_as_the_line_is_drawn_takes_it_away(monkeypatch: pytest.MonkeyPatch) -> None:
    written = list[bytes]()

    def write(text: bytes) -> None:
        written.append(text)
        if len(written) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(progress, "_write", write)
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((80, 24)))
    line = Progress("Waiting for fix", began=0.0)
    monkeypatch.setattr(line, "_moves", True)
    with pytest.raises(KeyboardInterrupt):
        line.show()
    line.interrupted()
    assert written[-1] == b"\r\x1b[K"

"""What is told to end in the midst of a turn: by a signal, by two, and by a terminal that is closed."""

import asyncio
import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from gshtui.system.processes.processes import wait_for_end
from tests.kit.home import Home
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Call, Fault, Say
from tests.kit.pty_child import PtyChild, WarmPtyChild, window_of

WORDS = "all that was said before it ended"


def killed(child: PtyChild) -> None:
    os.kill(child.pid, signal.SIGTERM)
    assert child.wait(60) == -signal.SIGTERM
    assert b"\x1b[?1049l" in child.output.rpartition(WORDS.encode())[2], "the terminal is put back"
    assert b"gsh-tui --resume" in child.output.rpartition(b"\x1b[?1049l")[2], "and told how to come back"
    assert child.attributes() == child.before


def hung_up(child: PtyChild) -> None:
    assert child.hang_up() == -signal.SIGHUP


@pytest.mark.parametrize("end", [killed, hung_up])
async def test_a_window_that_is_told_to_end_keeps_what_was_said(
    end: Callable[[PtyChild], None], home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = home.path / "project"
    project.mkdir()
    async with loopback("anthropic", [[Say(WORDS), Fault.hang_after(len(WORDS))]], chunk=len(WORDS)) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        await asyncio.to_thread(ended, project, end)
        await asyncio.wait_for(server.disconnected.wait(), 30)
    argv = [sys.executable, "-m", "gshtui", "session", "export", "latest", "--format", "jsonl"]
    exported = await asyncio.to_thread(subprocess.run, argv, cwd=project, check=True, capture_output=True, text=True)
    messages = [line["message"] for line in map(json.loads, exported.stdout.splitlines()) if line["type"] == "message"]
    said = messages[-1]
    assert (said["role"], said["stop"], said["blocks"][0]["text"]) == ("assistant", "interrupted", WORDS)


STUBBORN = "trap '' TERM HUP; echo $$ >stubborn.pid; echo begun; while sleep 60; do :; done"
"""It does not end by being asked to."""


@pytest.mark.parametrize("face", ["window", "prompt"])
async def test_what_is_told_to_end_twice_leaves_no_command_running(
    face: str, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = home.path / "project"
    project.mkdir()
    async with loopback("anthropic", [[Call("bash", {"command": STUBBORN})], [Say("done")]]) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        await asyncio.to_thread(told_in, face, project)
    try:
        left = [psutil.Process(int((project / "stubborn.pid").read_text()))]
    except psutil.NoSuchProcess:
        left = []
    assert not await asyncio.to_thread(wait_for_end, left, 30.0)


def told_in(face: str, project: Path) -> None:
    words = [] if face == "window" else ["prompt", "go on"]
    with contextlib.closing(WarmPtyChild([*words, "--mode", "yolo"], project, columns=110, rows=40)) as child:
        child.go()
        if face == "window":
            child.read_until(lambda: b"\x1b[?2004h" in child.output, 60)
            child.write(b"go on\r")
        child.read_until(lambda: (project / "stubborn.pid").exists() and b"begun" in child.output, 60)
        told = itertools.count(1)

        def told_again() -> bool:
            with contextlib.suppress(ProcessLookupError):  # it has ended
                os.kill(child.pid, signal.SIGTERM)
            return next(told) == 10

        child.read_until(told_again)
        assert child.wait(60) == (-signal.SIGTERM if face == "window" else 130)


def ended(project: Path, end: Callable[[PtyChild], None]) -> None:
    with contextlib.closing(window_of(project)) as child:
        child.read_until(lambda: b"\x1b[?2004h" in child.output, 60)
        child.write(b"go on\r")
        child.read_until(lambda: WORDS.encode() in child.output, 60)
        end(child)

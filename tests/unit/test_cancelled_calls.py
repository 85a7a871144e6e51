"""A call of a program that is cancelled, wherever it waits, leaves no pipe open, which nothing could close later."""

import asyncio
import gc
import os
import signal
import types
from asyncio.base_subprocess import BaseSubprocessTransport
from collections.abc import Awaitable, Callable, Coroutine, Generator
from pathlib import Path
from typing import Any

import pytest

from gshtui.hosts.host_link import HostLink
from gshtui.programs.profiles.program_versions import printed_version
from gshtui.programs.session.launch import help_text
from gshtui.settings.settings_tables import HostSettings
from gshtui.tools.git.git import git
from gshtui.tools.git.worktree_setup import run_process

PRINTS = "head -c 300000 /dev/zero; head -c 300000 /dev/zero >&2"
"""More than pipes and readers keep."""
SSH = '#!/bin/sh\nfor last; do :; done\nexec sh -c "$last"\n'


class Cancelled:
    """Awaits a coroutine, and cancels the task when it waits for the time `at`. `reached`: whether it did."""

    def __init__(self, coroutine: Coroutine[Any, Any, object], at: int) -> None:
        self.reached = False
        self._coroutine, self._at = coroutine, at

    @types.coroutine
    def run(self) -> Generator[Any, Any, None]:
        error: BaseException | None = None
        waits = 0
        try:
            while True:
                future = self._coroutine.send(None) if error is None else self._coroutine.throw(error)
                error, task = None, asyncio.current_task()
                if waits == self._at and task is not None:
                    self.reached = task.cancel()
                waits += 1
                try:
                    yield future
                except BaseException as raised:
                    error = raised
        except StopIteration:
            pass


def still_open() -> list[BaseSubprocessTransport]:
    return [
        each for each in gc.get_objects() if issubclass(type(each), BaseSubprocessTransport) and not each.is_closing()
    ]


def program(folder: Path, name: str, text: str) -> Path:
    made = folder / name
    made.write_text(text)
    made.chmod(0o755)
    return made


def calls(folder: Path, prints: Path, environ: dict[str, str]) -> dict[str, Callable[[], Coroutine[Any, Any, object]]]:
    unshared = folder.joinpath("x" * 100)  # no socket has so long a path: each call is a connection of its own
    link = HostLink("far", HostSettings(), unshared, environ)
    return {
        "a host's": lambda: link.run(PRINTS),
        "a host's, cut": lambda: link.run(PRINTS, most=1000),
        "a version": lambda: printed_version(prints, "--version", environ),
        "a help": lambda: help_text((str(prints),), environ),
        "a set-up": lambda: run_process((str(prints),), folder, 60),
        "git": lambda: git(folder, "status"),
    }


@pytest.mark.parametrize("name", calls(Path(), Path(), {}))
async def test_a_call_cancelled_at_any_wait_closes_its_pipes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prints = program(tmp_path, "prints", f"#!/bin/sh\n{PRINTS}\n")
    for fake in ("ssh", "git"):
        program(tmp_path, fake, SSH if fake == "ssh" else prints.read_text())
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    call = calls(tmp_path, prints, dict(os.environ))[name]
    for at in range(1000):
        cancelled = Cancelled(call(), at)
        task = asyncio.ensure_future(awaited(cancelled.run()))
        await asyncio.wait((task,))
        assert still_open() == [], f"cancelled at wait {at}"
        if not cancelled.reached:
            assert at > 1
            assert (task.exception() is None) == (name != "git")  # it does not believe what the stand-in says
            return
    pytest.fail("it never ends")


async def awaited(run: Awaitable[None]) -> None:
    await run


async def test_a_call_whose_output_is_cut_does_not_wait_for_who_holds_its_pipes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the shared connection of ssh may, after its client has been killed."""
    program(tmp_path, "ssh", SSH)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    pid = tmp_path / "pid"
    link = HostLink("far", HostSettings(), tmp_path.joinpath("x" * 100), dict(os.environ))
    try:
        reply = await link.run('setsid sleep 600 2>&- & echo $! >"$1"; exec cat /dev/zero', str(pid), most=1000)
    finally:
        os.kill(int(pid.read_text()), signal.SIGKILL)
    assert reply.cut
    assert still_open() == []

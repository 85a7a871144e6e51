"""`gsh` knows what was just done: the request holds the last five commands of all shells, whatever was killed.

Real zsh and bash on terminals, the program as a process, a provider on this machine. Hubs, questions and shells are
killed at random moments; a question that was killed is asked again.
"""

from __future__ import annotations

import asyncio
import os
import random
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

from tests.kit.command import ROOT, environment
from tests.kit.home import Home
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Fault, Say
from tests.kit.loopback.server import Loopback
from tests.kit.shells import Shell

COMMANDS = 16
"""Typed in one test, with a question after each; 200 take some three minutes."""
SEEDS = (1,)
PROGRAMS = ("zsh", "zsh", "bash", "bash")
HUB = [sys.executable, "-m", "tests.kit.shell_log_child"]
T = TypeVar("T")


class Desk:
    """Four shells, a hub that comes and goes, and what the provider was sent."""

    def __init__(self, server: Loopback, home: Home, chance: random.Random) -> None:
        self.server = server
        self.home = home
        self.chance = chance
        self.shells = [Shell(program=program) for program in PROGRAMS]
        self.typed: list[str] = []
        self._hub: subprocess.Popen[bytes] | None = None

    async def type_command(self) -> None:
        """One command in one shell."""
        word = f"step-{len(self.typed)}"
        other = self.chance.choice((word, "nothing"))
        line = f"test {word} = {other}"
        shell = self.chance.choice(self.shells)
        status = await in_thread(lambda: shell.run(line))
        self.typed.append(f"$ {line} (in {self.home.path}) → exit {status}")

    async def start_hub(self) -> None:
        """A window's hub; sometimes until shells can report to it."""
        self._hub = hub = hub_process()
        assert hub.stdout is not None
        if self.chance.random() < 0.7:
            assert await in_thread(hub.stdout.readline) == b"listening\n"

    def kill_hub(self) -> None:
        """If there is one."""
        if self._hub is not None:
            self._hub.kill()
            self._hub.communicate()
            self._hub = None

    @property
    def has_hub(self) -> bool:
        return self._hub is not None

    def kill_shell(self) -> None:
        """One of them, and another one takes its place."""
        at = self.chance.randrange(len(self.shells))
        self.shells[at].close()
        self.shells[at] = Shell(program=PROGRAMS[at])

    async def ask(self, *, kill: Callable[[], None] | None = None) -> int:
        """Ask in one of the shells; the status. `kill` is called at some moment while it runs."""
        words = self.chance.choice(("gsh what failed", "gsh --new what failed"))
        shell = self.chance.choice(self.shells)
        asked = asyncio.ensure_future(in_thread(lambda: shell.run(words)))
        if kill is not None:
            await asyncio.wait({asked}, timeout=self.chance.uniform(0.0, 0.8))
            if not asked.done():
                kill()
        return await asked

    def kill_question(self) -> None:
        """The running `gsh`, if it runs yet."""
        pid = (self.home.path / "asking").read_text() if (self.home.path / "asking").exists() else ""
        if pid.strip():
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass  # it has just ended

    def last_sent(self) -> list[str]:
        """The newest list of commands in the last request."""
        section = text_of(self.server.chats[-1].body["messages"]).rpartition("# Recent Shell Activity")[2]
        return re.findall(r"^\$ .*$", section, re.MULTILINE)

    def close(self) -> None:
        self.kill_hub()
        for shell in self.shells:
            shell.close()


def hub_process() -> subprocess.Popen[bytes]:
    return subprocess.Popen(HUB, cwd=ROOT, stdout=subprocess.PIPE, env=environment())


def text_of(part: Any) -> str:
    """All text in a request's messages, in order."""
    if isinstance(part, dict):
        return "\n".join(text_of(value) for value in part.values())
    return "\n".join(map(text_of, part)) if isinstance(part, list) else str(part)


async def in_thread(work: Callable[[], T]) -> T:
    return await asyncio.to_thread(work)


@pytest.fixture
async def server(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Loopback]:
    program = tmp_path / "gsh-tui"
    program.write_text(f'#!/bin/sh\necho $$ >"$HOME/asking"\nexec {shlex.quote(sys.executable)} -m gshtui "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("GSH_TUI", str(program))
    async with loopback("anthropic", [[Say("ok")]], repeat=True) as made:
        for name, value in variables("anthropic", made.url).items():
            monkeypatch.setenv(name, value)
        yield made


@pytest.mark.timeout(120)
@pytest.mark.parametrize("seed", SEEDS)
async def test_the_last_five_commands_are_in_every_request(server: Loopback, home: Home, seed: int) -> None:
    chance = random.Random(seed)
    desk = await in_thread(lambda: Desk(server, home, chance))
    try:
        for _ in range(COMMANDS):
            if not desk.has_hub and chance.random() < 0.4:
                await desk.start_hub()
            elif chance.random() < 0.2:
                desk.kill_hub()
            await desk.type_command()
            if chance.random() < 0.4:
                desk.kill_hub()
            if chance.random() < 0.1:
                await in_thread(desk.kill_shell)
            if chance.random() < 0.3:
                await desk.ask(kill=desk.kill_question)
            status = await desk.ask(kill=desk.kill_hub if chance.random() < 0.3 else None)
            assert status == 0
            assert desk.last_sent() == desk.typed[-5:]
    finally:
        await in_thread(desk.close)


async def test_a_question_that_was_killed_does_not_hide_what_came_after(server: Loopback, home: Home) -> None:
    """Its conversation has no answer yet, so the next question is its first one once more."""
    desk = await in_thread(lambda: Desk(server, home, random.Random(1)))
    shell = desk.shells[0]
    server.script = [[Fault.hang()], [Say("ok")]]
    try:
        await desk.type_command()
        asked = asyncio.ensure_future(in_thread(lambda: shell.run("gsh what failed")))
        await server.asked.wait()
        assert text_of(server.chats[-1].body["messages"]).count("# Recent Shell Activity") == 1
        desk.kill_question()
        await asked
        await desk.type_command()
        assert await in_thread(lambda: shell.run("gsh what failed")) == 0
        assert desk.last_sent() == desk.typed
    finally:
        await in_thread(desk.close)

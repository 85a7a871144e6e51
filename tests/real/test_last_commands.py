"""`gsh` knows what was just done: a question brings the last five commands of all shells, whatever was killed.

Real zsh and bash on terminals. Hubs, questions and shells are killed at random moments; a question that was killed is
asked again. Most questions are forks that read what `gsh` reads and ask no model; the first storm ends with one that is
typed and goes through the whole program to a provider on this machine. `GSH_TEST_TYPED=1` has all of them typed, which
takes some minutes.
"""

import asyncio
import os
import random
import re
import shlex
import signal
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Literal, TypeVar

import pytest

from tests.kit.home import Home
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Fault, Say
from tests.kit.loopback.server import Loopback
from tests.kit.shells import Shell
from tests.kit.storms import seeds
from tests.kit.warm_program import WarmCommand, WarmProgram, shared

COMMANDS = 25
"""Typed in one storm, with a question after each."""
SEEDS = seeds(8)
PROGRAMS = ("zsh", "zsh", "bash", "bash")
TYPED = bool(os.environ.get("GSH_TEST_TYPED"))
CHILD = "tests.kit.last_commands_child"
Kills = Literal["question", "hub", "nothing"]
T = TypeVar("T")


class Desk:
    """Four shells, a hub that comes and goes, and what questions bring along."""

    def __init__(self, server: Loopback, home: Home, warm: WarmProgram, chance: random.Random) -> None:
        self.server = server
        self.home = home
        self.warm = warm
        self.chance = chance
        self.shells = [Shell(program=program) for program in PROGRAMS]
        self.typed: list[str] = []
        self._hub: WarmCommand | None = None

    async def type_command(self) -> None:
        word = f"step-{len(self.typed)}"
        other = self.chance.choice((word, "nothing"))
        line = self.chance.choice(("test {} = {}", "(test {} = {})", "! [[ {} != {} ]]")).format(word, other)
        shell = self.chance.choice(self.shells)
        status = await in_thread(lambda: shell.run(line))
        self.typed.append(f"$ {line} (in {self.home.path}) → exit {status}")

    async def start_hub(self) -> None:
        """A window's hub; sometimes until shells can report to it."""
        self._hub = hub = self.warm.start(call=f"{CHILD}:hub")
        if self.chance.random() < 0.7:
            assert await in_thread(lambda: os.read(hub.output, 100)) == b"listening\n"

    def kill_hub(self) -> None:
        if self._hub is not None:
            self._hub.kill()
            self._hub.finish()
            self._hub = None

    @property
    def has_hub(self) -> bool:
        return self._hub is not None

    def kill_shell(self) -> None:
        """One of them, and another one takes its place."""
        at = self.chance.randrange(len(self.shells))
        self.shells[at].close()
        self.shells[at] = Shell(program=PROGRAMS[at])

    async def ask(self, kills: Kills = "nothing") -> list[str] | None:
        """Ask; the newest commands that the question brought along, `None` where it was killed.

        Args:
            kills: what is killed at some moment while it is asked.
        """
        question = self.warm.start(call=f"{CHILD}:ask", cwd=self.home.path)
        asked = asyncio.ensure_future(in_thread(question.finish))
        await self._disturb(asked, {"question": question.kill, "hub": self.kill_hub}.get(kills), 0.15)
        result = await asked
        assert result.code in (0, -signal.SIGKILL), result.err
        return None if result.code else newest(result.out)

    async def type_question(self, kills: Kills = "nothing") -> list[str] | None:
        """The same, typed in one of the shells and answered by the model."""
        words = self.chance.choice(("gsh what failed", "gsh --new what failed"))
        shell = self.chance.choice(self.shells)
        asked = asyncio.ensure_future(in_thread(lambda: shell.run(words)))
        await self._disturb(asked, {"question": self.kill_question, "hub": self.kill_hub}.get(kills), 0.8)
        return None if await asked else newest(text_of(self.server.chats[-1].body["messages"]))

    async def _disturb(self, asked: asyncio.Future[Any], kill: Callable[[], None] | None, within: float) -> None:
        if kill is not None:
            await asyncio.wait({asked}, timeout=self.chance.uniform(0.0, within))
            if not asked.done():
                kill()

    def kill_question(self) -> None:
        """The running `gsh`, if it runs yet."""
        pid = (self.home.path / "asking").read_text() if (self.home.path / "asking").exists() else ""
        if pid.strip():
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                pass  # it has just ended

    def close(self) -> None:
        self.kill_hub()
        for shell in self.shells:
            shell.close()


def newest(text: str) -> list[str]:
    """The newest list of commands in what was sent."""
    return re.findall(r"^\$ .*$", text.rpartition("# Recent Shell Activity")[2], re.MULTILINE)


def text_of(part: Any) -> str:
    """All text in a request's messages, in order."""
    if isinstance(part, dict):
        return "\n".join(text_of(value) for value in part.values())
    return "\n".join(map(text_of, part)) if isinstance(part, list) else str(part)


async def in_thread(work: Callable[[], T]) -> T:
    return await asyncio.to_thread(work)


@pytest.fixture
def warm() -> WarmProgram:
    return shared(CHILD)


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


@pytest.mark.timeout(900 if TYPED else 120)
@pytest.mark.parametrize("seed", SEEDS)
async def test_the_last_five_commands_are_in_every_question(
    server: Loopback, home: Home, warm: WarmProgram, seed: int
) -> None:
    chance = random.Random(seed)
    desk = await in_thread(lambda: Desk(server, home, warm, chance))
    ask = desk.type_question if TYPED else desk.ask
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
                await ask("question")
            assert await ask("hub" if chance.random() < 0.3 else "nothing") == desk.typed[-5:]
        if seed == SEEDS[0]:
            assert await desk.type_question() == desk.typed[-5:]
    finally:
        await in_thread(desk.close)


async def test_a_question_that_was_killed_does_not_hide_what_came_after(
    server: Loopback, home: Home, warm: WarmProgram
) -> None:
    """Its conversation has no answer yet, so the next question is its first one once more."""
    desk = await in_thread(lambda: Desk(server, home, warm, random.Random(1)))
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
        assert newest(text_of(server.chats[-1].body["messages"])) == desk.typed
    finally:
        await in_thread(desk.close)

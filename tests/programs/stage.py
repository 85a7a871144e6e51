"""One real program as an agent of ours: a hub, a tmux server of its own, and a provider on this machine behind it.

`Stage` does what a person and other agents do with it, and waits for what is to be seen: a status, a screen, a request.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from gshtui.bus.agent_data import ENDED_STATUSES, AgentRow, SpawnRequest
from gshtui.commands.declaration import Caller, CommandError, Outcome
from gshtui.commands.execution import run_parsed
from gshtui.fleet.lifecycle.fleet import Fleet
from gshtui.hub.composition import build_hub
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.programs.acp.acp_commands import command_for
from gshtui.programs.hooks.hook_reports import spool_path
from gshtui.programs.profiles import profile_files as profiles
from gshtui.programs.screen.line_styles import without_styles
from gshtui.programs.screen.screen_reading import read_screen
from gshtui.programs.status.status import TYPED
from gshtui.programs.transcripts.reconstruction import Transcripts
from gshtui.providers.port import Capabilities
from gshtui.settings import paths
from gshtui.settings.loader import load
from gshtui.system.tasks import cancel_and_wait
from gshtui.tmux.server import TmuxServer
from gshtui.tmux.tmux_errors import TmuxError
from tests.kit.configuration import made_project
from tests.kit.home import Home
from tests.kit.loopback.apis import loopback
from tests.kit.loopback.script import Answer, Call
from tests.kit.loopback.server import Asked, Loopback
from tests.kit.real_programs import FOLDER, Program

WITHIN = 100.0
"""Seconds that a test waits for anything."""
SAMPLED = 0.2
"""Seconds between two looks at its status that only see whether it is true."""
_AGAIN = 0.3
"""Longest until the next look, where nothing has told of a change."""
_TAKEN, _PRESSES = 3.0, 5
"""Seconds that a program may take over a key that closes something, and how often it is pressed at most."""
_UNTOLD = 10
"""Looks in a row at a question that is on its screen while nobody is told that it needs a person: about two seconds."""
_LOST = 60.0
"""Seconds that a hub may need to end; a program that hangs is ended with its tmux server."""
T = TypeVar("T")


@dataclass
class Stage:
    """The program, and all around it."""

    program: Program
    hub: Hub
    provider: Loopback
    folder: Path
    over_acp: bool = False
    """It speaks the Agent Client Protocol with us, instead of showing a screen."""
    id: str = ""
    statuses: list[str] = field(default_factory=list[str])
    """What its status was at every look, without repeats."""
    untrue: list[str] = field(default_factory=list[str])
    """When it was called idle while its model was being asked or a call of it ran, or asked and nobody was told."""
    _stirred: asyncio.Event = field(default_factory=asyncio.Event)
    _calls: bool = False
    """Its model has called a tool, and nobody has been asked about it or has interrupted it since."""
    _waited: bool = False
    """It has waited for somebody since its model answered last."""

    @property
    def fleet(self) -> Fleet:
        assert self.hub.fleet is not None
        return self.hub.fleet

    @property
    def row(self) -> AgentRow:
        found = self.fleet.get(self.id)
        assert found is not None
        return found

    @property
    def server(self) -> TmuxServer:
        return self.fleet.terminals.server(self.row.socket)

    async def start(self, size: tuple[int, int], prompt: str = "") -> None:
        """Spawn it, by its command line as a person gives it."""
        request = SpawnRequest(name="it", prompt=prompt, cli=() if self.over_acp else self.program.argv)
        if self.over_acp:
            request = msgspec.structs.replace(request, acp=command_for((self.program.name,)))
        self.id = (await self.fleet.spawn(request, by_person=True)).id
        await self.server.resize(self.row.pane, *size)
        self.server.watcher.watch(self.row.pane, lambda _: self._stirred.set())

    # -- what is never to be seen ----------------------------------------------------------------------------------

    async def keep_watch(self) -> None:
        """Note each time that it is called idle during a turn, which it never is from the first request to its answer,
        and each question that stands on its screen and needs nobody.
        """
        self.provider.finished = self._answered
        before, untold = "", 0
        while True:
            rows = [row for row in self.fleet.rows() if row.kind != "native"]
            for row in rows:
                self._heed(row.status)
            turn = self._is_asked() or self._calls  # of one of them: the provider does not tell whose
            rests = all(row.status == "idle" for row in rows) and bool(rows)
            now = ", ".join(f"{row.status} by {row.status_source}" for row in rows) if turn and rests else ""
            if now and now == before:  # one look may come between a request and what tells of it
                self.untrue.append(f"{now}, while {'its model is asked' if self._is_asked() else 'a call runs'}")
            before = now
            untold = untold + 1 if await self._asks_untold() else 0
            if untold == _UNTOLD:
                self.untrue.append(f"{self.row.status} by {self.row.status_source}, while it asks, and needs nobody")
            await asyncio.sleep(SAMPLED)

    async def _asks_untold(self) -> bool:
        """Whether its question stands on its screen, by words of its own, and its row says that it needs nobody."""
        row = self.fleet.get(self.id)
        if row is None or row.needs_you or not row.pane or not self.program.asks or self.over_acp:
            return False
        try:
            return self.program.asks in await self.screen() and not self.row.needs_you
        except TmuxError:
            return False

    def _is_asked(self) -> bool:
        return any(self.program.is_turn(asked) for asked in self.provider.unanswered)

    def _answered(self, asked: Asked, answer: Answer) -> None:
        if self.program.is_turn(asked):
            # Some ask about a call before the answer with it is over.
            self._calls = any(isinstance(each, Call) for each in answer) and not self._waited
            self._waited = False

    def _heed(self, status: str) -> None:
        if status in ("waiting", *ENDED_STATUSES):
            self._calls, self._waited = False, True

    # -- what is to be seen ----------------------------------------------------------------------------------------

    async def screen(self) -> str:
        """Its terminal's text."""
        return "\n".join(without_styles(line) for line in await self.server.capture(self.row.pane))

    async def shows(self, pattern: str) -> str:
        """Wait until its screen matches; gives the screen."""
        return await self.until(self.screen, lambda text: re.search(pattern, text))

    async def look(self) -> AgentRow:
        """Its row now."""
        return self.row

    async def status(self, *wanted: str) -> AgentRow:
        """Wait until its status is one of these, and is sure."""

        def right(row: AgentRow) -> bool:
            sure = not row.status_source.endswith("?") or row.doing == TYPED  # some put an interrupted prompt back
            return row.status in wanted and sure and row.status_source != "process"

        return await self.until(self.look, right)

    async def bound(self) -> str:
        """Wait until it is known, and on record, which conversation it is in; the id."""
        return (await self.until(self.look, lambda row: row.external_id)).external_id

    async def beside(self) -> Stage:
        """Another agent of the same program in the same folder."""
        other = Stage(self.program, self.hub, self.provider, self.folder)
        await other.start((80, 24))
        return other

    async def started_anew(self, before: AgentRow) -> AgentRow:
        """Wait until another process of it rests."""
        await self.until(self.look, lambda row: row.pid not in (0, before.pid) and row.pane)
        self.server.watcher.watch(self.row.pane, lambda _: self._stirred.set())
        return await self.status("idle")

    async def pressed(self, key: str) -> None:
        """Press a key until nothing is open that waits, as a person does: again where it did not help, since there may
        be one dialog below the other, and since some programs ignore the keys of a box that has just come.
        """

        async def seen() -> bool:
            return await self.waits() or await self.waits()  # one look may be at a screen that is just being painted

        for _ in range(_PRESSES):
            await self.person(key)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_TAKEN):
                    await self.until(seen, lambda waits: not waits)
                return

    async def closed(self) -> None:
        """Close every dialog, and come to rest."""
        await self.pressed("Escape")
        await self.status("idle")

    async def waits(self) -> bool:
        """Whether its screen says that it waits."""
        profile = profiles.load().for_argv(self.program.argv)
        info, lines = await self.server.capture_screen(self.row.pane)
        place = (info.cursor_x, info.cursor_y)
        return read_screen(profile, lines, info.title, place, info.width).status == "waiting"

    async def still(self) -> list[str]:
        """Its screen, once two looks at it have shown the same."""
        seen: list[list[str]] = [[]]

        async def look() -> list[str]:
            seen.append(list(await self.server.capture(self.row.pane)))
            return seen[-1]

        return await self.until(look, lambda _: seen[-1] == seen[-2])

    async def until(self, look: Callable[[], Awaitable[T]], right: Callable[[T], object]) -> T:
        """Look whenever something stirs until it is right. Fails with the screen, the status and the requests."""
        loop = asyncio.get_running_loop()
        ends = loop.time() + WITHIN
        while True:
            self._stirred.clear()
            self._noted(self.row.status)
            if right(seen := await look()):
                return seen
            if loop.time() > ends:
                pytest.fail(f"not within {WITHIN:g} s\n{await self.account()}")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stirred.wait(), _AGAIN)

    def _noted(self, status: str) -> None:
        self._heed(status)
        if self.statuses[-1:] != [status]:
            self.statuses.append(status)

    async def account(self) -> str:
        """Everything that says what went wrong."""
        row = self.row
        asked = [f"{each.method} {each.path} {each.kind or 'UNKNOWN'}" for each in self.provider.requests]
        facts = f"status {row.status} by {row.status_source}: {row.doing!r}; statuses {self.statuses}"
        hooks = spool_path(paths.data_dir(), self.id)
        told = hooks.read_text().splitlines() if hooks.exists() else []
        explained = await self.command("agent explain", agent=self.id)
        return "\n".join(
            [facts, explained.text, *told[-8:], *asked[-8:], "┌" + "─" * 78, await self.screen(), "└" + "─" * 78]
        )

    async def written(self) -> str:
        """What its transcript has of its conversation."""
        transcripts = Transcripts(lambda _: Capabilities())
        view = await transcripts.view(self.row)
        return "\n".join(transcripts.text(block.hash) or "" for block in view.blocks)

    # -- what its model was told -----------------------------------------------------------------------------------

    def heard(self, *texts: str) -> bool:
        """Whether its model was sent all of these, word for word, in one request."""
        said = (list(strings(asked.body)) for asked in self.provider.chats)
        return any(all(any(text in words for words in every) for text in texts) for every in said)

    async def sent(self, letter: str) -> str:
        """Wait until a message has gone its way; how far it came."""
        store = self.hub.store
        assert store is not None
        found = await self.until(
            lambda: store.mail.find(letter), lambda letter: letter.state not in ("queued", "typed")
        )
        return found.state

    async def hears(self, *texts: str) -> None:
        """Wait until its model was sent all of these in one request. Some programs ask it for a title first, with no
        more than the last prompt.
        """

        async def look() -> bool:
            return self.heard(*texts)

        await self.until(look, bool)

    # -- what is done with it --------------------------------------------------------------------------------------

    async def say(self, text: str, *, now: bool = False) -> str:
        """Send it a message as a person does, by the mail; the message's id."""
        return (await self.command("say", to=self.id, text=text, now=now)).data["message"]

    async def command(self, name: str, **arguments: Any) -> Outcome:
        """Run a command of the hub as a person."""
        command = self.hub.registry.get(name)
        return await run_parsed(command, command.parameters(**arguments), self.hub.invocation(Caller()))

    async def person(self, *keys: str, text: str = "") -> None:
        """Press keys in its terminal as a person does who sits there; or type a line, see it, and enter it."""
        self._calls = False  # a person may have ended it by that
        for key in keys:
            await self.server.send_keys(self.row.pane, key)
        if text:
            await self.server.type_bytes(self.row.pane, text.encode())
            await self.until(self.screen, lambda seen: text in seen)
            # Some take an Enter that comes at once for a line's end in what is being pasted.
            await asyncio.sleep(profiles.load().for_argv(self.program.argv).timing.enter)
            await self.server.send_keys(self.row.pane, "Enter")

    async def refused(self, text: str) -> str:
        """Type this by the terminal tool, which waits for nothing; what it said. Fails where it was typed."""
        try:
            await self.command("tmux", action="send", pane=self.id, text=text)
        except CommandError as error:
            assert text not in await self.screen(), f"refused ({error}), and typed all the same"
            return str(error)
        return pytest.fail(f"it was typed\n{await self.account()}")


def strings(value: Any) -> Iterator[str]:
    """Every piece of text in plain data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from strings(each)
    elif isinstance(value, list):
        for each in value:
            yield from strings(each)


def _count_as_seen(program: Program, home: Home) -> None:
    """Have the profile know the version that is installed: whether its rules hold for that is what is tried."""
    profile = profiles.load().profiles.get(program.name)
    if profile is None or profile.knows(program.version):
        return
    own = home.config / "gsh" / "profiles" / f"{program.name}.toml"
    own.parent.mkdir(parents=True, exist_ok=True)
    before = own.read_text("utf-8") if own.exists() else f'extends = "{program.name}"\n'
    own.write_text(f'{before}seen = ["{program.version}"]\n', "utf-8")


@contextlib.asynccontextmanager
async def on_stage(
    program: Program,
    home: Home,
    folder: Path,
    size: tuple[int, int],
    setenv: Callable[[str, str], None],
    *,
    over_acp: bool = False,
) -> AsyncGenerator[Stage]:
    """Set everything up, start the program, and take everything down."""
    made_project(folder)
    _count_as_seen(program, home)
    (folder / "readme.txt").write_text("A project.\n", "utf-8")
    async with loopback(program.api, choose=program.choose(), strict=False, pace=40, chunk=20) as provider:
        for name, value in program.prepare(home.path, folder, provider.url).items():
            setenv(name, value)
        setenv("PATH", f"{FOLDER / 'bin'}:{os.environ['PATH']}")
        hub = build_hub(HubOptions(cwd=folder, loaded=load(folder)))
        await hub.start()
        try:
            assert hub.failed == {}
            stage = Stage(program, hub, provider, folder, over_acp)
            await stage.start(size)
            watch = asyncio.create_task(stage.keep_watch())
            try:
                yield stage
            finally:
                await cancel_and_wait(watch)
            assert not stage.untrue, f"{stage.untrue}\n{await stage.account()}"
        finally:
            await asyncio.wait_for(hub.stop(), _LOST)

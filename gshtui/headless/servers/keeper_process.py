"""The keeper's process: a hub without a face, until nothing goes on for a while or somebody stops it.

It looks after the agents of every folder that no window looks after, the shells, and the mail. `fleet/keeper/keeper.py`
starts it; `gsh-tui hub` shows and stops it. Whenever any setting changes, the process starts its program anew, with the
same id in the same terminal: so it learns all of them in one way, and none can be forgotten.
The hub in a window's own process (`--alone`) stands behind the same lock and socket, until the window ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import sys
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Literal

import msgspec

from gshtui.bus.events.hub_events import Noticed
from gshtui.fleet.core.fleet_context import is_over
from gshtui.fleet.keeper.keeper import BRIEF, DRAIN, LOCK, KeeperClaim, keeper_command
from gshtui.headless import exits
from gshtui.headless.agents.asked_agents import AskedAgents
from gshtui.headless.called_here import load_settings, running_hub
from gshtui.headless.runner import Stop, run_command
from gshtui.headless.servers.asked_doors import AskedDoors
from gshtui.headless.servers.asked_programs import AskedPrograms
from gshtui.headless.streams import complain
from gshtui.hub.faces.asked_commands import AskedCommands
from gshtui.hub.faces.asked_turns import AskedTurns
from gshtui.hub.faces.asked_windows import AskedWindows
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import KEEPER_PARTS, HubOptions
from gshtui.settings import paths
from gshtui.settings.loader import Loaded
from gshtui.shell import hub_registry
from gshtui.shell.event_table import ACP, COMMAND, MCP, PANE, SSH, TURN, WINDOW
from gshtui.shell.hub_listener import ConnectionHost, HubListener
from gshtui.shell.hub_registry import HubRegistryError
from gshtui.store.engine.store_errors import StoreError
from gshtui.system import login_session
from gshtui.system.files.folder_watch import FolderWatch, until_calm_look
from gshtui.system.garbage_collector import GarbageCollector
from gshtui.system.loop_watchdog import LoopBlocked, LoopWatchdog, WatchedSelector
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, keep_on, start_job

_SOON = 0.1
"""Seconds until the socket is tried again; each time twice as many."""
IDLE_FOR = 600.0
"""Seconds without anything to look after until it ends."""
_SETTLED = 1.0
"""Seconds without a change of the settings until it starts anew: who writes them may write them again."""
SETTLES_AFTER = 300.0
"""Seconds after which it has loaded what it needs."""
GROWN = 1.5
"""Times its size then, from which on beginning anew frees something."""
_SOON_RESTS = 1.0
"""Seconds between two looks whether nothing is done any more."""
_ANEW = -1
"""In the place of an exit code: start anew."""


class KeeperTerms(msgspec.Struct, frozen=True):
    """How long a keeper stays."""

    idle: float = IDLE_FOR
    """Seconds without anything to look after until it ends; 0: it stays."""
    at_first: float | None = None
    """The same until there has been something; `None`: no difference."""
    lock: int | None = None
    """Descriptor with the lock, from the process that started this one."""
    for_window: bool = False
    """Only if the settings want one for windows."""

    @property
    def words(self) -> list[str]:
        """Them as arguments of the next program of this process."""
        first = [] if self.at_first is None else ["--at-first", f"{self.at_first:g}"]
        return ["--idle", f"{self.idle:g}", *first]


def run_keeper(terms: KeeperTerms) -> int:
    """Be the keeper; returns the exit code at once if another process is."""
    again: list[str] = []
    selector = WatchedSelector()
    code = run_command(lambda stop: _run(stop, terms, again, selector), selector)
    if code == _ANEW:
        os.execv(sys.executable, [*keeper_command(), *terms.words, *again])
    return code


async def _run(stop: Stop, terms: KeeperTerms, again: list[str], selector: WatchedSelector) -> int:
    """Be it. `again`: gets the arguments by which the next program of this process keeps the right to be it."""
    loaded = load_settings(quiet=True)
    if terms.for_window and loaded.settings.hub.keep == "alone":
        return exits.DONE
    if loaded.settings.hub.keep != "auto" and terms.idle == IDLE_FOR:
        terms = msgspec.structs.replace(terms, idle=BRIEF)
    claim = KeeperClaim(loaded.settings.general.session_dir, terms.lock)
    try:
        if not claim.acquire():
            return exits.DONE
    except OSError as error:
        complain(f"cannot be the hub of {claim.folder}: {error.strerror or error}.", "Check its owner and free space.")
        return exits.ERROR
    options = HubOptions(
        cwd=Path.home(), loaded=loaded, respondent="nobody", parts=KEEPER_PARTS, where="the hub", keeper=True
    )
    changed, garbage = False, GarbageCollector()
    try:
        leaving = start_job(asyncio.to_thread(login_session.leave), "leaving the login session")
        async with running_hub(options) as hub:
            await hub.start()
            if hub.store is None or hub.fleet is None:
                return exits.ERROR
            async with (
                listening(hub, after_logout=claim.after_logout) as asked,
                _following_settings(loaded, asked, stop) as settings,
            ):
                draining = _when_asked(asked, stop)
                watchdog = LoopWatchdog(asyncio.get_running_loop(), selector, partial(_tell_blocked, hub, asked))
                watch = FolderWatch(claim.folder, {LOCK}.__contains__)
                watch.on_change(lambda: None if claim.is_in_place() else stop.asked.set())
                await leaving
                claim.say_ready(asked.place.path)
                garbage.begin()
                selector.worked = garbage.worked
                weight = _Weight(loaded.settings.hub.memory)
                try:
                    fat = await _until_idle(hub, asked, stop, terms, claim, weight)
                finally:
                    draining.cancel()
                    watchdog.stop()
                    garbage.end()
                    watch.close()
                changed = (settings.changed or fat) and not stop.signalled
    finally:
        if changed:
            again += claim.pass_on()
        else:
            claim.release(logged_out=stop.signalled and login_session.is_ending())
    return _ANEW if changed else exits.DONE


class _Asked(msgspec.Struct, frozen=True):
    """What is done for other processes."""

    place: _Socket
    commands: AskedCommands
    turns: AskedTurns
    windows: AskedWindows
    agents: AskedAgents
    programs: AskedPrograms
    doors: AskedDoors

    @property
    def busy(self) -> bool:
        """Whether there is a face that it is kept for."""
        return self.windows.open or self.agents.open or self.programs.busy or self.doors.open

    @property
    def works(self) -> bool:
        """Whether anything is done that must not be cut."""
        faces = (self.commands, self.turns, self.programs, self.doors, self.windows, self.agents)
        return any(face.works for face in faces)

    async def finish(self) -> None:
        """Wait until nothing that must not be cut is done."""
        await self.commands.finish_acting()
        await self.turns.finish()
        await self.programs.finish()
        await self.doors.rest()
        await self.windows.rest()
        await self.agents.rest()


@asynccontextmanager
async def listening(hub: Hub, *, after_logout: bool) -> AsyncGenerator[_Asked]:
    """Do what faces of other processes ask for."""
    commands, turns, windows = AskedCommands(hub), AskedTurns(hub), AskedWindows(hub, after_logout=after_logout)
    agents, programs, doors = AskedAgents(hub), AskedPrograms(hub), AskedDoors(hub)
    hosts: dict[str, ConnectionHost] = {
        COMMAND: commands,
        TURN: turns,
        WINDOW: windows,
        PANE: agents,
        MCP: programs,
        ACP: programs,
        SSH: doors,
    }
    asked = _Asked(_Socket(HubListener(hosts, _at_once)), commands, turns, windows, agents, programs, doors)
    await asked.place.open()
    try:
        yield asked
    finally:
        await windows.close()
        await agents.close()
        await turns.close()
        await programs.close()
        await doors.close()
        await asked.place.close()
        await commands.close()


class _Socket:
    """Where others ask. It is made anew when it is gone, as when somebody clears its folder."""

    def __init__(self, listener: HubListener) -> None:
        self._listener = listener
        self._changed = asyncio.Event()
        self._watch: FolderWatch | None = None
        self._keeping: asyncio.Task[None] | None = None

    @property
    def path(self) -> Path:
        return self._listener.path

    async def open(self) -> None:
        """Listen, and see to it that the socket stays there."""
        await self._listen()
        self._keeping = keep_on(self._keep, "the hub's socket")

    async def shut(self) -> None:
        """Let nobody else in; who is in stays."""
        if self._keeping is not None:
            await cancel_and_wait(self._keeping)
        self._unwatch()
        self._listener.shut()

    async def close(self) -> None:
        """End it, and all connections."""
        await self.shut()
        await self._listener.stop()

    async def _listen(self) -> bool:
        """Listen at the first path that no other keeper has. Whether there was one."""
        try:
            await self._listener.listen(*await asyncio.to_thread(_claimed))
            self._unwatch()
            self._watch = FolderWatch(self._listener.path.parent, {self._listener.path.name}.__contains__)
            self._watch.on_change(self._changed.set)
        except (HubRegistryError, OSError) as error:
            complain(f"commands cannot ask the hub: {error}")
            return False
        return True

    async def _keep(self) -> None:
        soon = _SOON
        while True:
            self._changed.clear()
            in_place = await asyncio.to_thread(self._listener.is_in_place)
            if not in_place and await self._listen():
                continue  # it may have gone again before its folder was watched
            soon = _SOON if in_place else 2 * soon  # somebody clears the folder at this moment, or it stays unusable
            with contextlib.suppress(TimeoutError):
                async with time_limit(until_calm_look() if in_place else min(soon, until_calm_look())):
                    await self._changed.wait()

    def _unwatch(self) -> None:
        if self._watch is not None:
            self._watch.close()
            self._watch = None


def _claimed() -> tuple[socket.socket, Path]:
    """The first socket that nobody else has. Raises `HubRegistryError`."""
    hub_registry.folder()
    *others, last = paths.keeper_sockets()
    for path in others:
        with contextlib.suppress(HubRegistryError):
            return hub_registry.claim(path), path
    return hub_registry.claim(last), last


async def _at_once() -> None:
    """Commands come one by one, so there is nothing to slow down."""


def after_change(before: Loaded, now: Loaded) -> Literal["go on", "stop", "anew"]:
    """What a keeper that has started with the one does where there is the other now.

    One that somebody started although `hub.keep` was `alone` does not stop for it. The keeper of another record is
    another process. A file that cannot be read, as while it is edited, changes nothing.
    """
    if now.unreadable or now.settings.general.session_dir != before.settings.general.session_dir:
        return "go on"
    if now.settings.hub.keep == "alone" != before.settings.hub.keep:
        return "stop"
    return "go on" if now.settings == before.settings else "anew"


class _Settings:
    """Follows the settings with which a keeper has started. `stop` ends it.

    Attributes:
        changed: they hold no more, and it has to start anew.
    """

    def __init__(self, loaded: Loaded, asked: _Asked, stop: Stop) -> None:
        self.changed = False
        self._loaded = loaded
        self._asked = asked
        self._keeper = stop
        self._told = asyncio.Event()
        self._watches: dict[tuple[Path, str], FolderWatch] = {}
        self._following = keep_on(self._follow, "the settings")

    async def stop(self) -> None:
        """Follow no longer."""
        await cancel_and_wait(self._following)
        for watch in self._watches.values():
            watch.close()

    async def _follow(self) -> None:
        """Ask the keeper to stop when they have changed, and nothing is done for another process any more."""
        while True:
            self._told.clear()
            self._watch()
            what = after_change(self._loaded, await asyncio.to_thread(self._loaded.again))
            if what == "anew":
                if await self._comes(_SETTLED):
                    continue
                await self._asked.windows.finish()
                await self._asked.doors.finish()
                await self._asked.finish()
                self.changed = self._asked.agents.comes_again = True
            if what != "go on":
                self._keeper.asked.set()
            await self._comes(until_calm_look())

    async def _comes(self, within: float) -> bool:
        """Whether there is a change within so many seconds."""
        with contextlib.suppress(TimeoutError):
            async with time_limit(within):
                return await self._told.wait()
        return False

    def _watch(self) -> None:
        """Have changes of the file told, and of what a link leads to; of a folder that is not there, that it comes."""
        file = paths.config_file()
        wanted = {_nearest(each) for each in (file, file.resolve())}
        for place in self._watches.keys() - wanted:
            self._watches.pop(place).close()
        for folder, name in wanted - self._watches.keys():
            watch = self._watches[folder, name] = FolderWatch(folder, {name}.__contains__)
            watch.on_change(self._told.set)


def _nearest(file: Path) -> tuple[Path, str]:
    """The first folder above it that exists, and the name in that folder that leads to it."""
    while not file.parent.is_dir() and file.parent != file:
        file = file.parent
    return file.parent, file.name


@asynccontextmanager
async def _following_settings(loaded: Loaded, asked: _Asked, stop: Stop) -> AsyncGenerator[_Settings]:
    settings = _Settings(loaded, asked, stop)
    try:
        yield settings
    finally:
        await settings.stop()


def _tell_blocked(hub: Hub, asked: _Asked, blocked: LoopBlocked) -> None:
    """Write down what kept everybody waiting, and say it in every window."""
    fault = hub.bus.report(blocked.name, blocked, shown=True)
    if fault.message:
        hint = f"{fault.file} has the details." if fault.file else ""
        asked.windows.publish(Noticed(level="warning", text=f"{blocked}.", hint=hint))


def _when_asked(asked: _Asked, stop: Stop) -> asyncio.Task[None]:
    """Stops the keeper between turns, once somebody wants that."""
    wanted = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(DRAIN, wanted.set)

    async def drain() -> None:
        await wanted.wait()
        await asked.place.shut()
        await asked.finish()
        asked.agents.comes_again = True
        stop.asked.set()

    return start_job(drain(), "the drain of the hub")


class _Weight:
    """What this process has in memory, against what it had once it had loaded what it needs.

    Args:
        most: MB; 0: as much as there is.
    """

    def __init__(self, most: int) -> None:
        self._most = most << 20
        self._began = time.monotonic()
        self._settled = 0

    def next_look(self) -> float | None:
        """Seconds until it is worth a look; `None`: it never is."""
        return until_calm_look() if self._most else None

    def is_too_much(self) -> bool:
        """Whether beginning anew would free some of it."""
        import psutil

        size = psutil.Process().memory_info().rss
        if not self._settled and time.monotonic() - self._began >= SETTLES_AFTER:
            self._settled = size
        return bool(self._most and self._settled) and size > max(self._most, GROWN * self._settled)


async def _until_idle(
    hub: Hub, asked: _Asked, stop: Stop, terms: KeeperTerms, claim: KeeperClaim, weight: _Weight
) -> bool:
    """Until it is asked to stop, or nothing has been going on for so many seconds; true: or until it has too
    much in memory, and nothing is done.
    """
    busy_at = time.monotonic()
    idle = terms.idle if terms.at_first is None else terms.at_first
    while not stop.asked.is_set():
        if asked.busy or await _goes_on(hub):
            busy_at, idle = time.monotonic(), terms.idle
        elif asked.turns.busy:
            busy_at = time.monotonic()
        elif idle and not asked.commands.busy and time.monotonic() - max(busy_at, asked.commands.last_at) >= idle:
            if idle == terms.idle or not await asyncio.to_thread(claim.is_wanted_longer):
                return False
            idle = terms.idle
        fat = weight.is_too_much()
        if fat and not asked.works:
            claim.say_ready(None)
            await asked.place.shut()
            finishing, stopping = asyncio.ensure_future(asked.finish()), asyncio.ensure_future(stop.asked.wait())
            await asyncio.wait({finishing, stopping}, return_when=asyncio.FIRST_COMPLETED)
            rested = finishing.done()
            await cancel_and_wait(finishing, stopping)
            asked.agents.comes_again = rested
            return rested
        next_look = _SOON_RESTS if fat else min(until_calm_look(), idle / 4) if idle else weight.next_look()
        with contextlib.suppress(TimeoutError):
            async with time_limit(next_look):
                await stop.asked.wait()
    return False


async def _goes_on(hub: Hub) -> bool:
    """Whether there are agents, shells that report, or messages that wait, and it is kept for them."""
    assert hub.fleet is not None
    assert hub.store is not None
    if hub.settings.hub.keep == "never":
        return False
    if any(not is_over(row) for row in hub.fleet.rows()):
        return True
    if hub.shell_log is not None and hub.shell_log.connected:
        return True
    try:
        return bool(await hub.store.mail.find_all(("queued",), limit=1))
    except StoreError:
        return True  # the record says by itself that it cannot be read


class OwnHub:
    """See the module's text.

    Args:
        loaded: the settings; by default those of this process, read with the lock.
        claim: the lock that this process has already.
    """

    def __init__(self, loaded: Loaded | None = None, claim: KeeperClaim | None = None) -> None:
        self._loaded = loaded
        self._claim = claim
        self._hub: Hub | None = None
        self._asked: _Asked | None = None
        self._parts = AsyncExitStack()

    def acquire(self) -> bool:
        """Take the lock, unless it has it; false: another process is the hub. Blocks for a moment. Raises `OSError`:
        there can be no record.
        """
        if self._claim is None:
            self._loaded = load_settings(quiet=True)
            claim = KeeperClaim(self._loaded.settings.general.session_dir)
            self._claim = claim if claim.acquire() else None
        return self._claim is not None

    @property
    def hub(self) -> Hub:
        """It, once it has started."""
        assert self._hub is not None
        return self._hub

    @property
    def socket(self) -> Path:
        """Where it listens, once it has started."""
        assert self._asked is not None
        return self._asked.place.path

    async def start(self) -> None:
        """Begin, and listen to the window and to everybody else."""
        from gshtui.hub.composition import build_hub

        claim, loaded = self._claim, self._loaded
        assert claim is not None
        assert loaded is not None
        self._hub = hub = build_hub(
            HubOptions(Path.home(), loaded, respondent="nobody", parts=KEEPER_PARTS, where="the hub", keeper=True)
        )
        self._parts.push_async_callback(hub.stop)
        await hub.start()
        self._asked = await self._parts.enter_async_context(listening(hub, after_logout=claim.after_logout))
        with contextlib.suppress(OSError):  # the disk may be full
            claim.say_ready(self.socket)

    async def finish(self) -> None:
        """Take nothing new from other processes, and wait until nothing that must not be cut is done for them."""
        if self._asked is not None:
            await self._asked.place.shut()
            await self._asked.finish()
            self._asked.agents.comes_again = True

    async def stop(self) -> None:
        """End all that it does, and let another process be it."""
        await self._parts.aclose()
        if self._claim is not None:
            self._claim.release()
            self._claim = None

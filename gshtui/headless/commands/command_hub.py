"""What every headless command needs first: the settings of its folder, and a hub with the parts it uses.

Configuration problems go to stderr, one sentence each, and never stop a command. The hub is always stopped.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from gshtui.bus.event import Event
from gshtui.bus.events.hub_events import FaultReported
from gshtui.bus.loop_faults import in_words
from gshtui.client.hub_greeting import ANEW, HubSilent, HubUnavailable
from gshtui.headless import exits
from gshtui.headless.outcomes import print_outcome
from gshtui.headless.streams import STDERR, complain, is_terminal
from gshtui.settings.paths import FolderError
from gshtui.system.processes.time_limit import time_limit

if TYPE_CHECKING:
    from gshtui.bus.agent_data import Respondent
    from gshtui.headless.progress import Progress
    from gshtui.hub.faces.local_commands import LocalCommands
    from gshtui.hub.hub import Hub
    from gshtui.hub.hub_options import HubOptions
    from gshtui.settings.loader import Loaded
    from gshtui.settings.model import Settings

_ENDS_WITHIN = 4.0
"""Seconds for a hub that listens no more to end."""
_LOOK_EVERY = 0.05
_STOP_WITHIN = 20.0
"""Seconds that a hub has to stop; its parts have shorter deadlines of their own."""

T = TypeVar("T")
STORE_ONLY = frozenset({"store"})
"""The part that a command on the record alone needs."""


class HubNeeds(msgspec.Struct, frozen=True):
    """What a command needs from its hub, and what it shows while it works."""

    parts: frozenset[str]
    where: str = "gsh-tui run"
    """The name shown to another window that wants the same conversation."""
    flags: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    """Settings for this run only."""
    respondent: Respondent = "nobody"
    conversation: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    """Options of the hub for the conversation that it opens; empty: none."""
    timeout: float = 0.0
    """Seconds after which the command is stopped; 0: never."""
    waiting: str = "Working"
    """The progress line that a person sees after a second of silence."""
    beside: bool = False
    """It visits the record beside a hub that runs."""
    brings_hub: bool = True
    """Start the resident hub where none runs, whose record this is then."""
    shows_agents: bool = False
    """Print the id of each agent that the command starts, as soon as it runs."""


class Denied(Exception):
    """The command was not allowed; the text says why."""


async def on_hub(needs: HubNeeds, work: Callable[[Hub, Progress], Awaitable[T]]) -> T | int:
    """Do the work on a hub of this process; returns its result or, after printing the error, the exit code."""
    try:
        return await _on_hub(needs, work)
    except HubUnavailable as error:
        complain(error.message, error.hint)
        return exits.ERROR


async def _on_hub(needs: HubNeeds, work: Callable[[Hub, Progress], Awaitable[T]]) -> T | int:
    from gshtui.headless.progress import watching
    from gshtui.hub.hub_options import HubOptions

    loaded = await asyncio.to_thread(load_settings, needs.flags)
    if needs.brings_hub:
        await bring_hub(loaded.settings)
    options = HubOptions(
        cwd=working_folder(),
        loaded=loaded,
        respondent=needs.respondent,
        parts=needs.parts,
        visiting=True,
        where=needs.where,
        **needs.conversation,
    )
    async with (
        visiting_hub(options) if needs.beside else only_hub(options) as hub,
        watching(hub, needs.waiting, shows_agents=needs.shows_agents) as progress,
    ):
        await hub.start()
        for failed in (each for each in hub.failed.values() if not each.needs):
            complain(f"{failed.part}: {failed.why}", failed.hint)
        if hub.failed.keys() - ({"providers"} if needs.conversation else ()):
            return exits.ERROR
        return await _result_or_code(lambda: work(hub, progress), needs.timeout, progress.clear)


async def on_settings(
    work: Callable[[LocalCommands], Awaitable[T]],
    *,
    flags: Mapping[str, Any] | None = None,
    quiet: bool = False,
) -> T | int:
    """Do the work without a hub, where the settings are enough; returns as `on_hub` does.

    Args:
        flags: settings for this run only.
        quiet: print no problems of the settings.
    """
    from gshtui.hub.faces.local_commands import LocalCommands

    loaded = load_settings(flags, quiet=quiet)
    return await _result_or_code(lambda: work(LocalCommands(loaded)))


async def bring_hub(settings: Settings) -> bool:
    """Start the hub unless it runs, or none is wanted, and wait for it; whether one serves.

    A process that an agent runs starts none: it would be among that agent's processes. Raises `HubUnavailable`: it
    starts, and does not come, or is another program's.
    """
    from gshtui.fleet.keeper.keeper import (
        LINGER,
        LOGGED_OUT,
        OTHER_VERSION,
        ensure_keeper,
        running_keeper,
        serves,
        wait_for_keeper,
    )
    from gshtui.headless.progress import Progress

    data, progress = settings.general.session_dir, Progress("Waiting for the hub")
    starts = settings.hub.keep != "alone" and not os.environ.get("GSH_AGENT")
    if not starts and await asyncio.to_thread(running_keeper, data) is None:
        return False
    progress.start()
    try:
        if starts and (await ensure_keeper(data, os.environ, briefly=True)).logged_out:
            progress.complain(LOGGED_OUT, LINGER)
        if (ready := await wait_for_keeper(data)) is not None:
            if not serves(ready):
                raise HubUnavailable(*OTHER_VERSION)
            return True
        starting = await asyncio.to_thread(running_keeper, data)
    except OSError:
        return False  # where it cannot start, this process does without it
    finally:
        await progress.stop()
    if starting is None:
        return False
    raise HubSilent(starting.process.pid)


async def _result_or_code(
    work: Callable[[], Awaitable[T]], timeout: float = 0.0, before: Callable[[], None] = lambda: None
) -> T | int:
    """Do the work; returns its result or, after printing the error on stderr, the exit code.

    Args:
        timeout: the most seconds that it may take; 0: no limit.
        before: called before anything is printed.
    """
    from gshtui.commands.declaration import CommandError
    from gshtui.commands.printed_outcome import failed

    try:
        try:
            async with time_limit(timeout or None):
                return await work()
        finally:
            before()
    except TimeoutError:
        complain("timed out; the command was stopped.")
        return exits.TIMED_OUT
    except Denied as denied:
        complain(str(denied))
        return exits.DENIED
    except CommandError as error:
        return print_outcome(failed(error))


def working_folder() -> Path:
    """The current folder. Raises `FolderError` if it was removed."""
    try:
        return Path.cwd()
    except OSError as error:
        raise FolderError("The current folder no longer exists; change to another one.") from error


def load_settings(flags: Mapping[str, Any] | None = None, *, quiet: bool = False) -> Loaded:
    """Load the settings for the current folder, and print their problems on stderr unless `quiet`.
    Raises `FolderError`: the current folder is gone, or there is no home folder.
    """
    from gshtui.settings.loader import load

    loaded = load(working_folder(), flags=flags)
    print_problems(() if quiet else [(problem.level, str(problem)) for problem in loaded.problems])
    return loaded


def serve_face(name: str, *given: object) -> int:
    """Have a feature's face serve; returns its exit code. `given`: what the command line says."""
    from gshtui.settings.contract import FeatureOffError, face

    try:
        return face(name, load_settings(quiet=True).settings.features)(*given)
    except FeatureOffError as error:
        complain(error.message, error.hint)
        return exits.USAGE


def print_problems(problems: Iterable[tuple[str, str]]) -> None:
    """Print problems of the settings, each with its level, on stderr; what only informs, to a person."""
    for level, text in problems:
        if level == "warning" or is_terminal(STDERR):
            complain(text)


def say_faults(batch: Sequence[Event]) -> None:
    """Print isolated faults on stderr; the command continues."""
    for event in batch:
        if isinstance(event, FaultReported) and not event.shown:
            complain(*in_words(event))


@asynccontextmanager
async def only_hub(options: HubOptions) -> AsyncGenerator[Hub]:
    """As `running_hub`, where no other process is the hub of its record. Raises `HubUnavailable`: one is."""
    await no_hub_runs(options.loaded.settings)
    async with running_hub(options) as hub:
        yield hub


async def no_hub_runs(settings: Settings) -> None:
    """Wait a moment for the end of the one that runs. Raises `HubUnavailable`: it goes on."""
    await _no_hub(settings, lambda: False)


@asynccontextmanager
async def visiting_hub(options: HubOptions) -> AsyncGenerator[Hub]:
    """As `running_hub`, beside the hub of its record. Raises `HubUnavailable`: that one does not serve this process."""
    from gshtui.fleet.keeper.keeper import running_keeper
    from gshtui.headless.commands.keeper_call import is_served

    settings = options.loaded.settings
    if await asyncio.to_thread(running_keeper, settings.general.session_dir) is not None:
        await bring_hub(settings)  # one of an older program makes way
    await _no_hub(settings, is_served)
    async with running_hub(options) as hub:
        yield hub


async def _no_hub(settings: Settings, unless: Callable[[], bool]) -> None:
    """Wait a moment until no hub runs. Raises `HubUnavailable`: one does. `unless`: whether it may."""
    from gshtui.fleet.keeper.keeper import IN_CONTAINER, OTHER_VERSION, running_keeper, serves
    from gshtui.system.processes.process_identity import is_here

    data, until = settings.general.session_dir, time.monotonic() + _ENDS_WITHIN
    while (running := await asyncio.to_thread(running_keeper, data)) is not None:
        if not serves(running):
            raise HubUnavailable(*OTHER_VERSION)
        if not is_here(running.process):
            raise HubUnavailable(*IN_CONTAINER)
        if await asyncio.to_thread(unless):
            return
        if time.monotonic() > until:
            raise HubUnavailable(f"The hub (pid {running.process.pid}) is not reached from here.", ANEW)
        await asyncio.sleep(_LOOK_EVERY)


@asynccontextmanager
async def running_hub(options: HubOptions) -> AsyncGenerator[Hub]:
    """A hub, not yet started, that is always stopped at the end."""
    from gshtui.hub.composition import build_hub

    hub = build_hub(options)
    hub.bus.subscribe(say_faults, FaultReported, name="faults")
    try:
        yield hub
    finally:
        stopping = asyncio.ensure_future(hub.stop())
        await asyncio.wait({stopping}, timeout=_STOP_WITHIN)
        if stopping.done():
            stopping.result()
        else:
            complain("not everything stopped in time, but nothing accepted is lost.")

"""The hub of a headless command: the one that runs, one that is started, or this process meanwhile."""

from __future__ import annotations

import asyncio
import errno
import os
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from gshtui.client.hub_greeting import ANEW, HubSilent, HubUnavailable
from gshtui.headless import exits
from gshtui.headless.called_here import load_settings, running_hub, working_folder
from gshtui.headless.outcomes import print_outcome
from gshtui.headless.runner import catch_in_loop
from gshtui.headless.streams import complain

if TYPE_CHECKING:
    from gshtui.fleet.keeper.keeper import KeeperClaim, KeeperState
    from gshtui.headless.progress import Progress
    from gshtui.headless.servers.keeper_process import OwnHub
    from gshtui.hub.faces.local_commands import LocalCommands
    from gshtui.hub.hub import Hub
    from gshtui.hub.hub_options import HubOptions
    from gshtui.settings.loader import Loaded
    from gshtui.settings.model import Settings

_ENDS_WITHIN = 4.0
"""Seconds for a hub that listens no more to end."""
_LOOK_EVERY = 0.05
_OF_AGENT = ("No hub runs, and what an agent runs starts none.", "`gsh-tui hub start` in a terminal of your own does.")
T = TypeVar("T")


class HubTaken(HubUnavailable):
    """Another process is the hub and listens, which may have begun meanwhile: it is asked again."""


class HubNeeds(msgspec.Struct, frozen=True):
    """What a command needs from its hub, and what it shows while it works."""

    parts: frozenset[str]
    where: str = "gsh-tui run"
    """What works there, in its own words."""
    flags: Mapping[str, Any] = msgspec.field(default_factory=dict[str, Any])
    """Settings for this run only."""
    waiting: str = "Working"
    """The progress line that a person sees after a second of silence."""


async def on_hub(needs: HubNeeds, work: Callable[[Hub, Progress], Awaitable[T]]) -> T | int:
    """Do the work on a hub of this process, without the record; returns its result or, after printing the error, the
    exit code.
    """
    from gshtui.headless.progress import watching
    from gshtui.hub.hub_options import HubOptions

    assert "store" not in needs.parts
    loaded = await asyncio.to_thread(load_settings, needs.flags)
    options = HubOptions(
        cwd=working_folder(), loaded=loaded, respondent="nobody", parts=needs.parts, visiting=True, where=needs.where
    )
    async with running_hub(options) as hub, watching(hub, needs.waiting) as progress:
        await hub.start()
        for failed in (each for each in hub.failed.values() if not each.needs):
            complain(f"{failed.part}: {failed.why}", failed.hint)
        return exits.ERROR if hub.failed else await _result_or_code(lambda: work(hub, progress), progress.clear)


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


async def _result_or_code(work: Callable[[], Awaitable[T]], before: Callable[[], None] = lambda: None) -> T | int:
    """Do the work; returns its result or, after printing the error on stderr, the exit code. `before`: called before
    anything is printed.
    """
    from gshtui.commands.declaration import CommandError
    from gshtui.commands.printed_outcome import failed

    try:
        try:
            return await work()
        finally:
            before()
    except CommandError as error:
        return print_outcome(failed(error))


def serve_face(name: str, *given: object) -> int:
    """Have a feature's face serve; returns its exit code. `given`: what the command line says."""
    from gshtui.settings.contract import FeatureOffError, face

    try:
        return face(name, load_settings(quiet=True).settings.features)(*given)
    except FeatureOffError as error:
        complain(error.message, error.hint)
        return exits.USAGE


@asynccontextmanager
async def only_hub(options: HubOptions) -> AsyncGenerator[Hub]:
    """As `running_hub`, while this process is the hub of its record, where that can be written. Raises
    `HubUnavailable`: another one is.
    """
    async with AsyncExitStack() as own:
        host: Hub | None = None
        with suppress(OSError):
            host = (await own.enter_async_context(own_hub(options.loaded))).hub
        yield await own.enter_async_context(running_hub(options, host))


@asynccontextmanager
async def own_hub(loaded: Loaded) -> AsyncGenerator[OwnHub]:
    """The hub of the record, which this process is meanwhile, for others, too, such as panes of agents that it starts.
    Raises `HubUnavailable`: another process is, or an agent runs this one, to which no other gives its keys; `OSError`:
    no record can be written.
    """
    from gshtui.fleet.keeper.keeper import KeeperClaim
    from gshtui.headless.servers.keeper_process import OwnHub

    if os.environ.get("GSH_AGENT"):
        raise HubUnavailable(*_OF_AGENT)
    claim = KeeperClaim(loaded.settings.general.session_dir)
    try:
        await _acquire(claim)
    except OSError as error:
        # Where the disk is full it has the lock; where nothing can be written nobody needs one. It can read.
        if error.errno != errno.EROFS and not claim.is_in_place():
            raise
    own = OwnHub(loaded, claim)
    try:
        await own.start()
        yield own
    finally:
        await own.finish()
        await own.stop()


@contextmanager
def hub_while(loaded: Loaded) -> Generator[Sequence[Path]]:
    """See to it that the hub runs meanwhile, for several calls; gives where it listens, if this process is it. Raises
    `HubUnavailable`.
    """
    with ExitStack() as own:
        at: Sequence[Path] = ()
        if not asyncio.run(bring_hub(loaded.settings)):
            with suppress(HubTaken):
                at = (own.enter_context(hub_here(loaded)),)
        yield at


@contextmanager
def hub_here(loaded: Loaded) -> Generator[Path]:
    """Be the hub meanwhile, in a thread of this process, which is its client as others are; gives where it listens.
    Raises `HubUnavailable`: another process is it, or no record can be written.
    """
    import threading
    from concurrent.futures import Future

    begun: Future[tuple[Path, Callable[[], object]]] = Future()

    async def be() -> None:
        ending = asyncio.Event()
        loop = asyncio.get_running_loop()
        catch_in_loop(loop)
        async with own_hub(loaded) as own:
            begun.set_result((own.socket, lambda: loop.call_soon_threadsafe(ending.set)))
            await ending.wait()

    def run() -> None:
        try:
            asyncio.run(be())
        except OSError as error:
            why = f"No hub can work in {loaded.settings.general.session_dir}: {error.strerror or error}."
            begun.set_exception(HubUnavailable(why, "Check its owner and free space."))
        except HubUnavailable as error:
            begun.set_exception(error)

    thread = threading.Thread(target=run, name="the hub")
    thread.start()
    socket, end = begun.result()
    try:
        yield socket
    finally:
        end()
        thread.join()


async def _acquire(claim: KeeperClaim) -> None:
    """Take the lock, for which a moment is waited. Raises `HubUnavailable`, `OSError`."""
    from gshtui.fleet.keeper.keeper import running_keeper, serves

    until = time.monotonic() + _ENDS_WITHIN
    while not await asyncio.to_thread(claim.acquire):
        running = await asyncio.to_thread(running_keeper, claim.folder)
        if running is not None and running.ready and serves(running):
            why = unreached(running)
            raise HubTaken(why.message, why.hint)
        if time.monotonic() > until or (running is not None and not serves(running)):
            raise unreached(running)
        await asyncio.sleep(_LOOK_EVERY)


def unreached(running: KeeperState | None) -> HubUnavailable:
    """Why the hub that runs does not serve this process."""
    from gshtui.fleet.keeper.keeper import IN_CONTAINER, OTHER_VERSION, serves
    from gshtui.system.processes.process_identity import is_here

    if running is None:
        return HubUnavailable("The hub ended before it took this.", "Try it again.")
    if not serves(running):
        return HubUnavailable(*OTHER_VERSION)
    if not is_here(running.process):
        return HubUnavailable(*IN_CONTAINER)
    return HubUnavailable(f"The hub (pid {running.process.pid}) is not reached from here.", ANEW)

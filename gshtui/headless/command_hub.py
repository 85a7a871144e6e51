"""What every headless command starts with: the settings of its folder, and a hub with the parts that it needs.

Problems of the configuration go to stderr, one sentence each; they never stop a command. The hub is always stopped.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from gshtui.bus.event import Event
from gshtui.bus.events.hub_events import FaultReported
from gshtui.bus.loop_faults import in_words
from gshtui.headless import exits
from gshtui.headless.streams import STDERR, complain, is_terminal
from gshtui.settings.paths import FolderError

if TYPE_CHECKING:
    from gshtui.bus.events.fleet_events import AgentSpawned
    from gshtui.guard.approval import Mode
    from gshtui.headless.progress import Progress
    from gshtui.hub.hub import Hub
    from gshtui.hub.hub_options import HubOptions
    from gshtui.settings.loader import Loaded

_STOP_WITHIN = 20.0
"""Seconds for a hub to stop; it has its own, shorter deadlines for each part."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HubNeeds:
    """What a command needs of its hub, and what it says while it works."""

    parts: frozenset[str]
    where: str = "gsh-tui run"
    """Named to another window that wants the same conversation."""
    flags: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Settings for this run."""
    approvals: Mode = "refuse"
    timeout: float = 0.0
    """Seconds after which it is stopped; 0: never."""
    waiting: str = "Working"
    """What a person is told after a second of silence."""
    started: Callable[[AgentSpawned], None] | None = None
    """Told of an agent that the command has started, as soon as it runs."""


class Denied(Exception):
    """It was not allowed; the text says why."""


async def on_hub(needs: HubNeeds, work: Callable[[Hub, Progress], Awaitable[T]]) -> T | int:
    """Do the work on a hub of its own; gives its result, or the exit code when it failed, which is said on stderr."""
    from gshtui.commands.declaration import CommandError, Unconfirmed, UsageError
    from gshtui.headless.progress import watching
    from gshtui.hub.hub_options import HubOptions

    options = HubOptions(
        cwd=working_folder(),
        loaded=await asyncio.to_thread(load_settings, needs.flags),
        approvals=needs.approvals,
        parts=needs.parts,
        visiting=True,
        where=needs.where,
    )
    async with running_hub(options) as hub, watching(hub, needs.waiting, started=needs.started) as progress:
        await hub.start()
        for failed in hub.failed.values():
            complain(f"{failed.part}: {failed.why}", failed.hint)
        if hub.failed:
            return exits.ERROR
        said, code = "the time is up; the command was stopped.", exits.TIMED_OUT
        try:
            async with asyncio.timeout(needs.timeout or None):
                return await work(hub, progress)
        except TimeoutError:
            pass
        except Denied as denied:
            said, code = str(denied), exits.DENIED
        except Unconfirmed as error:
            said, code = f"{error.message} `--yes` does it all the same.", exits.DENIED
        except UsageError as error:
            said, code = str(error), exits.USAGE
        except CommandError as error:
            said, code = str(error), exits.ERROR
        finally:
            progress.clear()
        complain(said)
        return code


def working_folder() -> Path:
    """The current folder. Raises `FolderError` when it was removed."""
    try:
        return Path.cwd()
    except OSError as error:
        raise FolderError("The current folder is gone; change to one that exists.") from error


def load_settings(flags: Mapping[str, Any] | None = None) -> Loaded:
    """The settings for the current folder, with what is wrong with them said.

    Raises:
        FolderError: the current folder is gone, or there is no home folder.
    """
    from gshtui.settings.loader import load

    loaded = load(working_folder(), flags=flags)
    for problem in loaded.problems:
        if problem.level == "warning" or is_terminal(STDERR):
            complain(str(problem))
    return loaded


def _say_faults(batch: Sequence[Event]) -> None:
    """A fault that was isolated is said on stderr, beside whatever the command goes on to do."""
    for event in batch:
        if isinstance(event, FaultReported) and not event.shown:
            complain(*in_words(event))


@asynccontextmanager
async def running_hub(options: HubOptions) -> AsyncGenerator[Hub]:
    """A hub that is not started yet, and is stopped at the end, whatever happens."""
    from gshtui.hub.hub import Hub

    hub = Hub(options)
    hub.bus.subscribe(_say_faults, FaultReported, name="faults")
    try:
        yield hub
    finally:
        stopping = asyncio.ensure_future(hub.stop())
        await asyncio.wait({stopping}, timeout=_STOP_WITHIN)
        if stopping.done():
            stopping.result()
        else:
            complain("some of it did not stop in time; what was accepted is on disk.")

"""Where a command was called: its folder, its settings, and a hub of this process with what is printed of its faults.

Problems of the settings go to stderr, one sentence each, and never stop a command.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gshtui.bus.event import Event
from gshtui.bus.events.hub_events import FaultReported
from gshtui.bus.loop_faults import in_words
from gshtui.headless.streams import STDERR, complain, is_terminal
from gshtui.settings.paths import FolderError
from gshtui.system.tasks import end_all

if TYPE_CHECKING:
    from gshtui.hub.hub import Hub
    from gshtui.hub.hub_options import HubOptions
    from gshtui.settings.loader import Loaded

_STOP_WITHIN = 20.0
"""Seconds that a hub has to stop; its parts have shorter deadlines of their own."""


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
async def running_hub(options: HubOptions, host: Hub | None = None) -> AsyncGenerator[Hub]:
    """A hub, not yet started, that is always stopped at the end. `host`: as for `build_hub`."""
    from gshtui.bus.bus import Bus
    from gshtui.hub.composition import build_hub

    hub = build_hub(options, None if host is None else Bus(), host)
    for bus in {hub.bus, (host or hub).bus}:
        bus.subscribe(say_faults, FaultReported, name="faults")
    try:
        yield hub
    finally:
        stopping = asyncio.ensure_future(end_all("the end of the hub", hub.stop, hub.bus.close))
        await asyncio.wait({stopping}, timeout=_STOP_WITHIN)
        if stopping.done():
            stopping.result()
        else:
            complain("not everything stopped in time, but nothing accepted is lost.")

"""What every headless command starts with: the settings of its folder, and a hub with the parts that it needs.

Problems of the configuration go to stderr, one sentence each; they never stop a command. The hub is always stopped.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gshtui.bus.event import Event
from gshtui.bus.events.hub_events import FaultReported
from gshtui.bus.loop_faults import in_words
from gshtui.headless.streams import STDERR, complain, is_terminal
from gshtui.settings.paths import FolderError

if TYPE_CHECKING:
    from gshtui.hub.hub import Hub
    from gshtui.hub.options import HubOptions
    from gshtui.settings.loader import Loaded

_STOP_WITHIN = 20.0
"""Seconds for a hub to stop; it has its own, shorter deadlines for each part."""


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

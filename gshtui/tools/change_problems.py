"""What language servers say of a file that an agent changes, added to the result of the change.

A change is made in any case, and waits for them no longer than the settings say; where there is no server for the file,
nothing is added.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gshtui.commands.declaration import CommandError, Invocation, Outcome
from gshtui.tools import path_location
from gshtui.tools.file_paths import FilePaths, RealPath

if TYPE_CHECKING:
    from gshtui.code.language_servers import ChangeWatch, LanguageServers

Change = Callable[[Invocation, Any], Awaitable[Outcome]]


def with_problems(paths: FilePaths, servers: Callable[[], LanguageServers] | None, change: Change) -> Change:
    """A handler of parameters with a `path` that changes that file, and says what servers say of it.

    Args:
        servers: those of the hub, made when they are first needed; `None`: there are none.
    """
    if servers is None:
        return change

    async def handle(invocation: Invocation, parameters: Any) -> Outcome:
        watch = await _watch(paths, servers(), invocation, str(parameters.path))
        outcome = await change(invocation, parameters)
        if watch is None or outcome.is_error:
            return outcome
        said = await servers().after_change(watch, lambda path: path_location.shown(path, watch.project))
        return replace(outcome, text=f"{outcome.text}\n{said}") if said else outcome

    return handle


async def _watch(paths: FilePaths, servers: LanguageServers, invocation: Invocation, asked: str) -> ChangeWatch | None:
    """What is known before an agent's change; `None`: nobody looks at it."""
    if not invocation.caller.is_agent:
        return None
    try:
        found = paths.resolve(invocation, asked)
        if not isinstance(found, RealPath):
            return None
        place = await asyncio.to_thread(path_location.locate, found.invocation, found.asked)
    except CommandError:
        return None  # the change itself says why
    return await servers.before_change(place.real, Path(os.path.realpath(invocation.project)))

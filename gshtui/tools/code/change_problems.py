"""What language servers say of a file that an agent changes, added to the result of the change.

A change is made in any case, and waits for them no longer than the settings say; where there is no server for the file,
nothing is added. Of what a shell command changes, only files are looked at that were edited or asked about before.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from gshtui.commands.declaration import Invocation, Outcome
from gshtui.system.expected_error import ExpectedError
from gshtui.tools.files import path_location
from gshtui.tools.files.file_paths import FilePaths, RealPath

if TYPE_CHECKING:
    from gshtui.code.language_servers import ChangeWatch, LanguageServers

Change = Callable[[Invocation, Any], Awaitable[Outcome]]


class ChangeProblems:
    """Wraps handlers that change files."""

    def __init__(self, paths: FilePaths, servers: Callable[[], LanguageServers] | None) -> None:
        """`servers`: gives those of the hub, made when they are first needed; `None`: there are none."""
        self._paths = paths
        self._servers = servers
        self._needed = False
        """A file was edited that a server looks at."""

    def of_edit(self, change: Change) -> Change:
        """A handler of parameters with a `path` that changes that file, and says what servers say of it."""
        servers = self._servers
        if servers is None:
            return change

        async def handle(invocation: Invocation, parameters: Any) -> Outcome:
            watch = await _watch(self._paths, servers(), invocation, str(parameters.path))
            outcome = await change(invocation, parameters)
            if watch is None or outcome.is_error:
                return outcome
            self._needed = True
            said = await servers().after_change(watch, lambda path: path_location.shown(path, watch.project))
            return replace(outcome, text=f"{outcome.text}\n{said}") if said else outcome

        return handle

    def of_command(self, run: Change) -> Change:
        """A handler that runs a command, and says what servers say of the known files that it changed."""
        servers = self._servers
        if servers is None:
            return run

        async def handle(invocation: Invocation, parameters: Any) -> Outcome:
            outcome = await run(invocation, parameters)
            if not self._needed or not invocation.caller.is_agent:
                return outcome
            project = Path(os.path.realpath(invocation.project))
            said = await servers().after_command(project, lambda path: path_location.shown(path, project))
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
    except ExpectedError:
        return None  # the change itself says why
    return await servers.before_change(place.real, Path(os.path.realpath(invocation.project)))

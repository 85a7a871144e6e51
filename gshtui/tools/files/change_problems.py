"""What language servers say of a file that an agent changes, added to the result of the change.

A change is made in any case, and waits for them no longer than the settings say; where there is no server for the file,
nothing is added. Of what a shell command changes, only files are looked at that were edited or asked about before.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Protocol

from msgspec.structs import replace

from gshtui.commands.declaration import Invocation, Outcome
from gshtui.system.expected_error import ExpectedError
from gshtui.tools.files import path_location
from gshtui.tools.files.file_paths import FilePaths, RealPath

Change = Callable[[Invocation, Any], Awaitable[Outcome]]


class ChangeChecker(Protocol):
    """Checks files that change; `shown` gives a file's name for who changed it."""

    async def before_change(self, path: Path, project: Path) -> Any | None:
        """Note what is known of a file that is about to be changed; `None`: nobody looks at it."""
        ...

    async def after_change(self, watch: Any, shown: Callable[[Path], str]) -> str:
        """What there is to say of the change, with what was noted before it; empty: nothing."""
        ...

    async def after_command(self, project: Path, shown: Callable[[Path], str]) -> str:
        """What there is to say of what a command changed in a project; empty: nothing."""
        ...


class ChangeProblems:
    """Wraps handlers that change files."""

    def __init__(self, paths: FilePaths, checker: Callable[[], ChangeChecker] | None) -> None:
        """`checker`: gives that of the hub, made when it is first needed; `None`: there is none."""
        self._paths = paths
        self._checker = checker
        self._needed = False
        """A file was edited that a server looks at."""

    def of_edit(self, change: Change) -> Change:
        """A handler of parameters with a `path` that changes that file, and says what servers say of it."""
        checker = self._checker
        if checker is None:
            return change

        async def handle(invocation: Invocation, parameters: Any) -> Outcome:
            project = Path(os.path.realpath(invocation.project))
            watch = await _watch(self._paths, checker(), invocation, str(parameters.path), project)
            outcome = await change(invocation, parameters)
            if watch is None or outcome.is_error:
                return outcome
            self._needed = True
            said = await checker().after_change(watch, lambda path: path_location.shown(path, project))
            return replace(outcome, text=f"{outcome.text}\n{said}") if said else outcome

        return handle

    def of_command(self, run: Change) -> Change:
        """A handler that runs a command, and says what servers say of the known files that it changed."""
        checker = self._checker
        if checker is None:
            return run

        async def handle(invocation: Invocation, parameters: Any) -> Outcome:
            outcome = await run(invocation, parameters)
            if not self._needed or not invocation.caller.is_agent:
                return outcome
            project = Path(os.path.realpath(invocation.project))
            said = await checker().after_command(project, lambda path: path_location.shown(path, project))
            return replace(outcome, text=f"{outcome.text}\n{said}") if said else outcome

        return handle


async def _watch(
    paths: FilePaths, checker: ChangeChecker, invocation: Invocation, asked: str, project: Path
) -> Any | None:
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
    return await checker.before_change(place.real, project)

"""The sandboxes of one hub: made for a project once it is proven on this machine that they hold."""

from __future__ import annotations

import asyncio
import contextlib
import os
from dataclasses import dataclass, field
from pathlib import Path

from gshtui.guard.sandbox.sandbox import ProjectSandbox, find_bubblewrap, unsuitable
from gshtui.guard.sandbox.sandbox_limits import SandboxLimits
from gshtui.guard.sandbox.self_test import try_escapes
from gshtui.settings.settings_tables import Sandbox as SandboxSettings
from gshtui.system.tasks import start_job


@dataclass(slots=True)
class Sandboxes:
    """Gives sandboxes, or says why there is none.

    Args:
        settings: the `[sandbox]` table.
        own: our own folders, which no command sees; the first one keeps what is taken out of projects.
    """

    settings: SandboxSettings
    own: tuple[Path, ...]
    _tried: asyncio.Task[str | None] | None = field(default=None, repr=False)

    async def sandbox(self, project: Path) -> ProjectSandbox | str:
        """The sandbox of a project; or why there is none, as the end of a sentence.

        Args:
            project: its real folder.
        """
        if not self.settings.enabled:
            return "the sandbox is switched off"
        program = find_bubblewrap()
        if not program:
            return "bubblewrap is not installed"
        if why := await asyncio.to_thread(unsuitable, project):
            return why
        if self._tried is None:  # once a process: what holds now holds until the system is changed
            self._tried = start_job(try_escapes(program, self.own[0]), "the sandbox")
        why = await asyncio.shield(self._tried)
        if why is None:
            return "it could not be tried"
        if why:
            return why
        return await asyncio.to_thread(self._made, program, project)

    def _made(self, program: str, project: Path) -> ProjectSandbox:
        settings = self.settings
        writable = _writable(project, settings.writable_paths)
        return ProjectSandbox(
            program,
            project,
            self.own[0] / "taken-out",
            tuple(path for path in writable if path != project),
            settings.allow_network,
            self.own,
            read_only=project not in writable,
            limits=SandboxLimits(settings.max_processes, settings.max_memory_mb, settings.max_file_mb),
        )


def _writable(project: Path, wanted: list[str]) -> list[Path]:
    """The real folders that the settings name; below a project that is named itself, none. Blocks for a moment.

    A link in the project leads nowhere: whoever wrote the project, or a command before, could name any folder by it.
    """
    found: dict[Path, None] = {}
    for word in wanted:
        named = Path(os.path.normpath(project / Path(word).expanduser()))
        real = Path(os.path.realpath(named))
        if named.is_relative_to(project) and real != named:
            continue
        found[real] = None
    if project in found:
        return [path for path in found if path == project or (not path.is_relative_to(project) and path.is_dir())]
    for path in found:
        if path.is_relative_to(project):
            with contextlib.suppress(OSError):  # it is left out where it cannot be made
                path.mkdir(parents=True, exist_ok=True)
    return [path for path in found if path.is_dir()]

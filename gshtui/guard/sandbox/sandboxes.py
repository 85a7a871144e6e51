"""The sandboxes of one hub: made for a project once it is proven on this machine that they hold."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from gshtui.guard.sandbox.sandbox import ProjectSandbox, find_bubblewrap, unsuitable
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
        wanted = [(project / Path(path).expanduser()).resolve() for path in self.settings.writable_paths]
        writable = tuple(path for path in wanted if not path.is_relative_to(project) and path.is_dir())
        kept = self.own[0] / "taken-out"
        return ProjectSandbox(program, project, kept, writable, self.settings.allow_network, self.own)

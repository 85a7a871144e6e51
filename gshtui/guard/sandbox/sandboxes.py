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
from gshtui.guard.sandbox.self_test_record import SelfTestRecord
from gshtui.settings.settings_tables import Sandbox as SandboxSettings
from gshtui.system.tasks import start_job
from gshtui.text.host_rules import HostRules


@dataclass(slots=True)
class Sandboxes:
    """Gives sandboxes, or says why there is none.

    Args:
        settings: the `[sandbox]` table.
        own: our own folders, which no command sees; the first one keeps what is taken out of projects.
    """

    settings: SandboxSettings
    own: tuple[Path, ...]
    _granted: dict[str, HostRules] = field(default_factory=dict[str, HostRules], repr=False)
    _tried: asyncio.Task[str | None] | None = field(default=None, repr=False)

    def grant_host(self, session: str, host: str) -> None:
        """Let the commands of a conversation reach a host, as `[sandbox] hosts` would, until this process ends.

        Raises:
            ValueError: it is no host; the message says why.
        """
        self._granted[session] = self._granted.get(session, HostRules()) | HostRules.parse([host])

    async def sandbox(self, project: Path, session: str = "") -> ProjectSandbox | str:
        """The sandbox of a project; or why there is none, as the end of a sentence.

        Args:
            project: its real folder.
            session: the conversation, for which hosts may have been granted.
        """
        if not self.settings.enabled:
            return "the sandbox is switched off"
        program = find_bubblewrap()
        if not program:
            return "bubblewrap is not installed"
        if why := await asyncio.to_thread(unsuitable, project):
            return why
        if self._tried is None:  # once a process: what holds now holds until the system is changed
            self._tried = start_job(self._try(program), "the sandbox")
        why = await asyncio.shield(self._tried)
        if why is None:
            return "it could not be tried"
        if why:
            return why
        return await asyncio.to_thread(self._made, program, project, session)

    async def _try(self, program: str) -> str:
        record = SelfTestRecord(self.own[0] / "sandbox-tried", program)
        if await asyncio.to_thread(record.holds):
            return ""
        why = await try_escapes(program, self.own[0])
        if not why:
            await asyncio.to_thread(record.keep)
        return why

    def _made(self, program: str, project: Path, session: str) -> ProjectSandbox:
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
            hosts=HostRules.parse(settings.hosts) | self._granted.get(session, HostRules()),
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

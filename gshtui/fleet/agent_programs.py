"""Somebody's programs as agents: their profiles, how each is started, spoken to and looked at.

Owns the profiles once they are read, and one conversation a terminal; refuses a program that is not there. Used by the
fleet's launcher, post and follower.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.fleet.ports import AgentStart, FleetError, Kind
from gshtui.programs.profile import GENERIC, LoadedProfiles, Profile, ProfileError, load
from gshtui.tmux.server import TmuxServer

if TYPE_CHECKING:
    from gshtui.programs.cli_session import CliSession
    from gshtui.programs.pane_view import SessionError
    from gshtui.programs.pane_writer import PaneWriter

_KINDS: dict[str, Kind] = {"ended": "ended", "unfit": "invalid", "untaken": "failed", "terminal": "tmux"}


def is_known(row: AgentRow) -> bool:
    """Whether something is known of the agent's program: how it is interrupted without being ended."""
    return row.kind == "native" or row.profile not in ("", GENERIC)


class Programs:
    """The profiles of this hub, read when the first program is looked at."""

    def __init__(self) -> None:
        self._loaded: LoadedProfiles | None = None
        self._sessions: dict[tuple[str, int], CliSession] = {}

    async def profile(self, row: AgentRow) -> Profile:
        """The profile of an agent; the generic one where its own is gone by now."""
        loaded = await self._profiles()
        own = loaded.profiles.get(row.profile) if row.profile != GENERIC else None
        return own or loaded.for_argv(row.argv)

    async def writer(self, server: TmuxServer, pane: str, name: str, argv: Sequence[str]) -> PaneWriter:
        """What types into a terminal that is no agent's, which was started with this command line."""
        from gshtui.programs.pane_view import PaneView
        from gshtui.programs.pane_writer import PaneWriter

        loaded = await self._profiles()
        return PaneWriter(PaneView(server, pane, name, loaded.for_argv(argv), loaded.of_process))

    async def session(self, server: TmuxServer, row: AgentRow) -> CliSession:
        """The conversation with the program that runs in the agent's terminal; one, so that texts never mix."""
        from gshtui.programs.cli_session import CliSession

        key = (row.id, row.pid)
        if key not in self._sessions:
            profile, loaded = await self.profile(row), await self._profiles()
            self._sessions.setdefault(key, CliSession(server, row, profile, loaded.of_process))
        return self._sessions[key]

    async def start(
        self, row: AgentRow, request: SpawnRequest, data: Path, environ: Mapping[str, str], *, again: bool
    ) -> AgentStart:
        """What to run. Raises `FleetError`."""
        from gshtui.programs import launch

        loaded = await self._profiles()
        try:
            profile = loaded.get(request.profile) if request.profile else loaded.for_argv(request.cli)
        except ProfileError as error:
            raise FleetError("invalid", str(error), hint="`profiles` lists them.") from error
        argv = request.cli or profile.argv
        if not argv:
            raise FleetError("invalid", f"The profile {profile.name} names no program.", hint="Give it with `cli`.")
        argv = (await asyncio.to_thread(find_program, argv[0], Path(row.cwd)), *argv[1:])
        if again:
            made = await launch.next_launch(profile, argv, row.external_id, agent=row.id, data=data, environ=environ)
        else:
            made = await launch.first_launch(profile, argv, agent=row.id, data=data, environ=environ)
        prompt = "" if again else request.prompt
        return AgentStart(made.argv, made.environment(environ), prompt, made.blank, made.external_id, profile.name)

    async def glance(self, server: TmuxServer, row: AgentRow) -> dict[str, Any]:
        """What the program's screen says of its status now, for who does not follow it; nothing when it says none."""
        from gshtui.programs.pane_view import SessionError

        session = await self.session(server, row)
        try:
            seen = await session.read_screen()
        except SessionError:
            return {}
        status, doing, source = seen.reading.status, seen.reading.doing, "screen"
        if session.takes_code and status != "waiting":
            source = "process"
            if not seen.front.own:
                status, doing = "tool", f"a command runs: {seen.front.program}"
        if not status or status == row.status:
            return {}
        needs_you = status == "waiting"
        return {"status": status, "status_source": source, "doing": doing, "needs_you": needs_you}

    async def _profiles(self) -> LoadedProfiles:
        if self._loaded is None:
            self._loaded = await asyncio.to_thread(load)
        return self._loaded


def from_session_error(error: SessionError) -> FleetError:
    """The fleet's error for one of a conversation's."""
    from gshtui.programs.pane_view import PASSES

    kind = _KINDS.get(error.kind, "busy" if error.kind in PASSES else "tmux")
    return FleetError(kind, error.message, hint=error.hint)


def find_program(program: str, cwd: Path) -> str:
    """The program as it can be started. Blocks for a moment. Raises `FleetError` when there is none."""
    candidate = str(cwd / program) if "/" in program else program
    path = shutil.which(candidate, path=os.environ.get("PATH"))
    if path is None:
        where = "there is no such program" if "/" in program else "it is not on the PATH"
        raise FleetError("invalid", f"{program} cannot be started: {where}.", hint="Install it, or give its full path.")
    return str(Path(path).absolute())

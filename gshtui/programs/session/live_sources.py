"""Which live sources a program has: the protocols by which we are connected to it, and what it keeps up to date itself.

A new kind of source is added here; the follower makes them for each agent, and the status watcher starts them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

import msgspec

from gshtui.bus.agent_data import AgentRow
from gshtui.programs.pane.program_link import ProgramLink
from gshtui.programs.profiles.profile import Profile
from gshtui.programs.status.evidence import Evidence, LiveSource, Rank
from gshtui.programs.transcripts.transcript_readers import TurnText
from gshtui.system.files.folder_watch import FolderWatch
from gshtui.system.tasks import cancel_and_wait
from gshtui.tmux.server import TmuxServer


def live_sources(
    profile: Profile,
    row: AgentRow,
    environ: Mapping[str, str],
    last_turn: Callable[[], Awaitable[TurnText | None]],
) -> list[LiveSource]:
    """The sources for an agent's program, not yet started; none on another machine, whose files are not here.

    Args:
        environ: of the program, which says where its files are.
        last_turn: the last turn in the transcript of its conversation.
    """
    from gshtui.programs.session.listed_session import ListedSession, lists_sessions
    from gshtui.programs.session.session_record import SessionRecord
    from gshtui.programs.transcripts.transcript_readers import READERS

    found: list[LiveSource] = []
    if row.host:
        return found
    if profile.record and row.pid:
        record = SessionRecord(profile.record, row.pid, environ)
        found.append(record)
        program = next((word for word in row.argv if Path(word).name in profile.programs), "")
        if profile.record == "claude" and program and lists_sessions(row.version):
            found.append(ListedSession(record, program, row.pid, environ))
    if (profile.hooks.kind or profile.name) in READERS:
        found.append(FinishedTurn(last_turn))
    return found


def link_to(profile: Profile, server: TmuxServer, row: AgentRow) -> ProgramLink | None:
    """The link to an agent's program, not yet connected; `None`: it was started without one, or on another machine."""
    if not profile.protocol or row.host or not row.pid:
        return None
    if profile.protocol == "opencode":
        from gshtui.programs.opencode.opencode_link import OpenCodeLink
        from gshtui.programs.opencode.server_launch import port_of

        port = port_of(row.argv)
        return OpenCodeLink(server, row, port) if port else None
    from gshtui.programs.codex.app_server_launch import socket_of
    from gshtui.programs.codex.codex_link import CodexLink

    socket = socket_of(row.argv)
    return CodexLink(socket, row, profile) if socket is not None else None


class FinishedTurn(LiveSource):
    """The transcript of one agent's conversation."""

    def __init__(self, last_turn: Callable[[], Awaitable[TurnText | None]]) -> None:
        self._last_turn = last_turn
        self._turn: TurnText | None = None
        self._confirmed = 0.0
        self._changed: Callable[[], None] | None = None
        self._quiet = False
        self._watched: Path | None = None
        self._watch: FolderWatch | None = None
        self._grown = False
        self._task: asyncio.Task[None] | None = None

    @property
    def evidence(self) -> Evidence | None:
        """That it rests, since its last words were written down, or that its helpers go on."""
        turn = self._turn
        if turn is None or not turn.over:
            return None
        if turn.helped:
            why = "helpers that it has started are at work"
            return Evidence(
                Rank.TRANSCRIPT, "transcript", "thinking", turn.written, self._confirmed, why=why, behind=True
            )
        rest = Evidence(Rank.TRANSCRIPT, "transcript", "idle", turn.written, self._confirmed, final=turn.final)
        return msgspec.structs.replace(rest, why="its turn is finished", began=turn.at, timed=turn.timed)

    async def start(self, changed: Callable[[], None]) -> None:
        self._changed = changed

    async def refresh(self, *, quiet: bool) -> None:
        """Read it, if that matters now."""
        self._quiet = quiet
        if not quiet:
            return
        before, self._turn = self._turn, await self._last_turn()
        self._confirmed = time.time()
        if self._turn is not None and self._turn.file != self._watched and self._changed is not None:
            self._follow(self._turn.file)
        if self._turn != before and self._changed is not None:
            self._changed()

    async def stop(self) -> None:
        """End."""
        self._changed = None
        self._follow(None)
        task, self._task = self._task, None
        await cancel_and_wait(task)

    def _follow(self, file: Path | None) -> None:
        """Hear of what is written into this file."""
        if self._watch is not None:
            self._watch.close()
            self._watch = None
        self._watched = file
        if file is not None:
            self._watch = FolderWatch(file.parent, lambda name: name == file.name)
            self._watch.on_change(self._read_soon)

    def _read_soon(self) -> None:
        self._grown = self._quiet
        if self._grown and (self._task is None or self._task.done()):
            self._task = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        while self._grown:  # it may grow again while it is read
            self._grown = False
            await self.refresh(quiet=True)

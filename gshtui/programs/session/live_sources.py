"""Which live sources a program has: the protocols by which we are connected to it, and what it keeps up to date itself.

A new kind of source is added here; the follower makes them for each agent, and the status watcher starts them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path

from gshtui.bus.agent_data import AgentRow
from gshtui.programs.pane.program_link import ProgramLink
from gshtui.programs.profiles.profile import Profile
from gshtui.programs.status.evidence import LiveSource
from gshtui.programs.transcripts.transcript_readers import TurnText
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
    from gshtui.programs.transcripts.finished_turn import FinishedTurn
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

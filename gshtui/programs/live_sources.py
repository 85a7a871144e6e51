"""Which live sources a program has: the protocols by which we are connected to it, and what it keeps up to date itself.

A new kind of source is added here; the follower makes them for each agent, and the status watcher starts them.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from gshtui.bus.agent_data import AgentRow
from gshtui.programs.evidence import LiveSource
from gshtui.programs.profile import Profile
from gshtui.programs.transcripts.transcript_readers import TurnText


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
    from gshtui.programs.session_record import SessionRecord
    from gshtui.programs.transcripts.finished_turn import FinishedTurn
    from gshtui.programs.transcripts.transcript_readers import READERS

    found: list[LiveSource] = []
    if row.host:
        return found
    if profile.record and row.pid:
        found.append(SessionRecord(profile.record, row.pid, environ))
    if (profile.hooks.kind or profile.name) in READERS:
        found.append(FinishedTurn(last_turn))
    return found

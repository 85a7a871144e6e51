"""A connection to a program in a terminal by a protocol of its own: prompts and answers go by it, not by keys.

The terminal shows the same program; what a person does there and what is done by the link come to the same. Where the
link is not there, everything is typed. Implemented once for each protocol; used by `CliSession`.
"""

from __future__ import annotations

from typing import Protocol

from gshtui.bus.agent_data import AgentRow, OpenQuestion
from gshtui.programs.evidence import LiveSource
from gshtui.programs.profile import Profile
from gshtui.tmux.server import TmuxServer


class ProgramLink(LiveSource, Protocol):
    """See the module. Its evidence is of the rank `PROTOCOL`."""

    async def connected(self) -> bool:
        """Whether prompts and answers can go by it now; waits a moment for a connection that is just being made."""
        ...

    async def prompt(self, text: str) -> bool:
        """Give it a prompt, in its turn where it is in one; whether it took it. It is never given twice.

        Raises:
            SessionError: unsure: nobody knows whether it was taken.
        """
        ...

    async def interrupt(self) -> bool:
        """Interrupt its turn; whether there was one."""
        ...

    async def question(self) -> OpenQuestion | None:
        """What it asks now."""
        ...

    def asks(self, question: str) -> bool:
        """Whether a question with this id comes from this link."""
        ...

    async def answer(self, question: str, choice: str) -> OpenQuestion | None:
        """Answer a question that it asks; what is asked next, if anything is.

        Raises:
            SessionError: waiting: it does not ask that any more, or it still does; unsure.
        """
        ...


def link_to(profile: Profile, server: TmuxServer, row: AgentRow) -> ProgramLink | None:
    """The link to an agent's program, not yet connected; `None`: it was started without one, or on another machine."""
    if not profile.protocol or row.host or not row.pid:
        return None
    if profile.protocol == "opencode":
        from gshtui.programs.opencode.opencode_link import OpenCodeLink
        from gshtui.programs.opencode.server_address import port_of

        port = port_of(row.argv)
        return OpenCodeLink(server, row, port) if port else None
    from gshtui.programs.codex.app_server_launch import socket_of
    from gshtui.programs.codex.codex_link import CodexLink

    socket = socket_of(row.argv)
    return CodexLink(socket, row.name) if socket is not None else None

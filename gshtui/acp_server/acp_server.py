"""Our agent for clients that speak the Agent Client Protocol: editors such as Zed, terminals such as Toad.

Implements the SDK's `Agent`; one `AcpSession` for each session. Errors reach the client as one sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import acp
from acp.schema import (
    AgentCapabilities,
    AuthenticateResponse,
    Implementation,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptCapabilities,
    PromptResponse,
    SessionCapabilities,
    SessionInfo,
    SessionListCapabilities,
    SetSessionModeResponse,
)

import gshtui
from gshtui.acp_server import session_updates
from gshtui.acp_server.acp_session import AcpSession, OpenHub
from gshtui.guard.modes import mode_named
from gshtui.store.store import Store
from gshtui.system.expected_error import ExpectedError
from gshtui.system.tasks import end_all
from gshtui.text.sanitise import one_line

PROTOCOL = 1
_LISTED = 100


class AcpServer:
    """See the module. `close` ends every session."""

    def __init__(self, open_hub: OpenHub) -> None:
        self._open_hub = open_hub
        self._client: Any = None
        self._sessions: dict[str, AcpSession] = {}
        self._store: Store | None = None

    def on_connect(self, conn: Any) -> None:
        """Called by the SDK with the client."""
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        """Agree on version 1, whatever the client asks for; it decides whether it goes on."""
        return InitializeResponse(
            protocol_version=PROTOCOL,
            agent_info=Implementation(name="gsh-tui", title="gsh-tui", version=gshtui.__version__),
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(image=True, embedded_context=True),
                session_capabilities=SessionCapabilities(list=SessionListCapabilities()),
            ),
            auth_methods=[],
        )

    async def authenticate(self, method_id: str, **_: Any) -> AuthenticateResponse:
        """There is nothing to log in to: keys come from the environment or a keyring."""
        return AuthenticateResponse()

    async def new_session(self, cwd: str, **_: Any) -> NewSessionResponse:
        """A new conversation in this folder."""
        session = await self._open(cwd, "new")
        return NewSessionResponse(session_id=session.id, modes=session_updates.modes(session.mode))

    async def load_session(self, cwd: str, session_id: str, **_: Any) -> LoadSessionResponse:
        """Continue a conversation; all of it is told again first."""
        session = self._sessions.get(session_id) or await self._open(cwd, session_id)
        await session.replay()
        return LoadSessionResponse(modes=session_updates.modes(session.mode))

    async def list_sessions(self, cwd: str | None = None, cursor: str | None = None, **_: Any) -> ListSessionsResponse:
        """The newest conversations, of one folder or of all."""
        if self._store is None:
            return ListSessionsResponse(sessions=[])
        infos = await self._store.sessions.find_all(cwd=cwd, limit=_LISTED)
        return ListSessionsResponse(
            sessions=[SessionInfo(session_id=info.id, cwd=info.cwd, title=info.title or None) for info in infos]
        )

    async def set_session_mode(self, mode_id: str, session_id: str, **_: Any) -> SetSessionModeResponse:
        """Give the agent another of our guard's modes."""
        mode = mode_named(mode_id)
        if mode is None:
            raise _invalid(f"There is no mode {one_line(mode_id, 40)!r}.")
        self._find(session_id).set_mode(mode)
        return SetSessionModeResponse()

    async def prompt(self, prompt: Sequence[Any], session_id: str, **_: Any) -> PromptResponse:
        """One turn."""
        try:
            return PromptResponse(stop_reason=await self._find(session_id).prompt(prompt))
        except ExpectedError as error:
            raise acp.RequestError(-32603, str(error)) from error

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Interrupt the session's turn."""
        if (session := self._sessions.get(session_id)) is not None:
            session.cancel()

    async def close(self) -> None:
        """End every session."""
        sessions, self._sessions = list(self._sessions.values()), {}
        await end_all("the end of a session", *(session.close for session in sessions))

    async def _open(self, cwd: str, wanted: str) -> AcpSession:
        folder = Path(cwd)
        if not folder.is_absolute() or not folder.is_dir():
            raise _invalid(f"The folder {one_line(cwd, 200)} does not exist, or is not an absolute path.")
        try:
            hub = await self._open_hub(folder, wanted)
        except ExpectedError as error:
            raise acp.RequestError(-32603, str(error)) from error
        self._store = hub.store
        session = AcpSession(hub, self._client)
        self._sessions[session.id] = session
        return session

    def _find(self, session_id: str) -> AcpSession:
        session = self._sessions.get(session_id)
        if session is None:
            raise _invalid(f"There is no session {one_line(session_id, 80)}.")
        return session


def _invalid(why: str) -> acp.RequestError:
    return acp.RequestError(-32602, why)

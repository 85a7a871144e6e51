"""Our agent for clients that speak the Agent Client Protocol: editors such as Zed, terminals such as Toad.

Implements the SDK's `Agent`; one `AcpSession` for each session. Errors reach the client as one sentence.

The MCP servers that a client passes on with a session. They run as those that a project brings: once the person has
agreed to exactly this, in the sandbox, and each call past the guard. What looks like a secret becomes a variable of
this process, so that no list, question or record shows it.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import acp
from acp.schema import (
    AuthenticateResponse,
    CloseSessionResponse,
    InitializeResponse,
    ListSessionsResponse,
    LoadSessionResponse,
    NewSessionResponse,
    PromptResponse,
    ResumeSessionResponse,
    SessionInfo,
    SetSessionConfigOptionResponse,
    SetSessionModeResponse,
)
from pydantic import ValidationError

from gshtui import __version__
from gshtui.bus.events.hub_events import Noticed
from gshtui.features.acp import session_updates
from gshtui.features.acp.acp_session import AcpSession, OpenHub
from gshtui.guard.modes import mode_named
from gshtui.guard.secrets.child_environment import is_secret_variable
from gshtui.settings.loader import ClientServers
from gshtui.settings.setting_values import looks_secret
from gshtui.settings.started_programs import McpServer
from gshtui.store.record.store import Store
from gshtui.system.expected_error import ExpectedError
from gshtui.system.tasks import end_all
from gshtui.text.sanitise import literal, one_line

_FOREIGN = re.compile(r"[^A-Za-z0-9-]+")
_MOST = 50


def client_servers(passed: Sequence[Any]) -> tuple[ClientServers, list[str]]:
    """The servers as settings, and a sentence for each that cannot be used."""
    servers: dict[str, McpServer] = {}
    variables: dict[str, str] = {}
    refused: list[str] = []

    def hidden(value: str) -> str:
        variable = f"GSH_CLIENT_{hashlib.sha256(value.encode()).hexdigest()[:16].upper()}"
        variables[variable] = value
        return "${" + variable + "}"

    def put(value: str, name: str = "") -> str:
        plain = "${" not in value and not looks_secret(value) and not is_secret_variable(name, value)
        return value if plain else hidden(value)

    for one in passed[:_MOST]:
        shown = one_line(literal(one.name), 60)
        name = _FOREIGN.sub("-", one.name).strip("-")[:40]
        match getattr(one, "type", "stdio"):
            case "stdio":
                env = {each.name: put(each.value, each.name) for each in one.env}
                values = {"command": put(one.command), "args": [put(word) for word in one.args], "env": env}
            case "http":
                values = {"url": one.url, "headers": {each.name: hidden(each.value) for each in one.headers}}
            case kind:
                refused.append(f"The MCP server {shown} is not used: gsh-tui does not speak {kind} to servers.")
                continue
        if not name or name in servers:
            refused.append(f"The MCP server {shown} is not used: its name cannot be told from another's.")
            continue
        try:
            servers[name] = McpServer.model_validate(values)
        except ValidationError as error:
            why = one_line(str(error.errors()[0]["msg"]).removeprefix("Value error, "), 200)
            refused.append(f"The MCP server {shown} is not used: {why}.")
    if len(passed) > _MOST:
        refused.append(f"Only the first {_MOST} of {len(passed)} MCP servers are used.")
    return ClientServers(servers, variables), refused


Passed = Sequence[Any] | None
"""The MCP servers of a client, as the SDK's models."""
_LISTED = 100


_GREETING: Mapping[str, Any] = {
    "protocolVersion": 1,
    "agentInfo": {"name": "gsh-tui", "title": "gsh-tui", "version": __version__},
    "agentCapabilities": {
        "loadSession": True,
        "mcpCapabilities": {"http": True, "sse": False},
        "promptCapabilities": {"image": True, "audio": True, "embeddedContext": True},
        "sessionCapabilities": {"list": {}, "resume": {}, "close": {}},
    },
    "authMethods": [],
}


class AcpServer:
    """See the module. `close` ends every session."""

    def __init__(self, open_hub: OpenHub, open_store: Callable[[], Awaitable[Store]], *, shared: bool = False) -> None:
        """
        Args:
            open_store: opens the record, for listing conversations; raises `StoreError`.
            shared: the record is somebody else's, too, and is left open.
        """
        self._shared = shared
        self._open_hub = open_hub
        self._open_store = open_store
        self._client: Any = None
        self._sessions: dict[str, AcpSession] = {}
        self._opening = asyncio.Lock()
        self._store: Store | None = None

    def on_connect(self, conn: Any) -> None:
        """Called by the SDK with the client."""
        self._client = conn

    async def initialize(self, protocol_version: int, **_: Any) -> InitializeResponse:
        """Agree on our version, whatever the client asks for: it decides whether it goes on."""
        return InitializeResponse.model_validate(_GREETING)

    async def authenticate(self, method_id: str, **_: Any) -> AuthenticateResponse:
        """There is nothing to log in to: keys come from the environment or a keyring."""
        return AuthenticateResponse()

    async def new_session(self, cwd: str, mcp_servers: Passed = None, **_: Any) -> NewSessionResponse:
        """A new conversation in this folder, whose agent may use the client's MCP servers."""
        session = await self._open(cwd, "new", mcp_servers)
        modes = session_updates.modes(session.options.mode)
        return NewSessionResponse(session_id=session.id, modes=modes, config_options=await session.options.now())

    async def load_session(
        self, cwd: str, session_id: str, mcp_servers: Passed = None, **_: Any
    ) -> LoadSessionResponse:
        """Continue a conversation; all of it is told again first."""
        session = await self._session(cwd, session_id, mcp_servers)
        await session.replay()
        modes = session_updates.modes(session.options.mode)
        return LoadSessionResponse(modes=modes, config_options=await session.options.now())

    async def resume_session(
        self, cwd: str, session_id: str, mcp_servers: Passed = None, **_: Any
    ) -> ResumeSessionResponse:
        """Continue a conversation that the client knows already."""
        session = await self._session(cwd, session_id, mcp_servers)
        modes = session_updates.modes(session.options.mode)
        return ResumeSessionResponse(modes=modes, config_options=await session.options.now())

    async def close_session(self, session_id: str, **_: Any) -> CloseSessionResponse:
        """Interrupt what runs there, and let others open the conversation."""
        session = self._find(session_id)
        del self._sessions[session_id]
        await session.close()
        return CloseSessionResponse()

    async def list_sessions(self, cwd: str | None = None, cursor: str | None = None, **_: Any) -> ListSessionsResponse:
        """The newest conversations, of one folder or of all."""
        try:
            self._store = self._store or await self._open_store()
            infos = await self._store.sessions.find_all(cwd=cwd, limit=_LISTED, archived=False)
        except ExpectedError as error:
            raise acp.RequestError(-32603, str(error)) from error
        return ListSessionsResponse(
            sessions=[
                SessionInfo(
                    session_id=info.id,
                    cwd=info.cwd,
                    title=info.title or None,
                    updated_at=datetime.fromtimestamp(info.updated, UTC).isoformat(),
                )
                for info in infos
            ]
        )

    async def set_session_mode(self, mode_id: str, session_id: str, **_: Any) -> SetSessionModeResponse:
        """Give the agent another of our guard's modes."""
        session = self._find(session_id)
        if mode_named(mode_id) is None:
            raise _invalid(f"There is no mode {one_line(mode_id, 40)!r}.")
        try:
            await session.options.choose("mode", mode_id)
        except ExpectedError as error:
            raise _invalid(str(error)) from error
        return SetSessionModeResponse()

    async def set_config_option(
        self, config_id: str, session_id: str, value: str | bool, **_: Any
    ) -> SetSessionConfigOptionResponse:
        """Choose the agent's mode, its model or how hard that thinks."""
        session = self._find(session_id)
        try:
            await session.options.choose(config_id, str(value))
        except ExpectedError as error:
            raise _invalid(str(error)) from error
        return SetSessionConfigOptionResponse(config_options=await session.options.now())

    async def prompt(self, prompt: Sequence[Any], session_id: str, **_: Any) -> PromptResponse:
        try:
            return await self._find(session_id).prompt(prompt)
        except ExpectedError as error:
            raise acp.RequestError(-32603, str(error)) from error

    async def cancel(self, session_id: str, **_: Any) -> None:
        """Interrupt the session's turn."""
        if (session := self._sessions.get(session_id)) is not None:
            session.cancel()

    async def close(self) -> None:
        """End every session."""
        sessions, self._sessions = list(self._sessions.values()), {}
        for session in sessions:
            session.cease()
        await end_all("the end of a session", *(session.close for session in sessions))
        if self._store is not None and not self._shared:
            await self._store.close()

    async def _session(self, cwd: str, session_id: str, servers: Passed) -> AcpSession:
        """The session with this id, opened if it is not open yet."""
        async with self._opening:  # a client that asks twice gets the same
            return self._sessions.get(session_id) or await self._open(cwd, session_id, servers)

    async def _open(self, cwd: str, wanted: str, servers: Passed) -> AcpSession:
        folder = Path(cwd)
        if not folder.is_absolute() or not folder.is_dir():
            raise _invalid(f"The folder {one_line(cwd, 200)} does not exist, or is not an absolute path.")
        passed, refused = client_servers(servers or ())
        try:
            hub = await self._open_hub(folder, wanted, passed)
        except ExpectedError as error:
            raise acp.RequestError(-32603, str(error)) from error
        session = AcpSession(hub, self._client)
        self._sessions[session.id] = session
        session.offer_commands()
        for why in refused:
            hub.bus.publish(Noticed(level="warning", text=why, about="mcp"))
        return session

    def _find(self, session_id: str) -> AcpSession:
        session = self._sessions.get(session_id)
        if session is None:
            raise _invalid(f"There is no session {one_line(session_id, 80)}.")
        return session


def _invalid(why: str) -> acp.RequestError:
    return acp.RequestError(-32602, why)

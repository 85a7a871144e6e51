"""Signing in to a real server of the SDK that wants it: by a page, with a code, tokens that stay, and a refusal."""

import asyncio
import json
import os
import secrets
import socket
import sys
import time
import types
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from mcp.server import MCPServer
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    RefreshToken,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from pydantic import AnyHttpUrl

from gshtui.mcp_client.server_connection import ConnectionOptions, ServerConnection
from gshtui.mcp_client.server_definition import McpError, ServerDefinition
from gshtui.mcp_client.server_requests import ToolCaller
from gshtui.settings.started_programs import McpServer
from tests.kit.mcp_turns import NobodyAnswers
from tests.kit.tmux import DEADLINE


@dataclass
class Accounts:
    """An authorization server in memory that lets everybody in who opens its page."""

    clients: dict[str, OAuthClientInformationFull] = field(default_factory=dict)
    codes: dict[str, AuthorizationCode] = field(default_factory=dict)
    tokens: dict[str, AccessToken] = field(default_factory=dict)
    pages: int = 0

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client_info: OAuthClientInformationFull) -> None:
        self.clients[str(client_info.client_id)] = client_info

    async def authorize(self, client: OAuthClientInformationFull, params: AuthorizationParams) -> str:
        self.pages += 1
        code = AuthorizationCode(
            code=secrets.token_hex(20),
            scopes=params.scopes or [],
            expires_at=time.time() + 3_600,
            client_id=str(client.client_id),
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(str(params.redirect_uri), code=code.code, state=params.state)

    async def load_authorization_code(self, client: object, authorization_code: str) -> AuthorizationCode | None:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, authorization_code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[authorization_code.code]
        token = secrets.token_hex(20)
        self.tokens[token] = AccessToken(
            token=token,
            client_id=str(client.client_id),
            scopes=authorization_code.scopes,
            expires_at=int(time.time()) + 3_600,
            resource=authorization_code.resource,
        )
        return OAuthToken(access_token=token, expires_in=3_600)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.tokens.get(token)

    async def load_refresh_token(self, client: object, refresh_token: str) -> RefreshToken | None:
        return None

    async def exchange_refresh_token(self, client: object, refresh_token: object, scopes: list[str]) -> OAuthToken:
        raise NotImplementedError

    async def revoke_token(self, token: object) -> None:
        return None


class Person(NobodyAnswers):
    """Opens the page that is shown, as a browser does; or says no."""

    def __init__(self, project: Path, *, agrees: bool = True) -> None:
        super().__init__(project)
        self.agrees = agrees
        self.shown: list[str] = []

    async def sign_in(self, server: str, url: str) -> bool:
        self.shown.append(url)
        if self.agrees:
            async with httpx2.AsyncClient(follow_redirects=True) as browser:
                answer = await browser.get(url)
                assert "signed in" in answer.text
        return self.agrees


@asynccontextmanager
async def guarded_server(accounts: Accounts) -> AsyncIterator[str]:
    listener = socket.create_server(("127.0.0.1", 0))
    base = f"http://127.0.0.1:{listener.getsockname()[1]}"
    settings = AuthSettings(
        issuer_url=AnyHttpUrl(base),
        resource_server_url=AnyHttpUrl(f"{base}/mcp"),
        required_scopes=None,
        client_registration_options=ClientRegistrationOptions(enabled=True),
        validate_token_resource=False,
    )
    provider: Any = accounts
    made = MCPServer("guarded", auth_server_provider=provider, auth=settings)

    @made.tool()
    def secret() -> str:
        """What only those who have signed in get."""
        return "for you alone"

    server = uvicorn.Server(
        uvicorn.Config(made.streamable_http_app(), log_config=None, lifespan="on", timeout_graceful_shutdown=1)
    )
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield f"{base}/mcp"
    finally:
        server.should_exit = True
        await serving


@asynccontextmanager
async def connected(url: str, person: Person, memory: dict[str, str]) -> AsyncIterator[ServerConnection]:
    definition = ServerDefinition("guarded", McpServer(url=url), person.roots()[0])
    connection = ServerConnection(definition, ConnectionOptions(os.environ, None, person, DEADLINE, memory))
    try:
        yield connection
    finally:
        await connection.close()


async def call(connection: ServerConnection) -> str:
    result = await connection.run(
        lambda session: session.call_tool("secret", {}, lambda *_: None), ToolCaller(), DEADLINE
    )
    return str(getattr(result.content[0], "text", ""))


async def test_a_person_signs_in_once_and_the_tokens_stay(tmp_path: Path) -> None:
    accounts, memory = Accounts(), {}
    person = Person(tmp_path)
    async with guarded_server(accounts) as url:
        async with connected(url, person, memory) as connection:
            assert await call(connection) == "for you alone"
        async with connected(url, person, memory) as connection:
            assert await call(connection) == "for you alone"
    assert (len(person.shown), accounts.pages) == (1, 1)
    kept = [path for path in Path(os.environ["HOME"]).parent.rglob("*") if path.is_file()]
    secret = next(iter(accounts.tokens))
    assert not any(secret.encode() in path.read_bytes() for path in kept), "a token is on the disk"


async def test_the_keyring_keeps_the_tokens_for_later_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: dict[tuple[str, str], str] = {}
    ring: Any = types.ModuleType("keyring")
    ring.get_password = lambda service, name: kept.get((service, name))
    ring.set_password = lambda service, name, text: kept.update({(service, name): text})
    monkeypatch.setitem(sys.modules, "keyring", ring)
    accounts, person = Accounts(), Person(tmp_path)
    async with guarded_server(accounts) as url:
        for _ in range(2):  # each with a memory of its own, as a process has
            async with connected(url, person, {}) as connection:
                assert await call(connection) == "for you alone"
        accounts.tokens.clear()  # the server does not know the token any more: the person signs in again
        async with connected(url, person, {}) as connection:
            assert await call(connection) == "for you alone"
    assert (len(person.shown), accounts.pages) == (2, 2)
    ((service, name),) = kept
    assert service == "gsh-tui mcp" and name.startswith("guarded ")
    assert set(accounts.tokens) == {json.loads(kept[service, name])["tokens"]["access_token"]}


async def test_who_does_not_sign_in_gets_one_clear_error(tmp_path: Path) -> None:
    person = Person(tmp_path, agrees=False)
    async with guarded_server(Accounts()) as url, connected(url, person, {}) as connection:
        with pytest.raises(McpError, match="You have not signed in to the MCP server guarded"):
            await call(connection)

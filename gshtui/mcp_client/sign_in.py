"""Signing in to a server that asks for it (OAuth): the person opens the server's page, and the answer comes back to a
port of this machine. Tokens are kept in the system's keyring; where there is none, in memory, until this process ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import importlib
import json
import socket
from collections.abc import Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl, ValidationError

from gshtui.mcp_client.server_definition import McpError, ServerDefinition
from gshtui.mcp_client.server_requests import ServerHost
from gshtui.providers.keyring_key import read_keyring
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, start_job

_SERVICE = "gsh-tui mcp"
_KEYRING_WITHIN = 10.0
SIGN_IN_WITHIN = 300.0
"""Seconds that a person has to sign in."""
_LONGEST_REQUEST = 16_384
_PAGE = b"You are signed in. You can close this page.\n"
_LOOPBACK = frozenset(("127.0.0.1", "localhost", "::1"))


class TokenKeeper:
    """The tokens of one server, as the SDK wants them kept."""

    def __init__(self, name: str, memory: MutableMapping[str, str]) -> None:
        """`memory`: where they are until this process ends."""
        self._name = name
        self._memory = memory
        self.port = 0
        """The port to which the client that is registered with the server comes back; 0: there is none."""

    async def load(self) -> None:
        """Read what is kept."""
        if self._name not in self._memory:
            found = await asyncio.to_thread(read_keyring, _SERVICE, self._name, _KEYRING_WITHIN)
            self._memory[self._name] = found.text
        info = await self.get_client_info()
        if info is not None and info.redirect_uris:
            self.port = info.redirect_uris[0].port or 0

    async def get_tokens(self) -> OAuthToken | None:
        """The tokens; `None`: there are none."""
        with contextlib.suppress(ValidationError):
            return OAuthToken.model_validate(self._kept().get("tokens"))
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None:
        await self._keep("tokens", tokens.model_dump(mode="json", exclude_none=True))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """What the server knows of this client; `None`: it does not know it."""
        with contextlib.suppress(ValidationError):
            return OAuthClientInformationFull.model_validate(self._kept().get("client"))
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep what the server knows of this client."""
        await self._keep("client", client_info.model_dump(mode="json", exclude_none=True))

    def forget_client(self) -> None:
        """The client must be registered anew."""
        kept = self._kept()
        kept.pop("client", None)
        self._memory[self._name] = json.dumps(kept)

    def _kept(self) -> dict[str, Any]:
        try:
            found: object = json.loads(self._memory.get(self._name) or "{}")
        except ValueError:
            return {}
        return dict(found) if isinstance(found, dict) else {}  # pyright: ignore[reportUnknownArgumentType]

    async def _keep(self, what: str, value: dict[str, Any]) -> None:
        text = json.dumps({**self._kept(), what: value})
        self._memory[self._name] = text
        with contextlib.suppress(TimeoutError):
            async with time_limit(_KEYRING_WITHIN):
                await asyncio.to_thread(_write_keyring, self._name, text)


def _write_keyring(name: str, text: str) -> None:
    """Keep a text in the keyring, if there is one that takes it; it is nowhere else on disk."""
    with contextlib.suppress(Exception):  # each system's keyring has errors of its own
        keyring: Any = importlib.import_module("keyring")
        keyring.set_password(_SERVICE, name, text)


class SignIn:
    """One server's sign-in. Enter it around a session; `provider` signs its requests."""

    def __init__(
        self,
        definition: ServerDefinition,
        url: str,
        host: ServerHost,
        memory: MutableMapping[str, str],
        waits: Callable[[float], None],
    ) -> None:
        """
        Args:
            url: the server's address.
            memory: where tokens are, until this process ends.
            waits: called with the seconds that a person may take now.
        """
        self._server = definition.name
        self._host = host
        self._url = url
        self._waits = waits
        self._keeper = TokenKeeper(f"{definition.name} {hashlib.sha256(url.encode()).hexdigest()[:16]}", memory)
        self._listener = socket.socket()
        self._asking: asyncio.Task[bool | None] | None = None

    async def __aenter__(self) -> OAuthClientProvider:
        """What signs the requests of a session."""
        await self._keeper.load()
        try:
            self._listener.bind(("127.0.0.1", self._keeper.port))
        except OSError:  # another process is there: the server must know another port
            self._keeper.forget_client()
            self._listener.bind(("127.0.0.1", 0))
        port = self._listener.getsockname()[1]
        about = OAuthClientMetadata(
            client_name="gsh-tui", redirect_uris=[AnyUrl(f"http://127.0.0.1:{port}/callback")], scope=None
        )
        return OAuthClientProvider(self._url, about, self._keeper, self._show, self._come_back)

    async def __aexit__(self, *_: object) -> None:
        await cancel_and_wait(self._asking)
        self._listener.close()

    async def _show(self, url: str) -> None:
        """Show the person where to sign in. Raises `McpError`: it is no address that one may be sent to."""
        parts = urlsplit(url)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _LOOPBACK):
            raise McpError(f"The MCP server {self._server} wants you to sign in at an address that is not https.")
        self._waits(SIGN_IN_WITHIN)
        self._asking = start_job(self._host.sign_in(self._server, url), f"the sign-in to {self._server}")

    async def _come_back(self) -> AuthorizationCodeResult:
        """Wait until the person has signed in. Raises `McpError`."""
        answer: asyncio.Future[dict[str, list[str]]] = asyncio.get_running_loop().create_future()

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await _accept(reader, writer, answer)

        server = await asyncio.start_server(accept, sock=self._listener.dup(), limit=_LONGEST_REQUEST)
        async with server:
            asking = self._asking
            try:
                async with time_limit(SIGN_IN_WITHIN):
                    waited = {answer} if asking is None else {answer, asking}
                    await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
                    if not answer.done() and asking is not None and not asking.result():
                        raise McpError(f"You have not signed in to the MCP server {self._server}.")
                    given = await answer
            except TimeoutError:
                raise McpError(f"Nobody signed in to the MCP server {self._server} in time.") from None
            finally:
                await cancel_and_wait(asking)
        if "code" not in given:
            raise McpError(f"The MCP server {self._server} did not let you sign in.")
        iss = given.get("iss", [None])[0]
        return AuthorizationCodeResult(code=given["code"][0], state=given.get("state", [None])[0], iss=iss)


async def _accept(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answer: asyncio.Future[dict[str, list[str]]]
) -> None:
    """Take one request; only one to `/callback` with a code or an error is the answer."""
    with contextlib.suppress(OSError, ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError):
        async with time_limit(10):
            head = await reader.readuntil(b"\r\n")
            parts = urlsplit(head.split(b" ")[1].decode("ascii"))
            given = parse_qs(parts.query)
            right = parts.path == "/callback" and ("code" in given or "error" in given)
            status = b"200 OK" if right else b"404 Not Found"
            body = _PAGE if right else b""
            writer.write(b"HTTP/1.1 " + status + b"\r\ncontent-type: text/plain\r\nconnection: close\r\n")
            writer.write(b"content-length: " + str(len(body)).encode() + b"\r\n\r\n" + body)
            await writer.drain()
            if right and not answer.done():
                answer.set_result(given)
    writer.close()

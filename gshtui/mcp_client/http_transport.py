"""MCP over HTTP, as a transport for the SDK: to the one configured address, with a limit on what an answer may have.

The SDK follows a redirect only on the same host; any other ends the call with an error.

Signing in to a server that asks for it (OAuth): the person opens the server's page, and the answer comes back to a
port of this machine. Tokens are kept in the system's keyring; where there is none, in memory, until this process ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import importlib
import json
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable, MutableMapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl, ValidationError

from gshtui.mcp_client.message_filter import filtered
from gshtui.mcp_client.server_definition import McpError, ResolvedServer, ServerDefinition
from gshtui.mcp_client.server_process import LONGEST
from gshtui.mcp_client.server_requests import ServerHost
from gshtui.providers.keyring_key import read_keyring
from gshtui.system.network.proxy_routes import EnvironmentFaultError
from gshtui.system.network.routed_transport import RoutedTransport
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


_CONNECT = 10.0
_READ = 300.0
"""Seconds between two pieces of an answer; calls have their own limit."""


class _TooLargeError(httpx2.StreamError):
    def __init__(self) -> None:
        super().__init__(f"The answer is larger than {LONGEST:,} bytes")


class _LimitedBody(httpx2.AsyncByteStream):
    """The body of an answer, until it is too large. A stream of events may go on, for each is limited by the SDK."""

    def __init__(self, inner: httpx2.AsyncByteStream) -> None:
        self._inner = inner

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._inner:
            size += len(piece)
            if size > LONGEST:
                raise _TooLargeError
            yield piece

    async def aclose(self) -> None:
        await self._inner.aclose()


class _LimitedTransport(httpx2.AsyncBaseTransport):
    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await self._inner.handle_async_request(request)
        stream = response.stream
        is_events = "text/event-stream" in response.headers.get("content-type", "")
        if not is_events and isinstance(stream, httpx2.AsyncByteStream):
            response.stream = _LimitedBody(stream)
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()


@asynccontextmanager
async def http_streams(
    definition: ServerDefinition,
    resolved: ResolvedServer,
    host: ServerHost,
    memory: MutableMapping[str, str],
    waits: Callable[[float], None],
    note_left_out: Callable[[str], None],
) -> AsyncGenerator[TransportStreams]:
    """The streams of messages from and to a server at an address; the person signs in where it asks for that.

    Args:
        memory: where tokens are, until this process ends.
        waits: called with the seconds that a person may take now.
        note_left_out: called with each item of a result that was left out, as a phrase.

    Raises `McpError`: the environment keeps requests from the address.
    """
    routed = RoutedTransport()
    try:
        await asyncio.to_thread(routed.prepare, resolved.url)
    except EnvironmentFaultError as error:
        raise McpError(f"The MCP server {definition.name} cannot be reached: {error.message}.", error.hint) from error
    signed = any(name.lower() == "authorization" for name in resolved.headers)
    sign_in = contextlib.nullcontext() if signed else SignIn(definition, resolved.url, host, memory, waits)
    async with (
        sign_in as auth,
        httpx2.AsyncClient(
            headers=resolved.headers,
            timeout=httpx2.Timeout(_CONNECT, read=_READ),
            transport=_LimitedTransport(routed),
            auth=auth,
        ) as client,
        streamable_http_client(resolved.url, http_client=client, max_sse_event_size=LONGEST) as (read, write),
    ):
        yield filtered(read, write, note_left_out)

"""The only way from a sandbox with rules for hosts to the network: an HTTP proxy that this process answers.

It looks names up itself, and connects to exactly the address that it checked. It listens on a socket that was made
inside the sandbox, so nobody else can reach it, and the sandbox reaches nothing else. Failures are answers of HTTP;
nothing is raised.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from ipaddress import ip_address
from urllib.parse import urlsplit

from gshtui.system.processes.time_limit import time_limit
from gshtui.text.host_rules import Address, HostRules, NetworkTarget, target

PORT = 3128
"""Where it listens, on the loopback of the sandbox."""
_WITHIN, _IDLE = 15.0, 600.0
_HEAD, _BLOCK, _CONNECTIONS, _REFUSED = 32 * 1024, 65_536, 128, 20
_LINE = re.compile(rb"([A-Z]{1,20}) (\S{1,8192}) HTTP/1\.[01]")
_FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]{1,256}):([^\r\n\0]*+)")
_OURS = frozenset(b"host connection proxy-connection proxy-authorization keep-alive te upgrade".split())
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})(?:;[^\r\n]*)?\r\n")

Resolve = Callable[[str, int], Awaitable[list[Address]]]
"""The addresses of a name, for connections to this port. Raises `OSError`."""


async def resolve(name: str, port: int) -> list[Address]:
    """The system's answer."""
    found = await asyncio.get_running_loop().getaddrinfo(name, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(ip_address(each[4][0]) for each in found))


class _RefusedError(Exception):
    """This connection is not made. Carries HTTP's status, and why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(slots=True)
class HostProxy:
    """Connects one sandbox to the hosts that its rules cover. `rules`: those; `resolve`: finds addresses.

    Attributes:
        refused: what was asked for and is not covered, with the reason.
    """

    rules: HostRules
    resolve: Resolve = resolve
    refused: dict[str, str] = field(default_factory=dict[str, str])
    _server: asyncio.Server | None = field(default=None, repr=False)
    _open: set[asyncio.StreamWriter] = field(default_factory=set[asyncio.StreamWriter], repr=False)

    async def serve(self, listener: socket.socket) -> None:
        """Answer on this socket until it is closed."""
        self._server = await asyncio.start_server(self._answer, sock=listener, limit=_HEAD)

    async def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for writer in list(self._open):
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._open) >= 2 * _CONNECTIONS:
            writer.transport.abort()
            return
        self._open.add(writer)
        try:
            await self._exchange(reader, writer)
        except _RefusedError as refused:
            body = f"gsh-tui: {refused}\n".encode()
            head = f"HTTP/1.1 {refused.status} Refused by the sandbox\r\nContent-Type: text/plain\r\n"
            head += f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
            with contextlib.suppress(OSError):
                writer.write(head.encode() + body)
                await writer.drain()
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError):
            pass  # the other end went away, or says nothing
        finally:
            self._open.discard(writer)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with time_limit(_WITHIN):
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except asyncio.LimitOverrunError as error:
                raise _RefusedError(431, "the head of the request is too long") from error
        line, _, rest = head[:-4].partition(b"\r\n")
        match = _LINE.fullmatch(line)
        fields = [_FIELD.fullmatch(each) for each in rest.split(b"\r\n")] if rest else []
        if match is None or None in fields:
            raise _RefusedError(400, "this is no request of HTTP/1.1")
        method, wanted = match[1], match[2].decode("ascii", "replace")
        pairs = [(each[1], each[2].strip()) for each in fields if each is not None]
        if method == b"CONNECT":
            await self._tunnel(wanted, reader, writer)
        else:
            await self._forward(method, wanted, pairs, reader, writer)

    async def _tunnel(self, wanted: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await self._connect(self._checked(wanted))
        try:
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await writer.drain()
            await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
        finally:
            self._left(far_writer)

    async def _forward(
        self,
        method: bytes,
        wanted: str,
        fields: list[tuple[bytes, bytes]],
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """One request in the clear: with a head of our own, so that the host that was checked is the one it is for."""
        scheme, host, path = _parts(wanted)
        if scheme != "http":
            raise _RefusedError(400, "a request through this proxy names a host, as in http://example.org/")
        place = self._checked(host, 80)
        named = str(place) if place.port != 80 else str(place).rpartition(":")[0]
        kept = [(name, value) for name, value in fields if name.lower() not in _OURS]
        head = b"%s %s HTTP/1.1\r\nHost: %s\r\n" % (method, path.encode(), named.encode())
        head += b"".join(b"%s: %s\r\n" % pair for pair in kept) + b"Connection: close\r\n\r\n"
        size, chunked = _body(kept)
        far_reader, far_writer = await self._connect(place)
        try:
            far_writer.write(head)
            await far_writer.drain()
            sending = _send_chunks(reader, far_writer) if chunked else _send(reader, far_writer, size)
            await asyncio.gather(sending, _pump(far_reader, writer))
        finally:
            self._left(far_writer)

    def _checked(self, wanted: str, port: int = 0) -> NetworkTarget:
        try:
            place = target(wanted, port)
        except ValueError as error:
            self._note(ascii(wanted)[1:-1][:200], f"{error}")
            raise _RefusedError(400, f"the host is refused: {error}") from error
        if not self.rules.covers(place):
            self._note(str(place), "no rule covers it")
            raise _RefusedError(403, f"{place} is covered by no rule of [sandbox] hosts")
        return place

    def _note(self, wanted: str, why: str) -> None:
        if len(self.refused) < _REFUSED:
            self.refused.setdefault(wanted, why)

    async def _connect(self, place: NetworkTarget) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            async with time_limit(_WITHIN):
                return await self._connected(place)
        except TimeoutError as error:
            raise _RefusedError(504, f"{place} does not answer within {_WITHIN:g} s") from error
        except OSError as error:
            raise _RefusedError(502, f"{place} cannot be reached: {error.strerror or error}") from error

    async def _connected(self, place: NetworkTarget) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        try:
            found = [ip_address(place.name)]
        except ValueError:
            found = await self.resolve(place.name, place.port)
        allowed = [address for address in found if self.rules.covers_address(place, address)]
        if found and not allowed:
            there = f"[{found[0]}]" if found[0].version == 6 else str(found[0])
            self._note(f"{there}:{place.port}", f"{place} leads there, into a private network")
            raise _RefusedError(403, f"{place} leads to {found[0]}, which is covered by no rule of [sandbox] hosts")
        failed = OSError("it has no address")
        for address in allowed:
            try:
                reader, writer = await asyncio.open_connection(str(address), place.port, limit=_HEAD)
            except OSError as error:
                failed = error
            else:
                self._open.add(writer)
                return reader, writer
        raise failed

    def _left(self, writer: asyncio.StreamWriter) -> None:
        self._open.discard(writer)
        writer.close()


def _parts(wanted: str) -> tuple[str, str, str]:
    """(scheme, host with its port, path) of an address; who is named in it is part of the host, and refused there."""
    try:
        parts = urlsplit(wanted)
    except ValueError as error:
        raise _RefusedError(400, "this is no address") from error
    path = parts.path or "/"
    return parts.scheme, parts.netloc, f"{path}?{parts.query}" if parts.query else path


def _body(fields: list[tuple[bytes, bytes]]) -> tuple[int, bool]:
    """(bytes of the request's body, whether it comes in chunks instead)"""
    lengths = {value for name, value in fields if name.lower() == b"content-length"}
    codings = [value.lower() for name, value in fields if name.lower() == b"transfer-encoding"]
    if codings not in ([], [b"chunked"]) or (codings and lengths) or len(lengths) > 1:
        raise _RefusedError(400, "the length of the request could be read in two ways")
    length = lengths.pop() if lengths else b"0"
    if not length.isdigit() or len(length) > 15:
        raise _RefusedError(400, "the length of the request is no number")
    return int(length), bool(codings)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy to the end, and say so."""
    while True:
        async with time_limit(_IDLE):
            block = await reader.read(_BLOCK)
        if not block:
            break
        writer.write(block)
        await writer.drain()
    with contextlib.suppress(OSError):
        writer.write_eof()


async def _send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, size: int) -> None:
    while size > 0:
        async with time_limit(_IDLE):
            block = await reader.read(min(size, _BLOCK))
        if not block:
            raise EOFError
        size -= len(block)
        writer.write(block)
        await writer.drain()


async def _send_chunks(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        async with time_limit(_IDLE):
            line = await reader.readuntil(b"\r\n")
        match = _CHUNK.fullmatch(line)
        if match is None:
            raise EOFError
        size = int(match[1], 16)
        writer.write(line if size else b"0\r\n\r\n")
        if size == 0:
            await writer.drain()
            return
        await _send(reader, writer, size + 2)

"""Proxies on this machine, which bring every request to one server: HTTP and SOCKS5, as others run them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, without: bytes = b"") -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65_536):
            writer.write(data.replace(without, b"") if without else data)
            await writer.drain()
    writer.close()


@asynccontextmanager
async def proxy_to(kind: str, port: int, asked: list[str]) -> AsyncIterator[str]:
    """A proxy (`http` or `socks5`) before the server at this port of this machine; its address without the scheme.

    Args:
        asked: gets the host that each connection asked for.
    """

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, head = b"", b""
        if kind == "http":
            head = await reader.readuntil(b"\r\n\r\n")
            # The first line of a request names the whole address.
            host = b"/".join(head.split()[1].split(b"/")[:3])
            asked.append(host.decode())
        else:
            version, methods = await reader.readexactly(2)
            assert version == 5
            await reader.readexactly(methods)
            writer.write(b"\x05\x00")
            _, command, _, form = await reader.readexactly(4)
            assert (command, form) == (1, 3), "a name is resolved by the proxy"
            name = await reader.readexactly((await reader.readexactly(1))[0])
            await reader.readexactly(2)
            asked.append(name.decode())
            writer.write(b"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00")
        there, onward = await asyncio.open_connection("127.0.0.1", port)
        if host:
            onward.write(head.replace(host, b""))
        await asyncio.gather(_copy(reader, onward, without=host), _copy(there, writer))

    tasks: set[asyncio.Task[None]] = set()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(accept(reader, writer))
        tasks.add(task)

    server = await asyncio.start_server(begin, "127.0.0.1", 0)
    try:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

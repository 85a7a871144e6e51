"""Asks a model server for its models at start-up, with one connection and a few lines of HTTP, loading no library.

Returns the names, or `None` if nothing answers in time. Never raises. Called by `selection`.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import urlsplit

from gshtui.system.processes.time_limit import time_limit

_LARGEST = 4 << 20
"""Bytes of an answer."""


async def ollama_models(base: str, wait: float) -> list[str] | None:
    """The models installed in Ollama at this address; `None` if it does not answer within `wait` seconds."""
    return await _names(base, "/api/tags", "models", "name", wait)


async def compatible_models(base: str, wait: float) -> list[str] | None:
    """Names of the models that an OpenAI-compatible server at this address serves. Otherwise as `ollama_models`."""
    return await _names(base, "/models", "data", "id", wait)


async def _names(base: str, path: str, listed: str, named: str, wait: float) -> list[str] | None:
    try:
        async with time_limit(wait):
            found = await _get(base, path)
        return [str(model[named]) for model in found[listed]]
    except (OSError, TimeoutError, ValueError, KeyError, TypeError, asyncio.IncompleteReadError):
        return None
    except asyncio.LimitOverrunError:
        return None


async def _get(base: str, path: str) -> Any:
    url = urlsplit(base)
    secure = url.scheme == "https"
    reader, writer = await asyncio.open_connection(
        url.hostname or "127.0.0.1", url.port or (443 if secure else 80), ssl=secure or None
    )
    try:
        where = f"{url.path.rstrip('/')}{path}"
        head = f"GET {where} HTTP/1.0\r\nHost: {url.netloc}\r\nAccept: application/json\r\nConnection: close\r\n\r\n"
        writer.write(head.encode("ascii"))
        await writer.drain()
        status, _, _ = (await reader.readuntil(b"\r\n\r\n")).partition(b"\r\n")
        if b" 200" not in status:
            raise ValueError("not this kind of server")
        body = b""
        while piece := await reader.read(1 << 16):
            body += piece
            if len(body) > _LARGEST:
                raise ValueError("not this kind of server")
        try:
            return json.loads(body)
        except RecursionError as error:
            raise ValueError("not this kind of server") from error
    finally:
        writer.close()

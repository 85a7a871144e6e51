"""What was piped into a command: read in a thread, bounded, decoded with replacement.

A terminal is not read: a person there is not typing a document. Called by `prompt`.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Sequence

LIMIT = 4 * 1024 * 1024
"""Bytes; what comes behind them is left out, and that is said."""


async def piped() -> tuple[str, bool]:
    """(text of standard input, whether it was longer than `LIMIT`); no text when standard input is a terminal.

    Cancelling the wait leaves the reading to a thread that ends with the process.
    """
    if os.isatty(0):
        return "", False
    loop = asyncio.get_running_loop()
    done: asyncio.Future[bytes] = loop.create_future()

    def settle(raw: bytes) -> None:
        if not done.done():
            done.set_result(raw)

    def read() -> None:
        raw = _read()
        try:
            loop.call_soon_threadsafe(settle, raw)
        except RuntimeError:  # the loop is gone: nobody waits any more
            return

    threading.Thread(target=read, name="stdin", daemon=True).start()
    raw = await done
    return raw[:LIMIT].decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}"), len(raw) > LIMIT


def words(given: Sequence[str]) -> str:
    """The words of a command line as one text; `-` alone is all of standard input."""
    if list(given) != ["-"]:
        return " ".join(given)
    return _read()[:LIMIT].decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")


def _read() -> bytes:
    parts: list[bytes] = []
    size = 0
    while size <= LIMIT:
        try:
            part = os.read(0, 1 << 16)
        except OSError:  # a folder, or a stream that cannot be read: as if it were empty
            break
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)

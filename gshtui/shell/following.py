"""A hub that does not have the shells' socket hears what they do from the one that has it.

Owns the connection and its end; whether to look for another hub, or to take the socket, is its caller's decision.
Called by the shell log.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from pathlib import Path

from gshtui.bus import wire
from gshtui.bus.event import Event
from gshtui.bus.events.shell import ShellFolderChanged, ShellNoted, ShellRecorded
from gshtui.shell.lines import BadLine, Lines, of_line, to_line
from gshtui.shell.peer import peer_of
from gshtui.shell.table import HUB

CONNECT_WITHIN = 2.0
"""Seconds for the other hub to accept and welcome."""
_UNREAD_LIMIT = 4 * 1024 * 1024
_TAKEN = (ShellRecorded, ShellNoted, ShellFolderChanged)


class Following:
    """One connection to the hub that has the socket."""

    def __init__(self, take: Callable[[Event], None]) -> None:
        self._take = take
        self._writer: asyncio.StreamWriter | None = None

    @property
    def connected(self) -> bool:
        """Whether a hub has welcomed us."""
        return self._writer is not None

    def tell(self, event: Event) -> None:
        """Say what happened here. Never blocks; lost when there is no hub, whose successor finds it in the record."""
        writer = self._writer
        if writer is not None and writer.transport.get_write_buffer_size() < _UNREAD_LIMIT:
            writer.write(wire.encode(event))

    async def follow(self, path: Path, welcomed: Callable[[], None] = lambda: None) -> bool:
        """Listen until the connection ends; whether there was one. Cancel it to hang up.

        `welcomed` is called when it begins.
        """
        try:
            async with asyncio.timeout(CONNECT_WITHIN):
                reader, writer = await asyncio.open_unix_connection(str(path), limit=256 * 1024)
        except (OSError, TimeoutError):
            return False
        try:
            connected: socket.socket = writer.get_extra_info("socket")
            if not peer_of(connected).is_us:
                return False
            lines = Lines(reader, wire.MAX_LINE, CONNECT_WITHIN)
            writer.write(to_line({"hello": HUB, "pid": os.getpid()}))
            async with asyncio.timeout(CONNECT_WITHIN):
                if not await lines.more():
                    return False
            self._writer = writer
            welcomed()
            self._hear(lines)
            while await lines.more():
                self._hear(lines)
        except (OSError, TimeoutError, ConnectionError):
            pass
        finally:
            self._writer = None
            writer.transport.abort()
        return True

    def _hear(self, lines: Lines) -> None:
        for line in lines.whole():
            try:
                if isinstance(line, BadLine):
                    continue
                fields = of_line(line)
                if "bye" in fields:
                    raise ConnectionError("goodbye")
                event = wire.from_plain(fields) if "type" in fields else None
            except (BadLine, wire.WireError):
                continue
            if isinstance(event, _TAKEN):
                self._take(event)

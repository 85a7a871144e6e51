"""Follows shells for a hub without their socket: from the hub that has it, and from the record after a handover.

Remembers what it has seen, so that no command is reported twice.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path

from gshtui.bus import wire
from gshtui.bus.event import Event
from gshtui.bus.events.shell_events import ShellFolderChanged, ShellNoted, ShellRecorded
from gshtui.bus.shell_data import ShellRecord
from gshtui.shell.event_table import HUB
from gshtui.shell.line_stream import BadLine, LineStream, of_line, to_line
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from gshtui.store.tables.command_history import HistoryQuery
from gshtui.system.network.peer import peer_of
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import start_job

CONNECT_WITHIN = 2.0
"""Seconds for the other hub to accept and welcome."""
_UNREAD_LIMIT = 4 * 1024 * 1024
_TAKEN = (ShellRecorded, ShellNoted, ShellFolderChanged)


class HubFollower:
    """One connection to the hub that has the socket."""

    def __init__(self, take: Callable[[Event], None]) -> None:
        self._on_event = take
        self._writer: asyncio.StreamWriter | None = None

    @property
    def connected(self) -> bool:
        """Whether a hub has welcomed us."""
        return self._writer is not None

    def send_event(self, event: Event) -> None:
        """Send what happened here. Never blocks. Without a hub it is lost, but the next hub finds it in the record."""
        writer = self._writer
        if writer is not None and writer.transport.get_write_buffer_size() < _UNREAD_LIMIT:
            writer.write(wire.encode(event))

    async def follow(self, path: Path, welcomed: Callable[[], None] = lambda: None) -> bool:
        """Listen until the connection ends; whether there was one. Cancel it to hang up.

        `welcomed` is called when it begins.
        """
        try:
            async with time_limit(CONNECT_WITHIN):
                reader, writer = await asyncio.open_unix_connection(str(path), limit=256 * 1024)
        except (OSError, TimeoutError):
            return False
        try:
            connected: socket.socket = writer.get_extra_info("socket")
            if not peer_of(connected).is_us:
                return False
            lines = LineStream(reader, wire.MAX_LINE, CONNECT_WITHIN)
            writer.write(to_line({"hello": HUB, "pid": os.getpid()}))
            async with time_limit(CONNECT_WITHIN):
                if not await lines.more():
                    return False
            self._writer = writer
            welcomed()
            self._read_lines(lines)
            while await lines.more():
                self._read_lines(lines)
        except (OSError, TimeoutError, ConnectionError):
            pass
        finally:
            self._writer = None
            writer.transport.abort()
        return True

    def _read_lines(self, lines: LineStream) -> None:
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
                self._on_event(event)


_REMEMBERED = 2_000
_LATEST = 500
"""Commands of the record that are compared."""
_BEFORE = 5.0
"""How many seconds before the last received event the search of the record starts."""
_Key = tuple[str, int]


class MissedEvents:
    """`note_record` for each record that was published; `compare` when some of another hub may have been missed."""

    def __init__(self, store: Store, tell: Callable[[Event], None]) -> None:
        self._store = store
        self._publish = tell
        self._seen: OrderedDict[_Key, tuple[str, str]] = OrderedDict()
        self._running: dict[_Key, float] = {}
        self._last = 0.0
        self._task: asyncio.Task[None] | None = None

    def note_record(self, record: ShellRecord) -> None:
        """Note that a record was received."""
        key = (record.shell, record.number)
        self._seen[key] = (record.state, record.output)
        self._seen.move_to_end(key)
        while len(self._seen) > _REMEMBERED:
            self._seen.popitem(last=False)
        self._last = max(self._last, record.at)
        if record.state == "running":
            self._running[key] = record.at
        else:
            self._running.pop(key, None)

    def compare(self) -> None:
        """Compare with the record in the background; the first time, nothing can have been missed."""
        if self._last and (self._task is None or self._task.done()):
            self._task = start_job(self._compare(), "the shell log's comparison")

    async def _compare(self) -> None:
        after = min([self._last - _BEFORE, *self._running.values()])
        try:
            rows = await self._store.shells.find_all(HistoryQuery(after=after), limit=_LATEST)
        except StoreError:
            return
        for row in reversed(rows):
            if self._seen.get((row.shell, row.number)) != (row.state, row.output):
                self._publish(ShellRecorded(record=row))

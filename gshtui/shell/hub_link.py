"""A process's link to a hub: connects, reconnects with growing pauses, and delivers numbered lines in order, once each.

Keeps lines, on disk too, until they are acknowledged; never drops one.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import socket
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from gshtui.bus import wire
from gshtui.bus.event import Event
from gshtui.shell.line_stream import BadLine, LineStream, number_of, numbered, of_line, to_line
from gshtui.system.files import private_files
from gshtui.system.ids import new_id
from gshtui.system.network import peer
from gshtui.system.network.peer import peer_of
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import cancel_and_wait, keep_on, report

IN_MEMORY = 4 * 1024 * 1024
ON_DISK = 256 * 1024 * 1024
_BACK_AT_ONCE = 1024 * 1024
"""Bytes that are read back from the file at a time."""


class LineOutbox:
    """A queue of lines. `spill` is the file for lines that do not fit in memory; `None`: no file."""

    def __init__(self, spill: Path | None = None, *, in_memory: int = IN_MEMORY, on_disk: int = ON_DISK) -> None:
        self.acked = 0
        """The last line that the other side has."""
        self.lost = 0
        """The number of lines that were given up."""
        self._next = 1
        self._lines: deque[tuple[int, bytes]] = deque()
        self._size = 0
        self._in_memory = in_memory
        self._on_disk = on_disk
        self._path = spill
        self._file: int | None = None
        self._written = 0
        self._read: int = 0
        self._first_in_file = 0

    def __len__(self) -> int:
        """Lines that are not acknowledged, those given up included."""
        return self._next - 1 - self.acked

    @property
    def last(self) -> int:
        """The number of the newest line, 0 before the first."""
        return self._next - 1

    @property
    def spilled(self) -> int:
        """Bytes that wait in the file."""
        return self._written - self._read

    def append(self, event_line: bytes) -> int:
        """Take an encoded event; its number, 0 when it had to be given up."""
        line = numbered(event_line, self._next)
        if not self.spilled and self._size + len(line) <= self._in_memory:
            self._lines.append((self._next, line))
            self._size += len(line)
        elif not self._to_file(line):
            self.lost += 1
            return 0
        self._next += 1
        return self._next - 1

    def after(self, number: int, limit: int = 256) -> list[tuple[int, bytes]]:
        """The next lines after this number, in order; empty if there are none."""
        if not self._lines:
            self._refill()
        found: list[tuple[int, bytes]] = []
        if self._lines:
            first = self._lines[0][0]
            start = max(0, number + 1 - first)
            for at in range(start, min(len(self._lines), start + limit)):
                found.append(self._lines[at])
        if not found and self.spilled and self._lines and number >= self._lines[-1][0]:
            self._refill()
            return self.after(number, limit) if self._lines[-1][0] > number else []
        return found

    def ack(self, number: int) -> None:
        """The other side has everything up to this number."""
        self.acked = max(self.acked, min(number, self._next - 1))
        while self._lines and self._lines[0][0] <= self.acked:
            self._size -= len(self._lines.popleft()[1])

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
        if self._path is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()

    def _to_file(self, line: bytes) -> bool:
        if self._path is None or self._written + len(line) > self._on_disk:
            return False
        try:
            if self._file is None:
                with contextlib.suppress(FileNotFoundError):
                    self._path.unlink()  # of an earlier life; what it held is in the record
                self._file = private_files.make_file(self._path)
            done = os.pwrite(self._file, line, self._written)
        except OSError:
            return False
        if done < len(line):
            return False  # the disk is full: the next line overwrites the torn one
        if not self.spilled:
            self._first_in_file = self._next
        self._written += done
        return True

    def _refill(self) -> None:
        """Take the next lines from the file into memory."""
        if self._file is None or not self.spilled:
            return
        size = _BACK_AT_ONCE
        while True:
            raw = os.pread(self._file, min(size, self.spilled), self._read)
            end = raw.rfind(b"\n") + 1
            if end or len(raw) >= self.spilled or not raw:
                break
            size *= 2  # one line is longer than that
        for line in raw[:end].split(b"\n")[:-1]:
            self._lines.append((self._first_in_file, line + b"\n"))
            self._size += len(line) + 1
            self._first_in_file += 1
        self._read += end
        if not self.spilled:
            with contextlib.suppress(OSError):
                os.ftruncate(self._file, 0)
            self._written = self._read = 0


CONNECT_WITHIN = 5.0
"""Seconds for a hub to accept and welcome."""
WRITE_WITHIN = 30.0
"""Seconds that a hub has to accept data before it counts as stuck."""
FIRST_WAIT, LONGEST_WAIT = 0.1, 2.0
_MAX_LINE = 4 * 1024 * 1024


class LinkError(Exception):
    """This hub is of no use; the text says why."""


class LinkIdentity(msgspec.Struct, frozen=True):
    """Who calls: kind of the hello, the agent that it speaks for, and the secret that it shares with the hub."""

    kind: str
    agent: str = ""
    secret: str = ""


class HubLink:
    """See the module's text. `start` and `stop` bracket its life."""

    def __init__(
        self,
        identity: LinkIdentity,
        outbox: LineOutbox,
        find: Callable[[], Sequence[Path]],
        take: Callable[[Event], None],
        *,
        takes: tuple[type[Event], ...],
        greet: Callable[[int], Iterable[Event]] = lambda _: (),
        on_change: Callable[[bool], None] = lambda _: None,
    ) -> None:
        """
        Args:
            identity: the calling process.
            outbox: keeps published lines until a hub has them.
            find: returns the hubs' sockets to try, the best first.
            take: receives the hub's events.
            takes: the event types accepted from a hub; others are ignored.
            greet: what a hub must know before anything else, sent at each connection; gets the number up to which an
                earlier hub has everything, or -1 for a hub that was connected before.
            on_change: called when a connection is made or lost.
        """
        self.run = new_id()
        self.hub = ""
        """The socket of the connected hub; empty if there is none."""
        self.ignored = 0
        """Lines that made no sense, or that no hub may say."""
        self.errors: list[str] = []
        """What the hub complained of, the newest few."""
        self._identity = identity
        self._outbox = outbox
        self._find = find
        self._take = take
        self._takes = takes
        self._greet = greet
        self._on_change = on_change
        self._fresh = asyncio.Event()
        self._empty = asyncio.Event()
        self._seen: dict[str, int] = {}
        self._life: asyncio.Task[None] | None = None
        self._takes_more = True

    def start(self) -> None:
        self._life = keep_on(self._live, "the link to the hub")

    def publish(self, event: Event) -> int:
        """Have an event delivered, in order, once. Never blocks. Its number, 0 when there was no room for it."""
        number = self._outbox.append(wire.encode(event))
        self._empty.clear()
        self._fresh.set()
        return number

    def take_no_more(self) -> None:
        """Leave what a hub says from now on unacknowledged: it says it again to whoever goes on."""
        self._takes_more = False

    async def stop(self, flush: float = 2.0) -> bool:
        """Wait for the hub to have everything, `flush` seconds at most and only if one may listen, then hang up.

        Returns whether it has everything.
        """
        if len(self._outbox) and (self.hub or await asyncio.to_thread(self._find)):
            with contextlib.suppress(TimeoutError):
                async with time_limit(flush):
                    await self._empty.wait()
        await cancel_and_wait(self._life, within=2.0)
        done = not len(self._outbox)
        self._outbox.close()
        return done

    async def _live(self) -> None:
        wait = FIRST_WAIT
        while True:
            for path in await asyncio.to_thread(self._find):
                with contextlib.suppress(LinkError, BadLine, OSError, TimeoutError):
                    if await self._visit(path):
                        wait = FIRST_WAIT
            await asyncio.sleep(wait * random.uniform(0.7, 1.3))
            wait = min(LONGEST_WAIT, wait * 2)

    async def _visit(self, path: Path) -> bool:
        """One connection from beginning to end; whether it was welcomed."""
        async with time_limit(CONNECT_WITHIN):
            reader, writer = await asyncio.open_unix_connection(str(path), limit=256 * 1024)
        talk = _HubStream(reader, writer)
        welcomed = False
        try:
            async with time_limit(CONNECT_WITHIN):
                welcome = await self._introduce(talk)
            welcomed = True
            self.hub = str(path)
            hub = str(welcome["welcome"])
            have = number_of({"seq": welcome.get("have", 0)})
            before = -1 if hub in self._seen else self._outbox.acked
            self._seen.setdefault(hub, 0)
            self._acked(have)
            await talk.write(b"".join(wire.encode(event) for event in self._greet(before)))
            self._on_change(True)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._send(talk))
                tasks.create_task(self._listen(talk, hub))
        except* (LinkError, BadLine, OSError, TimeoutError):
            pass
        finally:
            if self.hub:
                self.hub = ""
                self._on_change(False)
            writer.transport.abort()
        return welcomed

    def _acked(self, number: int) -> None:
        self._outbox.ack(number)
        if not len(self._outbox):
            self._empty.set()

    async def _introduce(self, talk: _HubStream) -> dict[str, Any]:
        """Hello, proof and welcome. Raises `LinkError`."""
        connected: socket.socket = talk.writer.get_extra_info("socket")
        if not peer_of(connected).is_us:
            raise LinkError("the socket belongs to another user")
        me, challenge = self._identity, peer.nonce()
        who = {"hello": me.kind, "agent": me.agent, "pid": os.getpid(), "nonce": challenge, "run": self.run}
        await talk.write(to_line({**who, "heard": self._seen}))
        fields = await talk.fields()
        if me.secret:
            # Whoever cannot prove that it is our hub is told nothing, and nothing is taken from it.
            if not peer.holds(me.secret, "hub", challenge, fields.get("proof")):
                raise LinkError(str(fields.get("error", "it could not prove that it is our hub")))
            answer = peer.proof(me.secret, "client", str(fields.get("challenge", "")))
            await talk.write(to_line({"proof": answer}))
            fields = await talk.fields()
        if "welcome" not in fields:
            raise LinkError(str(fields.get("error", "it did not welcome us")))
        return fields

    async def _send(self, talk: _HubStream) -> None:
        sent = self._outbox.acked
        while True:
            lines = self._outbox.after(sent)
            if not lines:
                self._fresh.clear()
                await self._fresh.wait()
                continue
            sent = lines[-1][0]
            await talk.write(b"".join(line for _, line in lines))

    async def _listen(self, talk: _HubStream, hub: str) -> None:
        acked = 0
        while True:
            for line in await talk.lines():
                try:
                    if isinstance(line, BadLine):
                        raise line
                    self._read_messages(of_line(line), hub)
                except (BadLine, wire.WireError):
                    self.ignored += 1
                except LinkError:
                    raise
                except Exception as error:  # a fault of ours costs this line
                    report("the link to the hub", error)
                    self.ignored += 1
            if self._seen[hub] != acked:
                acked = self._seen[hub]
                await talk.write(to_line({"ack": acked}))

    def _read_messages(self, fields: dict[str, Any], hub: str) -> None:
        if "type" not in fields:
            if "ack" in fields:
                self._acked(number_of({"seq": fields["ack"]}))
            if "bye" in fields:
                raise LinkError("the hub says goodbye")
            if "error" in fields:
                self.errors = [*self.errors[-9:], str(fields["error"])]
            return
        if not self._takes_more:
            return
        number = number_of(fields)
        event = wire.from_plain(fields)
        if number and number <= self._seen[hub]:
            return  # said before the connection broke
        self._seen[hub] = max(number, self._seen[hub])
        if isinstance(event, self._takes):
            self._take(event)
        else:
            self.ignored += 1


class _HubStream:
    """Lines in and out of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writer = writer
        self._lines = LineStream(reader, _MAX_LINE, WRITE_WITHIN)
        self._waiting: list[bytes | BadLine] = []

    async def write(self, data: bytes) -> None:
        """Write; waits while the other side is slow. Raises `TimeoutError` if it accepts nothing."""
        if data:
            self.writer.write(data)
            async with time_limit(WRITE_WITHIN):
                await self.writer.drain()

    async def lines(self) -> list[bytes | BadLine]:
        """The next lines, at least one. Raises `LinkError` at the end."""
        while not self._waiting:
            if not await self._lines.more():
                raise LinkError("the hub hung up")
            self._waiting.extend(self._lines.whole())
        found, self._waiting = self._waiting, []
        return found

    async def fields(self) -> dict[str, Any]:
        found = await self.lines()
        self._waiting = found[1:]
        if isinstance(found[0], BadLine):
            raise found[0]
        return of_line(found[0])

"""One connection to a hub's socket: its hello, its lines, its errors and deadlines.

Owns the course of a connection and refuses, line by line, what its kind may not say; a line refused is answered,
counted, and costs nothing else. Made by the listener.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING, Any

from gshtui.bus import wire
from gshtui.bus.event import Event
from gshtui.shell import proof
from gshtui.shell.lines import BadLine, Lines, number_of, of_line, to_line
from gshtui.shell.peer import Peer
from gshtui.shell.table import KINDS, Kind
from gshtui.system.tasks import report

if TYPE_CHECKING:
    from gshtui.shell.listener import Listener

HELLO_WITHIN = 5.0
"""Seconds for the hello, and again for the proof."""
LINE_WITHIN = 30.0
"""Seconds for the rest of a line that was begun."""
PART_WITHIN = 0.5
"""Seconds for the other side to hang up when the hub says goodbye."""
READ_WITHIN = 10.0
"""Seconds for the other side to read what was sent to it, when it is far behind."""
UNREAD_LIMIT = 8 * 1024 * 1024
"""Bytes that may wait for it."""
BAD_LINES = 20
"""Lines that may be refused before the connection is closed."""
_SLICE = 0.004
"""Seconds of work after which others get their turn."""


class Refused(Exception):
    """The connection ends; the text is told to the other side."""


class Connection:
    """See the module's text. `name` is whom it speaks for, once it is known."""

    def __init__(
        self, listener: Listener, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, peer: Peer
    ) -> None:
        self.peer = peer
        self.kind: Kind | None = None
        self.name = ""
        self.hello: dict[str, Any] = {}
        self.welcomed = False
        self.events = 0
        self.refused = 0
        self._listener = listener
        self._writer = writer
        self._lines = Lines(reader, 16 * 1024, LINE_WITHIN)
        self._waiting: list[bytes | BadLine] = []
        self._overrun: asyncio.TimerHandle | None = None

    def send(self, data: bytes) -> None:
        """Send whole lines. Never blocks; one that does not read what it is sent is closed."""
        if self._writer.is_closing():
            return
        self._writer.write(data)
        behind = self._writer.transport.get_write_buffer_size()
        if behind > UNREAD_LIMIT and self._overrun is None:
            self._overrun = asyncio.get_running_loop().call_later(READ_WITHIN, self._give_up)

    def say(self, **fields: Any) -> None:
        """Send a line of the protocol's own."""
        self.send(to_line(fields))

    def close(self) -> None:
        """End it, now."""
        self._writer.transport.abort()

    async def part(self) -> None:
        """Say goodbye, and wait a moment for the other side to have read what was acknowledged and to hang up."""
        if self.welcomed and self.kind is not None and self.kind.answered:
            self._listener.visitor(self.kind.name).batch_done(self)
            self.say(bye=self._listener.id)
            with contextlib.suppress(TimeoutError, OSError):
                async with asyncio.timeout(PART_WITHIN):
                    while await self._lines.more():
                        self._lines.drop()  # not acknowledged, so the next hub gets it

    async def serve(self) -> None:
        """From hello to the end; cancelled, it parts. Raises nothing."""
        try:
            await self._greet()
            await self._take()
        except Refused as why:
            self._listener.counts.refused += 1
            self.say(error=str(why))
        except TimeoutError:
            self._listener.counts.slow += 1
            self.say(error="too slow: what you began to say did not come in time")
        except asyncio.CancelledError:
            await self.part()
        except OSError:
            pass  # the other side is gone
        except Exception as error:  # a fault of ours: it may come back
            report(f"the connection of {self.name or 'a process'}", error)
            self.say(error="the hub failed; come again")
        finally:
            if self._overrun is not None:
                self._overrun.cancel()
            with contextlib.suppress(OSError, TimeoutError):
                self._writer.close()
                async with asyncio.timeout(1.0):
                    await self._writer.wait_closed()
            self._writer.transport.abort()

    async def _greet(self) -> None:
        async with asyncio.timeout(HELLO_WITHIN):
            hello = await self._fields()
        kind = KINDS.get(str(hello.get("hello")))
        if kind is None:
            raise Refused(f"the first line is {{'hello': one of {', '.join(KINDS)}, 'pid': …}}")
        if self.peer.pid and hello.get("pid") != self.peer.pid:
            raise Refused(f"the `pid` of your hello is not {self.peer.pid}, which is yours")
        self.kind, self.hello, self.name = kind, hello, str(hello.get("agent", ""))
        visitor = self._listener.visitor(kind.name)
        if kind.proves:
            await self._prove(await visitor.secret(self))
        self._lines.limit = kind.max_line
        answer = visitor.admit(self)
        self.welcomed = True
        if kind.answered:
            self.say(welcome=self._listener.id, **answer)
            visitor.ready(self)

    async def _prove(self, secret: str) -> None:
        """Both sides show that they know the secret; the hub goes first, as the one that was called."""
        if not secret:
            raise Refused(f"there is no agent {self.name[:80]!r} here")
        challenge = proof.nonce()
        self.say(challenge=challenge, proof=proof.proof(secret, "hub", str(self.hello.get("nonce", ""))))
        async with asyncio.timeout(HELLO_WITHIN):
            answer = await self._fields()
        if not proof.holds(secret, "client", challenge, answer.get("proof")):
            raise Refused("that is not the proof; nothing is taken from you")

    async def _fields(self) -> dict[str, Any]:
        """The next line's fields, before events are taken. Raises `Refused`."""
        while not self._waiting:
            if not await self._lines.more():
                raise Refused("you hung up before you said who you are")
            self._waiting.extend(self._lines.whole())
        line = self._waiting.pop(0)
        try:
            if isinstance(line, BadLine):
                raise line
            return of_line(line)
        except BadLine as why:
            raise Refused(str(why)) from why

    async def _take(self) -> None:
        """Take events until the other side hangs up."""
        assert self.kind is not None
        visitor = self._listener.visitor(self.kind.name)
        open_still = True
        while open_still:
            async with self._listener.turn:  # of a thousand connections, one works at a time
                until = time.monotonic() + _SLICE
                for line in self._waiting or self._lines.whole():
                    self._line(line)
                    if time.monotonic() > until:
                        await asyncio.sleep(0)
                        until = time.monotonic() + _SLICE
            self._waiting = []
            visitor.batch_done(self)
            await self._listener.pace()
            open_still = await self._lines.more()

    def _line(self, line: bytes | BadLine) -> None:
        assert self.kind is not None
        try:
            if isinstance(line, BadLine):
                raise line
            fields = of_line(line)
            if "ack" in fields and "type" not in fields:
                self._listener.visitor(self.kind.name).acked(self, number_of({"seq": fields["ack"]}))
                return
            number = number_of(fields)
            event = wire.from_plain(fields)
            self._event(event, number)
        except (BadLine, wire.WireError) as why:
            self.refuse(str(why))
        except Refused:
            raise
        except Exception as error:  # a fault of ours: this line is lost, and is not sent again and again
            report(f"the connection of {self.name or self.kind.name}", error)
            self.refuse("the hub failed at this line")

    def _event(self, event: Event, number: int) -> None:
        assert self.kind is not None
        if not self.kind.may_publish(event):
            name = str(getattr(event, "name", "")) if type(event).__name__ == "Unknown" else type(event).__name__
            raise BadLine(f"a connection of kind {self.kind.name} may not say {name[:80]}")
        self.events += 1
        self._listener.counts.events += 1
        self._listener.visitor(self.kind.name).take(self, event, number)

    def refuse(self, why: str) -> None:
        """Answer a line that is not taken, and count it. Raises `Refused` when there were too many."""
        self.refused += 1
        self._listener.counts.bad_lines += 1
        if self.refused > BAD_LINES:
            raise Refused(f"{self.refused} lines that could not be taken are too many")
        self.say(error=why[:500])

    def _give_up(self) -> None:
        self._overrun = None
        if self._writer.transport.get_write_buffer_size() > UNREAD_LIMIT // 2:
            self._listener.counts.slow += 1
            self.close()

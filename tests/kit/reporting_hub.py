"""What a shell's plugin reports to: a Unix socket where a hub would listen, and everything that came in over it.

It keeps what it acknowledges, as a hub does; it can be deaf, refuse, and die at once with what it had not read.
"""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from gshtui.bus import wire
from gshtui.bus.event import Event
from gshtui.shell.event_table import KINDS, SHELL

WITHIN = 15.0


class ReportingHub:
    """Listens at a path from the start on. `kept` grows by line; `close` is what kill -9 would do."""

    def __init__(self, path: Path, kept: list[dict[str, Any]] | None = None, *, deaf: bool = False) -> None:
        self.kept = kept if kept is not None else []
        self.bad: list[bytes] = []
        self.hellos: list[dict[str, Any]] = []
        self._came = threading.Condition()
        self._open: set[socket.socket] = set()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.parent.chmod(0o700)
        path.unlink(missing_ok=True)
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        path.chmod(0o600)
        self._socket.listen(200)
        self._dead = False
        if not deaf:
            threading.Thread(target=self._accept, daemon=True).start()

    @property
    def events(self) -> list[Event]:
        """What was kept, as events, each once, in the order of the shells' lives."""
        seen = {(line["shell"], line["seq"]): line for line in list(self.kept)}
        ordered = sorted(seen.values(), key=lambda line: (line["shell"], line["seq"]))
        return [wire.decode(json.dumps({k: v for k, v in line.items() if k != "seq"}).encode()) for line in ordered]

    def of(self, kind: type[Event]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def wait_for(self, there: Callable[[], bool]) -> None:
        """Until something holds; fails the test when it does not in time."""
        end = time.monotonic() + WITHIN
        with self._came:
            while not there():
                assert time.monotonic() < end, (self.kept[-5:], self.bad, self.hellos)
                self._came.wait(0.05)

    def close(self) -> None:
        """Die: nothing more is read or answered."""
        self._dead = True
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        for connected in list(self._open):
            with contextlib.suppress(OSError):
                connected.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        while True:
            try:
                connected, _ = self._socket.accept()
            except OSError:
                return
            self._open.add(connected)
            threading.Thread(target=self._serve, args=(connected,), daemon=True).start()

    def _serve(self, connected: socket.socket) -> None:
        rest = b""
        with connected, contextlib.suppress(OSError):
            while data := connected.recv(1 << 16):
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    if self._dead:
                        return
                    answer = self._take(line)
                    with contextlib.suppress(OSError):
                        connected.sendall(answer)
        self._open.discard(connected)

    def _take(self, line: bytes) -> bytes:
        with self._came:
            try:
                fields = json.loads(line.decode("utf-8", "strict"))
                if "hello" in fields:
                    assert fields["hello"] == SHELL
                    self.hellos.append(fields)
                    return b'{"welcome":"test"}\n'
                assert len(line) <= KINDS[SHELL].max_line
                event = wire.from_plain({name: value for name, value in fields.items() if name != "seq"})
                assert KINDS[SHELL].may_publish(event)
                assert event.beyond == {}
                self.kept.append(fields)
                return b'{"ack":%d}\n' % fields["seq"]
            except Exception:
                self.bad.append(line)
                return b'{"error":"bad"}\n'
            finally:
                self._came.notify_all()


def spooled(data: Path) -> list[dict[str, Any]]:
    """The lines in the spool below a data folder, each of which has to be an event."""
    found: list[dict[str, Any]] = []
    for file in sorted((data / "gsh" / "spool").glob("*.jsonl")):
        assert file.stat().st_mode & 0o777 == 0o600
        for line in file.read_bytes().split(b"\n"):
            if line:
                fields = json.loads(line.decode("utf-8", "strict"))
                event = wire.from_plain({name: value for name, value in fields.items() if name != "seq"})
                assert KINDS[SHELL].may_publish(event)
                found.append(fields)
    return found

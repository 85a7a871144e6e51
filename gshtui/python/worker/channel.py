"""The worker's end of its connection with the hub: frames of JSON, and questions that the hub answers.

A frame is its length in four bytes and as much JSON. One thread reads; any thread may send or ask. Runs under the
person's Python (3.9 or later) with nothing but the standard library.
"""

from __future__ import annotations

import json
import os
import queue
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any

_HEAD = struct.Struct(">I")
LONGEST = 32 * 1024 * 1024
"""Bytes of a frame at most; the hub ends a worker that sends more."""


class HubGone(Exception):
    """The hub closed the connection, or there is none in this process any more (after a fork)."""


class HubRefused(Exception):
    """The hub did not do what was asked; the text says why."""


class Channel:
    """Frames over one socket."""

    def __init__(self, way: socket.socket) -> None:
        self._way = way
        self._sending = threading.Lock()
        self._asked = 0
        self._answers: dict[int, queue.SimpleQueue[dict[str, Any]]] = {}
        self._owner = os.getpid()

    def send(self, frame: dict[str, Any]) -> None:
        """Send one frame. Raises `HubGone`."""
        if os.getpid() != self._owner:
            raise HubGone("This is a child process of the interpreter: it has no connection of its own.")
        data = json.dumps(frame, default=str).encode("utf-8", "replace")
        if len(data) > LONGEST:
            raise ValueError(f"{len(data):,} bytes are too much for one answer.")
        try:
            with self._sending:
                self._way.sendall(_HEAD.pack(len(data)) + data)
        except OSError as error:
            raise HubGone(str(error)) from error

    def ask(self, what: str, **more: Any) -> Any:
        """Ask the hub, and wait for its answer.

        Raises:
            HubRefused: it did not do it.
            HubGone: there is no hub.
        """
        with self._sending:
            self._asked += 1
            number = self._asked
        answer: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._answers[number] = answer
        try:
            self.send({"is": "ask", "id": number, "what": what, "more": more})
            got = answer.get()
        finally:
            del self._answers[number]
        if "error" in got:
            raise HubRefused(str(got["error"]))
        return got.get("value")

    def listen(self, receive: Callable[[dict[str, Any]], None]) -> None:
        """Read frames until the hub is gone, which ends it; `receive` gets all but answers."""
        while True:
            head = self._exactly(_HEAD.size)
            frame = json.loads(self._exactly(_HEAD.unpack(head)[0]))
            if frame.get("do") == "answer":
                waiting = self._answers.get(frame.get("id"))
                if waiting is not None:
                    waiting.put(frame)
            else:
                receive(frame)

    def _exactly(self, size: int) -> bytes:
        parts: list[bytes] = []
        while size:
            try:
                part = self._way.recv(min(size, 1 << 20))
            except OSError as error:
                raise HubGone(str(error)) from error
            if not part:
                raise HubGone("The hub has closed the connection.")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

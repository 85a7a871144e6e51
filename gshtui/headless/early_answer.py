"""The first request on standard input, answered while the rest of the program still loads.

A program that starts us as a server waits for the answer to its handshake for some seconds only, and on a busy machine
loading takes as long. So a thread reads the first line, and answers it where the answer depends on nothing that is
loaded later. What serves the connection afterwards gets the same request; the answer that it makes is left out.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import threading
from collections.abc import Callable, Mapping
from typing import Any, cast

_LONGEST = 64 * 1024
"""Bytes of a first line that may be answered early."""
_PIECE = 16 * 1024
Message = Mapping[str, Any]
Answer = Callable[[Message], Message | None]
"""The result of a request that can be answered early; `None`: of any other."""


class EarlyAnswer:
    """Claims standard input and output for the protocol: nothing else in this process reads or writes them.

    Attributes:
        input: the descriptor from which to read what follows the beginning.
        output: the descriptor to write to.
    """

    def __init__(self, answer: Answer) -> None:
        """Begin to read. Raises `OSError` where standard input or output is closed."""
        self.input, self.output = os.dup(0), os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        self._answer = answer
        self._answered: object = None
        """The id of the request that was answered, until the second answer to it is made."""
        self._loop = asyncio.get_running_loop()
        self._begun: asyncio.Future[bytes] = self._loop.create_future()
        threading.Thread(target=self._read, name="first request", daemon=True).start()

    async def beginning(self) -> bytes:
        """What was read: the first line, and what came with it; empty: the input has ended."""
        return await asyncio.shield(self._begun)

    def is_second(self, message: Message) -> bool:
        """Whether this is the answer to the request that was answered; asked for each message, true once."""
        if self._answered is None or message.get("id") != self._answered or "method" in message:
            return False
        self._answered = None
        return True

    def _read(self) -> None:
        data = b""
        try:
            while b"\n" not in data and len(data) < _LONGEST and (piece := os.read(self.input, _PIECE)):
                data += piece
            line, ends, _ = data.partition(b"\n")
            if ends:
                self._say(line)
        except OSError:
            pass  # the next to read, or to write, is told
        try:
            self._loop.call_soon_threadsafe(self._keep, data)
        except RuntimeError:
            return  # the program has ended meanwhile

    def _keep(self, data: bytes) -> None:
        if not self._begun.done():
            self._begun.set_result(data)

    def _say(self, line: bytes) -> None:
        try:
            asked: object = json.loads(line)
        except (ValueError, RecursionError):
            return
        if not isinstance(asked, dict):
            return
        request = cast("Message", asked)
        number = request.get("id")
        if isinstance(number, bool) or not isinstance(number, int | str):
            return
        if (result := self._answer(request)) is None:
            return
        self._answered = number
        said = json.dumps({"jsonrpc": "2.0", "id": number, "result": result}, separators=(",", ":")).encode() + b"\n"
        while said:
            said = said[os.write(self.output, said) :]


class ResumedInput(io.RawIOBase):
    """An input whose beginning has been read already."""

    def __init__(self, beginning: bytes, descriptor: int) -> None:
        super().__init__()
        self._beginning = beginning
        self._descriptor = descriptor

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what has been read, then what follows."""
        room = memoryview(buffer).cast("B")
        data = self._beginning[: len(room)] or os.read(self._descriptor, len(room))
        self._beginning = self._beginning[len(data) :]
        room[: len(data)] = data
        return len(data)

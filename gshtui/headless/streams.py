"""The three standard streams of a command without a window: results to stdout, all else to stderr, input bounded."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import select
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import Any

STDOUT, STDERR = 1, 2


def is_terminal(number: int) -> bool:
    """Whether a standard stream is a terminal."""
    return os.isatty(number)


def write_all(number: int, data: bytes) -> None:
    """Write all of it, also to a stream that somebody made non-blocking.

    Raises:
        BrokenPipeError: nobody reads any more, or the stream was closed from the start.
        OSError: anything else, such as a full disk.
    """
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(number, view) :]
        except BlockingIOError:
            select.select([], [number], [])
        except OSError as error:
            if error.errno in (errno.EBADF, errno.EIO, errno.EPIPE):
                raise BrokenPipeError(error.errno, "nobody reads the output") from error
            raise


def shown(text: str, number: int) -> bytes:
    """The text as bytes for this stream: sanitised when it is a terminal."""
    if is_terminal(number):
        from gshtui.text.sanitise import plain

        text = plain(text)
    return text.encode("utf-8", "replace")


def result(text: str) -> None:
    """A result for people, ended with a newline."""
    if text:
        write_all(STDOUT, shown(text if text.endswith("\n") else text + "\n", STDOUT))


def result_json(data: Any) -> None:
    """A result for scripts: one JSON value on one line."""
    write_all(STDOUT, json_line(data))


def json_line(data: Any) -> bytes:
    """One JSON value as a line; ASCII for a terminal, so that nothing in it can steer it."""
    if not is_terminal(STDOUT):
        try:
            return json.dumps(data, ensure_ascii=False, default=str).encode() + b"\n"
        except UnicodeEncodeError:  # a lone surrogate: only its escape can say it
            pass
    return json.dumps(data, ensure_ascii=True, default=str).encode() + b"\n"


def complain(text: str, hint: str = "") -> None:
    """What is wrong and what to do, on stderr under our name. A stderr that nobody reads is nobody's problem."""
    with suppress(OSError):
        write_all(STDERR, complaint(text, hint))


def complaint(text: str, hint: str = "") -> bytes:
    """The line that `complain` writes."""
    if hint:
        text = f"{text}{'' if text.endswith(('.', '!', '?', ':')) else '.'} {hint}"
    return shown(f"gsh-tui: {text}\n", STDERR)


def ask_yes_no(question: str) -> bool:
    """A person's yes to a question on their terminal; anything else is a no.

    What was typed before the question could be read is no answer: it is thrown away, and the answer is taken after it.
    """
    from gshtui.headless.terminal_keys import TerminalKeys

    write_all(STDERR, shown(question, STDERR))
    with suppress(OSError), TerminalKeys() as terminal:
        terminal.wait_for_quiet()
        terminal.forget()
    write_all(STDERR, b" [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


class Writer:
    """Writes from a thread of its own, in order: a reader that pauses stops neither the turn nor an interrupt.

    `on_broken` is called, from that thread, once, when nobody reads any more.
    """

    def __init__(self, on_broken: Callable[[], None]) -> None:
        self.broken = False
        self._on_broken = on_broken
        self._queue: SimpleQueue[tuple[int, bytes] | threading.Event | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="stdout", daemon=True)
        self._thread.start()

    def write(self, data: bytes, number: int = STDOUT) -> None:
        """Have it written, in order. Returns at once."""
        self._queue.put((number, data))

    def wait(self, over: Callable[[], bool]) -> None:
        """Wait until what was given so far is written, or `over` says that nobody needs it. For a thread."""
        written = threading.Event()
        self._queue.put(written)
        while not written.wait(0.1) and not over():
            pass

    def close(self) -> None:
        """Wait until everything is written. For a thread: it blocks as long as the reader does."""
        self._queue.put(None)
        self._thread.join()

    def _serve(self) -> None:
        while (entry := self._queue.get()) is not None:
            if isinstance(entry, threading.Event):
                entry.set()
                continue
            number, data = entry
            if number == STDOUT and self.broken:
                continue
            try:
                write_all(number, data)
            except OSError:
                if number == STDOUT:
                    self.broken = True
                    self._on_broken()


LIMIT = 4 * 1024 * 1024
"""Bytes; what comes behind them is left out, and that is said."""


async def piped_input() -> tuple[str, bool]:
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

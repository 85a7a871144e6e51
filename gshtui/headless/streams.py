"""The standard streams of a command without a window: results go to stdout, all else to stderr; input is limited."""

from __future__ import annotations

import errno
import json
import os
import select
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue

STDOUT, STDERR = 1, 2


def is_terminal(number: int) -> bool:
    """Whether a standard stream is a terminal."""
    return os.isatty(number)


def write_all(number: int, data: bytes) -> None:
    """Write all the data, even to a stream that somebody made non-blocking.

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
    """The text as bytes for this stream, sanitised if it is a terminal."""
    if is_terminal(number):
        from gshtui.text.sanitise import plain

        text = plain(text)
    return text.encode("utf-8", "replace")


def result(text: str) -> None:
    """Print a result for people, with a final newline."""
    if text:
        write_all(STDOUT, shown(text if text.endswith("\n") else text + "\n", STDOUT))


def result_json(data: object) -> None:
    """Print a result for scripts: one JSON value on one line."""
    write_all(STDOUT, json_line(data))


def json_line(data: object) -> bytes:
    """One JSON value as a line; pure ASCII for a terminal, so that nothing in it can control the terminal."""
    if not is_terminal(STDOUT):
        try:
            return json.dumps(data, ensure_ascii=False, default=str).encode() + b"\n"
        except UnicodeEncodeError:  # a lone surrogate can only be written as an escape
            pass
    return json.dumps(data, ensure_ascii=True, default=str).encode() + b"\n"


def complain(text: str, hint: str = "") -> None:
    """Print what is wrong and what to do on stderr, under our name. Ignores a stderr that nobody reads."""
    with suppress(OSError):
        write_all(STDERR, complaint(text, hint))


def complaint(text: str, hint: str = "") -> bytes:
    """The line that `complain` prints."""
    if hint:
        text = f"{text}{'' if text.endswith(('.', '!', '?', ':')) else '.'} {hint}"
    return shown(f"gsh-tui: {text}\n", STDERR)


def ask_yes_no(question: str) -> bool:
    """Ask the person at the terminal; returns true only for a yes.

    Anything typed before the question could be read is discarded.
    """
    from gshtui.headless.terminal_keys import TerminalKeys

    write_all(STDERR, shown(question, STDERR))
    with suppress(OSError), TerminalKeys() as terminal:
        terminal.wait_for_quiet()
        terminal.forget()
    write_all(STDERR, b" [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


class Writer:
    """Writes in order from its own thread, so that a reader that pauses blocks neither the turn nor an interrupt.

    `on_broken` is called once, from that thread, when nobody reads any more.
    """

    def __init__(self, on_broken: Callable[[], None]) -> None:
        self.broken = False
        self._on_broken = on_broken
        self._queue: SimpleQueue[tuple[int, bytes] | threading.Event | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="stdout", daemon=True)
        self._thread.start()

    def write(self, data: bytes, number: int = STDOUT) -> None:
        """Queue the data to be written. Returns at once."""
        self._queue.put((number, data))

    def wait(self, over: Callable[[], bool]) -> None:
        """Wait until everything queued so far is written, or `over` returns true. Blocks: use a thread."""
        written = threading.Event()
        self._queue.put(written)
        while not written.wait(0.1) and not over():
            pass

    def close(self) -> None:
        """Wait until everything is written. Blocks as long as the reader does: call it in a thread."""
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
"""Most bytes of input; the rest is left out, and the person is told."""


async def piped_input() -> tuple[str, bool]:
    """(text of standard input, whether it was longer than `LIMIT`); no text if standard input is a terminal.

    If the wait is cancelled, a thread keeps reading until the process ends.
    """
    if os.isatty(0):
        return "", False
    import asyncio  # a command that reads nothing has no loop

    loop = asyncio.get_running_loop()
    done: asyncio.Future[bytes] = loop.create_future()

    def settle(raw: bytes) -> None:
        if not done.done():
            done.set_result(raw)

    def read() -> None:
        raw = _read()
        try:
            loop.call_soon_threadsafe(settle, raw)
        except RuntimeError:  # the loop is gone, so nobody is waiting
            return

    threading.Thread(target=read, name="stdin", daemon=True).start()
    raw = await done
    return raw[:LIMIT].decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}"), len(raw) > LIMIT


def words(given: Sequence[str]) -> str:
    """The words of a command line as one text; a lone `-` means all of standard input."""
    if list(given) != ["-"]:
        return " ".join(given)
    return _read()[:LIMIT].decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")


def _read() -> bytes:
    parts: list[bytes] = []
    size = 0
    while size <= LIMIT:
        try:
            part = os.read(0, 1 << 16)
        except OSError:  # a folder or an unreadable stream counts as empty
            break
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)

"""The standard streams of a command without a window: results go to stdout, all else to stderr; input is limited."""

from __future__ import annotations

import errno
import json
import os
import re
import select
import shlex
import stat
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from queue import SimpleQueue
from typing import TYPE_CHECKING, Literal, LiteralString, NamedTuple, NewType

if TYPE_CHECKING:
    from gshtui.text.sanitise import CleanText

ShownBytes = NewType("ShownBytes", bytes)
"""What may be printed on a stream: sanitised if that is a terminal or a pipe. Made in this module alone."""

STDIN, STDOUT, STDERR = 0, 1, 2
ANYWAY = "`--yes` does it anyway."
"""What a command that asks before it acts adds where nobody can be asked."""
LINE_FACE: ContextVar[bool] = ContextVar("line face", default=False)
"""Whether a person's lines are taken one after the other: nothing moves, and no command ends the process."""
_C1 = re.compile(r"[\x7f-\x9f]")
"""Controls that JSON lets stand as they are."""
_NAMED = re.compile(r"`([a-z][a-z0-9_-]*(?: [^`\n]*)?)`")
"""What may be the line of a command."""


def claim_for_protocol() -> tuple[int, int]:
    """Standard input and output for a protocol alone, as descriptors: nothing else here reads or writes them.

    What is printed goes to the error output from now on. Raises `OSError` where one of them is closed.
    """
    given = os.dup(STDIN), os.dup(STDOUT)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, STDIN)
    os.close(nothing)
    os.dup2(STDERR, STDOUT)
    return given


def is_terminal(number: int) -> bool:
    """Whether a standard stream is a terminal."""
    return os.isatty(number)


def draws() -> bool:
    """Whether lines may be drawn over on a terminal, and have colours."""
    return os.environ.get("TERM") != "dumb" and not LINE_FACE.get()


def is_pipe(number: int) -> bool:
    """Whether a standard stream is read by another program."""
    try:
        mode = os.fstat(number).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def write_all(number: int, data: ShownBytes) -> None:
    """Print all the data. Raises as `pass_on`."""
    pass_on(number, data)


def pass_on(number: int, data: bytes) -> None:
    """Write all the data, as it is and even to a stream that somebody made non-blocking.

    For what the person's own program prints to their own terminal, and for what is no terminal's.
    Raises `BrokenPipeError`: nobody reads any more, or the stream was closed from the start; `OSError`: anything else,
    such as a full disk.
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


def shown(text: str, number: int) -> ShownBytes:
    """The text as bytes for this stream, sanitised if it is a terminal.

    Behind a pipe there may be one, too (`| tee`): nothing gets there that it would obey. A file gets all of it.
    """
    if is_terminal(number):
        from gshtui.text.sanitise import plain

        text = plain(text)
    elif is_pipe(number):
        from gshtui.text.sanitise import inert

        text = inert(text)
    return ShownBytes(text.encode("utf-8", "replace"))


def own(*parts: LiteralString | CleanText | int) -> ShownBytes:
    """What is sanitised already, with sequences of our own, for a terminal."""
    return ShownBytes("".join(map(str, parts)).encode("utf-8", "replace"))


def broken_at_words(text: str, terminal: int) -> str:
    """Our own words as they are written for who hears this terminal: no line of them is broken inside a word.

    Not for what a person approves, or others wrote: there a break of ours would be taken for one of theirs.
    """
    if LINE_FACE.get():
        with suppress(OSError):
            return at_words(text, os.get_terminal_size(terminal).columns)
    return text


def at_words(text: str, columns: int) -> str:
    """The text with no line longer than the terminal is wide, which would break it inside a word."""
    from gshtui.text import cells

    lines: list[str] = []
    for line in text.split("\n"):
        while columns > 0 and len(cells.head(line, columns)) < len(line):  # not the width, which reads all that is left
            at = cells.head(line, columns + 1).rfind(" ")
            if at < 0 or not line[:at].strip():  # one word, which nothing but the terminal breaks
                at = line.find(" ", len(line) - len(line.lstrip()))
            if at < 0:
                break
            lines.append(line[:at])
            line = line[at + 1 :]
        lines.append(line)
    return "\n".join(lines)


def result(text: str, *, own: bool = True) -> None:
    """Print a result for people, with a final newline. `own`: our words, broken to be heard."""
    if text:
        text = broken_at_words(text, STDOUT) if own else text
        write_all(STDOUT, shown(text if text.endswith("\n") else text + "\n", STDOUT))


def result_json(data: object) -> None:
    """Print a result for scripts: one JSON value on one line."""
    write_all(STDOUT, json_line(data))


def json_line(data: object) -> ShownBytes:
    """One JSON value as a line; pure ASCII for a terminal, so that nothing in it can control the terminal."""
    if not is_terminal(STDOUT):
        try:
            text = json.dumps(data, ensure_ascii=False, default=str)
            return ShownBytes(_C1.sub(lambda match: f"\\u{ord(match.group()):04x}", text).encode() + b"\n")
        except UnicodeEncodeError:  # a lone surrogate can only be written as an escape
            pass
    return ShownBytes(json.dumps(data, ensure_ascii=True, default=str).encode() + b"\n")


def complain(text: str, hint: str = "") -> None:
    """Print what is wrong and what to do on stderr, under our name. Ignores a stderr that nobody reads."""
    with suppress(OSError):
        write_all(STDERR, complaint(text, hint))


def point_at(place: str, picture: str) -> None:
    """Print below a complaint where in a line it is, and the line with carets, which say nothing to who hears them.

    Ignores a stderr that nobody reads.
    """
    if LINE_FACE.get():
        return
    indented = "".join(f"    {row}\n" for row in picture.split("\n"))
    with suppress(OSError):
        write_all(STDERR, shown(f"  {place}:\n{indented}", STDERR))


def complaint(text: str, hint: str = "") -> ShownBytes:
    """The line that `complain` prints; who hears the screen knows who speaks."""
    if hint:
        text = f"{text}{'' if text.endswith(('.', '!', '?', ':')) else '.'} {hint}"
    said = f"{'' if LINE_FACE.get() else 'gsh-tui: '}{as_typed_here(text)}\n"
    return shown(broken_at_words(said, STDERR), STDERR)


def as_typed_here(text: str) -> str:
    """Our own words to a person at a shell: a command that they name is written as it is typed there."""
    if "`" not in text:
        return text
    from gshtui.commands.known_tools import NO_TOOLS, SHELL_FORMS

    def typed(found: re.Match[str]) -> str:
        words = found[1]
        first, *others = words.split(" ")
        if first == "gsh":
            return found[0]  # a program of its own
        has_form = first in SHELL_FORMS or " ".join((first, *others[:1])) in SHELL_FORMS
        if LINE_FACE.get() and (has_form or first in NO_TOOLS):
            return f"/{words}"
        if has_form and "=" not in words:
            return f"`gsh-tui {words}`"
        if f"agent {first}" in SHELL_FORMS and first in NO_TOOLS and "=" not in words:
            return f"`gsh-tui agent {words}`"
        if has_form or first in NO_TOOLS:
            return f"`gsh-tui run {shlex.quote(words)}`"
        return found[0]  # a tool, which a model uses, or no command

    return _NAMED.sub(typed, text)


def decline(question: str) -> Literal[False]:
    """Say what would have been asked, that nobody is there to answer it, and what agrees."""
    with suppress(OSError):
        write_all(STDERR, shown(question + "\n", STDERR))
    complain("nobody is there to ask.", ANYWAY)
    return False


def ask_yes_no(question: str) -> bool:
    """Ask the person at the terminal; returns true only for a yes. Ctrl+c is a no where a loop takes the signal.

    Anything typed before the question could be read is discarded.
    """
    import signal

    from gshtui.headless.terminal_keys import TerminalKeys

    write_all(STDERR, shown(question, STDERR))
    with suppress(OSError), TerminalKeys() as terminal:
        terminal.wait_for_quiet()
        terminal.forget()
    before = signal.getsignal(signal.SIGINT)
    blocks = threading.current_thread() is threading.main_thread() and callable(before)
    try:
        if blocks:  # the loop, which would hear of the signal, waits for this line
            signal.signal(signal.SIGINT, signal.default_int_handler)
        write_all(STDERR, own(" [y/N] "))
        return sys.stdin.readline().strip().lower() in ("y", "yes")
    except KeyboardInterrupt:
        if before is signal.default_int_handler:
            raise
        write_all(STDERR, own("\n"))
        return False
    finally:
        if blocks:
            signal.signal(signal.SIGINT, before)


class Writer:
    """Writes in order from its own thread, so that a reader that pauses blocks neither the turn nor an interrupt.

    `on_broken` is called once, from that thread, when nobody reads any more.
    """

    def __init__(self, on_broken: Callable[[], None]) -> None:
        self.broken = False
        self._on_broken = on_broken
        self._queue: SimpleQueue[tuple[int, ShownBytes] | threading.Event | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._serve, name="stdout", daemon=True)
        self._thread.start()

    def write(self, data: ShownBytes, number: int = STDOUT) -> None:
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
            except OSError as error:
                if number == STDOUT:
                    self.broken = True
                    if not isinstance(error, BrokenPipeError):
                        complain(f"cannot write the output: {error.strerror}.")
                    self._on_broken()


LIMIT = 4 * 1024 * 1024
"""Most bytes of input."""


class PipedInput(NamedTuple):
    """What came on standard input: text, or a picture, PDF or sound."""

    text: str = ""
    cut: bool = False
    """The text was longer than `LIMIT`."""
    file: str = ""
    """The private file that holds a picture, PDF or sound. Its reader removes it, with its folder."""


async def piped_input(most: int = LIMIT) -> PipedInput:
    """Standard input to its end; nothing if it is a terminal.

    If the wait is cancelled, a thread keeps reading until the process ends. `most`: bytes of text that are read; the
    rest is left out, and `cut` says so.
    """
    if os.isatty(0):
        return PipedInput()
    import asyncio  # a command that reads nothing has no loop

    loop = asyncio.get_running_loop()
    done: asyncio.Future[tuple[bytes, str]] = loop.create_future()

    def settle(found: tuple[bytes, str]) -> None:
        if not done.done():
            done.set_result(found)

    def read() -> None:
        found = _read_any(most)
        try:
            loop.call_soon_threadsafe(settle, found)
        except RuntimeError:  # the loop is gone, so nobody is waiting
            return

    threading.Thread(target=read, name="stdin", daemon=True).start()
    raw, file = await done
    text = raw[:most].decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")
    return PipedInput(text, len(raw) > most, file)


def _read_any(most: int) -> tuple[bytes, str]:
    """(text, file): the bytes of a text, or the file into which a picture, PDF or sound was written."""
    import tempfile

    from gshtui.media.attachment import MOST_BYTES
    from gshtui.media.media_kind import HEAD, media_type

    head = _read(HEAD)
    kind = media_type(head)
    if not kind:
        return head + (_read(most - len(head)) if len(head) > HEAD else b""), ""
    # Its name is what people and models are told, and some providers want a PDF's to end like one.
    path = f"{tempfile.mkdtemp(prefix='gsh-stdin-')}/standard input.{kind.partition('/')[2]}"
    size = len(head)
    with open(path, "wb") as file:  # noqa: PTH123 - pathlib is not loaded
        file.write(head)
        while size <= MOST_BYTES and (part := _read_part()):
            file.write(part)
            size += len(part)
    return b"", path


def words(given: Sequence[str]) -> str:
    """The words of a command line as one text; a lone `-` means all of standard input."""
    if list(given) != ["-"]:
        return " ".join(given)
    return _read()[:LIMIT].decode("utf-8", "replace").replace("\0", "\N{REPLACEMENT CHARACTER}")


def _read(most: int = LIMIT) -> bytes:
    """Up to the end, or a little more than `most` bytes."""
    parts: list[bytes] = []
    size = 0
    while size <= most and (part := _read_part()):
        parts.append(part)
        size += len(part)
    return b"".join(parts)


def _read_part() -> bytes:
    try:
        return os.read(0, 1 << 16)
    except OSError:  # a folder or an unreadable stream counts as empty
        return b""

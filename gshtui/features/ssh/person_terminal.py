"""What one person elsewhere types and sees: lines, with an editor where they have a terminal, and programs on it.

What is written is sanitised, but for a program's own output, which is the person's. What cannot be sent any more is
dropped: the reader finds that the connection has ended.
"""

from __future__ import annotations

import asyncio
import codecs
import contextlib
import re
from collections import deque
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, LiteralString, cast

import asyncssh
from asyncssh.editor import SSHLineEditor

from gshtui.system.processes.process_tree import of_person
from gshtui.system.processes.pty_process import PtyProcess
from gshtui.system.processes.time_limit import time_limit
from gshtui.system.tasks import attempt, cancel_and_wait, start_job
from gshtui.text.cells import width
from gshtui.text.sanitise import CleanText, clean_lines, clean_text
from gshtui.text.terminal_sequences import TerminalReader, is_letter, terminal_decoder

LONGEST_LINE = 64 * 1024
"""Characters of a line; a longer one is refused."""
LONGEST_TYPED = 16 * 1024
"""Characters of a line where there is an editor, which keeps those that were typed."""
_HISTORY = 200
_CHUNK = 32 * 1024
_MOST_WAITING = 1_000
"""Lines that may wait; then what is sent waits in the person's own program."""
_MOST_HELD = 500
"""Messages that are kept while a program has the screen."""
_END_OF_INPUT = b"\x04"
"""What a terminal in line mode takes for it."""
_AFTER_CRASH = (
    "\x1b[?1049l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?1004l\x1b[?1l\x1b>\x1b[<u\x1b[?25h\x1b[0m"
)
"""Gives the person an ordinary terminal again after a program that could not."""
_TO_TABS = re.compile(r"[^\t]*\t|[^\t]+")
_NO_LETTERS = re.compile(r"\r\n|[\x00-\x1f\x7f]")
_EDITS = frozenset(
    f"\x1b{key}" for key in ("[A", "OA", "[B", "OB", "[C", "OC", "[D", "OD", "[H", "[1~", "[F", "[4~", "[3~", "OM")
)
"""The sequences that the editor knows."""
_INSERTS = "\x1d"
"""Stands for a letter that the editor would refuse. No key of it is bound."""
_COMPLETES_WITHIN = 2.0
MOST_UNREAD = 2 * 1024 * 1024
"""Bytes of what others said that wait for somebody who does not read; then their shell is closed."""
_GATHERS = 0.012
"""Seconds between two packets: what comes sooner after one goes with the next, since a packet costs more than its
words."""
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
Complete = Callable[[str, int], Awaitable[tuple[str, int] | None]]
"""The line and place of the cursor after a completion of (line, cursor); `None`: there is none."""


class LineRefused(Exception):
    """A line that is too long; it is not kept."""


class PersonTerminal:
    """Use it between `open` and `close`."""

    def __init__(self, process: asyncssh.SSHServerProcess[bytes]) -> None:
        self._process = process
        self.has_screen = bool(process.term_type)
        self.has_colours = self.has_screen and process.term_type != "dumb"
        self._lines: deque[str | LineRefused | None] = deque()
        self._came, self._taken = asyncio.Event(), asyncio.Event()
        lines = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._decode: Callable[[bytes], str] = terminal_decoder() if self.has_screen else lines
        self._keys = TerminalReader()
        self._inserts: Iterator[str] = iter(())
        """Letters that the editor would refuse, one for each `_INSERTS`."""
        self._editor: SSHLineEditor | None = None
        self._rest = ""
        """Without a terminal: the beginning of a line."""
        self._refusing = False
        self._tab: tuple[str, int] | None = None
        """The line and the place of the cursor where a tab was pressed."""
        self._program: PtyProcess | None = None
        self._held: deque[CleanText] = deque(maxlen=_MOST_HELD)
        self._prompt = clean_text()
        """What stands before the cursor while a line is waited for."""
        self._reader: asyncio.Task[None] | None = None
        self._unsent: list[str] = []
        self._sending: asyncio.TimerHandle | None = None
        self._sent_at = -_GATHERS
        self.on_break: Callable[[], None] = lambda: None
        """Called at `ctrl+c` while no line is waited for."""
        self.on_typing: Callable[[], None] = lambda: None
        """Called when something is typed at a prompt."""
        self.complete: Complete | None = None

    def open(self) -> None:
        if self.has_screen:
            port = _EditorPort(self)
            kind = "xterm" if self.has_colours else "dumb"
            self._editor = SSHLineEditor(
                cast("Any", port), cast("Any", port), True, _HISTORY, LONGEST_TYPED + 1, kind, self.size[0]
            )
            self._editor.register_key("\t", self._note_tab)
            self._editor.register_key(_INSERTS, self._insert)
        self._reader = start_job(self._read(), "input of a person over SSH")

    async def close(self) -> None:
        """End what runs here, send what is left, and read no more."""
        await cancel_and_wait(self._reader)
        if self._program is not None:
            await self._program.close()
        self.flush()

    @property
    def size(self) -> tuple[int, int]:
        columns, rows, *_ = self._process.term_size
        return columns or 80, rows or 24

    @property
    def waits(self) -> bool:
        return bool(self._prompt)

    async def read_line(self, prompt: CleanText) -> str | None:
        """The next line; `None`: there are no more. Raises `LineRefused`."""
        self._prompt = prompt
        if self.has_screen:
            self.show(prompt)
        try:
            while not self._lines:
                self._came.clear()
                await self._came.wait()
            line = self._lines[0]
            if line is not None:
                self._lines.popleft()
            self._taken.set()
        finally:
            self._prompt = clean_text()
        if isinstance(line, LineRefused):
            raise line
        return line

    def show(self, *parts: LiteralString | CleanText | int) -> None:
        """Print what is sanitised, or our own; the line that is being typed is drawn anew behind it."""
        text = clean_text(*parts)
        if self._editor is not None:
            self._editor.process_output(text)
        else:
            self.send(text)

    def note(self, *parts: LiteralString | CleanText | int) -> None:
        """Print what is no result: for a script, whose terminal this is not, on its standard error."""
        if self.has_screen:
            self.show(*parts)
            return
        self.flush()
        with contextlib.suppress(asyncssh.Error, OSError):
            self._process.stderr.write(clean_text(*parts).encode(errors="replace"))

    async def show_result(self, text: CleanText) -> None:
        """Print what a command gives, however long, as fast as the person reads."""
        piece: list[CleanText] = []
        size = 0
        for line in clean_lines(text):
            piece.append(clean_text(line, "\n"))
            size += len(line)
            if size > _CHUNK:
                await self._show_piece(clean_text(*piece))
                piece, size = [], 0
        await self._show_piece(clean_text(*piece))

    async def _show_piece(self, text: CleanText) -> None:
        self.show(text)
        self.flush()
        with contextlib.suppress(asyncssh.Error, OSError):
            await self._process.stdout.drain()

    def interject(self, text: CleanText, prompt: CleanText | None = None) -> None:
        """Print whole lines above the prompt; they wait while a program has the screen. `prompt`: the prompt from now
        on; `None`: as it is.
        """
        if self._program is not None:
            self._held.append(text)
            return
        if text and self._process.channel.get_write_buffer_size() > MOST_UNREAD:
            self._process.channel.abort()
        if self._editor is None:
            self.note(text)
        elif not self._prompt:
            self.show(text)
        elif text or (prompt and prompt != self._prompt):
            begin = self._above_prompt()
            self._prompt = prompt or self._prompt
            self._editor.process_output(clean_text(begin, text, self._prompt))

    async def run_program(self, words: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> int:
        """Give the screen to a program until it ends; returns its exit status. Raises `OSError` if it cannot start."""

        async def pass_on(data: bytes) -> None:
            self.flush()
            self._process.stdout.write(data)
            await self._process.stdout.drain()

        term = self._process.term_type or "dumb"
        program = await PtyProcess.start(words, pass_on, cwd=cwd, env={**env, "TERM": term}, size=self.size)
        self._program = program
        clean = False
        try:
            with of_person(program.pid):
                status = await program.wait()
            clean = status <= 128
            return status
        finally:
            await program.close()
            self._program = None
            if not clean:
                self.send(_AFTER_CRASH)
            held, self._held = self._held, deque(maxlen=_MOST_HELD)
            for text in held:
                self.show(text)

    def _above_prompt(self) -> CleanText:
        """Goes to the beginning of the prompt, and removes what is below."""
        rows = _width(self._prompt) // max(1, self.size[0])
        return clean_text("\x1b[", rows, "A\r\x1b[J") if rows else clean_text("\r\x1b[J")

    async def _read(self) -> None:
        while True:
            try:
                data = await self._process.stdin.read(_CHUNK)
            except (asyncssh.BreakReceived, asyncssh.SignalReceived):
                self.take_break()
                continue
            except asyncssh.TerminalSizeChanged:
                self._resize()
                continue
            except (asyncssh.Error, OSError):
                data = b""
            if not data:
                self._end()
                await self._hang_up()
                return
            if self._program is not None:
                await self._program.write(data)
                continue
            await self._take(self._decode(data))
            while len(self._lines) > _MOST_WAITING:
                self._taken.clear()
                await self._taken.wait()

    def _resize(self) -> None:
        if self._program is not None:
            self._program.resize(self.size)
        if self._editor is not None:
            self._editor.set_width(self.size[0])

    async def _take(self, text: str) -> None:
        if self._editor is not None:
            now = asyncio.get_running_loop().time()
            for token in [*self._keys.tick(now), *self._keys.feed(text, now)]:
                match token.kind:
                    case "text":
                        await self._edit(token.text)
                    case "paste":
                        await self._edit(_NO_LETTERS.sub(" ", token.text))
                    case "sequence" if token.text in _EDITS:
                        self._editor.process_input(token.text, None)
                    case _:
                        pass
            return
        *whole, rest = text.split("\n")
        for line in whole:
            line, self._rest = self._rest + line, ""
            if not self._refusing:
                self.take_line(line)
            self._refusing = False
        if not self._refusing:
            self._rest += rest
            if len(self._rest) > LONGEST_LINE:
                self.take_line(self._rest)
                self._rest, self._refusing = "", True

    async def _edit(self, text: str) -> None:
        """Give the editor letters and control characters."""
        if self._editor is None:
            return
        if self._prompt and text.isprintable():
            self.on_typing()
        for piece in _TO_TABS.findall(text):
            refused = [letter for letter in piece if is_letter(letter) and not letter.isprintable()]
            self._inserts = iter(refused)
            clean = "".join(_INSERTS if letter in refused else letter for letter in piece.replace(_INSERTS, ""))
            self._editor.process_input(clean, None)
            await self._complete()

    def _insert(self, line: str, place: int) -> tuple[str, int]:
        letter = next(self._inserts, "") if len(line) <= LONGEST_TYPED else ""
        return line[:place] + letter + line[place:], place + len(letter)

    def _end(self) -> None:
        if self._rest and not self._refusing:
            self.take_line(self._rest)
        self._put(None)

    async def _hang_up(self) -> None:
        """End a running program with its terminal. Where there is none, the input's end is not the connection's."""
        if not self._process.term_type and not self._process.is_closing():
            if self._program is not None:
                await self._program.write(_END_OF_INPUT)
            await self._process.channel.wait_closed()
        if self._program is not None:
            start_job(self._program.close(), "the end of a program whose terminal is gone")

    def _put(self, line: str | LineRefused | None) -> None:
        self._lines.append(line)
        self._came.set()

    def _note_tab(self, line: str, place: int) -> tuple[str, int]:
        self._tab = line, place
        return line, place

    async def _complete(self) -> None:
        """Complete at a tab; what is typed behind it waits, since a command may ask the record what fits."""
        asked, self._tab = self._tab, None
        if asked is None or self.complete is None or not self._prompt or self._editor is None:
            return
        with contextlib.suppress(TimeoutError):
            async with time_limit(_COMPLETES_WITHIN):
                found = await attempt("completion over SSH", self.complete(*asked))
                if found is not None:
                    self._editor.set_input(*found)
                    self._editor.process_output("")

    def take_line(self, line: str) -> None:
        line = line.rstrip("\r\n")
        longest = LONGEST_LINE if self._editor is None else LONGEST_TYPED
        self._put(LineRefused(f"That line is longer than {longest:,} characters.") if len(line) > longest else line)

    def take_end(self) -> None:
        """Take `ctrl+d`: there are no more lines."""
        self._put(None)

    def take_break(self) -> None:
        """Take `ctrl+c`: it ends the line that is typed, or what runs."""
        if self._program is not None:
            return
        if not self._prompt:
            self.on_break()
            return
        if self._editor is not None:
            self._editor.set_input("", 0)
            self._editor.process_output("^C\n")
        self._put("")

    def send(self, text: str) -> None:
        """Send to the person's screen, as it is: at once, or a moment after what was sent before."""
        self._unsent.append(text)
        if self._sending is None:
            loop = asyncio.get_running_loop()
            self._sending = loop.call_at(max(loop.time(), self._sent_at + _GATHERS), self.flush)

    def flush(self) -> None:
        if self._sending is not None:
            self._sending.cancel()
            self._sending = None
        text = "".join(self._unsent)
        self._unsent.clear()
        self._sent_at = asyncio.get_running_loop().time()
        if text:
            with contextlib.suppress(asyncssh.Error, OSError):
                self._process.stdout.write(text.encode(errors="replace"))


class _EditorPort:
    """What asyncssh's line editor takes for its channel and its session."""

    def __init__(self, terminal: PersonTerminal) -> None:
        self._terminal = terminal

    def write(self, data: str, _datatype: Any = None) -> None:
        self._terminal.send(data)

    def data_received(self, data: str, _datatype: Any = None) -> None:
        self._terminal.take_line(data)

    def soft_eof_received(self) -> None:
        self._terminal.take_end()

    def break_received(self, _milliseconds: int) -> bool:
        self._terminal.take_break()
        return True

    def signal_received(self, _signal: str) -> None:
        """No key is bound to a signal."""


def _width(text: str) -> int:
    """Columns of a prompt, without its colours."""
    return width(_COLOUR.sub("", text))

"""What the terminal sends, read with care for pastes: a paste is text, all of it, whatever it holds.

Textual's parser reads a paste one character at a time (a megabyte keeps the interpreter busy for a second), and takes
an escape in it for a key, so that what follows is typed, a return included. It also takes alt+enter of most terminals
for enter, and its thread dies of a byte that is no UTF-8. Used by the window's driver.
"""

from __future__ import annotations

import os
import selectors
import time
from codecs import getincrementaldecoder
from collections.abc import Iterable

from textual import events
from textual._parser import ParseError
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

START = "\x1b[200~"
END = "\x1b[201~"
_ALT_ENTER = "\x1b[13;3u"
_READ = 1 << 16
_LOOK = 0.1
"""Seconds after which a lone escape is a key."""


class InputParser(XTermParser):
    """Textual's parser for everything but pastes. Feed it any pieces: a paste and its marks may be cut anywhere."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._paste: list[str] | None = None
        """Pieces of the paste that is coming in; `None`: none is."""
        self._held_at = 0.0
        self._held = ""
        """The end of the last piece, where it may be the beginning of a paste's marks."""

    def feed(self, data: str) -> Iterable[Message]:
        """Take what came; empty: nothing will come any more."""
        if not data:
            yield from self._give_up_held()
            yield from super().feed("")
            return
        data, self._held = self._held + data, ""
        while data:
            if self._paste is None:
                before, mark, data = data.partition(START)
                if mark:
                    self._paste = []
                elif kept := _beginning_of(START, before):
                    before, self._held = before[:-kept], before[-kept:]
                    self._held_at = time.monotonic()
                yield from self._keys(before)
            else:
                text, mark, rest = data.partition(END)
                if mark:
                    self._paste.append(text)
                    pasted, self._paste, data = "".join(self._paste), None, rest
                    yield events.Paste(pasted.replace("\x00", ""))
                else:
                    kept = _beginning_of(END, text)
                    self._paste.append(text[: len(text) - kept])
                    self._held, data = text[len(text) - kept :], ""

    def tick(self) -> Iterable[Message]:
        """What is clear now because nothing followed."""
        if self._paste is None and self._held and time.monotonic() - self._held_at > _LOOK:
            yield from self._give_up_held()
        yield from super().tick()

    @property
    def waits(self) -> bool:
        """Whether time will tell what the last character was."""
        return bool(self._held)

    def _give_up_held(self) -> Iterable[Message]:
        held, self._held = self._held, ""
        if held == "\x1b":
            yield events.Key("escape", "\x1b")
        else:
            yield from self._keys(held)

    def _keys(self, data: str) -> Iterable[Message]:
        if data:
            yield from super().feed(data.replace("\x1b\r", _ALT_ENTER).replace("\x1b\n", _ALT_ENTER))


def _beginning_of(mark: str, text: str) -> int:
    """How many characters at the end of the text may be the beginning of the mark."""
    for length in range(min(len(mark) - 1, len(text)), 0, -1):
        if text.endswith(mark[:length]):
            return length
    return 0


class ReadingDriver(LinuxDriver):
    """Textual's driver with our reading of the input."""

    def run_input_thread(self) -> None:
        """Read, parse and pass on, until the driver stops."""
        parser = InputParser(self._debug)
        decode = getincrementaldecoder("utf-8")("replace").decode
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                if selector.select(_LOOK / 10 if parser.waits else _LOOK):
                    data = os.read(self.fileno, _READ)
                    if not data:  # nobody is at the other end any more
                        break
                    if text := decode(data):
                        self._pass_on(parser.feed(text))
                self._pass_on(parser.tick())
        try:
            self._pass_on(parser.feed(""))
        except (EOFError, ParseError):
            return

    def _pass_on(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self.process_message(message)

"""What a terminal sends, read as keys, pastes, reports of the mouse, and answers.

Owns where each of them ends: the grammar of escape sequences says so, whatever comes next and however it is cut. Only
whole sequences are handed to Textual's parser, which knows what they mean; left to itself it reads on until one fits,
and types the letters of what fits none. Refuses to type a terminal's answers, and takes a paste as one text.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable

from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._xterm_parser import XTermParser
from textual.message import Message

from gshtui.text.terminal_sequences import ANSWER, ANSWER_WAITS, ANSWERED, ESCAPE_WAITS, SEQUENCE, UNFINISHED

START = "\x1b[200~"
END = "\x1b[201~"
_LONGEST = 32
"""Characters of a sequence that may mean something."""
_CLIPBOARD = "\x1b]5522;"
_LONGEST_ANSWER = 1_000_000
"""Characters of an answer about the clipboard: terminals send it in pieces of a few thousand."""


class DrawsSixel(Message):
    """The terminal has said that it draws sixel."""


class InputParser(XTermParser):
    """Reads what comes. Feed it any pieces: everything may be cut anywhere."""

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._paste: list[str] | None = None
        """Pieces of the paste that is coming in; `None`: none is."""
        self._in_answer = False
        self._clipboard: list[str] | None = None
        """Pieces of the answer about the clipboard that is coming in, while one is wanted."""
        self.clipboard: Callable[[str], object] | None = None
        """Takes what the terminal says of its clipboard (OSC 5522), an answer a call; `None`: nobody has asked."""
        self._held = ""
        """The end of what came, where it may be the beginning of something."""
        self._held_at = 0.0
        self.sixel = False
        """The terminal has said that it draws sixel."""
        self.extended = False
        """The terminal has said that it sends every key as itself, or has sent one so."""

    def feed(self, data: str) -> Iterable[Message]:
        """Take what came; empty: nothing will come any more."""
        if not data:
            yield from self._give_up()
            yield from super().feed("")
            return
        data, self._held, self._held_at = self._held + data, "", time.monotonic()
        while data:
            if self._paste is not None:
                data = yield from self._read_paste(self._paste, data)
            elif self._in_answer:
                data = self._skip_answer(data)
            else:
                data = yield from self._read_keys(data)

    def tick(self) -> Iterable[Message]:
        """What is clear now because nothing followed. To be called while nothing can be read."""
        longest = ANSWER_WAITS if self._in_answer else ESCAPE_WAITS
        if self.waits and time.monotonic() - self._held_at > longest:
            yield from self._give_up()

    def pause(self) -> Iterable[Message]:
        """What is clear because nothing followed for as long as an escape waits, a while ago."""
        if self.waits and not self._in_answer:
            yield from self._give_up()

    @property
    def waits(self) -> bool:
        """Whether time will tell what the last character was."""
        return self._paste is None and bool(self._held or self._in_answer)

    def _give_up(self) -> Iterable[Message]:
        held, self._held = self._held, ""
        if self._in_answer:
            self._in_answer, self._clipboard = False, None
        elif held == "\x1b":
            yield events.Key("escape", "\x1b")
        elif held:
            yield from self._alt(held[1])
            yield from self._plain(held[2:])

    def _read_paste(self, pieces: list[str], data: str) -> Generator[Message, None, str]:
        text, mark, rest = data.partition(END)
        if not mark:
            kept = _beginning_of(END, text)
            pieces.append(text[: len(text) - kept])
            self._held = text[len(text) - kept :]
            return ""
        self._paste = None
        yield events.Paste("".join((*pieces, text)).replace("\x00", ""))
        return rest

    def _skip_answer(self, data: str) -> str:
        if (end := ANSWERED.search(data)) is None:
            self._held = "\x1b" if data.endswith("\x1b") else ""
            self._keep_answer(data.removesuffix("\x1b"))
            return ""
        self._keep_answer(data[: end.start()])
        self._in_answer = False
        pieces, self._clipboard = self._clipboard, None
        if pieces is not None and self.clipboard is not None:
            self.clipboard("".join(pieces))
        return data[end.end() :]

    def _keep_answer(self, text: str) -> None:
        if self._clipboard is not None:
            self._clipboard.append(text)
            if sum(map(len, self._clipboard)) > _LONGEST_ANSWER:
                self._clipboard = None

    def _read_keys(self, data: str) -> Generator[Message, None, str]:
        """Read up to the end of the next sequence. Returns the rest."""
        text, escape, rest = data.partition("\x1b")
        yield from self._plain(text)
        if not escape:
            return ""
        data = escape + rest
        if data.startswith(START):
            self._paste = []
            return data[len(START) :]
        if UNFINISHED.fullmatch(data):
            self._held = data
            return ""
        if answer := ANSWER.match(data):
            self._in_answer = True
            self._clipboard = [] if self.clipboard is not None and answer.group() == _CLIPBOARD else None
            return data[answer.end() :]
        if sequence := SEQUENCE.match(data):
            yield from self._sequence(sequence.group())
            return data[sequence.end() :]
        if rest[0] == "\x1b":
            yield events.Key("escape", "\x1b")
            return rest
        yield from self._alt(rest[0])
        return rest[1:]

    def _plain(self, text: str) -> Iterable[Message]:
        if text:
            yield from super().feed(text)

    def _sequence(self, sequence: str) -> Iterable[Message]:
        """What a whole sequence means; nothing, if it means nothing here."""
        if sequence.startswith("\x1b[") and sequence.endswith("u"):
            self.extended = True
        elif sequence.startswith("\x1b[?") and sequence.endswith("c"):
            if "4" in sequence[3:-1].split(";")[1:] and not self.sixel:
                self.sixel = True
                yield DrawsSixel()
            return
        if len(sequence) > _LONGEST:
            return
        yield from super().feed(sequence)
        if self._awaiting.timeout is not None:  # it would read on
            self._gen = self.parse(self._tokens.append)  # pyright: ignore[reportUnknownMemberType]
            self._awaiting = next(self._gen)
            self._timeout_time = None

    def _alt(self, character: str) -> Iterable[Message]:
        """A key with alt. It types nothing, so that one that means nothing leaves no letter."""
        if (sequence := f"\x1b{character}") in ANSI_SEQUENCES_KEYS:
            yield from super().feed(sequence)
            return
        for event in self._sequence_to_key_events("\r" if character == "\n" else character):
            key = f"shift+{event.key.lower()}" if len(event.key) == 1 and event.key.isupper() else event.key
            yield events.Key(f"alt+{key}", None)


def _beginning_of(mark: str, text: str) -> int:
    """How many characters at the end of the text may be the beginning of the mark."""
    for length in range(min(len(mark) - 1, len(text)), 0, -1):
        if text.endswith(mark[:length]):
            return length
    return 0

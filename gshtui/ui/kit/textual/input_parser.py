"""What a terminal sends, read as Textual's keys, pastes and reports of the mouse.

Knows what sequences mean, and leaves to Textual's parser what that knows. What either cannot read costs that sequence
alone: the next one is read as ever. Refuses to type a terminal's answers, and takes a paste as one text.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable

from textual import events
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._keyboard_protocol import FUNCTIONAL_KEYS
from textual._xterm_parser import XTermParser
from textual.message import Message

from gshtui.text.terminal_sequences import PASTE_ENDS, TerminalReader, TerminalToken, is_letter

_LONGEST = 32
"""Characters of a sequence that Textual reads as one."""
_CLIPBOARD = "]5522;"
_KITTY = re.compile(r"\x1b\[(\d*)(?::(\d*))?(?::\d*)?(?:;(\d*)(?::(\d*))?)?(?:;([\d:]*))?([u~ABCDEFHPQRS])")
"""A key as kitty's protocol reports it: code, the same with shift, modifiers, event, text, and kind."""
_OTHER_KEYS = re.compile(r"\x1b\[27;(\d+);(\d+)~")
"""A key as xterm's `modifyOtherKeys` reports it."""
_RESIZE = re.compile(r"\x1b\[48;(\d+)(?::\d*)*;(\d+)(?::\d*)*;(\d+)(?::\d*)*;(\d+)(?::\d*)*t")
_LARGEST = 10_000
"""Most columns and rows that a terminal may say it has."""
_MARKS = ("200", "201")
"""Where a paste begins and ends: with fields, they mean nothing."""
_SHIFT, _CAPS_LOCK, _NO_TEXT = 1, 64, 0b111110
_RELEASED = 3


class DrawsSixel(Message):
    """The terminal has said that it draws sixel."""


class LetterKey(events.Key):
    """A letter that Python calls not printable, such as a joiner or a no-break space. Who types it means it."""

    @property
    def is_printable(self) -> bool:
        return True


LetterKey.handler_name = events.Key.handler_name


class InputParser(XTermParser):
    """Reads what comes. Feed it any pieces: everything may be cut anywhere."""

    def __init__(self, debug: bool = False, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(debug)
        self._clock = clock
        self._reader = TerminalReader()
        self._paste: list[str] = []
        self.clipboard: Callable[[str], object] | None = None
        """Takes what the terminal says of its clipboard (OSC 5522), an answer a call; `None`: nobody has asked."""
        self.sixel = False
        """The terminal has said that it draws sixel."""
        self.extended = False
        """The terminal has said that it sends every key as itself, or has sent one so."""

    def feed(self, data: str) -> Iterable[Message]:
        """Take what came; empty: nothing will come any more."""
        if data:
            yield from self._read(self._reader.feed(data, self._clock()))
        else:
            yield from self._read([*self._reader.pause(), *self._reader.give_up()])
            yield from super().feed("")

    def tick(self) -> Iterable[Message]:
        """What is clear now because nothing followed. To be called while nothing can be read."""
        return self._read(self._reader.tick(self._clock()))

    def pause(self) -> Iterable[Message]:
        """What is clear because nothing followed for as long as an escape waits, a while ago."""
        return self._read(self._reader.pause())

    @property
    def waits(self) -> bool:
        """Whether time will tell what something was."""
        return self._reader.waits

    def _read(self, tokens: list[TerminalToken]) -> Iterable[Message]:
        for token in tokens:
            match token.kind:
                case "text":
                    yield from self._letters(token.text)
                case "sequence":
                    yield from self._sequence(token.text)
                case "alt":
                    yield from self._alt(token.text)
                case "escape":
                    yield events.Key("escape", "\x1b")
                case "paste":
                    self._paste.append(token.text)
                case "pasted":
                    text, self._paste = "".join(self._paste), []
                    yield events.Paste(text.replace("\x00", ""))
                case _:
                    if self.clipboard is not None and token.text.startswith(_CLIPBOARD):
                        self.clipboard(token.text.removeprefix(_CLIPBOARD))

    def _letters(self, text: str) -> Iterable[Message]:
        for letter in text:
            for message in self._known(letter):
                unseen = isinstance(message, events.Key) and not message.is_printable and is_letter(letter)
                yield LetterKey(message.key, letter) if unseen and isinstance(message, events.Key) else message

    def _known(self, text: str) -> list[Message]:
        """What Textual's parser makes of letters or a whole sequence."""
        try:
            messages = list(super().feed(text))
        except Exception:
            messages = []
            self._begin_anew()
        if self._awaiting.timeout is not None:  # it would read on
            self._begin_anew()
        return messages

    def _begin_anew(self) -> None:
        self._tokens.clear()
        self._gen = self.parse(self._tokens.append)  # pyright: ignore[reportUnknownMemberType]
        self._awaiting = next(self._gen)
        self._timeout_time = None

    def _sequence(self, sequence: str) -> Iterable[Message]:
        """What a whole sequence means; nothing, if it means nothing here."""
        if sequence.startswith("\x1b[?") and sequence.endswith(("c", "u")):
            self.extended |= sequence.endswith("u")
            if sequence.endswith("c") and "4" in sequence[3:-1].split(";")[1:] and not self.sixel:
                self.sixel = True
                yield DrawsSixel()
            return
        if sequence == PASTE_ENDS:
            return
        if other := _OTHER_KEYS.fullmatch(sequence):
            sequence = f"\x1b[{other[2]};{other[1]}u"
        if key := _KITTY.fullmatch(sequence):
            if (plain := self._plain_key(key)) is None:
                return
            sequence = plain
        elif size := _RESIZE.fullmatch(sequence):
            rows, columns, height, width = (int(number) for number in size.groups())
            if not (0 < rows <= _LARGEST and 0 < columns <= _LARGEST):
                return
            sequence = f"\x1b[48;{rows};{columns};{height or rows};{width or columns}t"
        elif ":" in sequence:
            return
        if len(sequence) <= _LONGEST:
            yield from self._known(sequence)

    def _plain_key(self, key: re.Match[str]) -> str | None:
        """The sequence without the fields that Textual does not know; `None`: it presses no key."""
        code, shifted, modifiers, event, text, kind = (part or "" for part in key.groups())
        if event and int(event) == _RELEASED:
            return None
        if kind != "u":
            if code in _MARKS:
                return None
            return f"\x1b[{code}{f';{modifiers}' if modifiers else ''}{kind}" if not text else None
        self.extended = True
        codes = [int(part) for part in text.split(":") if part] or ([int(code)] if code else [])
        if not codes or not all(_is_character(one) for one in (*codes, int(code or 0) or codes[0])):
            return None
        held = max(0, int(modifiers or "1") - 1)
        if not text and not held & _NO_TEXT and f"{code}u" not in FUNCTIONAL_KEYS and is_letter(chr(codes[0])):
            text = _on_key(chr(codes[0]), int(shifted or 0), held)
        return f"\x1b[{code or codes[0]}{f';{modifiers}' if held else ';' * bool(text)}{f';{text}' if text else ''}u"

    def _alt(self, character: str) -> Iterable[Message]:
        """A key with alt. It types nothing, so that one that means nothing leaves no letter."""
        if (sequence := f"\x1b{character}") in ANSI_SEQUENCES_KEYS:
            yield from self._known(sequence)
            return
        for event in self._sequence_to_key_events("\r" if character == "\n" else character):
            key = f"shift+{event.key.lower()}" if len(event.key) == 1 and event.key.isupper() else event.key
            yield events.Key(f"alt+{key}", None)


def _on_key(letter: str, shifted: int, held: int) -> str:
    """The code of what a key types, where the terminal does not say it; empty: only the keyboard knows."""
    shift = bool(held & _SHIFT)
    if shift and _is_character(shifted):
        return str(shifted)
    if not letter.isalpha():
        return "" if shift else str(ord(letter))
    upper = letter.upper()
    return str(ord(upper if shift != bool(held & _CAPS_LOCK) and len(upper) == 1 else letter))


def _is_character(code: int) -> bool:
    return 0 < code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF

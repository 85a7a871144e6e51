"""What a terminal sends, taken apart: text, keys' sequences, pastes, and what the terminal says of itself.

Owns where each of them ends, by the grammar of ECMA-48 and the keys that do not keep to it, however it is cut and
however late the rest comes. Knows no meaning of a sequence. Refuses to give the letters of a sequence as text: a
sequence that was begun is finished or dropped. Pure: the time is given.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections.abc import Callable
from typing import Literal

import msgspec

ESCAPE_WAITS = 0.05
"""Seconds after which an escape alone is the escape key. What follows it later may still be the rest of a sequence."""
BEGUN_WAITS = 1.2
"""Seconds after which a sequence that was begun is given up: more than a lost packet takes."""
PASTE_WAITS = 10.0
"""Seconds without a piece after which a paste without an end is over."""
PASTE_BEGINS, PASTE_ENDS = "\x1b[200~", "\x1b[201~"
_PASTE_ENDS = re.compile(r"(?:\x1b\[|\x9b)201~")
_PASTE_MAY_END = re.compile(r"(?:\x1b(?:\[(?:2(?:0(?:1)?)?)?)?|\x9b(?:2(?:0(?:1)?)?)?|\r)\Z")
"""The end of a piece that may be the beginning of the mark, or half a line's end."""
MOST_SAID = 1_000_000
"""Characters that are kept of what a terminal says of itself."""
_STRING_LASTS = 10.0
"""Seconds after which single letters are no longer the rest of what a terminal says."""
_LONGEST = 256
"""Characters that are kept of a sequence."""

_OPENS = re.compile(r"[\x1b\x80-\x9f]")
_EIGHT_BIT = "\x8f\x90\x98\x9b\x9d\x9e\x9f"
_CSI = re.compile(
    r"\x1b\[(?:"
    r"\[[A-E]"  # F1 to F5 on the console of Linux
    r"|\[(?=[^A-E])"
    r"|(?:[3478]|2[34])\$"  # shift, from rxvt
    r"|[ -?]+[@-~]"
    r"|[@-LN-Z\\-~]"
    r")"
)
_CSI_BEGUN = re.compile(r"\x1b\[(?:\[|[ -?]*)")
_OLD_MOUSE = "\x1b[M"
"""Before three bytes, as the oldest terminals report the mouse."""
_SS3 = re.compile(r"\x1bO[\d;]{0,16}[ @-~]")
_SS3_BEGUN = re.compile(r"\x1bO[\d;]{0,16}")
_INTRODUCERS = frozenset("[O]P_X^")
_STRING_ENDS = re.compile(r"[\x07\x18\x1a\x1b\x9c]")
_TAIL = re.compile(
    r"\[[<=>?][0-?]*[ -/]*[@-~]"
    r"|\[\d[\d;:]*[~^@]"
    r"|\[\d+[;:][\d;:]*[ -/]*[A-Za-z_]"
    r"|[\]PX^_][^\x07\x18\x1a\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"
    r"|\]\d{1,5};|P[\d;]{0,16}[!$+<=>?|]|_G"
)
"""The rest of a sequence whose escape was taken for the key: nobody types this."""
_SHORT_TAIL = re.compile(
    r"(?:\[[ -?]*[@-~]|\[(?:[3478]|2[34])\$|O[\d;]{0,16}[ @-~])(?=\x1b|\Z)"
    r"|\[[A-IOPQRSZ](?![a-z])|\[\d+[A-HMPQRSacntuy](?![A-Za-z])|\[\[[A-E]|\[M(?:(?![A-Za-z]{3})|[^\x1b]{2,3}(?=\x1b|\Z))"
    r"|O[A-DFHMPQRS](?![A-Za-z])|O[\d;]+[A-Z]"
)
"""The same where it came in one piece: typed by hand, each letter comes alone."""
_BEGUN_TAIL = re.compile(r"\[(?:[<=>?]?[\d;:]*|[<=>?]?[\d;:]+[ -/]+|\[)|\]\d{0,5}|P[\d;]{0,16}|_")
"""How the rest of a sequence may begin."""


class TerminalToken(msgspec.Struct, frozen=True):
    """One thing that was sent."""

    kind: Literal["text", "sequence", "alt", "escape", "paste", "pasted", "answer"]
    """`text`: letters and control characters. `sequence`: a whole one, in its seven-bit form. `alt`: a key with alt.
    `escape`: the key alone. `paste`: a piece of a paste; `pasted`: it ends here, or goes no further for now. `answer`:
    what the terminal says of itself, behind the letter that introduces it.
    """
    text: str = ""


_ESCAPE = TerminalToken("escape", "\x1b")
_PASTED = TerminalToken("pasted")


def terminal_decoder() -> Callable[[bytes], str]:
    """Makes text of bytes that may be cut anywhere. Of bytes that are no UTF-8, an eight-bit control stays itself."""
    decode = getincrementaldecoder("utf-8")("surrogateescape").decode

    def decoded(data: bytes) -> str:
        text = decode(data)
        return text if text.isascii() else _NO_UTF8.sub(_without_surrogates, text)

    return decoded


_NO_UTF8 = re.compile("([\udc80-\udc9f]+(?![\udca0-\udcff]))|[\udc80-\udcff]+")


def _without_surrogates(found: re.Match[str]) -> str:
    """Controls, unless they stand among the bytes of a broken letter."""
    if controls := found[1]:
        return "".join(chr(ord(control) - 0xDC00) for control in controls)
    return "\ufffd" * len(found.group())


def is_letter(character: str | None) -> bool:
    """Whether a person who types this means it as text: everything but a control character, seen or unseen."""
    return (
        character is not None
        and len(character) == 1
        and not (character < " " or "\x7f" <= character <= "\x9f" or "\ud800" <= character <= "\udfff")
    )


class TerminalReader:
    """Feed it pieces, and call `tick` while there is nothing to read."""

    def __init__(self) -> None:
        self._held = ""
        """The beginning of something, at the end of what came."""
        self._at = 0.0
        """When the last piece came."""
        self._tail: str | None = None
        """Letters behind an escape that was taken for the key, while they may be the rest of a sequence."""
        self._lost = ""
        """What was given up last, if nothing has come since."""
        self._string: list[str] | None = None
        """Its introducer, and pieces of what the terminal says of itself."""
        self._string_at = 0.0
        self._said = 0
        self._skips = False
        """A sequence that is too long to mean anything is coming in."""
        self._pastes = False
        self._unended = False
        """The paste has gone no further for a while."""
        self._news = False
        """Something has come of the paste that was not called `pasted`."""

    @property
    def waits(self) -> bool:
        """Whether time will tell what something was."""
        return bool(self._held or self._skips or self._pastes) or self._tail is not None or self._string is not None

    def feed(self, data: str, now: float) -> list[TerminalToken]:
        tokens: list[TerminalToken] = []
        if data:
            single = len(data) == 1
            rest = self._rejoin(data, tokens)
            if not (single and self._unended):
                self._at = now
            if not single or self._string is None:
                self._string_at = now
            while rest:
                if self._pastes:
                    rest = self._read_paste(rest, tokens)
                elif self._string is not None:
                    rest = self._read_string(self._string, rest, tokens)
                elif self._skips:
                    rest = self._skip(rest)
                else:
                    rest = self._read_keys(rest, tokens)
        return tokens

    def tick(self, now: float) -> list[TerminalToken]:
        """Take it that nothing has come since the last piece."""
        if not self.waits:
            return []
        gap = now - self._at
        tokens = self.pause() if gap > ESCAPE_WAITS else []
        if self._pastes:
            if gap > PASTE_WAITS:
                self._end_paste(tokens)
            elif gap > BEGUN_WAITS and not self._unended:
                self._unended = True
                self._note_pasted(tokens)
        elif gap > BEGUN_WAITS or (self._string is not None and now - self._string_at > _STRING_LASTS):
            tokens += self.give_up()
        return tokens

    def pause(self) -> list[TerminalToken]:
        """Take it that nothing has come for as long as an escape waits."""
        tokens: list[TerminalToken] = []
        if self._held == "\x1b" and self._string is None and not self._pastes:
            self._held, self._tail = "", ""
            tokens.append(_ESCAPE)
        return tokens

    def give_up(self) -> list[TerminalToken]:
        """Take it that nothing more will come of what was begun."""
        tokens: list[TerminalToken] = []
        if self._pastes:
            self._end_paste(tokens)
            return tokens
        held, self._held = self._held, ""
        string, self._string, self._skips = self._string, None, False
        if tail := self._tail:
            tokens.append(TerminalToken("text", tail))
        elif held == "\x1b":
            tokens.append(_ESCAPE)
        elif len(held) == 2 and string is None:
            tokens.append(TerminalToken("alt", held[1]))
        self._lost = held or ("\x1b" if self._tail == "" else "")
        self._tail = None
        return tokens

    def _rejoin(self, piece: str, tokens: list[TerminalToken]) -> str:
        lost, self._lost = self._lost, ""
        if lost and (lost + piece).startswith((PASTE_BEGINS, PASTE_ENDS)):
            return lost + piece
        held, self._held = self._held, ""
        if self._tail is not None:
            text, alone = self._tail + piece, not self._tail or len(piece) > 1
            self._tail = None
            if _TAIL.match(text) or (alone and _SHORT_TAIL.match(text)):
                return f"\x1b{text}"
            if _BEGUN_TAIL.fullmatch(text):
                if len(piece) > 1:
                    return f"\x1b{text}"
                self._tail = text
                return ""
            return text
        if self._unended and self._is_key(piece) and not (held and PASTE_ENDS.startswith(held + piece)):
            self._held = held
            self._end_paste(tokens)
            return piece
        return held + piece

    def _is_key(self, piece: str) -> bool:
        """Whether this came from a finger, and not from a paste that has no end."""
        if piece.startswith(PASTE_BEGINS):
            return True
        whole = _CSI.fullmatch(piece) or _SS3.fullmatch(piece)
        return (bool(whole) and piece != PASTE_ENDS) or (len(piece) == 1 and piece not in "\r\n\t")

    def _read_paste(self, data: str, tokens: list[TerminalToken]) -> str:
        end = _PASTE_ENDS.search(data)
        text = data[: end.start()] if end else _PASTE_MAY_END.sub("", data)
        if end is None:
            self._held = data[len(text) :]
            self._unended = self._unended and not text
        if text:
            self._news = True
            tokens.append(TerminalToken("paste", text))
        if end is None:
            return ""
        self._end_paste(tokens)
        return data[end.end() :]

    def _end_paste(self, tokens: list[TerminalToken]) -> None:
        if self._held == "\r":
            tokens.append(TerminalToken("paste", "\r"))
            self._news = True
        self._lost, self._held, self._pastes, self._unended = self._held, "", False, False
        self._note_pasted(tokens)

    def _note_pasted(self, tokens: list[TerminalToken]) -> None:
        if self._news:
            tokens.append(_PASTED)
        self._news = False

    def _read_string(self, string: list[str], data: str, tokens: list[TerminalToken]) -> str:
        end = _STRING_ENDS.search(data)
        text = data[: end.start()] if end else data
        self._said += len(text)
        if self._said <= MOST_SAID:
            string.append(text)
        if end is None:
            return ""
        rest = data[end.end() :]
        if end.group() == "\x1b":
            if not rest:
                self._held = "\x1b"
                return ""
            if rest[0] != "\\":  # another sequence: this one was broken off
                self._string = None
                if not self._said:
                    tokens.append(TerminalToken("alt", string[0]))
                return f"\x1b{rest}"
            rest = rest[1:]
        self._string = None
        if end.group() not in "\x18\x1a" and self._said <= MOST_SAID:
            tokens.append(TerminalToken("answer", "".join(string)))
        return rest

    def _skip(self, data: str) -> str:
        at = next((at for at, character in enumerate(data) if not " " <= character <= "?"), len(data))
        if at == len(data):
            return ""
        self._skips = False
        return data[at + ("@" <= data[at] <= "~") :]

    def _read_keys(self, data: str, tokens: list[TerminalToken]) -> str:
        """Read up to the end of the next sequence. Returns the rest."""
        if (found := _OPENS.search(data)) is None:
            tokens.append(TerminalToken("text", data))
            return ""
        if text := data[: found.start()]:
            tokens.append(TerminalToken("text", text))
        data = data[found.start() :]
        if data[0] != "\x1b":
            return f"\x1b{chr(ord(data[0]) - 0x40)}{data[1:]}" if data[0] in _EIGHT_BIT else data[1:]
        kind = data[1:2]
        if not kind or (len(data) == 2 and kind in _INTRODUCERS):
            self._held = data
            return ""
        if kind == "\x1b":
            tokens.append(_ESCAPE)
            return data[1:]
        if kind == "[":
            if data.startswith(_OLD_MOUSE):
                return self._read_old_mouse(data, tokens)
            return self._read_sequence(data, _CSI, _CSI_BEGUN, tokens)
        if kind == "O":
            return self._read_sequence(data, _SS3, _SS3_BEGUN, tokens)
        if kind in _INTRODUCERS:
            self._string, self._said = [kind], 0
        else:
            tokens.append(TerminalToken("alt", kind))
        return data[2:]

    def _read_sequence(
        self, data: str, whole: re.Pattern[str], begun: re.Pattern[str], tokens: list[TerminalToken]
    ) -> str:
        if sequence := whole.match(data):
            if sequence.group() == PASTE_BEGINS:
                self._pastes, self._news, self._unended = True, True, False
            else:
                tokens.append(TerminalToken("sequence", sequence.group()))
            return data[sequence.end() :]
        at = len(found.group()) if (found := begun.match(data)) else len(data)
        if data[at : at + 1] == "\0":  # filling
            return data[:at] + data[at + 1 :]
        if at < len(data):  # broken off by what cannot be in it
            if at == 2:
                tokens.append(TerminalToken("alt", data[1]))
            return data[at:]
        if at > _LONGEST:
            self._skips = True
        else:
            self._held = data
        return ""

    def _read_old_mouse(self, data: str, tokens: list[TerminalToken]) -> str:
        size, at = 0, len(_OLD_MOUSE)
        while at < len(data) and size < 3:
            character = data[at]
            if "\0" < character < " ":
                return data[at:]
            # Bytes that happen to be UTF-8 together are one character here.
            size += 1 if character < "\xa0" or character == "\ufffd" else len(character.encode())
            at += 1
        if size < 3:
            self._held = data
            return ""
        tokens.append(TerminalToken("sequence", data[:at]))
        return data[at:]

"""The one sanitiser: every untrusted text (tools, names, titles, models, history, errors) passes through it on its way
in.

What it gives is a type of its own, `CleanText`, which nothing else makes. What writes to a terminal takes that type,
and so cannot be handed anything else.

Pure. Decides which characters and sequences are not plain text, what replaces them, and what an overwritten line
(carriage return, backspace) finally shows.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from typing import LiteralString, NewType, TypeVar

CleanText = NewType("CleanText", str)
"""Text of which a terminal obeys nothing but what is ours. Made here alone: by the sanitiser, and by `clean_text`."""

STRING_LIMIT = 65_536
"""Longest escape string (title, clipboard, picture), in characters, that is dropped; a longer one is shown as text."""
MARKS_KEPT = 8
"""Consecutive combining marks to keep; real scripts need four."""

# An escape string ends at any control character, so an unterminated string hides nothing: its introducer is shown and
# the rest is ordinary text.
_STRING = (
    rf"(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])(?P<body>[^\x00-\x08\x0a-\x1f\x80-\x9f]{{0,{STRING_LIMIT}}})"
    r"(?:\x07|\x1b\\|\x9c)"
)
_CSI = r"(?:\x1b\[|\x9b)(?P<csi>[0-?]{0,256})[ -/]{0,16}(?P<final>[@-~])?"
_ESCAPE = r"\x1b[ -/]{0,16}[0-OQ-WYZ\\`-~]"
_CHARSET = r"[\x0e\x0f]"
# In a run of escapes only the last may begin a sequence; the others are one match, for speed.
_ESCAPES = r"\x1b+(?=\x1b)"
_CONTROL = r"(?P<control>[\x00-\x08\x0b-\x1f\x7f]+)"
# Controls of writing direction, zero width, soft hyphen, fillers, line separators, tags, the other C1 controls.
_UNSEEN_CLASS = (
    r"\x80-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    r"\u3164\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff"
)
_UNSEEN = rf"(?P<unseen>[\u200c\u200d{_UNSEEN_CLASS}]+|[\ufe00-\ufe0f]{{2,}})"
# A joiner between letters of a script that needs it, or between pictures, is spelling; elsewhere it hides something.
_SPELLING = r"\u0600-\u0dff\u1000-\u109f"
_PICTURE_BEFORE = r"\u2600-\u27bf\ufe0f\U0001f000-\U0001faff"
_PICTURE = r"\u2600-\u27bf\u2190-\u21ff\U0001f000-\U0001faff"
_JOINED = rf"(?:(?<=[{_SPELLING}])[\u200c\u200d](?=[{_SPELLING}])|(?<=[{_PICTURE_BEFORE}])\u200d(?=[{_PICTURE}]))"
_SURROGATE = r"(?P<surrogate>[\ud800-\udfff]+)"
_MARK_CLASS = (
    r"\u0300-\u034e\u0350-\u036f\u0483-\u0489\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4"
    r"\u0730-\u074a\u07eb-\u07f3\u081b-\u0823\u0898-\u089f\u08ca-\u0902\u0941-\u0948\u0951-\u0957\u0e31\u0e34-\u0e3a"
    r"\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0f71-\u0f7e\u0f8d-\u0fbc\u17b7-\u17bd\u17c9-\u17d3\u1a58-\u1a7c\u1ab0-\u1ace"
    r"\u1cd4-\u1ce8\u1dc0-\u1dff\u20d0-\u20f0\u2de0-\u2dff\ua674-\ua67d\ua8e0-\ua8f1\ufe20-\ufe2f"
    r"\U0001d165-\U0001d182\U0001e000-\U0001e02a"
)
_MARKS = rf"(?P<marks>[{_MARK_CLASS}]{{{MARKS_KEPT + 1},}})"

_OBEYED = re.compile(r"(?:[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n))+")
"""What a terminal obeys, alone or with what comes behind it."""
_PICTURES = {code: 0x2400 + code for code in range(32)} | {0x7F: 0x2421}

RISKY = re.compile(rf"[\x00-\x08\x0b-\x1f\x7f\u200c\u200d\ufe00-\ufe0f\ud800-\udfff{_UNSEEN_CLASS}{_MARK_CLASS}]")
"""Matches any character that may need a second look. Text without one is plain already."""

SEQUENCE = re.compile("|".join((_STRING, _CSI, _ESCAPE, _CHARSET, _ESCAPES)))
"""One escape sequence; a colour has `final` = m and its numbers in `csi`, an escape string its `body`."""
# Everything except links and string terminators, which may end a link.
_DROPPED = re.compile(
    "|".join((_STRING.replace("(?P<body>", "(?!8;)(?P<body>"), _CSI, _ESCAPE.replace(r"\\`", "`"), _CHARSET))
)
_UNSEEABLE = re.compile("|".join((_CONTROL, _JOINED, _UNSEEN, _SURROGATE, _MARKS)))
UNFINISHED = re.compile(
    r"(?:\x1b[ -/]{0,16}|(?:\x1b\[|\x9b)[0-?]{0,256}[ -/]{0,16}"
    rf"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x00-\x08\x0a-\x1f\x80-\x9f]{{0,{STRING_LIMIT}}}+\x1b?)\Z"
)
"""The beginning of a sequence at the end of a text."""


def without_sequences(text: str) -> str:
    """The text without escape sequences, keeping the target of links. Other characters stay."""
    # Most of them are colours; a replacement that is not a function is ten times as fast.
    dropped = _DROPPED.sub("", text)
    left = any(part in dropped for part in ("]8;", "\x9d8;", "\x1b\\"))
    return SEQUENCE.sub(what_stays, dropped) if left else dropped


def what_stays(match: re.Match[str]) -> str:
    """What replaces one escape sequence."""
    kind = match.lastgroup
    if kind in ("final", "csi"):
        return ""
    if kind == "body":
        target = link_target(match.group("body"))
        return f"⟨{target}⟩" if target else ""
    whole = match.group()
    return whole if whole.startswith("\x1b") and not whole.strip("\x1b") else ""


def all_visible(text: str) -> CleanText:
    """Show every invisible character except newline and tab; drop and interpret nothing."""
    return CleanText(_UNSEEABLE.sub(_shown, text) if RISKY.search(text) else text)


def visible_parts(text: str) -> Iterator[tuple[int, int, str]]:
    """The parts that `all_visible` would replace: start, end and replacement."""
    for match in _UNSEEABLE.finditer(text):
        yield match.start(), match.end(), _shown(match)


def named(characters: str) -> str:
    """Name a run of invisible characters: `⟨U+202E⟩`."""
    if len(characters) > 1 and characters == characters[0] * len(characters):
        return f"⟨U+{ord(characters[0]):04X} ×{len(characters)}⟩"
    if len(characters) > 64:
        return f"⟨{len(characters)} unseen characters⟩"
    return "".join([f"⟨U+{ord(character):04X}⟩" for character in characters])


def symbols(controls: str) -> str:
    """A run of control characters as symbols: `␛`; many of one kind as one symbol and their number."""
    if len(controls) > 4 and controls == controls[0] * len(controls):
        return f"{controls[0].translate(_PICTURES)}⟨×{len(controls)}⟩"
    return controls.translate(_PICTURES)


def link_target(body: str) -> str:
    """The target of a link in an escape string (`8;…;address`), for web and mail addresses; otherwise empty."""
    if not body.startswith("8;"):
        return ""
    address = body[2:].partition(";")[2]
    return address if address.startswith(("http://", "https://", "mailto:", "ftp://")) else ""


def _shown(match: re.Match[str]) -> str:
    kind, whole = match.lastgroup, match.group()
    if kind == "control":
        return symbols(whole)
    if kind == "unseen":
        return named(whole)
    if kind == "surrogate":
        return "\ufffd" * len(whole)
    if kind == "marks":
        return f"{whole[:MARKS_KEPT]}⟨{len(whole) - MARKS_KEPT} more marks⟩"
    return whole


T = TypeVar("T")


def settled(text: str) -> str:
    """The text with `\\r\\n` as newline, only the last rewrite of each line, and backspaces applied."""
    if "\r" in text:
        text = text.replace("\r\n", "\n")
        if "\r" in text:
            text = "\n".join(last_rewrite(line) if "\r" in line else line for line in text.split("\n"))
    if "\b" in text:
        text = "\n".join("".join(struck(line)) if "\b" in line else line for line in text.split("\n"))
    return text


def last_rewrite(line: str) -> str:
    """The last non-empty part of the line between carriage returns."""
    for part in reversed(line.split("\r")):
        if part:
            return part
    return ""


def struck(cells: Sequence[T], backspace: object = "\b") -> list[T]:
    """The cells of a line after every backspace has moved one cell left and the text after it has overwritten."""
    out: list[T] = []
    at = 0
    for cell in cells:
        if cell == backspace:
            at = max(0, at - 1)
        elif at == len(out):
            out.append(cell)
            at += 1
        else:
            out[at] = cell
            at += 1
    return out


_HELD_LIMIT = 131_072
"""Characters of an unfinished line that `Sanitiser` holds back before passing them on."""
_PADDING = re.compile(r"(?P<cell>[ \t])(?P=cell){8,}|\n{4,}")
_ODD_SPACE = re.compile(r"[\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_FOREIGN_LETTER = re.compile(r"[\u0370-\u03ff\u0400-\u052f\u13a0-\u13ff\uff21-\uff3a\uff41-\uff5a]")
_MIXED_WORD = re.compile(r"[^\W\d_]+")
_BLANKS = re.compile(r"\s+")


def clean_text(*parts: LiteralString | CleanText | int) -> CleanText:
    """What is sanitised, and literals of our own source, as one text."""
    return CleanText("".join(map(str, parts)))


def coloured(text: str, *codes: LiteralString) -> CleanText:
    """The text, sanitised, in colours of our own: the numbers of their codes."""
    shown = plain(text)
    return clean_text("\x1b[", ";".join(codes), "m", shown, "\x1b[0m") if codes and shown else shown


def clean_lines(text: CleanText) -> list[CleanText]:
    return [CleanText(line) for line in text.split("\n")]


def plain(text: str) -> CleanText:
    """The text as a terminal would show it, as plain text.

    Drops escape sequences, resolves overwritten parts of a line (a progress line keeps its last state), and shows
    every other control, writing-direction or zero-width character (`␇`, `⟨U+202E⟩`). Newlines and tabs stay.
    """
    if not RISKY.search(text):
        return CleanText(text)
    # Keep this order: characters separated by a sequence or a rewrite must not join unseen.
    return all_visible(settled(without_sequences(text)))


def inert(text: str) -> str:
    """The text for a pipe, behind which there may be a terminal: nothing in it that one obeys, the rest as it is.

    Drops escape sequences and shows every other control character, but newlines and tabs. Characters that are only
    not seen stay, as whoever reads the pipe may need them.
    """
    if not _OBEYED.search(text):
        return text
    return _OBEYED.sub(lambda match: "".join(map(_obeyed_shown, match.group())), without_sequences(text))


def _obeyed_shown(character: str) -> str:
    return symbols(character) if character < "\x80" else named(character)


def literal(text: str) -> CleanText:
    """Show every control character as a symbol; drop and interpret nothing.

    For file contents, where the reader must see an escape. `\\r\\n` becomes a newline.
    """
    if not RISKY.search(text):
        return CleanText(text)
    return all_visible(text.replace("\r\n", "\n"))


def visible(text: str, *, counted: bool = True) -> CleanText:
    """The text for a person who has to judge it: nothing can hide.

    Like `literal`; also replaces long runs of blanks by their count (`⟨4000 spaces⟩`), names unusual spaces and
    letters of another script inside a Latin word, and announces multiple lines unless not `counted`.
    """
    shown: str = all_visible(text)
    shown = _ODD_SPACE.sub(lambda match: named(match.group()), shown)
    shown = _MIXED_WORD.sub(_name_look_alikes, shown)
    shown = _PADDING.sub(_count_padding, shown)
    lines = text.count("\n") + 1
    return CleanText(f"⟨{lines} lines⟩\n{shown}" if lines > 1 and counted else shown)


def one_line(text: str, limit: int = 200) -> CleanText:
    """The text as one line of at most `limit` characters, for titles, subjects and names; cut with `…`."""
    head = text if len(text) <= limit * 16 + 4096 else text[: limit * 16 + 4096]
    line = _BLANKS.sub(" ", plain(head)).strip()
    if len(line) > limit or len(head) < len(text):
        return CleanText(line[: max(0, limit - 1)].rstrip() + "…")
    return CleanText(line)


class Sanitiser:
    """`plain` for streams: feed it pieces, get settled text.

    A line is returned once it is complete, because later output may rewrite it; `flush` returns an incomplete one.
    Bytes are decoded as UTF-8; a piece may end inside a character or an escape sequence.
    """

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._held: list[str] = []
        self._size = 0
        self._shown = False
        """`flush` has already returned the beginning of the held line."""

    def feed(self, data: bytes | str) -> CleanText:
        """Feed more data; return the lines that are now complete, with their newlines."""
        text = self._decode(data) if isinstance(data, bytes) else data
        end = text.rfind("\n") + 1
        if not end:
            self._hold(text)
            return self.flush() if self._size > _HELD_LIMIT else CleanText("")
        whole = "".join((*self._held, text[:end]))
        self._release(text[end:])
        self._shown, shown = False, self._shown
        return self._cleaned(whole, shown)

    def flush(self) -> CleanText:
        """Return the unfinished line so far, except an unfinished escape sequence."""
        held = "".join(self._held)
        # Hold back a final carriage return too: it may be half of a newline.
        cut = len(held) - 1 if held.endswith("\r") else len(held)
        if (unfinished := UNFINISHED.search(held, max(0, cut - _HELD_LIMIT), cut)) is not None:
            cut = unfinished.start()
        self._release(held[cut:])
        if not cut:
            return CleanText("")
        shown, self._shown = self._shown, True
        return self._cleaned(held[:cut], shown)

    def finish(self) -> CleanText:
        """The rest, at the end of the output."""
        self._hold(self._decode(b"", True))
        held = "".join(self._held)
        self._release("")
        shown, self._shown = self._shown, False
        return self._cleaned(held, shown)

    def _cleaned(self, text: str, continues: bool) -> CleanText:
        if continues and text.startswith("\r") and not text.startswith("\r\n"):
            # The reader already has the line: put the rewrite on a line of its own.
            return clean_text("\n", plain(text))
        return plain(text)

    def _hold(self, text: str) -> None:
        if text:
            self._held.append(text)
            self._size += len(text)

    def _release(self, rest: str) -> None:
        self._held = [rest] if rest else []
        self._size = len(rest)


def _count_padding(match: re.Match[str]) -> str:
    run = match.group()
    if run[0] == "\n":
        return f"\n⟨{len(run) - 1} blank lines⟩\n"
    return f"⟨{len(run)} {'spaces' if run[0] == ' ' else 'tabs'}⟩"


def _name_look_alikes(match: re.Match[str]) -> str:
    word = match.group()
    if word.isascii() or not any("a" <= letter <= "z" or "A" <= letter <= "Z" for letter in word):
        return word
    return _FOREIGN_LETTER.sub(lambda letter: f"⟨U+{ord(letter.group()):04X} {letter.group()}⟩", word)

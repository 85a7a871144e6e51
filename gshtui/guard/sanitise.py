"""The one sanitiser: every untrusted text (tools, names, titles, models, history, errors) passes here on its way in.

Pure and linear in time. Its results hold no control character but newline and tab, so that a terminal can be given
them as they are; they may still look like markup, and are never to be parsed as such. Every room calls it.
"""

from __future__ import annotations

import codecs
import re

from gshtui.guard.escapes import RISKY, UNFINISHED, all_visible, named, without_sequences
from gshtui.guard.overstrike import settled

_HELD_LIMIT = 131_072
"""Characters of an unfinished line that `Sanitiser` waits for before it gives out what it has."""
_PADDING = re.compile(r"(?P<cell>[ \t])(?P=cell){8,}|\n{4,}")
_ODD_SPACE = re.compile(r"[\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_FOREIGN_LETTER = re.compile(r"[\u0370-\u03ff\u0400-\u052f\u13a0-\u13ff\uff21-\uff3a\uff41-\uff5a]")
_MIXED_WORD = re.compile(r"[^\W\d_]+")
_BLANKS = re.compile(r"\s+")


def plain(text: str) -> str:
    """The text as a terminal would leave it, as words alone.

    Escape sequences are dropped, overwritten parts of a line resolved (a progress line keeps its last state), and every
    other control, writing-direction or zero-width character is shown (`␇`, `⟨U+202E⟩`). Newlines and tabs stay.
    """
    if not RISKY.search(text):
        return text
    # In this order: what a sequence or a rewrite kept apart must not come together unseen.
    return all_visible(settled(without_sequences(text)))


def literal(text: str) -> str:
    """The text with nothing dropped or interpreted: every control character is shown as a symbol.

    For what is in a file: the reader must see that the escape is there. `\\r\\n` is a newline.
    """
    if not RISKY.search(text):
        return text
    return all_visible(text.replace("\r\n", "\n"))


def visible(text: str) -> str:
    """The text for a person who has to judge it: nothing can hide.

    As `literal`, and long runs of blanks become their count (`⟨4000 spaces⟩`), spaces that are not the space bar's
    and letters of another script inside a Latin word are named, and more than one line is announced.
    """
    shown = all_visible(text)
    shown = _ODD_SPACE.sub(lambda match: named(match.group()), shown)
    shown = _MIXED_WORD.sub(_name_look_alikes, shown)
    shown = _PADDING.sub(_count_padding, shown)
    lines = text.count("\n") + 1
    return f"⟨{lines} lines⟩\n{shown}" if lines > 1 else shown


def one_line(text: str, limit: int = 200) -> str:
    """The text as one line of at most `limit` characters, for titles, subjects and names; cut with `…`."""
    head = text if len(text) <= limit * 16 + 4096 else text[: limit * 16 + 4096]
    line = _BLANKS.sub(" ", plain(head)).strip()
    if len(line) > limit or len(head) < len(text):
        return line[: max(0, limit - 1)].rstrip() + "…"
    return line


class Sanitiser:
    """`plain` for output as it comes: give it pieces, get settled text.

    A line is given out once it is whole, since what follows may still rewrite it; `flush` gives out what there is of
    it. Bytes are taken as UTF-8, a piece may end inside a character or an escape sequence.
    """

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._held: list[str] = []
        self._size = 0
        self._shown = False
        """Part of the held line's beginning was given out by `flush`."""

    def feed(self, data: bytes | str) -> str:
        """Take more; returns the lines that are whole now, with their newlines."""
        text = self._decode(data) if isinstance(data, bytes) else data
        end = text.rfind("\n") + 1
        if not end:
            self._hold(text)
            return self.flush() if self._size > _HELD_LIMIT else ""
        whole = "".join((*self._held, text[:end]))
        self._release(text[end:])
        self._shown, shown = False, self._shown
        return self._cleaned(whole, shown)

    def flush(self) -> str:
        """What is there of the unfinished line; only the beginning of an escape sequence is kept back."""
        held = "".join(self._held)
        # A carriage return at the end is kept back too: it may be half of a newline.
        cut = len(held) - 1 if held.endswith("\r") else len(held)
        if (unfinished := UNFINISHED.search(held, max(0, cut - _HELD_LIMIT), cut)) is not None:
            cut = unfinished.start()
        self._release(held[cut:])
        if not cut:
            return ""
        shown, self._shown = self._shown, True
        return self._cleaned(held[:cut], shown)

    def finish(self) -> str:
        """The rest, at the end of the output."""
        self._hold(self._decode(b"", True))
        held = "".join(self._held)
        self._release("")
        shown, self._shown = self._shown, False
        return self._cleaned(held, shown)

    def _cleaned(self, text: str, continues: bool) -> str:
        if continues and text.startswith("\r") and not text.startswith("\r\n"):
            # It rewrites what the reader has already: the rewrite goes on a line of its own.
            return "\n" + plain(text)
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

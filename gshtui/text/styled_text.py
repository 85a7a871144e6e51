"""Colours of terminal output as plain data: the text of `sanitise.plain`, in spans with their style.

Pure; independent of Textual and Rich. Hidden text (SGR 8) is shown.
"""

from __future__ import annotations

import msgspec
from msgspec.structs import replace

from gshtui.text.sanitise import RISKY, SEQUENCE, struck, visible_parts, what_stays

Colour = int | tuple[int, int, int] | None
"""A number of the terminal's palette (0 to 255), red green and blue (0 to 255), or the default."""


class Style(msgspec.Struct, frozen=True):
    """How a span looks."""

    foreground: Colour = None
    background: Colour = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: bool = False
    reverse: bool = False
    strike: bool = False


class StyledSpan(msgspec.Struct, frozen=True):
    """Plain text of one style. Newlines are in the text."""

    text: str
    style: Style = Style()


_NONE = Style()
_SWITCHES: dict[int, dict[str, bool]] = {
    1: {"bold": True},
    2: {"dim": True},
    3: {"italic": True},
    4: {"underline": True},
    7: {"reverse": True},
    9: {"strike": True},
    21: {"underline": True},
    22: {"bold": False, "dim": False},
    23: {"italic": False},
    24: {"underline": False},
    27: {"reverse": False},
    29: {"strike": False},
}


def styled(text: str) -> list[StyledSpan]:
    """The text's spans in order, neighbours differing in style; joined they equal `plain(text)`."""
    if not RISKY.search(text):
        return [StyledSpan(text)] if text else []
    spans = _Spans()
    style = _NONE
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n")):
        if number:
            spans.add("\n", style)
        pieces, style = _pieces(line, style)
        for words, look in _seen(_settled(pieces)):
            spans.add(words, look)
    return spans.finished()


def sgr(style: Style, numbers: str) -> Style:
    """The style after the parameters of one SGR sequence, such as `1;38;5;208`. Unknown ones change nothing."""
    codes = [code for part in numbers.split(";") for code in _numbers(part)]
    at = 0
    while at < len(codes):
        code = codes[at]
        at += 1
        if code == 0:
            style = _NONE
        elif code in _SWITCHES:
            style = replace(style, **_SWITCHES[code])
        elif code in (38, 48, 58):
            colour, used = _long_colour(codes[at:])
            at += used
            if used and code != 58:  # underline colour is not supported
                style = replace(style, foreground=colour) if code == 38 else replace(style, background=colour)
        elif code in (39, 49):
            style = replace(style, foreground=None) if code == 39 else replace(style, background=None)
        elif 30 <= code <= 37 or 90 <= code <= 97:
            style = replace(style, foreground=code - 30 if code < 90 else code - 82)
        elif 40 <= code <= 47 or 100 <= code <= 107:
            style = replace(style, background=code - 40 if code < 100 else code - 92)
    return style


def _numbers(part: str) -> list[int]:
    """The numbers of one parameter. Joined by colons they are an underline style, or one whole colour."""
    words = part.split(":")
    codes = [int(word) if word.isdecimal() and len(word) < 5 else 0 for word in words]
    if len(codes) == 1:
        return codes
    if codes[0] == 4:
        return [4 if codes[1] else 24]
    if codes[0] in (38, 48, 58) and codes[1] == 2 and len(codes) > 5:
        return [*codes[:2], *codes[3:6]]  # the third one is a colour space
    return codes if codes[0] in (38, 48, 58) else []


def _long_colour(codes: list[int]) -> tuple[Colour, int]:
    """The colour of `5;n` or `2;r;g;b`, and how many numbers it took; none if it is incomplete."""
    if len(codes) >= 2 and codes[0] == 5 and codes[1] <= 255:
        return codes[1], 2
    if len(codes) >= 4 and codes[0] == 2 and max(codes[1:4]) <= 255:
        return (codes[1], codes[2], codes[3]), 4
    return None, 0


def _pieces(line: str, style: Style) -> tuple[list[tuple[str, Style]], Style]:
    """Text and styles of the line's last rewrite, still with `\\b`; and the style at its end."""
    rewrites: list[list[tuple[str, Style]]] = [[]]

    def words(text: str) -> None:
        for number, part in enumerate(text.split("\r")):
            if number:
                rewrites.append([])
            if part:
                rewrites[-1].append((part, style))

    at = 0
    for match in SEQUENCE.finditer(line):
        words(line[at : match.start()])
        if match.group("final") == "m" and match.group("csi") is not None:
            style = sgr(style, match.group("csi"))
        else:
            words(what_stays(match))
        at = match.end()
    words(line[at:])
    last = next((pieces for pieces in reversed(rewrites) if pieces), rewrites[0])
    return last, style


def _settled(pieces: list[tuple[str, Style]]) -> list[tuple[str, Style]]:
    """Apply backspaces across the pieces."""
    if not any("\b" in words for words, _ in pieces):
        return pieces
    backspace = ("\b", _NONE)
    cells = [backspace if char == "\b" else (char, style) for words, style in pieces for char in words]
    return struck(cells, backspace)


def _seen(pieces: list[tuple[str, Style]]) -> list[tuple[str, Style]]:
    """Show every invisible character, even if a run of them has several styles."""
    line = "".join(words for words, _ in pieces)
    if not RISKY.search(line):
        return pieces
    styles = [style for words, style in pieces for _ in words]
    out: list[tuple[str, Style]] = []
    at = 0
    for start, end, shown in visible_parts(line):
        out.extend(zip(line[at:start], styles[at:start], strict=True))
        out.append((shown, styles[start]))
        at = end
    out.extend(zip(line[at:], styles[at:], strict=True))
    return out


class _Spans:
    """Collects text, joining neighbours of one style."""

    def __init__(self) -> None:
        self._done: list[StyledSpan] = []
        self._words: list[str] = []
        self._style = _NONE

    def add(self, words: str, style: Style) -> None:
        if style != self._style:
            self._close()
            self._style = style
        self._words.append(words)

    def finished(self) -> list[StyledSpan]:
        self._close()
        return self._done

    def _close(self) -> None:
        if self._words:
            self._done.append(StyledSpan("".join(self._words), self._style))
            self._words = []

"""Makes each captured row stand alone: what tmux left switched on in the row above is put at its beginning.

Pure. Rows hold text and SGR sequences only: line-drawing letters become the characters they mean, links are dropped.
Called by the mirror; rows that are as they were are not read again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

_TOKEN = re.compile(r"\x1b\[([0-9;:]*)m|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x0e|\x0f|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BOXES = str.maketrans("`afgijklmnopqrstuvwxyz{|}~", "◆▒°±␉┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")
_COLOURS = {"38": "fg", "48": "bg", "58": "ul"}


@dataclass(frozen=True, slots=True)
class Style:
    """What is switched on: attributes in the order they came, and three colours as SGR parameters."""

    attributes: tuple[str, ...] = ()
    fg: str = ""
    bg: str = ""
    ul: str = ""

    def sequence(self) -> str:
        """The SGR sequence that switches it on; empty for the plain style."""
        parts = [part for part in (*self.attributes, self.fg, self.bg, self.ul) if part]
        return f"\x1b[{';'.join(parts)}m" if parts else ""


PLAIN = Style()


Read = tuple[str, Style, bool]
"""A row that stands alone, and what is on behind it: style, line drawing."""


@dataclass(slots=True)
class Rows:
    """Turns one pane's captures into rows. Rows of the last one are not read again, wherever they scrolled to."""

    _plain: dict[str, Read] = field(default_factory=dict[str, Read])
    """Lines that begin with nothing switched on, which most do: found by their text alone."""
    _styled: dict[tuple[str, Style, bool], Read] = field(default_factory=dict[tuple[str, Style, bool], Read])

    def of(self, raw: Sequence[str]) -> tuple[str, ...]:
        """The capture's rows, each standing alone."""
        plain, styled = dict[str, Read](), dict[tuple[str, Style, bool], Read]()
        rows: list[str] = []
        style, boxes = PLAIN, False
        for line in raw:
            if style is PLAIN and not boxes:
                if not line:
                    rows.append(line)
                    continue
                found = self._plain.get(line) or _row(line, style, boxes)
                plain[line] = found
            else:
                key = (line, style, boxes)
                found = self._styled.get(key) or _row(*key)
                styled[key] = found
            row, style, boxes = found
            rows.append(row)
        self._plain, self._styled = plain, styled
        return tuple(rows)


def rows(raw: Sequence[str]) -> list[str]:
    """One capture's rows, each standing alone."""
    return list(Rows().of(raw))


def _row(line: str, style: Style, boxes: bool) -> Read:
    """(the row, what is on behind it, whether letters draw lines behind it)"""
    if not boxes and not _TOKEN.search(line):
        return style.sequence() + line, style, boxes
    out = [style.sequence()]
    at = 0
    for match in _TOKEN.finditer(line):
        text = line[at : match.start()]
        out.append(text.translate(_BOXES) if boxes else text)
        at = match.end()
        token = match.group()
        if match[1] is not None:
            style = _changed(style, match[1])
            out.append(token.replace("5:3", "53"))  # tmux 3.3 writes overline so
        elif token in "\x0e\x0f":
            boxes = token == "\x0e"
    text = line[at:]
    out.append(text.translate(_BOXES) if boxes else text)
    return "".join(out), style, boxes


def _changed(style: Style, parameters: str) -> Style:
    """The style behind an SGR sequence with these parameters."""
    attributes, colours = list(style.attributes), {"fg": style.fg, "bg": style.bg, "ul": style.ul}
    codes = parameters.split(";")
    at = 0
    while at < len(codes):
        code = codes[at].lstrip("0") or "0"
        main = code.partition(":")[0]
        at += 1
        if code == "0":
            attributes, colours = [], {"fg": "", "bg": "", "ul": ""}
        elif main in _COLOURS:
            more = _more(codes, at) if ":" not in code else 0
            colours[_COLOURS[main]] = ";".join((code, *codes[at : at + more]))
            at += more
        elif code in ("39", "49", "59"):
            colours[{"39": "fg", "49": "bg", "59": "ul"}[code]] = ""
        elif code.isdigit() and (30 <= int(code) <= 37 or 90 <= int(code) <= 97):
            colours["fg"] = code
        elif code.isdigit() and (40 <= int(code) <= 47 or 100 <= int(code) <= 107):
            colours["bg"] = code
        else:
            attribute = "53" if code == "5:3" else code
            if main == "4" and ":" in code:
                attributes = [known for known in attributes if known.partition(":")[0] != "4"]
            if attribute not in attributes:
                attributes.append(attribute)
    after = Style(tuple(attributes), **colours)
    return PLAIN if after == PLAIN else after


def _more(codes: list[str], at: int) -> int:
    """How many parameters of a colour follow: `5;n` or `2;r;g;b`."""
    kind = codes[at] if at < len(codes) else ""
    return {"5": 2, "2": 4}.get(kind, 0)

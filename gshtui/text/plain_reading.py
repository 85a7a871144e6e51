"""Markdown read aloud: the words, line by line, without marks; each cell of a table with its name. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import zip_longest

from gshtui.text.markdown_table import outside_fences, split_row

_FENCE = re.compile(r"\s*+(`{3,}+|~{3,}+)(.*)")
_HEAD = re.compile(r"^ {0,3}#{1,6}\s++|^(?:\s*+>)+ ?|(?<!\s)\s++#++\s*+$")
_RULE = re.compile(r"\s*+(?:([-*_])(?:\s*+\1){2,}+|=++|[\s:|]*+-[\s:-]*+\|[\s:|-]*+)\s*")
_CODE = re.compile(r"\\([!-/:-@\[-`{-~])|(?<!`)(`++)(.+?)(?<!`)\2(?!`)")
_KEPT = 0xF0000
"""Added to a letter that is no mark, until the marks are gone."""
_LOOSE = re.compile(r"[\U000f0021-\U000f007e]")
_LINK = re.compile(r"!?\[([^\[\]]++)\]\(((?:[^()\s]|\([^()\s]*+\))++)[^()]*+\)")
_STRONG = re.compile(r"(?<!\w)(?:\*\*|__)(?=\S)|(?<=\S)(?:\*\*|__)(?!\w)")
_WEAK = re.compile(r"(?<![\w*_])([*_])([^\s*_](?:[^*_]*[^\s*_])?)\1(?![\w*_])")
_GAP = re.compile(r"(?<=[^\s|]) {2,}+(?=[^\s|])")
_INDENT = re.compile(r"^ {3,}+")
_DRAWN = re.compile("[\u2500-\u259f\u2800-\u28ff]++")
_NUMBER = re.compile(r"^ *+(\d++)[│:]", re.MULTILINE)
_LONGEST = 4_000
"""Characters of a line that is read: runs of marks, each longer than the last, take more than proportional time."""


class PlainReading:
    """One text, line by line, as it arrives. `broken`: makes the rows of a line that is not code."""

    def __init__(self, broken: Callable[[str], str] = str) -> None:
        self._broken = broken
        self._fence = ""
        self._head: list[str] = []
        """The row that is the heading of a table if a rule follows."""
        self._names: list[str] | None = None

    def line(self, text: str) -> str | None:
        """What is read of a whole line, which has no newline; `None`: nothing, it only marks."""
        head, self._head = self._head, []
        if head and _RULE.fullmatch(text):
            self._names = head
            return None
        said = self._said(text)
        if said is not None and not self._fence:
            said = self._broken(said)
        if not head:
            return said
        first = self._broken(_row(head))
        return first if said is None else f"{first}\n{said}"

    def rest(self) -> str:
        """The last line, if it was a row that may have been a heading."""
        head, self._head = self._head, []
        return self._broken(_row(head))

    def _said(self, text: str) -> str | None:
        if (found := _FENCE.fullmatch(text)) is not None:
            if not self._fence:
                self._fence = found[1]
                return None
            if found[1].startswith(self._fence) and not found[2].strip():
                self._fence = ""
                return None
        if self._fence or len(text) > _LONGEST:
            return text
        if len(row := text.strip()) > 1 and row[0] == row[-1] == "|" and not _RULE.fullmatch(text):
            if self._names is not None:
                return _row(split_row(row), self._names)
            self._head = split_row(row)
            return None
        self._names = None
        return None if _RULE.fullmatch(text) else _unmarked(_HEAD.sub("", text))


def heard(text: str, broken: Callable[[str], str] = str) -> str:
    """A whole text of our own: also without drawings, and what stands in columns parted by `;`."""
    reading = PlainReading(broken)
    lines = [said for line in _flat(text).split("\n") if (said := reading.line(line)) is not None]
    return "\n".join([*lines, *filter(None, (reading.rest(),))])


def _flat(text: str) -> str:
    """The lines outside of fenced blocks without drawings and columns."""
    return outside_fences(_flat_line, text)


def _flat_line(line: str) -> str:
    if line.startswith("| ") or "\\" in line:
        return _DRAWN.sub("", line)
    columns = _GAP.split(_DRAWN.sub(" ", unruled(line)))
    is_pair = len(columns) == 2 and columns[0][-1:].isalnum() and columns[1][:1].isalnum()
    return _INDENT.sub("  ", (": " if is_pair else "; ").join(columns))


def unruled(text: str) -> str:
    """With a colon after the number of a line, instead of a rule."""
    return _NUMBER.sub(r"\1: ", text)


def _row(row: Sequence[str], names: Sequence[str] = ()) -> str:
    """`name: value; …` without what is empty; two columns without names are a name and its value."""
    if len(row) == len(names) == 2 and not any(names):
        return _unmarked(": ".join(filter(None, row)))
    named = zip_longest(names[: len(row)], row, fillvalue="")
    return _unmarked("; ".join(f"{name}: {cell}" if name else cell for name, cell in named if cell))


def _unmarked(text: str) -> str:
    parts, words, at = list[str](), "", 0
    for found in _CODE.finditer(text):
        words += text[at : found.start()]
        if found[1]:
            words += chr(_KEPT + ord(found[1]))
        else:
            parts += [_words(words), found[3].strip() or found[3]]
            words = ""
        at = found.end()
    said = "".join((*parts, _words(words + text[at:])))
    return _LOOSE.sub(lambda found: chr(ord(found[0]) - _KEPT), said)


def _words(text: str) -> str:
    return _WEAK.sub(r"\2", _STRONG.sub("", _LINK.sub(r"\1 (\2)", text)))

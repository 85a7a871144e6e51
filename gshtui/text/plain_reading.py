"""Markdown read aloud: the words, line by line, without the marks of emphasis, headings, code and tables. Pure."""

from __future__ import annotations

import re

_FENCE = re.compile(r"\s*+(`{3,}+|~{3,}+)(.*)")
_HEAD = re.compile(r"^ {0,3}#{1,6}\s++|^(?:\s*+>)+ ?|(?<!\s)\s++#++\s*+$")
_RULE = re.compile(r"\s*+(?:([-*_])(?:\s*+\1){2,}+|=++|[\s:|]*+-[\s:-]*+\|[\s:|-]*+)\s*")
_CODE = re.compile(r"(?<!`)(`++)(.+?)(?<!`)\1(?!`)")
_LINK = re.compile(r"!?\[([^\[\]]++)\]\(((?:[^()\s]|\([^()\s]*+\))++)[^()]*+\)")
_STRONG = re.compile(r"(?<!\w)(?:\*\*|__)(?=\S)|(?<=\S)(?:\*\*|__)(?!\w)")
_WEAK = re.compile(r"(?<![\w*_])([*_])([^\s*_](?:[^*_]*[^\s*_])?)\1(?![\w*_])")
_LONGEST = 4_000
"""Characters of a line that is read: runs of marks, each longer than the last, take more than proportional time."""


class PlainReading:
    """One text, line by line, as it arrives."""

    def __init__(self) -> None:
        self._fence = ""

    def line(self, text: str) -> str | None:
        """What is read of a whole line, which has no newline; `None`: nothing, it only marks."""
        if (found := _FENCE.fullmatch(text)) is not None:
            if not self._fence:
                self._fence = found[1]
                return None
            if found[1].startswith(self._fence) and not found[2].strip():
                self._fence = ""
                return None
        if self._fence or len(text) > _LONGEST:
            return text
        if _RULE.fullmatch(text):
            return None
        text = _HEAD.sub("", text)
        if len(row := text.strip()) > 1 and row[0] == row[-1] == "|":
            text = "; ".join(cell.strip() for cell in row[1:-1].split("|"))
        parts, at = list[str](), 0
        for code in _CODE.finditer(text):
            parts += [_words(text[at : code.start()]), code[2].strip() or code[2]]
            at = code.end()
        return "".join((*parts, _words(text[at:])))


def _words(text: str) -> str:
    return _WEAK.sub(r"\2", _STRONG.sub("", _LINK.sub(r"\1 (\2)", text)))

"""Inline Markdown (bold, code, links …) from markdown-it's tokens to styled runs.

Owns the look of words; refuses to break lines. A link always shows where it leads. Called by `markdown.py` and
`table.py`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style

from gshtui.ui.kit.palette import Palette

if TYPE_CHECKING:
    from markdown_it.token import Token

_URL = re.compile(r"https?://[^\s<>\"'`]+[^\s<>\"'`.,;:!?)\]]")
_BOLD, _ITALIC, _STRIKE = Style(bold=True), Style(italic=True), Style(strike=True)
_OPENS = {"strong_open": _BOLD, "em_open": _ITALIC, "s_open": _STRIKE}


def inline_runs(tokens: Sequence[Token], palette: Palette, base: Style | None = None) -> list[Segment]:
    """The runs of an inline token's children; a newline in a run's text is a line's end."""
    writer = _Writer(palette, palette.text if base is None else base)
    for token in tokens:
        writer.take(token)
    return writer.runs


class _Writer:
    def __init__(self, palette: Palette, base: Style) -> None:
        self.runs: list[Segment] = []
        self._palette = palette
        self._styles = [base]
        self._links: list[tuple[str, int]] = []

    def take(self, token: Token) -> None:
        kind = token.type
        if kind == "text":
            self._text(token.content)
        elif kind in ("softbreak", "hardbreak"):
            self._add("\n", self._styles[0])
        elif kind == "code_inline":
            self._add(token.content, self._styles[-1] + self._palette.inline_code)
        elif kind in _OPENS:
            self._styles.append(self._styles[-1] + _OPENS[kind])
        elif kind == "link_open":
            self._links.append((str(token.attrs.get("href", "")), len(self.runs)))
            self._styles.append(self._styles[-1] + self._palette.link)
        elif kind == "link_close":
            self._styles.pop()
            self._target()
        elif kind == "image":
            self._add(f"[image: {token.content or 'no description'}]", self._styles[-1] + _ITALIC)
            self._add(f" ({token.attrs.get('src', '')})", self._palette.target)
        elif token.nesting < 0:
            self._styles.pop()
        else:
            self._add(token.content, self._styles[-1])

    def _text(self, text: str) -> None:
        if "://" not in text or self._links:
            self._add(text, self._styles[-1])
            return
        at = 0
        for match in _URL.finditer(text):
            self._add(text[at : match.start()], self._styles[-1])
            self._add(match.group(), self._styles[-1] + self._palette.link)
            at = match.end()
        self._add(text[at:], self._styles[-1])

    def _target(self) -> None:
        address, start = self._links.pop()
        words = "".join(run.text for run in self.runs[start:])
        if words.strip() not in (address, address.removeprefix("mailto:")):
            self._add(f" ({address})", self._palette.target)

    def _add(self, text: str, style: Style) -> None:
        if text:
            self.runs.append(Segment(text, style))

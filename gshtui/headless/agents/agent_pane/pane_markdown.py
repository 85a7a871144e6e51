"""An answer as it streams into an agent's own pane, laid out as Markdown: whole blocks as lines, the open one as rows.

Works block by block, each of a bounded size, so that a drawing costs the same however long the answer is. Until the
parser is loaded, nothing is laid out; what is drawn meanwhile is the source. All text is sanitised, and all colours
are our own, of the terminal's sixteen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import LiteralString

from gshtui.text import cells
from gshtui.text.sanitise import CleanText, clean_lines, clean_text, plain
from gshtui.text.terminal_markdown import Colouring, load_parser, markdown_lines
from gshtui.ui.kit.drawing.highlighter import Highlighter
from gshtui.ui.kit.transcript.markdown_splitter import MarkdownChunk, MarkdownSplitter

_WIDEST = 120
"""Cells of a line of words in a very wide pane."""
_TOKENS: dict[str, LiteralString] = {
    "comment": "2",
    "keyword": "35",
    "string": "32",
    "number": "36",
    "type": "33",
    "name": "34",
    "builtin": "36",
    "added": "32",
    "removed": "31",
}
"""Kinds of the highlighter's tokens → codes of their colours."""
_TAB = 4


class AnswerLayout:
    """What all answers of a pane are laid out with: the width, the parser, and the languages of code.

    Args:
        width: gives the cells of a line.
    """

    def __init__(self, width: Callable[[], int]) -> None:
        self.width = width
        self.highlighter = Highlighter()
        self.is_loaded = False

    @property
    def complete(self) -> bool:
        """Whether nothing has to be loaded for what was laid out so far."""
        return self.is_loaded and not self.highlighter.wanted

    def load(self) -> None:
        """Import the parser, and the languages that code was in; takes up to half a second, so call it in a thread."""
        load_parser()
        self.is_loaded = True
        while self.highlighter.wanted:
            self.highlighter.load(self.highlighter.wanted.pop())


class MarkdownLines:
    """One answer.

    Args:
        style: gives text in the colours of some codes.
    """

    def __init__(self, style: Colouring, layout: AnswerLayout) -> None:
        self._style = style
        self._layout = layout
        self._splitter = MarkdownSplitter()
        self._waiting: list[MarkdownChunk] = []
        self._changed = True
        self._rows: tuple[tuple[int, int, int], list[CleanText]] = ((0, 0, 0), [])

    def feed(self, text: str) -> list[CleanText]:
        """Take more of the source; returns the lines of the blocks that are now whole."""
        self._waiting += self._splitter.feed(text)
        self._changed = True
        return self._laid_out() if self._layout.is_loaded else []

    def finish(self) -> list[CleanText]:
        """The rest, at the end of the answer."""
        self._waiting += self._splitter.finish()
        self._changed = True
        if not self._layout.is_loaded:
            load_parser()
        return self._laid_out()

    def rows(self, most: int) -> list[CleanText]:
        """The last `most` rows of what is not whole yet."""
        width = max(10, self._layout.width())
        key = (width, most, len(self._layout.highlighter.wanted))
        if self._changed or key != self._rows[0]:
            self._changed = False
            open_chunks = [*self._waiting, *self._splitter.tail()]
            found: list[CleanText] = []
            for chunk in open_chunks:
                found += (
                    self._lines(_end_of(chunk, most, width))
                    if self._layout.is_loaded
                    else _source_rows(chunk, most, width)
                )
            self._rows = (key, found[-most:])
        return self._rows[1]

    def _laid_out(self) -> list[CleanText]:
        chunks, self._waiting = self._waiting, []
        return [line for chunk in chunks for line in self._lines(chunk)]

    def _lines(self, chunk: MarkdownChunk) -> list[CleanText]:
        """A chunk's lines, each fitting the width."""
        width = max(10, self._layout.width())
        found = [clean_text("")] * chunk.gap
        if chunk.kind == "code":
            if chunk.language and not chunk.goes_on:
                found.append(self._style(f"  {chunk.language}", "2"))
            return found + self._code(chunk, width)
        source = f"{chunk.head}\n{chunk.text}" if chunk.head else chunk.text
        return found + markdown_lines(source, width, self._style, paragraph_width=_WIDEST)

    def _code(self, chunk: MarkdownChunk, width: int) -> list[CleanText]:
        found: list[CleanText] = []
        for tokens in self._layout.highlighter.lines(chunk.text.expandtabs(_TAB), chunk.language):
            text = "".join(part for _, part in tokens)
            if cells.width(text) > width - 4:
                found += [clean_text("    ", row) for row in cells.rows(plain(text), width - 4)]
                continue
            last = len(tokens) - 1
            parts = (
                self._style(part.rstrip() if at == last else part, *((_TOKENS[kind],) if kind in _TOKENS else ()))
                for at, (kind, part) in enumerate(tokens)
            )
            found.append(clean_text("    ", *parts))
        return found


def _end_of(chunk: MarkdownChunk, most: int, width: int) -> MarkdownChunk:
    """The part of a long block that can be seen."""
    lines = chunk.text.split("\n")
    if chunk.kind == "code" and len(lines) > most:
        return MarkdownChunk("code", "\n".join(lines[-most:]), chunk.language, goes_on=True)
    room = 2 * most * width
    if chunk.kind == "code" or len(chunk.text) <= room:
        return chunk
    cut = chunk.text[-room:]
    return MarkdownChunk("markdown", cut[cut.find("\n" if "\n" in cut else " ") + 1 :], head=chunk.head)


def _source_rows(chunk: MarkdownChunk, most: int, width: int) -> list[CleanText]:
    """The end of a block's source."""
    text = plain("\n".join(line.expandtabs(_TAB) for line in chunk.text.split("\n")[-most:]))
    return [row for line in clean_lines(text) for row in cells.rows(line, width)]
